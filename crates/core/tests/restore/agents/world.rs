//! Worlds of agents that look alike, one after another and all at once.

use super::Random;
use super::change::Habit;
use super::client::send;
use super::kind::{Event, Kind};
use super::laws::Memory;
use super::oracle::Oracle;
use super::tally::Tally;
use super::vault::{Asker, Vault, thought_of};
use crate::vault::*;
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::content::{Block, Content, Media, MediaSource, Speaker};
use thinkthrough_core::contract::{Contract, Readable, WeakIds};
use thinkthrough_json::Extra;

/// The ids that a provider gives to calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Drawn at random, in one of the listed forms.
    Random,
    /// A name and a small number.
    Weak,
    None,
}

/// What a provider is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) contract: Contract,
    pub(super) ids: Ids,
    /// The second model is another provider's.
    pub(super) is_far: bool,
    /// Nobody knows how the endpoint makes its ids, so that they name nothing.
    pub(super) is_unlisted: bool,
    /// The API of the callers.
    pub(super) wire: &'static str,
}

impl Setting {
    const fn new(name: &'static str, contract: Contract, ids: Ids) -> Self {
        let wire = "chat-completions";
        Setting { name, contract, ids, is_far: false, is_unlisted: false, wire }
    }

    /// The same where nobody knows the endpoint.
    const fn unlisted(name: &'static str, contract: Contract, ids: Ids) -> Self {
        Setting { is_unlisted: true, ..Setting::new(name, contract, ids) }
    }

    /// Its calls get tickets.
    const fn ticketed(name: &'static str, contract: Contract, ids: Ids) -> Self {
        let contract = Contract { tickets: Some(WeakIds::Any), ..contract };
        Setting::unlisted(name, contract, ids)
    }

    /// Whether a model can read the thoughts of the other one.
    pub(super) fn reads_others(&self) -> bool {
        !self.is_far && self.contract.readable != Readable::SameModel
    }
}

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("plain", PLAIN, Ids::Random),
    Setting::new("signed", SIGNED, Ids::Random),
    Setting::new("bound", BOUND, Ids::Random),
    Setting::new("tickets", TICKETS, Ids::Weak),
    Setting::new("plain, weak ids", PLAIN, Ids::Weak),
    Setting::new("signed, weak ids", SIGNED, Ids::Weak),
    Setting::new("plain, no ids", PLAIN, Ids::None),
    Setting::new("signed, no ids", SIGNED, Ids::None),
    Setting::ticketed("plain, unknown endpoint", PLAIN, Ids::Random),
    Setting::ticketed("signed, unknown endpoint", SIGNED, Ids::Weak),
    Setting::ticketed("bound, unknown endpoint", BOUND, Ids::None),
    // Tickets of nine letters and digits.
    Setting {
        wire: "mistral-chat",
        ..Setting::ticketed("plain, unknown endpoint, short tickets", PLAIN, Ids::Weak)
    },
    // What was kept before such endpoints had tickets.
    Setting::unlisted("plain, unknown endpoint, its own ids", PLAIN, Ids::Random),
];

/// A message as it really was, thoughts included.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) content: Content,
    /// The name of the answer that it is.
    pub(super) name: Option<String>,
}

/// One conversation, as its client has it.
#[derive(Clone)]
pub(super) struct Talk {
    pub(super) frame: Frame,
    pub(super) truth: Vec<Message>,
    pub(super) tenant: usize,
    pub(super) model: usize,
    pub(super) habits: Vec<Habit>,
    pub(super) requests: usize,
    pub(super) last: Option<Memory>,
}

impl Talk {
    pub(super) fn says(&mut self, content: Content) {
        self.truth.push(Message { content, name: None });
    }

    pub(super) fn is_at(&self, speaker: Speaker) -> bool {
        self.truth.last().is_some_and(|it| it.content.speaker == speaker)
    }
}

pub(super) struct World {
    pub(super) kind: Kind,
    pub(super) setting: Setting,
    pub(super) random: Random,
    pub(super) vault: Vault,
    pub(super) oracle: Oracle,
    pub(super) talks: Vec<Talk>,
    pub(super) tally: Tally,
    pub(super) answers: usize,
    /// The form of this provider's random ids.
    form: usize,
}

const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const WORDS: &[&str] = &["ok", "list", "go on"];

impl World {
    pub(super) fn new(seed: u64, kind: Kind) -> Self {
        let mut setting = SETTINGS[usize::try_from(seed).unwrap() % SETTINGS.len()];
        let mut random = Random(seed);
        if kind.has(Event::Switches) || kind.has(Event::AsksBoth) {
            setting.is_far = random.once_in(2);
            if random.once_in(3) {
                setting.contract.readable = Readable::SameModel;
            }
        }
        let form = random.below(4);
        World {
            kind,
            setting,
            random,
            vault: Vault::default(),
            oracle: Oracle::new(setting),
            talks: Vec::new(),
            tally: Tally::default(),
            answers: 0,
            form,
        }
    }

