//! Budgets reserve by the body that goes out: a caller's words lower that only where its provider
//! keeps to them.

use crate::place::Place;
use crate::serve_budgets::{ALICE, gateway, status};
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const CHAT: &str = "/v1/chat/completions";
const RAW: &str = "/p/own/v1/chat/completions";
const PLAIN: &str = "wire = \"chat-completions\"";

/// A whole answer of Chat Completions whose thought took this many tokens, by the provider's count.
fn whole(thought: u64) -> Value {
    let message = json!({"role": "assistant", "content": "ok"});
    json!({"id": "c", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": thought, "total_tokens": 10 + thought,
            "completion_tokens_details": {"reasoning_tokens": thought}}})
}

/// The tokens that the thinker takes for this request: five thousand, unless a cap on its whole
/// answer stops it. It uses the greater one of two caps, and knows no other cap.
fn taken(asked: &Value) -> u64 {
    let caps = ["max_tokens", "max_completion_tokens"];
    let cap = caps.iter().filter_map(|name| asked[*name].as_u64()).max();
    cap.unwrap_or(5_000).min(5_000)
}

fn thinker() -> Upstream {
    Upstream::answering(|asked| {
        // Long enough for the other requests to go out.
        std::thread::sleep(Duration::from_millis(100));
        whole(taken(&serde_json::from_str(asked).unwrap())).to_string()
    })
}

/// Asks forty times at once. Returns the number of answers, and the tokens that they took.
fn forty(gateway: &Server, upstream: &Upstream, path: &str, asked: &Value) -> (usize, u64) {
    let statuses = all_at_once(gateway, path, asked, 40);
    let bodies = upstream.bodies();
    let said = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(said, bodies.len(), "{path} {asked}: {statuses:?}");
    (said, bodies.iter().map(taken).sum())
}

