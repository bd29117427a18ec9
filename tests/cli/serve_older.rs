//! `think serve` with the store of an older gateway: what it kept is put back.
//!
//! `fixtures/stores/before-threads` was written by the last gateway that knew an answer by the whole conversation before
//! it (the commit tagged `before-threads`), in four conversations with simulators. `requests.json` has the next request
//! of each, and what that gateway answered to it.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::Server;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const KEPT: &str = "fixtures/stores/before-threads";

const CONFIG: &str =
    "[store]\nurl = \"sqlite:thinkthrough.db\"\nkey = { file = \"thinkthrough.key\" }\n";

/// A gateway with the store of the older one.
fn older(place: &Place) -> Server {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    for file in ["thinkthrough.db", "thinkthrough.key"] {
        let copy = place.file(file);
        fs::copy(kept.join(file), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    }
    serve(place, CONFIG)
}

fn requests() -> Value {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    let requests = fs::read_to_string(kept.join("requests.json")).unwrap();
    serde_json::from_str(&requests).unwrap()
}

#[test]
fn thoughts_that_an_older_gateway_kept_are_put_back() {
    let place = Place::new("older");
    let gateway = older(&place);
    for (name, request) in requests().as_object().unwrap() {
        let path = request["path"].as_str().unwrap();
        let answer = gateway.ask(path, &request["body"].to_string());
        let expected = request["expected"].as_str().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
        assert!(answer.contains(expected), "{name}, where {expected}: {answer}");
    }
}

/// Its client clears what the first tool gave: the whole conversation is another one behind that, and only the id of the
/// second call says whose it is. Nothing is put in the middle of thoughts that are bound to each other.
#[test]
fn they_are_found_by_ids_of_calls_a_moment_later() {
    let place = Place::new("older-ids");
    let gateway = older(&place);
    let requests = requests();
    let expected = [
        ("kimi-k2", "restored=2"),
        ("deepseek", "restored=2"),
        ("anthropic", "restored=2"),
        ("bound", "restored=0"),
    ];
    for (name, expected) in expected {
        let request = &requests[name];
        let cleared = "[Old tool result content cleared]";
        let body = request["body"].to_string().replacen("sunny, 21 degrees", cleared, 1);
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = gateway.ask(request["path"].as_str().unwrap(), &body);
            assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
            if answer.contains(expected) {
                break;
            }
            assert!(Instant::now() < deadline, "{name}, where {expected}: {answer}");
            sleep(Duration::from_millis(50));
        }
    }
}
