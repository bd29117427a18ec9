//! `[server] runaway`: a thought that repeats itself, through `think serve`.

use crate::place::Place;
use crate::serve_budgets::{status, wait_for};
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server, body};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::time::Instant;

/// A model that goes round in circles, and answers all the same.
fn stream() -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"model": "m", "choices": [choice]}))
    };
    let thought = chunk(json!({"reasoning_content": "Wait, let me see it again. "}), Value::Null);
    let answer = chunk(json!({"content": "It is a zebra."}), Value::Null);
    thought.repeat(400) + &answer + &chunk(json!({}), json!("stop")) + "data: [DONE]\n\n"
}

/// The same on the wire `messages`.
fn messages() -> String {
    let mut out = String::new();
    let mut event = |event: Value| {
        let name = event["type"].as_str().unwrap().to_owned();
        out.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    };
    event(json!({"type": "message_start", "message": {"id": "m", "type": "message",
        "role": "assistant", "model": "m", "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1}}}));
    event(json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""}}));
    for _ in 0..400 {
        event(json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Wait, let me see it again. "}}));
    }
    event(json!({"type": "content_block_stop", "index": 0}));
    event(json!({"type": "content_block_start", "index": 1,
        "content_block": {"type": "text", "text": ""}}));
    event(json!({"type": "content_block_delta", "index": 1,
        "delta": {"type": "text_delta", "text": "It is a zebra."}}));
    event(json!({"type": "content_block_stop", "index": 1}));
    event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 2}}));
    event(json!({"type": "message_stop"}));
    out
}

fn gateway(place: &Place, upstream: &Upstream, wire: &str, setting: &str) -> Server {
    let url = &upstream.url;
    serve(
        place,
        &format!(
            "[server]\n{setting}[store]\nurl = \"sqlite:kept.db\"\n\
             [providers.own]\nwire = \"{wire}\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
        ),
    )
}

