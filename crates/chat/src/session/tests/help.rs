//! The help is complete and correct, and the document equals it.

use super::talking::{call, permission};
use super::{Desk, desk};
use crate::session::{Message, Progress, help};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::Path;
use std::time::Duration;

/// The moments in which keys are pressed.
fn moments() -> Vec<Desk> {
    let talked = || {
        let mut desk = desk();
        desk.line("one");
        desk.answer("T1", "first");
        desk
    };
    let with = |text: &str| {
        let mut desk = talked();
        desk.tell(Message::Paste(text.to_owned()));
        desk
    };
    let mut asked = desk();
    asked.line("look");
    asked.told(Progress::Calls(0, call("1")));
    asked.told(Progress::Asks(permission("1")));
    asked.now += Duration::from_secs(1);
    let mut walking = talked();
    walking.press(KeyCode::Up, KeyModifiers::NONE);
    vec![talked(), with("a draft"), with("/th"), asked, walking]
}

/// The key of a name in the help.
fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("Ctrl", name)) => (KeyModifiers::CONTROL, name),
        Some(("Alt", name)) => (KeyModifiers::ALT, name),
        Some(("Shift", name)) => (KeyModifiers::SHIFT, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Tab" => KeyCode::Tab,
        "Esc" => KeyCode::Esc,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "F1" => KeyCode::F(1),
        "F2" => KeyCode::F(2),
        "F3" => KeyCode::F(3),
        "F4" => KeyCode::F(4),
        "F5" => KeyCode::F(5),
        letter if letter.len() == 1 => KeyCode::Char(letter.to_lowercase().chars().next().unwrap()),
        other => panic!("`{other}` is no key that the test knows"),
    };
    KeyEvent::new(code, modifiers)
}

/// Whether a key changes the view or causes an effect in one of the moments.
fn does_something(key: KeyEvent) -> bool {
    moments().into_iter().any(|mut desk| {
        let view = |desk: &Desk| {
            let mut view = desk.session.view().clone();
            view.now = Duration::ZERO;
            format!("{view:?}")
        };
        desk.tell(Message::Tick);
        let (before, effects) = (view(&desk), desk.effects.len());
        desk.tell(Message::Key(key));
        desk.effects.len() > effects || view(&desk) != before
    })
}

#[test]
fn every_key_of_the_help_does_something() {
    let help = help();
    let keys = help.split("## Keys").nth(1).unwrap().lines();
    let keys = keys.filter_map(|line| line.strip_prefix("- **")?.split_once("**"));
    let mut pressed = 0;
    for name in keys.flat_map(|(names, _)| names.split(", ")) {
        // The mouse is tried on the built program.
        if ["click", "wheel"].contains(&name) {
            continue;
        }
        let key = key(name.trim_end_matches(" twice"));
        assert!(does_something(key), "{name} does nothing");
        pressed += 1;
    }
    assert!(pressed > 20, "{pressed}");
    assert!(!does_something(key("F5")), "a key that is not in the help does nothing");
}

/// `BLESS=1` writes the document again.
#[test]
fn the_document_says_what_the_help_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/chat.md");
    let kept = std::fs::read_to_string(&file).unwrap();
    let (head, _) = kept.split_once("## Commands\n").unwrap();
    let expected = format!("{head}{}", help());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    assert_eq!(kept, expected, "`BLESS=1` writes it anew");
}
