//! The retention of a gateway's vault, as the configuration sets it.

use crate::place::Place;
use crate::serve::naive_rounds;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use rusqlite::Connection;
use std::time::{Duration, Instant};

/// The store of a gateway with this in its configuration.
fn keeping(place: &Place, keys: &str) -> Server {
    serve(place, &format!("[store]\nurl = \"sqlite:kept.db\"\n{keys}\n"))
}

fn store(place: &Place) -> Connection {
    let connection = Connection::open(place.file("kept.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

fn conversations(place: &Place) -> i64 {
    store(place).query_row("SELECT count(*) FROM thread", [], |row| row.get(0)).unwrap()
}

/// Waits until the store has this many conversations.
fn wait(place: &Place, expected: i64) {
    let began = Instant::now();
    while conversations(place) != expected {
        assert!(began.elapsed() < PATIENCE, "{} conversations", conversations(place));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes this many conversations of one answer each, with different first words.
fn converse(gateway: &Server, count: usize) {
    for at in 0..count {
        let words = format!("What is in this folder, and what does the readme say? ({at})");
        let body = serde_json::json!({"model": "sim/kimi-k2",
            "messages": [{"role": "user", "content": words}]});
        let answer = gateway.ask_in_time("/v1/chat/completions", &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[test]
fn store_keep_days_says_how_long_a_conversation_stays_that_is_not_used() {
    let place = Place::new("keep-days");
    let gateway = keeping(&place, "");
    converse(&gateway, 6);
    wait(&place, 6);
    gateway.stop();
    let week = 7 * 24 * 60 * 60 * 1000_i64;
    let sql = "UPDATE thread SET used_at = used_at - ? WHERE nr = (SELECT min(nr) FROM thread)";
    assert_eq!(store(&place).execute(sql, [week]), Ok(1));
    // A week is less than the usual month; one of six is not too many to go at once.
    for keys in ["", "keep_days = 0", "keep_days = \"unlimited\"", "keep_days = 8"] {
        let gateway = keeping(&place, keys);
        converse(&gateway, 0);
        let answer = gateway.request("GET", "/livez", "", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        gateway.stop();
        assert_eq!(conversations(&place), 6, "{keys}");
    }
    let gateway = keeping(&place, "keep_days = 6");
    wait(&place, 5);
    gateway.stop();
}

#[test]
fn store_limits_of_a_tenant_hold_and_change_without_a_restart() {
    let place = Place::new("quota");
    let gateway = keeping(&place, "");
    converse(&gateway, 4);
    wait(&place, 4);
    let change = |keys: &str| {
        place.write("config.toml", &format!("[store]\nurl = \"sqlite:kept.db\"\n{keys}\n"));
        gateway.signal(rustix::process::Signal::HUP);
    };
    change("max_records_per_tenant = 3");
    wait(&place, 3);
    change("max_bytes_per_tenant = 1");
    wait(&place, 0);
    change("max_bytes_per_tenant = 0");
    // New records stay, and their thoughts are put back.
    let answers = naive_rounds("sim/kimi-k2", |_, request| {
        gateway.ask_in_time("/v1/chat/completions", request)
    });
    assert!(answers[1].contains("restored=1; missed=0;"), "{}", answers[1]);
}

#[test]
fn k_7_the_gateway_says_that_it_does_not_trust_its_clock() {
    let place = Place::new("clock");
    let gateway = keeping(&place, "");
    converse(&gateway, 2);
    wait(&place, 2);
    gateway.stop();
    let years = 10 * 365 * 24 * 60 * 60 * 1000_i64;
    // As after a start with a clock that is ten years ahead.
    assert_eq!(store(&place).execute("UPDATE thread SET used_at = used_at - ?", [years]), Ok(2));
    let gateway = keeping(&place, "");
    let began = Instant::now();
    while !gateway.said().contains("2 records are old and stay for now") {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(conversations(&place), 2);
}
