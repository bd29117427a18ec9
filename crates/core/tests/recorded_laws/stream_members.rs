//! A stream that is read and written on its own wire keeps its members, those that nobody here knows included.
//!
//! Chunks may be cut and joined anew, so what counts is which values each place had anywhere in the stream. Of a text that
//! goes on from chunk to chunk a piece is kept where the whole answer says it.

use crate::again::written_as_stream;
use crate::bodies::{Body, bodies};
use crate::members::judge;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::event::Event;
use thinkthrough_core::frame::{Frame, Framer};
use thinkthrough_core::wire::{self, Dialect, Wire};

/// Places whose values are not kept: the place, a tab, why. One that is kept all the same fails the test.
const LOST: &str = include_str!("../../../../fixtures/exceptions/stream-members.tsv");

/// What each place of a stream says, but for `null` and what is empty, which say nothing.
type Said = BTreeMap<String, BTreeSet<String>>;

#[test]
fn streams_keep_unknown_members() {
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for wire in wire::ALL {
        for body in bodies(*wire).iter().filter(|body| body.is_stream) {
            count += usize::from(compared(body, &mut lost));
        }
    }
    println!("{count} streams, {} places that are not kept", lost.len());
    judge(LOST, &lost);
}

/// Whether the stream is an answer; what it says and its copy does not is added to `lost`.
fn compared(body: &Body, lost: &mut BTreeMap<String, String>) -> bool {
    let Some((answer, written)) = written_as_stream(body) else { return false };
    // An error stands alone, and a stream that broke off is not written to its end.
    if answer.upstream_error().is_some() || !answer.is_complete() {
        return false;
    }
    let (was, is) = (said(body.wire, &body.bytes), said(body.wire, &written));
    let mut texts = Vec::new();
    texts_of(&serde_json::from_str(&body.wire.write_response(&answer)).unwrap(), &mut texts);
    for (place, values) in was {
        let copy = is.get(&place);
        let is_lost = |value: &&String| {
            let is_here = copy.is_some_and(|copy| copy.contains(*value));
            let piece = serde_json::from_str::<String>(value).ok();
            !is_here && !piece.is_some_and(|piece| texts.iter().any(|text| text.contains(&piece)))
        };
        if let Some(value) = values.iter().find(is_lost) {
            lost.entry(place).or_insert_with(|| format!("{value} in {}", body.name));
        }
    }
    true
}

/// The texts in a value.
fn texts_of(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Object(members) => members.values().for_each(|value| texts_of(value, texts)),
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a stream says until its answer is over; some recordings have further answers behind it.
fn said(wire: &dyn Wire, bytes: &[u8]) -> Said {
    let mut said = Said::new();
    let mut framer = Framer::new(wire.framing());
    let mut decoder = wire.decoder(&Dialect::PLAIN);
    let mut read = |frame: Frame<'_>| {
        let Frame::Event(event) = frame else { return };
        if decoder.is_over() {
            return;
        }
        decoder.message(event.event, event.data, &mut |_: Event<'_>| {});
        if let Ok(value) = serde_json::from_str::<Value>(event.data) {
            collect(&value, wire.id(), &mut said);
        }
    };
    framer.push(bytes, &mut read);
    framer.end(&mut read);
    said
}

fn collect(value: &Value, place: &str, said: &mut Said) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| collect(value, &format!("{place}.{key}"), said));
        }
        Value::Array(items) => {
            items.iter().for_each(|item| collect(item, &format!("{place}[]"), said));
        }
        Value::Number(number) => {
            let number = number.as_f64().map_or_else(|| number.to_string(), |it| it.to_string());
            said.entry(place.to_owned()).or_default().insert(number);
        }
        Value::String(text) if text.is_empty() => {}
        Value::Bool(_) | Value::String(_) => {
            said.entry(place.to_owned()).or_default().insert(value.to_string());
        }
    }
}
