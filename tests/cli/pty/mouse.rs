//! The mouse: clicks open and choose, the wheel scrolls.

use super::paced::Paced;
use super::{Begin, Pty};
use crate::place::Place;

#[test]
fn a_click_opens_one_thought_and_it_stays_open() {
    let place = Place::new("click");
    let paced = Paced::start();
    let config = paced.config() + "[reasoning]\ndisplay = \"collapsed\"\n";
    let config = place.write("own.toml", &config);
    let mut pty = Pty::chat(&place, &["--config", &config]);
    for (turn, (thought, answer)) in [("amber", "stone"), ("basalt", "rock")].iter().enumerate() {
        pty.line(&format!("question {turn}"));
        paced.asked(turn + 1);
        paced.think(&format!("{thought} thought"));
        paced.say(&format!("the {answer}"));
        paced.end();
        pty.see(&format!("the {answer}"));
        pty.see_no("esc stops");
    }
    let text = pty.text();
    assert!(!text.contains("amber thought") && !text.contains("basalt thought"), "{text}");
    // The first block on the screen belongs to the first answer.
    pty.click("Thought for");
    pty.see("amber thought");
    assert!(!pty.text().contains("basalt thought"), "{}", pty.text());
    // A command for all blocks overrides the click, because the last order counts.
    for (line, said) in [("/thinking off", "hidden"), ("/thinking collapsed", "collapsed")] {
        pty.line(line);
        pty.see(&format!("Thinking blocks: {said}"));
        pty.see_no("amber thought");
        assert!(!pty.text().contains("basalt thought"), "{}", pty.text());
    }
    pty.click("Thought for");
    pty.see("amber thought");
    pty.click("Thought for");
    pty.see_no("amber thought");
    pty.line("/thinking show");
    pty.see("basalt thought");
    pty.see("amber thought");
    pty.leave();
}

#[test]
fn the_wheel_scrolls_and_a_click_takes_a_row_of_a_list_or_goes_back_to_the_end() {
    let place = Place::new("wheel");
    let begin = Begin { size: (80, 14), ..Begin::default() };
    let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
    pty.see("Hello.");
    pty.line("What is in this folder?");
    pty.see("list_directory gave");
    pty.see_no("esc stops");
    assert!(!pty.text().contains("Hello."), "{}", pty.text());
    let [up, down] = ["\u{1b}[<64;10;3M", "\u{1b}[<65;10;3M"];
    pty.press(&up.repeat(20));
    pty.see("Hello.");
    pty.see("more below: Ctrl-End");
    pty.press(&down.repeat(20));
    pty.see_no("more below: Ctrl-End");
    pty.see("list_directory gave");
    pty.press(up);
    pty.click("more below: Ctrl-End");
    pty.see_no("more below: Ctrl-End");
    pty.line("/model groq");
    pty.see("no provider is known");
    pty.line("/model");
    pty.see("─ Models ─");
    pty.press("kimi-k2");
    pty.see_no("sim/kimi-k3");
    pty.click("sim/kimi-k2");
    pty.see("now sim/kimi-k2");
    pty.leave();
}

#[test]
fn the_mouse_can_be_left_to_the_terminal() {
    let place = Place::new("mouse-off");
    let mode = |screen: &vt100::Screen| screen.mouse_protocol_mode();
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    assert_ne!(pty.look(mode), vt100::MouseProtocolMode::None);
    pty.line("/mouse off");
    pty.see("the terminal selects text");
    pty.wait("no mouse", |screen| mode(screen) == vt100::MouseProtocolMode::None);
    pty.line("/mouse");
    pty.see("the wheel scrolls");
    pty.wait("a mouse", |screen| mode(screen) != vt100::MouseProtocolMode::None);
    pty.leave();
    let config = place.write("own.toml", "[chat]\nmouse = false\n");
    let mut pty = Pty::chat(&place, &["-m", "sim/default", "--config", &config]);
    assert_eq!(pty.look(mode), vt100::MouseProtocolMode::None);
    pty.leave();
}
