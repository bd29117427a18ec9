//! Renders the answer as one body or as named events.

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::mind::Plan;
use crate::pieces::pieces;
use crate::reply::{Answer, event};

/// The data of an answer, for both forms.
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) ids: Vec<String>,
    pub(super) usage: Value,
    pub(super) thinking: bool,
    pub(super) plan: Plan,
}

impl Reply {
    fn finish_reason(&self) -> &'static str {
        if self.plan.truncated {
            "MAX_TOKENS"
        } else if self.plan.calls.is_empty() {
            "COMPLETE"
        } else {
            "TOOL_CALL"
        }
    }

    /// A plan in words. With thinking off, the model announces its calls.
    fn tool_plan(&self) -> Option<String> {
        let names: Vec<&str> = self.plan.calls.iter().map(|call| call.name.as_str()).collect();
        (!self.thinking && !names.is_empty())
            .then(|| format!("I will use {}.", names.join(" and ")))
    }

    fn content(&self) -> Vec<Value> {
        let mut out = Vec::new();
        if !self.plan.thought.is_empty() {
            out.push(json!({"type": "thinking", "thinking": self.plan.thought}));
        }
        if !self.plan.text.is_empty() {
            out.push(json!({"type": "text", "text": self.plan.text}));
        }
        out
    }

    fn calls(&self) -> Vec<Value> {
        let calls = self.plan.calls.iter().zip(&self.ids);
        calls
            .map(|(call, id)| {
                let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
                json!({"id": id, "type": "function", "function": function})
            })
            .collect()
    }

    pub(super) fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant"});
        let content = self.content();
        if !content.is_empty() {
            message.set("content", json!(content));
        }
        if let Some(plan) = self.tool_plan() {
            message.set("tool_plan", json!(plan));
        }
        if !self.plan.calls.is_empty() {
            message.set("tool_calls", json!(self.calls()));
        }
        json!({"id": self.id, "finish_reason": self.finish_reason(), "message": message, "usage": self.usage})
    }

    pub(super) fn stream(&self) -> Answer {
        let opening = json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
        let start = json!({"id": self.id, "type": "message-start", "delta": {"message": opening}});
        let mut frames = vec![event("message-start", &start)];
        for (index, part) in self.content().iter().enumerate() {
            let kind = part.at("type").as_str().unwrap_or_default();
            let text = part.at(kind).as_str().unwrap_or_default();
            let say = |name: &str, content: Value| {
                event(
                    name,
                    &json!({"type": name, "index": index, "delta": {"message": {"content": content}}}),
                )
            };
            frames.push(say("content-start", json!({"type": kind, kind: ""})));
            frames.extend(
                pieces(text).into_iter().map(|piece| say("content-delta", json!({kind: piece}))),
            );
            frames.push(event("content-end", &json!({"type": "content-end", "index": index})));
        }
        if let Some(plan) = self.tool_plan() {
            let say = |piece: &str| json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}});
            frames.extend(
                pieces(&plan).into_iter().map(|piece| event("tool-plan-delta", &say(piece))),
            );
        }
        for (index, call) in self.calls().iter().enumerate() {
            frames.extend(call_events(index, call));
        }
        let end = json!({"type": "message-end", "delta": {"finish_reason": self.finish_reason(), "usage": self.usage}});
        frames.push(event("message-end", &end));
        frames.push("data: [DONE]\n\n".to_owned());
        let error = json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "internal server error"}});
        Answer::events(frames, event("message-end", &error))
    }
}

fn call_events(index: usize, call: &Value) -> Vec<String> {
    let say = |name: &str, call: Value| {
        event(
            name,
            &json!({"type": name, "index": index, "delta": {"message": {"tool_calls": call}}}),
        )
    };
    let function = call.at("function");
    let mut opened = call.clone();
    opened.set("function", json!({"name": function.at("name"), "arguments": ""}));
    let mut frames = vec![say("tool-call-start", opened)];
    for piece in pieces(function.at("arguments").as_str().unwrap_or_default()) {
        frames.push(say("tool-call-delta", json!({"function": {"arguments": piece}})));
    }
    frames.push(event("tool-call-end", &json!({"type": "tool-call-end", "index": index})));
    frames
}
