//! The reservation of a request follows the body that goes upstream, not the caller's words, and
//! grows with the answer.

use crate::place::Place;
use crate::serve_budgets::{ALICE, gateway, status};
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat, messages};
use serde_json::{Value, json};
use std::fmt::Write;

const PLAIN: &str = "wire = \"chat-completions\"";
const SIXTY: &str = "reasoning_tokens_per_key = 60, on_exceed = \"block\"";

/// Asks on a path, with more header lines and members.
fn ask(gateway: &Server, path: &str, headers: &str, more: &Value) -> String {
    let mut asked = json!({"model": "own/m", "stream": true,
        "messages": [{"role": "user", "content": "Why?"}]});
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let headers = format!("{ALICE}{headers}");
    gateway.request("POST", path, &headers, &asked.to_string())
}

const CHAT: &str = "/v1/chat/completions";

#[test]
fn req_budget_that_is_spent_is_not_walked_around_by_what_only_says_that_nothing_is_thought() {
    let (place, upstream) =
        (Place::new("claims-off"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
    let gateway = gateway(&place, &upstream, PLAIN, SIXTY, "");
    assert_eq!(status(&ask(&gateway, CHAT, "", &json!({}))), 200);
    let header = |set: &str| format!("x-thinkthrough-set: reasoning.{set}\r\n");
    let high = "high";
    for (path, headers, more) in [
        (CHAT, header("enabled=false"), json!({"reasoning_effort": high})),
        (CHAT, header("effort=none"), json!({"reasoning_effort": high})),
        (CHAT, String::new(), json!({"max_tokens": 0})),
        (CHAT, String::new(), json!({"max_completion_tokens": 0})),
        (CHAT, String::new(), json!({"reasoning_effort": "none"})),
        (CHAT, String::new(), json!({"reasoning_effort": high, "enable_thinking": false})),
        (CHAT, String::new(), json!({"reasoning_effort": high, "thinking": {"type": "disabled"}})),
        (CHAT, String::new(), json!({"reasoning": {"enabled": false, "effort": high}})),
        ("/v1/messages", String::new(), json!({"max_tokens": 0})),
        (
            "/v1/messages",
            String::new(),
            json!({"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 0}}),
        ),
        ("/p/own/v1/chat/completions", String::new(), json!({"model": "m", "max_tokens": 0})),
        (
            "/p/own/v1/chat/completions",
            String::new(),
            json!({"model": "m", "reasoning_effort": "none"}),
        ),
    ] {
        let answer = ask(&gateway, path, &headers, &more);
        assert_eq!(status(&answer), 402, "{path} {headers} {more}: {answer}");
    }
    assert_eq!(upstream.bodies().len(), 1);
}

#[test]
fn req_budget_that_is_spent_lets_what_does_not_think_go_on() {
    for (extends, model, more) in [
        ("extends = \"openai\"\nwire = \"chat-completions\"", "own/gpt-4o", json!({})),
        ("extends = \"deepseek\"", "own/deepseek-v4", json!({"thinking": {"type": "disabled"}})),
    ] {
        let answers = vec![chat("hm", "ok", Some(60)), chat("", "ok", None)];
        let (place, upstream) = (Place::new("claims-none"), Upstream::start(answers));
        let other = format!(
            "[providers.first]\n{PLAIN}\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        );
        let gateway = gateway(&place, &upstream, extends, SIXTY, &other);
        assert_eq!(status(&ask(&gateway, CHAT, "", &json!({"model": "first/m"}))), 200);
        assert_eq!(status(&ask(&gateway, CHAT, "", &json!({"model": "first/m"}))), 402);
        let mut asked = json!({"model": model});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = ask(&gateway, CHAT, "", &asked);
        assert_eq!(status(&answer), 200, "{model}: {answer}");
        assert!(!answer.contains("reasoning_budget_exceeded"), "{model}: {answer}");
    }
}

#[test]
fn req_budget_that_has_plenty_left_cuts_nothing() {
    let prices = "[prices.\"own/m\"]\ninput = 1\noutput = 10\n";
    let dollars = "usd_per_key = 1000, on_exceed = \"block\"";
    let tokens = "reasoning_tokens_per_key = 10000000, on_exceed = \"block\"";
    for (budget, thought, text, more) in [
        (tokens, 36_000, 1, json!({})),
        (tokens, 1_200, 1, json!({"max_tokens": 1_000})),
        (dollars, 1, 42_000, json!({})),
        (dollars, 1, 1_200, json!({"max_tokens": 1_000})),
    ] {
        let answer = chat(&"word".repeat(thought), &"text".repeat(text), Some(700));
        let (place, upstream) = (Place::new("claims-whole"), Upstream::start(vec![answer]));
        let gateway = gateway(&place, &upstream, PLAIN, budget, prices);
        let said = body(&ask(&gateway, CHAT, "", &more));
        assert!(said.contains("[DONE]"), "{budget} {more}");
        assert!(!said.contains("budget_exceeded"), "{budget} {more}");
    }
}

/// A stream that counts its own thought as it goes.
fn counting() -> String {
    let mut stream = String::new();
    for step in 1..=300 {
        let part = json!({"text": "ab ", "thought": true});
        let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": step * 20,
                "totalTokenCount": 5 + step * 20}});
        write!(stream, "data: {chunk}\r\n\r\n").unwrap();
    }
    stream
}

#[test]
fn req_budget_cuts_where_the_providers_own_count_is_beyond_it_and_says_so_in_a_code() {
    let (place, upstream) = (Place::new("claims-count"), Upstream::start(vec![counting()]));
    let budget = "reasoning_tokens_per_key = 1000, on_exceed = \"block\"";
    let gateway = gateway(&place, &upstream, "wire = \"generate-content\"", budget, "");
    let said = body(&ask(&gateway, CHAT, "", &json!({})));
    assert!(said.contains("\"code\":\"reasoning_budget_exceeded\""), "{said}");
}

#[test]
fn req_budget_in_dollars_pays_for_each_of_several_answers() {
    let (place, upstream) =
        (Place::new("claims-several"), Upstream::start(vec![chat("", "ok", Some(0))]));
    let budget = "usd_per_key = 0.001, on_exceed = \"block\"";
    let prices = "[prices.\"own/m\"]\ninput = 0\noutput = 10\n";
    let gateway = gateway(&place, &upstream, PLAIN, budget, prices);
    let answer = ask(&gateway, CHAT, "", &json!({"n": 4}));
    assert_eq!(status(&answer), 200, "{answer}");
    // A hundred tokens are paid for.
    assert_eq!(upstream.last()["max_tokens"], 25, "{}", upstream.last());
}

#[test]
fn req_budget_that_is_spent_lowers_the_effort_where_thinking_cannot_be_switched_off() {
    for (extends, model, effort) in [
        (PLAIN, "own/m", json!("low")),
        ("extends = \"groq\"", "own/openai/gpt-oss-120b", json!("low")),
        ("extends = \"deepseek\"", "own/deepseek-v4", Value::Null),
    ] {
        let (place, upstream) =
            (Place::new("claims-low"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
        let budget = "reasoning_tokens_per_key = 60, on_exceed = \"disable_reasoning\"";
        let gateway = gateway(&place, &upstream, extends, budget, "");
        let more = json!({"model": model, "reasoning_effort": "high"});
        for expected in [&json!("high"), &effort] {
            let answer = ask(&gateway, CHAT, "", &more);
            assert_eq!(status(&answer), 200, "{model}: {answer}");
            assert_eq!(&upstream.last()["reasoning_effort"], expected, "{model}");
        }
    }
}

#[test]
fn req_budget_is_not_spent_for_good_by_a_count_that_no_answer_can_have() {
    let (place, upstream) = (
        Place::new("claims-absurd"),
        Upstream::start(vec![chat("hm", "ok", Some(9_223_372_036_854_775_807))]),
    );
    let gateway = gateway(&place, &upstream, PLAIN, SIXTY, "");
    for _ in 0..3 {
        let answer = ask(&gateway, CHAT, "", &json!({}));
        assert_eq!(status(&answer), 200, "{answer}");
    }
}

/// A provider that keeps its answers, and thinks for 600 tokens each time.
fn keeper() -> Upstream {
    let mut made = 0;
    Upstream::answering(move |_| {
        made += 1;
        let message = json!({"type": "message", "id": format!("msg_{made}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "ok", "annotations": []}]});
        json!({"id": format!("resp_{made}"), "object": "response", "status": "completed",
            "model": "m", "output": [message], "usage": {"input_tokens": 10, "output_tokens": 605,
            "output_tokens_details": {"reasoning_tokens": 600}, "total_tokens": 615}})
        .to_string()
    })
}

#[test]
fn req_budget_of_a_session_goes_on_with_an_answer_that_its_provider_keeps() {
    for path in ["/v1/responses", "/p/own/v1/responses"] {
        let (place, upstream) = (Place::new("claims-kept"), keeper());
        let budget = "reasoning_tokens_per_session = 1000, on_exceed = \"block\"";
        let gateway = gateway(&place, &upstream, "wire = \"responses\"", budget, "");
        let model = if path.starts_with("/p/") { "m" } else { "own/m" };
        let mut asked = json!({"model": model, "input": "first"});
        for (turn, expected) in [200, 200, 402].into_iter().enumerate() {
            let answer = gateway.request("POST", path, ALICE, &asked.to_string());
            assert_eq!(status(&answer), expected, "{path} {turn}: {answer}");
            asked = json!({"model": model, "input": format!("other words {turn}"),
                "previous_response_id": format!("resp_{}", turn + 1)});
        }
        // Another conversation has its own.
        let other = json!({"model": model, "input": "something else"});
        let answer = gateway.request("POST", path, ALICE, &other.to_string());
        assert_eq!(status(&answer), 200, "{path}: {answer}");
    }
}

#[test]
fn req_budget_refuses_an_answer_that_nobody_would_count_because_it_is_made_later() {
    for action in ["warn", "block"] {
        let (place, upstream) = (Place::new("claims-later"), keeper());
        let budget = format!("reasoning_tokens_per_session = 1000, on_exceed = \"{action}\"");
        let gateway = gateway(&place, &upstream, "wire = \"responses\"", &budget, "");
        for (path, model) in [("/v1/responses", "own/m"), ("/p/own/v1/responses", "m")] {
            let asked = json!({"model": model, "input": "Why?", "background": true, "store": true});
            let answer = gateway.request("POST", path, ALICE, &asked.to_string());
            assert_eq!(status(&answer), 403, "{path}: {answer}");
            assert!(answer.contains("budget_unreadable"), "{path}: {answer}");
        }
        // Another key has no budget.
        let asked = json!({"model": "own/m", "input": "Why?", "background": true, "store": true});
        let bob = ALICE.replace("alice", "bob");
        let answer = gateway.request("POST", "/v1/responses", &bob, &asked.to_string());
        assert_eq!(status(&answer), 200, "{answer}");
        assert_eq!(upstream.bodies().len(), 1);
    }
}

#[test]
fn req_budget_or_a_setting_that_switches_thinking_off_does_so_for_each_claude() {
    let (place, upstream) = (Place::new("claims-claude"), Upstream::start(vec![messages()]));
    let extends = "extends = \"anthropic\"\nwire = \"messages\"";
    let budget = "reasoning_tokens_per_session = 900, on_exceed = \"disable_reasoning\"";
    let gateway = gateway(&place, &upstream, extends, budget, "");
    let off = "x-thinkthrough-set: reasoning.enabled=false\r\n";
    for model in ["sonnet-4-5", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5"] {
        for thinking in [
            json!({"type": "adaptive", "display": "summarized"}),
            json!({"type": "enabled", "budget_tokens": 4_096}),
        ] {
            let more = json!({"model": format!("own/claude-{model}"), "max_tokens": 9_000,
                "thinking": thinking, "output_config": {"effort": "high"}});
            let answer = ask(&gateway, "/v1/messages", off, &more);
            assert_eq!(status(&answer), 200, "{answer}");
            let sent = upstream.last();
            assert_eq!(sent["thinking"], json!({"type": "disabled"}), "{sent}");
            assert_eq!(sent["output_config"], Value::Null, "{sent}");
        }
    }
}

/// A Claude model with a budget of 500 tokens and `block`, and a Google model whose thinking cannot
/// be switched off.
#[test]
fn req_budget_that_never_had_what_a_model_thinks_at_least_gives_an_answer_without_a_thought() {
    let place = Place::new("claims-least");
    let upstream = Upstream::start(vec![messages()]);
    let budget = "reasoning_tokens_per_session = 500, on_exceed = \"block\"";
    let extends = "extends = \"anthropic\"\nwire = \"messages\"";
    let gateway = gateway(&place, &upstream, extends, budget, "");
    let asked = |budget: u64| {
        json!({"model": "own/claude-sonnet-4-5", "stream": true, "max_tokens": 9_000,
            "thinking": {"type": "enabled", "budget_tokens": budget},
            "messages": [{"role": "user", "content": "Why?"}]})
    };
    for budget in [1_024, 4_096] {
        let answer = ask(&gateway, "/v1/messages", "", &asked(budget));
        assert_eq!(status(&answer), 200, "{answer}");
        let sent = upstream.last();
        assert!(sent["thinking"]["type"] != "enabled", "{sent}");
        assert_eq!(sent["thinking"]["budget_tokens"], Value::Null, "{sent}");
    }
    let place = Place::new("claims-least-on");
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let extends = "extends = \"google\"\nwire = \"generate-content\"";
    let budget = "reasoning_tokens_per_session = 60, on_exceed = \"block\"";
    let gateway = crate::serve_budgets::gateway(&place, &upstream, extends, budget, "");
    let more = json!({"model": "own/gemini-2.5-pro", "reasoning_effort": "high"});
    let answer = ask(&gateway, CHAT, "", &more);
    assert_eq!(status(&answer), 402, "{answer}");
    assert!(answer.contains("0 of the 60 reasoning tokens of this session are spent"), "{answer}");
    assert!(upstream.bodies().is_empty());
}

#[test]
fn req_budget_lower_effort_lowers_what_thinks_by_itself_and_leaves_what_does_not_think() {
    let extends = "extends = \"deepseek\"\nwire = \"chat-completions\"";
    let budget = "reasoning_tokens_per_session = 60, on_exceed = \"lower_effort\"";
    for (extends, model, effort) in [
        (extends, "own/deepseek-v4", json!("low")),
        ("extends = \"openai\"\nwire = \"chat-completions\"", "own/gpt-5.1", Value::Null),
    ] {
        let place = Place::new("claims-silent");
        let upstream = Upstream::start(vec![chat("hm", "ok", Some(60))]);
        let gateway = gateway(&place, &upstream, extends, budget, "");
        for _ in 0..2 {
            let answer =
                ask(&gateway, CHAT, "x-thinkthrough-session: s\r\n", &json!({"model": model}));
            assert_eq!(status(&answer), 200, "{answer}");
        }
        let bodies = upstream.bodies();
        let efforts = [&bodies[0], &bodies[1]].map(|body| body["reasoning_effort"].clone());
        assert_eq!(efforts, [Value::Null, effort], "{model}");
    }
}
