//! No silent loss in translation: every feature of every caller's wire, towards every upstream wire, and back.
//!
//! `fixtures/matrix` holds bodies with marks in them. A mark that is in the translated body was kept; else the
//! translation says what it left out, or refuses the body. Anything else is a loss that nobody hears of, and fails.
//! Blocks of messages are compared as each wire reads them ([`blocks`]).
//! The table stands in `docs/translation.md`; `BLESS=1` writes it anew.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "everything here is a test"
)]

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use thinkthrough_core::convert::{self, Converted};
use thinkthrough_core::wire::{self, Wire};

/// The wires that have a route in the gateway.
const CALLERS: [&str; 5] =
    ["chat-completions", "responses", "messages", "generate-content", "ollama-chat"];
const WIRES: [&str; 9] = [
    "chat-completions",
    "responses",
    "messages",
    "generate-content",
    "ollama-chat",
    "converse",
    "mistral-chat",
    "cohere-chat",
    "interactions",
];

mod blocks;

/// What became of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Kept,
    Reported,
    Refused,
    Lost(Vec<String>),
}

impl Cell {
    fn word(&self) -> &'static str {
        match self {
            Cell::Kept => "kept",
            Cell::Reported => "reported",
            Cell::Refused => "refused",
            Cell::Lost(_) => "LOST",
        }
    }
}

/// The features of one wire's bodies.
struct Features {
    base: Value,
    all: Vec<(String, Value)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn features(kind: &str, wire: &str) -> Features {
    let path = root().join("fixtures/matrix").join(kind).join(format!("{wire}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    let Value::Object(all) = file["features"].take() else { panic!("{path:?}: no features") };
    Features { base: file["base"].take(), all: all.into_iter().collect() }
}

/// The base with the feature's own fields.
fn body(base: &Value, feature: &Value) -> String {
    let mut body: Map<String, Value> = base.as_object().cloned().unwrap_or_default();
    let set = feature["set"].as_object().expect("fields");
    body.extend(set.clone());
    Value::Object(body).to_string()
}

/// The marks that are not in the text. `a|b` is there if one of them is.
fn missing(feature: &Value, text: &str) -> Vec<String> {
    let count = feature["count"].as_u64().unwrap_or(1);
    let is_there = |mark: &str| {
        let seen = |one: &str| u64::try_from(text.matches(one).count()).is_ok_and(|n| n >= count);
        mark.split('|').any(seen)
    };
    let marks = feature["marks"].as_array().into_iter().flatten().filter_map(Value::as_str);
    marks.filter(|mark| !is_there(mark)).map(str::to_owned).collect()
}

/// `usual` is what the wires cannot say of a body without the feature.
fn judge(feature: &Value, converted: Option<Converted>, usual: &BTreeSet<String>) -> Cell {
    let Some(converted) = converted else { return Cell::Refused };
    let missing = missing(feature, &converted.body);
    if missing.is_empty() {
        return Cell::Kept;
    }
    if converted.untranslated.iter().any(|name| !usual.contains(name)) {
        return Cell::Reported;
    }
    Cell::Lost(missing)
}

fn wire(id: &str) -> &'static dyn Wire {
    wire::find(id).expect("a wire")
}

/// One table: the features of `from`, and what becomes of them on each of `to`.
fn table(kind: &str, from: &str, to: &[&str], lost: &mut Vec<String>) -> String {
    let Features { base, all } = features(kind, from);
    let to: Vec<&str> = to.iter().copied().filter(|id| *id != from).collect();
    let mut out = format!("| {from} | {} |\n|{}\n", to.join(" | "), " --- |".repeat(to.len() + 1));
    let convert = |to: &str, body: &str| match kind {
        "requests" => convert::request(wire(from), wire(to), body).ok(),
        _ => convert::response(wire(from), wire(to), body.as_bytes()),
    };
    for (name, feature) in &all {
        let mut row = format!("| {name} |");
        for id in &to {
            let usual = convert(id, &base.to_string()).filter(|_| kind == "requests");
            let usual = usual.into_iter().flat_map(|it| it.untranslated).collect();
            let body = body(&base, feature);
            let converted = convert(id, &body);
            let mut cell = judge(feature, converted.clone(), &usual);
            if let Some(converted) = converted.filter(|_| kind == "requests") {
                cell = blocks::judge(cell, (wire(from), &body), (wire(id), &converted));
            }
            if let Cell::Lost(marks) = &cell {
                lost.push(format!("{kind}: {name}, {from} -> {id}: {}", marks.join(", ")));
            }
            write!(row, " {} |", cell.word()).expect("a string");
        }
        out.push_str(&row);
        out.push('\n');
    }
    out
}

fn page(lost: &mut Vec<String>) -> String {
    let mut out = String::from("\n## Requests\n");
    for from in CALLERS {
        out.push('\n');
        out.push_str(&table("requests", from, &WIRES, lost));
    }
    out.push_str("\n## Answers\n");
    for from in WIRES {
        out.push('\n');
        out.push_str(&table("answers", from, &CALLERS, lost));
    }
    out
}

#[test]
fn nothing_is_lost_in_translation_without_a_word() {
    let mut lost = Vec::new();
    let tables = page(&mut lost);
    assert!(lost.is_empty(), "{} silent losses:\n{}\n", lost.len(), lost.join("\n"));
    let path = root().join("docs/translation.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    let (begin, end) = ("<!-- table: begin -->\n", "<!-- table: end -->\n");
    let (before, rest) = text.split_once(begin).expect("the table's begin");
    let (_, after) = rest.split_once(end).expect("the table's end");
    let fresh = format!("{before}{begin}{tables}{end}{after}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, fresh).expect("the page is written");
    } else {
        assert!(text == fresh, "docs/translation.md is not what the wires do; BLESS=1 writes it");
    }
}

#[test]
fn a_mark_that_is_not_there_is_missed() {
    let feature = serde_json::json!({"marks": ["MARKone", "no|MARKtwo"], "count": 2});
    assert!(missing(&feature, "MARKone MARKone MARKtwo MARKtwo").is_empty());
    assert_eq!(missing(&feature, "MARKone MARKtwo MARKtwo"), ["MARKone"]);
    let converted = |names: &[&str]| Converted {
        body: String::new(),
        untranslated: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let usual = BTreeSet::from(["max_tokens".to_owned()]);
    let is_lost = |cell| matches!(cell, Cell::Lost(_));
    assert!(is_lost(judge(&feature, Some(converted(&["max_tokens"])), &usual)));
    assert_eq!(judge(&feature, Some(converted(&["n"])), &usual), Cell::Reported);
    assert_eq!(judge(&feature, None, &usual), Cell::Refused);
}
