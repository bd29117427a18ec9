//! Reads and validates a request and its thoughts.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::refusal;
use crate::calls::OpenCalls;
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Call, Choice, Said, Scene, Tool, Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};
use crate::responses::Store;
use crate::seal::{Look, Seal};
use crate::shape::{self, Kind};

/// A request with a valid structure.
pub(super) struct Request {
    pub(super) body: Value,
    pub(super) model: String,
    /// The steps of the continued interaction, then the steps of the request.
    pub(super) steps: Vec<Value>,
}

const SHAPE: &[(&str, Kind)] = &[
    ("model", Kind::Text),
    ("system_instruction", Kind::Text),
    ("input", Kind::TextOrList),
    ("input.*", Kind::Map),
    ("input.*.type", Kind::Text),
    ("input.*.signature", Kind::Text),
    ("input.*.summary", Kind::List),
    ("input.*.summary.*", Kind::Map),
    ("input.*.summary.*.type", Kind::Text),
    ("input.*.summary.*.text", Kind::Text),
    ("input.*.content", Kind::TextOrList),
    ("input.*.content.*", Kind::Map),
    ("input.*.content.*.type", Kind::Text),
    ("input.*.content.*.text", Kind::Text),
    ("input.*.id", Kind::Text),
    ("input.*.name", Kind::Text),
    ("input.*.call_id", Kind::Text),
    ("input.*.arguments", Kind::Map),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.type", Kind::Text),
    ("tools.*.name", Kind::Text),
    ("tools.*.description", Kind::Text),
    ("tools.*.parameters", Kind::Map),
    ("generation_config", Kind::Map),
    ("generation_config.thinking_summaries", Kind::Text),
    ("generation_config.thinking_level", Kind::Text),
    ("previous_interaction_id", Kind::Text),
    ("stream", Kind::Flag),
    ("store", Kind::Flag),
];

pub(super) fn request(visit: &mut Visit<'_>, store: &Store) -> Result<Request, Refusal> {
    let bad = |text: &str| refusal(400, text);
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| bad(&format!("Invalid JSON payload received. {error}")))?;
    if let Some(wrong) = shape::wrong(&body, SHAPE) {
        let kind = wrong.kind.name();
        return Err(bad(&format!("Invalid value at '{}': expected {kind}", wrong.bracketed())));
    }
    let model = body.at("model").as_str().filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| bad("model is required"))?.to_owned();
    visit.log.model = Some(model.clone());
    visit.log.stream = *body.at("stream") == true;
    let mut steps = match body.at("previous_interaction_id").as_str() {
        None => Vec::new(),
        Some(id) => {
            store.items(id).ok_or_else(|| refusal(404, &format!("Interaction {id} not found.")))?
        }
    };
    let carried = steps.len();
    match body.at("input") {
        Value::String(text) => {
            steps.push(json!({"type": "user_input", "content": [{"type": "text", "text": text}]}));
        }
        Value::Array(list) if !list.is_empty() => steps.extend(list.iter().cloned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            return Err(bad("input is required"));
        }
    }
    for (place, step) in steps.iter().enumerate().skip(carried) {
        known(step, place - carried)?;
    }
    pairs(&steps)?;
    thoughts(visit, &model, &steps, carried)?;
    Ok(Request { body, model, steps })
}

fn known(step: &Value, place: usize) -> Result<(), Refusal> {
    let kind = step.at("type").as_str().unwrap_or_default();
    let missing = match kind {
        "user_input" | "model_output" => step.at("content").is_null().then_some("content"),
        "thought" => step.at("signature").is_null().then_some("signature"),
        "function_call" => ["id", "name"].into_iter().find(|key| step.at(key).is_null()),
        "function_result" => ["call_id", "result"].into_iter().find(|key| step.at(key).is_null()),
        _ => {
            return Err(refusal(400, &format!("Invalid value at 'input[{place}].type': '{kind}'")));
        }
    };
    match missing {
        Some(key) => Err(refusal(400, &format!("Missing required field 'input[{place}].{key}'"))),
        None => Ok(()),
    }
}

/// The results in a step: the step itself, or parts of the user's input.
fn results(step: &Value) -> Vec<&Value> {
    if step.at("type") == "function_result" {
        return vec![step];
    }
    let parts = step.at("content").as_array().into_iter().flatten();
    parts.filter(|part| part.at("type") == "function_result").collect()
}