    pub(super) fn live(&mut self, days: usize) {
        if self.kind.has(Event::Swarms) && !(self.kind.is_mixed() && self.random.below(8) > 0) {
            self.swarm();
        }
        for _ in 0..days {
            match self.random.below(12) {
                0 | 1 => self.begin(),
                2 if !self.kind.events.is_empty() => {
                    let event = self.random.one(self.kind.events);
                    self.happens(event);
                }
                _ => self.go_on(),
            }
        }
        self.look_alikes_change_nothing();
    }

    fn new_talk(&mut self) -> Talk {
        let mut truth = Vec::new();
        if self.random.below(4) > 0 {
            truth.push(system(self.random.one(&["You help.", "You are brief."])));
        }
        let is_alone = self.random.once_in(3);
        let name =
            if is_alone { format!(" for {}", self.random.below(1 << 40)) } else { String::new() };
        truth.push(human(&format!("{}{name}", self.random.one(WORDS))));
        let tools = if self.random.once_in(6) { vec![] } else { vec![tool("read"), tool("list")] };
        let habits = self.kind.draw(&mut self.random);
        let truth = truth.into_iter().map(|content| Message { content, name: None }).collect();
        let model = usize::from(self.kind.has(Event::AsksBoth) && self.random.once_in(2));
        Talk {
            frame: Frame { hint: self.random.one(&[None, None, Some("a")]), tools },
            truth,
            tenant: usize::from(self.random.once_in(4)),
            model,
            habits,
            requests: self.random.below(3000),
            last: None,
        }
    }

    fn begin(&mut self) {
        let talk = self.new_talk();
        self.talks.push(talk);
    }

