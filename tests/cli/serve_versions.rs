//! An older `think` and this one use one store, in turn and side by side, without a loss.
//!
//! The variable names a binary of an older version. Without it, the tests are skipped.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_faults::{all_there, until};
use crate::serve_kills::{first_turn, is_acknowledged, is_put_back};
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const VARIABLE: &str = "THINKTHROUGH_OLDER";

/// A gateway of the older version with this configuration, or its output if it does not start.
fn older(think: &str, place: &Place) -> Result<Server, String> {
    let mut command = Command::new(think);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &place.file("config.toml")]);
    command.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
    Server::try_run(command)
}

fn ends(gateway: Server) {
    gateway.signal(Signal::TERM);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
}

/// The requests to all gateways, with their answers.
#[derive(Default)]
struct Asked {
    next: u32,
    all: Vec<(Value, String)>,
}

impl Asked {
    /// Asks five times. Each answer is whole, its thought is saved, and its trace is stored.
    fn ask(&mut self, gateway: &Server) {
        let from = self.all.len();
        for _ in 0..5 {
            self.next += 1;
            let first = first_turn(self.next);
            let answer = gateway.ask_in_time("/v1/chat/completions", &first.to_string());
            assert!(answer.starts_with("HTTP/1.1 200") && is_acknowledged(&answer), "{answer}");
            self.all.push((first, answer));
        }
        let answers: Vec<String> = self.all[from..].iter().map(|it| it.1.clone()).collect();
        until(gateway, &answers, "stored");
    }

    /// Checks that this gateway puts back every thought so far, from each gateway.
    fn are_put_back(&self, gateway: &Server, who: &str) {
        let began = Instant::now();
        for (first, answer) in &self.all {
            while !is_put_back(gateway, first, answer) {
                assert!(began.elapsed() < PATIENCE, "{who}: {answer}");
                sleep(Duration::from_millis(50));
            }
        }
    }

    fn are_there(&self, place: &Place) {
        let answers: Vec<String> = self.all.iter().map(|it| it.1.clone()).collect();
        all_there(place, &answers);
    }
}

/// Older, both, newer, older again, and newer again.
fn one_after_the_other(store: impl Fn(&Place) -> String, name: &str) {
    let Ok(think) = std::env::var(VARIABLE) else {
        println!("skipped: {VARIABLE} names no older `think`");
        return;
    };
    let place = Place::new(name);
    let config = store(&place);
    place.write("config.toml", &config);
    let mut asked = Asked::default();
    let first = older(&think, &place).unwrap();
    asked.ask(&first);
    // The newer one brings the store up to date while the older one works.
    let newer = serve(&place, &config);
    for _ in 0..3 {
        asked.ask(&first);
        asked.ask(&newer);
    }
    asked.are_put_back(&newer, "newer");
    asked.are_put_back(&first, "older");
    asked.are_there(&place);
    ends(newer);
    asked.ask(&first);
    ends(first);
    // The older version again. It works as before, or reports that the store is too new and leaves
    // it unchanged.
    match older(&think, &place) {
        Ok(again) => {
            asked.are_put_back(&again, "older again");
            asked.ask(&again);
            ends(again);
            println!("{name}: the older version opens the store of the newer one");
        }
        Err(said) => {
            assert!(said.contains("newer `think`"), "{said}");
            println!("{name}: the older version refuses the store of the newer one");
        }
    }
    let newer = serve(&place, &config);
    asked.are_put_back(&newer, "newer again");
    asked.ask(&newer);
    asked.are_there(&place);
}

#[test]
fn k_9_an_older_version_and_this_one_share_a_file() {
    one_after_the_other(|_| IN_A_FILE.to_owned(), "versions-file");
}

#[test]
fn k_9_an_older_version_and_this_one_share_a_server() {
    let Some(database) = Database::new() else { return };
    one_after_the_other(|place| on_server(place, &database), "versions-server");
}
