//! A stream as it is read, as a value.

use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::{Event, Fold, Sink};
use thinkthrough_core::frame::{Frame, Framer};
use thinkthrough_core::wire::{Decode, Dialect, Wire};
use thinkthrough_json::Doc;

/// The state between two pieces of a stream.
#[derive(Clone)]
pub(crate) struct Run {
    framer: Framer,
    pub(crate) decoder: Box<dyn Decode>,
}

impl Run {
    pub(crate) fn new(wire: &dyn Wire) -> Self {
        Run { framer: Framer::new(wire.framing()), decoder: wire.decoder(&Dialect::PLAIN) }
    }

    /// Pushes a piece; whether a frame ended in it.
    pub(crate) fn push(&mut self, piece: &[u8], sink: &mut dyn Sink) -> bool {
        let mut has_frame = false;
        let decoder = &mut self.decoder;
        self.framer.push(piece, &mut |frame| {
            has_frame = true;
            if let Frame::Event(event) = frame {
                decoder.message(event.event, event.data, sink);
            }
        });
        has_frame
    }

    pub(crate) fn end(mut self, sink: &mut dyn Sink) {
        let decoder = &mut self.decoder;
        self.framer.end(&mut |frame| {
            if let Frame::Event(event) = frame {
                decoder.message(event.event, event.data, sink);
            }
        });
        self.decoder.end(sink);
    }

    pub(crate) fn same(&self, other: &Run) -> bool {
        self.framer == other.framer && self.decoder.same(&*other.decoder)
    }
}

/// The events of a stretch, to be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Log(pub(crate) Vec<String>);

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(format!("{event:?}"));
    }
}

/// The answer of a stream that comes in these pieces.
pub(crate) fn streamed<'b>(wire: &dyn Wire, pieces: impl IntoIterator<Item = &'b [u8]>) -> Answer {
    let mut run = Run::new(wire);
    let mut fold = Fold::new();
    for piece in pieces {
        run.push(piece, &mut fold);
    }
    run.end(&mut fold);
    fold.finish()
}

/// The answer of a whole body.
pub(crate) fn whole(wire: &dyn Wire, body: &[u8], sink: &mut dyn Sink) {
    let doc = Doc::parse(body).unwrap();
    wire.read_response(doc.root(), &Dialect::PLAIN, sink);
}
