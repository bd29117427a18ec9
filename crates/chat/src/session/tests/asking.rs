//! Asking: what a request is made of, and what a change of settings does to it.

use super::{answered, desk, desk_of, model, start, wire};
use crate::screen::model::{Body, Level, ThoughtState};
use crate::session::{Effect, Ended, Keep, Message, Progress, Stored};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::price::{Price, Rates};
use thinkthrough_core::settings::{Include, Key};
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::{BudgetRules, Limit, OnExceed};

fn thoughts(desk: &super::Desk) -> Vec<(String, ThoughtState)> {
    let entries = desk.session.view().transcript.iter();
    let thoughts = entries.filter_map(|(_, body)| match body {
        Body::Thought(thought) => Some((thought.text.clone(), thought.state)),
        _ => None,
    });
    thoughts.collect()
}

fn kept(desk: &super::Desk) -> Vec<Content> {
    let kept = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Keep(Keep::Message(content)) => Some((**content).clone()),
        _ => None,
    });
    kept.collect()
}

#[test]
fn br_002_everything_is_stored_whatever_the_settings_say() {
    for line in [
        "/set reasoning.includeInContext false",
        "/set reasoning.includeInResponse false",
        "/set reasoning.enabled false",
        "/thinking off",
        "/set reasoning.stripFromContext all",
    ] {
        let mut desk = desk();
        desk.line(line);
        desk.line("why?");
        desk.answer("because of this", "because");
        let kept = kept(&desk);
        assert_eq!(kept.len(), 2, "{line}");
        let thought: Vec<_> = kept[1].thoughts().map(|it| it.thought.as_str()).collect();
        assert_eq!(thought, ["because of this"], "{line}");
        assert!(kept[1].thoughts().all(|it| it.duration_ms.is_some() && !it.is_hidden));
    }
}

#[test]
fn br_003_showing_and_sending_do_not_touch_each_other() {
    for (shows, sends) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut desk = desk();
        desk.line(&format!("/set reasoning.includeInResponse {shows}"));
        desk.line(&format!("/set reasoning.includeInContext {sends}"));
        desk.line("why?");
        desk.answer("because of this", "because");
        desk.line("and?");
        assert_eq!(desk.session.view().shows_thoughts, shows);
        assert_eq!(desk.wire().contains("because of this"), sends, "{shows} {sends}");
    }
}

#[test]
fn br_005_strip_goes_before_include() {
    let cases = [
        ("none", "true", "T1 T2"),
        ("allButLast", "true", "T2"),
        ("all", "true", ""),
        ("none", "false", ""),
        ("allButLast", "false", ""),
        ("all", "false", ""),
    ];
    for (strip, include, expected) in cases {
        let mut start = start();
        // An endpoint that demands nothing.
        start.model = model("openai-compatible", "plain");
        let mut desk = desk_of(start);
        desk.line(&format!("/set reasoning.stripFromContext {strip}"));
        desk.line(&format!("/set reasoning.includeInContext {include}"));
        desk.line("one");
        desk.answer("T1", "first");
        desk.line("two");
        desk.answer("T2", "second");
        desk.line("three");
        let wire = desk.wire();
        let sent: Vec<_> = ["T1", "T2"].into_iter().filter(|it| wire.contains(it)).collect();
        assert_eq!(sent.join(" "), expected, "{strip} {include}");
    }
}

