//! The effective count, and compression.

use super::{Desk, answered, desk, desk_of, model, start, wire};
use crate::export::{Exported, ThoughtForm, to_html, to_markdown};
use crate::gate::Gate;
use crate::screen::model::{Activity, Body};
use crate::session::{Counter, Effect, Ended, Keep, Message, Progress, Side, Stored};
use crossterm::event::{KeyCode, KeyModifiers};
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::provider::Target;
use thinkthrough_core::tokens::{
    IncrementalCount, TokenCount, Tokenizer, TokenizerFailure, count_or_estimate,
    estimate_conservative,
};
use thinkthrough_limits::{BudgetRules, Limit};

fn effective(desk: &Desk) -> u64 {
    desk.session.view().status.effective.unwrap()
}

/// A conversation with as many turns, each with a thought of a thousand words.
fn long(target: &Target, turns: usize) -> Vec<Content> {
    (0..turns)
        .flat_map(|turn| {
            let thought = format!("thought{turn} {}", "word ".repeat(1_000));
            let mut answer = answered(target, &thought, &format!("answer{turn}"));
            if let Block::Thinking(thinking) = &mut answer.blocks[0] {
                thinking.signature = Some(format!("signature{turn}"));
            }
            [Content::text(Speaker::Human, format!("question{turn}")), answer]
        })
        .collect()
}

fn resumed(provider: &str, name: &str, turns: usize) -> Desk {
    let mut start = start();
    start.model = model(provider, name);
    let contents = long(&start.model.target, turns);
    start.resumed = Some(Stored { id: "a".into(), contents, ..Stored::default() });
    let mut desk = desk_of(start);
    desk.tell(Message::Tick);
    desk
}

/// The summary that is being written.
fn summarising(desk: &Desk) -> u64 {
    desk.session.compressing.as_ref().unwrap().run
}

#[test]
fn br_004_the_count_is_that_of_the_request_that_would_be_sent() {
    for strip in ["none", "all", "allButLast"] {
        for include in ["true", "false", "auto"] {
            let mut desk = resumed("openai-compatible", "plain", 3);
            desk.line(&format!("/set reasoning.stripFromContext {strip}"));
            desk.line(&format!("/set reasoning.includeInContext {include}"));
            let shown = effective(&desk);
            desk.line("x");
            let question = desk.asked().pop().unwrap();
            let mut before = question.clone();
            before.contents.pop();
            let body = wire(&before);
            let exact = estimate_conservative(&body);
            // Each message rounds up for itself.
            assert!(shown >= exact && shown <= exact + 16, "{strip} {include}: {shown} {exact}");
        }
    }
}

#[test]
fn req_think_005_1_and_5_3_the_display_follows_the_settings_at_once() {
    let mut desk = resumed("openai-compatible", "plain", 4);
    desk.line("/set reasoning.includeInContext true");
    let all = effective(&desk);
    desk.line("/set reasoning.stripFromContext allButLast");
    let last = effective(&desk);
    desk.line("/set reasoning.includeInContext false");
    let none = effective(&desk);
    assert!(all > last + 2_000 && last > none + 500, "{all} {last} {none}");
    assert!(desk.asked().is_empty(), "no request was needed for it");
}

#[test]
fn err_002_a_broken_tokenizer_estimates_and_warns_once() {
    struct Broken;
    impl Tokenizer for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn count(&self, _: &str) -> Result<u64, TokenizerFailure> {
            Err(TokenizerFailure { tokenizer: "broken".into(), reason: "it is".into() })
        }
        fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure> {
            Err(TokenizerFailure { tokenizer: "broken".into(), reason: "it is".into() })
        }
    }
    let desk = resumed("deepseek", "deepseek-v4-pro", 2);
    let mut counter = Counter::new(Some(&Broken));
    let counted = counter.count(desk.session.request());
    assert!(counted.warning.is_some());
    assert!(counted.count.tokens >= count_or_estimate(None, "word ").0.tokens);
    assert!(counter.count(desk.session.request()).warning.is_none());
    let mut desk = desk;
    let warned = super::super::Counted { warning: counted.warning, ..counted };
    desk.session.update(Message::Counted(warned), desk.now);
    assert!(desk.noticed().1.contains("estimated"), "{}", desk.noticed().1);
}

