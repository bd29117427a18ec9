//! `think doctor` on the built program.

use crate::program::{Ran, think};
use crate::server::{PATIENCE, Server};
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn doctor_finds_every_scenario_as_expected() {
    let ran = think(&["doctor", "--json"], b"");
    let rows: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err));
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 100, "{}", rows.len());
    let is_wrong = |row: &&Value| {
        let text = |key: &str| row[key].as_str().unwrap();
        assert_eq!(row.as_object().unwrap().len(), 5, "{row}");
        assert_eq!(text("direct"), "pass", "{row}");
        // A client that keeps its thoughts may pass without a gateway.
        assert!(text("naive") == "fail" || text("scenario").starts_with("keep-"), "{row}");
        text("gateway") != "pass" && !text("reason").contains("gateway: passed on: ")
    };
    let wrong: Vec<String> = rows.iter().filter(is_wrong).map(Value::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn doctor_examines_somebody_elses_gateway_and_says_what_it_must_know() {
    // A simulator is a gateway that restores nothing: it does not even know the names of the
    // models.
    let stranger = Server::start("sim", &[]);
    let url = format!("http://{}", stranger.addr);
    let ran = theirs(&["doctor", "--only", "text-06", "--json", "--gateway", &url]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let rows: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&rows[0]["direct"], &rows[0]["gateway"]),
        (&"pass".into(), &"fail".into()),
        "{rows}"
    );
    assert!(ran.err.contains("http://127.0.0.1:4115/kimi-k2"), "{}", ran.err);
    stranger.stop();
}

/// Examines a gateway of others. The simulators then listen on a fixed port, so that one
/// examination waits for the end of another.
fn theirs(args: &[&str]) -> Ran {
    let began = Instant::now();
    loop {
        let ran = think(args, b"");
        if !ran.err.contains("cannot listen on `127.0.0.1:4115`") {
            return ran;
        }
        assert!(began.elapsed() < PATIENCE, "{}", ran.err);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn doctor_says_what_is_wrong_with_its_arguments() {
    let ran = think(&["doctor", "--only", "nothing"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`--only nothing`"), "{}", ran.err);
    let ran = theirs(&["doctor", "--only", "text-01", "--gateway", "http://127.0.0.1:1"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("http://127.0.0.1:1"), "{}", ran.err);
}

#[test]
fn doctor_lists_its_scenarios() {
    let table = think(&["doctor", "--list"], b"").out;
    let rows = think(&["doctor", "--list", "--json"], b"").json();
    assert_eq!(table.lines().count(), rows.as_array().unwrap().len());
    assert_eq!(
        rows.as_array()
            .unwrap()
            .iter()
            .filter(|row| row["scenario"].as_str().unwrap().starts_with("text-"))
            .count(),
        24
    );
}
