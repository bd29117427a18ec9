//! Compressions: their effect on requests of other commands, and compressions that are given up.

use super::paced::Paced;
use super::{Begin, ENTER, ESC, Pty};
use crate::place::Place;
use serde_json::Value;

/// A turn of the chat.
fn turn(pty: &Pty, paced: &Paced, number: usize, word: &str) -> Value {
    pty.line(&format!("question {word}"));
    let body = paced.asked(number);
    answer(paced, word);
    pty.see(&format!("answer {word}"));
    pty.see_no("esc stops");
    body
}

fn answer(paced: &Paced, word: &str) {
    paced.think(&format!("thought {word}"));
    paced.say(&format!("answer {word}"));
    paced.end();
}

/// Compresses the conversation to this summary. `number` is the number of the request for it.
fn compress(pty: &Pty, paced: &Paced, number: usize, summary: &str) {
    pty.line("/compress");
    assert!(paced.asked(number).to_string().contains("Summarise"));
    paced.say(summary);
    paced.end();
    pty.see(summary);
}

#[test]
fn ask_goes_on_with_a_compressed_conversation_as_the_chat_does() {
    let place = Place::new("ask-compressed");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    turn(&pty, &paced, 1, "first");
    turn(&pty, &paced, 2, "second");
    compress(&pty, &paced, 3, "They spoke of one thing.");
    turn(&pty, &paced, 4, "third");
    pty.leave();
    let id = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    let id = id[0]["id"].as_str().unwrap().to_owned();
    let ask = |number: usize, word: &str, which: &[&str]| {
        let question = format!("question {word}");
        let args = [&["ask", "--config", &config], which, &[&question]].concat();
        let mut pty = Pty::run(&place, &args, &Begin::default());
        let body = paced.asked(number);
        answer(&paced, word);
        assert!(pty.end().success(), "{}", pty.text());
        body["messages"].as_array().unwrap().clone()
    };
    let fourth = ask(5, "fourth", &["--continue"]);
    let text = Value::from(fourth.clone()).to_string();
    assert!(text.contains("They spoke of one thing.") && text.contains("thought second"), "{text}");
    assert!(!text.contains("question first") && !text.contains("answer first"), "{text}");
    let fifth = ask(6, "fifth", &["--session", id.get(..12).unwrap()]);
    // The chat sends what both sent, to the letter, and then what followed.
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.see("answer fifth");
    let sixth = turn(&pty, &paced, 7, "sixth");
    let sixth = sixth["messages"].as_array().unwrap();
    assert_eq!(sixth[..fourth.len()], fourth[..]);
    assert_eq!(sixth[..fifth.len()], fifth[..]);
    assert_eq!(sixth.len(), fifth.len() + 2, "an answer and a question more");
    // Once it is taken back there, everything goes out here too.
    pty.line("/compress undo");
    pty.see("everything is sent again");
    pty.leave();
    let seventh = Value::from(ask(8, "seventh", &["--continue"])).to_string();
    assert!(seventh.contains("answer first") && !seventh.contains("They spoke"), "{seventh}");
}

#[test]
fn esc_closes_the_connection_that_a_summary_comes_over() {
    let place = Place::new("summary-given-up");
    let (main, second) = (Paced::start(), Paced::start());
    let config = format!(
        "{}[providers.second]\nextends = \"deepseek\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [roles]\nutility = \"second/deepseek-v4-pro\"\n",
        main.config(),
        second.url()
    );
    let config = place.write("own.toml", &config);
    let mut pty = Pty::chat(&place, &["--config", &config]);
    turn(&pty, &main, 1, "first");
    // The title.
    second.asked(1);
    second.say("Questions");
    second.end();
    turn(&pty, &main, 2, "second");
    // Given up in the middle of the answer, and before there is any.
    for (number, begun) in [(2, "half a summ"), (3, "")] {
        pty.line("/compress");
        second.asked(number);
        if !begun.is_empty() {
            second.say(begun);
        }
        pty.press(ESC);
        pty.see("nothing was compressed");
        second.left(number - 1);
    }
    // Everything is as before: the next one is written, and counts.
    compress(&pty, &second, 4, "They asked one thing.");
    let sent = turn(&pty, &main, 3, "third").to_string();
    assert!(sent.contains("They asked one thing.") && !sent.contains("half a summ"), "{sent}");
    pty.press(ENTER);
    pty.leave();
}