/// The trace that an answer's header names, once it is written.
fn trace(gateway: &Server, answer: &str) -> Value {
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:")).unwrap();
    let id = line.split_once("trace=").unwrap().1.split(';').next().unwrap().trim();
    let began = Instant::now();
    loop {
        let said = gateway.request("GET", &format!("/v1/traces/{id}"), "", "");
        if said.starts_with("HTTP/1.1 200") && said.contains("\"stored\"") {
            return serde_json::from_str::<Value>(&body(&said)).unwrap()["trace"].clone();
        }
        assert!(began.elapsed() < PATIENCE, "{said}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn req_runaway_a_thought_in_circles_is_left_told_or_cut() {
    for (setting, is_told, is_cut) in [
        ("", false, false),
        ("runaway = \"off\"\n", false, false),
        ("runaway = \"warn\"\n", true, false),
        ("runaway = \"cut\"\n", true, true),
    ] {
        let (place, upstream) = (Place::new("serve-runaway"), Upstream::start(vec![stream()]));
        let gateway = gateway(&place, &upstream, "chat-completions", setting);
        let asked = json!({"model": "own/m", "stream": true,
            "messages": [{"role": "user", "content": "What is it?"}]});
        let answer = gateway.request("POST", "/v1/chat/completions", "", &asked.to_string());
        assert_eq!(status(&answer), 200);
        assert_eq!(body(&answer).contains("It is a zebra."), !is_cut, "{setting}");
        assert_eq!(body(&answer).contains("data: [DONE]"), !is_cut, "{setting}");
        let trace = trace(&gateway, &answer);
        assert_eq!(trace["state"], if is_cut { "cut" } else { "whole" }, "{trace}");
        let period = if is_told { json!(27) } else { Value::Null };
        assert_eq!(trace["metadata"]["repeated_bytes"], period, "{trace}");
        let error = if is_cut { json!("runaway") } else { Value::Null };
        assert_eq!(trace["metadata"]["error"], error, "{trace}");
        wait_for(&gateway, &format!("thinkthrough_repeating_thoughts_total {}", u8::from(is_told)));
        let cut = format!("thinkthrough_cut_total{{reason=\"runaway\"}} {}", u8::from(is_cut));
        wait_for(&gateway, &cut);
        let figures = gateway.request("GET", "/metrics", "", "");
        assert!(!figures.contains("thinkthrough_upstream_errors_total{"), "{figures}");
    }
}

#[test]
fn req_runaway_is_told_to_those_who_listen() {
    let (place, upstream) = (Place::new("runaway-told"), Upstream::start(vec![stream()]));
    let gateway = gateway(&place, &upstream, "chat-completions", "runaway = \"warn\"\n");
    let mut events = crate::serve_budgets::listen_to(&gateway, "types=thought_repeats", "");
    let asked = json!({"model": "own/m", "stream": true,
        "messages": [{"role": "user", "content": "What is it?"}]});
    let answer = gateway.request("POST", "/v1/chat/completions", "", &asked.to_string());
    assert_eq!(status(&answer), 200);
    let event = events.next().unwrap();
    assert_eq!((&event["stream"], &event["data"]["bytes"]), (&json!("lifecycle"), &json!(27)));
    assert_eq!(event["data"]["cut"], false, "{event}");
}

#[test]
fn req_runaway_is_cut_with_an_end_that_each_api_has() {
    let said = json!([{"role": "user", "content": "What is it?"}]);
    let parts = json!([{"role": "user", "parts": [{"text": "What is it?"}]}]);
    let gemini = "/v1beta/models/own%2Fm:streamGenerateContent?alt=sse";
    for (wire, path, asked, end) in [
        ("messages", "/v1/messages", json!({"max_tokens": 9, "messages": said}), "event: error"),
        ("messages", "/v1/chat/completions", json!({"messages": said}), "\"error\":{\"message\""),
        (
            "chat-completions",
            "/v1/messages",
            json!({"max_tokens": 9, "messages": said}),
            "event: error",
        ),
        ("chat-completions", "/v1/responses", json!({"input": said}), "response.failed"),
        ("chat-completions", gemini, json!({"contents": parts}), "\"error\":{"),
        ("chat-completions", "/api/chat", json!({"messages": said}), "\"error\":"),
    ] {
        let answer = if wire == "messages" { messages() } else { stream() };
        let (place, upstream) = (Place::new("runaway-cut"), Upstream::start(vec![answer]));
        let gateway = gateway(&place, &upstream, wire, "runaway = \"cut\"\n");
        let mut asks = json!({"model": "own/m", "stream": true});
        asks.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let answer = gateway.request("POST", path, "", &asks.to_string());
        let said = body(&answer);
        assert_eq!(status(&answer), 200, "{wire} {path}: {answer}");
        assert!(said.contains("thought_repeats") && said.contains(end), "{wire} {path}: {said}");
        assert!(!said.contains("zebra"), "{wire} {path}");
    }
}

/// The same on the wire `responses`, whose events are numbered.
fn responses() -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut event = |mut event: Value| {
        event["sequence_number"] = json!(number);
        number += 1;
        out.push_str(&format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    };
    let response = json!({"id": "resp_1", "object": "response", "status": "in_progress",
        "model": "m", "output": []});
    event(json!({"type": "response.created", "response": response}));
    event(json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"id": "rs_1", "type": "reasoning", "summary": []}}));
    for _ in 0..400 {
        event(json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1",
            "output_index": 0, "summary_index": 0, "delta": "Wait, let me see it again. "}));
    }
    out
}

#[test]
fn req_runaway_a_cut_stream_of_numbered_events_goes_on_with_their_numbers() {
    let place = Place::new("runaway-numbers");
    for setting in ["runaway = \"cut\"\n", ""] {
        let upstream = Upstream::start(vec![responses()]);
        let gateway = gateway(&place, &upstream, "responses", setting);
        let asked = json!({"model": "own/m", "stream": true, "input": "what is a zebra"});
        let answer = gateway.ask("/v1/responses", &asked.to_string());
        let said = body(&answer);
        let events = said.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = events.filter_map(|it| serde_json::from_str(it).ok()).collect();
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], json!(number), "{setting}: {event}");
        }
        let last = &events.last().unwrap()["type"];
        assert_eq!(last, "response.failed", "{setting}: {said}");
    }
}
