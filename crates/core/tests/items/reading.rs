//! Reads bodies as answers and writes answers as bodies.

use serde_json::Value;
use std::path::PathBuf;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Text, Thinking};
use thinkthrough_core::event::{Event, Fact, Fold, Sink};
use thinkthrough_core::frame::{Frame, Framer, Framing};
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::wire::{self, Dialect, Encode, Wire};
use thinkthrough_json::{Doc, Extra};

/// One recorded exchange.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) is_stream: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) expected: Value,
    pub(crate) request: Option<String>,
}

/// The recorded exchanges of these wires; none where the recordings are absent.
pub(crate) fn cases() -> Vec<Case> {
    let root = std::env::var_os("THINKTHROUGH_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let Ok(manifest) = std::fs::read_to_string(root.join("manifest.json")) else {
        println!("the corpus of recorded traffic is absent: {}", root.display());
        return Vec::new();
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let mut cases = Vec::new();
    for case in manifest.as_array().unwrap() {
        let name = match case["api"].as_str().unwrap() {
            "openai-responses" => "responses",
            "gemini-interactions" => "interactions",
            "gemini" => "generate-content",
            "cohere-v2" => "cohere-chat",
            "ollama" => "ollama-chat",
            _ => continue,
        };
        let dir = root.join(case["dir"].as_str().unwrap());
        let read = |file: &str| std::fs::read_to_string(dir.join(file)).ok();
        let json = |file: &str| -> Value { serde_json::from_str(&read(file).unwrap()).unwrap() };
        cases.push(Case {
            id: case["id"].as_str().unwrap().to_owned(),
            wire: wire::find(name).unwrap(),
            is_stream: case["streaming"] == true,
            body: std::fs::read(dir.join("response.bin")).unwrap(),
            expected: json("expected.json"),
            request: read("request.json"),
        });
    }
    cases
}

impl Case {
    /// The answer, read without being told what form the body has.
    pub(crate) fn answer(&self) -> Answer {
        let mut reader = Reader::new(self.wire, &Dialect::default(), Form::Auto);
        let mut fold = Fold::new();
        self.body.chunks(1000).for_each(|bytes| reader.push(bytes, &mut fold));
        assert!(reader.end(&mut fold), "{}: nothing was read", self.id);
        fold.finish()
    }
}

/// What cuts a stream of this wire into messages.
pub(crate) fn framer(wire: &dyn Wire) -> Framer {
    Framer::new(wire.framing())
}

/// What ends one message of a stream of this wire.
pub(crate) fn message_end(wire: &dyn Wire) -> &'static str {
    if wire.framing() == Framing::Ndjson { "\n" } else { "\n\n" }
}

/// Passes the events of a stream to a sink.
pub(crate) fn decode(wire: &dyn Wire, body: &[u8], sink: &mut dyn Sink) {
    let mut decoder = wire.decoder(&Dialect::default());
    let mut framer = framer(wire);
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame {
            decoder.message(event.event, event.data, sink);
        }
    };
    framer.push(body, &mut take);
    framer.end(&mut take);
    decoder.end(sink);
}

/// Reads a stream.
pub(crate) fn stream(wire: &dyn Wire, body: &[u8]) -> Answer {
    let mut fold = Fold::new();
    decode(wire, body, &mut fold);
    fold.finish()
}