    /// Agents with the same first request, each of which goes on with its own answer.
    fn swarm(&mut self) {
        let mut first = self.new_talk();
        let count = 40 + self.random.below(61);
        for _ in 0..count {
            let mut talk = first.clone();
            self.answer(&mut talk);
            self.talks.push(talk);
        }
        first.tenant = 1 - first.tenant;
        self.talks.push(first);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Edits => self.edit(),
            Event::Compacts => self.compact(false),
            Event::CompactsInTurn => self.compact(true),
            Event::Forks => self.fork(),
            Event::Retries => self.retry(),
            Event::MergesAgents => self.merge_agent(),
            Event::Switches => {
                if let Some(at) = self.any() {
                    self.talks[at].model = 1 - self.talks[at].model;
                }
            }
            Event::Loses => self.evict(),
            Event::Empties => {
                self.vault.empty_or_fill();
                self.talks.iter_mut().for_each(|talk| talk.last = None);
            }
            Event::AsksBoth | Event::FailsLookups | Event::Swarms => self.begin(),
        }
    }

    fn any(&mut self) -> Option<usize> {
        (!self.talks.is_empty()).then(|| self.random.below(self.talks.len()))
    }

    fn edit(&mut self) {
        let Some(at) = self.any() else { return };
        let words = self.random.one(&["ok", "list", "go on", "something else"]);
        let pick = self.random.next();
        let said = self.talks[at].truth.iter_mut();
        let mut said: Vec<_> = said.filter(|it| it.content.speaker == Speaker::Human).collect();
        // The newest is another question, and its answers are not there yet.
        said.pop();
        if !said.is_empty() {
            let which = usize::try_from(pick % said.len() as u64).unwrap();
            said[which].content = human(words);
        }
    }

    /// The head becomes a summary, which is never the same twice.
    fn compact(&mut self, in_turn: bool) {
        let Some(at) = self.any() else { return };
        let summary = human(&format!("Summary {}", self.random.next()));
        let truth = &mut self.talks[at].truth;
        let is_start = |it: &Message| match in_turn {
            false => it.content.speaker == Speaker::Human,
            true => it.content.tool_calls().next().is_some(),
        };
        let systems = truth.iter().take_while(|it| it.content.speaker == Speaker::System).count();
        if let Some(start) = truth.iter().rposition(is_start).filter(|start| *start > systems) {
            truth.splice(systems..start, [Message { content: summary, name: None }]);
        }
    }

    fn fork(&mut self) {
        let Some(at) = self.any() else { return };
        let mut talk = self.talks[at].clone();
        let keep = 1 + self.random.below(talk.truth.len());
        talk.truth.truncate(keep);
        // Not between calls and their results.
        let last = &talk.truth[keep - 1].content;
        if last.tool_calls().next().is_none() && last.speaker != Speaker::System {
            self.talks.push(talk);
        }
    }

    fn retry(&mut self) {
        let Some(at) = self.any() else { return };
        let mut talk = self.talks[at].clone();
        if talk.is_at(Speaker::Ai) {
            talk.truth.pop();
            self.answer(&mut talk);
            self.talks.push(talk);
        }
    }

    /// What another agent did with tools stands behind the results of this one.
    fn merge_agent(&mut self) {
        let (Some(one), Some(two)) = (self.any(), self.any()) else { return };
        let (main, other) = (&self.talks[one], &self.talks[two]);
        let steps = other.truth.iter().filter(|it| {
            it.content.speaker == Speaker::Tool || it.content.tool_calls().next().is_some()
        });
        let mut steps: Vec<Message> = steps.cloned().collect();
        while steps.last().is_some_and(|it| it.content.speaker != Speaker::Tool) {
            steps.pop();
        }
        let names: BTreeSet<_> = main.truth.iter().filter_map(|it| it.name.clone()).collect();
        let is_new = !steps.iter().any(|it| it.name.as_ref().is_some_and(|it| names.contains(it)));
        if main.is_at(Speaker::Tool) && main.tenant == other.tenant && is_new && steps.len() < 12 {
            self.talks[one].truth.extend(steps);
        }
    }

    fn evict(&mut self) {
        let all: Vec<String> = self.vault.ids().cloned().collect();
        if !all.is_empty() {
            let id = self.random.one(&all);
            self.vault.remove(&id);
            self.talks.iter_mut().for_each(|talk| talk.last = None);
        }
    }

    fn go_on(&mut self) {
        let Some(at) = self.any() else { return self.begin() };
        let mut talk = self.talks.swap_remove(at);
        let last = talk.truth.last().expect("it has begun").content.clone();
        if last.speaker != Speaker::Ai {
            self.answer(&mut talk);
        } else if last.tool_calls().next().is_some() {
            for call in last.tool_calls() {
                let words = match self.random.below(4) {
                    0 => format!("file {}", self.random.below(1 << 40)),
                    _ => self.random.one(&["a b c d e f", "nothing here"]).to_owned(),
                };
                talk.says(result(call.id.as_deref().unwrap_or_default(), &words));
            }
            if self.random.once_in(12) {
                talk.says(human("Wait."));
            }
        } else {
            let words = self.random.one(WORDS);
            let mut content = human(words);
            if self.random.once_in(4) {
                content.blocks.push(image(self.random.below(3)));
            }
            talk.says(content);
        }
        self.talks.push(talk);
    }

    /// The client asks, everything is checked that goes back, and the model answers.
    fn answer(&mut self, talk: &mut Talk) {
        talk.requests += 1 + self.random.below(50);
        let sent = send(talk);
        let contents: Vec<Content> = sent.iter().map(|it| it.content.clone()).collect();
        let asker = Asker::of(talk, &self.setting);
        let path = self.oracle.read(talk, &sent);
        let is_blind = self.kind.has(Event::FailsLookups) && self.random.once_in(8);
        let (planned, evidence) = match is_blind {
            // Nothing is known, and it changes nothing for the requests behind it.
            true => (Vault::plan_without_look_up(&asker, &contents), BTreeMap::new()),
            false => (
                self.vault.plan(&asker, &contents, &BTreeSet::new()),
                self.oracle.evidence(&path, &self.vault),
            ),
        };
        let decided = self.judge(&path, &sent, &planned, &evidence);
        if !is_blind {
            self.is_as_before(talk, contents.clone(), &decided);
            self.less_is_no_other(talk, &path, &contents, &planned);
        }
        self.answers += 1;
        let name = format!("thought {}", self.answers);
        let answer = self.say(&name, talk);
        let asker = Asker::of(talk, &self.setting);
        let (id, given) = self.vault.answered(&asker, &planned, answer);
        if self.kind.has(Event::Loses) && self.random.once_in(10) {
            self.vault.remove(&id);
        }
        let before = sent.iter().rev().find_map(|it| it.parts.last());
        let parent = before.map(|part| part.name.clone());
        self.oracle.learn(path, &evidence, parent, (&name, &id, &given));
        talk.truth.push(Message { content: given, name: Some(name) });
    }

    fn say(&mut self, name: &str, talk: &Talk) -> Content {
        let mut blocks = vec![thought_of(&self.setting.contract, name)];
        blocks.extend(self.random.one(&[None, None, Some("ok"), Some("done")]).map(text));
        let calls = if talk.frame.tools.is_empty() { 0 } else { self.random.below(3) };
        let before = talk.truth.iter().map(|it| it.content.tool_calls().count()).sum::<usize>();
        for nth in 0..calls {
            let name = self.random.one(&["read", "read", "list"]);
            let id = match self.setting.ids {
                Ids::Random => self.random_id(),
                Ids::Weak => format!("functions.{name}:{}", before + nth),
                Ids::None => String::new(),
            };
            let arguments = self.random.one(&["{}", "{}", r#"{"n":1}"#, r#"{"n":1,"limit":null}"#]);
            blocks.push(call(&id, name, arguments));
        }
        if blocks.len() == 1 {
            blocks.push(text("ok"));
        }
        ai(blocks)
    }

    pub(super) fn random_id(&mut self) -> String {
        match self.form {
            0 => format!("call_00_{}", self.random.signs(ALNUM, 22)),
            1 => format!("toolu_01{}", self.random.signs(ALNUM, 22)),
            2 => format!("chatcmpl-tool-{}", self.random.signs(b"0123456789abcdef", 32)),
            _ => format!("call_{}", self.random.signs(ALNUM, 24)),
        }
    }
}

fn image(which: usize) -> Block {
    Block::Media(Media {
        media_type: "image/png".into(),
        source: MediaSource::Data(format!("aW1hZ2U{which}")),
        extra: Extra::default(),
    })
}
