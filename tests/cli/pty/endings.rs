//! However the program ends, the terminal is given back as it was.

use super::paced::Paced;
use super::{Begin, CTRL_C, Pty};
use crate::place::Place;

#[test]
fn a_signal_ends_it_with_the_terminal_as_it_was() {
    for name in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let place = Place::new(&format!("signal{name}"));
        let paced = Paced::start();
        let config = place.write("own.toml", &paced.config());
        let mut pty = Pty::chat(&place, &["--config", &config]);
        pty.line("why?");
        paced.asked(1);
        paced.think("half a thou");
        pty.see("half a thou");
        pty.signal(name);
        pty.end();
        pty.is_given_back();
        // What came until then is kept.
        let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
        pty.see("half a thou");
        pty.leave();
    }
}

#[test]
fn ctrl_c_twice_leaves() {
    let place = Place::new("twice");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.press(CTRL_C);
    pty.see("press Ctrl-C again");
    pty.press(CTRL_C);
    assert!(pty.end().success());
    pty.is_given_back();
}

#[test]
fn a_closed_terminal_leaves_no_process() {
    let place = Place::new("closed");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.close();
    pty.end();
}

#[test]
fn what_cannot_begin_says_so_on_the_terminal_as_it_is() {
    let place = Place::new("begins-not");
    let mut pty = Pty::begin(&place, &["-m", "nobody/knows"], &Begin::default());
    assert_eq!(pty.end().exit_code(), 1);
    assert!(pty.text().contains("no provider is known"), "{}", pty.text());
}
