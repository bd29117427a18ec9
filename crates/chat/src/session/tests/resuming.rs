//! A conversation continues with its model and settings, and the store receives their changes.

use super::super::{Keep, Kept, Stored};
use super::{Desk, Effect, Ended, Level, Message, Progress, answered, desk, desk_of, model, start};
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::price::{Price, Rates};
use thinkthrough_core::settings::{Effort, Partial};
use thinkthrough_core::usage::Usage;
use thinkthrough_store::{ConversationState, Cost};

const HELD: &str = "deepseek/deepseek-v4-pro";
const OTHER: &str = "moonshotai/kimi-k3";

fn said(values: &[(&str, &str)]) -> Partial {
    let mut said = Partial::default();
    for (key, value) in values {
        said.set(key, value).unwrap();
    }
    said
}

fn state(model: &str, values: &[(&str, &str)]) -> ConversationState {
    let cost = Cost { micro: 120_000, is_partial: false };
    ConversationState { model: Some(model.to_owned()), reasoning: said(values), cost }
}

fn stored(state: ConversationState) -> Stored {
    let contents = vec![
        Content::text(Speaker::Human, "one"),
        answered(&model("deepseek", "deepseek-v4-pro").target, "thought", "done"),
    ];
    Stored { id: "a".into(), title: Some("A".into()), state, contents, ..Stored::default() }
}

/// The store orders about the model and settings of the conversation.
fn kept(desk: &Desk) -> Vec<String> {
    let kept = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Keep(Keep::Model(model)) => Some(format!("model {model}")),
        Effect::Keep(Keep::Reasoning(said)) => {
            let words = ConversationState::KEYS.into_iter();
            let words = words.filter_map(|key| Some(format!("{} {}", key.short(), said.get(key)?)));
            Some(format!("[{}]", words.collect::<Vec<_>>().join(", ")))
        }
        Effect::Keep(Keep::Cost(cost)) => Some(format!("cost {}", cost.micro)),
        _ => None,
    });
    kept.collect()
}

fn open(desk: &mut Desk, state: ConversationState) {
    desk.tell(Message::Stored(Ok(Kept::Opened(Box::new(stored(state))))));
}

#[test]
fn a_conversation_goes_on_with_its_settings_and_its_cost() {
    let mut start = start();
    let values = [("effort", "high"), ("maxTokens", "4000"), ("display", "collapsed")];
    start.resumed = Some(stored(state(HELD, &values)));
    let mut desk = desk_of(start);
    let line = "taken up: deepseek/deepseek-v4-pro, effort high, thought cap 4000, display collapsed, $0.12 so far";
    assert_eq!(desk.noticed(), (Level::Info, line.to_owned()));
    let status = desk.session.view().status.clone();
    assert_eq!((status.effort.as_deref(), status.cost.as_deref()), (Some("high"), Some("$0.12")));
    desk.line("and?");
    let settings = desk.asked()[0].settings.clone();
    assert_eq!(settings.effort.value, Some(Effort::High));
    assert_eq!(settings.max_tokens.value.unwrap().to_string(), "4000");
    assert!(kept(&desk).is_empty(), "the store knows all of that");
    desk.told(Progress::Done(Ended::default()));
    desk.line("/new");
    assert_eq!(desk.session.view().status.cost, None, "another conversation cost nothing yet");
}

#[test]
fn the_command_line_wins_over_the_conversation() {
    let mut start = start();
    start.layers.session = said(&[("effort", "low")]);
    start.resumed = Some(stored(state(OTHER, &[("effort", "high"), ("enabled", "false")])));
    start.names_model = true;
    let mut desk = desk_of(start);
    assert_eq!(desk.noticed().1, "taken up: thinking off, $0.12 so far");
    assert!(kept(&desk).is_empty(), "to look at a conversation changes nothing in it");
    desk.line("and?");
    assert_eq!(desk.asked()[0].settings.effort.value, Some(Effort::Low));
    assert_eq!(kept(&desk), [format!("model {HELD}"), "[enabled false, effort low]".to_owned()]);
}

