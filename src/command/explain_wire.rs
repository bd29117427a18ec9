//! Detects the wire of a request by members that only one wire has.

use crate::failure::Failure;
use thinkthrough_core::wire::{self, Wire};
use thinkthrough_json::{Doc, Val};

/// The wire of a request without such members. Every wire with `messages` reads it alike.
const PLAIN: &str = "chat-completions";

/// Detects the wire of this request.
///
/// # Errors
/// If it has members of several wires; the error names them.
pub(super) fn of(body: &[u8]) -> Result<&'static dyn Wire, Failure> {
    let doc = Doc::parse(body).map_err(|error| {
        Failure::Failed(format!("the request is {error}; give a request of a model's API"))
    })?;
    let shown = shown(doc.root());
    let [id] = shown.as_slice() else {
        let message = format!(
            "the request has members of several wires; say which one with `--from {}`",
            shown.join("` or `--from ")
        );
        return Err(Failure::Usage(message));
    };
    wire::find(id).ok_or_else(|| Failure::Failed(format!("the wire `{id}` is not known")))
}

/// Lists the wires whose own members the request has, or the plain one if it has none.
fn shown(root: Val<'_>) -> Vec<&'static str> {
    let is_of = [
        (PLAIN, is_chat as fn(Val<'_>) -> bool),
        ("cohere-chat", is_cohere_chat),
        ("converse", is_converse),
        ("generate-content", |root| root.some("contents").is_some()),
        ("interactions", is_interactions),
        ("messages", is_messages),
        ("mistral-chat", is_mistral_chat),
        ("ollama-chat", is_ollama_chat),
        ("responses", is_responses),
    ];
    let shown: Vec<&str> =
        is_of.into_iter().filter(|(_, is_it)| is_it(root)).map(|(id, _)| id).collect();
    if shown.is_empty() { vec![PLAIN] } else { shown }
}

fn is_chat(root: Val<'_>) -> bool {
    let call = |call: Val<'_>| call.path(&["function", "arguments"]).is_some_and(is_text);
    let is_own = root.some("messages").is_some()
        && ["stream_options", "max_completion_tokens", "parallel_tool_calls", "reasoning_effort"]
            .iter()
            .any(|name| root.some(name).is_some());
    is_own || calls(root).any(call)
}

fn is_cohere_chat(root: Val<'_>) -> bool {
    let has_plan = messages(root).any(|message| message.some("tool_plan").is_some());
    let budget = root.path(&["thinking", "token_budget"]);
    root.some("messages").is_some()
        && (has_plan || budget.is_some() || root.some("safety_mode").is_some())
}

fn is_converse(root: Val<'_>) -> bool {
    let own = ["inferenceConfig", "toolConfig", "additionalModelRequestFields"];
    let blocks = ["toolUse", "toolResult", "reasoningContent"];
    own.iter().any(|name| root.some(name).is_some())
        || parts(root).any(|part| blocks.iter().any(|name| part.some(name).is_some()))
}

fn is_interactions(root: Val<'_>) -> bool {
    let steps = ["user_input", "model_output", "function_result", "thought"];
    let input = root.some("input");
    input.is_some() && root.some("system_instruction").is_some()
        || items(input).any(|item| steps.contains(&&*item.text("type").unwrap_or_default()))
}

fn is_messages(root: Val<'_>) -> bool {
    let blocks = ["tool_use", "tool_result", "redacted_thinking", "server_tool_use"];
    let is_block = |part: Val<'_>| {
        let kind = part.text("type").unwrap_or_default();
        let is_thought = kind == "thinking" && part.some("thinking").is_some_and(is_text);
        is_thought || blocks.contains(&&*kind)
    };
    let system = root.some("system").filter(|_| root.some("messages").is_some());
    let is_typed = |system: Val<'_>| system.items().any(|item| item.some("type").is_some());
    system.is_some_and(|system| is_text(system) || is_typed(system))
        || items(root.some("tools")).any(|tool| tool.some("input_schema").is_some())
        || root.path(&["thinking", "budget_tokens"]).is_some()
        || parts(root).any(is_block)
}

fn is_mistral_chat(root: Val<'_>) -> bool {
    let is_thought = |part: Val<'_>| part.some("thinking").is_some_and(Val::is_array);
    parts(root).any(is_thought)
}

fn is_ollama_chat(root: Val<'_>) -> bool {
    let call = |call: Val<'_>| call.path(&["function", "arguments"]).is_some_and(Val::is_object);
    let own = ["options", "keep_alive", "think"];
    let is_own = own.iter().any(|name| root.some(name).is_some());
    root.some("messages").is_some() && (is_own || calls(root).any(call))
}

fn is_responses(root: Val<'_>) -> bool {
    root.some("input").is_some() && !is_interactions(root)
}

fn messages(root: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    items(root.some("messages"))
}

/// The parts of all messages.
fn parts(root: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    messages(root).flat_map(|message| items(message.some("content")))
}

fn calls(root: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    messages(root).flat_map(|message| items(message.some("tool_calls")))
}

fn is_text(value: Val<'_>) -> bool {
    value.as_str().is_some()
}

fn items(list: Option<Val<'_>>) -> impl Iterator<Item = Val<'_>> {
    list.into_iter().flat_map(Val::items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The requests below a folder of a wire.
    fn requests(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        entries
            .flat_map(|path| match path.is_dir() {
                true if path.ends_with("requests") => requests(&path),
                false if folder.ends_with("requests") || path.ends_with("request.json") => {
                    vec![read(&path)]
                }
                _ => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn no_request_of_the_fixtures_is_taken_for_one_of_another_wire() {
        let mut seen = 0;
        for wire in wire::ALL {
            let folder =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires").join(wire.id());
            for request in requests(&folder) {
                let doc = Doc::parse_str(&request).unwrap();
                let shown = shown(doc.root());
                // A request without distinctive members is plain on every wire with messages.
                assert!(
                    shown.contains(&wire.id()) || shown == [PLAIN],
                    "{}: {shown:?} {request}",
                    wire.id()
                );
                seen += 1;
            }
        }
        assert!(seen > 15, "{seen}");
    }

    #[test]
    fn what_two_wires_have_alone_is_asked_about() {
        let both = br#"{"system":"s","messages":[],"keep_alive":"5m"}"#;
        let refused = of(both).map(Wire::id);
        assert!(matches!(refused, Err(Failure::Usage(_))));
        let plain = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}]}"#;
        assert_eq!(of(plain).ok().map(Wire::id), Some(PLAIN));
        let tools = br#"{"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f","input_schema":{}}]}"#;
        assert_eq!(of(tools).ok().map(Wire::id), Some("messages"));
    }
}
