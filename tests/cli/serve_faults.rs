//! Stores that fail while requests leave traces: traffic goes on, and no trace that was
//! acknowledged is lost.

use crate::frozen::Proxy;
use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::{Reserved, serve};
use crate::serve_kills::{first_turn, post, state_of, trace_of, traces_of};
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Asks `count` times. Every answer is whole and names its trace.
pub(crate) fn ask(gateway: &Server, from: u32, count: u32) -> Vec<String> {
    let answers = (from..from + count).map(|which| {
        let answer = post(&gateway.addr, &first_turn(which)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("[DONE]"), "{answer}");
        assert!(trace_of(&answer).is_some(), "{answer}");
        answer
    });
    answers.collect()
}

pub(crate) fn figure(gateway: &Server, name: &str) -> u64 {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {metrics}"))
}

pub(crate) fn state(gateway: &Server, answer: &str) -> String {
    state_of(gateway, answer).map(|(_, state)| state).unwrap_or_default()
}

/// Waits until the traces of all these answers are in this state. Returns the time that it took.
pub(crate) fn until(gateway: &Server, answers: &[String], wanted: &str) -> Duration {
    let began = Instant::now();
    for answer in answers {
        while state(gateway, answer) != wanted {
            let now = state(gateway, answer);
            assert!(began.elapsed() < PATIENCE, "{wanted}: `{now}` of {answer}");
            sleep(Duration::from_millis(5));
        }
    }
    began.elapsed()
}

/// Checks that each trace of these answers is in the store once.
pub(crate) fn all_there(place: &Place, answers: &[String]) {
    let there = traces_of(place);
    for answer in answers {
        assert_eq!(there.get(&trace_of(answer).unwrap()), Some(&1), "{answer}");
    }
}

/// A gateway on a server, and a proxy to the server that can be frozen.
pub(crate) fn far(place: &Place, database: &Database, spool: &str) -> (Server, Proxy, String) {
    let (_, server) = database.url.split_once('@').unwrap();
    let (server, _) = server.split_once('/').unwrap();
    let proxy = Proxy::new(server, 0);
    let direct = format!("{}spool = {spool}\n", on_server(place, database));
    let by_proxy = direct.replace(server, &format!("127.0.0.1:{}", proxy.port));
    (serve(place, &by_proxy), proxy, direct)
}

#[test]
fn p_1_p_3_while_a_server_stands_still_traces_are_spooled_and_a_kill_loses_none() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("traces-still");
    let (gateway, proxy, direct) = far(&place, &database, "\"waiting/here\"");
    let mut answers = ask(&gateway, 0, 5);
    until(&gateway, &answers, "stored");
    proxy.freeze(true);
    let frozen = ask(&gateway, 5, 10);
    let took = until(&gateway, &frozen, "spooled");
    println!("spooled within {took:?}");
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    assert!(figure(&gateway, "thinkthrough_traces_waiting ") >= 10);
    answers.extend(frozen);
    gateway.signal(Signal::KILL);
    drop(gateway);
    // The next one takes them from the folder, whatever way it has to the server.
    let gateway = serve(&place, &direct);
    until(&gateway, &answers, "stored");
    all_there(&place, &answers);
    let left = std::fs::read_dir(place.file("waiting/here")).unwrap().map(|it| it.unwrap().path());
    let left: Vec<_> = left.filter(|path| path.metadata().unwrap().len() > 32).collect();
    assert!(left.len() <= 1, "{left:?}");
}

#[test]
fn p_1_traces_of_a_time_before_the_store_was_open_are_kept() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("traces-early");
    let (_, server) = database.url.split_once('@').unwrap();
    let (server, _) = server.split_once('/').unwrap();
    let reserved = Reserved::new();
    let config =
        on_server(&place, &database).replace(server, &format!("127.0.0.1:{}", reserved.port));
    let gateway = serve(&place, &config);
    let answers = ask(&gateway, 0, 5);
    until(&gateway, &answers, "spooled");
    assert_eq!(figure(&gateway, "thinkthrough_traces_waiting "), 5);
    let _proxy = Proxy::new(server, reserved.port);
    until(&gateway, &answers, "stored");
    assert_eq!(figure(&gateway, "thinkthrough_traces_waiting "), 0);
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
}

