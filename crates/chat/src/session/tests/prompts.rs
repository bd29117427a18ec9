//! Files, outputs of commands and pastes in messages.

use super::{Desk, desk};
use crate::attachment::{Files, Mentioned, named};
use crate::screen::model::{Activity, Body, Level, ToolState};
use crate::session::{Effect, Message};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;

fn press(desk: &mut Desk, code: KeyCode) {
    desk.now += Duration::from_millis(80);
    desk.press(code, KeyModifiers::NONE);
}

fn type_text(desk: &mut Desk, text: &str) {
    text.chars().for_each(|char| press(desk, KeyCode::Char(char)));
}

fn type_line(desk: &mut Desk, text: &str) {
    type_text(desk, text);
    press(desk, KeyCode::Enter);
}

fn written(desk: &Desk) -> &str {
    &desk.session.view().composer.text
}

/// The text of the last question.
fn sent(desk: &Desk) -> String {
    desk.asked().last().unwrap().contents.last().unwrap().visible_text()
}

/// The user's messages on the screen.
fn shown(desk: &Desk) -> Vec<String> {
    let users = desk.session.view().transcript.iter().filter_map(|(_, body)| match body {
        Body::User(text) => Some(text.clone()),
        _ => None,
    });
    users.collect()
}

/// The words and the paths of the last message with files.
fn attaches(desk: &Desk) -> Option<(String, Vec<String>)> {
    desk.effects.iter().rev().find_map(|effect| match effect {
        Effect::Attach(words, names) => Some((words.clone(), names.clone())),
        _ => None,
    })
}

#[test]
fn a_file_that_is_named_goes_behind_the_words_as_a_block() {
    let mut desk = desk();
    type_line(&mut desk, "look at @a.rs and @no.rs");
    let (words, names) = attaches(&desk).unwrap();
    assert_eq!(names, ["a.rs", "no.rs"]);
    assert!(desk.asked().is_empty(), "the file is read first");
    let text = named("a.rs", "rs", &"line\n".repeat(30));
    let files = Files { text: text.clone(), ..Files::default() };
    desk.tell(Message::Attached(words, Ok(Mentioned { files, missing: vec!["no.rs".into()] })));
    assert_eq!(sent(&desk), format!("look at @a.rs and @no.rs\n\n{text}"));
    assert_eq!(shown(&desk), ["look at @a.rs and @no.rs\n\n`a.rs`: [30 lines]"]);
    let missing = "there is no file `no.rs`; `@no.rs` is sent as words";
    let warned = (Level::Warning, missing.to_owned());
    assert_eq!(desk.noticed(), warned);
    assert_eq!(desk.session.conversation().title.as_deref(), Some("look at @a.rs and @no.rs"));
}

#[test]
fn a_file_that_cannot_be_sent_leaves_the_message_in_the_composer() {
    let mut desk = desk();
    type_line(&mut desk, "look at @a.bin");
    let (words, _) = attaches(&desk).unwrap();
    desk.tell(Message::Attached(words, Err("`a.bin` is no text".to_owned())));
    assert!(desk.asked().is_empty());
    assert_eq!(written(&desk), "look at @a.bin");
    assert_eq!(desk.noticed(), (Level::Error, "`a.bin` is no text".to_owned()));
}

#[test]
fn files_wait_with_their_message_for_the_current_answer() {
    let mut desk = desk();
    type_line(&mut desk, "one");
    type_line(&mut desk, "two @a.rs");
    let (words, _) = attaches(&desk).unwrap();
    let files = Files { text: named("a.rs", "rs", "text"), ..Files::default() };
    desk.tell(Message::Attached(words, Ok(Mentioned { files, missing: Vec::new() })));
    assert_eq!(desk.asked().len(), 1);
    desk.answer("T", "first");
    assert!(sent(&desk).ends_with("`a.rs`:\n```rs\ntext\n```"), "{}", sent(&desk));
}

