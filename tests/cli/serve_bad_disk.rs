//! A disk whose n-th operation fails, under SQLite and the journals. Requests go on, and
//! acknowledged data is still there.

use crate::place::Place;
use crate::program::command;
use crate::serve_faults::{all_there, ask, figure, state, until};
use crate::serve_kills::{blind, first_turn, is_acknowledged, is_put_back, post};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Without keys, so that a broken store refuses no caller.
const KEYLESS: &str = "[server]\nkeyless = true\n[store]\nurl = \"sqlite:kept.db\"\n";
/// The source of the library for disk faults.
const SOURCE: &str = include_str!("failing_disk.c");
/// Number of operations that fail, one after the other. The variable names another number.
const ROUNDS: u32 = 14;
const VARIABLE: &str = "THINKTHROUGH_DISK_FAULTS";

/// Builds the library `disk.so` in this place, which intercepts the disk operations of a program.
/// `None` if it cannot be built here.
pub(crate) fn disk_made_of(source: &str, place: &Place) -> Option<String> {
    if !cfg!(target_os = "linux") {
        println!("skipped: other systems load no such disk");
        return None;
    }
    let (source, library) = (place.write("disk.c", source), place.file("disk.so"));
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o", &library, &source, "-ldl"])
        .stderr(Stdio::piped())
        .output();
    match made {
        Err(error) => {
            println!("skipped: no C compiler `cc` ({error})");
            None
        }
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            Some(library)
        }
    }
}

/// A disk that fails on demand, under the store of a place.
struct Disk {
    place: Place,
    shared: File,
}

impl Disk {
    /// A disk without faults so far. `None` if it cannot be built here.
    fn new(name: &str) -> Option<Disk> {
        let place = Place::new(name);
        disk_made_of(SOURCE, &place)?;
        let shared = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(place.file("disk.state"))
            .unwrap();
        shared.set_len(16).unwrap();
        Some(Disk { place, shared })
    }

    /// Makes the n-th operation from now on fail. With `is_for_ever` all later ones fail, too. 0
    /// means no fault.
    fn fail(&self, at: u32, is_for_ever: bool) {
        let words = [at, u32::from(is_for_ever), 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.shared.write_all_at(&bytes, 0).unwrap();
    }

    /// Number of operations since then, and number of failed ones.
    fn count(&self) -> [u32; 2] {
        [8, 12].map(|at| {
            let mut word = [0; 4];
            self.shared.read_exact_at(&mut word, at).unwrap();
            u32::from_ne_bytes(word)
        })
    }

    /// A gateway on it.
    fn serve(&self) -> Server {
        let place = &self.place;
        let file = place.write("config.toml", KEYLESS);
        let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--config", &file]);
        command.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
        command.env("LD_PRELOAD", place.file("disk.so"));
        command.env("FAILING_DISK", place.file("disk.state"));
        command.env("FAILING_FILES", place.file("kept.db"));
        Server::run(command)
    }
}

/// The acknowledged data so far.
#[derive(Default)]
struct Acknowledged {
    records: Vec<(Value, String)>,
    traces: Vec<String>,
}

impl Acknowledged {
    /// Checks that all of it is still there.
    fn is_there(&mut self, gateway: &Server, place: &Place) {
        all_there(place, &self.traces);
        let began = Instant::now();
        for (first, answer) in self.records.drain(..) {
            while !is_put_back(gateway, &first, &answer) {
                let said = gateway.said();
                assert!(began.elapsed() < PATIENCE, "a thought is lost: {said} {first} {answer}");
                sleep(Duration::from_millis(50));
            }
        }
    }

    /// Sends requests, which must be answered whatever the disk does, and adds the acknowledged
    /// records after a moment.
    fn ask(&mut self, gateway: &Server, from: u32, count: u32) -> Vec<String> {
        let mut answers = Vec::new();
        for which in from..from + count {
            let (first, unseen) = (first_turn(which), blind(gateway));
            let answer = post(&gateway.addr, &first).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("[DONE]"), "{answer}");
            // A request whose look-up was late leaves no record. The gateway counts such requests.
            if is_acknowledged(&answer) && blind(gateway) == unseen {
                self.records.push((first, answer.clone()));
            }
            answers.push(answer);
        }
        answers
    }

    /// Adds the traces that the gateway reports as kept, when it reports a state for all. Returns
    /// their number.
    fn add_kept(&mut self, gateway: &Server, answers: &[String]) -> usize {
        let states: Vec<String> = answers.iter().map(|answer| state(gateway, answer)).collect();
        let dropped = states.iter().filter(|state| *state == "dropped").count() as u64;
        assert_eq!(figure(gateway, "thinkthrough_traces_lost_total "), dropped, "{states:?}");
        let is_kept = |state: &String| state == "stored" || state == "spooled";
        let kept = answers.iter().zip(&states).filter(|(_, state)| is_kept(state));
        let kept: Vec<String> = kept.map(|(answer, _)| answer.clone()).collect();
        let count = kept.len();
        self.traces.extend(kept);
        count
    }
}