#[test]
fn p_1_traces_of_a_time_before_the_store_was_open_outlive_the_gateway() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("traces-early-killed");
    let (_, server) = database.url.split_once('@').unwrap();
    let (server, _) = server.split_once('/').unwrap();
    let direct = format!("{}spool = \"waiting/here\"\n", on_server(&place, &database));
    let reserved = Reserved::new();
    let away = direct.replace(server, &format!("127.0.0.1:{}", reserved.port));
    let mut all = Vec::new();
    for (round, signal) in (0..).zip([Signal::KILL, Signal::INT]) {
        let gateway = serve(&place, &away);
        let answers = ask(&gateway, 10 * round, 5);
        until(&gateway, &answers, "spooled");
        gateway.signal(signal);
        let (_, said) = gateway.ends(PATIENCE);
        assert!(!said.contains("are lost"), "{said}");
        all.extend(answers);
    }
    let gateway = serve(&place, &direct);
    until(&gateway, &all, "stored");
    all_there(&place, &all);
    let early = std::fs::read_dir(place.file("waiting/here")).unwrap();
    let early = early.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert_eq!(early.filter(|name| name.starts_with("early-")).count(), 0);
}

#[test]
fn p_1_a_server_that_is_cut_off_again_and_again_gets_every_trace_once() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("traces-cut");
    let (gateway, proxy, _direct) = far(&place, &database, "false");
    let mut answers = Vec::new();
    for round in 0..20 {
        database.cut();
        answers.extend(ask(&gateway, round * 3, 3));
    }
    until(&gateway, &answers, "stored");
    // Without a folder they wait in memory, and are not given up.
    proxy.freeze(true);
    let frozen = ask(&gateway, 100, 5);
    until(&gateway, &frozen, "waiting");
    database.cut();
    proxy.freeze(false);
    until(&gateway, &frozen, "stored");
    answers.extend(frozen);
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    assert_eq!(figure(&gateway, "thinkthrough_traces_waiting "), 0);
    all_there(&place, &answers);
}

#[test]
fn p_3_a_server_that_is_slow_for_every_statement_holds_up_no_answer_and_gets_every_trace_once() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("traces-slow");
    let (gateway, proxy, _direct) = far(&place, &database, "\"waiting/here\"");
    let mut answers = ask(&gateway, 0, 3);
    until(&gateway, &answers, "stored");
    let is_over = AtomicBool::new(false);
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        // Every piece takes a second and a half.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                proxy.freeze(true);
                sleep(Duration::from_millis(1_500));
                proxy.freeze(false);
                sleep(Duration::from_millis(5));
            }
        });
        for which in 0..30 {
            let began = Instant::now();
            answers.extend(ask(&gateway, 100 + which, 1));
            times.push(began.elapsed());
            sleep(Duration::from_millis(200));
        }
        until(&gateway, &answers[answers.len() - 1..], "spooled");
        is_over.store(true, Ordering::Relaxed);
    });
    times.sort_unstable();
    println!("answers took {:?} at the median and {:?} at most", times[15], times[29]);
    assert!(times[15] < Duration::from_secs(1) && times[29] < Duration::from_secs(4), "{times:?}");
    until(&gateway, &answers, "stored");
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    assert_eq!(figure(&gateway, "thinkthrough_traces_waiting "), 0);
    all_there(&place, &answers);
}

/// A gateway whose files get a size limit. A write beyond the limit fails, but does not end the
/// process.
pub(crate) fn with_little_room(place: &Place) -> Server {
    serve(place, IN_A_FILE)
}

#[test]
fn d_2_a_gateway_that_ends_on_a_full_disk_says_how_many_traces_are_lost() {
    let place = Place::new("traces-full-end");
    let gateway = with_little_room(&place);
    until(&gateway, &ask(&gateway, 0, 2), "stored");
    gateway.limit_files(Some(0));
    let full = ask(&gateway, 5, 3);
    until(&gateway, &full, "waiting");
    gateway.signal(Signal::INT);
    let (_, said) = gateway.ends(Duration::from_secs(40));
    assert!(said.contains("3 traces are lost"), "{said}");
}

