//! What only the wire `generate-content` has.

use crate::reading::{relay, stream, whole};
use serde_json::{Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Parameters, Speaker, Text, Thinking, ToolCall,
    ToolResponse, ToolResult,
};
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::{AnswerFormat, Request, Tool, ToolChoice};
use thinkthrough_core::settings::Effort;
use thinkthrough_core::wire::{Dialect, Wire, generate_content::GenerateContent};
use thinkthrough_json::{Doc, Extra, Raw};

const WIRE: &dyn Wire = &GenerateContent;

/// A stream of these chunks.
fn sse(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\r\n\r\n").into_bytes()).collect()
}

/// A chunk with these parts of the first candidate.
fn said(parts: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] })
}

fn finish(word: &str) -> Value {
    json!({ "candidates": [{ "content": {}, "finishReason": word }] })
}

fn signed(text: &str, signature: &str) -> Text {
    Text { signature: Some(signature.to_owned()), ..Text::new(text) }
}

fn signed_thought(text: &str, signature: &str) -> Thinking {
    Thinking { signature: Some(signature.to_owned()), ..Thinking::new(text, "thought") }
}

/// The answer of a stream, which the same chunks as an array, a relay and a whole body say too.
fn answer(chunks: &[Value]) -> Answer {
    let body = sse(chunks);
    let answer = stream(WIRE, &body);
    assert_eq!(whole(WIRE, json!(chunks).to_string().as_bytes()), answer, "as an array");
    if answer.is_complete() {
        assert_eq!(stream(WIRE, &relay(WIRE, &body)), answer, "relayed");
        assert_eq!(whole(WIRE, WIRE.write_response(&answer).as_bytes()), answer, "whole");
    }
    answer
}

#[test]
fn consecutive_parts_of_one_kind_are_one_block_and_a_signature_ends_it() {
    let answer = answer(&[
        said(&json!([{ "text": "a", "thought": true }])),
        said(&json!([{ "text": "b", "thought": true, "thoughtSignature": "s1" }])),
        said(&json!([{ "text": "c", "thought": true }, { "text": "" }])),
        said(
            &json!([{ "text": "d", "thought": true }, { "thought": true, "thoughtSignature": "s2" }]),
        ),
        said(&json!([{ "text": "", "thoughtSignature": "s3" }, { "text": "x" }, { "text": "y" }])),
        said(&json!([{ "thoughtSignature": "s4" }, { "text": "", "thoughtSignature": "" }])),
        finish("STOP"),
    ]);
    let blocks = vec![
        Block::Thinking(signed_thought("ab", "s1")),
        Block::Thinking(signed_thought("cd", "s2")),
        Block::Text(signed("", "s3")),
        Block::Text(signed("xy", "s4")),
    ];
    assert_eq!(answer.blocks, blocks);
    assert!(answer.problems.is_empty());
}

