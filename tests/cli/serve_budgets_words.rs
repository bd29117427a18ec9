//! Budgets that are spent in the words of each API: what counts, what switches thinking off, what makes it little.

use crate::place::Place;
use crate::serve_budgets::{ALICE, gateway, status};
use crate::server::Server;
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};

const GEMINI: &str = "/v1beta/models/own%2Fgemini-2.5-flash-lite:generateContent";

fn post(gateway: &Server, path: &str, headers: &str, asked: &Value) -> String {
    gateway.request("POST", path, &format!("{ALICE}{headers}"), &asked.to_string())
}

/// A Messages stream whose thought takes sixty tokens, and that counts nothing but before it.
fn uncounted() -> String {
    let mut stream = String::new();
    for event in [
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "m", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "a".repeat(240)}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ok"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ] {
        stream.push_str(&format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    }
    stream
}

#[test]
fn req_budget_is_not_walked_around_by_a_placeholder_in_the_place_of_a_count() {
    let prices = "[prices.\"own/m\"]\ninput = 1\noutput = 10\n";
    for (budget, spent) in [
        ("reasoning_tokens_per_key = 60, on_exceed = \"block\"", "60 of the 60 reasoning tokens"),
        // Nine tokens in, by the provider's own count, and 61 out.
        ("usd_per_key = 0.000619, on_exceed = \"block\"", "$0.000619 of the $0.000619"),
    ] {
        for (path, model) in [
            ("/v1/messages", "own/m"),
            ("/v1/chat/completions", "own/m"),
            ("/p/own/v1/messages", "m"),
        ] {
            let (place, upstream) =
                (Place::new("words-placeholder"), Upstream::start(vec![uncounted()]));
            let gateway = gateway(&place, &upstream, "wire = \"messages\"", budget, prices);
            let asked = json!({"model": model, "stream": true, "max_tokens": 9_000,
                "messages": [{"role": "user", "content": "Why?"}]});
            let first = post(&gateway, path, "", &asked);
            assert_eq!(status(&first), 200, "{path}: {first}");
            assert!(!first.contains("budget_exceeded"), "{path}: {first}");
            let second = post(&gateway, path, "", &asked);
            assert_eq!(status(&second), 402, "{path}: {second}");
            assert!(second.contains(spent), "{path}: {second}");
        }
    }
}

/// A Gemini answer whose thought took 600 tokens.
fn gemini() -> String {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]},
            "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 600,
            "totalTokenCount": 608}})
    .to_string()
}

#[test]
fn req_budget_switches_off_what_thinks_only_because_its_caller_says_so() {
    let extends = "extends = \"google\"\nwire = \"generate-content\"";
    let disable = "reasoning_tokens_per_key = 600, on_exceed = \"disable_reasoning\"";
    let config = |names: [&str; 2]| {
        let [thinking, budget] = names;
        json!({"topK": 3, thinking: {budget: 8_192}})
    };
    let contents = json!([{"role": "user", "parts": [{"text": "Why?"}]}]);
    for (path, asked) in [
        (
            GEMINI,
            json!({"contents": contents, "generationConfig": config(["thinkingConfig", "thinkingBudget"])}),
        ),
        (
            GEMINI,
            json!({"contents": contents, "generation_config": config(["thinking_config", "thinking_budget"])}),
        ),
        (
            "/v1/messages",
            json!({"model": "own/gemini-2.5-flash-lite", "max_tokens": 9_000,
                "thinking": {"type": "enabled", "budget_tokens": 8_192},
                "messages": [{"role": "user", "content": "Why?"}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": "own/gemini-2.5-flash-lite", "reasoning_effort": "high",
                "messages": [{"role": "user", "content": "Why?"}]}),
        ),
    ] {
        let (place, upstream) = (Place::new("words-off"), Upstream::start(vec![gemini()]));
        let gateway = gateway(&place, &upstream, extends, disable, "");
        let asks = |body: &Value| {
            let body = body.to_string().to_lowercase().replace('_', "");
            body.contains("thinkingbudget") && !body.contains("\"thinkingbudget\":0")
        };
        let first = post(&gateway, path, "", &asked);
        assert_eq!(status(&first), 200, "{path}: {first}");
        assert!(asks(&upstream.last()), "{path}: {}", upstream.last());
        let second = post(&gateway, path, "", &asked);
        assert_eq!(status(&second), 200, "{path}: {second}");
        assert!(!asks(&upstream.last()), "{path}: {}", upstream.last());
        assert!(!upstream.last().to_string().contains("high"), "{path}: {}", upstream.last());
        // A setting says the same.
        let bob = ALICE.replace("alice", "bob") + "x-thinkthrough-set: reasoning.enabled=false\r\n";
        let set = gateway.request("POST", path, &bob, &asked.to_string());
        assert_eq!(status(&set), 200, "{path}: {set}");
        assert!(!asks(&upstream.last()), "{path}: {}", upstream.last());
    }
}

#[test]
fn req_budget_takes_all_but_a_clear_no_for_an_answer_that_is_made_later() {
    let (place, upstream) =
        (Place::new("words-later"), Upstream::start(vec![chat("", "ok", Some(0))]));
    let budget = "reasoning_tokens_per_session = 1000, on_exceed = \"block\"";
    let gateway = gateway(&place, &upstream, "wire = \"chat-completions\"", budget, "");
    for (said, expected) in [
        (json!("true"), 403),
        (json!("yes"), 403),
        (json!("false"), 403),
        (json!(1), 403),
        (json!({}), 403),
        (json!(false), 200),
        (json!(0), 200),
        (json!(null), 200),
    ] {
        let asked = json!({"model": "own/m", "input": "Why?", "stream": true, "background": said});
        let answer = post(&gateway, "/v1/responses", "", &asked);
        assert_eq!(status(&answer), expected, "{said}: {answer}");
        assert_eq!(answer.contains("budget_unreadable"), expected == 403, "{said}: {answer}");
    }
}
