//! What is being written is nobody else's: no question and no list takes it.

use super::talking::{call, permission};
use super::{Desk, desk};
use crate::session::{Effect, Message, Offer, Told, Verdict};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;

fn press(desk: &mut Desk, code: KeyCode) {
    desk.press(code, KeyModifiers::NONE);
}

fn type_text(desk: &mut Desk, text: &str) {
    text.chars().for_each(|char| press(desk, KeyCode::Char(char)));
}

fn verdicts(desk: &Desk) -> Vec<Verdict> {
    let said = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Verdict(verdict) => Some(*verdict),
        _ => None,
    });
    said.collect()
}

fn written(desk: &Desk) -> &str {
    &desk.session.view().composer.text
}

/// A model that waits for a word on a tool.
fn waiting() -> Desk {
    let mut desk = desk();
    desk.line("look");
    desk.told(Told::Outgoing { warnings: Vec::new() });
    desk.told(Told::Calls(0, call("1")));
    desk
}

#[test]
fn what_is_being_typed_answers_no_question() {
    let mut desk = waiting();
    type_text(&mut desk, "any");
    desk.told(Told::Asks(permission("1")));
    type_text(&mut desk, "way, yes");
    desk.now += Duration::from_secs(5);
    // Nothing is answered while something is written, however long that is ago.
    type_text(&mut desk, " a n y");
    assert_eq!(written(&desk), "anyway, yes a n y");
    assert_eq!(desk.session.view().composer.note, "empty this to answer");
    press(&mut desk, KeyCode::Enter);
    // It was sent, and the beginning of the next message answers nothing either.
    type_text(&mut desk, "yes");
    assert_eq!((written(&desk), verdicts(&desk)), ("yes", Vec::new()));
    desk.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    desk.now += Duration::from_secs(1);
    press(&mut desk, KeyCode::Char('y'));
    assert_eq!((written(&desk), verdicts(&desk)), ("", vec![Verdict::Once]));

    // The very moment it comes up nobody can have read it.
    for key in ['y', 'a', 'n'] {
        let mut desk = waiting();
        desk.told(Told::Asks(permission("1")));
        desk.now += Duration::from_millis(650);
        press(&mut desk, KeyCode::Char(key));
        assert_eq!((written(&desk), verdicts(&desk)), (key.to_string().as_str(), Vec::new()));
    }
    // Nor is a paste an answer.
    let mut desk = waiting();
    desk.told(Told::Asks(permission("1")));
    desk.now += Duration::from_secs(1);
    desk.tell(Message::Paste("yes\nand no".to_owned()));
    assert_eq!((written(&desk), verdicts(&desk)), ("yes\nand no", Vec::new()));
}

#[test]
fn enter_on_a_question_says_no_unless_something_else_is_selected() {
    for (moves, verdict) in [
        (&[][..], Verdict::No),
        (&[KeyCode::Tab], Verdict::Once),
        (&[KeyCode::Left], Verdict::Always),
        (&[KeyCode::Right, KeyCode::Up], Verdict::No),
    ] {
        let mut desk = waiting();
        desk.told(Told::Asks(permission("1")));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [], "too early for anybody");
        desk.now += Duration::from_secs(1);
        moves.iter().for_each(|code| press(&mut desk, *code));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [verdict], "{moves:?}");
    }
}

#[test]
fn a_paste_goes_in_where_completions_are_open() {
    let mut desk = desk();
    type_text(&mut desk, "/se");
    assert_eq!(desk.rows(), ["set", "sessions", "search"]);
    desk.tell(Message::Paste("t reasoning.st".to_owned()));
    assert_eq!(written(&desk), "/set reasoning.st");
    assert_eq!(desk.rows(), ["reasoning.stripFromContext"], "they are those of the new text");
    desk.tell(Message::Paste("\r\nand a line".to_owned()));
    assert_eq!(written(&desk), "/set reasoning.st\nand a line");
    assert!(desk.rows().is_empty());
    // In a list it narrows, as typing does.
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let offer = |name: &str| Offer { name: name.to_owned(), detail: String::new() };
    desk.tell(Message::Models(vec![offer("sim/default"), offer("sim/groq"), offer("groq/x")]));
    desk.tell(Message::Paste("groq\nsim".to_owned()));
    assert_eq!(desk.rows(), ["sim/groq"]);
    assert_eq!(written(&desk), "");
    press(&mut desk, KeyCode::Esc);
    // A page that is read gives way to it.
    press(&mut desk, KeyCode::F(1));
    desk.tell(Message::Paste("hello".to_owned()));
    assert_eq!((written(&desk), desk.page().as_str()), ("hello", ""));
}
