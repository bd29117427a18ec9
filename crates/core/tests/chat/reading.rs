//! Reads bodies as answers.

use serde_json::Value;
use std::path::PathBuf;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::{Event, Fold, Tee};
use thinkthrough_core::frame::{Frame, Framer, Framing};
use thinkthrough_core::wire::{self, Dialect, Wire};
use thinkthrough_json::Doc;

/// One recorded exchange.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) is_stream: bool,
    pub(crate) status: u64,
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
            "openai-chat" => "chat-completions",
            "mistral-chat" => "mistral-chat",
            _ => continue,
        };
        let dir = root.join(case["dir"].as_str().unwrap());
        let read = |file: &str| std::fs::read_to_string(dir.join(file)).ok();
        let json = |file: &str| -> Value { serde_json::from_str(&read(file).unwrap()).unwrap() };
        let body = std::fs::read(dir.join("response.bin")).unwrap();
        let starts = body.iter().find(|byte| !byte.is_ascii_whitespace());
        cases.push(Case {
            id: case["id"].as_str().unwrap().to_owned(),
            wire: wire::find(name).unwrap(),
            is_stream: case["streaming"] == true && starts != Some(&b'{'),
            status: json("meta.json")["status"].as_u64().unwrap_or(200),
            body,
            expected: json("expected.json"),
            request: read("request.json"),
        });
    }
    cases
}

/// Reads a stream.
pub(crate) fn stream(wire: &dyn Wire, body: &[u8]) -> Answer {
    let mut decoder = wire.decoder(&Dialect::default());
    let mut fold = Fold::new();
    let mut framer = Framer::new(Framing::Sse);
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame {
            decoder.message(event.event, event.data, &mut fold);
        }
    };
    framer.push(body, &mut take);
    framer.end(&mut take);
    decoder.end(&mut fold);
    fold.finish()
}

/// Reads a whole body.
pub(crate) fn whole(wire: &dyn Wire, body: &[u8]) -> Answer {
    let mut fold = Fold::new();
    let doc = Doc::parse(body).unwrap();
    wire.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

impl Case {
    pub(crate) fn answer(&self) -> Answer {
        if self.is_stream { stream(self.wire, &self.body) } else { whole(self.wire, &self.body) }
    }
}

/// Reads a stream, writes its events as another one, and reads that.
pub(crate) fn written_again(wire: &dyn Wire, body: &[u8]) -> (Answer, Answer) {
    let mut decoder = wire.decoder(&Dialect::default());
    let mut encoder = wire.encoder();
    let (mut fold, mut bytes) = (Fold::new(), Vec::new());
    {
        let mut into = |event: Event<'_>| encoder.event(event, &mut bytes);
        let mut both = Tee(&mut fold, &mut into);
        let mut framer = Framer::new(Framing::Sse);
        let mut take = |frame: Frame<'_>| {
            if let Frame::Event(event) = frame {
                decoder.message(event.event, event.data, &mut both);
            }
        };
        framer.push(body, &mut take);
        framer.end(&mut take);
        decoder.end(&mut both);
    }
    encoder.end(&mut bytes);
    (fold.finish(), stream(wire, &bytes))
}

/// Reads a whole body, writes its events as a stream, and reads that.
pub(crate) fn streamed(wire: &dyn Wire, body: &[u8]) -> (Answer, Answer) {
    let mut encoder = wire.encoder();
    let (mut fold, mut bytes) = (Fold::new(), Vec::new());
    {
        let mut into = |event: Event<'_>| encoder.event(event, &mut bytes);
        let doc = Doc::parse(body).unwrap();
        wire.read_response(doc.root(), &Dialect::default(), &mut Tee(&mut fold, &mut into));
    }
    encoder.end(&mut bytes);
    (fold.finish(), stream(wire, &bytes))
}
