//! `[masking]`: secrets that callers, users and tools wrote stay here, and thoughts are put back
//! all the same.

use crate::place::Place;
use crate::scripted::{Scripted, call};
use crate::serve_config::serve;
use crate::server::{Server, body};
use crate::upstream::{Upstream, calling};
use serde_json::{Value, json};

const ON: &str = "[masking]\nrequests = true\n";

/// A key in a known format that belongs to no account.
fn secret() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3))
}

fn gateway(place: &Place, upstream: &Upstream, masking: &str) -> Server {
    let url = &upstream.url;
    let provider = format!(
        "[providers.own]\nextends = \"deepseek\"\nbase_url = \"{url}\"\napi_key = \"key-of-the-upstream\"\n\
         [models.m]\nprovider = \"own\"\nmodel = \"deepseek-v4-pro\"\n[store]\nurl = \"sqlite:kept.db\"\n"
    );
    serve(place, &(provider + masking))
}

fn ask(gateway: &Server, path: &str, messages: &Value) -> (String, Value) {
    let asked = json!({"model": "m", "max_tokens": 100, "messages": messages}).to_string();
    let answer = gateway.request("POST", path, "content-type: application/json\r\n", &asked);
    let value = serde_json::from_str(&body(&answer)).unwrap_or_default();
    (answer, value)
}

#[test]
fn adr_boundaries_a_secret_in_a_request_stays_here_and_its_thought_is_put_back() {
    let (place, upstream) = (Place::new("masking"), calling());
    let gateway = gateway(&place, &upstream, ON);
    let secret = secret();
    let user = json!({"role": "user", "content": format!("Use {secret}, please.")});
    let (_, first) = ask(&gateway, "/v1/chat/completions", &json!([user]));
    let sent = upstream.last_bytes();
    assert!(!sent.contains(&secret) && sent.contains("Use [masked:github-token:"), "{sent}");
    // A client that drops thoughts, as most do.
    let mut said = first["choices"][0]["message"].clone();
    said.as_object_mut().unwrap().remove("reasoning_content");
    let id = said["tool_calls"][0]["id"].clone();
    let result = json!({"role": "tool", "tool_call_id": id, "content": format!("token: {secret}")});
    let (answer, _) = ask(&gateway, "/v1/chat/completions", &json!([user, said, result]));
    assert!(answer.contains("restored=1; missed=0"), "{answer}");
    let second = upstream.last();
    assert_eq!(second["messages"][1]["reasoning_content"], "I look.");
    assert!(!second.to_string().contains(&secret), "{second}");
    let before: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(second["messages"][0], before["messages"][0], "equal secrets, equal placeholders");
    let result = second["messages"][2]["content"].as_str().unwrap();
    let placeholder = before["messages"][0]["content"].as_str().unwrap();
    let placeholder = placeholder.trim_start_matches("Use ").trim_end_matches(", please.");
    assert_eq!(result, format!("token: {placeholder}"));
}

#[test]
fn requests_pass_as_they_are_unless_they_are_to_be_masked_and_raw_ones_are_then_refused() {
    let (place, upstream) = (Place::new("unmasked"), calling());
    let secret = secret();
    let user = json!([{"role": "user", "content": format!("Use {secret}, please.")}]);
    let off = gateway(&place, &upstream, "");
    ask(&off, "/v1/chat/completions", &user);
    assert!(upstream.last_bytes().contains(&secret));
    ask(&off, "/p/own/chat/completions", &user);
    let asked = upstream.bodies().len();
    assert!(upstream.last_bytes().contains(&secret));
    drop(off);
    let on = gateway(&place, &upstream, ON);
    let (answer, error) = ask(&on, "/p/own/chat/completions", &user);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(error.to_string().contains("requests = false"), "{error}");
    assert_eq!(upstream.bodies().len(), asked, "nothing went out");
}

#[test]
fn what_a_tool_reads_goes_out_without_its_secrets() {
    let calls = json!([call("a", "read_file", &json!({"path": "notes.md"}))]);
    for (config, is_masked) in [(ON, true), ("", false)] {
        let script = Scripted::new("masked", vec![calls.clone(), json!("done")], config);
        let secret = secret();
        std::fs::write(script.path("work/notes.md"), format!("API_TOKEN={secret}\n")).unwrap();
        let ran = script.ask();
        assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
        let results = script.results().join("");
        assert_eq!(results.contains(&secret), !is_masked, "{results}");
        assert_eq!(results.contains("[masked:"), is_masked, "{results}");
    }
}

#[test]
fn a_credential_that_a_caller_brought_is_covered_where_it_comes_by_again() {
    const ODD: &str = "odd credential/of\"a caller";
    let upstream = Upstream::answering(|_| {
        let message = json!({"role": "assistant", "content": format!("it is {ODD}"),
            "reasoning_content": format!("I read {ODD} somewhere")});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        json!({"id": "x", "model": "m", "choices": [choice]}).to_string()
    });
    let place = Place::new("heard");
    let gateway = gateway(&place, &upstream, "");
    let asked = json!({"model": "m", "messages": [{"role": "user", "content": "?"}]}).to_string();
    let headers = format!("content-type: application/json\r\nx-api-key: {ODD}\r\n");
    let answer = gateway.request("POST", "/v1/chat/completions", &headers, &asked);
    assert!(answer.contains("I read"), "{answer}");
    let config = place.file("config.toml");
    let exported = || place.think(&["traces", "export", "--config", &config]).out;
    let began = std::time::Instant::now();
    while !exported().contains("I read") {
        assert!(began.elapsed() < crate::server::PATIENCE, "{}", exported());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let exported = exported();
    assert!(exported.contains("I read [masked:registered:"), "{exported}");
    assert!(exported.contains("it is [masked:registered:"), "{exported}");
    assert!(!exported.contains("odd credential"), "{exported}");
}

#[test]
fn personal_data_is_covered_where_it_is_asked_for() {
    let (place, upstream) = (Place::new("personal"), calling());
    let words = "ann@host.org, 4111 1111 1111 1111 or 219-09-9999";
    let user = json!([{"role": "user", "content": words}]);
    let off = gateway(&place, &upstream, ON);
    ask(&off, "/v1/chat/completions", &user);
    assert!(upstream.last_bytes().contains(words));
    drop(off);
    let on = gateway(&place, &upstream, "[masking]\nrequests = true\npersonal = true\n");
    ask(&on, "/v1/chat/completions", &user);
    let sent = upstream.last_bytes();
    for (value, rule) in
        [("ann@", "mail-address"), ("4111", "card-number"), ("219", "social-security-number")]
    {
        assert!(!sent.contains(value) && sent.contains(&format!("[masked:{rule}:")), "{sent}");
    }
}
