//! Renders the answer as a stream of small deltas.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::whole::{detail, thinking_chunk};
use super::{CREATED, Carrier, House, Reply, UsageAt, details, google};
use crate::gemini;
use crate::json::Keyed;
use crate::pieces::pieces;
use crate::reply::{Answer, data, event};

pub(super) fn render(reply: &Reply<'_>) -> Answer {
    let mut frames = Vec::new();
    if reply.dialect.keeps_alive() {
        frames.push(": keep-alive\n\n".to_owned());
    } else if reply.dialect.house == House::OpenRouter {
        frames.push(": OPENROUTER PROCESSING\n\n".to_owned());
    }
    // The deltas of several choices alternate.
    let mut choices: Vec<_> =
        reply.all().into_iter().map(|reply| (pieces_of(&reply), reply)).collect();
    while choices.iter().any(|(pieces, _)| !pieces.is_empty()) {
        for (pieces, reply) in &mut choices {
            frames.extend(pieces.pop_front().map(|delta| data(&chunk(reply, &delta))));
        }
    }
    let last = choices.len().saturating_sub(1);
    for (at, (_, reply)) in choices.iter().enumerate() {
        // Each choice gets its finish chunk. The other closing chunks come once, after the last
        // choice.
        let own = if at == last { usize::MAX } else { 1 };
        frames.extend(closing(reply).into_iter().take(own));
    }
    frames.push("data: [DONE]\n\n".to_owned());
    Answer::events(frames, error_event(reply))
}

fn pieces_of(reply: &Reply<'_>) -> VecDeque<Value> {
    let said = thought(reply).into_iter().chain(text(reply)).chain(calls(reply));
    std::iter::once(opening(reply)).chain(said).collect()
}

fn chunk(reply: &Reply<'_>, delta: &Value) -> Value {
    json!({
        "id": reply.id,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": reply.model,
        "choices": [{"index": reply.index, "delta": delta, "finish_reason": null}],
    })
}

fn opening(reply: &Reply<'_>) -> Value {
    if matches!(reply.dialect.house, House::DeepSeek | House::MiMo | House::Qwen) {
        json!({"role": "assistant", "content": null, "reasoning_content": ""})
    } else {
        json!({"role": "assistant", "content": ""})
    }
}

fn thought(reply: &Reply<'_>) -> Vec<Value> {
    let thought = if reply.hidden { "" } else { reply.plan.thought.as_str() };
    let parts = pieces(thought).into_iter();
    match reply.dialect.carrier {
        Carrier::ReasoningContent if reply.dialect.house == House::DeepSeek => {
            parts.map(|part| json!({"content": null, "reasoning_content": part})).collect()
        }
        Carrier::ReasoningContent => parts.map(|part| json!({"reasoning_content": part})).collect(),
        Carrier::Reasoning => parts.map(|part| json!({"reasoning": part})).collect(),
        Carrier::ThinkTags if reply.split => parts
            .map(|part| json!({"content": "", "reasoning_content": part, "reasoning_details": [detail(part)]}))
            .collect(),
        Carrier::ThinkTags if thought.is_empty() => Vec::new(),
        Carrier::ThinkTags => {
            let tagged = format!("<think>\n{thought}\n</think>\n\n");
            pieces(&tagged).into_iter().map(|part| json!({"content": part})).collect()
        }
        Carrier::Chunks => parts.map(|part| json!({"content": [thinking_chunk(part)]})).collect(),
        Carrier::Details => details::deltas(reply, thought),
        Carrier::ThoughtTags => google::deltas(thought),
    }
}

fn text(reply: &Reply<'_>) -> Vec<Value> {
    let mut deltas: Vec<Value> = pieces(&reply.plan.text)
        .into_iter()
        .map(|part| {
            let mut delta = json!({"content": part});
            if matches!(reply.dialect.house, House::DeepSeek | House::Qwen) {
                delta.set("reasoning_content", Value::Null);
            } else if reply.dialect.carrier == Carrier::Details {
                delta.set("reasoning", Value::Null);
                delta.set("reasoning_details", json!([]));
            }
            delta
        })
        .collect();
    if reply.dialect.carrier == Carrier::ThoughtTags
        && !reply.hidden
        && !reply.plan.thought.is_empty()
    {
        google::close(&mut deltas);
    }
    if reply.dialect.carrier == Carrier::Chunks && !reply.plan.thought.is_empty() {
        // Mistral sends the first words of the answer as a chunk and the rest as plain strings.
        if let Some(first) = deltas.first_mut() {
            let words = first.at("content").clone();
            *first = json!({"content": [{"type": "text", "text": words}]});
        }
    }
    deltas
}

