//! Text in the composer is safe: no question and no list takes its keys.

use super::talking::{call, permission};
use super::{Desk, desk};
use crate::session::{Effect, Message, Offer, Permission, Progress, Verdict};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;

fn press(desk: &mut Desk, code: KeyCode) {
    desk.press(code, KeyModifiers::NONE);
}

fn type_text(desk: &mut Desk, text: &str) {
    text.chars().for_each(|char| press(desk, KeyCode::Char(char)));
}

/// Types as a person does.
fn by_hand(desk: &mut Desk, text: &str) {
    for char in text.chars() {
        desk.now += Duration::from_millis(80);
        press(desk, KeyCode::Char(char));
    }
}

fn enter(desk: &mut Desk) {
    desk.now += Duration::from_millis(80);
    press(desk, KeyCode::Enter);
}

/// Lets time pass without a key.
fn wait(desk: &mut Desk, millis: u64) {
    desk.now += Duration::from_millis(millis);
    desk.tell(Message::Tick);
}

fn verdicts(desk: &Desk) -> Vec<Verdict> {
    let said = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Verdict(verdict) => Some(verdict.clone()),
        _ => None,
    });
    said.collect()
}

fn no(words: &str) -> Verdict {
    Verdict::No(words.to_owned())
}

fn written(desk: &Desk) -> &str {
    &desk.session.view().composer.text
}

/// A model that waits for the permission of a tool.
fn waiting() -> Desk {
    let mut desk = desk();
    desk.line("look");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    desk.told(Progress::Calls(0, call("1")));
    desk
}

/// The same after the question became readable.
fn asked() -> Desk {
    let mut desk = waiting();
    desk.told(Progress::Asks(permission("1")));
    wait(&mut desk, 1_000);
    desk
}

#[test]
fn b_1_a_sentence_at_a_question_says_no_and_is_the_reason() {
    for text in [
        "actually do not do that",
        "always ask me first",
        "Always",
        "a",
        "y not?",
        "yes please do",
        "Yes, but not this file",
        "yes.",
        "no, because it is used elsewhere",
        "never",
        "n o",
        "ok",
    ] {
        let mut desk = asked();
        by_hand(&mut desk, text);
        wait(&mut desk, 2_000);
        assert_eq!((verdicts(&desk), written(&desk)), (Vec::new(), text), "nothing was sent yet");
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [no(text)]);
        assert_eq!((written(&desk), desk.asked().len()), ("", 1), "it is no message too: {text}");
    }
}

#[test]
fn b_1_a_letter_counts_only_where_nothing_follows_it() {
    for (letter, verdict) in
        [('y', Verdict::Once), ('Y', Verdict::Once), ('n', no("")), ('N', no(""))]
    {
        let mut desk = asked();
        by_hand(&mut desk, &letter.to_string());
        assert_eq!((verdicts(&desk), written(&desk)), (Vec::new(), ""));
        wait(&mut desk, 480);
        assert_eq!(verdicts(&desk), [], "not yet");
        wait(&mut desk, 30);
        assert_eq!(verdicts(&desk), [verdict], "{letter}");
    }
    // A key that follows makes it a text, even if the key arrives late.
    for pause in [0, 300, 490, 900] {
        let mut desk = asked();
        by_hand(&mut desk, "y");
        desk.now += Duration::from_millis(pause);
        press(&mut desk, KeyCode::Char('e'));
        wait(&mut desk, 2_000);
        assert_eq!((verdicts(&desk), written(&desk)), (Vec::new(), "ye"), "{pause}");
    }
    // A letter that is deleted, or held down, is no answer.
    for code in [KeyCode::Backspace, KeyCode::Up, KeyCode::Char('y')] {
        let mut desk = asked();
        by_hand(&mut desk, "y");
        press(&mut desk, code);
        wait(&mut desk, 2_000);
        assert_eq!(verdicts(&desk), [], "{code:?}");
    }
    let mut desk = asked();
    by_hand(&mut desk, "y");
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    wait(&mut desk, 2_000);
    assert_eq!((verdicts(&desk), written(&desk)), (Vec::new(), ""), "it was stopped");
}

#[test]
fn b_1_always_takes_arrows_and_enter() {
    for text in ["a", "A", "always"] {
        let mut desk = asked();
        by_hand(&mut desk, text);
        wait(&mut desk, 2_000);
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [no(text)]);
    }
    for moves in [&[KeyCode::Left][..], &[KeyCode::Up], &[KeyCode::Down, KeyCode::Down]] {
        let mut desk = asked();
        moves.iter().for_each(|code| press(&mut desk, *code));
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [Verdict::Always]);
    }
}

