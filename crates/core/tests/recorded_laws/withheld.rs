//! With `reasoning.includeInContext=false` nothing of a thought goes upstream, whatever its form, and the decisions say
//! what the body says.
//!
//! The judge knows names and nothing else: it shares no code with what takes them out.

use crate::bodies::Body;
use serde_json::{Map, Value, json};
use thinkthrough_core::decision::{Action, Decision};
use thinkthrough_core::exchange::build;
use thinkthrough_core::exchange::{Handling, RequestContext};
use thinkthrough_core::plane::{Open, SealError};
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::{Layer, Partial, Resolved, Source, resolve};
use thinkthrough_core::wire;
use thinkthrough_json::Doc;

/// Members that are reasoning, or a payload of it.
const NAMES: [&str; 12] = [
    "encrypted_content",
    "reasoning",
    "reasoningContent",
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "redacted_thinking",
    "signature",
    "thinking",
    "thinking_blocks",
    "thoughtSignature",
    "thought_signature",
];

/// A provider of each wire.
const PROVIDERS: [(&str, &str); 9] = [
    ("chat-completions", "openai-compatible"),
    ("cohere-chat", "cohere"),
    ("converse", "bedrock"),
    ("generate-content", "google"),
    ("interactions", "google"),
    ("messages", "anthropic"),
    ("mistral-chat", "mistral"),
    ("ollama-chat", "ollama"),
    ("responses", "openai"),
];

/// What is no thought although its name is one of those: what tools are given and give.
const TOOLS: [&str; 7] =
    ["args", "arguments", "input", "output", "parameters", "response", "result"];

/// Where reasoning stands in the messages of a request.
fn found(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for list in ["messages", "input", "contents"] {
        walk(body.get(list).unwrap_or(&Value::Null), list, &mut found);
    }
    found
}

fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{at}[{index}]"), found);
            }
        }
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
            if matches!(kind, "reasoning" | "redacted_thinking" | "thinking" | "thought") {
                found.push(format!("{at}: a block `{kind}`"));
            }
            if members.get("thought") == Some(&Value::Bool(true)) {
                found.push(format!("{at}.thought"));
            }
            let is_given = is_given(members, kind);
            for (key, value) in members {
                let is_sealed_otherwise = key == "encrypted_content"
                    && (kind.contains("search") || kind.contains("compaction"));
                if NAMES.contains(&key.as_str()) && !is_sealed_otherwise {
                    found.push(format!("{at}.{key}"));
                } else if !(TOOLS.contains(&key.as_str()) || is_given && key == "content") {
                    walk(value, &format!("{at}.{key}"), found);
                }
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether this is what a tool gave.
fn is_given(members: &Map<String, Value>, kind: &str) -> bool {
    kind == "tool_result"
        || members.get("role").and_then(Value::as_str) == Some("tool")
        || members.contains_key("toolUseId")
}

/// Opens nothing, for there is nothing to open.
struct Shut;

impl Open for Shut {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

fn without() -> Resolved {
    let mut values = Partial::default();
    values.set("reasoning.includeInContext", "false").unwrap();
    resolve(&[Layer { source: Source::Session, values }])
}

fn hold(name: &str, text: &str, sent: &str, decisions: &[Decision], is_own_wire: bool) {
    let (came, sent): (Value, Value) =
        (serde_json::from_str(text).unwrap(), serde_json::from_str(sent).unwrap());
    assert_eq!(found(&sent), Vec::<String>::new(), "{name}: {sent}");
    // What the vault knows of answers is another matter; what the client sends may go as a part of its answer.
    let goes = |it: &Decision| matches!(it.action, Action::Drop(_) | Action::Withhold);
    let decisions: Vec<_> = decisions.iter().filter(|it| it.block.is_some() || goes(it)).collect();
    let left: Vec<_> = decisions.iter().filter(|it| it.action.is_sent()).collect();
    assert!(left.is_empty(), "{name}: {left:?}");
    if is_own_wire {
        // Where something went, somebody decided so.
        assert_eq!(found(&came).is_empty(), decisions.is_empty(), "{name}: {decisions:?}: {came}");
    }
}

pub(crate) fn check(body: &Body) {
    let value: Value = serde_json::from_slice(&body.bytes).unwrap();
    let value = value.get("body").filter(|body| body.is_object()).cloned().unwrap_or(value);
    through(&body.to_string(), body.wire.id(), &value.to_string());
}

/// A request through the gateway and through the writer, to its own wire and all others.
fn through(name: &str, wire: &str, text: &str) {
    let caller = wire::find(wire).unwrap();
    let doc = Doc::parse_str(text).unwrap();
    for (to, provider) in PROVIDERS {
        let (target, settings) =
            (Target::built_in(provider, Some(to), "some-model").unwrap(), without());
        let asked =
            RequestContext::read(caller, &doc, &target, &settings, Handling::default(), None);
        let Ok(asked) = asked else { return };
        let prepared = asked.prepare(&[], &Shut);
        let body = prepared.body.as_deref().unwrap_or(text);
        let name = format!("{name} to {to}");
        hold(&name, text, body, &prepared.exchange.outgoing().decisions, to == wire);
        let request = caller.read_request(doc.root()).unwrap();
        let written = build(&request, &target, &settings);
        hold(&name, text, &written.body, &written.decisions, to == wire);
    }
}

/// A chat message in which every server's and proxy's own place for a thought is filled.
fn chat() -> Value {
    let google = json!({"google": {"thought_signature": "S"}});
    let function = json!({"name": "f", "arguments": "{\"thinking\":\"mine\"}"});
    json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "T"}], "signature": "S"},
            {"type": "reasoning", "novel": "T"},
            {"type": "text", "text": "said", "thought_signature": "S"}],
        "reasoning_content": ["T"], "reasoning": {"text": "T"}, "reasoning_text": "", "thinking": "T",
        "reasoning_details": "T", "thinking_blocks": {"thinking": "T"}, "thought_signature": "S",
        "signature": "S", "encrypted_content": "S",
        "provider_specific_fields": {"thinking_blocks": [{"thinking": "T"}], "keeps": 1},
        "extra_content": google,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": function, "extra_content": google},
            {"id": "c2", "type": "function", "function": function, "thoughtSignature": "S"},
            {"id": "c3", "type": "function", "signature": "S",
                "function": {"name": "f", "arguments": "{}", "thought_signature": "S"}},
            {"id": "c4", "type": "function", "function": function,
                "provider_specific_fields": {"thought_signature": "S"}}]})
}

/// Requests whose answers are messages of blocks or parts with names.
fn messages() -> Vec<(&'static str, Value)> {
    let user = json!({"role": "user", "content": "go"});
    let plain = json!({"role": "assistant", "content": "said", "reasoning_details": "T"});
    let nothing =
        json!({"role": "assistant", "content": "said", "reasoning": null, "reasoning_content": ""});
    vec![
        ("chat-completions", json!({"model": "m", "messages": [user, chat(), user]})),
        ("chat-completions", json!({"model": "m", "messages": [user, plain, user]})),
        ("chat-completions", json!({"model": "m", "messages": [user, nothing, user]})),
        ("mistral-chat", json!({"model": "m", "messages": [user, chat(), user]})),
        (
            "ollama-chat",
            json!({"model": "m", "messages": [user,
            {"role": "assistant", "content": "said", "thinking": "T", "reasoning": "T",
                "thought_signature": "S"}, user]}),
        ),
        (
            "messages",
            json!({"model": "m", "max_tokens": 9, "messages": [user,
            {"role": "assistant", "reasoning_content": "T", "content": [
                {"type": "thinking", "thinking": ["T"], "signature": "S"},
                {"type": "redacted_thinking", "blob": "S"},
                {"type": "text", "text": "said", "signature": "S"},
                {"type": "server_tool_use", "id": "s", "name": "w", "input": {}, "signature": "S"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"thinking": "mine"},
                    "extra_content": {"google": {"thought_signature": "S"}}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1",
                "content": "1", "thoughtSignature": "S"}]}]}),
        ),
    ]
}

