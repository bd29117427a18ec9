//! `/p/{provider}/...` for keys with a budget: what passes as it is is reserved for, read and
//! booked.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_threats::peak;
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};

const ALICE: &str = "authorization: Bearer alice-key-0123456789\r\n";

fn config(upstream: &Upstream, budget: &str) -> String {
    format!(
        "[keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\nbudget = {{ {budget} }}\n\
         [providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    )
}

fn gateway(place: &Place, upstream: &Upstream, budget: &str) -> Server {
    serve(place, &config(upstream, budget))
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn ask(gateway: &Server, path: &str, asked: &Value) -> String {
    gateway.request("POST", path, ALICE, &asked.to_string())
}

const SIXTY: &str = "reasoning_tokens_per_key = 60, on_exceed = \"block\"";

/// A question that every API here understands its part of.
fn question() -> Value {
    let said = json!([{"role": "user", "content": "Why?"}]);
    json!({"model": "m", "max_tokens": 9_000, "messages": said})
}

/// Paths, requests, and answers whose thought took sixty tokens.
fn apis() -> Vec<(&'static str, Value, String)> {
    let responses = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m",
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "ok", "annotations": []}]}],
        "usage": {"input_tokens": 5, "output_tokens": 70, "total_tokens": 75,
            "output_tokens_details": {"reasoning_tokens": 60}}});
    // No number of its own: four letters a token.
    let messages = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "thinking", "thinking": "a".repeat(240), "signature": "c2ln"},
            {"type": "text", "text": "ok"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 70}});
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]},
            "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3,
            "thoughtsTokenCount": 60, "totalTokenCount": 68}});
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "Why?"}]}]});
    let thought = json!({"reasoningContent": {"reasoningText":
        {"text": "a".repeat(240), "signature": "c2ln"}}});
    let converse = json!({"output": {"message": {"role": "assistant",
            "content": [thought, {"text": "ok"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 5, "outputTokens": 70, "totalTokens": 75}});
    let conversed = json!({"messages": [{"role": "user", "content": [{"text": "Why?"}]}],
        "inferenceConfig": {"maxTokens": 9_000}});
    vec![
        ("/p/own/model/m/converse", conversed, converse.to_string()),
        ("/p/own/v1/chat/completions", question(), chat("hm", "ok", Some(60))),
        ("/p/own/v1/responses", json!({"model": "m", "input": "Why?"}), responses.to_string()),
        ("/p/own/v1/messages", question(), messages.to_string()),
        ("/p/own/v1beta/models/m:generateContent", contents.clone(), gemini.to_string()),
        (
            "/p/own/v1beta/models/m:streamGenerateContent?alt=sse",
            contents,
            format!("data: {gemini}\r\n\r\n"),
        ),
    ]
}

#[test]
fn req_budget_of_a_key_is_read_booked_and_blocked_on_a_providers_own_api_whose_bytes_stay() {
    for (path, asked, said) in apis() {
        let (place, upstream) = (Place::new("raw-budget"), Upstream::start(vec![said.clone()]));
        let gateway = gateway(&place, &upstream, SIXTY);
        let first = ask(&gateway, path, &asked);
        assert_eq!(status(&first), 200, "{path}: {first}");
        assert_eq!(upstream.last_bytes(), asked.to_string(), "{path}");
        assert!(body(&first).contains(&said) || first.ends_with(&said), "{path}: {first}");
        let second = ask(&gateway, path, &asked);
        assert_eq!(status(&second), 402, "{path}: {second}");
        assert!(second.contains("60 of the 60 reasoning tokens of this key"), "{path}: {second}");
        assert_eq!(upstream.bodies().len(), 1, "{path}");
        // The same budget, on a route of the gateway's own.
        let own = json!({"model": "own/m", "messages": [{"role": "user", "content": "a"}]});
        assert_eq!(status(&ask(&gateway, "/v1/chat/completions", &own)), 402, "{path}");
    }
}

#[test]
fn req_budget_in_dollars_is_read_and_booked_on_a_providers_own_api() {
    let budget = "usd_per_key = 0.00006, on_exceed = \"block\"";
    let prices = "[prices.\"own/m\"]\ninput = 0\noutput = 1\n";
    for (path, asked, said) in apis() {
        let (place, upstream) = (Place::new("raw-dollars"), Upstream::start(vec![said]));
        let gateway = serve(&place, &(config(&upstream, budget) + prices));
        let first = ask(&gateway, path, &asked);
        assert_eq!(status(&first), 200, "{path}: {first}");
        let second = ask(&gateway, path, &asked);
        assert_eq!(status(&second), 402, "{path}: {second}");
        assert!(second.contains("of the $0.00006 of this key are spent"), "{path}: {second}");
        assert_eq!(upstream.bodies().len(), 1, "{path}");
        // A model without a known price is refused here, too.
        let unpriced = serve(&place, &config(&upstream, budget));
        let refused = ask(&unpriced, path, &asked);
        assert_eq!(status(&refused), 402, "{path}: {refused}");
        assert!(refused.contains("price_unknown"), "{path}: {refused}");
    }
}

#[test]
fn req_budget_on_a_providers_own_api_is_refused_where_nothing_says_what_it_spends() {
    let (place, upstream) =
        (Place::new("raw-unknown"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
    let gateway = gateway(&place, &upstream, SIXTY);
    let later = json!({"model": "m", "input": "Why?", "background": true});
    for (path, asked) in [
        ("/p/own/v1/embeddings", json!({"model": "m", "input": "a"})),
        ("/p/own/v1/messages/batches", json!({"requests": []})),
        ("/p/own/v1/chat/completions", json!({"model": "m"})),
        ("/p/own/v1/responses", later),
    ] {
        let answer = ask(&gateway, path, &asked);
        assert_eq!(status(&answer), 403, "{path}: {answer}");
        assert!(answer.contains("budget_unreadable"), "{path}: {answer}");
    }
    assert_eq!(upstream.bodies().len(), 0);
}

#[test]
fn req_budget_books_what_was_reserved_for_an_answer_in_which_nothing_can_be_read() {
    let (place, upstream) =
        (Place::new("raw-dark"), Upstream::start(vec!["nothing of the kind".to_owned()]));
    let gateway = gateway(&place, &upstream, SIXTY);
    let few = json!({"model": "m", "max_tokens": 30,
        "messages": [{"role": "user", "content": "Why?"}]});
    let path = "/p/own/v1/chat/completions";
    assert_eq!([0, 1, 2].map(|_| status(&ask(&gateway, path, &few))), [200, 200, 402]);
}

#[test]
fn a3_a_cap_that_is_no_number_is_refused_where_a_budget_blocks() {
    let (place, upstream) =
        (Place::new("raw-cap"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
    let said = json!([{"role": "user", "content": "Why?"}]);
    let asked = json!({"model": "m", "max_tokens": "18000", "messages": said});
    let block = gateway(&place, &upstream, SIXTY);
    let refused = ask(&block, "/p/own/v1/chat/completions", &asked);
    assert_eq!(status(&refused), 400, "{refused}");
    assert!(refused.contains("`max_tokens` is no whole number"), "{refused}");
    assert_eq!(upstream.bodies().len(), 0);
    let warn = gateway(&place, &upstream, "reasoning_tokens_per_key = 60, on_exceed = \"warn\"");
    assert_eq!(status(&ask(&warn, "/p/own/v1/chat/completions", &asked)), 200);
}

#[test]
fn a_whole_answer_that_finds_no_memory_passes_and_is_booked_as_reserved() {
    let place = Place::new("raw-large");
    let message = json!({"role": "assistant", "content": "a".repeat(24 << 20)});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3});
    let answer = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage});
    let upstream = Upstream::start(vec![answer.to_string()]);
    let budget = "reasoning_tokens_per_key = 60, on_exceed = \"block\"";
    let little = "[server]\nmax_bytes_in_flight = \"16MiB\"\n";
    let gateway = serve(&place, &(little.to_owned() + &config(&upstream, budget)));
    let few = json!({"model": "m", "max_tokens": 60, "messages": question()["messages"]});
    let path = "/p/own/v1/chat/completions";
    let first = ask(&gateway, path, &few);
    assert!(status(&first) == 200 && first.ends_with(&answer.to_string()), "{}", first.len());
    assert!(peak(&gateway) < 100_000, "{} KiB", peak(&gateway));
    assert_eq!(status(&ask(&gateway, path, &few)), 402);
}

#[test]
fn req_budget_that_is_spent_and_asks_for_less_thought_refuses_what_passes_as_it_is() {
    let (place, upstream) =
        (Place::new("raw-less"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
    let budget = "reasoning_tokens_per_key = 60, on_exceed = \"lower_effort\"";
    let gateway = gateway(&place, &upstream, budget);
    let path = "/p/own/v1/chat/completions";
    assert_eq!(status(&ask(&gateway, path, &question())), 200);
    let refused = ask(&gateway, path, &question());
    assert_eq!(status(&refused), 402, "{refused}");
    assert!(refused.contains("cannot be made to think less"), "{refused}");
}