fn all_at_once(gateway: &Server, path: &str, asked: &Value, count: usize) -> Vec<u16> {
    let asked = asked.to_string();
    std::thread::scope(|scope| {
        let ask = || scope.spawn(|| status(&gateway.request("POST", path, ALICE, &asked)));
        let all: Vec<_> = (0..count).map(|_| ask()).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Requests of every API that say that they think little, or two things at once.
fn claims() -> Vec<(&'static str, Value)> {
    let messages = json!([{"role": "user", "content": "Why?"}]);
    let mut claims = Vec::new();
    for more in [
        json!({"thinking": {"type": "enabled", "budget_tokens": 1}}),
        json!({"budget_tokens": 1}),
        json!({"thinking_budget": 1}),
        json!({"thinking_token_budget": 1}),
        json!({"reasoning": {"max_tokens": 1}}),
        json!({"max_tokens": 1, "max_completion_tokens": 9_000}),
        json!({"max_tokens": 9_000, "max_completion_tokens": 1}),
        json!({"max_output_tokens": 1}),
    ] {
        let mut asked = json!({"model": "own/m", "messages": messages});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims.push((CHAT, asked.clone()));
        asked["model"] = json!("m");
        claims.push((RAW, asked));
    }
    let thinking = json!({"type": "enabled", "budget_tokens": 1});
    claims.push((
        "/v1/messages",
        json!({"model": "own/m", "messages": messages, "max_tokens": 64_000, "thinking": thinking}),
    ));
    claims.push((
        "/v1/responses",
        json!({"model": "own/m", "input": "Why?", "reasoning": {"max_tokens": 1}, "store": false}),
    ));
    let config = json!({"thinkingConfig": {"thinkingBudget": 1}});
    let contents = json!([{"role": "user", "parts": [{"text": "Why?"}]}]);
    claims.push((
        "/v1beta/models/own%2Fm:generateContent",
        json!({"contents": contents, "generationConfig": config}),
    ));
    claims.push((
        "/api/chat",
        json!({"model": "own/m", "messages": messages, "stream": false, "think": "low"}),
    ));
    claims
}

#[test]
fn req_budget_of_ten_thousand_pays_for_no_more_than_that_whatever_forty_requests_say() {
    for (path, asked) in claims() {
        let (place, upstream) = (Place::new("sent-forty"), thinker());
        let budget = "reasoning_tokens_per_key = 10000, on_exceed = \"block\"";
        let gateway = gateway(&place, &upstream, PLAIN, budget, "");
        let (said, spent) = forty(&gateway, &upstream, path, &asked);
        assert!(said > 0 && spent <= 10_000, "{path} {asked}: {said} answers took {spent}");
    }
}

#[test]
fn req_budget_in_dollars_pays_for_no_more_than_that_whatever_forty_requests_say() {
    let prices = "[prices.\"own/m\"]\ninput = 0\noutput = 1\n";
    for (path, asked) in claims() {
        let (place, upstream) = (Place::new("sent-dollars"), thinker());
        let budget = "usd_per_key = 0.01, on_exceed = \"block\"";
        let gateway = gateway(&place, &upstream, PLAIN, budget, prices);
        let (said, spent) = forty(&gateway, &upstream, path, &asked);
        assert!(said > 0 && spent <= 10_000, "{path} {asked}: {said} answers took {spent}");
    }
}

#[test]
fn req_budget_that_has_less_left_is_the_cap_of_a_whole_answer_in_the_words_of_its_wire() {
    let messages = json!([{"role": "user", "content": "Why?"}]);
    let budget = "reasoning_tokens_per_key = 3000, on_exceed = \"block\"";
    for (wire, path, asked, at) in [
        (PLAIN, CHAT, json!({"messages": messages}), "/max_tokens"),
        (
            PLAIN,
            CHAT,
            json!({"messages": messages, "max_completion_tokens": 9_000}),
            "/max_completion_tokens",
        ),
        (
            PLAIN,
            CHAT,
            json!({"messages": messages, "max_tokens": 7_000, "max_completion_tokens": 9_000}),
            "/max_tokens",
        ),
        (
            "extends = \"openai\"\nwire = \"chat-completions\"",
            CHAT,
            json!({"model": "own/gpt-5.1", "messages": messages, "reasoning_effort": "high"}),
            "/max_completion_tokens",
        ),
        ("wire = \"responses\"", CHAT, json!({"messages": messages}), "/max_output_tokens"),
        (
            "wire = \"ollama-chat\"",
            "/api/chat",
            json!({"messages": messages}),
            "/options/num_predict",
        ),
        (
            "wire = \"generate-content\"",
            CHAT,
            json!({"messages": messages}),
            "/generationConfig/maxOutputTokens",
        ),
        ("wire = \"converse\"", CHAT, json!({"messages": messages}), "/inferenceConfig/maxTokens"),
        ("wire = \"cohere-chat\"", CHAT, json!({"messages": messages}), "/max_tokens"),
        ("wire = \"mistral-chat\"", CHAT, json!({"messages": messages}), "/max_tokens"),
        (
            "wire = \"messages\"",
            "/v1/messages",
            json!({"messages": messages, "max_tokens": 9_000}),
            "/max_tokens",
        ),
    ] {
        let (place, upstream) = (Place::new("sent-told"), thinker());
        let gateway = gateway(&place, &upstream, wire, budget, "");
        let mut body = json!({"model": "own/m", "stream": false});
        body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        gateway.request("POST", path, ALICE, &body.to_string());
        let sent = upstream.last();
        assert_eq!(sent.pointer(at), Some(&json!(3_000)), "{wire}: {sent}");
        let caps = ["max_tokens", "max_completion_tokens"].map(|name| sent[name].as_u64());
        assert!(caps.iter().flatten().all(|cap| *cap <= 3_000), "{wire}: {sent}");
    }
}

#[test]
fn req_limits_of_tokens_count_the_greatest_cap_of_what_goes_out_as_often_as_answers_are_asked_for()
{
    for (path, model) in [(CHAT, "own/m"), (RAW, "m")] {
        for more in [
            json!({"max_tokens": 1, "max_completion_tokens": 900}),
            json!({"max_tokens": 300, "n": 3}),
            json!({"max_tokens": 300, "thinking": {"budget_tokens": 1}, "n": "3"}),
        ] {
            for limited in ["alice", "own"] {
                let (place, upstream) = (Place::new("sent-limit"), thinker());
                let limits = |name: &str| match name == limited {
                    true => "limits = { tokens_per_minute = 1000 }\n",
                    false => "",
                };
                let gateway = serve(
                    &place,
                    &format!(
                        "[keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\n{}\
                         [providers.own]\n{PLAIN}\nbase_url = \"{}\"\napi_key = \"k\"\n{}",
                        limits("alice"),
                        upstream.url,
                        limits("own")
                    ),
                );
                let mut asked = json!({"model": model,
                    "messages": [{"role": "user", "content": "Why?"}]});
                asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let statuses = all_at_once(&gateway, path, &asked, 6);
                let said = statuses.iter().filter(|status| **status == 200).count();
                // One of them costs what it did cost before the next one is looked at, or the other
                // way round.
                assert!(said <= 2, "{limited} {path} {more}: {statuses:?}");
            }
        }
    }
}

#[test]
fn req_budget_in_dollars_knows_no_price_of_a_speed_beside_a_usual_tier() {
    let prices = "[prices.\"own/m\"]\ninput = 1\noutput = 10\n";
    for (path, model) in [("/v1/messages", "own/m"), ("/p/own/v1/messages", "m")] {
        let (place, upstream) =
            (Place::new("sent-fast"), Upstream::start(vec![chat("", "ok", None)]));
        let budget = "usd_per_key = 5, on_exceed = \"block\"";
        let gateway = gateway(&place, &upstream, "wire = \"messages\"", budget, prices);
        let asked = json!({"model": model, "max_tokens": 100, "service_tier": "auto",
            "speed": "fast", "messages": [{"role": "user", "content": "Why?"}]});
        let answer = gateway.request("POST", path, ALICE, &asked.to_string());
        assert_eq!(status(&answer), 402, "{answer}");
        assert!(answer.contains("price_unknown") && answer.contains("`fast`"), "{answer}");
        assert!(upstream.bodies().is_empty());
    }
}

#[test]
fn req_budget_in_dollars_books_all_that_was_reserved_where_a_dearer_tier_is_reported() {
    // A hundred tokens are reserved for the answer, and ten of them were used.
    let prices = "[prices.\"own/m\"]\ninput = 0\noutput = 10\n";
    for (path, model) in [(CHAT, "own/m"), (RAW, "m")] {
        for (tier, spent) in [("default", "$0.0001"), ("priority", "$0.001")] {
            let mut answer = whole(10);
            answer["service_tier"] = json!(tier);
            let (place, upstream) =
                (Place::new("sent-tier"), Upstream::start(vec![answer.to_string()]));
            let budget = "usd_per_key = 0.001, on_exceed = \"block\"";
            let gateway = gateway(&place, &upstream, PLAIN, budget, prices);
            let asked = |most: u64| {
                let asked = json!({"model": model, "max_tokens": most,
                    "messages": [{"role": "user", "content": "Why?"}]});
                gateway.request("POST", path, ALICE, &asked.to_string())
            };
            assert_eq!(status(&asked(100)), 200, "{path}");
            let second = asked(100);
            let expected = if tier == "priority" || path == RAW { 402 } else { 200 };
            assert_eq!(status(&second), expected, "{path} {tier}: {second}");
            assert!(
                expected == 200 || second.contains(&format!("{spent} of the $0.001")),
                "{second}"
            );
        }
    }
}

/// A provider that reports each request, and answers on command: with a body, or by closing the
/// connection.
fn slow() -> (String, mpsc::Receiver<()>, mpsc::Sender<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ((tell, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<Option<String>>());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut seen, mut piece) = (stream.unwrap(), Vec::new(), [0; 4096]);
            while !String::from_utf8_lossy(&seen).contains("zebra") {
                let Ok(read @ 1..) = stream.read(&mut piece) else { break };
                seen.extend_from_slice(&piece[..read]);
            }
            if !String::from_utf8_lossy(&seen).contains("zebra") {
                continue;
            }
            tell.send(()).unwrap();
            let Ok(Some(answer)) = going.recv() else { continue };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            drop(write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len()));
        }
    });
    (url, begun, go)
}

