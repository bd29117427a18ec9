//! Claude on Vertex AI in a user's configuration: the requests on the wire.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::body;
use crate::upstream::{Upstream, messages};

fn config(upstream: &Upstream) -> String {
    format!(
        "[providers.claude]\nextends = \"vertexai\"\nwire = \"messages\"\napi_key = \"k\"\nbase_url = \"{}\
         /v1/projects/p/locations/l/publishers/anthropic\"\n",
        upstream.url
    )
}

const PLACE: &str =
    "post /v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-5@20260724";

#[test]
fn a_request_for_claude_on_vertex_keeps_its_bytes_but_for_model_and_version() {
    let place = Place::new("vertex-serve");
    let upstream = Upstream::start(vec![messages()]);
    let gateway = serve(&place, &config(&upstream));
    let asked = |model: &str| {
        format!(
            "{{{model}\"max_tokens\" : 9,\"stream\":true,\n \"messages\":[{{\"role\":\"user\",\
             \"content\":\"caf\\u00e9\"}}],\"temperature\":1.0e0 }}"
        )
    };
    let headers = "content-type: application/json\r\nanthropic-beta: a-2026\r\n";
    let sent = asked(" \"model\":\"claude/claude-opus-5@20260724\",  ");
    let answer = gateway.request("POST", "/v1/messages?beta=true", headers, &sent);
    assert!(answer.starts_with("HTTP/1.1 200") && body(&answer).contains("ok"), "{answer}");
    let expected = asked("\"anthropic_version\":\"vertex-2023-10-16\", ");
    assert_eq!(upstream.last_bytes(), expected);
    let head = upstream.heads().pop().unwrap();
    // No parameter of the API's own address, which the platform refuses.
    assert!(head.starts_with(&format!("{PLACE}:streamrawpredict http/1.1")), "{head}");
    assert!(head.contains("authorization: bearer k"), "{head}");
    assert!(head.contains("anthropic-beta: a-2026"), "{head}");
}

#[test]
fn ask_and_explain_say_the_same_to_claude_on_vertex() {
    let place = Place::new("vertex-ask");
    let upstream = Upstream::start(vec![messages()]);
    let config = place.write("config.toml", &config(&upstream));
    let model = ["--config", config.as_str(), "-m", "claude/claude-opus-5@20260724"];
    let asked = place.ask(&[&model[..], &["hello"]].concat());
    assert_eq!((asked.code, asked.out.trim()), (Some(0), "ok"), "{}", asked.err);
    let head = upstream.heads().pop().unwrap();
    assert!(head.starts_with(&format!("{PLACE}:streamrawpredict ")), "{head}");
    let sent = upstream.last();
    assert_eq!(
        (&sent["anthropic_version"], sent.get("model")),
        (&"vertex-2023-10-16".into(), None)
    );
    let request = r#"{"model":"x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let request = place.write("request.json", request);
    let explain = [&["explain", "--json", "--from", "messages"][..], &model, &[&request]].concat();
    let explained = place.think(&explain).json();
    assert!(explained["url"].as_str().unwrap().ends_with("@20260724:rawPredict"), "{explained}");
    assert_eq!(explained["body"]["anthropic_version"], "vertex-2023-10-16", "{explained}");
    assert!(explained["body"].get("model").is_none(), "{explained}");
    assert_eq!(explained["rule"], "vertexai *claude-opus-5*");
}