#[test]
fn br_006_switched_off_means_the_explicit_off_form_and_what_comes_is_kept() {
    let mut desk = desk();
    desk.line("/set reasoning.enabled false");
    desk.line("why?");
    assert!(desk.wire().contains(r#""thinking":{"type":"disabled"}"#), "{}", desk.wire());
    desk.answer("I think anyway", "because");
    assert_eq!(thoughts(&desk), [("I think anyway".to_owned(), ThoughtState::Done)]);
}

#[test]
fn br_008_a_request_in_flight_keeps_its_settings_and_the_next_one_has_the_new() {
    let mut desk = desk();
    desk.line("first");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    desk.line("/set reasoning.effort high");
    assert!(desk.noticed().1.ends_with("the answer under way keeps the old one"));
    desk.answer("hm", "yes");
    desk.line("second");
    let asked = desk.asked();
    assert_eq!(asked[0].settings.effort.value, None);
    assert!(!wire(&asked[0]).contains("high") && wire(&asked[1]).contains("high"));
}

#[test]
fn ec_004_a_change_in_the_middle_counts_for_the_past_too_and_changes_nothing_stored() {
    let mut desk = desk();
    desk.line("one");
    desk.answer("T1", "first");
    let before = desk.session.conversation.contents().clone();
    desk.line("/set reasoning.includeInContext false");
    desk.line("/set reasoning.includeInResponse false");
    assert!(!desk.session.view().shows_thoughts);
    desk.line("two");
    assert!(!desk.wire().contains("T1"));
    assert_eq!(desk.session.conversation.contents()[..2], before[..]);
    desk.answer("T2", "second");
    desk.line("/set reasoning.includeInContext true");
    desk.line("/set reasoning.includeInResponse true");
    assert!(desk.session.view().shows_thoughts, "what was hidden when it came shows now");
    desk.line("three");
    assert!(desk.wire().contains("T1") && desk.wire().contains("T2"));
    assert_eq!(thoughts(&desk).len(), 2);
}

#[test]
fn req_think_006_2_auto_is_the_default_and_sends_what_the_contract_needs() {
    let desk = desk();
    let resolved = desk.session.layers.resolve();
    assert_eq!(resolved.include_in_context.value, Include::Auto);
    assert_eq!(resolved.get(Key::Display).0, "show");
    let mut start = start();
    start.model = model("openai-compatible", "plain");
    let mut desk = desk_of(start);
    desk.line("one");
    desk.answer("T1", "first");
    desk.line("two");
    assert!(!desk.wire().contains("T1"), "without a contract nothing goes back");
}

#[test]
fn an_interrupt_keeps_the_partial_thought_and_lets_the_user_steer() {
    let mut desk = desk();
    desk.line("why?");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    desk.told(Progress::ThoughtBegins(0));
    desk.told(Progress::ThoughtGrows(0, "on the wrong tr".to_owned()));
    desk.press(KeyCode::Esc, KeyModifiers::NONE);
    assert!(matches!(desk.effects.last(), Some(Effect::Stop(1))));
    // A text sent during the stop goes out after it.
    desk.line("no, think of that");
    assert_eq!(desk.asked().len(), 1);
    let mut partial = answered(&desk.asked()[0].target, "on the wrong tr", "");
    partial.partial = true;
    partial.blocks.truncate(1);
    if let Block::Thinking(thinking) = &mut partial.blocks[0] {
        thinking.partial = true;
    }
    desk.told(Progress::Added(Box::new(partial)));
    desk.told(Progress::Done(Ended { is_stopped: true, ..Ended::default() }));
    assert_eq!(thoughts(&desk), [("on the wrong tr".to_owned(), ThoughtState::Partial)]);
    let asked = desk.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].contents.last().unwrap().visible_text(), "no, think of that");
    assert!(kept(&desk)[1].partial);
}

#[test]
fn what_a_stopped_question_still_says_is_not_taken_for_the_next_one() {
    let mut desk = desk();
    desk.line("one");
    desk.told(Progress::Done(Ended { is_stopped: true, ..Ended::default() }));
    desk.line("two");
    desk.tell(Message::Progress(1, Progress::ThoughtBegins(0)));
    assert!(thoughts(&desk).is_empty());
}

#[test]
fn seed_003_what_the_gate_says_about_the_budget_is_on_the_screen() {
    let mut start = start();
    start.budget = BudgetRules { max: Limit::from_config(10), ..BudgetRules::DEFAULT };
    let mut desk = desk_of(start);
    desk.line("think");
    desk.told(Progress::Spent(12));
    desk.told(Progress::Warns("12 of the session's 10 reasoning tokens are spent".to_owned()));
    let (level, text) = desk.noticed();
    assert_eq!(level, Level::Warning);
    assert!(text.starts_with("12 of"));
    assert_eq!(desk.session.view().status.budget.unwrap().used, 12);
    desk.answer("hm", "done");
    desk.line("on");
    assert_eq!(desk.asked().len(), 2, "`warn` goes on");
}

#[test]
fn seed_003_a_spent_budget_that_blocks_asks_nothing_and_loses_nothing_typed() {
    let mut start = start();
    let max = Limit::from_config(10);
    start.budget = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
    let mut desk = desk_of(start);
    desk.line("one");
    desk.told(Progress::Spent(10));
    desk.answer("a long thought", "done");
    desk.line("two");
    assert_eq!(desk.asked().len(), 1);
    assert_eq!(desk.noticed().0, Level::Error);
    assert_eq!(desk.session.view().composer.text, "two");
    // Without thinking it costs nothing.
    desk.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    desk.line("/set reasoning.enabled false");
    desk.line("two");
    assert_eq!(desk.asked().len(), 2);
}

