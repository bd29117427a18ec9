//! Changes of naive clients to their history.

use serde_json::{Value, json};

use super::caller::Caller;
use super::scenario::Habit;
use crate::json::Keyed;

pub(super) fn spoil(habits: &[Habit], caller: &dyn Caller, history: &mut Vec<Value>) {
    for habit in habits {
        match habit {
            Habit::Forget => caller.forget(history),
            Habit::ForgetButIds => history.retain(|item| *item.at("type") != "reasoning"),
            Habit::NoIds => {
                for item in history.iter_mut().filter(|item| *item.at("type") != "reasoning") {
                    remove(item, "id");
                }
            }
            Habit::Split => split(history),
            Habit::NoPayload => walk_all(history, &|it| remove(it, "encrypted_content")),
            Habit::NoSummary => walk_all(history, &|it| remove(it, "summary")),
            Habit::NoSignature => walk_all(history, &|it| remove(it, "signature")),
            Habit::Seal(text) => walk_all(history, &|it| seal(it, text)),
            Habit::Rewrite => {
                walk_all(history, &|it| thoughts(it, &|_| "Something else.".to_owned()));
            }
            Habit::Half => walk_all(history, &|it| thoughts(it, &half)),
            Habit::OldName => walk_all(history, &old_name),
            Habit::CleanIds => walk_all(history, &clean_ids),
            Habit::Arguments => walk_all(history, &arguments),
            Habit::Tagged | Habit::Null | Habit::Absent | Habit::Parts | Habit::Newline => {
                history
                    .iter_mut()
                    .filter(|it| *it.at("role") == "assistant")
                    .for_each(|it| reshape(it, *habit));
            }
            Habit::KeepAll | Habit::Budget | Habit::Clock | Habit::OddBytes => {}
        }
    }
}

/// Applies the habits to the top-level fields, and to the system text of a turn.
pub(super) fn top(habits: &[Habit], turn: usize, extra: &mut Value, system: &mut Option<String>) {
    if habits.contains(&Habit::Budget) {
        extra.set("thinking", json!({"type": "enabled", "budget_tokens": 4096}));
    }
    if habits.contains(&Habit::Clock) {
        *system = Some(format!("You help. It is {turn} past ten."));
    }
}

/// The same body in an unusual form: blanks, a number like `1.50E+30`, and letters as escapes.
pub(super) fn odd_bytes(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let rest = text.strip_prefix('{').unwrap_or(&text);
    let odd = r#"{ "metadata" : { "n" : 1.50E+30, "letter":"\u00e9\/" },
	"#;
    let spaced = rest.replace("\"role\":\"user\"", "\"role\" :  \"user\"");
    format!("{odd}{spaced}").into_bytes()
}

fn walk_all(history: &mut [Value], change: &dyn Fn(&mut Value)) {
    history.iter_mut().for_each(|value| walk(value, change));
}

/// Visits every object in a value, outer ones first.
fn walk(value: &mut Value, change: &dyn Fn(&mut Value)) {
    if value.is_object() {
        change(value);
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(|inner| walk(inner, change)),
        Value::Array(list) => list.iter_mut().for_each(|inner| walk(inner, change)),
        _ => {}
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Some(map) = object.as_object_mut() {
        map.shift_remove(key);
    }
}

fn seal(object: &mut Value, text: &str) {
    for key in ["thoughtSignature", "signature", "encrypted_content"] {
        if object.at(key).is_string() {
            object.set(key, json!(text));
        }
    }
}

fn thoughts(object: &mut Value, change: &dyn Fn(&str) -> String) {
    for key in ["thinking", "reasoning_content", "reasoning"] {
        if let Some(text) = object.at(key).as_str().filter(|text| !text.is_empty()) {
            let changed = change(text);
            object.set(key, json!(changed));
        }
    }
}

fn half(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

fn old_name(message: &mut Value) {
    if *message.at("role") != "assistant" {
        return;
    }
    let chunks = message.at("content").as_array().into_iter().flatten();
    let chunk: Option<String> = chunks
        .filter_map(|chunk| chunk.at("thinking").get(0)?.at("text").as_str())
        .map(str::to_owned)
        .next();
    let Some(thought) = message.at("reasoning").as_str().map(str::to_owned).or(chunk) else {
        return;
    };
    if let Some(parts) = message.at("content").as_array() {
        let seen: String = parts.iter().filter_map(|part| part.at("text").as_str()).collect();
        message.set("content", json!(seen));
    }
    remove(message, "reasoning");
    message.set("reasoning_content", json!(thought));
}

fn clean_ids(object: &mut Value) {
    let keys = if object.at("function").is_object() {
        ["id", "tool_call_id"]
    } else {
        ["tool_call_id"; 2]
    };
    for key in keys {
        if let Some(id) = object.at(key).as_str() {
            let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let clean: String = id.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
            object.set(key, json!(clean));
        }
    }
}

fn arguments(object: &mut Value) {
    let parsed =
        object.at("arguments").as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(pretty) = parsed.and_then(|value| serde_json::to_string_pretty(&value).ok()) {
        object.set("arguments", json!(pretty));
    }
}

fn reshape(message: &mut Value, habit: Habit) {
    let Some(said) = message.at("content").as_str().map(str::to_owned) else { return };
    let thought = message.at("reasoning_content").as_str().unwrap_or_default().to_owned();
    match habit {
        Habit::Null if said.is_empty() => message.set("content", Value::Null),
        Habit::Absent if said.is_empty() => remove(message, "content"),
        Habit::Parts if !said.is_empty() => {
            message.set("content", json!([{"type": "text", "text": said}]));
        }
        Habit::Newline if !said.is_empty() => message.set("content", json!(format!("{said}\n"))),
        Habit::Tagged => {
            message.set("content", json!(format!("<think>\n{thought}\n</think>\n\n{said}")));
            remove(message, "reasoning_content");
        }
        _ => {}
    }
}

/// Puts each call into a message of its own, followed by its result.
fn split(history: &mut Vec<Value>) {
    let mut out = Vec::new();
    let mut rest = std::mem::take(history).into_iter().peekable();
    while let Some(message) = rest.next() {
        let calls = message.at("tool_calls").as_array().cloned().unwrap_or_default();
        if calls.len() < 2 {
            out.push(message);
            continue;
        }
        let mut results = Vec::new();
        while let Some(result) = rest.next_if(|next| *next.at("role") == "tool") {
            results.push(result);
        }
        for call in calls {
            let mut part = message.clone();
            part.set("tool_calls", json!([call]));
            out.push(part);
            out.extend(results.iter().filter(|it| it.at("tool_call_id") == call.at("id")).cloned());
        }
    }
    *history = out;
}
