//! What is typed or pasted goes where its writer meant it to go.

use super::paced::Paced;
use super::{CALM, ENTER, Pty};
use crate::place::Place;
use crate::scripted::{Scripted, call};
use serde_json::json;

/// A paste, as the terminal brackets it.
fn paste(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

#[test]
fn what_is_being_typed_answers_no_question() {
    let place = Place::new("typed-question");
    let runs = json!([call("a", "shell", &json!({"command": "echo hi > made.txt"}))]);
    let [first, second] = [json!("refused"), json!("heard")];
    let script = Scripted::new("typed", vec![runs.clone(), first, second, runs, json!("ran")], "");
    let mut pty = Pty::scripted(&place, &script);
    // The question comes up in the middle of a message.
    pty.press(&format!("Make a file.{ENTER}yes, any"));
    pty.see("always in this session");
    pty.press("way");
    pty.see("› yes, anyway");
    pty.see("empty this to answer");
    std::thread::sleep(CALM);
    pty.press(", and");
    pty.see("› yes, anyway, and");
    pty.press(ENTER);
    // It waits for its turn; the question is still there, and nothing was run.
    pty.see_no("yes, anyway");
    pty.see("always in this session");
    assert!(!place.folder().join("made.txt").exists());
    // Enter alone allows nothing.
    pty.answer(ENTER);
    pty.see("⊘ shell");
    pty.see("› yes, anyway, and");
    assert!(!place.folder().join("made.txt").exists());
    pty.see("heard");
    pty.see_no("esc stops");
    pty.line("Make it now.");
    pty.answer("y");
    pty.see("✓ shell");
    pty.see("ran");
    assert!(place.folder().join("made.txt").exists());
    pty.leave();
}

#[test]
fn a_paste_of_several_lines_is_one_message_and_completions_do_not_swallow_it() {
    let place = Place::new("pasted");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.press("/se");
    pty.see("Choose an earlier conversation");
    pty.press(&paste("t reasoning.effort high"));
    pty.see("› /set reasoning.effort high");
    pty.press(ENTER);
    pty.see("-> high (session)");
    pty.press("look: ");
    pty.press(&paste("one\n/two\r\n\tthree\rfour"));
    pty.see("four");
    pty.press(ENTER);
    let body = paced.asked(1);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["content"], "look: one\n/two\n\tthree\nfour", "{body}");
    paced.say("four lines");
    paced.end();
    pty.see("four lines");
    pty.leave();
}
