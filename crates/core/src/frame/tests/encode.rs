//! The text encoders: what they write is read back as it was.

use proptest::prelude::*;

use super::{Framing, Seen, SeenEvent, data, named};
use crate::frame::{ndjson, sse};

fn event(name: Option<&str>, data: &str) -> String {
    let mut out = Vec::new();
    sse::encode_event(name, data, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn one_line_of_data_for_each_line() {
    assert_eq!(event(None, "{}"), "data: {}\n\n");
    assert_eq!(event(Some("delta"), "a\nb"), "event: delta\ndata: a\ndata: b\n\n");
    assert_eq!(event(None, ""), "data: \n\n");
    assert_eq!(event(None, "\n"), "data: \ndata: \n\n");
    assert_eq!(event(Some(""), "a"), "data: a\n\n");
}

#[test]
fn no_carriage_return_is_written() {
    assert_eq!(
        event(Some("e\r\nx"), "a\rb\r\nc\n\rd"),
        "event: ex\ndata: a\ndata: b\ndata: c\ndata: \ndata: d\n\n"
    );
}

#[test]
fn a_comment_is_one_block() {
    let mut out = Vec::new();
    sse::encode_comment("keep-alive", &mut out);
    assert_eq!(out, b": keep-alive\n\n");
    sse::encode_comment("a\ndata: b", &mut out);
    assert_eq!(out, b": keep-alive\n\n: a\n: data: b\n\n");
    let comment = Seen::Comment;
    assert_eq!(super::frames(Framing::Sse, out), [comment.clone(), comment.clone(), comment]);
}

#[test]
fn a_json_line_has_no_line_end_inside() {
    let mut out = Vec::new();
    ndjson::encode_line("{\n  \"a\": 1\r\n}", &mut out);
    ndjson::encode_line("{}", &mut out);
    assert_eq!(out, b"{   \"a\": 1  }\n{}\n");
}

proptest! {
    #[test]
    fn events_are_read_back(events in prop::collection::vec(("[^\r\n]{0,6}", "(?s).{0,40}"), 0..5)) {
        let mut out = Vec::new();
        for (name, data) in &events {
            sse::encode_event(Some(name), data, &mut out);
        }
        prop_assert!(!out.contains(&b'\r'));
        let expected: Vec<Seen> = events
            .into_iter()
            .map(|(name, text)| {
                let text = text.replace("\r\n", "\n").replace('\r', "\n");
                if name.is_empty() { data(&text) } else { named(&name, &text) }
            })
            .collect();
        prop_assert_eq!(super::frames(Framing::Sse, out), expected);
    }

    #[test]
    fn json_lines_are_read_back(text in "(?s).{0,40}", number in any::<i64>()) {
        let value = serde_json::json!({ "text": text, "n": [number, { "deep": null }] });
        let mut out = Vec::new();
        ndjson::encode_line(&value.to_string(), &mut out);
        ndjson::encode_line(&serde_json::to_string_pretty(&value).unwrap(), &mut out);
        let seen = super::frames(Framing::Ndjson, out);
        prop_assert_eq!(seen.len(), 2);
        for seen in seen {
            let Seen::Event(SeenEvent { data, .. }) = seen else { panic!("no event") };
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&data).unwrap(), &value);
        }
    }
}