/// The operations that fail, evenly spread: all of them, or as many as the variable allows.
fn numbers(all: u32) -> Vec<u32> {
    let most = std::env::var(VARIABLE).ok().and_then(|it| it.parse().ok()).unwrap_or(ROUNDS);
    let rounds = most.min(all).max(1);
    (0..rounds).map(|round| 1 + round * all / rounds).collect()
}

#[test]
fn d_3_an_operation_of_the_disk_that_fails_loses_nothing_that_was_acknowledged() {
    let Some(disk) = Disk::new("bad-disk") else { return };
    let mut acknowledged = Acknowledged::default();
    let mut gateway = disk.serve();
    let answers = acknowledged.ask(&gateway, 0, 3);
    until(&gateway, &answers, "stored");
    // The number of operations without a fault.
    disk.fail(0, false);
    let answers = acknowledged.ask(&gateway, 10, 3);
    until(&gateway, &answers, "stored");
    let [all, _] = disk.count();
    assert!(all > 20, "{all} operations");
    let (mut which, mut failed, mut kept) = (100, [0, 0], [0, 0]);
    for at in numbers(all + all / 4) {
        for is_for_ever in [false, true] {
            disk.fail(at, is_for_ever);
            let answers = acknowledged.ask(&gateway, which, 3);
            which += 10;
            if !is_for_ever {
                // The gateway recovers without a restart.
                until(&gateway, &answers, "stored");
            }
            sleep(Duration::from_millis(30));
            kept[usize::from(is_for_ever)] += acknowledged.add_kept(&gateway, &answers);
            failed[usize::from(is_for_ever)] += disk.count()[1];
            gateway.signal(Signal::KILL);
            drop(gateway);
            disk.fail(0, false);
            gateway = disk.serve();
            acknowledged.is_there(&gateway, &disk.place);
        }
    }
    println!(
        "of {all} operations {} failed: once each, {} operations and {} traces kept; and all behind it, {} operations \
         and {} traces kept",
        numbers(all + all / 4).len(),
        failed[0],
        kept[0],
        failed[1],
        kept[1]
    );
    assert!(failed[0] > 5 && failed[1] > failed[0], "{failed:?}");
}

#[test]
fn d_3_a_disk_that_is_well_again_needs_no_restart() {
    let Some(disk) = Disk::new("well-again") else { return };
    let gateway = disk.serve();
    let mut answers = ask(&gateway, 0, 3);
    until(&gateway, &answers, "stored");
    disk.fail(1, true);
    let more = ask(&gateway, 10, 20);
    let [_, failed] = disk.count();
    assert!(failed > 0);
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    disk.fail(0, false);
    until(&gateway, &more, "stored");
    answers.extend(more);
    all_there(&disk.place, &answers);
}

#[test]
fn d_3_an_operation_that_fails_while_the_store_is_opened_is_made_good() {
    let Some(disk) = Disk::new("bad-opening") else { return };
    // The number of operations for a new store.
    let gateway = disk.serve();
    let mut answers = ask(&gateway, 0, 1);
    until(&gateway, &answers, "stored");
    let [all, _] = disk.count();
    gateway.signal(Signal::KILL);
    drop(gateway);
    let mut failed = 0;
    for (round, at) in (1..).zip(numbers(all)) {
        // A new store, and a store that a killed gateway left.
        for is_new in [true, false] {
            if is_new {
                answers.clear();
                let files =
                    std::fs::read_dir(disk.place.home()).unwrap().map(|it| it.unwrap().path());
                let is_its = |it: &std::path::PathBuf| it.display().to_string().contains("kept.db");
                files.filter(is_its).for_each(|file| std::fs::remove_file(file).unwrap());
            }
            disk.fail(at, false);
            let gateway = disk.serve();
            let more = ask(&gateway, round * 10 + u32::from(is_new), 2);
            until(&gateway, &more, "stored");
            answers.extend(more);
            failed += disk.count()[1];
            all_there(&disk.place, &answers);
            gateway.signal(Signal::KILL);
        }
    }
    println!("{failed} operations failed while a store was opened or right behind it");
    assert!(failed > 5, "{failed}");
}

#[test]
fn d_3_an_operation_that_fails_while_the_store_is_closed_is_made_good() {
    let Some(disk) = Disk::new("bad-closing") else { return };
    let mut answers = Vec::new();
    let mut failed = 0;
    for (round, at) in (0..).zip(numbers(24)) {
        let gateway = disk.serve();
        let more = ask(&gateway, round * 10, 2);
        until(&gateway, &more, "stored");
        answers.extend(more);
        disk.fail(at, round % 2 == 0);
        // SIGINT skips the wait for load balancers.
        gateway.signal(Signal::INT);
        let (is_fine, said) = gateway.ends(PATIENCE);
        assert!(is_fine && !said.contains("panicked"), "{said}");
        failed += disk.count()[1];
        disk.fail(0, false);
        all_there(&disk.place, &answers);
    }
    println!("{failed} operations failed while a store was closed");
    assert!(failed > 5, "{failed}");
}
