//! Listens to an answer for the things that a provider made for it.

use super::created::{beside, in_answer, in_collection};
use super::known::Known;
use super::name::{Kind, Named};
use super::place::Spot;
use std::future::Future;
use thinkthrough_core::json::Doc;

/// The wires whose answers can name such things, and in a stream the words without which an event names none.
const WIRES: &[(&str, &[&str])] = &[
    (
        "responses",
        &[
            "response.created",
            "response.completed",
            "response.incomplete",
            "response.failed",
            "response.output_item.done",
        ],
    ),
    ("messages", &["\"container\"", "\"file_id\""]),
    ("interactions", &["\"interaction\""]),
    ("chat-completions", &["\"audio\""]),
];

/// A longer line or value is not looked at; what it names is nobody's then.
const LONGEST: usize = 8 << 20;

/// Listens to one answer.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    known: Known,
    wire: &'static str,
    words: &'static [&'static str],
    /// The answer is about a collection or a thing of a provider's own API.
    place: Option<(Option<Kind>, bool)>,
    is_stream: bool,
    /// The line that has not ended, or all of a value.
    rest: Vec<u8>,
    is_lost: bool,
    made: Vec<Named>,
}

impl Tap {
    /// Whether an answer of this wire may be gone on from by its id.
    pub(crate) fn hears(wire: &str) -> bool {
        matches!(wire, "responses" | "interactions")
    }

    /// For an answer of this wire; `None` where it can name nothing.
    pub(crate) fn new(known: Known, wire: &str, is_stream: bool) -> Option<Self> {
        let (wire, words) = WIRES.iter().find(|(known, _)| *known == wire)?;
        let (rest, made) = (Vec::new(), Vec::new());
        Some(Tap { known, wire, words, place: None, is_stream, rest, is_lost: false, made })
    }

    /// For an answer of a provider's own API.
    pub(crate) fn at(known: Known, spot: &Spot, last: &str, is_stream: bool) -> Option<Self> {
        let wire = match last {
            "responses" => "responses",
            "messages" => "messages",
            "interactions" => "interactions",
            _ => "chat-completions",
        };
        let place = match spot {
            Spot::Open => None,
            Spot::Made(kind) => Some((Some(*kind), false)),
            Spot::Thing { named, made, is_whole } => {
                // What a file says is its owner's own words.
                let tells = matches!(
                    named.kind(),
                    Kind::Batch | Kind::Job | Kind::Operation | Kind::Upload
                );
                let is_ended = last == "complete" || last == "cancel";
                Some((*made, tells && (*is_whole || is_ended)))
            }
            Spot::List | Spot::Unknown => return None,
        };
        Some(Tap { place, ..Tap::new(known, wire, is_stream)? })
    }

    /// What the answer makes is of this session.
    pub(crate) fn in_session(self, session: Option<String>) -> Self {
        Tap { known: self.known.in_session(session), ..self }
    }

    /// The answer is one value, though a stream was asked for.
    pub(crate) fn is_whole(&mut self) {
        self.is_stream = false;
    }

    /// Bytes of a stream came that nobody else waits for: what they name is kept at once.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.push(bytes);
        if self.is_stream
            && let Some(work) = self.work()
        {
            tokio::spawn(work);
        }
    }

    /// Bytes of the answer came.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.is_lost {
            return;
        }
        self.rest.extend_from_slice(bytes);
        if self.is_stream {
            self.take_lines();
        }
        if self.rest.len() > LONGEST {
            self.is_lost = true;
            self.rest = Vec::new();
        }
    }

    fn take_lines(&mut self) {
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let text = String::from_utf8_lossy(&lines);
        for line in text.lines() {
            let data = line.strip_prefix("data:").map(str::trim);
            let data = data.filter(|data| self.words.iter().any(|word| data.contains(word)));
            if let Some(Ok(doc)) = data.map(Doc::parse_str) {
                self.made.extend(in_answer(self.wire, doc.root()));
            }
        }
    }

    /// What was made so far, to be kept; `None` where nothing was.
    pub(crate) fn work(&mut self) -> Option<impl Future<Output = bool> + Send + use<>> {
        if !self.is_stream {
            let whole = std::mem::take(&mut self.rest);
            self.take_whole(&whole);
        }
        let made = std::mem::take(&mut self.made);
        (!made.is_empty()).then(|| self.known.clone().record(made))
    }

    fn take_whole(&mut self, whole: &[u8]) {
        // Of a whole answer of these two, its own id is always something new.
        let is_new = Tap::hears(self.wire) || self.place.is_some();
        let names = || self.words.iter().any(|word| contains(whole, word.as_bytes()));
        if !is_new && !names() {
            return;
        }
        let Ok(doc) = Doc::parse(whole) else { return };
        let root = doc.root();
        self.made.extend(in_answer(self.wire, root));
        if let Some((kind, tells)) = self.place {
            self.made.extend(kind.into_iter().flat_map(|kind| in_collection(kind, root)));
            self.made.extend(tells.then(|| beside(root)).into_iter().flatten());
        }
    }
}

fn contains(whole: &[u8], word: &[u8]) -> bool {
    whole.windows(word.len()).any(|window| window == word)
}