/// The state for load balancers and for monitoring: whether the store can be read and written.
fn shown(gateway: &Server) -> (String, [u64; 2]) {
    let ready = gateway.request("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let word = ready.lines().last().unwrap_or_default().to_owned();
    let figures = ["thinkthrough_store_up ", "thinkthrough_store_writable "];
    (word, figures.map(|name| figure(gateway, name)))
}

fn until_shown(gateway: &Server, word: &str, figures: [u64; 2]) {
    let began = Instant::now();
    while shown(gateway) != (word.to_owned(), figures) {
        assert!(began.elapsed() < PATIENCE, "{word}: {:?} {}", shown(gateway), gateway.said());
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn d_1_d_2_a_store_that_takes_nothing_is_shown_and_said_until_it_takes_all_again() {
    let place = Place::new("takes-nothing");
    let gateway = with_little_room(&place);
    let mut answers = ask(&gateway, 0, 2);
    until(&gateway, &answers, "stored");
    assert_eq!(shown(&gateway), ("ok".to_owned(), [1, 1]));
    let told = |times| {
        let began = Instant::now();
        while gateway.said().matches("until then what it does not take waits in").count() < times {
            assert!(began.elapsed() < PATIENCE, "it is not told: {}", gateway.said());
            sleep(Duration::from_millis(50));
        }
    };
    // Another process holds the file.
    let other = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    answers.extend(ask(&gateway, 10, 2));
    until_shown(&gateway, "degraded", [1, 0]);
    told(1);
    drop(other);
    until(&gateway, &answers, "stored");
    until_shown(&gateway, "ok", [1, 1]);
    // The disk is full.
    gateway.limit_files(Some(0));
    answers.extend(ask(&gateway, 20, 2));
    until_shown(&gateway, "degraded", [1, 0]);
    told(2);
    assert!(gateway.said().contains("is full, so nothing was written"), "{}", gateway.said());
    gateway.limit_files(None);
    until(&gateway, &answers, "stored");
    until_shown(&gateway, "ok", [1, 1]);
    gateway.signal(Signal::INT);
    let (_, said) = gateway.ends(PATIENCE);
    assert_eq!(said.matches("until then").count(), 2, "each is told once: {said}");
    assert!(!said.contains("did not take them"), "{said}");
}

#[test]
fn d_2_on_a_full_disk_traces_wait_and_what_was_acknowledged_is_there() {
    let place = Place::new("traces-full");
    let gateway = with_little_room(&place);
    let mut answers = ask(&gateway, 0, 5);
    until(&gateway, &answers, "stored");
    // No file has room for another byte.
    gateway.limit_files(Some(0));
    let full = ask(&gateway, 5, 20);
    until(&gateway, &full, "waiting");
    assert_eq!(figure(&gateway, "thinkthrough_traces_waiting "), 20);
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    let said = gateway.said();
    assert!(said.contains("the journal of traces beside"), "{said}");
    // There is room again. The gateway recovers without a restart.
    gateway.limit_files(None);
    until(&gateway, &full, "stored");
    answers.extend(full);
    // It fills up somewhere in the middle, and the gateway is killed.
    // By then the journal is tried again.
    sleep(Duration::from_millis(1_200));
    let size = std::fs::metadata(place.file("kept.db-wal")).map_or(0, |file| file.len());
    gateway.limit_files(Some(size + 60_000));
    let all = ask(&gateway, 100, 60);
    let last = all.last().unwrap();
    let began = Instant::now();
    while state(&gateway, last).is_empty() && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(5));
    }
    let states: Vec<String> = all.iter().map(|answer| state(&gateway, answer)).collect();
    gateway.signal(Signal::KILL);
    drop(gateway);
    let is_kept = |state: &String| state == "stored" || state == "spooled";
    let kept = all.iter().zip(&states).filter(|(_, state)| is_kept(state));
    answers.extend(kept.map(|(answer, _)| answer.clone()));
    println!("{} of 85 were acknowledged: {states:?}", answers.len());
    assert!(answers.len() > 25, "{states:?}");
    assert!(!states.contains(&"dropped".to_owned()), "{states:?}");
    let _gateway = serve(&place, IN_A_FILE);
    all_there(&place, &answers);
}
