//! `think keys rotate`, next to running gateways.

use crate::place::Place;
use crate::serve::naive_rounds;
use crate::serve_config::serve;
use crate::server::Server;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

const STORE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

/// A client that drops its thoughts gets them back.
fn converse(gateway: &Server) {
    let answers = naive_rounds("sim/kimi-k2", |_, request| {
        gateway.ask_in_time("/v1/chat/completions", request)
    });
    assert!(answers[1].contains("restored=1; missed=0;"), "{}", answers[1]);
}

/// Sets the flag when dropped, so that the other threads end even if a test fails.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn t_13_keys_rotate_twice_under_a_gateway_that_works() {
    let place = Place::new("rotate");
    let gateway = serve(&place, STORE);
    converse(&gateway);
    let config = place.file("config.toml");
    let key = || fs::read_to_string(place.file("kept.key")).unwrap();
    let (first, is_enough) = (key(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            while !is_enough.load(Ordering::Acquire) {
                converse(&gateway);
            }
        });
        let enough = Enough(&is_enough);
        let mut before = first.clone();
        for _ in 0..2 {
            let rotated = place.think(&["keys", "rotate", "--config", &config]);
            assert_eq!((rotated.code, rotated.out.as_str()), (Some(0), ""), "{}", rotated.err);
            assert!(rotated.err.contains("the keys of 1 tenant for"), "{}", rotated.err);
            assert!(key() != before && key().len() == 65, "one key, and a new one");
            before = key();
        }
        drop(enough);
        working.join().unwrap();
    });
    // Another process, and the same one later.
    converse(&gateway);
    let said = gateway.stop();
    assert!(!said.contains("think keys rotate"), "it has the new key: {said}");
    converse(&serve(&place, STORE));
    assert_eq!(fs::metadata(place.file("kept.key")).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(place.file("kept.key"), first).unwrap();
    let wrong = place.think(&["keys", "list", "--config", &config]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("is not the one that the store"), "{}", wrong.err);
}

#[test]
fn a_key_that_is_given_is_rotated_to_the_one_behind_it() {
    let place = Place::new("rotate-given");
    let none = place.think(&["keys", "rotate"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("does not exist yet"), "{}", none.err);
    let (old, new) = ("0a".repeat(32), "0b".repeat(32));
    let config = |keys: &str| {
        let text = format!("{STORE}key = {{ command = [\"echo\", \"{keys}\"] }}\n");
        place.write("c.toml", &text)
    };
    let keys = |what: &[&str], given: &str| {
        let config = config(given);
        place.think(&[&["keys"][..], what, &["--config", config.as_str()][..]].concat())
    };
    assert_eq!(keys(&["create", "alice"], &old).code, Some(0));
    let refused = keys(&["rotate"], &old);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("`openssl rand -hex 32`"), "{}", refused.err);
    let both = format!("{old} {new}");
    let rotated = keys(&["rotate"], &both);
    assert_eq!(rotated.code, Some(0), "{}", rotated.err);
    assert!(rotated.err.contains("gives the old key still; take it out"), "{}", rotated.err);
    for (given, expected) in [(&both, 0), (&new, 0), (&old, 1)] {
        assert_eq!(keys(&["list"], given).code, Some(expected), "{given}");
    }
}

#[test]
fn t_6_a_configuration_that_others_may_write_is_refused() {
    let place = Place::new("trust");
    let config = place.write("c.toml", "default_model = \"sim/default\"\n");
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let ask = || place.ask(&["--config", &config, "hello"]);
    for good in [0o600, 0o644, 0o640, 0o444] {
        mode(&config, good);
        assert_eq!(ask().code, Some(0), "{good:o}: {}", ask().err);
    }
    mode(&config, 0o666);
    let refused = ask();
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert_eq!(
        refused.err,
        format!(
            "error: the configuration `{config}` is not used: `{config}` can be written by other users (mode 666); run \
             `chmod go-w {config}`\n"
        )
    );
    mode(&config, 0o644);
    mode(&place.file(""), 0o777);
    let refused = ask();
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("its folder `"), "{}", refused.err);
    // In a sticky folder such as `/tmp`, users cannot replace files of others.
    mode(&place.file(""), 0o1777);
    assert_eq!(ask().code, Some(0), "{}", ask().err);
}
