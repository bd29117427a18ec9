//! Budgets that are spent in the words of each API: what counts, what switches thinking off, what
//! makes it little.

use crate::place::Place;
use crate::serve_budgets::{ALICE, gateway, status};
use crate::serve_config::serve;
use crate::server::Server;
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};

const GEMINI: &str = "/v1beta/models/own%2Fgemini-2.5-flash-lite:generateContent";

fn post(gateway: &Server, path: &str, headers: &str, asked: &Value) -> String {
    gateway.request("POST", path, &format!("{ALICE}{headers}"), &asked.to_string())
}

/// A Messages stream whose thought takes sixty tokens. Its usage comes only before the thought.
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
        // A setting does the same.
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

/// Wires, paths, requests to a model without known rules, and the member with the effort in each
/// request.
fn unknown() -> Vec<(&'static str, &'static str, Value, &'static str, Value)> {
    let low = json!("low");
    let messages = json!([{"role": "user", "content": "Why?"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "Why?"}]}]);
    vec![
        (
            "ollama-chat",
            "/api/chat",
            json!({"model": "own/m", "messages": messages, "think": "high"}),
            "/think",
            low.clone(),
        ),
        (
            "messages",
            "/v1/messages",
            json!({"model": "own/m", "messages": messages, "max_tokens": 9_000,
                "thinking": {"type": "enabled", "budget_tokens": 8_192}}),
            "/thinking/budget_tokens",
            json!(1_024),
        ),
        (
            "generate-content",
            "/v1beta/models/own%2Fm:generateContent",
            json!({"contents": contents,
                "generationConfig": {"thinkingConfig": {"thinkingBudget": 8_192}}}),
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(1_024),
        ),
        (
            "chat-completions",
            "/v1/chat/completions",
            json!({"model": "own/m", "messages": messages, "reasoning_effort": "high"}),
            "/reasoning_effort",
            low.clone(),
        ),
        (
            "responses",
            "/v1/responses",
            json!({"model": "own/m", "input": "Why?", "reasoning": {"effort": "high"}}),
            "/reasoning/effort",
            low.clone(),
        ),
        // From one API to another.
        (
            "ollama-chat",
            "/v1/chat/completions",
            json!({"model": "own/m", "messages": messages, "reasoning_effort": "high"}),
            "/think",
            low,
        ),
        (
            "generate-content",
            "/v1/messages",
            json!({"model": "own/m", "messages": messages, "max_tokens": 9_000,
                "thinking": {"type": "enabled", "budget_tokens": 8_192}}),
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(1_024),
        ),
    ]
}

#[test]
fn req_budget_or_a_setting_makes_little_of_what_is_asked_of_a_model_that_nobody_knows() {
    let spends = json!({"model": "spender/m", "stream": true,
        "messages": [{"role": "user", "content": "Why?"}]});
    for (wire, path, asked, at, expected) in unknown() {
        for action in ["lower_effort", "disable_reasoning"] {
            // Not each wire tells what a thought took, so that another one spends the budget.
            let answers = vec![chat("hm", "ok", Some(60)), "{}".to_owned()];
            let (place, upstream) = (Place::new("words-less"), Upstream::start(answers));
            let budget = format!("reasoning_tokens_per_key = 60, on_exceed = \"{action}\"");
            let spender = format!(
                "[providers.spender]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
                upstream.url
            );
            let extends = format!("wire = \"{wire}\"");
            let gateway = gateway(&place, &upstream, &extends, &budget, &spender);
            let spent = post(&gateway, "/v1/chat/completions", "", &spends);
            assert_eq!(status(&spent), 200, "{spent}");
            let sent = |headers: &str| {
                gateway.request("POST", path, headers, &asked.to_string());
                upstream.last().pointer(at).cloned()
            };
            let bob = ALICE.replace("alice", "bob");
            let came = sent(&bob);
            assert!(came.is_some() && came.as_ref() != Some(&expected), "{wire} {path}: {came:?}");
            assert_eq!(sent(ALICE).as_ref(), Some(&expected), "{wire} {path} {action}");
            let off = bob + "x-thinkthrough-set: reasoning.enabled=false\r\n";
            assert_eq!(sent(&off).as_ref(), Some(&expected), "{wire} {path}: set");
        }
    }
}

#[test]
fn adr_router_a_utility_call_thinks_as_little_as_its_model_can() {
    for (extends, model, asked, at, expected) in [
        ("wire = \"ollama-chat\"", "m", json!({"think": "high"}), "/think", json!("low")),
        (
            "extends = \"google\"\nwire = \"generate-content\"",
            "gemini-2.5-pro",
            json!({"reasoning_effort": "high"}),
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(128),
        ),
        (
            "extends = \"google\"\nwire = \"generate-content\"",
            "gemini-2.5-flash-lite",
            json!({"reasoning_effort": "high"}),
            "/generationConfig/thinkingConfig/thinkingBudget",
            Value::Null,
        ),
    ] {
        let (place, upstream) = (Place::new("words-utility"), Upstream::start(vec![gemini()]));
        let gateway = serve(
            &place,
            &format!(
                "[providers.own]\n{extends}\nbase_url = \"{}\"\napi_key = \"k\"\n\
                 [models.a]\nprovider = \"own\"\nmodel = \"{model}\"\n[roles]\nutility = \"a\"\n",
                upstream.url
            ),
        );
        let mut body =
            json!({"model": "role:utility", "messages": [{"role": "user", "content": "A title?"}]});
        body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let path = if asked["think"].is_null() { "/v1/chat/completions" } else { "/api/chat" };
        gateway.request("POST", path, "content-type: application/json\r\n", &body.to_string());
        let sent = upstream.last();
        assert_eq!(sent.pointer(at).unwrap_or(&Value::Null), &expected, "{model}: {sent}");
    }
}