#[test]
fn changes_in_the_middle_are_kept_with_the_conversation() {
    let mut desk = desk();
    desk.line("/effort max");
    assert!(kept(&desk).is_empty(), "there is no conversation yet");
    desk.line("one");
    desk.answer("T", "first");
    desk.line("/cap 2048");
    desk.line("/thinking off");
    desk.line("/set reasoning.enabled false");
    desk.line("/unset reasoning.effort");
    desk.tell(Message::Chosen(Ok(Box::new(model("moonshotai", "kimi-k3")))));
    let expected = [
        &format!("model {HELD}"),
        "[effort max]",
        // The cost of the answer is unknown.
        "cost 0",
        "[effort max, maxTokens 2048]",
        "[effort max, maxTokens 2048, display off]",
        "[enabled false, effort max, maxTokens 2048, display off]",
        "[enabled false, maxTokens 2048, display off]",
        &format!("model {OTHER}"),
    ];
    assert_eq!(kept(&desk), expected);
}

#[test]
fn unset_takes_back_what_was_said_earlier_in_the_conversation() {
    let mut start = start();
    start.resumed = Some(stored(state(HELD, &[("effort", "high")])));
    let mut desk = desk_of(start);
    desk.line("/unset reasoning.effort");
    assert_eq!(desk.session.view().status.effort, None);
    assert_eq!(kept(&desk), ["[]"]);
}

#[test]
fn a_picked_conversation_goes_on_with_its_own_model_and_settings() {
    let mut desk = desk();
    desk.line("/effort max");
    open(&mut desk, state(OTHER, &[("effort", "low")]));
    assert!(desk.effects.iter().any(|it| matches!(it, Effect::Choose(name) if name == OTHER)));
    // A question sent meanwhile waits for the model.
    desk.line("and?");
    assert!(desk.asked().is_empty());
    desk.tell(Message::Chosen(Ok(Box::new(model("moonshotai", "kimi-k3")))));
    assert_eq!(desk.noticed().1, "taken up: moonshotai/kimi-k3, effort low, $0.12 so far");
    let question = desk.asked()[0].clone();
    assert_eq!(
        (question.model.as_str(), question.settings.effort.value),
        (OTHER, Some(Effort::Low))
    );
    assert!(kept(&desk).is_empty());
}

#[test]
fn an_imported_conversation_goes_on_with_what_holds_now() {
    let mut desk = desk();
    desk.line("/effort max");
    open(&mut desk, ConversationState::default());
    desk.line("and?");
    assert_eq!(desk.asked()[0].settings.effort.value, Some(Effort::Max));
    assert_eq!(kept(&desk), [format!("model {HELD}"), "[effort max]".to_owned()]);
}

#[test]
fn a_model_that_cannot_be_reached_is_named_and_the_one_in_use_answers() {
    let keyless = |name: &str| {
        let mut model = model("moonshotai", name);
        model.missing_key = Some("it needs a key".to_owned());
        Ok(Box::new(model))
    };
    for (chosen, why) in [
        (Err("no provider has it".to_owned()), "no provider has it"),
        (keyless("kimi-k3"), "it needs a key"),
    ] {
        let mut desk = desk();
        open(&mut desk, state(OTHER, &[]));
        desk.tell(Message::Chosen(chosen));
        let notices = format!("{:?}", desk.session.view().transcript.iter().collect::<Vec<_>>());
        let sentence = format!(
            "the model of this conversation, `{OTHER}`, cannot be reached ({why}); `{HELD}` answers"
        );
        assert!(notices.contains(&sentence), "{notices}");
        assert!(
            kept(&desk).is_empty(),
            "until something is asked, the conversation stays as it was"
        );
        desk.line("and?");
        assert_eq!(desk.asked()[0].model, HELD);
        assert_eq!(kept(&desk), [format!("model {HELD}")]);
    }
}

#[test]
fn what_an_answer_cost_is_added_to_the_conversation() {
    let mut start = start();
    let rates = Rates { input: 2_000_000, output: 10_000_000, ..Rates::default() };
    start.model.target.price = Some(Price { rates, ..Price::default() });
    start.resumed = Some(stored(state(HELD, &[])));
    let mut desk = desk_of(start);
    desk.line("and?");
    let mut answer = answered(&desk.asked()[0].target, "T", "first");
    answer.usage = Some(Usage {
        input_tokens: Some(100_000),
        output_tokens: Some(20_000),
        ..Usage::default()
    });
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    assert_eq!(desk.session.view().status.cost.as_deref(), Some("$0.52"));
    assert_eq!(kept(&desk), ["cost 400000"]);
}
