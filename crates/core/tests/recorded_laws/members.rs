//! A whole answer that is read and written on its own wire keeps its members, those that nobody here knows included.
//!
//! Members that say nothing, or what another one says, are listed with their reasons, so that nothing else is lost
//! without a word; a body that stays on its wire is passed on byte for byte all the same.

use crate::bodies::{Body, bodies};
use crate::recordings;
use crate::run::whole;
use serde_json::Value;
use std::collections::BTreeMap;
use thinkthrough_core::event::Fold;
use thinkthrough_core::wire;

/// Places whose members are not kept: the place, a tab, why. One that is kept all the same fails the test.
const LOST: &str = include_str!("../../../../fixtures/exceptions/members.tsv");

#[test]
fn answers_keep_unknown_members() {
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for wire in wire::ALL {
        for body in bodies(*wire).iter().filter(|body| !body.is_stream) {
            count += usize::from(compared(body, &mut lost));
        }
    }
    println!("{count} whole answers, {} places that are not kept", lost.len());
    judge(LOST, &lost);
}

/// What is lost is listed with a reason, and what is listed is lost: each row a place, a tab, why.
pub(crate) fn judge(list: &str, lost: &BTreeMap<String, String>) {
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    let known: BTreeMap<&str, &str> = rows.map(|row| row.split_once('\t').unwrap()).collect();
    assert!(known.values().all(|reason| reason.len() > 20), "each row has a reason");
    let new: Vec<String> = lost
        .iter()
        .filter(|(place, _)| !known.contains_key(place.as_str()))
        .map(|(place, example)| format!("{place}: {example}"))
        .collect();
    assert!(new.is_empty(), "not kept, and not listed:\n{}", new.join("\n"));
    if !recordings::cases().is_empty() {
        let kept: Vec<_> = known.keys().filter(|place| !lost.contains_key(**place)).collect();
        assert!(kept.is_empty(), "listed, and kept: {kept:?}");
    }
}

/// Whether the body is an answer; what it says and its copy does not is added to `lost`.
fn compared(body: &Body, lost: &mut BTreeMap<String, String>) -> bool {
    let Ok(recorded) = serde_json::from_slice::<Value>(&body.bytes) else { return false };
    let mut fold = Fold::new();
    whole(body.wire, &body.bytes, &mut fold);
    let answer = fold.finish();
    // An error stands alone: it is written by `write_error`, for which other tests stand.
    if answer.upstream_error().is_some() {
        return false;
    }
    let written = serde_json::from_str(&body.wire.write_response(&answer)).unwrap();
    let mut found = Vec::new();
    compare(&recorded, &written, body.wire.id(), &mut found);
    for (place, values) in found {
        lost.entry(place).or_insert_with(|| format!("{values} in {}", body.name));
    }
    true
}

/// Collects the places where `is` does not say what `was` said. `null` says nothing in an answer.
fn compare(was: &Value, is: &Value, place: &str, lost: &mut Vec<(String, String)>) {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            for (key, value) in was {
                let place = format!("{place}.{key}");
                match is.get(key) {
                    Some(written) => compare(value, written, &place, lost),
                    None if value.is_null() => {}
                    None => lost.push((place, value.to_string())),
                }
            }
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            for (was, is) in was.iter().zip(is) {
                compare(was, is, &format!("{place}[]"), lost);
            }
        }
        (was, is) if was == is => {}
        (Value::Number(was), Value::Number(is)) if was.as_f64() == is.as_f64() => {}
        (was, is) => lost.push((place.to_owned(), format!("{was}, not {is},"))),
    }
}