#[test]
fn req_budget_that_blocks_books_a_whole_answer_whose_caller_goes_away() {
    for (path, model) in [(CHAT, "there/m"), ("/p/there/v1/chat/completions", "m")] {
        // The provider's count is booked; the reservation is, if the provider is lost.
        for (answer, spent) in [(Some(whole(700).to_string()), 700), (None, 5_000)] {
            let (url, begun, go) = slow();
            let place = Place::new("sent-left");
            let gateway = serve(
                &place,
                &format!(
                    "[keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\n\
                     budget = {{ reasoning_tokens_per_key = {spent}, on_exceed = \"block\" }}\n\
                     [providers.there]\n{PLAIN}\nbase_url = \"{url}\"\napi_key = \"k\"\n"
                ),
            );
            let asked = json!({"model": model, "max_tokens": 5_000,
                "messages": [{"role": "user", "content": "a zebra"}]})
            .to_string();
            let mut caller = TcpStream::connect(&gateway.addr).unwrap();
            let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{ALICE}");
            write!(caller, "{head}content-length: {}\r\n\r\n{asked}", asked.len()).unwrap();
            begun.recv_timeout(PATIENCE).unwrap();
            drop(caller);
            // Long enough for a gateway that cancels an answer without a caller.
            std::thread::sleep(Duration::from_millis(300));
            // A lost connection is tried again.
            (0..10).for_each(|_| drop(go.send(answer.clone())));
            let began = Instant::now();
            loop {
                let asked = json!({"model": "there/m", "max_tokens": 5_000,
                    "messages": [{"role": "user", "content": "a horse"}]});
                let path = "/v1/messages/count_tokens";
                let answer = gateway.request("POST", path, ALICE, &asked.to_string());
                if status(&answer) == 402 {
                    let words = format!("{spent} of the {spent} reasoning tokens");
                    assert!(answer.contains(&words), "{path}: {answer}");
                    break;
                }
                assert!(began.elapsed() < PATIENCE, "{path}: {answer} {}", gateway.said());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
