//! Watches an answer for the resources that its provider creates.

use super::access::Access;
use super::answer::{beside, in_answer, in_collection};
use super::path::Purpose;
use std::collections::BTreeSet;
use std::future::Future;
use thinkthrough_core::wire::resource::{Kind, Resource};
use thinkthrough_json::Doc;

/// The wires whose answers create resources, and the words that an event of a stream must contain to name one.
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

/// The watcher skips a longer line or value; the resources in it stay unknown.
const LONGEST: usize = 8 << 20;

/// Watches one answer.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    access: Access,
    wire: &'static str,
    words: &'static [&'static str],
    /// For requests of the provider's own API: the kind that the request creates, and whether the answer also lists
    /// files.
    api: Option<(Option<Kind>, bool)>,
    /// The request lets the provider store its answer.
    is_stored: bool,
    is_stream: bool,
    /// An incomplete line, or all of a value.
    rest: Vec<u8>,
    is_lost: bool,
    created: BTreeSet<Resource>,
}

impl Tap {
    /// Whether the provider may store the answers of this wire.
    pub(crate) fn may_continue(wire: &str) -> bool {
        matches!(wire, "responses" | "interactions")
    }

    /// Watches an answer of this wire to a request with this body. `None` if no answer of the wire creates a
    /// resource.
    pub(crate) fn new(access: Access, wire: &str, sent: &[u8], is_stream: bool) -> Option<Self> {
        let (wire, words) = WIRES.iter().find(|(known, _)| *known == wire)?;
        let is_refused = |doc: Doc<'_>| doc.root().bool("store") == Some(false);
        Some(Tap {
            access,
            wire,
            words,
            api: None,
            is_stored: !Doc::parse(sent).is_ok_and(is_refused),
            is_stream,
            rest: Vec::new(),
            is_lost: false,
            created: BTreeSet::new(),
        })
    }

    /// Watches an answer of a provider's own API.
    pub(crate) fn of_api(
        access: Access,
        purpose: &Purpose,
        last: &str,
        sent: &[u8],
    ) -> Option<Self> {
        let wire = match last {
            "responses" => "responses",
            "messages" => "messages",
            "interactions" => "interactions",
            _ => "chat-completions",
        };
        let api = match purpose {
            Purpose::Model => None,
            Purpose::Creation(kind) => Some((Some(*kind), false)),
            Purpose::Use { resource, created, is_whole } => {
                // The content of a file is text of its owner, so it is not searched.
                let lists = matches!(
                    resource.kind,
                    Kind::Batch | Kind::Job | Kind::Operation | Kind::Upload
                );
                let is_ended = last == "complete" || last == "cancel";
                Some((*created, lists && (*is_whole || is_ended)))
            }
            Purpose::List | Purpose::Unknown => return None,
        };
        let is_stream = Doc::parse(sent).is_ok_and(|doc| doc.root().bool("stream") == Some(true));
        Some(Tap { api, ..Tap::new(access, wire, sent, is_stream)? })
    }

    /// Resources that the answer creates belong to this session.
    pub(crate) fn in_session(self, session: Option<String>) -> Self {
        Tap { access: self.access.in_session(session), ..self }
    }

    /// Reads the answer as one value, although the request wanted a stream.
    pub(crate) fn is_whole(&mut self) {
        self.is_stream = false;
    }

    /// Takes bytes of a stream, and records new resources in a background task.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.push(bytes);
        if self.is_stream
            && let Some(work) = self.work()
        {
            tokio::spawn(work);
        }
    }

    /// Takes bytes of the answer.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.is_lost {
            return;
        }
        self.rest.extend_from_slice(bytes);
        // A long line arrives in many pieces; waiting for its end parses it only once.
        if self.is_stream && bytes.contains(&b'\n') {
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
                self.add(in_answer(self.wire, doc.root()));
            }
        }
    }

    /// Records the resources created so far. `None` if the answer created none.
    pub(crate) fn work(&mut self) -> Option<impl Future<Output = bool> + Send + use<>> {
        if !self.is_stream {
            let whole = std::mem::take(&mut self.rest);
            self.take_whole(&whole);
        }
        let created = std::mem::take(&mut self.created);
        (!created.is_empty()).then(|| self.access.clone().record(created))
    }

    fn take_whole(&mut self, whole: &[u8]) {
        // A whole answer of these wires always has a new id.
        let is_new = Tap::may_continue(self.wire) || self.api.is_some();
        let names = || self.words.iter().any(|word| contains(whole, word.as_bytes()));
        if !is_new && !names() {
            return;
        }
        let Ok(doc) = Doc::parse(whole) else { return };
        let root = doc.root();
        self.add(in_answer(self.wire, root));
        if let Some((kind, lists)) = self.api {
            kind.into_iter().for_each(|kind| self.add(in_collection(kind, root)));
            lists.then(|| beside(root)).into_iter().for_each(|files| self.add(files));
        }
    }

    /// Adds resources. Skips responses and items if the request said `"store": false`, because no API resolves those.
    fn add(&mut self, created: BTreeSet<Resource>) {
        let is_answer = |one: &Resource| matches!(one.kind, Kind::Response | Kind::Item);
        self.created.extend(created.into_iter().filter(|one| self.is_stored || !is_answer(one)));
    }
}

fn contains(whole: &[u8], word: &[u8]) -> bool {
    whole.windows(word.len()).any(|window| window == word)
}
