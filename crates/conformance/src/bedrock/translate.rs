//! Translates Converse to Messages and back, so that one judge reads both.

use serde_json::{Map, Value, json};

use crate::json::Keyed;

/// The same request for Messages, and its beta flags.
///
/// An error is the sentence of the refusal.
pub(super) fn request(model: &str, body: &Value, stream: bool) -> Result<(Value, String), String> {
    let mut messages = Vec::new();
    for (place, message) in body.at("messages").as_array().into_iter().flatten().enumerate() {
        let mut blocks = Vec::new();
        for (index, block) in message.at("content").as_array().into_iter().flatten().enumerate() {
            let at = || format!("Unknown content block at messages[{place}].content[{index}]");
            if block.get("cachePoint").is_none() {
                blocks.push(inward(block).ok_or_else(at)?);
            }
        }
        messages.push(json!({"role": message.at("role"), "content": blocks}));
    }
    let mut fields =
        body.at("additionalModelRequestFields").as_object().cloned().unwrap_or_default();
    let beta = fields.remove("anthropic_beta").unwrap_or(Value::Null);
    let beta: Vec<&str> = beta.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let config = body.at("inferenceConfig");
    let budget = fields.get("thinking").and_then(|thinking| thinking.at("budget_tokens").as_u64());
    let cap = config.at("maxTokens").as_u64().unwrap_or(4096 + budget.unwrap_or(0));
    let mut out = Map::from_iter([
        ("model".to_owned(), json!(model)),
        ("max_tokens".to_owned(), json!(cap)),
        ("messages".to_owned(), json!(messages)),
        ("stream".to_owned(), json!(stream)),
    ]);
    for (from, to) in
        [("temperature", "temperature"), ("topP", "top_p"), ("stopSequences", "stop_sequences")]
    {
        if let Some(value) = config.get(from) {
            out.insert(to.to_owned(), value.clone());
        }
    }
    let system = body
        .at("system")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part.at("text").as_str());
    let system: Vec<Value> = system.map(|text| json!({"type": "text", "text": text})).collect();
    if !system.is_empty() {
        out.insert("system".to_owned(), json!(system));
    }
    tools(body.at("toolConfig"), &mut out);
    out.extend(fields);
    Ok((Value::Object(out), beta.join(",")))
}

fn tools(config: &Value, out: &mut Map<String, Value>) {
    let specs =
        config.at("tools").as_array().into_iter().flatten().filter_map(|tool| tool.get("toolSpec"));
    let list: Vec<Value> = specs
        .map(|tool| {
            json!({
                "name": tool.at("name"), "description": tool.at("description").as_str().unwrap_or_default(),
                "input_schema": tool.at("inputSchema").at("json"),
            })
        })
        .collect();
    if !list.is_empty() {
        out.insert("tools".to_owned(), json!(list));
    }
    let choice = config.at("toolChoice");
    if choice.get("any").is_some() {
        out.insert("tool_choice".to_owned(), json!({"type": "any"}));
    } else if let Some(tool) = choice.get("tool") {
        out.insert("tool_choice".to_owned(), json!({"type": "tool", "name": tool.at("name")}));
    }
}

/// Translates a content block of Converse to Messages. Returns `None` for an unknown block.
fn inward(block: &Value) -> Option<Value> {
    let (kind, value) = block.as_object()?.iter().next()?;
    match kind.as_str() {
        "text" => Some(json!({"type": "text", "text": value})),
        "toolUse" => Some(json!({
            "type": "tool_use", "id": value.at("toolUseId"), "name": value.at("name"), "input": value.at("input"),
        })),
        "toolResult" => {
            let parts = value.at("content").as_array().into_iter().flatten();
            let text: String = parts
                .map(|part| {
                    part.at("text")
                        .as_str()
                        .map_or_else(|| part.at("json").to_string(), str::to_owned)
                })
                .collect();
            let failed = value.at("status") == "error";
            Some(json!({
                "type": "tool_result", "tool_use_id": value.at("toolUseId"), "content": text, "is_error": failed,
            }))
        }
        "reasoningContent" => {
            if let Some(data) = value.get("redactedContent") {
                return Some(json!({"type": "redacted_thinking", "data": data}));
            }
            let text = value.at("reasoningText");
            let mut out = json!({"type": "thinking", "thinking": text.at("text").as_str().unwrap_or_default()});
            if let Some(signature) = text.get("signature") {
                out.set("signature", signature.clone());
            }
            Some(out)
        }
        "image" | "document" | "video" => Some(json!({"type": "image", "source": value})),
        _ => None,
    }
}

/// Translates a block of an answer from Messages to Converse.
pub(super) fn block(block: &Value) -> Value {
    match block.at("type").as_str() {
        Some("thinking") => {
            let text = json!({"text": block.at("thinking"), "signature": block.at("signature")});
            json!({"reasoningContent": {"reasoningText": text}})
        }
        Some("redacted_thinking") => {
            json!({"reasoningContent": {"redactedContent": block.at("data")}})
        }
        Some("tool_use") => {
            json!({"toolUse": {"toolUseId": tool_id(block), "name": block.at("name"), "input": block.at("input")}})
        }
        Some(_) | None => json!({"text": block.at("text")}),
    }
}

/// The call id in Bedrock's form.
pub(super) fn tool_id(block: &Value) -> String {
    let id = block.at("id").as_str().unwrap_or_default();
    format!("tooluse_{}", id.trim_start_matches("toolu_"))
}
