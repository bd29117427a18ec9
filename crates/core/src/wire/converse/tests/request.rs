//! Requests.

use crate::content::{
    Block, Content, Media, MediaSource, Parameters, Speaker, Thinking, ToolCall, ToolResponse,
};
use crate::json::{Doc, Extra, Raw};
use crate::request::{AnswerFormat, Request, Tool, ToolChoice};
use crate::settings::Effort;
use crate::wire::converse::Converse;
use crate::wire::{Dialect, RequestError, Wire, Written};
use serde_json::{Value, json};

fn read(body: &str) -> Result<Request, RequestError> {
    Converse.read_request(Doc::parse_str(body).unwrap().root())
}

fn write(request: &Request) -> Written {
    Converse.write_request(request, &Dialect::default())
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&write(request).body).unwrap()
}

fn request(contents: Vec<Content>) -> Request {
    Request { contents, ..Request::default() }
}

fn call(id: Option<&str>, parameters: Parameters) -> Block {
    let id = id.map(str::to_owned);
    Block::ToolCall(ToolCall {
        id,
        name: "f".into(),
        parameters,
        signature: None,
        extra: Extra::default(),
    })
}

fn result(call_id: Option<&str>, result: Raw) -> Content {
    Content::new(
        Speaker::Tool,
        vec![Block::ToolResponse(ToolResponse {
            call_id: call_id.map(str::to_owned),
            name: None,
            result: result.into(),
            is_error: false,
            extra: Extra::default(),
        })],
    )
}

const FIXTURES: [&str; 2] = [
    include_str!("../../../../../../fixtures/wires/converse/requests/agent.json"),
    include_str!("../../../../../../fixtures/wires/converse/requests/odd-spellings.json"),
];

#[test]
fn a_request_keeps_every_value_on_its_own_wire() {
    for fixture in FIXTURES {
        let request = read(fixture).unwrap();
        let written = write(&request);
        let wanted: Value = serde_json::from_str(fixture).unwrap();
        let got: Value = serde_json::from_str(&written.body).unwrap();
        assert_eq!(got, wanted);
        assert_eq!(written.untranslated, Vec::<String>::new());
        let again = write(&read(&written.body).unwrap());
        assert_eq!(again, written, "a second time changes nothing");
    }
    assert!(write(&read(FIXTURES[0]).unwrap()).body.contains(r#""temperature":0.70"#));
}

#[test]
fn what_is_read_has_neutral_names() {
    let request = read(FIXTURES[0]).unwrap();
    let speakers: Vec<_> = request.contents.iter().map(|c| format!("{:?}", c.speaker)).collect();
    assert_eq!(speakers.join(" "), "System Human Ai Tool Human Ai Human");
    let thoughts: Vec<&Thinking> = request.contents[2].thoughts().collect();
    assert_eq!(thoughts[0].signature.as_deref(), Some("EqYGCmQIDxABGAIq/+=="));
    assert_eq!(thoughts[1].redacted_data.as_deref(), Some("RXRrRUNrZ0lCeEFC"));
    assert!(thoughts[2].is_withheld() && thoughts[0].source_field == "reasoningContent");
    let Block::ToolResponse(first) = &request.contents[3].blocks[0] else { panic!() };
    assert!(first.is_error && first.result.text() == "no such file");
    assert_eq!(
        (request.max_tokens, request.stop.as_slice()),
        (Some(20000), &["END".to_owned()][..])
    );
    assert_eq!((request.reasoning.enabled, request.reasoning.max_tokens), (Some(true), Some(4096)));
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("ls".into())));
    assert!(
        matches!(&request.format, Some(AnswerFormat::Schema { name: Some(name), .. }) if name == "answer")
    );
    let odd = read(FIXTURES[1]).unwrap();
    assert_eq!(
        (odd.model.as_str(), odd.reasoning.effort),
        ("us.deepseek.r1-v1:0", Some(Effort::High))
    );
}

#[test]
fn errors_name_the_place() {
    for (body, at) in [
        ("7", "messages"),
        (r#"{"messages":[{"role":"user","content":"text"}]}"#, "messages[0].content"),
        (
            r#"{"messages":[{"role":"user","content":[]},{"role":"system","content":[]}]}"#,
            "messages[1].role",
        ),
    ] {
        assert_eq!(read(body).unwrap_err().at, at, "{body}");
    }
    let odd = r#"{"messages":[],"inferenceConfig":7,"toolConfig":null,"system":"x","additionalModelRequestFields":[],"outputConfig":1}"#;
    let got: Value = serde_json::from_str(&write(&read(odd).unwrap()).body).unwrap();
    assert_eq!(got, serde_json::from_str::<Value>(odd).unwrap());
}

#[test]
fn a_conversation_from_elsewhere_is_said_in_this_wires_words() {
    let thought = Thinking { encrypted_content: Some("E".into()), ..Thinking::new("", "summary") };
    let mut request = request(vec![
        Content::text(Speaker::System, "Be brief."),
        Content::text(Speaker::Human, "Go."),
        Content::text(Speaker::Human, "Now."),
        Content::new(
            Speaker::Ai,
            vec![
                Block::Thinking(Thinking::new("hm", "reasoning")),
                Block::Thinking(thought),
                Block::text(""),
                call(Some("a"), Parameters::from_text("{\"a\":1}")),
                call(None, Parameters::from_text("{\"a\"")),
            ],
        ),
        result(Some("a"), Raw::string("ok")),
        result(None, Raw::string("t")),
        Content::text(Speaker::System, "In French."),
    ]);
    request.tools = vec![Tool::Function {
        name: "f".into(),
        description: None,
        parameters: None,
        extra: Extra::default(),
    }];
    request.tool_choice = Some(ToolChoice::None);
    let written = write(&request);
    let got: Value = serde_json::from_str(&written.body).unwrap();
    assert_eq!(
        got,
        json!({
            "system": [{"text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"text": "Go."}, {"text": "Now."}]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                    {"toolUse": {"toolUseId": "a", "name": "f", "input": {"a": 1}}},
                    {"toolUse": {"toolUseId": "toolu_nameless_0", "name": "f", "input": {"input": "{\"a\""}}},
                ]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "a", "content": [{"text": "ok"}]}},
                    {"toolResult": {"toolUseId": "toolu_nameless_0", "content": [{"text": "t"}]}},
                    {"text": "In French."},
                ]},
            ],
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]},
        })
    );
    assert_eq!(written.untranslated, ["thinking", "speaker", "tool_choice"]);
    request.contents.truncate(2);
    assert_eq!(body(&request).get("toolConfig"), None, "tools that are not there cannot be called");
}

