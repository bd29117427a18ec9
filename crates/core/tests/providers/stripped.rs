//! Where thoughts are left out of a request, no form of them is left in it: no text, payload or place of its own.

use serde_json::{Value, json};
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Origin, Other, Speaker, Text, Thinking, ToolCall,
    ToolResponse,
};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Layer, Partial, Resolved, Source, resolve};
use thinkthrough_core::wire::{self, Wire};
use thinkthrough_json::{Doc, Extra, Raw};

/// A provider of each wire, and the field that thoughts come in there.
const WIRES: [(&str, &str, &str); 9] = [
    ("chat-completions", "openai-compatible", "reasoning_content"),
    ("responses", "openai", "summary"),
    ("messages", "anthropic", "thinking"),
    ("generate-content", "google", "thought"),
    ("ollama-chat", "ollama", "thinking"),
    ("converse", "bedrock", "reasoningContent"),
    ("mistral-chat", "mistral", "thinking"),
    ("cohere-chat", "cohere", "thinking"),
    ("interactions", "google", "thought"),
];

/// What stands wherever a thought or a part of one is.
const MARK: &str = "TUFSSw";

fn target(wire: &str, provider: &str) -> Target {
    let target = Target::built_in(provider, Some(wire), "some-model").unwrap();
    target.with_contract(Contract::NONE, "test")
}

fn settings(pairs: &[(&str, &str)]) -> Resolved {
    let mut partial = Partial::default();
    for (key, value) in pairs {
        partial.set(key, value).unwrap();
    }
    resolve(&[Layer { source: Source::Session, values: partial }])
}

/// All ways of leaving thoughts out.
const WITHOUT: [&[(&str, &str)]; 3] = [
    &[("reasoning.includeInContext", "false")],
    &[("reasoning.includeInContext", "true"), ("reasoning.stripFromContext", "all")],
    &[("reasoning.includeInContext", "true"), ("reasoning.enabled", "false")],
];

fn sent(contents: &[Content], target: &Target, pairs: &[(&str, &str)]) -> String {
    let request = Request { model: "m".into(), contents: contents.to_vec(), ..Request::default() };
    build(&request, target, &settings(pairs)).body
}

fn extra(wire: &'static str, key: &str, value: &Value) -> Extra {
    let mut extra = Extra::default();
    extra.insert(wire, key, Raw::parse(&value.to_string()).unwrap());
    extra
}

/// The forms in which an answer carries a thought or a part of one.
fn forms(wire: &'static str, field: &str) -> Vec<(&'static str, Content)> {
    let thinking = |text: &str| Thinking::new(text, field);
    let mark = || Some(MARK.to_owned());
    let of = |block: Block| Content::new(Speaker::Ai, vec![block, Block::text("said")]);
    let call = ToolCall { signature: mark(), ..ToolCall::new(Some("c1"), "f") };
    let data = MediaSource::Data("aGk=".into());
    let media = |key: &str| Media {
        media_type: "image/png".into(),
        source: data.clone(),
        extra: extra(wire, key, &json!(MARK)),
    };
    let raw = |value: Value| {
        let kind = value.as_object().unwrap().keys().next().unwrap().clone();
        Block::Other(Other::new(wire, kind, Raw::parse(&value.to_string()).unwrap()))
    };
    let list = || Some(vec![MARK.to_owned()]);
    let signed =
        Content { signature: mark(), ..Content::new(Speaker::Ai, vec![Block::text("said")]) };
    let mut forms = vec![
        ("text", of(Block::Thinking(thinking(MARK)))),
        ("signature", of(Block::Thinking(Thinking { signature: mark(), ..thinking("so") }))),
        ("redacted", of(Block::Thinking(Thinking { redacted_data: mark(), ..thinking("") }))),
        (
            "encrypted",
            of(Block::Thinking(Thinking { encrypted_content: mark(), ..thinking("so") })),
        ),
        ("id", of(Block::Thinking(Thinking { id: mark(), ..thinking("so") }))),
        (
            "parts",
            of(Block::Thinking(Thinking { summary: list(), content: list(), ..thinking(MARK) })),
        ),
        (
            "field of the thought",
            of(Block::Thinking(Thinking {
                extra: extra(wire, "novel", &json!(MARK)),
                ..thinking("so")
            })),
        ),
        ("tags", of(Block::Thinking(Thinking::new(MARK, "think_tags")))),
        ("signature of a text", of(Block::Text(Text { signature: mark(), ..Text::new("hi") }))),
        ("signature of a call", of(Block::ToolCall(call))),
        ("signature of the message", signed),
    ];
    if wire == "generate-content" {
        let code = json!({"language": "PYTHON", "code": "1"});
        let image = json!({"mimeType": "image/png", "data": MARK});
        forms.extend([
            ("signature of an image", of(Block::Media(media("thoughtSignature")))),
            ("signature of an image in snake case", of(Block::Media(media("thought_signature")))),
            (
                "signature of a raw part",
                of(raw(json!({"executableCode": code, "thoughtSignature": MARK}))),
            ),
            (
                "signature of a raw part in snake case",
                of(raw(json!({"executable_code": code, "thought_signature": MARK}))),
            ),
            ("thought image", of(raw(json!({"inlineData": image, "thought": true})))),
        ]);
    }
    forms
}