/// Reads a whole body.
pub(crate) fn whole(wire: &dyn Wire, body: &[u8]) -> Answer {
    let mut fold = Fold::new();
    let doc = Doc::parse(body).unwrap();
    wire.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

/// Writes the events of a stream as a stream.
pub(crate) fn relay(wire: &dyn Wire, body: &[u8]) -> Vec<u8> {
    let mut encoder = wire.encoder();
    let mut out = Vec::new();
    decode(wire, body, &mut |event: Event<'_>| encoder.event(event, &mut out));
    encoder.end(&mut out);
    out
}

/// Writes an answer as a stream, texts in two pieces.
pub(crate) fn as_stream(wire: &dyn Wire, answer: &Answer) -> Vec<u8> {
    let mut encoder = wire.encoder();
    let mut out = Vec::new();
    let mut say = |event: Event<'_>| encoder.event(event, &mut out);
    if let Some(id) = &answer.response_id {
        say(Event::Fact(Fact::ResponseId(id)));
    }
    if let Some(model) = &answer.model {
        say(Event::Fact(Fact::Model(model)));
    }
    if let Some(plan) = &answer.tool_plan {
        say(Event::Fact(Fact::ToolPlan(plan)));
    }
    if let Some(refusal) = &answer.refusal {
        say(Event::Fact(Fact::Refusal(refusal)));
    }
    say_extra(wire, &answer.extra, &mut say);
    for (block, value) in answer.blocks.iter().enumerate() {
        say_block(block, value, &mut say);
    }
    for (choice, index) in answer.choices.iter().zip(1..) {
        say_choice(index, choice, wire, &mut say);
    }
    if let Some(usage) = &answer.usage {
        say(Event::Usage(usage));
    }
    answer.problems.iter().for_each(|problem| say(Event::Problem(problem)));
    let finish_reason = answer.finish_reason.as_deref();
    say(Event::Finish { finish_reason, model: answer.model.as_deref() });
    encoder.end(&mut out);
    out
}

/// The fields of an answer, and the notes on it; one holds what stood beside its message.
fn say_extra(wire: &dyn Wire, extra: &Extra, say: &mut dyn FnMut(Event<'_>)) {
    let wire = wire.id();
    for (key, value) in &extra.fields {
        say(Event::Fact(Fact::Field { wire, key, value }));
    }
    for (name, value) in &extra.notes {
        say(Event::Fact(match name.as_str() {
            "choice" => Fact::Beside { wire, members: value },
            "candidate" => Fact::Note { wire, name: "candidate", value },
            other => panic!("a note of this name has no event: {other}"),
        }));
    }
}

fn say_choice(index: usize, choice: &Answer, wire: &dyn Wire, say: &mut dyn FnMut(Event<'_>)) {
    let mut say = |event: Event<'_>| say(Event::Choice { index, event: &event });
    say_extra(wire, &choice.extra, &mut say);
    for (block, value) in choice.blocks.iter().enumerate() {
        say_block(block, value, &mut say);
    }
    let finish_reason = choice.finish_reason.as_deref();
    say(Event::Finish { finish_reason, model: choice.model.as_deref() });
}

fn say_block(block: usize, value: &Block, say: &mut dyn FnMut(Event<'_>)) {
    match value {
        Block::Thinking(thinking) => {
            say(Event::ThinkingStart { block, source_field: &thinking.source_field });
            for delta in pieces(&thinking.thought) {
                say(Event::ThinkingDelta { block, delta });
            }
            let rest = Thinking { thought: String::new(), ..thinking.clone() };
            say(Event::ThinkingEnd { block, thinking: &rest, thought: None });
        }
        Block::Text(text) => {
            say(Event::TextStart { block });
            for delta in pieces(&text.text) {
                say(Event::TextDelta { block, delta });
            }
            let rest = Text { text: String::new(), ..text.clone() };
            say(Event::TextEnd { block, text: &rest, whole: None });
        }
        Block::ToolCall(call) => {
            say(Event::ToolCallStart { block, call });
            for delta in pieces(call.parameters.as_text()) {
                say(Event::ToolCallDelta { block, delta });
            }
            say(Event::ToolCallEnd { block, call });
        }
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {
            say(Event::Whole { block, value });
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let at = text.char_indices().nth(3).map_or(0, |(at, _)| at);
    let (head, tail) = text.split_at(at);
    [head, tail].into_iter().filter(|piece| !piece.is_empty())
}

/// A request read and written again.
pub(crate) fn rewritten(wire: &dyn Wire, body: &str) -> Value {
    let doc = Doc::parse_str(body).unwrap();
    let request = wire.read_request(doc.root()).unwrap();
    let written = wire.write_request(&request, &Dialect::default());
    assert!(written.untranslated.is_empty(), "{:?}", written.untranslated);
    serde_json::from_str(&written.body).unwrap()
}

/// Passes events on to an encoder, as a relay between wires does.
#[derive(Debug)]
pub(crate) struct Encoding {
    pub(crate) encoder: Box<dyn Encode>,
    pub(crate) out: Vec<u8>,
}

impl Sink for Encoding {
    fn event(&mut self, event: Event<'_>) {
        self.encoder.event(event, &mut self.out);
    }
}
