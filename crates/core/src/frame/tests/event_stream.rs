//! AWS event-stream messages.

use proptest::prelude::*;

use super::{FrameProblem, Framing, MessageKind, Seen, SeenEvent, data, named};
use crate::frame::event_stream::{
    EncodeError, EventStreamDecoder, HeaderValue, encode_event, encode_exception, encode_message,
};

fn messages(body: impl AsRef<[u8]>) -> Vec<Seen> {
    super::frames(Framing::EventStream, body)
}

fn encoded(headers: &[(&str, HeaderValue<'_>)], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_message(headers, payload, &mut out).unwrap();
    out
}

fn event(name: &str, json: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode_event(name, json, &mut out).unwrap();
    out
}

/// Gives a message that was altered by hand the checksums of its bytes.
fn seal(mut message: Vec<u8>) -> Vec<u8> {
    let prelude = crc32fast::hash(&message[..8]);
    message[8..12].copy_from_slice(&prelude.to_be_bytes());
    let end = message.len() - 4;
    let whole = crc32fast::hash(&message[..end]);
    message[end..].copy_from_slice(&whole.to_be_bytes());
    message
}

const UNREADABLE: [Seen; 1] = [Seen::Problem(FrameProblem::BadPrelude)];

#[test]
fn the_smallest_message_has_known_bytes() {
    let message = b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2\x48\xeb\x7d\x98\xc8\xff";
    assert_eq!(encoded(&[], b""), message);
    assert_eq!(messages(message), [data("")]);
}

#[test]
fn a_message_with_a_number_header_has_known_bytes() {
    let message = b"\x00\x00\x00\x2d\x00\x00\x00\x10\x41\xc4\x24\xb8\x0aevent-type\x04\
        \x00\x00\xa0\x0c{'foo':'bar'}\x36\xf4\x80\xa0";
    let headers = [("event-type", HeaderValue::Int(40972))];
    assert_eq!(encoded(&headers, b"{'foo':'bar'}"), message);
    assert_eq!(messages(message), [data("{'foo':'bar'}")]);
}

#[test]
fn events_and_exceptions_carry_their_names() {
    let mut body = event("contentBlockDelta", "{\"a\":1}");
    encode_exception("throttlingException", "{\"message\":\"slow down\"}", &mut body).unwrap();
    let exception = Seen::Event(SeenEvent {
        event: Some("throttlingException".into()),
        data: "{\"message\":\"slow down\"}".into(),
        kind: MessageKind::Exception,
        ..SeenEvent::default()
    });
    assert_eq!(messages(body), [named("contentBlockDelta", "{\"a\":1}"), exception]);
}

#[test]
fn an_error_has_its_message_as_data() {
    let headers = [
        (":message-type", HeaderValue::Str("error")),
        (":error-code", HeaderValue::Str("InternalError")),
        (":error-message", HeaderValue::Str("something broke")),
    ];
    let error = |data: &str| {
        [Seen::Event(SeenEvent {
            event: Some("InternalError".into()),
            data: data.into(),
            kind: MessageKind::Error,
            ..SeenEvent::default()
        })]
    };
    assert_eq!(messages(encoded(&headers, b"")), error("something broke"));
    assert_eq!(messages(encoded(&headers, b"{}")), error("{}"));
}

#[test]
fn a_payload_that_is_not_utf_8_is_still_handed_out() {
    assert_eq!(messages(encoded(&[], b"a\xffb")), [data("a\u{fffd}b")]);
}

#[test]
fn a_message_with_a_bad_checksum_is_skipped() {
    let mut damaged = event("b", "{\"n\":2}");
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    let body = [event("a", "1"), damaged, event("c", "3")].concat();
    let problem = Seen::Problem(FrameProblem::BadChecksum);
    assert_eq!(messages(body), [named("a", "1"), problem, named("c", "3")]);
}

#[test]
fn after_a_bad_prelude_nothing_can_be_found() {
    let mut damaged = event("b", "2");
    damaged[3] ^= 1;
    let body = [event("a", "1"), damaged, event("c", "3")].concat();
    assert_eq!(messages(body), [named("a", "1"), Seen::Problem(FrameProblem::BadPrelude)]);
    assert_eq!(messages("{\"message\":\"a JSON error body\"}"), UNREADABLE);
}

#[test]
fn impossible_lengths_are_no_message() {
    for (total, headers) in [(0, 0), (15, 0), (16, 1), (20, 5), (31, u32::MAX), (16, u32::MAX)] {
        let mut message = vec![0; 32];
        message[..4].copy_from_slice(&u32::to_be_bytes(total));
        message[4..8].copy_from_slice(&u32::to_be_bytes(headers));
        assert_eq!(messages(seal(message)), UNREADABLE, "{total} {headers}");
    }
}

#[test]
fn a_message_beyond_the_limit_is_skipped() {
    let limit = 100;
    let within = |body: &[u8]| super::frames_within(limit, Framing::EventStream, body);
    let fitting = encoded(&[], &[b'd'; 84]);
    assert_eq!(fitting.len(), limit);
    let text = "d".repeat(84);
    let body = [fitting, encoded(&[], &[b'd'; 85]), encoded(&[], b"x")].concat();
    let problem = Seen::Problem(FrameProblem::TooLong { limit });
    assert_eq!(within(&body), [data(&text), problem.clone(), data("x")]);
    let mut endless = encoded(&[], b"x");
    endless[..4].copy_from_slice(&u32::MAX.to_be_bytes());
    let unfinished = Seen::Problem(FrameProblem::Unfinished);
    assert_eq!(within(&seal(endless)), [problem, unfinished]);
}

#[test]
fn a_cut_message_is_reported_and_not_handed_out() {
    let body = [event("a", "1"), event("b", "2")].concat();
    let first = event("a", "1").len();
    let unfinished = Seen::Problem(FrameProblem::Unfinished);
    for end in first + 1..body.len() {
        assert_eq!(messages(&body[..end]), [named("a", "1"), unfinished.clone()], "cut at {end}");
    }
    assert_eq!(messages(&body[..first]), [named("a", "1")]);
}

#[test]
fn unreadable_headers_are_reported_and_the_next_message_is_read() {
    let blocks: [&[u8]; 6] = [
        b"\x01",
        b"\x05ab\x00",
        b"\x01a\x0a",
        b"\x01a\x07\x00\x05ab",
        b"\x01a\x07\x00\x02a\xff",
        b"\x01a\x09\x00\x00\x00",
    ];
    for block in blocks {
        let mut message = vec![0; 12];
        message.extend_from_slice(block);
        message.extend_from_slice(b"{}\0\0\0\0");
        let total = u32::try_from(message.len()).unwrap();
        let headers = u32::try_from(block.len()).unwrap();
        message[..4].copy_from_slice(&total.to_be_bytes());
        message[4..8].copy_from_slice(&headers.to_be_bytes());
        let body = [seal(message), event("b", "2")].concat();
        let problem = Seen::Problem(FrameProblem::BadHeaders);
        assert_eq!(messages(body), [problem, named("b", "2")], "{block:?}");
    }
}

#[test]
fn what_the_format_cannot_say_is_refused() {
    let mut out = b"kept".to_vec();
    let long = "n".repeat(256);
    let mut refuse = |name, value| encode_message(&[(name, value)], b"", &mut out);
    assert_eq!(refuse("", HeaderValue::Bool(true)), Err(EncodeError::HeaderName));
    assert_eq!(refuse(&long, HeaderValue::Bool(true)), Err(EncodeError::HeaderName));
    let bytes = vec![0; 65_536];
    assert_eq!(refuse("a", HeaderValue::Bytes(&bytes)), Err(EncodeError::HeaderValue));
    assert_eq!(out, b"kept");
}

/// A header value that owns its bytes.
#[derive(Clone, Debug)]
enum Value {
    Plain(HeaderValue<'static>),
    Bytes(Vec<u8>),
    Str(String),
}

impl Value {
    fn borrowed(&self) -> HeaderValue<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Bytes(value) => HeaderValue::Bytes(value),
            Self::Str(value) => HeaderValue::Str(value),
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(|value| Value::Plain(HeaderValue::Bool(value))),
        any::<i8>().prop_map(|value| Value::Plain(HeaderValue::Byte(value))),
        any::<i16>().prop_map(|value| Value::Plain(HeaderValue::Short(value))),
        any::<i32>().prop_map(|value| Value::Plain(HeaderValue::Int(value))),
        any::<i64>().prop_map(|value| Value::Plain(HeaderValue::Long(value))),
        any::<i64>().prop_map(|value| Value::Plain(HeaderValue::Timestamp(value))),
        any::<[u8; 16]>().prop_map(|value| Value::Plain(HeaderValue::Uuid(value))),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        ".{0,20}".prop_map(Value::Str),
    ]
}

type Parts = (Vec<(String, Value)>, Vec<u8>);

fn parts() -> impl Strategy<Value = Vec<Parts>> {
    let headers = prop::collection::vec((":?[a-zé-]{1,20}", value()), 0..6);
    prop::collection::vec((headers, prop::collection::vec(any::<u8>(), 0..60)), 0..5)
}

fn encode_all(parts: &[Parts]) -> Vec<u8> {
    let mut body = Vec::new();
    for (headers, payload) in parts {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.borrowed())).collect();
        encode_message(&headers, payload, &mut body).unwrap();
    }
    body
}