fn pairs(steps: &[Value]) -> Result<(), Refusal> {
    let mut open = OpenCalls::default();
    for step in steps {
        if let (true, Some(id)) = (step.at("type") == "function_call", step.at("id").as_str()) {
            open.push(id, "");
        }
        for result in results(step) {
            let id = result.at("call_id").as_str().unwrap_or_default();
            if open.answer(id).is_none() {
                return Err(refusal(400, &format!("No function call found for call_id '{id}'.")));
            }
        }
    }
    match open.unanswered().first() {
        Some(id) => {
            Err(refusal(400, &format!("No function result found for function call '{id}'.")))
        }
        None => Ok(()),
    }
}

/// Refuses foreign thoughts and logs missing ones.
fn thoughts(
    visit: &mut Visit<'_>,
    model: &str,
    steps: &[Value],
    carried: usize,
) -> Result<(), Refusal> {
    let mut thought = false;
    for (place, step) in steps.iter().enumerate().skip(carried) {
        let index = place - carried;
        match step.at("type").as_str() {
            Some("thought") => {
                thought = true;
                let signature = step.at("signature").as_str().unwrap_or_default();
                let seal = Seal::decode(visit.id, Look::Gemini, signature)
                    .filter(|seal| seal.model == Visit::model_digest(model));
                let state = match &seal {
                    None => ThoughtState::Foreign,
                    Some(seal) => {
                        let (text, calls) = answer_after(steps, place);
                        match judge(&seal.body, Visible::of(&text, &calls)) {
                            Verdict::Own => ThoughtState::Own,
                            Verdict::Altered | Verdict::Foreign => ThoughtState::Altered,
                        }
                    }
                };
                let readable = step.at("summary").as_array().is_some_and(|parts| !parts.is_empty());
                visit.log.saw(index, "thought", (readable, true), state);
                if state == ThoughtState::Foreign {
                    return Err(refusal(400, "Corrupted thought signature."));
                }
            }
            Some("function_call" | "model_output") if !thought => {
                thought = true;
                visit.log.loss(format!("thought missing before step {index}, allowed but worse"));
            }
            Some("user_input" | "function_result") => thought = false,
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// The visible part of the answer after a thought.
fn answer_after(steps: &[Value], place: usize) -> (String, Vec<Call>) {
    let mut out = (String::new(), Vec::new());
    for step in steps.iter().skip(place + 1) {
        match step.at("type").as_str() {
            Some("model_output") => out.0.push_str(&text(step)),
            Some("function_call") => out.1.push(call(step)),
            Some(_) | None => break,
        }
    }
    out
}

fn text(step: &Value) -> String {
    match step.at("content") {
        Value::String(text) => text.clone(),
        parts => parts
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part.at("text").as_str())
            .collect(),
    }
}

fn call(step: &Value) -> Call {
    let arguments = step.get("arguments").cloned().unwrap_or_else(|| json!({}));
    Call { name: step.at("name").as_str().unwrap_or_default().to_owned(), arguments }
}

fn result_text(result: &Value) -> String {
    match result.at("result") {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.at("text").as_str()).collect(),
        other => other.to_string(),
    }
}

impl Request {
    /// The scene for the mind.
    pub(super) fn scene(&self, simulator: &'static str) -> Scene {
        let mut said = Vec::new();
        let mut names: HashMap<&str, &str> = HashMap::new();
        for step in &self.steps {
            for result in results(step) {
                let id = result.at("call_id").as_str().unwrap_or_default();
                let name = names.get(id).copied().unwrap_or_default();
                let failed = *result.at("is_error") == true;
                said.push(Said::Result {
                    name: name.to_owned(),
                    text: result_text(result),
                    failed,
                });
            }
            match step.at("type").as_str() {
                Some("user_input") if results(step).is_empty() => said.push(Said::User(text(step))),
                Some("model_output") => said.push(Said::Ai(Vec::new())),
                Some("function_call") => {
                    let id = step.at("id").as_str().unwrap_or_default();
                    names.insert(id, step.at("name").as_str().unwrap_or_default());
                    said.push(Said::Ai(vec![call(step)]));
                }
                Some(_) | None => {}
            }
        }
        let config = self.body.at("generation_config");
        Scene {
            simulator,
            said,
            tools: self.tools(),
            choice: match config.at("tool_choice").as_str() {
                Some("any") => Choice::Any,
                Some("none") => Choice::None,
                Some(_) | None => Choice::Auto,
            },
            parallel: true,
            thinking: true,
            max_tokens: config.at("max_output_tokens").as_u64(),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let list = self.body.at("tools").as_array().into_iter().flatten();
        let functions = list.filter(|tool| tool.at("type") == "function");
        functions
            .map(|tool| Tool {
                name: tool.at("name").as_str().unwrap_or_default().to_owned(),
                description: tool.at("description").as_str().unwrap_or_default().to_owned(),
                schema: tool.at("parameters").clone(),
            })
            .collect()
    }
}
