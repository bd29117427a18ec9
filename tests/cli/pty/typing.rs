//! Typed and pasted text goes to the place that the user meant.

use super::paced::Paced;
use super::{CALM, ENTER, Pty};
use crate::place::Place;
use crate::scripted::{Scripted, call};
use serde_json::json;
use std::time::Duration;

/// A paste, as the terminal brackets it.
fn paste(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

/// Keys as a person types them.
fn by_hand(pty: &Pty, text: &str) {
    for char in text.chars() {
        std::thread::sleep(Duration::from_millis(120));
        pty.press(&char.to_string());
    }
    std::thread::sleep(Duration::from_millis(120));
}

#[test]
fn b_1_what_is_being_typed_allows_nothing() {
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
    // The message waits for its turn. The question is still open, and the command did not run.
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
fn b_1_a_sentence_at_a_question_is_a_refusal_with_a_reason() {
    let place = Place::new("typed-reason");
    let runs = || json!([call("a", "shell", &json!({"command": "echo hi > made.txt"}))]);
    let answers = vec![runs(), json!("one"), runs(), json!("two"), runs(), json!("three")];
    let script = Scripted::new("reason", answers, "");
    let mut pty = Pty::scripted(&place, &script);
    let said = |pty: &Pty, answer: &str| {
        pty.see(answer);
        pty.see_no("esc stops");
        assert!(!place.folder().join("made.txt").exists());
        script.results().pop().unwrap()
    };
    pty.line("Make a file.");
    pty.answer("");
    by_hand(&pty, "actually do not do that");
    pty.press(ENTER);
    let result = said(&pty, "one");
    assert!(result.ends_with("the user said: actually do not do that"), "{result}");
    // A paste never says yes, whether the terminal marks it or not.
    pty.line("Again.");
    pty.answer(&paste("y\n"));
    pty.see("enter says no");
    pty.press(ENTER);
    let result = said(&pty, "two");
    assert!(result.ends_with("the user said: y"), "{result}");
    pty.line("Again.");
    pty.answer(&format!("yes{ENTER}"));
    let result = said(&pty, "three");
    assert!(result.ends_with("the user said: yes"), "{result}");
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
