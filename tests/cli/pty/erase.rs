//! On a terminal, deletions ask first. The question names the target, and only a yes deletes it.

use super::{Begin, CTRL_D, ENTER, Pty};
use crate::place::Place;

/// A conversation of the store, and its id.
fn session(place: &Place) -> String {
    let ran = place.ask(&["-m", "sim/kimi-k2", "--tools", "off", "--continue", "Why is it red?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list = place.think(&["sessions", "list", "--json"]).json();
    list[0]["id"].as_str().unwrap().to_owned()
}

/// Answers the question of this command. Returns whether it succeeded, and the screen.
fn asked(place: &Place, args: &[&str], answer: &str) -> (bool, String) {
    let begin = Begin { size: (200, 24), ..Begin::default() };
    let mut pty = Pty::run(place, args, &begin);
    pty.see("[y/N]");
    pty.press(answer);
    let ended = pty.end().success();
    (ended, pty.text())
}

#[test]
fn a_session_goes_only_after_a_yes() {
    let place = Place::new("erase-asks");
    let id = session(&place);
    let is_there = || place.think(&["sessions", "show", &id]).code == Some(0);
    let of = |args: &[&str], answer: &str| asked(&place, args, answer);
    for args in [["sessions", "delete", &id], ["erase", "--session", &id]] {
        for no in [ENTER, "n\r", "yesterday\r", CTRL_D] {
            let (is_done, screen) = of(&args, no);
            assert!(!is_done && is_there(), "{args:?} {no:?}: {screen}");
            let named = format!("session `{id}` \"Why is it red?\" with 2 messages?");
            assert!(screen.contains(&named), "{screen}");
            assert!(screen.contains("nothing was destroyed"), "{screen}");
        }
    }
    let (is_done, screen) = of(&["sessions", "delete", &id], "y\r");
    assert!(is_done && !is_there(), "{screen}");
    let id = session(&place);
    let (is_done, screen) = of(&["erase", "--session", &id], "YES\r");
    assert!(is_done && screen.contains("is erased"), "{screen}");
}

#[test]
fn a_tenant_goes_only_after_a_yes_to_what_it_has() {
    let place = Place::new("erase-tenant-asks");
    let id = session(&place);
    let erase = ["erase", "--tenant", "local"];
    let (is_done, screen) = asked(&place, &erase, "no\r");
    let named = "Erase everything of tenant `local`, which is 1 session and 0 records of answers?";
    assert!(!is_done && screen.contains(named), "{screen}");
    assert_eq!(place.think(&["sessions", "show", &id]).code, Some(0));
    let (is_done, screen) = asked(&place, &erase, "y\r");
    assert!(is_done && screen.contains("is erased, with 1 session"), "{screen}");
    assert_eq!(place.think(&["sessions", "show", &id]).code, Some(1));
}
