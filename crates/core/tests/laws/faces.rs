//! One law of every way to read an answer: the gateway's exchange, a turn of the chat, a conversion and the adapter of
//! the founding documents give the same answer, the same findings and the same bytes.

use thinkthrough_core::adapter::ReasoningStreamAdapter;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::convert::{self, StreamConverter};
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::exchange::Turn;
use thinkthrough_core::exchange::{Ending, Handling, RequestContext};
use thinkthrough_core::pipeline::Pipeline;
use thinkthrough_core::plane::{Open, SealError};
use thinkthrough_core::provider::{ALL, Target};
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::wire::{Dialect, Wire};
use thinkthrough_json::Doc;

/// An answer on the wire `from`, whose caller speaks `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) from: &'static dyn Wire,
    pub(crate) to: &'static dyn Wire,
    /// The caller asked for a stream.
    pub(crate) is_stream: bool,
    /// Why the transport broke off.
    pub(crate) cut: Option<&'static str>,
}

/// What a caller gets, and what the answer was read as.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) answer: Answer,
    pub(crate) bytes: Vec<u8>,
}

impl Way {
    /// The exchange's answer, with which those of the other faces agree.
    pub(crate) fn told(self, pieces: &[&[u8]]) -> Told {
        let told = self.exchange(pieces);
        let said = |answer: &Answer| format!("{answer:#?}");
        assert_eq!(said(&self.turn(pieces)), said(&told.answer), "{self:?}: turn and exchange");
        // Files and the founding documents' streams have neither a status nor a transport.
        if self.cut.is_none() {
            if let Some(answer) = self.adapter(pieces).filter(|_| self.is_stream) {
                assert_eq!(said(&answer), said(&told.answer), "{self:?}: adapter and exchange");
            }
            // A file that stays on its wire is not written. A caller of the gateway would take the end of the transport
            // for the end of the answer, and so is told that there is more.
            let is_written = self.from.id() != self.to.id() || told.answer.is_complete();
            if let Some(bytes) = self.converted(pieces).filter(|_| is_written) {
                assert_eq!(shown(&bytes), shown(&told.bytes), "{self:?}: conversion and exchange");
            }
        }
        self.looks_as_it_is(&told);
        told
    }

    /// What is not whole does not look whole to the caller.
    fn looks_as_it_is(self, told: &Told) {
        let is_written = self.from.id() != self.to.id();
        // One value has no place for "more was to come", but for an error.
        let is_broken = match self.is_stream {
            true => !told.answer.is_complete(),
            false => told.answer.upstream_error().is_some(),
        };
        if is_written && is_broken {
            let form = if self.is_stream { Form::Stream } else { Form::Auto };
            let mut pipeline = Pipeline::new(Reader::new(self.to, &Dialect::PLAIN, form));
            pipeline.push(&told.bytes, &mut Vec::new(), &mut ignored);
            let ended = pipeline.end(None, &mut Vec::new(), &mut ignored);
            assert!(!ended.end.is_complete(), "{self:?}: {}", shown(&told.bytes));
        }
    }

    fn target(self) -> (Target, Option<&'static str>) {
        let of = |(id, endpoint)| (id, endpoint);
        let all = ALL.iter().flat_map(|it| it.endpoints.iter().map(move |at| of((*it, at))));
        let all = all.filter(|(_, endpoint)| endpoint.wire.as_str() == self.from.id());
        let all = all.map(|(provider, endpoint)| {
            let is_default = provider.endpoints.first().is_some_and(|it| it.wire == endpoint.wire);
            (Target::of(provider, endpoint, "m"), is_default.then_some(provider.id))
        });
        let mut all: Vec<_> = all.filter(|(target, _)| target.rule.tags.is_none()).collect();
        all.sort_by_key(|(_, id)| id.is_none());
        all.swap_remove(0)
    }

    fn request(self) -> Request {
        let contents = vec![Content::text(Speaker::Human, "Hi")];
        Request { contents, model: "m".to_owned(), stream: self.is_stream, ..Request::default() }
    }

    fn exchange(self, pieces: &[&[u8]]) -> Told {
        let body = self.to.write_request(&self.request(), &Dialect::PLAIN).body;
        let doc = Doc::parse_str(&body).expect("it is JSON");
        let (target, _) = self.target();
        let (settings, handling) = (Resolved::default(), Handling::default());
        let asked = RequestContext::read(self.to, &doc, &target, &settings, handling, None);
        let mut asked = asked.expect("it is a request");
        asked.set_stream(self.is_stream);
        let mut exchange = asked.prepare(&[], &Shut).exchange;
        let (mut fold, mut bytes) = (Fold::new(), Vec::new());
        exchange.head(200);
        for piece in pieces {
            if exchange.is_untouched() {
                bytes.extend_from_slice(piece);
            }
            exchange.push(piece, &mut bytes, &mut fold);
        }
        let ending = Ending { cut: self.cut, is_stopped: false, at: 1 };
        let _ = exchange.end(&ending, &mut bytes, &mut fold, &mut |_| {});
        Told { answer: fold.finish(), bytes }
    }

    fn turn(self, pieces: &[&[u8]]) -> Answer {
        let request = self.request();
        let mut turn = Turn::begin(&request, &self.target().0, &Resolved::default());
        turn.head(200);
        pieces.iter().for_each(|piece| turn.push(piece, &mut ignored));
        turn.finish(self.cut, &mut ignored).answer
    }

    /// `None` where no provider has the wire as its default.
    fn adapter(self, pieces: &[&[u8]]) -> Option<Answer> {
        let mut adapter = ReasoningStreamAdapter::resolve("m", self.target().1?);
        let mut fold = Fold::new();
        pieces.iter().for_each(|piece| adapter.push(piece, &mut fold));
        adapter.end(&mut fold);
        Some(fold.finish())
    }

    /// `None` where nothing could be read.
    fn converted(self, pieces: &[&[u8]]) -> Option<Vec<u8>> {
        if !self.is_stream {
            let converted = convert::response(self.from, self.to, &pieces.concat())?;
            return Some(converted.body.into_bytes());
        }
        let (mut converter, mut bytes) = (StreamConverter::new(self.from, self.to), Vec::new());
        pieces.iter().for_each(|piece| converter.push(piece, &mut bytes));
        converter.end(&mut bytes)?;
        Some(bytes)
    }
}

/// Nothing is kept, and so there is nothing to open.
struct Shut;

impl Open for Shut {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

fn ignored(_: Event<'_>) {}

pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
