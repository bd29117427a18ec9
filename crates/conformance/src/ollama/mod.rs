//! Ollama's native chat: lines of JSON with thoughts next to the text. A missing thought is never
//! an error.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{self, Call, Choice, Plan, Said, Scene, Tool, Verdict, Visible, judge};
use crate::pieces::pieces;
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, Digest};

const CREATED: &str = "2026-01-01T00:00:00.000000Z";

pub(crate) fn answer(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    let model = visit.model;
    match (visit.request.method.as_str(), visit.route) {
        ("POST", "/api/chat") => chat(visit),
        ("GET", "/api/tags" | "/v1/models") => {
            let entry = json!({"name": model, "model": model, "modified_at": CREATED, "size": 0});
            Ok(Answer::whole(&json!({"models": [entry]})))
        }
        ("POST", "/api/show") => {
            let thinking = json!({"values": [true, false], "default": true});
            Ok(Answer::whole(
                &json!({"capabilities": ["completion", "tools", "thinking"], "thinking": thinking}),
            ))
        }
        ("GET", "/api/version") => Ok(Answer::whole(&json!({"version": "0.13.0"}))),
        _ => Err(refusal(404, "404 page not found")),
    }
}

/// A refusal with Ollama's error body.
pub(crate) fn refusal(status: u16, text: &str) -> Refusal {
    Refusal { status, text: text.to_owned(), body: json!({"error": text}) }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised() -> Refusal {
    refusal(401, "unauthorized")
}

fn chat(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| refusal(400, &error.to_string()))?;
    let model = body.at("model").as_str().filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| refusal(400, "model is required"))?.to_owned();
    visit.log.model = Some(model.clone());
    // Ollama streams unless the request says otherwise.
    visit.log.stream = *body.at("stream") != false;
    let scene = scene(visit, &body)?;
    let plan = mind::think(&scene);
    let reply = Reply {
        model,
        prompt: mind::tokens(&body.at("messages").to_string()),
        seed: visit.seed(),
        plan,
    };
    Ok(if visit.log.stream { reply.lines() } else { Answer::whole(&reply.whole()) })
}

fn scene(visit: &mut Visit<'_>, body: &Value) -> Result<Scene, Refusal> {
    let thinking = thinking(body)?;
    let messages: &[Value] = body.at("messages").as_array().map_or(&[], Vec::as_slice);
    let mut said = Vec::new();
    let mut open: VecDeque<String> = VecDeque::new();
    let start = messages.iter().rposition(|message| message.at("role") == "user").unwrap_or(0);
    for (place, message) in messages.iter().enumerate() {
        let text = text(message)?;
        match message.at("role").as_str() {
            Some("user") => said.push(Said::User(text)),
            Some("assistant") => {
                let calls = calls(message)?;
                let thought = thought(visit, message, place, &calls);
                if !thought && thinking && place > start {
                    visit
                        .log
                        .loss(format!("thought missing at message {place}, allowed but worse"));
                }
                open = calls.iter().map(|call| call.name.clone()).collect();
                said.push(Said::Ai(calls));
            }
            Some("tool") => {
                let first = open.pop_front().unwrap_or_default();
                let name = message.at("tool_name").as_str().map_or(first, str::to_owned);
                said.push(Said::Result { name, text, failed: false });
            }
            Some("system") => {}
            Some(_) | None => return Err(refusal(400, "invalid role in message")),
        }
    }
    let tools = body.at("tools").as_array().into_iter().flatten().map(|tool| {
        let function = tool.at("function");
        Tool {
            name: function.at("name").as_str().unwrap_or_default().to_owned(),
            description: function.at("description").as_str().unwrap_or_default().to_owned(),
            schema: function.at("parameters").clone(),
        }
    });
    Ok(Scene {
        simulator: visit.id,
        said,
        tools: tools.collect(),
        choice: Choice::Auto,
        parallel: true,
        thinking,
        max_tokens: body.at("options").at("num_predict").as_u64(),
    })
}

fn thinking(body: &Value) -> Result<bool, Refusal> {
    match body.at("think") {
        Value::Null => Ok(true),
        Value::Bool(on) => Ok(*on),
        Value::String(level) if matches!(level.as_str(), "low" | "medium" | "high") => Ok(true),
        other => {
            let text = format!(
                "invalid think value: {other} (must be \"high\", \"medium\", \"low\", true, or false)"
            );
            Err(refusal(400, &text))
        }
    }
}