/// A conversation of which this is the answer, with a result for its call.
fn conversation(answer: Content, target: &Target) -> Vec<Content> {
    let origin: Origin = target.origin(None);
    let has_call = answer.tool_calls().next().is_some();
    let mut contents = vec![Content::text(Speaker::Human, "go"), answer];
    contents[1].origin = Some(origin);
    if has_call {
        let response = ToolResponse {
            call_id: Some("c1".into()),
            name: Some("f".into()),
            result: Raw::string("done").into(),
            is_error: false,
            extra: Extra::default(),
        };
        contents.push(Content::new(Speaker::Tool, vec![Block::ToolResponse(response)]));
    }
    contents.push(Content::text(Speaker::Human, "and?"));
    contents
}

#[test]
fn req_think_004_4_no_form_of_a_thought_is_in_any_wires_body() {
    let mut kept = Vec::new();
    for (wire, provider, field) in WIRES {
        let target = target(wire, provider);
        for (form, answer) in forms(target.wire.id(), field) {
            let contents = conversation(answer, &target);
            if sent(&contents, &target, &[("reasoning.includeInContext", "true")]).contains(MARK) {
                kept.push((wire, form));
            }
            for without in WITHOUT {
                let body = sent(&contents, &target, without);
                assert!(!body.contains(MARK), "{wire}, {form}, {without:?}: {body}");
            }
        }
    }
    // The same contents with thoughts sent back do carry it, so that the mark is no mark of nothing.
    for (wire, _, _) in WIRES {
        assert!(kept.contains(&(wire, "text")), "{wire}: {kept:?}");
    }
    let sealed = [
        ("chat-completions", "signature of a call"),
        ("converse", "redacted"),
        ("converse", "signature"),
        ("generate-content", "signature of a call"),
        ("generate-content", "signature of a raw part"),
        ("generate-content", "signature of a text"),
        ("generate-content", "signature of an image"),
        ("generate-content", "thought image"),
        ("interactions", "signature"),
        ("messages", "redacted"),
        ("messages", "signature"),
        ("responses", "encrypted"),
        ("responses", "id"),
    ];
    for cell in sealed {
        assert!(kept.contains(&cell), "{cell:?}: {kept:?}");
    }
}

/// A chat answer in which every server's own place for a thought is filled.
fn chat_answer() -> Value {
    let google = json!({"google": {"thought_signature": MARK}});
    let function = json!({"name": "f", "arguments": "{}"});
    json!({"role": "assistant", "content": "said",
        "reasoning_content": MARK, "reasoning": MARK, "reasoning_text": MARK,
        "reasoning_details": [
            {"type": "reasoning.text", "text": MARK, "signature": MARK, "id": MARK, "index": 0},
            {"type": "reasoning.encrypted", "data": MARK, "index": 1},
            {"type": "reasoning.summary", "summary": MARK, "index": 2},
            {"type": "reasoning.novel", "novel": MARK, "index": 3}],
        "thinking_blocks": [{"type": "thinking", "thinking": MARK, "signature": MARK},
            {"type": "redacted_thinking", "data": MARK}],
        "extra_content": google,
        "tool_calls": [{"id": "c1", "type": "function", "function": function, "extra_content": google},
            {"id": "c2", "type": "function", "function": function, "thoughtSignature": MARK},
            {"id": "c3", "type": "function", "function": function,
                "provider_specific_fields": {"thought_signature": MARK}}]})
}

