//! The end of `think serve`, and its behaviour beyond its limits.

use crate::place::Place;
use crate::program::command;
use crate::serve_config::{question, serve};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::iter::{once, repeat};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Begins a streamed answer. Returns its connection.
fn begin(gateway: &Server, model: &str) -> TcpStream {
    let mut asked: Value = serde_json::from_str(&question(model)).unwrap();
    asked["stream"] = json!(true);
    let asked = asked.to_string();
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    let asked = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{asked}",
        asked.len()
    );
    stream.write_all(asked.as_bytes()).unwrap();
    stream
}

/// A simulator that falls silent, and the configuration that leads there.
fn stalling(millis: u32) -> (Server, String) {
    let sim = Server::start("sim", &["--fault", &format!("stall={millis},stall-at=2")]);
    let config = format!(
        "[providers.slow]\nextends = \"moonshotai\"\nbase_url = \"http://{}/kimi-k2/v1\"\napi_key = \"k\"\n",
        sim.addr
    );
    (sim, config)
}

#[test]
fn k_5_an_answer_that_is_under_way_comes_to_its_end() {
    let place = Place::new("drain");
    let (_sim, config) = stalling(1_500);
    let gateway = serve(&place, &config);
    let mut answer = begin(&gateway, "slow/kimi-k2-thinking");
    let mut first = [0; 16];
    answer.read_exact(&mut first).unwrap();
    // At a terminal the gateway does not wait for a load balancer.
    gateway.signal(Signal::INT);
    let mut rest = String::new();
    answer.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("[DONE]"), "{rest}");
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    assert!(said.contains("200 /v1/chat/completions completed"), "{said}");
}

/// A backup of the file alone has everything then.
#[test]
fn after_a_clean_stop_the_log_of_the_store_is_in_its_file() {
    let place = Place::new("clean-stop");
    let gateway = serve(&place, "[store]\nurl = \"sqlite:kept.db\"\n");
    let answer = gateway.ask("/v1/chat/completions", &question("sim/kimi-k2"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let in_log = || std::fs::metadata(place.file("kept.db-wal")).map_or(0, |log| log.len());
    assert!(in_log() > 0);
    gateway.signal(Signal::INT);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    assert_eq!(in_log(), 0, "{said}");
}

#[test]
fn k_5_a_service_says_that_it_closes_while_it_still_takes_work() {
    let place = Place::new("term");
    let gateway = serve(&place, "");
    gateway.signal(Signal::TERM);
    let began = Instant::now();
    closes(&gateway);
    let answer = gateway.ask("/v1/chat/completions", &question("sim/groq"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(gateway.request("GET", "/livez", "", "").starts_with("HTTP/1.1 200"));
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    let took = began.elapsed();
    assert!(took > Duration::from_secs(4), "{took:?}");
}

#[test]
fn k_6_whoever_says_it_twice_means_it() {
    let place = Place::new("twice");
    let (_sim, config) = stalling(60_000);
    let gateway = serve(&place, &config);
    let mut answer = begin(&gateway, "slow/kimi-k2-thinking");
    let mut first = [0; 16];
    answer.read_exact(&mut first).unwrap();
    gateway.signal(Signal::TERM);
    // Two signals that come at once are one.
    closes(&gateway);
    gateway.signal(Signal::TERM);
    // One signal alone takes five seconds for load balancers, and 25 seconds for the answer.
    let (is_fine, said) = gateway.ends(Duration::from_secs(20));
    assert!(is_fine, "{said}");
}

/// Waits until the gateway reports that it closes.
fn closes(gateway: &Server) {
    let began = Instant::now();
    while !gateway.request("GET", "/readyz", "", "").starts_with("HTTP/1.1 503") {
        assert!(began.elapsed() < PATIENCE, "it never said so");
    }
}

#[test]
fn c_1_a_caller_that_goes_away_is_noticed_upstream_in_every_phase() {
    let place = Place::new("gone");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n",
        listener.local_addr().unwrap()
    );
    let gateway = serve(&place, &config);
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    for head in [
        // Before the first byte.
        String::new(),
        // In the middle of a stream.
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n",
            event.len()
        ),
        // In the middle of one value.
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
            .to_owned(),
    ] {
        let caller = begin(&gateway, "there/m");
        let (mut upstream, _) = listener.accept().unwrap();
        let (mut piece, mut seen) = ([0; 4096], Vec::new());
        while !String::from_utf8_lossy(&seen).contains("zebra") {
            let read = upstream.read(&mut piece).unwrap();
            assert!(read > 0);
            seen.extend_from_slice(&piece[..read]);
        }
        upstream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        drop(caller);
        // Sooner than the gateway would write to the caller that it is still there.
        upstream.set_read_timeout(Some(Duration::from_secs(12))).unwrap();
        match upstream.read(&mut piece) {
            Ok(read) => assert_eq!(read, 0, "{head}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{head}"),
        }
    }
}

#[test]
fn k_3_connections_beyond_what_the_system_grants_are_told_to_come_back() {
    let place = Place::new("few");
    let think = env!("CARGO_BIN_EXE_think");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.arg("-c").arg(format!("ulimit -n 96; exec {think} serve --listen 127.0.0.1:0"));
    shell.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
    drop(command(&[]));
    let gateway = Server::run(shell);
    let held: Vec<TcpStream> =
        (0..40).filter_map(|_| TcpStream::connect(&gateway.addr).ok()).collect();
    let mut refused = 0;
    // The gateway accepts connections in order: after the answer to the last one, all have an
    // answer.
    for (mut stream, patience) in
        held.into_iter().rev().zip(once(PATIENCE).chain(repeat(Duration::from_millis(100))))
    {
        stream.set_read_timeout(Some(patience)).unwrap();
        let mut answer = [0; 200];
        if let Ok(read) = stream.read(&mut answer) {
            let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
            let is_told = answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1");
            assert!(is_told || answer.is_empty(), "{answer}");
            refused += 1;
        }
    }
    assert!(refused > 10, "{refused}");
    // Room is there again when their ends were noticed.
    let began = Instant::now();
    let ask = || gateway.ask("/v1/chat/completions", &question("sim/groq"));
    while !ask().starts_with("HTTP/1.1 200") {
        assert!(began.elapsed() < PATIENCE, "there is no room again");
    }
    let metrics = gateway.request("GET", "/metrics", "", "");
    assert!(!metrics.contains("thinkthrough_shed_total 0\n"), "{metrics}");
}
