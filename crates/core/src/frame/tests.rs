//! Tests of the framing layer. Every body in them is also held to the split law.

mod corpus;
mod encode;
mod event_stream;
mod hostile;
mod ndjson;
mod sse_cases;
mod sse_standard;

use super::split_law::{Pushed, check};
use super::{Frame, FrameProblem, Framer, Framing, MessageKind};

/// A frame that outlives its push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Event(SeenEvent),
    Comment,
    Problem(FrameProblem),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeenEvent {
    event: Option<String>,
    data: String,
    id: String,
    retry: Option<u64>,
    kind: MessageKind,
    unterminated: bool,
    truncated: bool,
}

impl From<Frame<'_>> for Seen {
    fn from(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Event(event) => Self::Event(SeenEvent {
                event: event.event.map(str::to_owned),
                data: event.data.to_owned(),
                id: event.id.to_owned(),
                retry: event.retry,
                kind: event.kind,
                unterminated: event.unterminated,
                truncated: event.truncated,
            }),
            Frame::Comment => Self::Comment,
            Frame::Problem(problem) => Self::Problem(problem),
        }
    }
}

impl Pushed for Framer {
    type Out = Seen;

    fn push(&mut self, bytes: &[u8], out: &mut Vec<Seen>) {
        Self::push(self, bytes, &mut |frame| out.push(frame.into()));
    }

    fn end(&mut self, out: &mut Vec<Seen>) {
        Self::end(self, &mut |frame| out.push(frame.into()));
    }
}

/// The frames of a body, after a check of the split law.
fn frames(framing: Framing, body: impl AsRef<[u8]>) -> Vec<Seen> {
    check(&Framer::new(framing), body.as_ref())
}

/// The frames of a body at a limit, after a check of the split law.
fn frames_within(limit: usize, framing: Framing, body: impl AsRef<[u8]>) -> Vec<Seen> {
    check(&Framer::with_limit(framing, limit), body.as_ref())
}

/// An event with nothing but data.
fn data(data: &str) -> Seen {
    Seen::Event(SeenEvent { data: data.to_owned(), ..SeenEvent::default() })
}

/// An event with a name and data.
fn named(event: &str, data: &str) -> Seen {
    Seen::Event(SeenEvent {
        event: Some(event.to_owned()),
        data: data.to_owned(),
        ..SeenEvent::default()
    })
}

/// An event with nothing but data that the end of the body cut off.
fn unterminated(data: &str) -> Seen {
    Seen::Event(SeenEvent { data: data.to_owned(), unterminated: true, ..SeenEvent::default() })
}

#[test]
fn the_media_type_names_the_framing() {
    let cases = [
        ("text/event-stream; charset=utf-8", Some(Framing::Sse)),
        ("application/x-ndjson", Some(Framing::Ndjson)),
        ("Application/JSONL;x=y", Some(Framing::Ndjson)),
        ("application/vnd.amazon.eventstream", Some(Framing::EventStream)),
        ("application/json", None),
        ("", None),
    ];
    for (content_type, framing) in cases {
        assert_eq!(Framing::from_content_type(content_type), framing, "{content_type}");
    }
}

#[test]
fn whole_events_are_borrowed_from_the_push() {
    let mut sse = Vec::new();
    let mut lines = Vec::new();
    let mut messages = Vec::new();
    for _ in 0..3 {
        super::sse::encode_event(Some("name"), "some data", &mut sse);
        super::ndjson::encode_line("\"some data\"", &mut lines);
        super::event_stream::encode_event("name", "\"some data\"", &mut messages).unwrap();
    }
    let bodies = [(Framing::Sse, sse), (Framing::Ndjson, lines), (Framing::EventStream, messages)];
    for (framing, body) in bodies {
        let mut count = 0;
        Framer::new(framing).push(&body, &mut |frame| {
            let Frame::Event(event) = frame else { panic!("{frame:?}") };
            let pushed = body.as_ptr_range();
            assert!(pushed.contains(&event.data.as_ptr()), "{framing:?} copies data");
            assert!(event.event.is_none_or(|name| pushed.contains(&name.as_ptr())));
            count += 1;
        });
        assert_eq!(count, 3);
    }
}
