//! Which tools to call next.

use serde_json::Value;

use super::trade::{Trade, asks_about_place};
use super::words::{bare, clauses, is_file, keys};
use super::{Call, Choice, Scene, Tool, Turn, fill};
use crate::json::Keyed;

/// The calls that come next; empty when it is time to answer.
pub(super) fn next_calls(scene: &Scene, turn: &Turn<'_>) -> Vec<Call> {
    if scene.tools.is_empty() || scene.choice == Choice::None {
        return Vec::new();
    }
    if !turn.calls.is_empty() {
        return follow_up(scene, turn).into_iter().collect();
    }
    let mut calls = wanted(scene, turn.question);
    if calls.is_empty() {
        calls.extend(forced(scene, turn.question));
    }
    if !scene.parallel {
        calls.truncate(1);
    }
    calls
}

/// The calls that the request asks for by its words, one for each thing asked.
fn wanted(scene: &Scene, question: &str) -> Vec<Call> {
    let offered: Vec<&Tool> = match &scene.choice {
        Choice::Named(name) => scene.tools.iter().filter(|tool| tool.name == *name).collect(),
        Choice::Auto | Choice::None | Choice::Any => scene.tools.iter().collect(),
    };
    let mut calls: Vec<Call> = Vec::new();
    let mut last: Option<&Tool> = None;
    for clause in clauses(question) {
        let tool = best(&offered, clause, question)
            .or_else(|| last.filter(|tool| fill::has_value(tool, clause)));
        let Some(tool) = tool else { continue };
        let words = if fill::spans_clauses(tool) { question } else { clause };
        let arguments = fill::arguments(tool, words, question, 0);
        let call = Call { name: tool.name.clone(), arguments };
        if !calls.contains(&call) {
            calls.push(call);
        }
        last = Some(tool);
    }
    calls.truncate(2);
    if let ([only], true) = (calls.as_slice(), question.to_lowercase().contains("parallel")) {
        calls.extend(second(&offered, last, only, question));
    }
    calls
}

/// A second call for a request that wants two at once but names one thing: another tool that needs nothing, or the
/// same one with the next best values.
fn second(offered: &[&Tool], first: Option<&Tool>, call: &Call, question: &str) -> Option<Call> {
    let first = first?;
    let other =
        offered.iter().find(|tool| tool.name != first.name && fill::is_ready(tool, question));
    let (tool, nth) = other.map_or((first, 1), |tool| (*tool, 0));
    let mut arguments = fill::arguments(tool, question, question, nth);
    if tool.name == call.name && arguments == call.arguments {
        fill::vary(&mut arguments, &tool.schema);
    }
    Some(Call { name: tool.name.clone(), arguments })
}

/// A call that the request demands although its words fit no tool.
fn forced(scene: &Scene, question: &str) -> Option<Call> {
    let any = || {
        let ready = scene.tools.iter().find(|tool| fill::is_ready(tool, question));
        ready.or_else(|| scene.tools.first())
    };
    let asked = bare(&question.to_lowercase()).any(|word| matches!(word, "tool" | "tools"));
    let tool = match &scene.choice {
        Choice::Named(name) => scene.tools.iter().find(|tool| tool.name == *name)?,
        Choice::Any => any()?,
        Choice::Auto if asked => any()?,
        Choice::Auto | Choice::None => return None,
    };
    Some(Call { name: tool.name.clone(), arguments: fill::arguments(tool, question, question, 0) })
}

/// The tool whose name and description fit the clause best, if any fits well enough.
fn best<'a>(offered: &[&'a Tool], clause: &str, question: &str) -> Option<&'a Tool> {
    let words = keys(clause);
    let mut found: Option<(usize, &Tool)> = None;
    for tool in offered {
        let points = score(tool, &words, clause);
        let fits = points >= 3 && !fill::needs_file(tool, question);
        if fits && found.is_none_or(|(best, _)| points > best) {
            found = Some((points, tool));
        }
    }
    found.map(|(_, tool)| tool)
}