#[test]
fn an_at_sign_completes_paths() {
    let mut desk = desk();
    type_text(&mut desk, "see @");
    assert!(matches!(desk.effects.last(), Some(Effect::ListFiles)));
    let files = ["a.rs", "two words.md", "src/main.rs", "src/a.rs.bak"];
    desk.tell(Message::Files(files.map(str::to_owned).to_vec()));
    assert_eq!(desk.rows().len(), 4);
    type_text(&mut desk, "MAI");
    assert_eq!(desk.rows(), ["@src/main.rs"]);
    press(&mut desk, KeyCode::Enter);
    assert_eq!((written(&desk), desk.rows().len()), ("see @src/main.rs ", 0));
    assert!(attaches(&desk).is_none(), "Enter took the path and sent nothing");
    type_text(&mut desk, "@two");
    press(&mut desk, KeyCode::Tab);
    assert_eq!(written(&desk), "see @src/main.rs @\"two words.md\" ");
    // Enter sends a complete path, even if another path begins with it.
    type_text(&mut desk, "@a.rs");
    assert_eq!(desk.rows(), ["@a.rs", "@src/a.rs.bak"]);
    press(&mut desk, KeyCode::Enter);
    assert_eq!(attaches(&desk).unwrap().1, ["src/main.rs", "two words.md", "a.rs"]);
    // A completion in the middle of a text keeps the rest.
    type_text(&mut desk, "x  y");
    (0..2).for_each(|_| press(&mut desk, KeyCode::Left));
    type_text(&mut desk, "@mai");
    press(&mut desk, KeyCode::Tab);
    assert_eq!(written(&desk), "x @src/main.rs  y");
}

#[test]
fn a_command_of_the_user_runs_and_its_output_goes_before_the_next_question() {
    let mut desk = desk();
    type_text(&mut desk, "!ls -a");
    assert_eq!(desk.session.view().composer.note, "enter runs it in your shell");
    press(&mut desk, KeyCode::Enter);
    let run = desk.effects.iter().rev().find_map(|effect| match effect {
        Effect::Shell(run, command) => (command == "ls -a").then_some(*run),
        _ => None,
    });
    let run = run.unwrap();
    assert_eq!(desk.session.view().status.activity, Activity::Tools);
    type_line(&mut desk, "!pwd");
    assert_eq!(desk.noticed().1, "`ls -a` still runs; Esc stops it");
    assert_eq!(written(&desk), "!pwd");
    desk.press(KeyCode::Char('u'), KeyModifiers::CONTROL);
    press(&mut desk, KeyCode::Esc);
    assert!(matches!(desk.effects.last(), Some(Effect::Stop(id)) if *id == run));
    desk.tell(Message::Ran(run, "a\nb\n".to_owned(), false));
    let is_shown = |body: &Body| {
        matches!(body, Body::Tool(tool) if tool.result() == "a\nb\n"
            && tool.state == ToolState::Ok && tool.choice == Some(true))
    };
    assert!(desk.session.view().transcript.iter().any(|(_, body)| is_shown(body)));
    assert_eq!(desk.session.view().composer.note, "1 output goes along");
    type_line(&mut desk, "what is this?");
    assert_eq!(sent(&desk), "`$ ls -a`:\n```\na\nb\n```\n\nwhat is this?");
    assert_eq!(desk.session.conversation().title.as_deref(), Some("what is this?"));
    desk.answer("T", "files");
    type_line(&mut desk, "and?");
    assert_eq!(sent(&desk), "and?", "it goes along once");
}

#[test]
fn an_exclamation_that_is_no_command_is_a_message() {
    for text in ["![picture](a.png)", "!", "! "] {
        let mut desk = desk();
        type_line(&mut desk, text);
        assert!(!desk.effects.iter().any(|it| matches!(it, Effect::Shell(..))), "{text}");
        assert_eq!(sent(&desk), text);
    }
    let mut desk = desk();
    desk.line("!first line\nsecond line");
    assert_eq!(sent(&desk), "!first line\nsecond line");
}

