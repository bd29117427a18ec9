//! The decoder of response streams, which reads whole responses too.

use super::part::{self, PartKind};
use super::partial_args::PartialArgs;
use super::{CANDIDATE, ID, PARTS, THOUGHT, either, error, names, response};
use crate::content::{Parameters, Text, Thinking};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Decode;
use crate::wire::open::{OpenBlocks, Part};

/// The state of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    /// The candidates.
    lanes: Vec<Lane>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<Raw>,
    /// A part of the answer came, or it is certain that none will come.
    has_come: bool,
    /// The reported other fields of the response.
    fields: Extra,
    /// The prompt was refused, so that no candidate comes.
    is_blocked: bool,
    error: Option<String>,
    unknown: bool,
}

/// One candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lane {
    index: usize,
    open: OpenBlocks,
    /// The key of the latest block, and its kind while it is open.
    key: u64,
    kind: Option<PartKind>,
    /// The ends of the parts of the open thought without the last one, and its length.
    ends: Vec<usize>,
    len: usize,
    /// No part of the current list was read.
    is_first: bool,
    /// The arguments of the open call, if they come in pieces.
    args: PartialArgs,
    finish: Option<String>,
    /// The reason was the number 0.
    is_unspecified: bool,
    /// The other fields of the candidate.
    fields: Extra,
}

/// A hostile upstream may send more candidates; they share the last one.
const MAX_LANES: usize = 128;

/// The fields of a response that have a name here.
const NAMED: [&str; 5] = ["candidates", "error", "modelVersion", "responseId", "usageMetadata"];

/// Reads a whole response: an object, or the chunks of a stream as an array.
pub(super) fn read_whole(body: Val<'_>, sink: &mut dyn Sink) {
    let mut decoder = Decoder::default();
    if body.is_array() {
        body.items().for_each(|chunk| decoder.chunk(chunk, sink));
        decoder.end(sink);
    } else {
        decoder.has_come = true;
        decoder.chunk(body, sink);
        decoder.finish(true, sink);
    }
}

