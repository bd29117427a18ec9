//! Requests.

use crate::content::{
    Block, Content, Media, MediaSource, Other, Parameters, Speaker, Thinking, ToolCall,
    ToolResponse,
};
use crate::json::{Doc, Extra, Raw};
use crate::request::{AnswerFormat, Request, Tool, ToolChoice};
use crate::settings::Effort;
use crate::wire::messages::Messages;
use crate::wire::{Dialect, RequestError, Wire, Written};
use serde_json::{Value, json};

fn read(body: &str) -> Result<Request, RequestError> {
    Messages.read_request(Doc::parse_str(body).unwrap().root())
}

fn write(request: &Request) -> Written {
    Messages.write_request(request, &Dialect::default())
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&write(request).body).unwrap()
}

fn request(contents: Vec<Content>) -> Request {
    Request { model: "m".to_owned(), contents, ..Request::default() }
}

fn call(id: Option<&str>, name: &str, parameters: Parameters) -> Block {
    Block::ToolCall(ToolCall {
        id: id.map(str::to_owned),
        name: name.to_owned(),
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

const FIXTURES: [&str; 3] = [
    include_str!("../../../../../../fixtures/wires/messages/requests/coding-agent.json"),
    include_str!("../../../../../../fixtures/wires/messages/requests/odd-spellings.json"),
    include_str!("../../../../../../fixtures/wires/messages/requests/server-tools.json"),
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
}

#[test]
fn numbers_and_opaque_values_keep_their_spelling() {
    let written = write(&read(FIXTURES[0]).unwrap()).body;
    assert!(written.contains(r#"{"path": "/srv/demo", "depth": 1.0}"#), "{written}");
    assert!(written.contains("EqoBCkgIAxABGAIiQL+x/k=="));
    assert!(write(&read(FIXTURES[1]).unwrap()).body.contains(r#""top_p":0.950"#));
}

#[test]
fn what_is_read_has_neutral_names() {
    let request = read(FIXTURES[0]).unwrap();
    let speakers: Vec<_> = request.contents.iter().map(|content| content.speaker).collect();
    let names: Vec<_> = speakers.iter().map(|speaker| format!("{speaker:?}")).collect();
    assert_eq!(names.join(" "), "System Human System Ai Tool Human System Ai Human");
    let ai = &request.contents[3];
    let thoughts: Vec<&Thinking> = ai.thoughts().collect();
    assert_eq!(thoughts[0].signature.as_deref(), Some("EqoBCkgIAxABGAIiQL+x/k=="));
    assert!(thoughts[1].redacted_data.is_some() && thoughts[2].is_withheld());
    assert!(thoughts.iter().all(|thought| thought.source_field == "thinking"));
    let Block::ToolResponse(failed) = &request.contents[4].blocks[0] else { panic!() };
    assert!(failed.is_error && failed.call_id.as_deref() == Some("toolu_01B"));
    assert!(matches!(&request.tools[1], Tool::Function { name, .. } if name == "cat"));
    assert!(matches!(&request.tools[2], Tool::Other { .. }));
    assert_eq!(
        (request.tool_choice, request.parallel_tool_calls),
        (Some(ToolChoice::Auto), Some(true))
    );
    assert_eq!((request.stream, request.max_tokens), (true, Some(32000)));
    let ask = &request.reasoning;
    assert_eq!((ask.enabled, ask.effort, ask.show), (Some(true), Some(Effort::Xhigh), Some(false)));
    let request = read(FIXTURES[1]).unwrap();
    assert!(matches!(request.format, Some(AnswerFormat::Schema { .. })));
    assert_eq!(request.reasoning.enabled, Some(false), "`between_tools` is how Claude says off");
}

#[test]
fn errors_name_the_place() {
    for (body, at) in [
        ("[]", "$"),
        (r#"{"messages":[]}"#, "model"),
        (r#"{"model":"m","messages":{}}"#, "messages"),
        (r#"{"model":"m","messages":[],"system":7}"#, "system"),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"user"}]}"#,
            "messages[1].content",
        ),
        (r#"{"model":"m","messages":[{"role":"tool","content":"x"}]}"#, "messages[0].role"),
    ] {
        assert_eq!(read(body).unwrap_err().at, at, "{body}");
    }
}

#[test]
fn values_of_a_wrong_kind_go_on_to_the_one_who_judges_them() {
    let odd = r#"{"model":"m","messages":[],"max_tokens":"many","temperature":"hot","stream":1,"tools":{},"tool_choice":"auto","thinking":true,"stop_sequences":["a",1],"system":null}"#;
    let written = write(&read(odd).unwrap()).body;
    assert_eq!(
        serde_json::from_str::<Value>(&written).unwrap(),
        serde_json::from_str::<Value>(odd).unwrap()
    );
}

#[test]
fn a_conversation_from_elsewhere_is_said_in_this_wires_words() {
    let thought = Thinking { encrypted_content: Some("E".into()), ..Thinking::new("", "summary") };
    let foreign = Block::Other(Other::new("other", "audio_call", Raw::null()));
    let mut request = request(vec![
        Content::text(Speaker::System, "Be brief."),
        Content::text(Speaker::System, "Be kind."),
        Content::text(Speaker::Human, "Go."),
        Content::new(
            Speaker::Ai,
            vec![
                Block::Thinking(Thinking::new("hm", "reasoning_content")),
                Block::Thinking(thought),
                Block::text(""),
                call(Some("functions.f:0"), "f", Parameters::from_text("{\"a\":1}")),
                call(Some("functions.f_0"), "f", Parameters::from_text("{\"a\"")),
                foreign,
            ],
        ),
        result(Some("functions.f:0"), Raw::string("ok")),
        result(Some("functions.f_0"), Raw::parse(r#"{"deep":[1]}"#).unwrap()),
        Content::text(Speaker::Human, "And?"),
        Content::text(Speaker::System, "Now in French."),
        Content::text(Speaker::Ai, ""),
    ]);
    request.tools = vec![Tool::Function {
        name: "f".into(),
        description: None,
        parameters: None,
        extra: Extra::default(),
    }];
    request.parallel_tool_calls = Some(false);
    let written = write(&request);
    let got: Value = serde_json::from_str(&written.body).unwrap();
    let ids: Vec<_> =
        [1, 2].map(|at| got["messages"][1]["content"][at]["id"].as_str().unwrap()).into();
    assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')));
    assert_ne!(ids[0], ids[1]);
    assert_eq!(
        got,
        json!({
            "model": "m",
            "max_tokens": 32000,
            "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
            "messages": [
                {"role": "user", "content": "Go."},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": ""},
                    {"type": "tool_use", "id": ids[0], "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": ids[1], "name": "f", "input": {"input": "{\"a\""}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": ids[0], "content": "ok"},
                    {"type": "tool_result", "tool_use_id": ids[1], "content": "{\"deep\":[1]}"},
                    {"type": "text", "text": "And?"},
                ]},
                {"role": "user", "content": "Now in French."},
            ],
            "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        })
    );
    assert_eq!(written.untranslated, ["thinking", "audio_call", "speaker"]);
}

#[test]
fn calls_without_ids_get_the_same_ones_as_their_results() {
    let named = |name: &str| {
        let mut content = result(None, Raw::string("r"));
        if let Block::ToolResponse(response) = &mut content.blocks[0] {
            response.name = Some(name.to_owned());
        }
        content
    };
    let contents = vec![
        Content::text(Speaker::Human, "Go."),
        Content::new(
            Speaker::Ai,
            vec![call(None, "f", Parameters::default()), call(None, "g", Parameters::default())],
        ),
        named("g"),
        named("f"),
        Content::new(Speaker::Ai, vec![call(None, "f", Parameters::default())]),
        result(None, Raw::string("r")),
    ];
    let short = body(&request(contents[..4].to_vec()));
    let long = body(&request(contents));
    let id = |value: &Value, message: usize, at: usize, key: &str| {
        value["messages"][message]["content"][at][key].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&long, 1, 0, "id"), id(&long, 2, 1, "tool_use_id"));
    assert_eq!(id(&long, 1, 1, "id"), id(&long, 2, 0, "tool_use_id"));
    assert_eq!(id(&long, 3, 0, "id"), id(&long, 4, 0, "tool_use_id"));
    assert_ne!(id(&long, 1, 0, "id"), id(&long, 3, 0, "id"));
    let short = short["messages"].as_array().unwrap();
    assert_eq!(short.as_slice(), &long["messages"].as_array().unwrap()[..3], "growing appends");
}

#[test]
fn neutral_words_about_reasoning_become_fields() {
    let fields = |change: &dyn Fn(&mut Request)| {
        let mut request = request(vec![]);
        change(&mut request);
        let body = body(&request);
        (body["thinking"].clone(), body["output_config"].clone(), body["max_tokens"].clone())
    };
    assert_eq!(fields(&|_| {}), (Value::Null, Value::Null, json!(32000)));
    let (thinking, config, _) = fields(&|r| r.reasoning.effort = Some(Effort::Minimal));
    assert_eq!((thinking, config), (json!({"type": "adaptive"}), json!({"effort": "low"})));
    let (thinking, config, _) = fields(&|r| r.reasoning.effort = Some(Effort::None));
    assert_eq!((thinking, config), (json!({"type": "disabled"}), Value::Null));
    let (thinking, _, _) = fields(&|r| {
        r.reasoning.enabled = Some(true);
        r.reasoning.show = Some(false);
    });
    assert_eq!(thinking, json!({"type": "adaptive", "display": "omitted"}));
    assert_eq!(fields(&|r| r.reasoning.show = Some(true)).0, Value::Null, "nothing is switched on");
    let (thinking, _, max) = fields(&|r| r.reasoning.max_tokens = Some(2000));
    assert_eq!((thinking, max), (json!({"type": "enabled", "budget_tokens": 2000}), json!(34000)));
    let (thinking, _, _) = fields(&|r| r.reasoning.max_tokens = Some(1));
    assert_eq!(thinking["budget_tokens"], 1024, "the API takes no less");
    let (thinking, _, max) = fields(&|r| {
        r.reasoning.max_tokens = Some(9000);
        r.max_tokens = Some(5000);
    });
    assert_eq!((thinking["budget_tokens"].clone(), max), (json!(4000), json!(5000)));
    let small = fields(&|r| {
        r.reasoning.max_tokens = Some(9000);
        r.max_tokens = Some(1024);
    });
    assert_eq!(small.0, Value::Null, "a budget that fits under no cap is left out");
}

#[test]
fn a_change_of_mind_keeps_what_else_stood_in_the_fields() {
    let mut request = read(FIXTURES[0]).unwrap();
    request.reasoning.effort = Some(Effort::Low);
    let got = body(&request);
    assert_eq!(got["output_config"], json!({"effort": "low"}));
    assert_eq!(got["thinking"]["block_binding"], json!({"prefix_mismatch_behavior": "drop_block"}));
    assert_eq!(got["thinking"]["display"], "omitted");
    request.reasoning.enabled = Some(false);
    assert_eq!(body(&request)["thinking"], json!({"type": "disabled"}));
    let only_effort = r#"{"model":"m","messages":[],"output_config":{"effort":"high"}}"#;
    let mut request = read(only_effort).unwrap();
    request.reasoning.effort = Some(Effort::Low);
    let got = body(&request);
    assert_eq!((&got["output_config"]["effort"], got.get("thinking")), (&json!("low"), None));
    let mut request = read(FIXTURES[2]).unwrap();
    request.format = Some(AnswerFormat::Schema {
        name: Some("n".into()),
        schema: Raw::parse("{}").unwrap(),
        strict: Some(true),
    });
    let config = &body(&request)["output_config"];
    assert_eq!(config["task_budget"], json!({"total": 9}));
    assert_eq!(config["format"], json!({"type": "json_schema", "schema": {}}));
    request.format = Some(AnswerFormat::Json);
    assert_eq!(write(&request).untranslated, ["format"]);
}

#[test]
fn media_go_where_the_api_takes_them() {
    let media = |media_type: &str, source: MediaSource| {
        Block::Media(Media { media_type: media_type.to_owned(), source, extra: Extra::default() })
    };
    let request = request(vec![
        Content::new(
            Speaker::Human,
            vec![
                media("image/jpeg", MediaSource::Data("AA==".into())),
                media("", MediaSource::Url("https://example.org/x".into())),
                media("application/pdf", MediaSource::Data("BB==".into())),
                media("audio/wav", MediaSource::Data("CC==".into())),
            ],
        ),
        Content::new(Speaker::Human, vec![media("audio/wav", MediaSource::Data("DD==".into()))]),
        Content::text(Speaker::Human, ""),
    ]);
    let written = write(&request);
    let got: Value = serde_json::from_str(&written.body).unwrap();
    assert_eq!(
        got["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AA=="}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/x"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BB=="}},
            ]},
            {"role": "user", "content": ""},
        ])
    );
    assert_eq!(written.untranslated, ["media"]);
}

#[test]
fn a_dialect_leaves_out_what_its_provider_refuses() {
    let dialect = Dialect {
        refuses: vec!["temperature", "metadata", "tool_choice"].into(),
        ..Dialect::default()
    };
    let request = read(FIXTURES[0]).unwrap();
    let got: Value =
        serde_json::from_str(&Messages.write_request(&request, &dialect).body).unwrap();
    for field in ["temperature", "metadata", "tool_choice"] {
        assert!(got.get(field).is_none());
    }
    assert_eq!(got["service_tier"], "auto");
}

#[test]
fn ids_that_a_model_writes_go_back_as_they_are_where_the_api_takes_any() {
    let call = ToolCall {
        id: Some("functions.read:0".into()),
        name: "read".into(),
        parameters: Parameters::default(),
        signature: None,
        extra: Extra::default(),
    };
    let result = ToolResponse {
        call_id: call.id.clone(),
        name: None,
        result: Raw::string("r").into(),
        is_error: false,
        extra: Extra::default(),
    };
    let request = request(vec![
        Content::text(Speaker::Human, "q"),
        Content::new(Speaker::Ai, vec![Block::ToolCall(call)]),
        Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]),
    ]);
    let ids = |dialect: &Dialect| {
        let body: Value =
            serde_json::from_str(&Messages.write_request(&request, dialect).body).unwrap();
        let id = |message: usize, key: &str| body["messages"][message]["content"][0][key].clone();
        (id(1, "id"), id(2, "tool_use_id"))
    };
    let native = json!("functions.read:0");
    let any = Dialect { takes_any_id: true, ..Dialect::PLAIN };
    assert_eq!(ids(&any), (native.clone(), native.clone()));
    let (call, result) = ids(&Dialect::PLAIN);
    assert!(call == result && call != native, "{call} {result}");
}
