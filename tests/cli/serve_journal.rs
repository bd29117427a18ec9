//! The journal of a gateway's records, and the gateway's behaviour if the journal cannot be
//! written.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn figure(gateway: &Server, name: &str) -> u64 {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let figure = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    figure.unwrap_or_else(|| panic!("no `{name}` in {metrics}"))
}

fn first(which: usize) -> Value {
    let list = json!({"name": "list", "parameters": {"type": "object", "properties": {}}});
    json!({"model": "sim/kimi-k2", "tools": [{"type": "function", "function": list}],
        "messages": [{"role": "user", "content": format!("What is in this folder? ({which})")}]})
}

/// The next request of a client that keeps no thoughts.
fn second(which: usize, mut message: Value) -> Value {
    let mut request = first(which);
    message.as_object_mut().unwrap().remove("reasoning_content");
    let id = message["tool_calls"][0]["id"].clone();
    let result = json!({"role": "tool", "tool_call_id": id, "content": "a"});
    request["messages"].as_array_mut().unwrap().extend([message, result]);
    request
}

/// Asks. Returns the header `x-thinkthrough` and the message of the answer.
fn ask(gateway: &Server, request: &Value) -> (String, Value) {
    let answer = gateway.ask_in_time("/v1/chat/completions", &request.to_string());
    let header = answer.lines().find_map(|line| line.strip_prefix("x-thinkthrough: "));
    let header = header.unwrap_or_else(|| panic!("{answer}")).to_owned();
    let said: Value = serde_json::from_str(crate::server::body(&answer).trim()).unwrap();
    (header, said["choices"][0]["message"].clone())
}

#[test]
fn a_journal_that_cannot_be_written_is_said_once_counted_and_loses_nothing() {
    let place = Place::new("no-journal");
    // A journal's name is longer than the name of its store, and file systems allow at most 255
    // bytes.
    let config = format!("[store]\nurl = \"sqlite:{}.db\"\n", "s".repeat(226));
    let gateway = serve(&place, &config);
    let mut acknowledged = Vec::new();
    for which in 0..3 {
        let (header, message) = ask(&gateway, &first(which));
        if !header.contains("unsaved") {
            acknowledged.push(second(which, message));
        }
        // It is tried again after a second.
        std::thread::sleep(Duration::from_millis(700));
    }
    assert_eq!(figure(&gateway, "thinkthrough_journal_fallbacks_total "), 3);
    let began = Instant::now();
    while figure(&gateway, "thinkthrough_store_waiting_bytes ") > 0 {
        assert!(began.elapsed() < PATIENCE, "it waits for ever");
    }
    let sentence = "cannot be written (";
    while !gateway.said().contains(sentence) {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
    }
    // The journal of traces has a sentence of its own.
    let said = gateway.said();
    let of_records = said.lines().filter(|it| it.contains(sentence) && !it.contains("of traces"));
    assert_eq!(of_records.count(), 1, "{said}");
    gateway.signal(Signal::KILL);
    drop(gateway);
    let gateway = serve(&place, &config);
    for request in acknowledged {
        let (header, _) = ask(&gateway, &request);
        assert!(header.starts_with("restored=1; missed=0;"), "{header}");
    }
}

/// This process and the next one find the journal next to the database, even if they spell the path
/// of the configuration in different ways.
#[test]
fn a_thought_is_written_down_before_a_kill_however_its_store_is_spelled() {
    for (from, config) in [
        ("", "config.toml"),
        ("", "./config.toml"),
        ("", "here/../config.toml"),
        ("here", "../config.toml"),
        ("", "linked/config.toml"),
    ] {
        let place = Place::new("spelled");
        place.write("config.toml", IN_A_FILE);
        std::os::unix::fs::symlink(place.home(), place.file("linked")).unwrap();
        let args = ["serve", "--listen", "127.0.0.1:0", "--config", config];
        let start = || {
            let mut command = place.command(&args);
            command.current_dir(place.home().join(from));
            Server::try_run(command).unwrap_or_else(|said| panic!("{config}: {said}"))
        };
        let gateway = start();
        ask(&gateway, &first(0));
        let began = Instant::now();
        while figure(&gateway, "thinkthrough_store_waiting_bytes ") > 0 {
            assert!(began.elapsed() < PATIENCE, "{config}: it waits for ever");
        }
        // The database takes nothing now.
        let other = rusqlite::Connection::open(place.file("kept.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (header, message) = ask(&gateway, &first(1));
        assert!(!header.contains("unsaved"), "{config}: {header}");
        assert_eq!(figure(&gateway, "thinkthrough_journal_fallbacks_total "), 0, "{config}");
        gateway.signal(Signal::KILL);
        let said = gateway.stop();
        drop(other);
        let gateway = serve(&place, IN_A_FILE);
        let (header, _) = ask(&gateway, &second(1, message));
        assert!(header.starts_with("restored=1; missed=0;"), "{config}: {header}");
        for said in [said, gateway.stop()] {
            assert!(
                !said.contains("the journal") && !said.contains("the store"),
                "{config}: {said}"
            );
        }
    }
}

/// A model without thoughts and without a known rule leaves no record. A model of the same gateway
/// that thinks leaves one.
#[test]
fn an_answer_without_a_thought_leaves_no_record_where_nobody_asks_for_it() {
    let place = Place::new("no-record");
    let upstream = Upstream::answering(|asked| {
        let thought = if asked.contains("thinker") { "I look." } else { "" };
        chat(thought, "Here.", None)
    });
    let gateway = serve(
        &place,
        &format!(
            "{IN_A_FILE}[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        ),
    );
    let records_after = |model: &str| {
        let request = json!({"model": model, "stream": true,
            "messages": [{"role": "user", "content": "What is here?"}]});
        let answer = gateway.ask_in_time("/v1/chat/completions", &request.to_string());
        assert!(answer.contains("Here."), "{answer}");
        let began = Instant::now();
        while figure(&gateway, "thinkthrough_store_waiting_bytes ") > 0 {
            assert!(began.elapsed() < PATIENCE, "it waits for ever");
        }
        let store = rusqlite::Connection::open(place.file("kept.db")).unwrap();
        store.query_row("SELECT count(*) FROM record", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(records_after("there/plain"), 0);
    assert_eq!(records_after("there/thinker"), 1);
    assert_eq!(records_after("there/plain"), 1);
}
