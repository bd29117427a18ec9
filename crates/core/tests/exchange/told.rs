//! Words stay words and omissions stay omissions, even if lost records come back.

use crate::switch::{CHAT, CLAUDE, DEEPSEEK, KIMI, Loop, MIMO, Model, messages, model};
use crate::{Gateway, Lock, body};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::exchange::{Prepared, Repair};
use thinkthrough_core::plane::Sealed;
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::{Head, Kept};

/// The form of an earlier answer in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// With its thought.
    Whole,
    /// In words.
    Words,
    /// As the client sent it.
    Bare,
}

/// The messages of a round, and the records that were available for it.
struct Round {
    forms: Vec<Form>,
    messages: Vec<String>,
    was_there: Vec<bool>,
    /// Later requests follow its decisions.
    counts: bool,
}

struct World {
    talk: Loop,
    random: u64,
    /// The record of each round, and the number of rounds until it is back.
    records: Vec<(usize, (Head, Sealed<Kept>))>,
    rounds: Vec<Round>,
}

const ROUNDS: usize = 8;
/// Its bound thoughts go back as one run.
const FABLE: Model = model("messages", "anthropic", None, "claude-fable-5-1");
/// Wants thoughts but does not demand them, and has a limit of few tokens.
const LIMITED: Model = model(CHAT, "openai-compatible", None, "limited");