#[test]
fn results_of_every_shape_become_items() {
    for (raw, items) in [
        (r#""text""#, json!([{"text": "text"}])),
        (r#"{"a":1}"#, json!([{"json": {"a": 1}}])),
        (r#"[{"text":"a"}]"#, json!([{"text": "[{\"text\":\"a\"}]"}])),
        (r#"[1,"x"]"#, json!([{"text": "[1,\"x\"]"}])),
        ("3.50", json!([{"text": "3.50"}])),
        ("null", json!([])),
    ] {
        let got = body(&request(vec![result(Some("a"), Raw::parse(raw).unwrap())]));
        assert_eq!(got["messages"][0]["content"][0]["toolResult"]["content"], items, "{raw}");
    }
}

#[test]
fn neutral_words_about_reasoning_become_claudes_or_the_callers() {
    let mut stated = read(r#"{"messages":[],"outputConfig":{"effort":"high","new":1}}"#).unwrap();
    assert_eq!(stated.reasoning.effort, Some(Effort::High));
    assert_eq!(body(&stated)["outputConfig"], json!({"effort": "high", "new": 1}));
    stated.reasoning.effort = Some(Effort::Low);
    assert_eq!(body(&stated)["outputConfig"], json!({"effort": "low", "new": 1}));
    assert_eq!(body(&stated).get("additionalModelRequestFields"), None, "effort is no switch");
    let mut request = request(vec![]);
    assert_eq!(body(&request), json!({"messages": []}));
    request.reasoning.effort = Some(Effort::High);
    assert_eq!(
        body(&request)["additionalModelRequestFields"],
        json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}})
    );
    request.reasoning.effort = None;
    request.reasoning.max_tokens = Some(5000);
    let got = body(&request);
    assert_eq!(
        got["additionalModelRequestFields"],
        json!({"thinking": {"type": "enabled", "budget_tokens": 5000}})
    );
    assert_eq!(got["inferenceConfig"]["maxTokens"], 37000, "the cap must exceed the budget");
    let said = |fields: &str, change: &dyn Fn(&mut Request)| {
        let mut request =
            read(&format!(r#"{{"messages":[],"additionalModelRequestFields":{fields}}}"#)).unwrap();
        change(&mut request);
        body(&request)["additionalModelRequestFields"].clone()
    };
    let low = |r: &mut Request| r.reasoning.effort = Some(Effort::Low);
    let off = |r: &mut Request| r.reasoning.enabled = Some(false);
    assert_eq!(
        said(r#"{"reasoning_effort":"high","k":1}"#, &low),
        json!({"k": 1, "reasoning_effort": "low"})
    );
    assert_eq!(said(r#"{"reasoning_effort":"high"}"#, &off), Value::Null);
    assert_eq!(said(r#"{"reasoning_config":"high"}"#, &low), json!({"reasoning_config": "low"}));
    assert_eq!(
        said(r#"{"reasoning_config":{"type":"enabled","budget_tokens":2000}}"#, &|r| r
            .reasoning
            .max_tokens =
            Some(3000)),
        json!({"reasoning_config": {"type": "enabled", "budget_tokens": 3000}})
    );
    assert_eq!(
        said(r#"{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}"#, &low),
        json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}})
    );
    assert_eq!(
        said(r#"{"reasoningConfig":{"type":"enabled"}}"#, &off),
        json!({"reasoningConfig": {"type": "disabled"}})
    );
    assert_eq!(
        said(
            r#"{"thinking":{"type":"adaptive","x":1},"output_config":{"effort":"max","y":2}}"#,
            &low
        ),
        json!({"thinking": {"type": "adaptive", "x": 1}, "output_config": {"effort": "low", "y": 2}})
    );
}

#[test]
fn media_go_where_the_api_takes_them() {
    let media = |media_type: &str, source: MediaSource| {
        Block::Media(Media { media_type: media_type.to_owned(), source, extra: Extra::default() })
    };
    let request = request(vec![Content::new(
        Speaker::Human,
        vec![
            media("image/jpeg", MediaSource::Data("AA==".into())),
            media("text/plain", MediaSource::Data("BB==".into())),
            media("text/plain", MediaSource::Data("BB==".into())),
            media("video/mp4", MediaSource::Url("s3://b/k".into())),
            media("image/png", MediaSource::Url("https://example.org/x".into())),
            media("image/tiff", MediaSource::Data("CC==".into())),
        ],
    )]);
    assert_eq!(
        body(&request)["messages"][0]["content"],
        json!([
            {"image": {"format": "jpeg", "source": {"bytes": "AA=="}}},
            {"document": {"format": "txt", "name": "document", "source": {"bytes": "BB=="}}},
            {"document": {"format": "txt", "name": "document-2", "source": {"bytes": "BB=="}}},
            {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k"}}}},
            {"text": "The document is attached."},
        ])
    );
    assert_eq!(write(&request).untranslated, ["media"]);
}
