//! `think serve` with answers in other forms than usual, and with bodies that are no answer.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{Server, body};
use crate::upstream::Upstream;
use serde_json::{Value, json};

/// A gateway of providers that answer all requests with this.
fn gateway(place: &Place, answer: &str) -> (Server, Upstream) {
    let upstream = Upstream::start(vec![answer.to_owned()]);
    let google = format!(
        "[providers.sealed]\nextends = \"google\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    let provider = |name: &str, wire: &str| {
        format!(
            "[providers.{name}]\nwire = \"{wire}\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        )
    };
    let config = [
        google,
        provider("goo", "generate-content"),
        provider("chat", "chat-completions"),
        provider("anth", "messages"),
        provider("resp", "responses"),
        provider("olla", "ollama-chat"),
    ];
    (serve(place, &config.concat()), upstream)
}

fn question() -> String {
    json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).to_string()
}

const WHOLE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I think.","thought":true},{"text":"x"}]},"finishReason":1,"index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"thoughtsTokenCount":2,"totalTokenCount":4},"modelVersion":"m","responseId":"r"}"#;

/// The answer as a stream of two chunks, in an array.
fn list() -> String {
    let (thought, text) = (
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "I think.", "thought": true}]}, "index": 0}]}),
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": 1, "index": 0}]}),
    );
    format!("[{thought}\n,\r\n{text}\n]\n")
}

/// The chunks of a stream of events.
fn events(answer: &str) -> Vec<Value> {
    let body = body(answer);
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("{answer}"))).collect()
}

fn said(chunks: &[Value]) -> String {
    let parts =
        chunks.iter().filter_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array());
    parts.flatten().filter_map(|part| part["text"].as_str()).collect()
}

/// The last reason of the end.
fn reason(chunks: &[Value]) -> &Value {
    let mut reasons = chunks.iter().map(|chunk| &chunk["candidates"][0]["finishReason"]);
    reasons.rfind(|reason| !reason.is_null()).unwrap()
}

#[test]
fn b_2_numbers_for_names_reach_each_caller_in_its_own_form() {
    let place = Place::new("numbers");
    let (gateway, _upstream) = gateway(&place, WHOLE);
    let path = "/v1beta/models/goo%2Fm:generateContent";
    for (query, expected) in [("", json!("STOP")), ("?$alt=json;enum-encoding%3Dint", json!(1))] {
        let answer = gateway.ask(&format!("{path}{query}"), &question());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let whole: Value = serde_json::from_str(&body(&answer)).unwrap();
        assert_eq!(reason(std::slice::from_ref(&whole)), &expected, "{query}: {answer}");
        assert_eq!(said(&[whole]), "I think.x", "{answer}");
    }
    let chat = json!({"model": "goo/m", "messages": [{"role": "user", "content": "hi"}]});
    let answer = gateway.ask("/v1/chat/completions", &chat.to_string());
    let whole: Value = serde_json::from_str(&body(&answer)).unwrap();
    assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{answer}");
    assert_eq!(whole["choices"][0]["message"]["content"], "x", "{answer}");
}

