//! Why a request went out as it did, as `think traces show` prints it: what the viewer's page of a trace says, in
//! lines.

use std::borrow::Cow;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_json::{Raw, Val};
use thinkthrough_store::Trace;

/// The outcomes of earlier thoughts, as the metadata counts them.
const OUTCOMES: [&str; 4] = ["restored", "missed", "ambiguous", "dropped"];

/// Returns the lines of a trace's `why`; empty if there were no decisions about its request.
pub(super) fn lines(trace: &Trace, shows: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let metadata = Raw::parse(&trace.metadata).unwrap_or_else(|_| Raw::null());
    let counts = OUTCOMES.into_iter().filter_map(|name| {
        let count = metadata.doc().root().u64(name).filter(|count| *count > 0)?;
        Some(format!("{count} {name}"))
    });
    let counts: Vec<String> = counts.collect();
    if !counts.is_empty() {
        lines.push(format!("thoughts of earlier answers: {}", counts.join(", ")));
    }
    if let Ok(why) = Raw::parse(&trace.why) {
        let doc = why.doc();
        told(doc.root(), shows, &mut lines);
    }
    lines.iter().map(|line| harmless(line)).collect()
}

fn told(why: Val<'_>, shows: bool, lines: &mut Vec<String>) {
    answers(why, lines);
    ways(why, lines);
    let wires: Vec<Cow<'_, str>> = list(why, "wires").filter_map(Val::as_str).collect();
    if let [from, to] = wires.as_slice()
        && from != to
    {
        lines.push(format!("written anew: from {from} to {to}"));
    }
    changes(why, shows, lines);
    for (name, value) in why.get("members").into_iter().flat_map(Val::entries) {
        lines.push(format!("set {name} to {}", value.as_str().unwrap_or_default()));
    }
    let left: Vec<String> =
        list(why, "untranslated").filter_map(|it| it.as_str().map(Cow::into_owned)).collect();
    if !left.is_empty() {
        lines.push(format!("the other wire cannot say: {}", left.join(", ")));
    }
    for it in list(why, "blocks") {
        let (place, action) = (place(it), text(it, "action"));
        lines.push(format!("{place}: {action}: {}", because(it)));
    }
    more(why, "blocks", lines);
}

fn list<'d>(of: Val<'d>, name: &str) -> impl Iterator<Item = Val<'d>> {
    of.get(name).into_iter().flat_map(Val::items)
}

fn text<'d>(of: Val<'d>, name: &str) -> Cow<'d, str> {
    of.text(name).unwrap_or_default()
}

fn number(of: Val<'_>, name: &str) -> u64 {
    of.u64(name).unwrap_or_default()
}

fn more(why: Val<'_>, name: &str, lines: &mut Vec<String>) {
    let count = number(why, &format!("{name}_more"));
    if count > 0 {
        lines.push(format!("({count} more {name} are not listed)"));
    }
}

fn place(it: Val<'_>) -> String {
    format!("message {}, block {}", number(it, "message"), number(it, "block"))
}

/// The reason, and what decided where that was no contract.
fn because(it: Val<'_>) -> String {
    let setting = text(it, "setting");
    let setting = if setting == "contract" { String::new() } else { format!(" [{setting}]") };
    format!("{}{setting}", text(it, "reason"))
}

fn answers(why: Val<'_>, lines: &mut Vec<String>) {
    for it in list(why, "answers") {
        let turn = it.u64("turn").map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let outcome = text(it, "outcome").replace('_', " ");
        let message = number(it, "message");
        lines.push(format!("message {message}{turn}: {outcome}: {}", because(it)));
        lines.extend(list(it, "evidence").map(|it| format!("  known by {}", proof(it))));
    }
    more(why, "answers", lines);
}

/// Describes the evidence that identifies the answer.
fn proof(it: Val<'_>) -> String {
    let level = match &*text(it, "level") {
        "ticket" => "its anchor, an id that no other answer has",
        "chain" => "the same history, and the same answer to it",
        "tail" => "its neighbour: the answer behind it names it",
        other => return other.to_owned(),
    };
    let calls = match number(it, "calls") {
        0 => String::new(),
        1 => ", with 1 call".to_owned(),
        count => format!(", with {count} calls"),
    };
    let is = |name: &str| it.bool(name) == Some(true);
    let limits = match (is("usable"), is("foreign")) {
        (_, true) => "; this model cannot read it",
        (false, _) => "; it cannot go back",
        (true, false) => "",
    };
    format!("{level}{calls}: record {}{limits}", text(it, "record"))
}

/// Describes the models that were asked. A single model without steps is left out, because the trace names it.
fn ways(why: Val<'_>, lines: &mut Vec<String>) {
    let ways: Vec<(String, Vec<String>)> = list(why, "ways").map(way).collect();
    if ways.len() < 2 && ways.iter().all(|(_, steps)| steps.is_empty()) {
        return;
    }
    for (at, (model, steps)) in ways.into_iter().enumerate() {
        let steps: String = steps.iter().map(|step| format!("; {step}")).collect();
        lines.push(format!("try {}: {model}{steps}", at + 1));
    }
}

fn way(it: Val<'_>) -> (String, Vec<String>) {
    let said = |name: &str, words: &str| it.text(name).map(|value| format!("{words}: {value}"));
    let counted = |name: &str, words: &str| it.u64(name).map(|count| format!("{count} {words}"));
    let is_off = it.text("thinking").is_some_and(|value| value == "off");
    let steps = [
        said("learned", "refusals had taught"),
        said("repaired", "repaired"),
        counted("bypassed", "lost thoughts have the provider's documented value in their place"),
        counted("flattened", "answers are told in words, because nobody has their thoughts"),
        is_off.then(|| "it goes without thinking".to_owned()),
        said("failed", "no answer"),
    ];
    let model = format!("{}/{}", text(it, "provider"), text(it, "model"));
    (model, steps.into_iter().flatten().collect())
}

/// Describes the differences from the client's request.
fn changes(why: Val<'_>, shows: bool, lines: &mut Vec<String>) {
    let mut words = list(why, "words");
    for it in list(why, "changes") {
        let (what, kind) = (text(it, "what"), text(it, "kind").replace('_', " "));
        let [bytes, sealed] = ["bytes", "sealed"].map(|name| sizes(it, name));
        let bytes = bytes.map(|size| format!(", {size} bytes")).unwrap_or_default();
        let sealed = sealed.map(|size| format!(", sealed: {size} bytes")).unwrap_or_default();
        lines.push(format!("{}: {what} {kind}{bytes}{sealed}", place(it)));
        let Some(words) = words.next().filter(|_| shows) else { continue };
        for (sign, words) in ['-', '+'].into_iter().zip(words.items().filter_map(Val::as_str)) {
            // Joins the beginning of the text into one line.
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            if !words.is_empty() {
                lines.push(format!("  {sign} {words}"));
            }
        }
    }
    more(why, "changes", lines);
}

/// Returns the size of the removed or added part; of a replaced part both sizes, unless both are 0.
fn sizes(it: Val<'_>, name: &str) -> Option<String> {
    let sizes: Vec<u64> = list(it, name).filter_map(Val::as_u64).collect();
    match sizes.as_slice() {
        [0, 0] => None,
        [came, goes] if text(it, "what") == "replaced" => Some(format!("{came} -> {goes}")),
        [came, goes] => Some(came.max(goes).to_string()),
        _ => None,
    }
}