#[test]
fn a_price_shows_what_the_session_cost_and_says_when_that_is_not_all() {
    let usage = |input, output| Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..Default::default()
    };
    let mut start = start();
    let rates = Rates { input: 2_000_000, output: 10_000_000, ..Rates::default() };
    start.model.target.price = Some(Price { rates, ..Price::default() });
    let cost = |desk: &super::Desk| desk.session.view().status.cost.clone();
    let mut desk = desk_of(start);
    assert_eq!(cost(&desk), None, "nothing is known yet");
    desk.line("one");
    let mut answer = answered(&desk.asked()[0].target, "T", "first");
    answer.usage = Some(usage(100_000, 20_000));
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    assert_eq!(cost(&desk).as_deref(), Some("$0.40"));
    // Another model, whose price is unknown.
    desk.tell(Message::Chosen(Ok(Box::new(model("openai-compatible", "plain")))));
    desk.line("two");
    desk.answer("T", "second");
    assert_eq!(cost(&desk).as_deref(), Some("$0.40+"));
}

#[test]
fn a_budget_is_that_of_the_conversation_also_after_a_restart() {
    let mut start = start();
    let said = Content::text(Speaker::Human, "one");
    let mut answer = answered(&start.model.target, "thought", "done");
    answer.usage = Some(Usage { reasoning_tokens: Some(450_000), ..Default::default() });
    start.resumed =
        Some(Stored { id: "a".into(), contents: vec![said, answer], ..Stored::default() });
    let mut desk = desk_of(start);
    assert_eq!(desk.session.view().status.budget.unwrap().used, 450_000);
    desk.tell(Message::Tick);
    let resumes = |it: &Effect| matches!(it, Effect::Resume(contents) if contents.len() == 2);
    assert!(desk.effects.iter().any(resumes), "the gate counts on from there");
    desk.line("/new");
    let anew = |it: &Effect| matches!(it, Effect::Resume(contents) if contents.is_empty());
    assert!(desk.effects.iter().any(anew));
    assert_eq!(desk.session.view().status.budget.unwrap().used, 0);
}

#[test]
fn a_model_without_a_key_is_not_asked() {
    let mut start = start();
    start.model.missing_key = Some("`x` needs a key; set `X_KEY`".to_owned());
    let mut desk = desk_of(start);
    desk.line("hello");
    assert!(desk.asked().is_empty());
    assert!(desk.noticed().1.starts_with("`x` needs a key; set `X_KEY`"));
    assert_eq!(desk.session.view().composer.text, "hello");
}

#[test]
fn foreign_thoughts_are_withheld_and_it_is_told_how_many() {
    let mut start = start();
    start.model = model("anthropic", "claude-opus-4-5");
    let mut desk = desk_of(start);
    desk.line("why?");
    let target = desk.asked()[0].target.clone();
    let mut answer = answered(&target, "signed thought", "because");
    if let Block::Thinking(thinking) = &mut answer.blocks[0] {
        thinking.signature = Some("opaque".to_owned());
    }
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    let other = model("openai", "gpt-5.2");
    desk.tell(Message::Chosen(Ok(Box::new(other))));
    assert!(desk.noticed().1.contains(": 1 thought stays here"), "{}", desk.noticed().1);
    desk.line("and?");
    assert!(!desk.wire().contains("signed thought"));
    desk.told(Progress::Done(Ended::default()));
    let back = model("anthropic", "claude-opus-4-5");
    desk.tell(Message::Chosen(Ok(Box::new(back))));
    desk.line("and again?");
    assert!(desk.wire().contains("signed thought"), "it goes back to where it came from");
}

#[test]
fn reported_tokens_without_a_text_are_a_withheld_thought_now_and_later() {
    let mut desk = desk();
    desk.line("why?");
    desk.told(Progress::TextGrows(0, "because".to_owned()));
    let target = desk.asked()[0].target.clone();
    let mut answer = answered(&target, "", "because");
    answer.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
    answer.usage = Some(Usage { reasoning_tokens: Some(400), ..Usage::default() });
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    let withheld = [(String::new(), ThoughtState::Withheld)];
    assert_eq!(thoughts(&desk), withheld);
    let mut later = start();
    let contents = desk.session.conversation().contents().to_vec();
    later.resumed = Some(Stored { contents, ..Stored::default() });
    assert_eq!(thoughts(&desk_of(later)), withheld, "also when the conversation is opened again");
}

#[test]
fn time_goes_on_while_the_model_thinks() {
    let mut desk = desk();
    assert!(!desk.session.is_moving());
    desk.line("why?");
    desk.told(Progress::ThoughtBegins(0));
    assert!(desk.session.is_moving());
    desk.now += Duration::from_secs(12);
    desk.told(Progress::ThoughtEnds { block: 0, is_withheld: true, whole: None });
    assert_eq!(thoughts(&desk), [(String::new(), ThoughtState::Withheld)]);
}
