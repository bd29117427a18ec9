//! Tools, lists, and what happens to conversations.

use super::{desk, desk_of, start};
use crate::screen::model::{Activity, Body, ToolState};
use crate::session::{
    Effect, Ended, Keep, Kept, Listed, Message, Offer, Permission, Stored, Told, Verdict,
};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;
use thinkthrough_core::content::{Content, Parameters, Speaker, ToolCall, ToolResponse};
use thinkthrough_core::json::{Extra, Raw};

pub(super) fn call(id: &str) -> ToolCall {
    ToolCall {
        id: Some(id.to_owned()),
        name: "shell".to_owned(),
        parameters: Parameters::from_text(r#"{"command":"ls"}"#),
        signature: None,
        extra: Extra::default(),
    }
}

fn gave(id: &str, is_error: bool) -> ToolResponse {
    ToolResponse {
        call_id: Some(id.to_owned()),
        name: Some("shell".to_owned()),
        result: Raw::string("a\nb"),
        is_error,
        extra: Extra::default(),
    }
}

pub(super) fn permission(id: &str) -> Permission {
    Permission {
        call_id: Some(id.to_owned()),
        tool: "shell".to_owned(),
        title: "run `ls`?".to_owned(),
        detail: String::new(),
        language: String::new(),
        grant: "`ls`".to_owned(),
    }
}

fn states(desk: &super::Desk) -> Vec<ToolState> {
    let entries = desk.session.view().transcript.iter();
    let tools = entries.filter_map(|(_, body)| match body {
        Body::Tool(tool) => Some(tool.state),
        _ => None,
    });
    tools.collect()
}

#[test]
fn a_tool_asks_and_the_users_word_goes_back() {
    for (key, verdict) in [('y', Verdict::Once), ('a', Verdict::Always), ('n', Verdict::No)] {
        let mut desk = desk();
        desk.line("look");
        desk.told(Told::Outgoing { warnings: Vec::new() });
        desk.told(Told::Calls(0, call("1")));
        desk.told(Told::Asks(permission("1")));
        assert_eq!(states(&desk), [ToolState::Waiting]);
        assert_eq!(desk.session.view().status.activity, Activity::Waiting);
        assert!(desk.session.view().question.is_some());
        desk.now += Duration::from_secs(1);
        desk.press(KeyCode::Char(key), KeyModifiers::NONE);
        assert!(matches!(desk.effects.last(), Some(Effect::Verdict(said)) if *said == verdict));
        assert!(desk.session.view().question.is_none());
        assert!(desk.session.view().composer.text.is_empty(), "the key was no text");
    }
}

#[test]
fn parallel_calls_get_their_own_results() {
    let mut desk = desk();
    desk.line("look");
    desk.told(Told::Outgoing { warnings: Vec::new() });
    for (block, id) in ["1", "2", "3"].into_iter().enumerate() {
        desk.told(Told::Calls(block, call(id)));
    }
    desk.told(Told::Runs { call: 1 });
    desk.told(Told::Asks(permission("3")));
    desk.now += Duration::from_secs(1);
    desk.press(KeyCode::Char('n'), KeyModifiers::NONE);
    desk.told(Told::Gave { call: 1, response: gave("2", false), took: Duration::from_millis(5) });
    desk.told(Told::Gave { call: 2, response: gave("3", true), took: Duration::ZERO });
    // What is heard late changes nothing.
    desk.told(Told::Runs { call: 1 });
    assert_eq!(states(&desk), [ToolState::Running, ToolState::Ok, ToolState::Denied]);
    desk.told(Told::Done(Ended { failure: None, is_stopped: true }));
    assert_ne!(states(&desk)[0], ToolState::Running, "nothing seems to run for ever");
}

#[test]
fn a_result_that_is_a_diff_has_its_colours() {
    for (result, language) in [("edited `a`\n@@ -1 +1 @@\n-b\n+c", "diff"), ("a @@ b", "")] {
        let mut desk = desk();
        desk.line("look");
        desk.told(Told::Calls(0, call("1")));
        let response = ToolResponse { result: Raw::string(result), ..gave("1", false) };
        desk.told(Told::Gave { call: 0, response, took: Duration::ZERO });
        let mut entries = desk.session.view().transcript.iter();
        let is_it = |body: &Body| matches!(body, Body::Tool(tool) if tool.language == language);
        assert!(entries.any(|(_, body)| is_it(body)), "{result}");
    }
}

#[test]
fn lists_are_narrowed_by_typing() {
    let mut desk = desk();
    desk.line("/model");
    assert!(matches!(desk.effects.last(), Some(Effect::ListModels)));
    let offer = |name: &str| Offer { name: name.to_owned(), detail: "x".to_owned() };
    desk.tell(Message::Models(vec![offer("sim/default"), offer("sim/groq"), offer("ollama/a")]));
    for char in "gro".chars() {
        desk.press(KeyCode::Char(char), KeyModifiers::NONE);
    }
    assert_eq!(desk.rows(), ["sim/groq"]);
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    assert!(matches!(desk.effects.last(), Some(Effect::Choose(name)) if name == "sim/groq"));
    assert!(desk.rows().is_empty());
}

#[test]
fn conversations_are_opened_forked_and_deleted() {
    let mut desk = desk();
    desk.line("one");
    desk.tell(Message::Stored(Ok(Kept::Begun("first".to_owned()))));
    desk.answer("T1", "first");
    desk.line("two");
    desk.answer("T2", "second");
    desk.line("/fork 1");
    assert!(
        matches!(desk.effects.iter().rev().nth(1), Some(Effect::Keep(Keep::Fork(2))))
            || desk.effects.iter().any(|it| matches!(it, Effect::Keep(Keep::Fork(2))))
    );
    assert_eq!(desk.session.conversation.contents().len(), 2);
    desk.tell(Message::Stored(Ok(Kept::Forked("second".to_owned()))));
    desk.line("/delete");
    assert!(!desk.effects.iter().any(|it| matches!(it, Effect::Keep(Keep::Delete(_)))));
    desk.line("/delete yes");
    assert!(
        desk.effects
            .iter()
            .any(|it| matches!(it, Effect::Keep(Keep::Delete(id)) if id == "second"))
    );
    desk.tell(Message::Stored(Ok(Kept::Deleted("second".to_owned()))));
    assert!(desk.session.conversation.contents().is_empty());
    desk.line("/sessions");
    let listed = Listed { id: "first".into(), title: "one".into(), detail: String::new() };
    desk.tell(Message::Stored(Ok(Kept::Sessions(vec![listed]))));
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    assert!(matches!(desk.effects.last(), Some(Effect::Keep(Keep::Open(id))) if id == "first"));
    let contents = vec![Content::text(Speaker::Human, "one")];
    let stored = Stored { id: "first".into(), contents, ..Stored::default() };
    desk.tell(Message::Stored(Ok(Kept::Opened(Box::new(stored)))));
    assert_eq!(desk.session.conversation.id.as_deref(), Some("first"));
}

#[test]
fn the_first_question_is_the_title() {
    let mut desk = desk_of(start());
    desk.line("Why is the sky blue?\nAnd the sea?");
    desk.answer("light", "scattering");
    let title = desk.effects.iter().find_map(|effect| match effect {
        Effect::Keep(Keep::Title(title)) => Some(title.as_str()),
        _ => None,
    });
    assert_eq!(title, Some("Why is the sky blue?"));
}

#[test]
fn leaving_takes_two_presses_or_one_ctrl_d() {
    let mut desk = desk();
    desk.tell(Message::Paste("draft".to_owned()));
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(desk.session.view().composer.text.is_empty());
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(!desk.effects.iter().any(|it| matches!(it, Effect::Quit)));
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(matches!(desk.effects.last(), Some(Effect::Quit)));
    let mut desk = super::desk();
    desk.press(KeyCode::Char('d'), KeyModifiers::CONTROL);
    assert!(desk.effects.iter().any(|it| matches!(it, Effect::Quit)));
}

#[test]
fn lines_are_broken_by_alt_shift_or_ctrl_j() {
    let mut desk = desk();
    for (code, modifiers) in [
        (KeyCode::Enter, KeyModifiers::ALT),
        (KeyCode::Enter, KeyModifiers::SHIFT),
        (KeyCode::Char('j'), KeyModifiers::CONTROL),
    ] {
        desk.press(KeyCode::Char('a'), KeyModifiers::NONE);
        desk.press(code, modifiers);
    }
    assert_eq!(desk.session.view().composer.text, "a\na\na\n");
    assert!(desk.asked().is_empty());
}

#[test]
fn a_choice_for_one_block_sticks() {
    let mut desk = desk();
    desk.line("one");
    desk.answer("T1", "first");
    desk.line("/thinking off");
    desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let choice = |desk: &super::Desk| {
        desk.session.view().transcript.iter().find_map(|(_, body)| match body {
            Body::Thought(thought) => Some(thought.choice),
            _ => None,
        })
    };
    assert_eq!(choice(&desk), Some(Some(true)));
    desk.line("/thinking collapsed");
    assert_eq!(choice(&desk), Some(Some(true)));
}