/// Mistral sends all calls at once, without index and type, on the chunk with the finish reason.
fn mistral_calls(reply: &Reply<'_>) -> Value {
    let mut list: Vec<Value> = Vec::new();
    for place in 0..reply.plan.calls.len() {
        let call = reply.call(place, &reply.arguments(place));
        list.push(json!({"id": call.at("id"), "function": call.at("function")}));
    }
    json!({"content": null, "tool_calls": list})
}

fn calls(reply: &Reply<'_>) -> Vec<Value> {
    let mut out = Vec::new();
    if reply.dialect.house == House::Mistral {
        return out;
    }
    for place in 0..reply.plan.calls.len() {
        let arguments = reply.arguments(place);
        let at_once = matches!(
            reply.dialect.house,
            House::Groq | House::Cerebras | House::Xai | House::Google
        );
        let mut head = reply.call(place, if at_once { &arguments } else { "" });
        head.set("index", json!(place));
        out.push(json!({"tool_calls": [head]}));
        if !at_once {
            for part in pieces(&arguments) {
                out.push(
                    json!({"tool_calls": [{"index": place, "function": {"arguments": part}}]}),
                );
            }
        }
    }
    out
}

fn closing(reply: &Reply<'_>) -> Vec<String> {
    let mut delta = json!({});
    if reply.dialect.house == House::DeepSeek {
        delta = json!({"content": "", "reasoning_content": null});
    } else if reply.dialect.carrier == Carrier::ThoughtTags && reply.plan.calls.is_empty() {
        delta = json!({"content": "", "extra_content": google::signed(&reply.signature)});
    } else if matches!(reply.dialect.house, House::Mistral | House::Zai | House::OpenRouter) {
        delta = json!({"content": ""});
    }
    if reply.dialect.house == House::Mistral && !reply.plan.calls.is_empty() {
        delta = mistral_calls(reply);
    }
    let mut last = chunk(reply, &delta);
    if let Some(choice) = last.pointer_mut("/choices/0") {
        choice.set("finish_reason", json!(reply.finish_reason()));
    }
    match reply.dialect.usage {
        UsageAt::Finish => last.set("usage", reply.usage.clone()),
        UsageAt::FinishTwice => {
            last.set("usage", reply.usage.clone());
            last.set("x_groq", json!({"id": reply.id, "usage": reply.usage}));
        }
        UsageAt::Separate | UsageAt::AfterFinish => {}
    }
    let mut frames = vec![data(&last)];
    if reply.dialect.usage == UsageAt::AfterFinish {
        // This chunk adds usage; its delta has no new content.
        let mut tail = chunk(reply, &json!({"role": "assistant", "content": ""}));
        tail.set("usage", reply.usage.clone());
        frames.push(data(&tail));
    }
    if reply.dialect.usage == UsageAt::Separate && reply.with_usage {
        let mut tail = chunk(reply, &Value::Null);
        tail.set("choices", json!([]));
        tail.set("usage", reply.usage.clone());
        frames.push(data(&tail));
    }
    frames
}

fn error_event(reply: &Reply<'_>) -> String {
    let text = "The server had an error while processing your request.";
    match reply.dialect.house {
        House::Groq => event(
            "error",
            &json!({"error": {"message": text, "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "", "status_code": 400}}),
        ),
        House::Vllm => data(
            &json!({"error": {"message": text, "type": "InternalServerError", "param": null, "code": 500}}),
        ),
        House::Mistral => data(
            &json!({"object": "error", "message": text, "type": "internal_server_error", "param": null, "code": "1000"}),
        ),
        House::MiniMax => data(
            &json!({"type": "error", "error": {"type": "server_error", "message": text, "http_code": "500"}}),
        ),
        House::OpenRouter => data(&json!({
            "id": reply.id, "object": "chat.completion.chunk", "created": CREATED, "model": reply.model,
            "error": {"code": 502, "message": "Provider returned error"},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
        })),
        House::Google => data(&gemini::refusal(&gemini::STUDIO, 503, text).body),
        House::Kimi
        | House::DeepSeek
        | House::MiMo
        | House::Cerebras
        | House::Zai
        | House::Qwen
        | House::LlamaCpp
        | House::Xai => data(
            &json!({"error": {"message": text, "type": "server_error", "param": null, "code": "internal_error"}}),
        ),
    }
}