proptest! {
    #[test]
    fn encode_then_decode_is_the_identity(parts in parts()) {
        let body = encode_all(&parts);
        let mut index = 0;
        EventStreamDecoder::default().push_messages(&body, &mut |message| {
            let message = message.unwrap();
            let (headers, payload) = &parts[index];
            let expected: Vec<_> =
                headers.iter().map(|(name, value)| (name.as_str(), value.borrowed())).collect();
            assert_eq!(message.headers.iter().collect::<Vec<_>>(), expected);
            assert_eq!(message.payload, payload);
            index += 1;
        });
        prop_assert_eq!(index, parts.len());
        prop_assert_eq!(messages(body).len(), parts.len());
    }

    #[test]
    fn one_wrong_bit_never_alters_a_message(parts in parts(), at in any::<prop::sample::Index>()) {
        let mut body = encode_all(&parts);
        if !body.is_empty() {
            let good = messages(&body);
            let bit = at.index(body.len() * 8);
            body[bit / 8] ^= 1 << (bit % 8);
            let seen = messages(&body);
            let problems = seen.iter().filter(|seen| matches!(seen, Seen::Problem(_))).count();
            prop_assert_eq!(problems, 1);
            let mut good = good.iter();
            let mut events = seen.iter().filter(|seen| !matches!(seen, Seen::Problem(_)));
            prop_assert!(events.all(|event| good.any(|good| good == event)));
        }
    }

    #[test]
    fn arbitrary_bytes_obey_the_law(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        messages(&bytes);
        super::frames_within(20, Framing::EventStream, seal_all(bytes));
    }
}

/// Arbitrary bytes whose prelude passes its checksum, so that the lengths in it are believed.
fn seal_all(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < 16 {
        return bytes;
    }
    bytes[0] = 0;
    bytes[1] = 0;
    bytes[2] = 0;
    bytes[4] = 0;
    bytes[5] = 0;
    bytes[6] = 0;
    bytes[7] %= 8;
    let prelude = crc32fast::hash(&bytes[..8]);
    bytes[8..12].copy_from_slice(&prelude.to_be_bytes());
    bytes
}