fn score(tool: &Tool, words: &[String], clause: &str) -> usize {
    let name = keys(&tool.name);
    let description = keys(&tool.description);
    let parameters = tool
        .schema
        .at("properties")
        .as_object()
        .map(|map| map.keys().flat_map(|key| keys(key)).collect::<Vec<_>>())
        .unwrap_or_default();
    let mut points = 0;
    for word in words {
        points += if name.contains(word) { 4 } else { 0 };
        points += if description.contains(word) { 2 } else { 0 };
        points += usize::from(parameters.contains(word));
    }
    if bare(clause).any(|word| word == tool.name) {
        points += 10;
    }
    points
        + match Trade::of(tool) {
            Trade::Reader if bare(clause).any(is_file) => 6,
            Trade::Lister if asks_about_place(clause) && !bare(clause).any(is_file) => 4,
            Trade::Shell if asks_about_place(clause) => 3,
            Trade::Lister | Trade::Reader | Trade::Shell | Trade::Other => 0,
        }
}

/// After a listing, one file is read when the user asked what is in the files.
fn follow_up(scene: &Scene, turn: &Turn<'_>) -> Option<Call> {
    let named = |name: &str, trade| {
        let tool = scene.tools.iter().find(|tool| tool.name == name);
        tool.is_some_and(|tool| Trade::of(tool) == trade)
    };
    let listed = turn.calls.last().filter(|call| named(&call.name, Trade::Lister))?;
    let reader = scene.tools.iter().find(|tool| Trade::of(tool) == Trade::Reader)?;
    let read_before = turn.calls.iter().any(|call| call.name == reader.name);
    if read_before || !wants_content(turn.question) {
        return None;
    }
    let (_, result, failed) = turn.results.last()?;
    let file = file_in(result, turn.question).filter(|_| !failed)?;
    let folder = listed.arguments.as_object().and_then(|map| {
        map.iter().find(|(key, _)| fill::is_path(key)).and_then(|(_, value)| value.as_str())
    });
    let path = match folder {
        Some(folder) if !matches!(folder, "." | "./" | "") && !file.starts_with(folder) => {
            format!("{}/{file}", folder.trim_end_matches('/'))
        }
        Some(_) | None => file,
    };
    Some(Call { name: reader.name.clone(), arguments: fill::arguments(reader, &path, &path, 0) })
}

fn wants_content(question: &str) -> bool {
    let lower = question.to_lowercase();
    let spoken = ["say", "says", "about", "explain", "inside", "text"];
    keys(question).contains(&"read".to_owned())
        || bare(&lower).any(|word| spoken.contains(&word))
        || bare(question).any(is_file)
}

/// The file of a listing that the question means: one it names, else a readme, else the first.
fn file_in(listing: &str, question: &str) -> Option<String> {
    let names = match serde_json::from_str::<Value>(listing) {
        Ok(value) => strings(&value),
        Err(_) => bare(listing).map(str::to_owned).collect(),
    };
    let plain = ["README", "LICENSE", "LICENCE", "Makefile", "Dockerfile", "justfile"];
    let readable = |name: &String| is_file(name) || plain.contains(&name.as_str());
    let files: Vec<String> = names.into_iter().filter(readable).collect();
    let named = files.iter().find(|name| {
        let lower = name.to_lowercase();
        let stem = lower.split('.').next().unwrap_or_default();
        bare(&question.to_lowercase()).any(|word| word.ends_with(&lower) || word == stem)
    });
    let readme = || files.iter().find(|name| name.to_lowercase().contains("readme"));
    let text = || files.iter().find(|name| name.ends_with(".md") || name.ends_with(".txt"));
    named.or_else(readme).or_else(text).or_else(|| files.first()).cloned()
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => bare(text).map(str::to_owned).collect(),
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