#[test]
fn req_think_005_2_only_the_effective_count_triggers_compression() {
    for (include, compresses) in [("false", false), ("true", true)] {
        let mut desk = resumed("openai-compatible", "plain", 8);
        // Between the count without thoughts and the one with them.
        desk.session.model.target.rule.context = 8_000;
        desk.line(&format!("/set reasoning.includeInContext {include}"));
        desk.line("go on");
        let aside = desk.effects.iter().any(|it| matches!(it, Effect::Aside(Side::Summary(_), _)));
        assert_eq!(aside, compresses, "{include}");
        assert_eq!(desk.asked().len(), usize::from(!compresses));
    }
}

#[test]
fn a_compression_says_its_plan_asks_without_thinking_and_can_be_undone() {
    let mut desk = resumed("deepseek", "deepseek-v4-pro", 6);
    desk.session.model.target.rule.context = 100;
    let before = effective(&desk);
    desk.line("go on");
    assert!(desk.noticed().1.starts_with("Compressing: "), "{}", desk.noticed().1);
    let aside = desk.effects.iter().find_map(|effect| match effect {
        Effect::Aside(Side::Summary(run), question) => Some((*run, (**question).clone())),
        _ => None,
    });
    let (run, question) = aside.unwrap();
    assert!(!question.settings.enabled.value, "a summary is not worth thinking about");
    let text = question.contents[0].visible_text();
    assert!(text.contains("question0") && !text.contains("thought0"), "thoughts stay here");
    desk.tell(Message::Side(Side::Summary(run), Ok("they talked".to_owned())));
    let wire = desk.wire();
    assert!(wire.contains("they talked") && !wire.contains("question0"), "{wire}");
    assert!(wire.contains("go on"), "the question that waited went out");
    assert_eq!(desk.session.conversation.contents().len(), 13, "the log has everything");
    desk.answer("hm", "done");
    assert!(effective(&desk) < before);
    let keeps = |desk: &Desk| {
        desk.effects.iter().filter(|it| matches!(it, Effect::Keep(Keep::Compressed(_)))).count()
    };
    assert_eq!(keeps(&desk), 1);
    desk.line("/compress undo");
    assert_eq!(keeps(&desk), 2);
    desk.session.model.target.rule.context = 0;
    desk.line("again");
    assert!(desk.wire().contains("question0"));
}

#[test]
fn a_failed_summary_changes_nothing_and_the_question_goes_out() {
    for said in [Err("no".to_owned()), Ok("  ".to_owned())] {
        let mut desk = resumed("deepseek", "deepseek-v4-pro", 6);
        desk.session.model.target.rule.context = 100;
        desk.line("go on");
        let run = summarising(&desk);
        desk.tell(Message::Side(Side::Summary(run), said));
        assert!(desk.wire().contains("question0"));
        assert!(desk.session.conversation.compression().is_none());
    }
}