/// The others.
fn parts_and_items() -> Vec<(&'static str, Value)> {
    let user = json!({"role": "user", "content": "go"});
    let image = json!({"mimeType": "image/png", "data": "aGk="});
    vec![
        (
            "generate-content",
            json!({"contents": [{"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "T", "thought": true, "thoughtSignature": "S"},
                {"text": "said", "thought_signature": "S"},
                {"inlineData": image, "thoughtSignature": "S"},
                {"inline_data": image, "thought_signature": "S"},
                {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "S"},
                {"executable_code": {"language": "PYTHON", "code": "1"}, "thought_signature": "S"},
                {"functionCall": {"name": "f", "args": {"thought": "mine"}, "thoughtSignature": "S"}},
                {"function_call": {"name": "f", "args": {}}, "thought_signature": "S"}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {}}, "thoughtSignature": "S"},
                {"functionResponse": {"name": "f", "response": {}}, "thought_signature": "S"}]}]}),
        ),
        (
            "converse",
            json!({"messages": [{"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"novel": "T"}},
                {"text": "said", "signature": "S"},
                {"toolUse": {"toolUseId": "c1", "name": "f", "input": {}, "signature": "S"}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": []}}]}]}),
        ),
        (
            "responses",
            json!({"model": "m", "input": [
            {"type": "message", "role": "user", "content": "go"},
            {"type": "reasoning", "summary": [], "encrypted_content": ""},
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "signature": "S",
                "content": [{"type": "output_text", "text": "said", "annotations": [],
                    "thought_signature": "S"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}",
                "encrypted_content": "S", "thought_signature": "S"},
            {"type": "function_call_output", "call_id": "c", "output": "1"}]}),
        ),
        (
            "interactions",
            json!({"model": "m", "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
            {"type": "thought", "signature": "S", "summary": [{"type": "text", "text": "T"}]},
            {"type": "model_output", "content": [{"type": "text", "text": "said", "signature": "S"}]},
            {"type": "function_call", "id": "c", "name": "f", "arguments": {}, "signature": "S"},
            {"type": "function_result", "call_id": "c", "result": "1", "signature": "S"}]}),
        ),
        (
            "cohere-chat",
            json!({"model": "m", "messages": [user,
            {"role": "assistant", "reasoning_content": "T", "content": [
                {"type": "thinking", "thinking": {"novel": "T"}},
                {"type": "text", "text": "said", "signature": "S"}]}, user]}),
        ),
    ]
}

#[test]
fn no_spelling_of_a_thought_goes_upstream_where_none_is_to() {
    for (wire, body) in messages().into_iter().chain(parts_and_items()) {
        assert!(!found(&body).is_empty(), "{wire}");
        through(wire, wire, &body.to_string());
    }
}

#[test]
fn what_only_has_the_name_of_a_thought_stays() {
    let kept = json!({"role": "assistant", "content": "said", "keeps": 1, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"thinking\":\"mine\"}"}}]});
    let body = json!({"model": "some-model", "messages": [kept,
        {"role": "tool", "tool_call_id": "c", "content": "{\"reasoning\":\"mine\"}"}]});
    let (text, settings) = (body.to_string(), without());
    let doc = Doc::parse_str(&text).unwrap();
    let target = Target::built_in("openai-compatible", None, "some-model").unwrap();
    let caller = wire::find("chat-completions").unwrap();
    let asked =
        RequestContext::read(caller, &doc, &target, &settings, Handling::default(), None).unwrap();
    let prepared = asked.prepare(&[], &Shut);
    let decisions = &prepared.exchange.outgoing().decisions;
    assert!(decisions.iter().all(|it| it.block.is_none()), "{decisions:?}");
    assert_eq!(prepared.body, None);
}