fn text(message: &Value) -> Result<String, Refusal> {
    match message.at("content") {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let text = "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string";
            Err(refusal(400, text))
        }
    }
}

fn calls(message: &Value) -> Result<Vec<Call>, Refusal> {
    let mut out = Vec::new();
    for call in message.at("tool_calls").as_array().into_iter().flatten() {
        let function = call.at("function");
        if !function.at("arguments").is_object() {
            let text = "json: cannot unmarshal string into Go struct field \
                        ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments";
            return Err(refusal(400, text));
        }
        let name = function.at("name").as_str().unwrap_or_default().to_owned();
        out.push(Call { name, arguments: function.at("arguments").clone() });
    }
    Ok(out)
}

/// Logs the thoughts of a message. Returns whether `thinking` has one, the only field that Ollama
/// reads.
fn thought(visit: &mut Visit<'_>, message: &Value, place: usize, calls: &[Call]) -> bool {
    let text = message.at("content").as_str().unwrap_or_default();
    for field in ["reasoning", "reasoning_content"] {
        if message.at(field).as_str().is_some_and(|thought| !thought.is_empty()) {
            visit.log.saw(place, field, (true, false), ThoughtState::Ignored);
        }
    }
    let Some(thought) = message.at("thinking").as_str().filter(|thought| !thought.is_empty())
    else {
        return false;
    };
    let state = match judge(thought, Visible::of(text, calls)) {
        Verdict::Own => ThoughtState::Own,
        Verdict::Altered => ThoughtState::Altered,
        Verdict::Foreign => ThoughtState::Foreign,
    };
    visit.log.saw(place, "thinking", (true, false), state);
    true
}

struct Reply {
    model: String,
    prompt: u64,
    seed: Digest,
    plan: Plan,
}

impl Reply {
    fn calls(&self) -> Vec<Value> {
        let calls = self.plan.calls.iter().enumerate();
        calls
            .map(|(place, call)| {
                let id =
                    format!("call_{}", self.seed.text("call").number(place as u64).word(ALNUM, 8));
                let function =
                    json!({"index": place, "name": call.name, "arguments": call.arguments});
                json!({"id": id, "function": function})
            })
            .collect()
    }

    fn line(&self, message: &Value, done: bool) -> Value {
        let mut line =
            json!({"model": self.model, "created_at": CREATED, "message": message, "done": done});
        if done {
            let count = self.plan.thought_tokens() + self.plan.visible_tokens();
            line.set("done_reason", json!(if self.plan.truncated { "length" } else { "stop" }));
            for (key, value) in [
                ("total_duration", 1_000_000),
                ("load_duration", 1_000),
                ("prompt_eval_duration", 1_000),
            ] {
                line.set(key, json!(value));
            }
            line.set("prompt_eval_count", json!(self.prompt));
            line.set("eval_count", json!(count));
            line.set("eval_duration", json!(1_000_000));
        }
        line
    }

    fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.plan.text});
        if !self.plan.thought.is_empty() {
            message.set("thinking", json!(self.plan.thought));
        }
        if !self.plan.calls.is_empty() {
            message.set("tool_calls", json!(self.calls()));
        }
        self.line(&message, true)
    }

    fn lines(&self) -> Answer {
        let mut messages: Vec<Value> = Vec::new();
        let part = |text: &str| json!({"role": "assistant", "content": text});
        for thought in pieces(&self.plan.thought) {
            let mut message = part("");
            message.set("thinking", json!(thought));
            messages.push(message);
        }
        messages.extend(pieces(&self.plan.text).into_iter().map(part));
        for call in self.calls() {
            let mut message = part("");
            message.set("tool_calls", json!([call]));
            messages.push(message);
        }
        let mut frames: Vec<String> =
            messages.iter().map(|message| format!("{}\n", self.line(message, false))).collect();
        frames.push(format!("{}\n", self.line(&part(""), true)));
        let error =
            json!({"error": "an error was encountered while running the model: unexpected EOF"});
        Answer::stream("application/x-ndjson", frames, format!("{error}\n"))
    }
}
