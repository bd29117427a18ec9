//! No key press is lost or moved, at any time and with any bytes of the terminal in between.

use super::session::is_thought;
use super::{Begin, CTRL_D, Pty, find};
use crate::place::Place;
use std::time::Duration;

const TYPED: &str = "every key counts, 1 and all";

#[test]
fn keys_typed_at_any_moment_of_the_start_are_in_the_composer() {
    // A terminal that answers the query for its background, a silent one, and a dumb one without a
    // query.
    let terminals =
        [(Some("1414/1414/1818"), "xterm-256color"), (None, "xterm-256color"), (None, "dumb")];
    for (background, term) in terminals {
        for late in [0_u64, 5, 10, 20, 40, 80, 160] {
            let place = Place::new(&format!("keys-{term}-{late}-{}", background.is_some()));
            let begin = Begin { background, env: &[("TERM", term)], ..Begin::default() };
            let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
            std::thread::sleep(Duration::from_millis(late));
            for key in TYPED.chars() {
                pty.press(&key.to_string());
                std::thread::sleep(Duration::from_millis(2));
            }
            pty.see(&format!("› {TYPED}"));
            pty.press("\u{15}");
            pty.see_no(TYPED);
            pty.press(CTRL_D);
            assert!(pty.end().success());
        }
    }
}

#[test]
fn a_line_typed_ahead_is_sent_and_the_next_one_waits_in_the_composer() {
    let place = Place::new("keys-ahead");
    let begin = Begin::default();
    let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
    pty.line("What is in this folder?");
    pty.press("and then");
    pty.see("here is what the tools really said");
    pty.see("› and then");
    pty.press("\u{15}");
    pty.see("ask, or type");
    pty.press(CTRL_D);
    assert!(pty.end().success());
}

#[test]
fn a_late_answer_about_the_background_is_heard_and_not_typed() {
    let place = Place::new("keys-late");
    let begin = Begin { background: None, ..Begin::default() };
    let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
    pty.see("ask, or type");
    assert_eq!(pty.asked_for_background(), 1);
    pty.line("What is in this folder?");
    pty.see("list_directory gave");
    pty.see_no("esc stops");
    pty.press("be");
    pty.see("› be");
    let before = pty.cell("The user says:");
    // Too late for anybody who waits, and in the middle of a word.
    std::thread::sleep(Duration::from_millis(300));
    pty.press("\u{1b}]11;rgb:fafa/fafa/f8f8\u{1b}\\fore");
    pty.see("› before");
    assert!(!pty.text().contains("rgb:"), "{}", pty.text());
    let light = (0xfa, 0xfa, 0xf8);
    pty.wait("colours for a light ground", |screen| {
        let (row, column) = find(screen, "The user says:").unwrap();
        screen.cell(row, column).unwrap().bgcolor() != before.bgcolor()
    });
    let after = pty.cell("The user says:");
    is_thought(&after, light);
    assert_ne!(after.fgcolor(), before.fgcolor());
    // After the answer, a text like its beginning belongs to the user.
    pty.press("\u{1b}]");
    pty.press("1");
    pty.see("› before1");
    pty.press("\u{15}");
    pty.leave();
}