/// What callers write on each wire, with the mark wherever a part of a thought is.
fn bodies() -> Vec<(&'static str, Value)> {
    let user = json!({"role": "user", "content": "go"});
    let chat = chat_answer();
    let parts = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": MARK}], "signature": MARK},
        {"type": "text", "text": "said"}]});
    let image = json!({"mimeType": "image/png", "data": "aGk="});
    vec![
        ("chat-completions", json!({"model": "m", "messages": [user, chat, user, parts, user]})),
        ("mistral-chat", json!({"model": "m", "messages": [user, parts, user]})),
        (
            "responses",
            json!({"model": "m", "input": [
            {"type": "message", "role": "user", "content": "go"},
            {"type": "reasoning", "id": MARK, "summary": [{"type": "summary_text", "text": MARK}],
                "content": [{"type": "reasoning_text", "text": MARK}], "encrypted_content": MARK},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "said", "annotations": []}]},
            {"type": "message", "role": "user", "content": "and?"}]}),
        ),
        (
            "messages",
            json!({"model": "m", "max_tokens": 9, "messages": [user,
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": MARK, "signature": MARK},
                {"type": "redacted_thinking", "data": MARK},
                {"type": "text", "text": "said"}]}, user]}),
        ),
        (
            "generate-content",
            json!({"contents": [{"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": MARK, "thought": true, "thoughtSignature": MARK},
                {"inlineData": {"mimeType": "image/png", "data": MARK}, "thought": true},
                {"text": "said", "thoughtSignature": MARK},
                {"text": "", "thought_signature": MARK},
                {"inlineData": image, "thoughtSignature": MARK},
                {"inline_data": image, "thought_signature": MARK},
                {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": MARK},
                {"functionCall": {"name": "f", "args": {}}, "thought_signature": MARK}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}]}),
        ),
        (
            "ollama-chat",
            json!({"model": "m", "messages": [user,
            {"role": "assistant", "content": "said", "thinking": MARK}, user]}),
        ),
        (
            "converse",
            json!({"messages": [{"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": MARK, "signature": MARK}}},
                {"reasoningContent": {"redactedContent": MARK}},
                {"text": "said"}]},
            {"role": "user", "content": [{"text": "and?"}]}]}),
        ),
        (
            "cohere-chat",
            json!({"model": "m", "messages": [user,
            {"role": "assistant", "content": [{"type": "thinking", "thinking": MARK},
                {"type": "text", "text": "said"}]}, user]}),
        ),
        (
            "interactions",
            json!({"model": "m", "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
            {"type": "thought", "signature": MARK, "summary": [{"type": "text", "text": MARK}]},
            {"type": "model_output", "content": [{"type": "text", "text": "said"}]},
            {"type": "user_input", "content": [{"type": "text", "text": "and?"}]}]}),
        ),
    ]
}

#[test]
fn req_think_004_4_no_form_of_a_callers_thought_is_in_any_wires_body() {
    for (from, body) in bodies() {
        let from: &dyn Wire = wire::find(from).unwrap();
        let text = body.to_string();
        let doc = Doc::parse_str(&text).unwrap();
        let request = from.read_request(doc.root()).unwrap();
        for (wire, provider, _) in WIRES {
            let target = target(wire, provider);
            let with = settings(&[("reasoning.includeInContext", "true")]);
            let with = build(&request, &target, &with).body;
            assert!(wire != from.id() || with.contains(MARK), "{wire}: {with}");
            for without in WITHOUT {
                let body = build(&request, &target, &settings(without)).body;
                assert!(!body.contains(MARK), "{} to {wire}, {without:?}: {body}", from.id());
                assert!(body.contains("said"), "{} to {wire}: {body}", from.id());
            }
        }
    }
}