#[test]
fn b_1_only_a_whole_yes_typed_by_hand_allows_and_only_once() {
    for text in ["yes", "y", "YES", "yes "] {
        let mut desk = asked();
        by_hand(&mut desk, text);
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [Verdict::Once], "{text}");
    }
    // A paste is an ordinary text, even if the terminal does not mark the paste.
    for paste in ["y", "yes", "y\n", "yes\r\n", "Y"] {
        let mut desk = asked();
        desk.tell(Message::Paste(paste.to_owned()));
        wait(&mut desk, 2_000);
        assert_eq!(verdicts(&desk), [], "{paste:?}");
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [no(paste.trim())], "{paste:?}");
    }
    for keys in ["y", "yes"] {
        let mut desk = asked();
        type_text(&mut desk, keys);
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [no(keys)], "as quick as a paste");
    }
    let mut desk = asked();
    by_hand(&mut desk, "y");
    desk.tell(Message::Paste("es".to_owned()));
    enter(&mut desk);
    assert_eq!(verdicts(&desk), [no("yes")]);
    // A text fetched from earlier messages was not typed by hand either.
    let mut desk = asked();
    desk.tell(Message::Sent(vec!["yes".to_owned()]));
    by_hand(&mut desk, "x");
    for _ in 0..2 {
        press(&mut desk, KeyCode::Up);
    }
    assert_eq!(written(&desk), "yes");
    enter(&mut desk);
    assert_eq!(verdicts(&desk), [no("yes")]);
    // Undo brings back a text of an earlier moment.
    let mut desk = asked();
    by_hand(&mut desk, "yes");
    desk.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    desk.press(KeyCode::Char('_'), KeyModifiers::CONTROL);
    assert_eq!(written(&desk), "yes");
    enter(&mut desk);
    assert_eq!(verdicts(&desk), [no("yes")]);
}

#[test]
fn b_1_what_was_typed_ahead_answers_no_question() {
    let mut desk = waiting();
    by_hand(&mut desk, "any");
    desk.told(Progress::Asks(permission("1")));
    by_hand(&mut desk, "way, yes");
    wait(&mut desk, 5_000);
    // A key answers no question while the composer has text, even after a long pause.
    by_hand(&mut desk, " a n y");
    assert_eq!(written(&desk), "anyway, yes a n y");
    let note = "enter sends it later; empty this to answer";
    assert_eq!(desk.session.view().composer.note, note);
    enter(&mut desk);
    // The text was sent, and the beginning of the next message is no answer either.
    by_hand(&mut desk, "yes");
    enter(&mut desk);
    assert_eq!((written(&desk), verdicts(&desk)), ("", Vec::new()));
    wait(&mut desk, 1_000);
    by_hand(&mut desk, "y");
    wait(&mut desk, 600);
    assert_eq!((written(&desk), verdicts(&desk)), ("", vec![Verdict::Once]));
    // At the moment the question appears, the user cannot have read it.
    for key in ['y', 'a', 'n'] {
        let mut desk = waiting();
        desk.told(Progress::Asks(permission("1")));
        desk.now += Duration::from_millis(650);
        press(&mut desk, KeyCode::Char(key));
        wait(&mut desk, 2_000);
        assert_eq!((written(&desk), verdicts(&desk)), (key.to_string().as_str(), Vec::new()));
        enter(&mut desk);
        assert_eq!(verdicts(&desk), [], "it is a message");
    }
}

#[test]
fn commands_are_run_while_a_tool_waits() {
    let mut desk = asked();
    by_hand(&mut desk, "/thinking off");
    enter(&mut desk);
    assert_eq!((verdicts(&desk), written(&desk)), (Vec::new(), ""));
    assert_eq!(desk.said(), "Thinking blocks: hidden");
    wait(&mut desk, 1_000);
    enter(&mut desk);
    assert_eq!(verdicts(&desk), [no("")]);
}

#[test]
fn enter_on_a_question_says_no_unless_something_else_is_selected() {
    for (moves, verdict) in [
        (&[][..], no("")),
        (&[KeyCode::Tab], Verdict::Once),
        (&[KeyCode::Left], Verdict::Always),
        (&[KeyCode::Right, KeyCode::Up], no("")),
    ] {
        let mut desk = waiting();
        desk.told(Progress::Asks(permission("1")));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [], "too early for anybody");
        wait(&mut desk, 1_000);
        moves.iter().for_each(|code| press(&mut desk, *code));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [verdict], "{moves:?}");
    }
}

#[test]
fn enter_on_a_question_of_a_tool_that_only_reads_says_once() {
    for (moves, verdict) in [
        (&[][..], Verdict::Once),
        (&[KeyCode::Left], no("")),
        (&[KeyCode::Char('n'), KeyCode::Backspace], Verdict::Once),
    ] {
        let mut desk = waiting();
        desk.told(Progress::Asks(Permission { reads_only: true, ..permission("1") }));
        press(&mut desk, KeyCode::Enter);
        assert_eq!(verdicts(&desk), [], "too early for anybody");
        wait(&mut desk, 1_000);
        moves.iter().for_each(|code| press(&mut desk, *code));
        enter(&mut desk);
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
    // In a list the paste filters the rows, as typing does.
    desk.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let offer = |name: &str| Offer { name: name.to_owned(), detail: String::new() };
    desk.tell(Message::Models(vec![offer("sim/default"), offer("sim/groq"), offer("groq/x")]));
    desk.tell(Message::Paste("groq\nsim".to_owned()));
    assert_eq!(desk.rows(), ["sim/groq"]);
    assert_eq!(written(&desk), "");
    press(&mut desk, KeyCode::Esc);
    // A page closes on a paste.
    press(&mut desk, KeyCode::F(1));
    desk.tell(Message::Paste("hello".to_owned()));
    assert_eq!((written(&desk), desk.page().as_str()), ("hello", ""));
}
