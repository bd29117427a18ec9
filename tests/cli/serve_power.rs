//! A disk that loses its power while requests leave traces. All traces that the gateway reported as
//! kept are there.

use crate::place::Place;
use crate::program::command;
use crate::serve_bad_disk::disk_made_of;
use crate::serve_confirmed::{CHAT, asked};
use crate::serve_faults::until;
use crate::serve_kills::{first_turn, trace_of, traces_of};
use crate::serve_shared::IN_A_FILE;
use crate::server::Server;
use rustix::process::Signal;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// The files of a store after a loss of power: only synchronised files, in their state at that
/// time.
fn after_power(place: &Place, shadow: &str) -> Place {
    let after = Place::new("power-after");
    for file in fs::read_dir(place.home()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // All files but the key and the configuration belong to the store, and come from the
        // synchronised copies.
        let is_stores = ["kept.db-", "kept.db.journal-", "kept.db.traces-", "kept.db.early."];
        if path.is_file() && name != "kept.db" && !is_stores.iter().any(|its| name.starts_with(its))
        {
            fs::copy(&path, after.file(name)).unwrap();
        }
    }
    for file in fs::read_dir(shadow).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // A `part-` file is an unfinished copy.
        if !name.starts_with("part-") {
            fs::copy(&path, after.file(name)).unwrap();
        }
    }
    after
}

#[test]
fn k_2_after_a_loss_of_power_every_trace_is_there_that_was_said_to_be_kept() {
    let place = Place::new("power-cut");
    let Some(library) = disk_made_of(include_str!("powered_disk.c"), &place) else { return };
    let shadow = place.file("shadow");
    fs::create_dir(&shadow).unwrap();
    let config = place.write("config.toml", IN_A_FILE);
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
    command.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
    command.env("LD_PRELOAD", library).env("POWERED_SHADOW", &shadow);
    command.env("POWERED_FILES", place.file("kept.db"));
    let gateway = Server::run(command);
    let mut kept: Vec<String> = Vec::new();
    for round in 0..25_u32 {
        let ask = |which| asked(&gateway, CHAT, &first_turn(10 * round + which));
        let came: Vec<(String, bool)> = (0..1 + round % 4).map(ask).collect();
        let all: Vec<String> = came.iter().map(|(answer, _)| answer.clone()).collect();
        if round % 3 == 0 {
            until(&gateway, &all, "stored");
            kept.extend(all);
        } else {
            kept.extend(came.into_iter().filter(|(_, is_kept)| *is_kept).map(|(answer, _)| answer));
        }
        // The stopped gateway synchronises no file during the check.
        gateway.signal(Signal::STOP);
        sleep(Duration::from_millis(20));
        let after = after_power(&place, &shadow);
        gateway.signal(Signal::CONT);
        let there = traces_of(&after);
        for answer in &kept {
            assert_eq!(there.get(&trace_of(answer).unwrap()), Some(&1), "round {round}: {answer}");
        }
    }
    assert!(kept.len() > 20, "{} were said to be kept", kept.len());
}
