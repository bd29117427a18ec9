//! A prompt on the command line of a terminal: `think` without a command, and an answer formatted
//! as Markdown.

use super::paced::Paced;
use super::{Begin, Pty};
use crate::place::Place;
use serde_json::json;

fn begin(place: &Place, paced: &Paced, words: &[&str]) -> Pty {
    let config = place.write("own.toml", &paced.config());
    Pty::run(place, &[&["--config", &config], words].concat(), &Begin::default())
}

#[test]
fn a_prompt_without_a_command_begins_a_conversation_with_its_files() {
    let place = Place::new("words-chat");
    let paced = Paced::start();
    let file = place.write("notes.txt", "blue\n");
    let words = ["-s", "Be brief.", "--surroundings", "none", "-f", &file, "Which colour?"];
    let mut pty = begin(&place, &paced, &words);
    pty.see("Which colour?");
    let asked = paced.asked(1);
    let system = json!({"role": "system", "content": "Be brief."});
    assert_eq!(asked["messages"][0], system);
    let question = asked["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(question.starts_with("Which colour?") && question.contains("blue"), "{question}");
    paced.say("It is blue.");
    paced.end();
    pty.see("It is blue.");
    pty.see_no("esc stops");
    pty.line("Why?");
    let asked = paced.asked(2);
    assert_eq!(asked["messages"][0], system);
    assert_eq!(asked["messages"][3]["content"], "Why?");
    paced.say("Because.");
    paced.end();
    pty.see("Because.");
    pty.see_no("esc stops");
    pty.leave();
    // `-c` continues the conversation.
    let mut pty = begin(&place, &paced, &["-c"]);
    pty.see("Because.");
    pty.leave();
}

#[test]
fn alone_it_opens_a_conversation_and_what_only_ask_knows_is_asked_once() {
    let place = Place::new("words-alone");
    let paced = Paced::start();
    let mut pty = begin(&place, &paced, &[]);
    pty.see("ask, or type");
    pty.leave();
    let mut pty = begin(&place, &paced, &["-q", "why?"]);
    paced.asked(1);
    paced.say("# A *title*\n\n- one\n- two\n\nThe **en");
    // The newest words are on a temporary line.
    pty.see("two  The");
    paced.say("d**.\n");
    pty.see("• two");
    paced.end();
    assert!(pty.end().success());
    assert_eq!(pty.text().trim_end(), "A title\n\n• one\n• two\n\nThe end.");
    assert!(pty.cell("end").bold() && !pty.cell("The").bold());
}
