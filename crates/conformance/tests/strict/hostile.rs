//! A simulator answers every request, and refuses a bad one with its provider's error body.

use thinkthrough_conformance::{SimRequest, Simulator, list};

use crate::client::{client, run_tools, step};

/// A request in the middle of a tool loop, so that every validator has data to check.
fn halfway(id: &str) -> (Simulator, SimRequest) {
    let simulator = Simulator::find(id).unwrap();
    let mut client = client(id);
    client.user("Use get_weather for Paris and Rome.");
    let turn = step(&simulator, &mut *client, false);
    run_tools(&mut *client, &turn);
    let request = client.request(true);
    (simulator, request)
}

/// A small random number generator with a fixed sequence.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit.max(1) as u64).unwrap()
    }
}

fn answers(simulator: &Simulator, request: &SimRequest) -> u16 {
    let response = simulator.handle(request);
    // A failing chat template has the status of a server error.
    let is_template = simulator.id() == "llamacpp-gpt-oss" && response.status == 500;
    let is_said = matches!(response.status, 200 | 400..=499) || is_template;
    assert!(is_said, "{}: {}", simulator.id(), response.status);
    assert!(!response.bytes().is_empty());
    if response.status != 200 {
        let body = response.json();
        let event = response.text().starts_with("data:{");
        assert!(
            body.is_object() || body[0].is_object() || event,
            "{}: {}",
            simulator.id(),
            response.text()
        );
        assert!(response.log.refusal.is_some());
    }
    response.status
}

#[test]
fn truncated_bodies_are_refused() {
    for row in list() {
        let (simulator, request) = halfway(row.id);
        for cut in (0..request.body.len()).step_by(37) {
            let body = request.body[..cut].to_vec();
            assert_eq!(
                answers(&simulator, &SimRequest { body, ..request.clone() }),
                400,
                "{} at {cut}",
                row.id
            );
        }
    }
}

#[test]
fn broken_bytes_never_break_a_simulator() {
    let mut dice = Dice(7);
    for row in list() {
        let (simulator, request) = halfway(row.id);
        for _ in 0..400 {
            let mut body = request.body.clone();
            for _ in 0..=dice.below(3) {
                let place = dice.below(body.len());
                body[place] = b"\"{}[]:,0n\\tf \xff"[dice.below(14)];
            }
            answers(&simulator, &SimRequest { body, ..request.clone() });
        }
    }
}

#[test]
fn wrong_types_anywhere_never_break_a_simulator() {
    for row in list() {
        let (simulator, request) = halfway(row.id);
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        for place in 0..count(&body) {
            for other in [
                serde_json::json!(null),
                serde_json::json!(7),
                serde_json::json!("x"),
                serde_json::json!([[]]),
                serde_json::json!({}),
            ] {
                let mut changed = body.clone();
                replace(&mut changed, &mut { place }, &other);
                answers(
                    &simulator,
                    &SimRequest { body: changed.to_string().into_bytes(), ..request.clone() },
                );
            }
        }
    }
}

fn count(value: &serde_json::Value) -> usize {
    1 + match value {
        serde_json::Value::Array(items) => items.iter().map(count).sum(),
        serde_json::Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces the n-th value.
fn replace(value: &mut serde_json::Value, place: &mut usize, other: &serde_json::Value) -> bool {
    if *place == 0 {
        *value = other.clone();
        return true;
    }
    *place -= 1;
    match value {
        serde_json::Value::Array(items) => items.iter_mut().any(|item| replace(item, place, other)),
        serde_json::Value::Object(map) => map.values_mut().any(|item| replace(item, place, other)),
        _ => false,
    }
}

#[test]
fn unknown_paths_and_methods_are_not_found() {
    for row in list() {
        let (simulator, request) = halfway(row.id);
        for (method, path) in
            [("POST", "/v1/nothing"), ("PUT", "/v1/chat/completions"), ("GET", "/"), ("POST", "")]
        {
            let other = SimRequest { method: method.into(), path: path.into(), ..request.clone() };
            assert_eq!(answers(&simulator, &other), 404, "{} {method} {path}", row.id);
        }
    }
}

/// Paths where every value is valid: arguments and results of tools, and fields that the provider
/// does not read.
const FREE: &[&str] =
    &["/parameters/", "schema/", "/args/", "/arguments/", "/input/city", "/response/", "/result"];

#[test]
fn a_number_in_the_place_of_anything_else_is_refused() {
    for row in list().iter().filter(|row| !matches!(row.wire, "ollama-chat" | "converse")) {
        let (simulator, request) = halfway(row.id);
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        for place in 0..count(&body) {
            let path = path_of(&body, &mut { place }, String::new()).unwrap();
            let number = body.pointer(&path).unwrap().is_number();
            if number || FREE.iter().any(|free| path.contains(free)) {
                continue;
            }
            let mut changed = body.clone();
            replace(&mut changed, &mut { place }, &serde_json::json!(7));
            let other = SimRequest { body: changed.to_string().into_bytes(), ..request.clone() };
            assert_ne!(answers(&simulator, &other), 200, "{} takes 7 at {path}", row.id);
        }
    }
}

/// The JSON pointer of the n-th value.
fn path_of(value: &serde_json::Value, place: &mut usize, at: String) -> Option<String> {
    if *place == 0 {
        return Some(at);
    }
    *place -= 1;
    match value {
        serde_json::Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| path_of(item, place, format!("{at}/{index}"))),
        serde_json::Value::Object(map) => {
            map.iter().find_map(|(key, item)| path_of(item, place, format!("{at}/{key}")))
        }
        _ => None,
    }
}
