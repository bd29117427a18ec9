//! Recorded exchanges, and how their bodies are read.

use serde_json::Value;
use std::path::PathBuf;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::{Fold, Sink};
use thinkthrough_core::frame::{Frame, Framer};
use thinkthrough_core::wire::{self, Dialect, Wire};
use thinkthrough_json::Doc;

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
            "anthropic-messages" => "messages",
            "bedrock-converse" => "converse",
            _ => continue,
        };
        let dir = root.join(case["dir"].as_str().unwrap());
        let expected = std::fs::read(dir.join("expected.json")).unwrap();
        cases.push(Case {
            id: case["dir"].as_str().unwrap().to_owned(),
            wire: wire::find(name).unwrap(),
            is_stream: case["streaming"] == true,
            body: std::fs::read(dir.join("response.bin")).unwrap(),
            expected: serde_json::from_slice(&expected).unwrap(),
            request: std::fs::read_to_string(dir.join("request.json")).ok(),
        });
    }
    cases
}

fn framer(wire: &dyn Wire) -> Framer {
    Framer::new(wire.framing())
}

/// Reads a stream that comes in these pieces.
pub(crate) fn stream_into<'b>(
    wire: &dyn Wire,
    pieces: impl IntoIterator<Item = &'b [u8]>,
    sink: &mut dyn Sink,
) {
    let (mut framer, mut decoder) = (framer(wire), wire.decoder(&Dialect::default()));
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame {
            decoder.message(event.event, event.data, sink);
        }
    };
    pieces.into_iter().for_each(|piece| framer.push(piece, &mut take));
    framer.end(&mut take);
    decoder.end(sink);
}

/// The answer to a stream that comes in these pieces.
pub(crate) fn stream<'b>(wire: &dyn Wire, pieces: impl IntoIterator<Item = &'b [u8]>) -> Answer {
    let mut fold = Fold::new();
    stream_into(wire, pieces, &mut fold);
    fold.finish()
}

/// The name and the data of each event of a stream.
pub(crate) fn messages(wire: &dyn Wire, body: &[u8]) -> Vec<(Option<String>, String)> {
    let mut messages = Vec::new();
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame {
            messages.push((event.event.map(str::to_owned), event.data.to_owned()));
        }
    };
    let mut framer = framer(wire);
    framer.push(body, &mut take);
    framer.end(&mut take);
    messages
}

/// The answer in a whole body.
pub(crate) fn whole(wire: &dyn Wire, body: &[u8]) -> Answer {
    let mut fold = Fold::new();
    let doc = Doc::parse(body).unwrap();
    wire.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

impl Case {
    pub(crate) fn answer(&self) -> Answer {
        if self.is_stream {
            stream(self.wire, [self.body.as_slice()])
        } else {
            whole(self.wire, &self.body)
        }
    }
}
