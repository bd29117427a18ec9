//! The same answer as a stream and whole, and requests with all that a wire can say.

use crate::reading::{Encoding, as_stream, decode, relay, rewritten, stream, whole};
use serde_json::Value;
use std::path::PathBuf;
use thinkthrough_core::wire;

fn read(wire: &str, file: &str) -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/wires"));
    std::fs::read_to_string(root.join(wire).join(file)).unwrap()
}

pub(crate) const WIRES: [&str; 5] =
    ["responses", "interactions", "cohere-chat", "ollama-chat", "generate-content"];

/// The fixture of a stream.
pub(crate) fn stream_file(wire: &str) -> &'static str {
    if wire == "ollama-chat" { "answer.ndjson" } else { "answer.sse" }
}

#[test]
fn a_stream_gives_what_the_whole_answer_gives() {
    for name in WIRES {
        let wire = wire::find(name).unwrap();
        let by_stream = stream(wire, read(name, stream_file(name)).as_bytes());
        let by_whole = whole(wire, read(name, "answer.json").as_bytes());
        assert_eq!(by_stream, by_whole, "{name}");
        assert!(by_whole.is_complete() && by_whole.problems.is_empty(), "{name}");
        assert!(by_whole.blocks.len() >= 5, "{name}");
    }
}

#[test]
fn answers_survive_being_written_again() {
    for name in WIRES {
        let wire = wire::find(name).unwrap();
        let body = read(name, stream_file(name));
        let answer = stream(wire, body.as_bytes());
        assert_eq!(whole(wire, wire.write_response(&answer).as_bytes()), answer, "{name} whole");
        assert_eq!(stream(wire, &as_stream(wire, &answer)), answer, "{name} as a stream");
        assert_eq!(stream(wire, &relay(wire, body.as_bytes())), answer, "{name} relayed");
    }
}

#[test]
fn requests_survive_being_written_again() {
    for name in WIRES {
        let wire = wire::find(name).unwrap();
        let text = read(name, "request.json");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(rewritten(wire, &text), body, "{name}");
    }
}

/// Thoughts, text and calls survive the way over the other wire; what only one wire has does not.
#[test]
fn an_answer_of_one_wire_can_be_said_on_the_other() {
    let wires = ["responses", "interactions", "generate-content"];
    let pairs = wires.iter().flat_map(|from| wires.map(|to| [*from, to]));
    for [from, to] in pairs.filter(|[from, to]| from != to) {
        let (source, target) = (wire::find(from).unwrap(), wire::find(to).unwrap());
        let body = read(from, stream_file(from));
        let answer = stream(source, body.as_bytes());
        let mut encoding = Encoding { encoder: target.encoder(), out: Vec::new() };
        decode(source, body.as_bytes(), &mut encoding);
        encoding.encoder.end(&mut encoding.out);
        let by_stream = stream(target, &encoding.out);
        let by_whole = whole(target, target.write_response(&answer).as_bytes());
        for said in [by_stream, by_whole] {
            assert!(said.is_complete(), "{from} {:?}", said.problems);
            let text = answer.text() + answer.refusal.as_deref().unwrap_or_default();
            assert_eq!(said.text(), text, "{from}");
            // Parts of one kind that follow each other are one block on some wires, so only all of it is compared.
            let thoughts = |answer: &thinkthrough_core::answer::Answer| -> String {
                let texts = answer.blocks.iter().filter_map(|block| match block {
                    thinkthrough_core::content::Block::Thinking(t) => Some(t.thought.clone()),
                    _ => None,
                });
                texts.collect()
            };
            assert_eq!(thoughts(&said), thoughts(&answer), "{from}");
            let calls =
                |answer: &thinkthrough_core::answer::Answer| -> Vec<(Option<String>, String)> {
                    let calls = answer.blocks.iter().filter_map(|block| match block {
                        thinkthrough_core::content::Block::ToolCall(call) => {
                            Some((call.id.clone(), call.name.clone()))
                        }
                        _ => None,
                    });
                    calls.collect()
                };
            assert_eq!(calls(&said), calls(&answer), "{from}");
        }
    }
}
