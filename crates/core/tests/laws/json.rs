//! Laws of our JSON reader and writer, judged by another reader.

use serde_json::Value;
use serde_json::value::RawValue;
use thinkthrough_json::{Doc, JsonErrorKind, Kind, Val, unescape, write_escaped};

pub(crate) const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\"a\"",
    b"\"a\":",
    b"null",
    b"true",
    b"false",
    b"0",
    b"-1.5e+3",
    b"-",
    b"01",
    b"1e999",
    b"\\u0041",
    b"\\ud83d\\ude00",
    b"\\ud800",
    b"\\udc00",
    b"\\u+123",
    b"\\n",
    b"\\/",
    b"\\",
    b" ",
    b"\n",
    b"\t",
    b"\xEF\xBB\xBF",
    b"\x1F",
    b"\xF0\x9F\xA6\x80",
    b"\"role\":\"assistant\"",
    b"\"content\":",
    b"\"messages\":[",
    b"\"model\":\"m\"",
    b"\"type\":\"text\"",
    b"\"thinking\"",
    b"\"tool_calls\":[",
];

/// We accept what `serde_json` accepts, and see the same values in it.
pub(crate) fn agrees_with_serde(bytes: &[u8]) {
    // Only we skip a byte order mark, which the standard lets a reader do.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return;
    }
    let ours = Doc::parse(bytes);
    let theirs = serde_json::from_slice::<&RawValue>(bytes);
    match (&ours, &theirs) {
        (Ok(doc), Ok(raw)) => {
            assert_eq!(doc.root().raw(), raw.get().trim_matches([' ', '\n', '\t', '\r']));
            // It refuses numbers beyond a float and halves of surrogate pairs, which we keep.
            if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
                same(doc.root(), &value);
            }
        }
        (Err(error), Ok(_)) => {
            assert_eq!(error.kind, JsonErrorKind::TooDeep, "only we refuse: {error}");
        }
        (Ok(_), Err(error)) => panic!("only we accept: {error}"),
        (Err(error), Err(_)) => assert!(error.at <= bytes.len(), "{error}"),
    }
}

fn same(ours: Val<'_>, theirs: &Value) {
    let kind = match theirs {
        Value::Null => Kind::Null,
        Value::Bool(value) => {
            assert_eq!(ours.as_bool(), Some(*value));
            Kind::Bool
        }
        Value::Number(value) => {
            // Its own floats may be off by the last digit; those of the standard library are not.
            assert_eq!(ours.as_f64(), ours.raw().parse().ok());
            if value.is_u64() {
                assert_eq!(ours.as_u64(), value.as_u64());
            }
            Kind::Number
        }
        Value::String(value) => {
            assert_eq!(ours.as_str().as_deref(), Some(value.as_str()));
            Kind::String
        }
        Value::Array(values) => {
            assert_eq!(ours.items().count(), values.len());
            ours.items().zip(values).for_each(|(ours, theirs)| same(ours, theirs));
            Kind::Array
        }
        Value::Object(values) => {
            // Of a repeated key they keep one value; then the objects cannot be compared.
            let is_repeated = ours.entries().count() != values.len();
            for (key, theirs) in values.iter().filter(|_| !is_repeated) {
                same(ours.get(key).expect("a key that both see"), theirs);
            }
            Kind::Object
        }
    };
    assert_eq!(ours.kind(), kind);
}

/// Any text survives being written as a JSON string, and the other reader reads it so too.
pub(crate) fn strings_survive(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut inside = String::new();
    write_escaped(&text, &mut inside);
    let inside = inside
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(&inside)
        .to_owned();
    assert_eq!(unescape(&inside), text);
    let quoted = format!("\"{inside}\"");
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(&*text));
}