impl World {
    fn new(seed: u64) -> Self {
        World { talk: Loop::new(), random: seed, records: Vec::new(), rounds: Vec::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % bound
    }

    /// Brings some records back, and loses others for some rounds.
    fn pass(&mut self) {
        for at in 0..self.records.len() {
            let is_lost = self.below(6) == 0;
            let rounds = 1 + usize::try_from(self.below(3)).unwrap();
            let (away, _) = &mut self.records[at];
            *away = away.saturating_sub(1);
            if *away == 0 && is_lost {
                *away = rounds;
            }
        }
        let here = self.records.iter().filter(|(away, _)| *away == 0);
        self.talk.gateway.records = here.map(|(_, record)| record.clone()).collect();
    }

    fn ask(&mut self, model: &Model) -> (Prepared, String) {
        self.talk.gateway.target = target(model);
        let is_limited = model.name == LIMITED.name;
        self.talk.gateway.handling.max_restore_tokens = is_limited.then_some(12);
        self.talk.gateway.caller = thinkthrough_core::wire::find(model.caller).unwrap();
        let request = self.talk.request(model);
        let prepared = self.talk.gateway.ask(&request, &Lock);
        let sent = prepared.body.clone().unwrap_or(request);
        (prepared, sent)
    }

    fn round(&mut self, model: &Model) {
        self.pass();
        if self.below(4) == 0 {
            self.talk.says("And now?");
        }
        let is_blind = self.below(6) == 0;
        self.talk.gateway.is_blind = is_blind;
        let (prepared, sent) = self.ask(model);
        let round = Round {
            forms: (1..=self.rounds.len()).map(|number| form(&sent, number)).collect(),
            messages: messages(&sent),
            was_there: self.records.iter().map(|(away, _)| *away == 0).collect(),
            counts: !is_blind && !prepared.without.is_off,
        };
        if round.counts {
            self.check(model, &round, &sent);
        }
        self.rounds.push(round);
        self.talk.calls(prepared);
        let record = self.talk.gateway.records.pop().unwrap();
        let away = if self.below(3) == 0 { 2 } else { 0 };
        self.records.push((away, record));
    }

    fn check(&self, model: &Model, round: &Round, sent: &str) {
        let tells = [DEEPSEEK.name, MIMO.name, KIMI.name, CLAUDE.name].contains(&model.name);
        for (answer, now) in round.forms.iter().enumerate() {
            // The newest later round of this path whose record is available.
            let behind = self.rounds.iter().zip(&round.was_there).skip(answer + 1).rev();
            let witness = behind.filter(|(it, is_there)| it.counts && **is_there).map(|it| it.0);
            let then = witness.clone().map(|it| (it.forms[answer], it.was_there[answer])).next();
            let expected = match then {
                Some((Form::Words, _)) => Form::Words,
                Some((Form::Bare, true)) => Form::Bare,
                _ if tells && round.was_there[answer] => Form::Whole,
                _ => continue,
            };
            let number = answer + 1;
            assert_eq!(*now, expected, "{}: answer {number}, {then:?}: {sent}", model.name);
        }
        // Messages in the same form have the same bytes.
        let before = self.rounds.iter().rev().find(|it| it.counts);
        // The provider's own id of a call is unknown while the call's record is away.
        let has_ids = |it: &&Round| tells || round.was_there.starts_with(&it.was_there);
        let before = before.filter(has_ids).filter(|it| round.forms.starts_with(&it.forms));
        if let Some(before) = before {
            let (was, is) = (&before.messages, &round.messages);
            assert!(is.starts_with(was), "{}: {is:#?}\nafter {was:#?}", model.name);
        }
    }
}

fn target(model: &Model) -> Target {
    match model.name {
        "limited" => {
            let contract = Contract::plain(Return::All, "reasoning_content");
            Target::built_in("openai-compatible", None, "m")
                .unwrap()
                .with_contract(contract, "test")
        }
        _ => model.target(),
    }
}

fn form(sent: &str, number: usize) -> Form {
    if sent.contains(&format!("thought-{number}")) {
        Form::Whole
    } else if sent.contains(&format!("gave:\\n> gift {number}")) {
        Form::Words
    } else {
        Form::Bare
    }
}

/// Records disappear for a while and come back, and look-ups fail. Words stay words, and omissions stay, as long as the
/// record of any later answer is there.
#[test]
fn records_that_come_back_change_nothing_of_what_was_told_or_left_out() {
    let mut seen = std::collections::BTreeMap::new();
    for model in [&DEEPSEEK, &MIMO, &KIMI, &CLAUDE, &FABLE, &LIMITED] {
        for seed in 0..200 {
            let mut world = World::new(seed);
            (0..ROUNDS).for_each(|_| world.round(model));
            let came_back = |at: usize, form: Form| {
                world.rounds.iter().any(|it| {
                    it.counts
                        && it.forms.get(at) == Some(&form)
                        && it.was_there.get(at) == Some(&true)
                })
            };
            for form in [Form::Words, Form::Bare] {
                let count = (0..ROUNDS).filter(|at| came_back(*at, form)).count();
                *seen.entry((model.name, form == Form::Words)).or_insert(0) += count;
            }
        }
    }
    // The test met enough cases of each kind.
    for model in [&DEEPSEEK, &MIMO, &KIMI, &CLAUDE] {
        assert!(seen[&(model.name, true)] > 20, "{seen:?}");
    }
    for model in [&FABLE, &LIMITED] {
        assert!(seen[&(model.name, false)] > 20, "{seen:?}");
    }
}

/// Words of a request after a failed look-up are for that request alone.
#[test]
fn a_failed_look_up_decides_for_its_own_request_alone() {
    for model in [&DEEPSEEK, &MIMO, &KIMI, &CLAUDE] {
        let mut world = World::new(0);
        let mut answer = |is_blind: bool| {
            world.talk.gateway.is_blind = is_blind;
            let (prepared, sent) = world.ask(model);
            world.talk.calls(prepared);
            sent
        };
        answer(false);
        assert_eq!(form(&answer(true), 1), Form::Words, "{}", model.name);
        let sent = answer(false);
        assert_eq!([1, 2].map(|number| form(&sent, number)), [Form::Whole; 2], "{}", model.name);
    }
}

/// A refusal overrules earlier words, because the provider may miss the thought.
#[test]
fn after_a_refusal_it_is_decided_afresh() {
    let mut gateway = told(&DEEPSEEK);
    let lesson = Repair::Return(Some(("reasoning_content", "")));
    let ask = |gateway: &Gateway, talk: &Loop| {
        let request = talk.request(&DEEPSEEK);
        gateway.ask(&request, &Lock).body.unwrap_or(request)
    };
    let (talk, lost) = &mut gateway;
    talk.gateway.records.insert(0, lost.clone());
    assert_eq!(form(&ask(&talk.gateway, talk), 1), Form::Words);
    talk.gateway.refused = Some(lesson);
    assert_eq!(form(&ask(&talk.gateway, talk), 1), Form::Whole);
}

/// Thoughts that a refusal removed stay out, and newer thoughts go back.
#[test]
fn what_a_refusal_took_out_stays_out() {
    for model in [&MIMO, &LIMITED] {
        let mut world = World::new(0);
        let mut answer = |refused: Option<Repair>| {
            world.talk.gateway.refused = refused;
            let (prepared, sent) = world.ask(model);
            world.talk.calls(prepared);
            sent
        };
        answer(None);
        assert_eq!(form(&answer(None), 1), Form::Whole);
        let out = form(&answer(Some(Repair::Omit)), 1);
        assert_ne!(out, Form::Whole);
        let sent = answer(None);
        assert_eq!([1, 2, 3].map(|number| form(&sent, number)), [out, out, Form::Whole]);
    }
}

/// The same holds if thinking was off for the refused request.
#[test]
fn what_a_refusal_took_out_stays_out_behind_an_answer_without_thinking() {
    for model in [&CLAUDE, &DEEPSEEK] {
        let mut world = World::new(0);
        let mut answer = |refused: Option<Repair>| {
            world.talk.gateway.refused = refused;
            let (prepared, sent) = world.ask(model);
            let is_off = prepared.without.is_off;
            world.talk.calls(prepared);
            (sent, is_off)
        };
        (0..3).for_each(|_| drop(answer(None)));
        assert_eq!(form(&answer(None).0, 1), Form::Whole, "{}", model.name);
        assert!(answer(Some(Repair::Omit)).1, "{}", model.name);
        for _ in 0..2 {
            let sent = answer(None).0;
            let forms = [1, 2, 3, 4].map(|number| form(&sent, number));
            assert!(!forms.contains(&Form::Whole), "{}: {forms:?}", model.name);
        }
    }
}

/// A loop whose first answer went out in words because its record was lost, with that record.
fn told(model: &Model) -> (Loop, (Head, Sealed<Kept>)) {
    let mut world = World::new(0);
    let (prepared, _) = world.ask(model);
    world.talk.calls(prepared);
    let lost = world.talk.gateway.records.pop().unwrap();
    let (prepared, sent) = world.ask(model);
    assert_eq!(form(&sent, 1), Form::Words);
    world.talk.calls(prepared);
    (world.talk, lost)
}

#[test]
fn a_seal_without_words_counts_as_lost_where_words_are_read() {
    let redacted = r#"{"type":"redacted_thinking","data":"c2VhbGVk"}"#;
    let call =
        r#"{"type":"tool_use","id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","name":"ls","input":{}}"#;
    let result =
        r#"{"type":"tool_result","tool_use_id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","content":"a"}"#;
    let request = format!(
        r#"{{"model":"kimi-k3","max_tokens":900,"thinking":{{"type":"adaptive"}},"messages":[{{"role":"user","content":"Hi"}},{{"role":"assistant","content":[{redacted},{call}]}},{{"role":"user","content":[{result}]}}]}}"#
    );
    let gateway = Gateway::new("messages", "moonshotai", Some("chat-completions"), "kimi-k3");
    let prepared = gateway.ask(&request, &Lock);
    let sent = body(&prepared);
    assert!(sent.contains("used the tool `ls`") && !sent.contains("tool_calls"), "{sent}");
    assert!(!sent.contains("c2VhbGVk"), "{sent}");
}