impl Decode for Decoder {
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        if data.trim() == "[DONE]" {
            return;
        }
        match Doc::parse_str(data) {
            Ok(doc) if doc.root().is_array() => {
                doc.root().items().for_each(|chunk| self.chunk(chunk, sink));
            }
            Ok(doc) => self.chunk(doc.root(), sink),
            Err(error) => {
                let problem = Problem::new(ProblemCode::Malformed, error.to_string());
                sink.event(Event::Problem(&problem.at(name.unwrap_or("data"))));
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        if !self.is_complete() {
            let message = "the stream ended before a `finishReason`";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
        self.finish(false, sink);
    }

    fn is_complete(&self) -> bool {
        let is_finished = self.lanes.iter().any(|lane| lane.index == 0)
            && self.lanes.iter().all(|lane| lane.finish.is_some());
        self.is_blocked || self.error.is_some() || is_finished
    }

    /// Payloads and metadata may come behind the reason.
    fn is_over(&self) -> bool {
        false
    }

    crate::wire::decode_is_value!();
}

impl Decoder {
    fn chunk(&mut self, chunk: Val<'_>, sink: &mut dyn Sink) {
        if !chunk.is_object() {
            if !self.unknown {
                let message = "a chunk that is no object was skipped";
                sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
                self.unknown = true;
            }
            return;
        }
        self.facts(chunk, sink);
        let candidates = chunk.get("candidates");
        for (at, candidate) in candidates.iter().flat_map(|list| list.items()).enumerate() {
            let index = candidate.u64("index").and_then(|index| usize::try_from(index).ok());
            let lane = self.lane(index.unwrap_or(at));
            let index = lane.index;
            lane.candidate(candidate, &mut in_lane(index, sink));
        }
        let had_come = self.has_come;
        self.has_come |= self.is_blocked || self.lanes.iter().any(Lane::has_come);
        if let Some(usage) = chunk.get("usageMetadata").filter(|usage| usage.is_object())
            && (self.has_come && !had_come
                || self.usage.as_ref().is_none_or(|said| said.as_str() != usage.raw()))
        {
            let is_early = !self.has_come;
            sink.event(Event::Usage(&Usage { is_early, ..response::counts(usage) }));
            self.usage = Some(Raw::from(usage));
        }
        if let Some(problem) = error::of(chunk)
            && self.error.as_ref() != Some(&problem.message)
        {
            sink.event(Event::Problem(&problem));
            self.error = Some(problem.message);
        }
    }

    fn facts(&mut self, chunk: Val<'_>, sink: &mut dyn Sink) {
        if let Some(model) = chunk.string("modelVersion")
            && self.model.as_ref() != Some(&model)
        {
            sink.event(Event::Fact(Fact::Model(&model)));
            self.model = Some(model);
        }
        if let Some(id) = chunk.string("responseId")
            && self.id.as_ref() != Some(&id)
        {
            sink.event(Event::Fact(Fact::ResponseId(&id)));
            self.id = Some(id);
        }
        for (key, value) in chunk.entries().filter(|(key, _)| !NAMED.contains(&&**key)) {
            if self.fields.get(ID, &key).is_some_and(|said| said.as_str() == value.raw()) {
                continue;
            }
            let value = Raw::from(value);
            sink.event(Event::Fact(Fact::Field { wire: ID, key: &key, value: &value }));
            self.fields.insert(ID, &key, value);
        }
        let feedback = chunk.get("promptFeedback");
        let reason = feedback.and_then(|feedback| feedback.some("blockReason"));
        self.is_blocked |= reason.is_some_and(|reason| reason.as_u64() != Some(0));
    }

    /// The candidate of this index.
    fn lane(&mut self, index: usize) -> &mut Lane {
        let known = self.lanes.iter().position(|lane| lane.index == index);
        let at = known.unwrap_or_else(|| {
            if self.lanes.len() < MAX_LANES {
                self.lanes.push(Lane { index, ..Lane::default() });
            }
            self.lanes.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "`at` was found or is the last place")]
        &mut self.lanes[at]
    }

    /// Ends all open blocks. A `whole` response is complete even without a finish reason.
    fn finish(&mut self, whole: bool, sink: &mut dyn Sink) {
        let is_failed = self.error.is_some();
        let is_empty = self.lanes.is_empty();
        let model = self.model.as_deref();
        for lane in &mut self.lanes {
            let mut sink = in_lane(lane.index, sink);
            let is_over = lane.finish.is_some() || (whole && !is_failed);
            if lane.is_unspecified && lane.finish.is_none() {
                let message = "the reason why the answer ended is 0, which says none";
                sink(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
            }
            lane.end(!is_over, &mut sink);
            if is_over {
                let finish_reason = lane.finish.as_deref();
                sink(Event::Finish { finish_reason, model });
            }
        }
        if is_empty && !is_failed && (whole || self.is_blocked) {
            sink.event(Event::Finish { finish_reason: None, model });
        }
    }
}

/// Passes on the events of one candidate.
fn in_lane(index: usize, sink: &mut dyn Sink) -> impl FnMut(Event<'_>) {
    move |event: Event<'_>| match index {
        0 => sink.event(event),
        index => sink.event(Event::Choice { index, event: &event }),
    }
}

impl Lane {
    /// Whether any part of it came, even if only a finish reason.
    fn has_come(&self) -> bool {
        self.open.has_any() || self.finish.is_some()
    }

    fn candidate(&mut self, candidate: Val<'_>, sink: &mut dyn Sink) {
        let parts = candidate.path(&["content", "parts"]);
        self.is_first = true;
        parts.iter().flat_map(|parts| parts.each()).for_each(|part| self.part(part, sink));
        self.finish = names::finish_reason(candidate).or(self.finish.take());
        self.is_unspecified |= candidate.u64("finishReason") == Some(0);
        let fields = Extra::collect(ID, candidate, &["content", "finishReason", "index"]);
        for (key, value) in fields.fields {
            self.fields.insert(ID, &key, value);
        }
    }

    fn part(&mut self, value: Val<'_>, sink: &mut dyn Sink) {
        if !value.is_object() {
            return;
        }
        match PartKind::of(value) {
            kind @ (PartKind::Text | PartKind::Thought) => self.text(kind, value, sink),
            PartKind::Call => self.call(value, sink),
            PartKind::Media => self.whole(&part::media(value), sink),
            PartKind::Other | PartKind::Response => self.whole(&part::other(value), sink),
        }
    }

    fn whole(&mut self, block: &crate::content::Block, sink: &mut dyn Sink) {
        self.close(sink);
        self.open.whole(block, sink);
    }

    /// Text or a thought: goes on with the open block of its kind; a signature ends that.
    fn text(&mut self, kind: PartKind, value: Val<'_>, sink: &mut dyn Sink) {
        let said = value.text("text").unwrap_or_default();
        let signature = part::signature(value);
        let fields = part::fields(value);
        // The last chunk is often an empty text that only carries the reason of the end.
        if said.is_empty() && signature.is_none() && fields.is_empty() {
            return;
        }
        if self.kind == Some(kind) {
            // Pieces of one thought that come one by one are no parts of their own.
            if !self.is_first && kind == PartKind::Thought {
                self.ends.push(self.len);
            }
        } else {
            let part = if kind == PartKind::Thought {
                let source_field = THOUGHT.to_owned();
                Part::Thinking(Thinking { source_field, ..Thinking::default() })
            } else {
                Part::Text { text: Text::default(), citations: Vec::new(), wire: ID }
            };
            self.begin(kind, part, sink);
        }
        self.open.push(self.key, &said, sink);
        self.len += said.len();
        self.is_first = false;
        let is_signed = signature.is_some();
        let (slot, extra) = match self.open.part(self.key) {
            Some(Part::Thinking(thinking)) => (&mut thinking.signature, &mut thinking.extra),
            Some(Part::Text { text, .. }) => (&mut text.signature, &mut text.extra),
            Some(Part::Call { .. } | Part::Other(_)) | None => return,
        };
        for (key, value) in fields.fields {
            extra.insert(ID, &key, value);
        }
        if is_signed {
            *slot = signature;
            self.close(sink);
        }
    }

    /// A call. If its arguments come in pieces, the pieces after the first have no name.
    fn call(&mut self, value: Val<'_>, sink: &mut dyn Sink) {
        let Some(inner) = either(value, "functionCall") else { return };
        let is_more = self.kind == Some(PartKind::Call) && inner.some("name").is_none();
        let signature = part::signature(value);
        if !is_more {
            let is_nothing = inner.entries().count() == 0 && signature.is_none();
            if is_nothing {
                return;
            }
            let call = part::call(value);
            self.begin(PartKind::Call, Part::Call { call, text: String::new() }, sink);
        } else if let Some(Part::Call { call, .. }) = self.open.part(self.key) {
            if let Some(args) = inner.some("args") {
                call.parameters = Parameters::Json(Raw::from(args));
            }
            if call.signature.is_none() {
                call.signature = signature;
            }
        }
        let pieces = inner.get("partialArgs");
        pieces.iter().flat_map(|pieces| pieces.items()).for_each(|piece| self.args.add(piece));
        if inner.bool("willContinue") != Some(true) {
            self.close(sink);
        }
    }

    fn begin(&mut self, kind: PartKind, part: Part, sink: &mut dyn Sink) {
        self.close(sink);
        self.key += 1;
        self.len = 0;
        self.kind = Some(kind);
        self.open.start(self.key, part, sink);
    }

    /// Ends the open block.
    fn close(&mut self, sink: &mut dyn Sink) {
        self.say_args(sink);
        self.note_parts();
        if self.kind.take().is_some() {
            self.open.end(self.key, sink);
        }
    }

    /// Reports the arguments that came in pieces.
    fn say_args(&mut self, sink: &mut dyn Sink) {
        let args = std::mem::take(&mut self.args);
        if !args.is_empty() {
            self.open.push(self.key, args.build().as_str(), sink);
        }
    }

    /// Notes the parts of the open thought, unless a signature ended it: that covers them all.
    fn note_parts(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        if ends.is_empty() {
            return;
        }
        if let Some(Part::Thinking(thinking)) = self.open.part(self.key)
            && thinking.signature.is_none()
        {
            let begins = std::iter::once(0).chain(ends.iter().copied());
            let ends = ends.iter().copied().chain([self.len]);
            let lens = begins.zip(ends).map(|(begin, end)| end - begin);
            let list = Raw::build(|w| w.array(|w| lens.for_each(|len| w.u64(len as u64))));
            thinking.extra.note(ID, PARTS, list);
        }
    }

    fn end(&mut self, cut: bool, sink: &mut dyn Sink) {
        self.say_args(sink);
        self.note_parts();
        self.kind = None;
        self.open.end_all(cut, sink);
        let fields = std::mem::take(&mut self.fields);
        if !fields.is_empty() {
            let value = &Raw::build(|w| w.object(|w| w.extra(&fields, ID)));
            sink.event(Event::Fact(Fact::Note { wire: ID, name: CANDIDATE, value }));
        }
    }
}