#[test]
fn b_2_an_array_in_place_of_events_reaches_each_caller_in_its_own_form() {
    let place = Place::new("array");
    let (gateway, _upstream) = gateway(&place, &list());
    let path = "/v1beta/models/goo%2Fm:streamGenerateContent";
    for (query, expected) in
        [("?alt=sse", json!("STOP")), ("?alt=sse&$alt=sse;enum-encoding=int", json!(1))]
    {
        let answer = gateway.ask(&format!("{path}{query}"), &question());
        assert!(answer.contains("content-type: text/event-stream"), "{answer}");
        let chunks = events(&answer);
        assert_eq!((said(&chunks).as_str(), reason(&chunks)), ("I think.x", &expected), "{answer}");
        assert!(!answer.contains("\"error\""), "{answer}");
    }
    for (query, expected) in [("", json!("STOP")), ("?$alt=json;enum-encoding=int", json!(1))] {
        let answer = gateway.ask(&format!("{path}{query}"), &question());
        assert!(answer.contains("content-type: application/json"), "{answer}");
        let chunks = chunks(&answer);
        assert_eq!((said(&chunks).as_str(), reason(&chunks)), ("I think.x", &expected), "{answer}");
    }
    let chat =
        json!({"model": "goo/m", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    let answer = gateway.ask("/v1/chat/completions", &chat.to_string());
    assert!(answer.contains("\"finish_reason\":\"stop\"") && answer.contains("[DONE]"), "{answer}");
}

/// The chunks of a stream that is an array.
fn chunks(answer: &str) -> Vec<Value> {
    serde_json::from_str(&body(answer)).unwrap_or_else(|_| panic!("{answer}"))
}

#[test]
fn b_2_a_seal_that_came_in_another_form_goes_back() {
    let call =
        json!({"functionCall": {"name": "list", "args": {}}, "thoughtSignature": "c2VhbGVkIQ=="});
    let whole =
        json!({"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": 1}]});
    let path = "/v1beta/models/sealed%2Fgemini-3-flash";
    for (came, path) in [
        (whole.to_string(), format!("{path}:generateContent")),
        (whole.to_string(), format!("{path}:generateContent?$alt=json;enum-encoding=int")),
        (format!("[{whole}\n]"), format!("{path}:streamGenerateContent?alt=sse")),
        (format!("[{whole}\n]"), format!("{path}:streamGenerateContent")),
    ] {
        let place = Place::new("sealed");
        let (gateway, upstream) = gateway(&place, &came);
        let mut asked: Value = serde_json::from_str(&question()).unwrap();
        let answer = gateway.ask_in_time(&path, &asked.to_string());
        let got = match () {
            () if path.contains("stream") && path.contains("sse") => events(&answer),
            () if path.contains("stream") => chunks(&answer),
            () => vec![serde_json::from_str(&body(&answer)).unwrap()],
        };
        let parts = got.iter().filter_map(|it| it["candidates"][0]["content"]["parts"].as_array());
        let call = parts.flatten().find(|part| part["functionCall"].is_object());
        let mut call = call.unwrap_or_else(|| panic!("{path}: {answer}")).clone();
        // The client drops it.
        call.as_object_mut().unwrap().remove("thoughtSignature");
        let id = call["functionCall"]["id"].clone();
        let result =
            json!({"functionResponse": {"id": id, "name": "list", "response": {"output": "x"}}});
        let contents = asked["contents"].as_array_mut().unwrap();
        contents.push(json!({"role": "model", "parts": [call]}));
        contents.push(json!({"role": "user", "parts": [result]}));
        let answer = gateway.ask_in_time(&path, &asked.to_string());
        assert!(answer.contains("restored=1"), "{path}: {answer}");
        let sent = &upstream.last()["contents"][1]["parts"][0]["thoughtSignature"];
        assert_eq!(sent, "c2VhbGVkIQ==", "{path}");
    }
}

#[test]
fn b_3_a_body_that_is_no_answer_is_502_in_the_callers_wire() {
    let odd = "{\"status\":\"ok\",\"message\":\"no\",\"choices\":[{}]}";
    for none in ["{\"x\":1}", "[]", "\"ok\"", "{\"choices\":[]}", odd] {
        let place = Place::new("none");
        let (gateway, _upstream) = gateway(&place, none);
        for model in ["goo/m", "chat/m", "anth/m", "resp/m", "olla/m"] {
            for stream in [false, true] {
                let said = json!([{"role": "user", "content": "hi"}]);
                let escaped = model.replace('/', "%2F");
                let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
                for (path, asked) in [
                    (
                        "/v1/chat/completions".to_owned(),
                        json!({"model": model, "stream": stream, "messages": said}),
                    ),
                    (
                        "/v1/messages".to_owned(),
                        json!({"model": model, "stream": stream, "max_tokens": 9, "messages": said}),
                    ),
                    (
                        "/v1/responses".to_owned(),
                        json!({"model": model, "stream": stream, "input": "hi"}),
                    ),
                    (
                        format!("/v1beta/models/{escaped}:{verb}"),
                        serde_json::from_str(&question()).unwrap(),
                    ),
                ] {
                    let answer = gateway.ask(&path, &asked.to_string());
                    // Lines of JSON are one value each, so that only the end of such a stream
                    // tells.
                    let is_told = answer.starts_with("HTTP/1.1 502")
                        || model == "olla/m" && stream && answer.contains("error");
                    assert!(is_told && answer.contains("error"), "{none} {model} {path}: {answer}");
                }
            }
        }
    }
}

#[test]
fn b_3_the_only_line_of_a_stream_needs_no_line_end() {
    let place = Place::new("only-line");
    let (gateway, _upstream) = gateway(&place, "{\"error\":\"the model runner stopped\"}");
    let asked = json!({"model": "olla/m", "messages": [{"role": "user", "content": "hi"}]});
    let answer = gateway.ask("/api/chat", &asked.to_string());
    assert!(answer.contains("the model runner stopped"), "{answer}");
}

#[test]
fn b_5_a_stream_that_is_done_without_a_reason_ends_with_an_error_only() {
    let delta = json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "half an"}}]});
    let place = Place::new("unfinished");
    let (gateway, _upstream) = gateway(&place, &format!("data: {delta}\n\ndata: [DONE]\n\n"));
    for view in ["", "x-thinkthrough-view: reasoning\r\n"] {
        let asked = json!({"model": "chat/m", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
        let headers = format!("content-type: application/json\r\n{view}");
        let answer = gateway.request("POST", "/v1/chat/completions", &headers, &asked.to_string());
        assert!(answer.contains("half an"), "{answer}");
        let last = events(&answer).pop().unwrap();
        assert!(last["error"].is_object(), "{answer}");
    }
}