#[test]
fn esc_gives_a_compression_up_and_the_question_that_waits_comes_back() {
    let mut desk = resumed("deepseek", "deepseek-v4-pro", 6);
    desk.session.model.target.rule.context = 100;
    desk.line("go on");
    assert_eq!(desk.session.view().status.activity, Activity::Compressing);
    let run = summarising(&desk);
    desk.press(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(desk.session.view().status.activity, Activity::Idle);
    assert_eq!(desk.noticed().1, "nothing was compressed");
    assert_eq!(desk.session.view().composer.text, "go on");
    assert!(desk.effects.iter().any(|it| matches!(it, Effect::Stop(stopped) if *stopped == run)));
    // A summary that arrives too late is ignored.
    desk.tell(Message::Side(Side::Summary(run), Ok("they talked".to_owned())));
    assert!(desk.session.conversation.compression().is_none() && desk.asked().is_empty());
    // It is not taken for the next summary either.
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    let again = summarising(&desk);
    desk.tell(Message::Side(Side::Summary(run), Ok("too late".to_owned())));
    assert_eq!(desk.session.view().status.activity, Activity::Compressing);
    desk.tell(Message::Side(Side::Summary(again), Ok("they talked".to_owned())));
    assert_eq!(desk.session.conversation.compression().unwrap().summary, "they talked");
    assert!(desk.wire().contains("go on"));
}

#[test]
fn thoughts_bound_to_what_a_summary_replaced_stay_out_and_later_ones_do_not() {
    let mut desk = resumed("anthropic", "claude-fable-5-1", 4);
    assert!(desk.session.model.target.rule.contract.bound, "the test needs a bound contract");
    desk.line("/compress");
    let run = summarising(&desk);
    desk.tell(Message::Side(Side::Summary(run), Ok("they talked".to_owned())));
    desk.line("one more");
    assert!(!desk.wire().contains("signature"), "{}", desk.wire());
    let target = desk.asked()[0].target.clone();
    let mut answer = answered(&target, "fresh", "done");
    if let Block::Thinking(thinking) = &mut answer.blocks[0] {
        thinking.signature = Some("signature-fresh".to_owned());
    }
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    desk.line("and more");
    assert!(desk.wire().contains("signature-fresh"));
    assert!(!desk.wire().contains("signature3"));
}

#[test]
fn the_threshold_of_compression_is_a_setting() {
    let compresses = |line: &str| {
        let mut desk = resumed("openai-compatible", "plain", 8);
        desk.session.model.target.rule.context = effective(&desk) * 2;
        desk.line(line);
        desk.line("go on");
        desk.effects.iter().any(|it| matches!(it, Effect::Aside(Side::Summary(_), _)))
    };
    assert!(!compresses("/compress at 80"), "half of the window is used");
    assert!(compresses("/compress at 40%"));
    assert!(!compresses("/compress at never"));
    let mut desk = desk();
    desk.line("/compress at 40");
    assert_eq!(desk.noticed().1, "compression: at 80 % -> at 40 %");
    desk.line("/compress at 101");
    assert!(desk.noticed().1.contains("1 to 100 percent"), "{}", desk.noticed().1);
}

#[test]
fn there_is_nothing_to_compress_in_one_turn() {
    let mut desk = desk();
    desk.line("/compress");
    assert_eq!(desk.noticed().1, "there is nothing to compress yet");
}

#[test]
fn what_would_be_sent_is_explained() {
    let mut desk = resumed("deepseek", "deepseek-v4-pro", 2);
    desk.line("/explain");
    let page = desk.page();
    assert!(page.contains("message 1, block 0: **"), "{page}");
    assert!(page.contains(&format!("{}/", effective(&desk))), "{page}");
    assert!(page.contains("POST https://"), "{page}");
    let tokens = page.lines().filter(|line| line.contains(" tokens: ")).count();
    assert_eq!(tokens, 2, "each thought says its tokens");
}

#[test]
fn a_resumed_conversation_shows_every_thought_and_its_compression() {
    let mut start = start();
    let contents = long(&start.model.target, 3);
    let compression =
        super::super::Compression { upto: 2, made_at: 6, summary: "they talked".into() };
    start.resumed = Some(Stored {
        id: "a".into(),
        contents,
        compressions: vec![compression],
        ..Stored::default()
    });
    let mut desk = desk_of(start);
    let entries = desk.session.view().transcript.iter();
    let thoughts = entries.filter(|(_, body)| matches!(body, Body::Thought(_))).count();
    assert_eq!(thoughts, 3);
    desk.line("go on");
    assert!(desk.wire().contains("they talked") && !desk.wire().contains("question0"));
}

#[test]
fn the_utility_model_gives_titles_and_summaries_without_thinking() {
    let mut start = start();
    start.model = model("openai-compatible", "plain");
    start.utility = Some(model("deepseek", "deepseek-v4-pro"));
    let mut desk = desk_of(start);
    let asides = |desk: &Desk| -> Vec<(Side, String, String)> {
        let asides = desk.effects.iter().filter_map(|effect| match effect {
            Effect::Aside(side, question) => Some((*side, question.model.clone(), wire(question))),
            _ => None,
        });
        asides.collect()
    };
    for turn in 0..3 {
        desk.line(&format!("question{turn}"));
        desk.answer("T", &format!("answer{turn} {}", "word ".repeat(1_000)));
    }
    let [(side, name, body)] = &asides(&desk)[..] else { panic!("one title is asked for") };
    assert_eq!((*side, name.as_str()), (Side::Title, "deepseek/deepseek-v4-pro"));
    assert!(body.contains(r#""thinking":{"type":"disabled"}"#), "{body}");
    assert!(body.contains("question0") && body.contains("answer0"), "{body}");
    desk.tell(Message::Side(Side::Title, Ok("Three questions\n".to_owned())));
    let titled =
        |it: &Effect| matches!(it, Effect::Keep(Keep::Title(title)) if title == "Three questions");
    assert!(desk.effects.iter().any(titled));
    desk.tell(Message::Side(Side::Title, Ok(" \n".to_owned())));
    assert_eq!(desk.session.conversation().title.as_deref(), Some("Three questions"));
    desk.line("/compress");
    let (side, name, body) = asides(&desk).pop().unwrap();
    assert!(matches!(side, Side::Summary(run) if run > 0), "{side:?}");
    assert_eq!(name, "deepseek/deepseek-v4-pro");
    assert!(body.contains(r#""thinking":{"type":"disabled"}"#), "{body}");
    assert!(body.contains("question0"), "{body}");
    // The conversation itself goes on where it was, thinking.
    desk.tell(Message::Side(side, Ok("what was said".to_owned())));
    desk.line("question3");
    let question = desk.asked().pop().unwrap();
    assert_eq!(question.model, "openai-compatible/plain");
    assert!(question.settings.enabled.value && wire(&question).contains("what was said"));
}

#[test]
fn b_11_a_thought_has_one_count_on_every_surface() {
    let mut start = start();
    start.budget.max = Limit::from_config(100);
    let mut desk = desk_of(start);
    let thought = "one two three four five six seven";
    let heads = |desk: &Desk| -> Vec<Option<TokenCount>> {
        let thoughts = desk.session.view().transcript.iter().filter_map(|(_, body)| match body {
            Body::Thought(thought) => Some(thought.tokens),
            _ => None,
        });
        thoughts.collect()
    };
    let count = TokenCount::estimated(9);
    desk.line("think");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    desk.told(Progress::ThoughtBegins(0));
    desk.told(Progress::ThoughtGrows(0, thought.to_owned()));
    assert_eq!(heads(&desk), [Some(count)], "while it grows");
    let content = answered(&desk.asked()[0].target, thought, "done");
    desk.told(Progress::Added(Box::new(content.clone())));
    desk.told(Progress::Done(Ended::default()));
    assert_eq!(heads(&desk), [Some(count)], "when it has ended");
    let gate = Gate::new(BudgetRules::DEFAULT);
    gate.resume(std::slice::from_ref(&content));
    assert_eq!(gate.used(), count, "what the gate books");
    let exported = Exported { title: None, contents: vec![content.clone()] };
    for form in [ThoughtForm::Callout, ThoughtForm::Details] {
        let markdown = to_markdown(&exported, form);
        assert!(markdown.contains("about 9 tokens"), "{markdown}");
    }
    assert!(to_html(&exported).contains("Thought · 9 tokens</button>"));
    desk.line("/explain");
    assert!(desk.page().contains("about 9 tokens"), "{}", desk.page());
    let mut again = super::start();
    again.resumed = Some(Stored { id: "a".into(), contents: vec![content], ..Stored::default() });
    let again = desk_of(again);
    assert_eq!(heads(&again), [Some(count)], "after a restart");
    assert_eq!(again.session.view().status.budget.unwrap().used, 9);
}
