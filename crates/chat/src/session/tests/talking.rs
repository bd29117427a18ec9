//! Tools, lists, and what happens to conversations.

use super::{desk, desk_of, start};
use crate::screen::model::{Activity, Body, ToolState};
use crate::session::{
    Effect, Ended, Keep, Kept, Listed, Message, Offer, Permission, Progress, Stored, Verdict,
};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;
use thinkthrough_core::content::{Content, Parameters, Speaker, ToolCall, ToolResponse};
use thinkthrough_json::{Extra, Raw};

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
        result: Raw::string("a\nb").into(),
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
        reads_only: false,
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
    for (key, verdict) in [('y', Verdict::Once), ('n', Verdict::No(String::new()))] {
        let mut desk = desk();
        desk.line("look");
        desk.told(Progress::Outgoing { warnings: Vec::new() });
        desk.told(Progress::Calls(0, call("1")));
        desk.told(Progress::Asks(permission("1")));
        assert_eq!(states(&desk), [ToolState::Waiting]);
        assert_eq!(desk.session.view().status.activity, Activity::Waiting);
        assert!(desk.session.view().question.is_some());
        desk.now += Duration::from_secs(1);
        desk.press(KeyCode::Char(key), KeyModifiers::NONE);
        desk.now += Duration::from_millis(490);
        desk.tell(Message::Tick);
        assert!(matches!(desk.effects.last(), Some(Effect::Verdict(said)) if *said == verdict));
        assert!(desk.session.view().question.is_none());
        assert!(desk.session.view().composer.text.is_empty(), "the key was no text");
    }
}

#[test]
fn parallel_calls_get_their_own_results() {
    let mut desk = desk();
    desk.line("look");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    for (block, id) in ["1", "2", "3"].into_iter().enumerate() {
        desk.told(Progress::Calls(block, call(id)));
    }
    desk.told(Progress::Runs { call: 1 });
    desk.told(Progress::Asks(permission("3")));
    desk.now += Duration::from_secs(1);
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    desk.told(Progress::Gave {
        call: 1,
        response: gave("2", false),
        took: Duration::from_millis(5),
    });
    desk.told(Progress::Gave { call: 2, response: gave("3", true), took: Duration::ZERO });
    // A late event has no effect.
    desk.told(Progress::Runs { call: 1 });
    assert_eq!(states(&desk), [ToolState::Running, ToolState::Ok, ToolState::Denied]);
    desk.told(Progress::Done(Ended { is_stopped: true, ..Ended::default() }));
    assert_ne!(states(&desk)[0], ToolState::Running, "nothing seems to run for ever");
}