#[test]
fn a_thought_image_is_no_part_of_the_answer() {
    let image =
        json!({ "inlineData": { "mimeType": "image/png", "data": "AA==" }, "thought": true });
    let answer = answer(&[said(&json!([image])), finish("STOP")]);
    let [Block::Other(other)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
    assert_eq!(other.kind, "inlineData");
}

#[test]
fn arguments_in_pieces_are_cut_off_with_the_stream() {
    let chunks = [
        said(
            &json!([{ "functionCall": { "name": "f", "willContinue": true }, "thoughtSignature": "s" }]),
        ),
        said(&json!([{ "functionCall": { "willContinue": true, "partialArgs": [
            { "jsonPath": "$.a", "stringValue": "x", "willContinue": true }] } }])),
        said(
            &json!([{ "functionCall": { "partialArgs": [{ "jsonPath": "$.a", "stringValue": "y" }] } }]),
        ),
        said(&json!([{ "functionCall": { "name": "g" } }])),
        finish("STOP"),
    ];
    let call = |name: &str, parameters, signature: Option<&str>| {
        let signature = signature.map(str::to_owned);
        Block::ToolCall(ToolCall {
            id: None,
            name: name.to_owned(),
            parameters,
            signature,
            extra: Extra::default(),
        })
    };
    let parameters = Parameters::from_text(r#"{"a":"xy"}"#);
    let both = [call("f", parameters, Some("s")), call("g", Parameters::default(), None)];
    assert_eq!(answer(&chunks).blocks, both);
    let cut = answer(&chunks[..2]);
    let broken = Parameters::Invalid(r#"{"a":"x"}"#.to_owned());
    assert_eq!(cut.blocks, [call("f", broken, Some("s"))]);
    assert!(!cut.is_complete());
}

#[test]
fn candidates_are_choices() {
    let part = |index: u64, text: &str| json!({ "candidates": [{ "index": index, "content": { "parts": [{ "text": text }] } }] });
    let end = |index: u64, word: &str| json!({ "candidates": [{ "index": index, "finishReason": word, "avgLogprobs": -0.5 }] });
    let mut chunks =
        vec![part(0, "a"), part(1, "x"), part(0, "b"), part(1, "y"), end(1, "MAX_TOKENS")];
    assert!(!answer(&chunks).is_complete());
    chunks.push(end(0, "STOP"));
    let answer = answer(&chunks);
    assert_eq!((answer.text(), answer.finish_reason.as_deref()), ("ab".into(), Some("STOP")));
    let [choice] = answer.choices.as_slice() else { panic!("{answer:?}") };
    assert_eq!((choice.text(), choice.finish_reason.as_deref()), ("xy".into(), Some("MAX_TOKENS")));
}

#[test]
fn errors_and_refused_prompts_end_a_stream() {
    let error = json!({ "error": { "code": 503, "message": "too busy", "status": "UNAVAILABLE" } });
    let failed = answer(&[said(&json!([{ "text": "t", "thought": true }])), error]);
    assert_eq!(failed.upstream_error().unwrap().message, "too busy");
    assert!(matches!(&failed.blocks[..], [Block::Thinking(t)] if t.partial && t.thought == "t"));
    let written: Value = serde_json::from_str(&WIRE.write_response(&failed)).unwrap();
    let error = json!({ "code": 503, "message": "too busy", "status": "UNAVAILABLE" });
    assert_eq!(written["error"], error);
    let blocked = answer(&[json!({ "promptFeedback": { "blockReason": "SAFETY" } })]);
    assert!(blocked.is_complete() && blocked.blocks.is_empty() && blocked.finish_reason.is_none());
    assert!(!answer(&[]).is_complete());
    assert!(!answer(&[said(&json!([{ "text": "half" }]))]).is_complete());
}

fn written(request: &Request) -> Value {
    let written = WIRE.write_request(request, &Dialect::default());
    serde_json::from_str(&written.body).unwrap()
}

fn result(id: &str, text: &str, is_error: bool) -> Content {
    let response = ToolResponse {
        call_id: Some(id.to_owned()),
        name: None,
        result: Raw::string(text).into(),
        is_error,
        extra: Extra::default(),
    };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}

#[test]
fn media_stand_in_a_result_where_the_generation_takes_them_else_behind() {
    let media = Block::Media(Media {
        media_type: "image/png".to_owned(),
        source: MediaSource::Data("iVBOR".to_owned()),
        extra: Extra::default(),
    });
    let mut given = result("1", "seen", false);
    if let Some(Block::ToolResponse(response)) = given.blocks.first_mut() {
        response.result = ToolResult::Blocks(vec![Block::text("seen"), media]);
    }
    let request =
        Request { contents: vec![given, result("2", "4 kg", false)], ..Request::default() };
    let parts = |model: &str| {
        let target = Target::built_in("google", None, model).unwrap();
        let written = WIRE.write_request(&request, &target.dialect);
        let body: Value = serde_json::from_str(&written.body).unwrap();
        body["contents"][0]["parts"].clone()
    };
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": "iVBOR" } });
    let new = parts("gemini-3.8-flash");
    assert_eq!(new[0]["functionResponse"]["parts"], json!([image]));
    assert_eq!(new.as_array().unwrap().len(), 2);
    let old = parts("gemini-2.5-flash");
    assert!(old[0]["functionResponse"]["parts"].is_null());
    assert_eq!(old[0]["functionResponse"]["response"], json!({ "output": "seen" }));
    assert_eq!(old[3], image);
}

#[test]
fn a_request_of_another_wire_is_said_in_parts() {
    let call = |id: &str, name: &str, signature: Option<&str>| {
        Block::ToolCall(ToolCall {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            parameters: Parameters::from_text(r#"{"a":1.0}"#),
            signature: signature.map(str::to_owned),
            extra: Extra::default(),
        })
    };
    let schema = |text: &str| Some(Raw::parse(text).unwrap());
    let function = |name: &str, parameters| Tool::Function {
        name: name.to_owned(),
        description: None,
        parameters,
        extra: Extra::default(),
    };
    let blocks = vec![
        Block::Thinking(Thinking::new("hm", "thought")),
        Block::Text(signed("so", "t")),
        call("1", "f", Some("s")),
        call("2", "g", None),
    ];
    let request = Request {
        model: "gemini-3-pro".to_owned(),
        contents: vec![
            Content::text(Speaker::System, "be brief"),
            Content::text(Speaker::Human, "hi"),
            Content::new(Speaker::Ai, vec![]),
            Content::new(Speaker::Ai, blocks),
            result("1", "one", false),
            result("2", "two", true),
        ],
        tools: vec![
            function("f", schema(r#"{"type":"object"}"#)),
            function("g", schema(r#"{"type":"object","additionalProperties":false}"#)),
        ],
        tool_choice: Some(ToolChoice::Tool("f".to_owned())),
        max_tokens: Some(9),
        stop: vec!["END".to_owned()],
        format: Some(AnswerFormat::Json),
        ..Request::default()
    };
    let args = json!({ "a": 1.0 });
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "be brief" }] },
        "contents": [
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [
                { "text": "hm", "thought": true },
                { "text": "so", "thoughtSignature": "t" },
                { "functionCall": { "id": "1", "name": "f", "args": args }, "thoughtSignature": "s" },
                { "functionCall": { "id": "2", "name": "g", "args": args } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "1", "name": "f", "response": { "output": "one" } } },
                { "functionResponse": { "id": "2", "name": "g", "response": { "error": "two" } } },
            ] },
        ],
        "tools": [{ "functionDeclarations": [
            { "name": "f", "parameters": { "type": "object" } },
            { "name": "g", "parametersJsonSchema": { "type": "object", "additionalProperties": false } },
        ] }],
        "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["f"] } },
        "generationConfig": {
            "maxOutputTokens": 9,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
        },
    });
    assert_eq!(written(&request), expected);
}

#[test]
fn the_amount_of_thinking_is_said_as_the_model_takes_it() {
    let config = |model: &str, change: fn(&mut Request)| {
        let mut request = Request { model: model.to_owned(), ..Request::default() };
        change(&mut request);
        written(&request)["generationConfig"]["thinkingConfig"].clone()
    };
    let off = |request: &mut Request| request.reasoning.enabled = Some(false);
    let xhigh = |request: &mut Request| request.reasoning.effort = Some(Effort::Xhigh);
    let budget = |request: &mut Request| {
        request.reasoning.max_tokens = Some(2000);
        request.reasoning.show = Some(true);
    };
    assert_eq!(config("gemini-2.5-flash", off), json!({ "thinkingBudget": 0 }));
    assert_eq!(config("gemini-2.5-pro", off), json!({ "thinkingBudget": 128 }));
    assert_eq!(config("gemini-3-pro", off), json!({ "thinkingLevel": "low" }));
    assert_eq!(config("gemini-2.5-pro", xhigh), json!({ "thinkingBudget": 24576 }));
    assert_eq!(config("gemini-3-pro", xhigh), json!({ "thinkingLevel": "high" }));
    let both = json!({ "thinkingBudget": 2000, "includeThoughts": true });
    assert_eq!(config("models/gemini-2.5-pro", budget), both);
    assert_eq!(config("gemini-3-pro", |_| {}), Value::Null);
}

/// What is wanted differently replaces what came, and the rest stays.
#[test]
fn a_read_request_is_changed_only_where_it_is_wanted() {
    let body = json!({
        "contents": [],
        "generation_config": {
            "max_output_tokens": 5,
            "top_k": 3,
            "thinking_config": { "thinking_budget": 100, "include_thoughts": true },
        },
    });
    let text = body.to_string();
    let doc = Doc::parse_str(&text).unwrap();
    let mut request = WIRE.read_request(doc.root()).unwrap();
    assert_eq!((request.max_tokens, request.reasoning.max_tokens), (Some(5), Some(100)));
    let config = json!({
        "max_output_tokens": 5,
        "top_k": 3,
        "thinkingConfig": { "thinkingBudget": 100, "includeThoughts": true },
    });
    assert_eq!(written(&request)["generationConfig"], config);
    request.model = "gemini-3-pro".to_owned();
    request.max_tokens = Some(6);
    request.reasoning.max_tokens = None;
    request.reasoning.effort = Some(Effort::Medium);
    let config = json!({
        "maxOutputTokens": 6,
        "top_k": 3,
        "thinkingConfig": { "thinkingLevel": "medium", "includeThoughts": true },
    });
    assert_eq!(written(&request)["generationConfig"], config);
}

#[test]
fn requests_say_where_they_are_wrong() {
    let at = |body: Value| {
        let text = body.to_string();
        let doc = Doc::parse_str(&text).unwrap();
        WIRE.read_request(doc.root()).unwrap_err().at
    };
    assert_eq!(at(json!([])), "body");
    assert_eq!(at(json!({ "contents": 1 })), "contents");
    assert_eq!(at(json!({ "contents": [{}, 1] })), "contents[1]");
    assert_eq!(at(json!({ "contents": [{ "parts": ["a"] }] })), "contents[0].parts[0]");
}

#[test]
fn the_model_stands_in_the_path() {
    assert_eq!(WIRE.path("gemini-3-pro", false), "/v1beta/models/gemini-3-pro:generateContent");
    let path = "/v1beta/tunedModels/a%3Fb:streamGenerateContent?alt=sse";
    assert_eq!(WIRE.path("tunedModels/a?b", true), path);
}

#[test]
fn t_10_a_models_name_is_one_part_of_the_path_unless_it_is_a_resource() {
    for (model, expected) in [
        ("models/gemini-3-pro", "models/gemini-3-pro"),
        ("publishers/google/models/gemini-3", "publishers/google/models/gemini-3"),
        ("projects/p/locations/l/endpoints/1", "projects/p/locations/l/endpoints/1"),
        (
            "projects/p/locations/l/publishers/google/models/m@1",
            "projects/p/locations/l/publishers/google/models/m@1",
        ),
        ("flash/../../models/pro", "models/flash%2F..%2F..%2Fmodels%2Fpro"),
        ("models/flash/x", "models/models%2Fflash%2Fx"),
        ("accounts/a/models/m", "models/accounts%2Fa%2Fmodels%2Fm"),
        ("a%2fb", "models/a%252fb"),
        ("a?key=b#c", "models/a%3Fkey%3Db%23c"),
        ("a:b", "models/a%3Ab"),
    ] {
        let path = format!("/v1beta/{expected}:generateContent");
        assert_eq!(WIRE.path(model, false), path, "{model}");
    }
}

#[test]
fn b_2_a_reason_that_is_0_is_reported() {
    for (reason, expected) in [("0", true), ("1", false), ("null", false)] {
        let body = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"x"}}]}},"finishReason":{reason}}}]}}"#
        );
        let answer = whole(WIRE, body.as_bytes());
        assert_eq!(!answer.problems.is_empty(), expected, "{body}");
        assert_eq!(answer.finish_reason.is_some(), reason == "1");
    }
}

#[test]
fn b_5_unsigned_parts_of_a_thought_go_back_as_the_parts_that_they_were() {
    let thought = |at: usize| json!({ "text": format!("step {at}, "), "thought": true });
    let parts: Vec<Value> = (0..8).map(thought).chain([json!({ "text": "x" })]).collect();
    let body = json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] });
    let answer = whole(WIRE, body.to_string().as_bytes());
    let [Block::Thinking(thinking), Block::Text(_)] = &answer.blocks[..] else { panic!() };
    assert_eq!(thinking.thought.len(), 8 * "step 0, ".len());
    let written = |contents: Vec<Content>| {
        let request = Request { model: "m".to_owned(), contents, ..Request::default() };
        let body = WIRE.write_request(&request, &Dialect::PLAIN).body;
        let body: Value = serde_json::from_str(&body).unwrap();
        body["contents"][0]["parts"].clone()
    };
    assert_eq!(written(vec![answer.clone().into_content(None)]), json!(parts));
    // A thought that was changed since is one part.
    let mut changed = answer.into_content(None);
    let Some(Block::Thinking(thinking)) = changed.blocks.first_mut() else { panic!() };
    thinking.thought.push('!');
    assert_eq!(written(vec![changed]).as_array().unwrap().len(), 2);
}