#[test]
fn leaving_stops_the_command_and_the_answer() {
    let mut desk = desk();
    type_line(&mut desk, "one");
    type_line(&mut desk, "!sleep 600");
    desk.line("/new");
    assert_eq!(desk.noticed().1, "not while a command runs; press Esc to interrupt it");
    let stopped = desk.session.leave().into_iter().filter(|it| matches!(it, Effect::Stop(_)));
    assert_eq!(stopped.count(), 2);
}

#[test]
fn a_new_conversation_has_no_output_of_the_old_one() {
    let mut desk = desk();
    type_line(&mut desk, "!ls");
    desk.tell(Message::Ran(1, "a".to_owned(), false));
    desk.line("/clear");
    desk.line("hello");
    assert_eq!(sent(&desk), "hello");
}

#[test]
fn a_long_paste_is_folded_and_sent_in_full() {
    let long = "line\n".repeat(42);
    let mut desk = desk();
    type_text(&mut desk, "see ");
    desk.tell(Message::Paste(long.clone()));
    assert_eq!(written(&desk), "see [pasted 42 lines]");
    desk.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert_eq!(written(&desk), format!("see {long}"));
    desk.press(KeyCode::Char('_'), KeyModifiers::CONTROL);
    assert_eq!(written(&desk), "see [pasted 42 lines]", "undo folds it again");
    press(&mut desk, KeyCode::Enter);
    assert_eq!(sent(&desk), format!("see {long}"));
}

#[test]
fn exit_and_quit_alone_leave() {
    for text in ["exit", "quit", "Exit ", "QUIT"] {
        let mut desk = desk();
        type_line(&mut desk, text);
        assert!(matches!(desk.effects.last(), Some(Effect::Quit)), "{text}");
        assert!(desk.asked().is_empty());
    }
    let mut desk = desk();
    type_line(&mut desk, "exit the loop");
    assert_eq!(sent(&desk), "exit the loop");
}

#[test]
fn sent_messages_are_searched() {
    let mut desk = desk();
    desk.tell(Message::Sent(vec!["old words".into(), "other".into(), "new words".into()]));
    type_text(&mut desk, "draft");
    desk.press(KeyCode::Char('r'), KeyModifiers::CONTROL);
    assert_eq!(desk.rows(), ["new words", "other", "old words"]);
    type_text(&mut desk, "words");
    assert_eq!(desk.rows(), ["new words", "old words"]);
    desk.press(KeyCode::Char('r'), KeyModifiers::CONTROL);
    press(&mut desk, KeyCode::Enter);
    assert_eq!(written(&desk), "old words");
    desk.press(KeyCode::Char('_'), KeyModifiers::CONTROL);
    assert_eq!(written(&desk), "draft");
}

#[test]
fn messages_of_earlier_sessions_come_into_an_open_list() {
    let mut desk = desk();
    desk.press(KeyCode::Char('r'), KeyModifiers::CONTROL);
    type_text(&mut desk, "words");
    assert_eq!(desk.rows(), [""; 0]);
    desk.tell(Message::Sent(vec!["old words".into(), "other".into()]));
    assert_eq!(desk.rows(), ["old words"]);
    press(&mut desk, KeyCode::Enter);
    assert_eq!(written(&desk), "old words");
}

#[test]
fn the_editor_gets_the_whole_text_and_gives_another() {
    let long = "line\n".repeat(42);
    let mut desk = desk();
    desk.tell(Message::Paste(long.clone()));
    desk.press(KeyCode::Char('g'), KeyModifiers::CONTROL);
    assert!(matches!(desk.effects.last(), Some(Effect::Edit(text)) if *text == long));
    desk.tell(Message::Edited(Err("`vi` failed".to_owned())));
    assert_eq!(written(&desk), "[pasted 42 lines]", "a failure changes nothing");
    desk.tell(Message::Edited(Ok("short".to_owned())));
    assert_eq!(written(&desk), "short");
}
