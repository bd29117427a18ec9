//! Searching in the chat.

use super::paced::Paced;
use super::{ESC, Pty};
use crate::place::Place;

#[test]
fn req_think_007_4_a_search_in_the_chat_finds_no_hidden_thought() {
    let place = Place::new("found");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("Which stone?");
    paced.asked(1);
    paced.think("amber would be the secret choice");
    paced.say("It is amber.");
    paced.end();
    pty.see("It is amber.");
    pty.see_no("esc stops");
    pty.line("/search amber");
    pty.see("thought: amber would be");
    pty.see("answer: It is amber.");
    pty.press(ESC);
    pty.see_no("answer: It is amber.");
    pty.line("/set reasoning.includeInResponse false");
    pty.see_no("secret choice");
    pty.line("/search AMBER");
    pty.see("answer: It is amber.");
    assert!(!pty.text().contains("secret choice"), "{}", pty.text());
    assert!(!pty.text().contains("thought:"), "{}", pty.text());
    pty.press(ESC);
    pty.see_no("answer: It is amber.");
    pty.line("/search secret");
    pty.see("nothing was found");
    pty.press(ESC);
    pty.see_no("nothing was found");
    pty.line("/search amber --in thoughts");
    pty.see("so no thought is shown; set it to");
    assert!(!pty.text().contains("secret choice"), "{}", pty.text());
    pty.leave();
}