#[test]
fn a_result_that_is_a_diff_has_its_colours() {
    for (result, language) in [("edited `a`\n@@ -1 +1 @@\n-b\n+c", "diff"), ("a @@ b", "")] {
        let mut desk = desk();
        desk.line("look");
        desk.told(Progress::Calls(0, call("1")));
        let response = ToolResponse { result: Raw::string(result).into(), ..gave("1", false) };
        desk.told(Progress::Gave { call: 0, response, took: Duration::ZERO });
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
fn b_11_the_first_question_is_the_title_at_once() {
    let mut desk = desk_of(start());
    let titles = |desk: &super::Desk| {
        let titles = desk.effects.iter().filter_map(|effect| match effect {
            Effect::Keep(Keep::Title(title)) => Some(title.clone()),
            _ => None,
        });
        titles.collect::<Vec<_>>()
    };
    desk.line("Why is the sky blue?\nAnd the sea?");
    assert_eq!(titles(&desk), ["Why is the sky blue?"], "before anything is answered");
    // A failed question does not make the title again.
    desk.told(Progress::Done(Ended { failure: Some("no".to_owned()), ..Ended::default() }));
    desk.line("and now?");
    desk.answer("light", "scattering");
    assert_eq!(titles(&desk).len(), 1);
    let asides = desk.effects.iter().filter(|it| matches!(it, Effect::Aside(..))).count();
    assert_eq!(asides, 0, "no model is asked for it where none is named for that");
}

#[test]
fn b_11_two_quick_presses_of_ctrl_c_stop_an_answer_and_do_not_leave() {
    let quits = |desk: &super::Desk| desk.effects.iter().any(|it| matches!(it, Effect::Quit));
    let mut desk = desk();
    let ctrl_c = |desk: &mut super::Desk| desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    desk.line("why?");
    ctrl_c(&mut desk);
    ctrl_c(&mut desk);
    ctrl_c(&mut desk);
    assert!(!quits(&desk), "while it is being stopped");
    desk.told(Progress::Done(Ended { is_stopped: true, ..Ended::default() }));
    ctrl_c(&mut desk);
    ctrl_c(&mut desk);
    assert!(!quits(&desk), "right after it stopped");
    desk.now += Duration::from_secs(1);
    ctrl_c(&mut desk);
    assert!(desk.said().contains("Ctrl-C again") && !quits(&desk));
    ctrl_c(&mut desk);
    assert!(quits(&desk), "twice at rest");
}

#[test]
fn b_6_an_end_without_an_answer_says_so() {
    let mut desk = desk();
    desk.line("why?");
    let note = "the model ended its answer without a word; ask again".to_owned();
    desk.told(Progress::Done(Ended { note: Some(note.clone()), ..Ended::default() }));
    assert_eq!(desk.noticed(), (crate::screen::model::Level::Warning, note));
}

#[test]
fn b_9_a_wait_says_why_once_and_counts_down() {
    let mut desk = desk();
    desk.line("why?");
    let why = || "the provider failed (status 500)".to_owned();
    desk.told(Progress::Retries { why: why(), wait: Duration::from_secs(3) });
    let left = |desk: &super::Desk| desk.session.view().status.retry_in;
    assert_eq!(left(&desk), Some(Duration::from_secs(3)));
    assert_eq!(desk.noticed().1, why());
    desk.now += Duration::from_millis(1_990);
    desk.tell(Message::Tick);
    assert_eq!(left(&desk), Some(Duration::from_secs(1)));
    assert_eq!(desk.session.view().status.activity, Activity::Retrying);
    desk.now += Duration::from_secs(1);
    desk.tell(Message::Tick);
    assert_eq!((left(&desk), desk.session.view().status.activity), (None, Activity::Sending));
    desk.told(Progress::Retries { why: why(), wait: Duration::from_secs(3) });
    let is_it = |body: &Body| matches!(body, Body::Notice(_, text) if *text == why());
    let said = desk.session.view().transcript.iter().filter(|(_, body)| is_it(body)).count();
    assert_eq!(said, 1);
}

#[test]
fn b_9_retry_sends_the_last_question_again() {
    let mut desk = desk();
    desk.line("/retry");
    assert!(desk.asked().is_empty() && desk.noticed().1.contains("no question to send again"));
    let messages = |desk: &super::Desk| {
        let kept = |it: &&Effect| matches!(it, Effect::Keep(Keep::Message(_)));
        desk.effects.iter().filter(kept).count()
    };
    let forks = |desk: &super::Desk| {
        desk.effects.iter().any(|it| matches!(it, Effect::Keep(Keep::Fork(1))))
    };
    desk.line("why?");
    desk.line("/retry");
    assert_eq!(desk.asked().len(), 1, "not while it is under way");
    desk.told(Progress::Done(Ended { failure: Some("500".to_owned()), ..Ended::default() }));
    desk.line("/retry");
    let asked = desk.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].contents, asked[1].contents, "the same, and once");
    assert_eq!(messages(&desk), 1, "it is kept already");
    // If an answer came, it stays in the conversation as it was.
    desk.tell(Message::Stored(Ok(Kept::Begun("first".to_owned()))));
    desk.answer("T", "because");
    assert!(!forks(&desk));
    desk.line("/retry");
    assert!(forks(&desk));
    assert_eq!(desk.asked()[2].contents, asked[0].contents);
    assert_eq!(desk.session.conversation.contents().len(), 1);
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

/// Actions on thoughts in order, and whether this thought is open in the end.
#[test]
fn b_5_the_last_word_on_thoughts_counts() {
    for (acts, choice) in [
        (&["/thinking off"][..], None),
        (&["/thinking off", "open"], Some(true)),
        // A global command resets the choice for one thought, even if it repeats the current mode.
        (&["/thinking off", "open", "/thinking off"], None),
        (&["/thinking off", "open", "/set reasoning.display off"], None),
        (&["/thinking off", "open", "/thinking collapsed"], None),
        (&["open", "/thinking off"], None),
        (&["/thinking off", "open", "ctrl-t"], None),
        (&["/thinking collapsed", "open", "open"], Some(false)),
        (&["open", "/set reasoning.includeInResponse false"], None),
        (&["open", "/unset reasoning.display"], None),
        // A command about another setting resets no choice.
        (&["/thinking off", "open", "/set reasoning.effort high"], Some(true)),
    ] {
        let mut desk = desk();
        desk.line("one");
        desk.answer("T1", "first");
        for act in acts {
            match *act {
                "open" => desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL),
                "ctrl-t" => desk.press(KeyCode::Char('t'), KeyModifiers::CONTROL),
                line => desk.line(line),
            }
        }
        let chosen = desk.session.view().transcript.iter().find_map(|(_, body)| match body {
            Body::Thought(thought) => Some(thought.choice),
            _ => None,
        });
        assert_eq!(chosen, Some(choice), "{acts:?}");
    }
}
