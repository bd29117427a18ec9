//! The conformance list of the server-sent event decoder: one test per case, in its order.
//!
//! Cases 36 (headers) and 37 (status) are about HTTP; of them only the media type is decided here.
//! Case 43 (compressed bodies) needs a client that decompresses.

use std::time::{Duration, Instant};

use super::{FrameProblem, Framer, Framing, Seen, SeenEvent, data, named, unterminated};
use crate::frame::{Frame, is_event_stream};

fn sse(body: impl AsRef<[u8]>) -> Vec<Seen> {
    super::frames(Framing::Sse, body)
}

fn sse_within(limit: usize, body: impl AsRef<[u8]>) -> Vec<Seen> {
    super::frames_within(limit, Framing::Sse, body)
}

fn with_id(id: &str, text: &str) -> Seen {
    Seen::Event(SeenEvent { id: id.into(), data: text.into(), ..SeenEvent::default() })
}

#[test]
fn sse_01_line_feeds() {
    assert_eq!(sse("data: a\n\ndata: b\n\n"), [data("a"), data("b")]);
}

#[test]
fn sse_02_carriage_returns_and_line_feeds() {
    assert_eq!(sse("data: a\r\n\r\ndata: b\r\n\r\n"), [data("a"), data("b")]);
}

#[test]
fn sse_03_carriage_returns_alone() {
    assert_eq!(sse("data: a\r\rdata: b\rdata: c\r\r"), [data("a"), data("b\nc")]);
}

#[test]
fn sse_04_mixed_line_ends() {
    let body = "data: a\r\ndata: b\ndata: c\r\r\ndata: d\n\r\ndata: e\r\n\n\r\r";
    assert_eq!(sse(body), [data("a\nb\nc"), data("d"), data("e")]);
}

#[test]
fn sse_05_a_carriage_return_ends_the_event_without_its_line_feed() {
    assert_eq!(sse("data: a\r\n\r\ndata: b\r\n\r\n"), [data("a"), data("b")]);
    let mut framer = Framer::new(Framing::Sse);
    let mut seen: Vec<Seen> = Vec::new();
    framer.push(b"data: a\r\n\r", &mut |frame| seen.push(frame.into()));
    assert_eq!(seen, [data("a")], "the event waits for a line feed that may never come");
    framer.push(b"\ndata: b\n", &mut |frame| seen.push(frame.into()));
    assert_eq!(seen.len(), 1, "the line feed belongs to the carriage return");
    framer.push(b"\n", &mut |frame| seen.push(frame.into()));
    assert_eq!(seen, [data("a"), data("b")]);
}

#[test]
fn sse_06_a_byte_order_mark_at_the_start_is_dropped() {
    assert_eq!(sse("\u{feff}data: a\n\n"), [data("a")]);
    assert_eq!(sse("\u{feff}"), []);
    assert_eq!(sse("\u{feff}\n\ndata: a\n\n"), [data("a")]);
}

#[test]
fn sse_07_a_second_byte_order_mark_makes_the_field_unknown() {
    assert_eq!(sse("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), [data("b")]);
}

#[test]
fn sse_08_a_byte_order_mark_may_be_split() {
    let mut framer = Framer::new(Framing::Sse);
    let mut seen: Vec<Seen> = Vec::new();
    for piece in [&b"\xef"[..], b"\xbb", b"", b"\xbf", b"data: a\n\n"] {
        framer.push(piece, &mut |frame| seen.push(frame.into()));
    }
    assert_eq!(seen, [data("a")]);
    assert_eq!(sse(b"\xef\xbbdata: a\n\ndata: b\n\n"), [data("b")], "half a mark is no mark");
    assert_eq!(sse(b"\xef\xbb\ndata: b\n\n"), [data("b")]);
    assert_eq!(sse(b"\xef\xbb"), []);
}

#[test]
fn sse_09_a_later_byte_order_mark_is_an_unknown_name_or_data() {
    let body = "data: a\n\u{feff}data: b\n\ndata: \u{feff}c\n\n";
    assert_eq!(sse(body), [data("a"), data("\u{feff}c")]);
}

#[test]
fn sse_10_no_space_after_the_colon() {
    assert_eq!(sse("data:x\n\n"), [data("x")]);
}

#[test]
fn sse_11_one_space_is_removed() {
    assert_eq!(sse("data: x\n\n"), [data("x")]);
    assert_eq!(sse("data:\tx\n\n"), [data("\tx")]);
}

#[test]
fn sse_12_only_one_space_is_removed() {
    assert_eq!(sse("data:  x \n\n"), [data(" x ")]);
}

#[test]
fn sse_13_data_without_a_colon_is_an_empty_line() {
    assert_eq!(sse("data: a\ndata\ndata: b\n\n"), [data("a\n\nb")]);
}

#[test]
fn sse_14_empty_data() {
    assert_eq!(sse("data:\n\n"), [data("")]);
    assert_eq!(sse("data\n\n"), [data("")]);
    assert_eq!(sse("data: \n\n"), [data("")]);
    assert_eq!(sse("data\ndata\n\n"), [data("\n")]);
    assert_eq!(sse("data:\ndata:\n\n"), [data("\n")]);
    assert_eq!(sse("\n\n\r\r\r\n\r\n"), []);
}

#[test]
fn sse_15_lines_of_data_are_joined() {
    assert_eq!(sse("data: a\ndata: b\ndata:\n\n"), [data("a\nb\n")]);
}

#[test]
fn sse_16_an_event_without_its_blank_line_is_marked() {
    for body in ["data: a\n\ndata: b", "data: a\n\ndata: b\n", "data: a\n\ndata: b\r"] {
        assert_eq!(sse(body), [data("a"), unterminated("b")]);
        let mut strict = sse(body);
        strict.retain(|seen| !matches!(seen, Seen::Event(event) if event.unterminated));
        assert_eq!(strict, [data("a")], "a strict reader has what the standard says");
    }
    assert_eq!(sse("data: a\n\nevent: b\n"), [data("a")]);
    assert_eq!(sse("data: a\n\nda"), [data("a")]);
    assert_eq!(sse("data: a\n\ndata"), [data("a"), unterminated("")]);
}

#[test]
fn sse_17_comments_of_any_length() {
    let body = format!(":\n: ping\n:data: x\ndata: a\n\n:{}\n", "c".repeat(1 << 20));
    let comment = Seen::Comment;
    let expected = [comment.clone(), comment.clone(), comment.clone(), data("a"), comment];
    assert_eq!(sse_within(64, body), expected, "a comment needs no memory");
}

#[test]
fn sse_18_a_comment_inside_an_event() {
    assert_eq!(sse("data: a\n: ping\ndata: b\n\n"), [Seen::Comment, data("a\nb")]);
}

#[test]
fn sse_19_the_event_field_names_one_event() {
    assert_eq!(sse("event: x\ndata: a\n\ndata: b\n\n"), [named("x", "a"), data("b")]);
    assert_eq!(sse("event:x\nevent:  y\ndata: a\n\n"), [named(" y", "a")]);
    assert_eq!(sse("event: x\nevent:\ndata: a\n\n"), [data("a")]);
    assert_eq!(sse("event: x\nevent\ndata: a\n\n"), [data("a")]);
    assert_eq!(sse("event: message\ndata: a\n\n"), [named("message", "a")]);
}

#[test]
fn sse_20_an_event_without_data_is_none_and_its_name_is_dropped() {
    assert_eq!(sse("event: x\n\ndata: a\n\n"), [data("a")]);
}

#[test]
fn sse_21_an_id_is_kept_for_later_events() {
    let body = "id: 1\ndata: a\n\ndata: b\n\nid:2\n\ndata: c\n\nid\ndata: d\n\n";
    let expected = [with_id("1", "a"), with_id("1", "b"), with_id("2", "c"), data("d")];
    assert_eq!(sse(body), expected);
}

#[test]
fn sse_22_an_id_with_nul_is_ignored() {
    let body = "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n";
    assert_eq!(sse(body), [with_id("1", "a"), with_id("1", "b")]);
}

#[test]
fn sse_23_retry_takes_digits_only() {
    let cases = [
        ("retry: 1500", Some(1500)),
        ("retry:007", Some(7)),
        ("retry: 1x", None),
        ("retry: +5", None),
        ("retry: -5", None),
        ("retry:  5", None),
        ("retry:", None),
        ("retry", None),
        ("retry: 99999999999999999999", None),
    ];
    for (line, retry) in cases {
        let expected = SeenEvent { retry, data: "a".into(), ..SeenEvent::default() };
        assert_eq!(sse(format!("{line}\ndata: a\n\n")), [Seen::Event(expected)], "{line}");
    }
    let kept = SeenEvent { retry: Some(9), data: "a".into(), ..SeenEvent::default() };
    assert_eq!(sse("retry: 9\n\nretry: x\n\ndata: a\n\n"), [Seen::Event(kept)]);
}

#[test]
fn sse_24_unknown_fields_are_ignored() {
    let body = "test: x\ndatas: x\ndat: x\nevents: x\neventually\nx\ndata: a\nt:data: y\n\n";
    assert_eq!(sse(body), [data("a")]);
}

#[test]
fn sse_25_field_names_are_exact() {
    assert_eq!(sse("Data: x\nDATA: y\n data: z\ndata : w\n\tdata:v\ndata: a\n\n"), [data("a")]);
}

#[test]
fn sse_26_colons_in_a_value() {
    assert_eq!(sse("data: a:b: c\n\ndata::d\n\n"), [data("a:b: c"), data(":d")]);
}

#[test]
fn sse_27_nul_in_data() {
    assert_eq!(sse("data: a\0b\n\n"), [data("a\0b")]);
}

#[test]
fn sse_28_always_utf_8() {
    assert!(is_event_stream("text/event-stream; charset=windows-1251"));
    assert_eq!(sse("data: мысль\n\n"), [data("мысль")]);
}

#[test]
fn sse_29_broken_bytes_become_replacement_characters() {
    let body = b"data: a\xffb\xe2\x82\ndata: \xf0\x9f\x98\n\nevent: \xc3(\ndata: ok\n\n";
    let expected = [data("a\u{fffd}b\u{fffd}\n\u{fffd}"), named("\u{fffd}(", "ok")];
    assert_eq!(sse(body), expected);
}

#[test]
fn sse_30_a_character_over_four_reads() {
    let mut framer = Framer::new(Framing::Sse);
    let mut seen: Vec<Seen> = Vec::new();
    for piece in [&b"data: \xf0"[..], b"\x9f", b"\x98", b"\x80", b"\n\n"] {
        framer.push(piece, &mut |frame| seen.push(frame.into()));
    }
    assert_eq!(seen, [data("\u{1f600}")]);
}

#[test]
fn sse_31_other_separators_end_no_line() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\u{1c}g";
    assert_eq!(sse(format!("data: {text}\n\n")), [data(text)]);
}

#[test]
fn sse_32_the_done_mark() {
    let cases = [
        ("data: [DONE]\n\n", true),
        ("data:[DONE]\n\n", true),
        ("data: [DONE]  \n\n", true),
        ("data: [done]\n\n", false),
        ("data: \"[DONE]\"\n\n", false),
        ("data: {\"a\":\"[DONE]\"}\n\n", false),
    ];
    for (body, done) in cases {
        let mut marks = Vec::new();
        Framer::new(Framing::Sse).push(body.as_bytes(), &mut |frame| {
            marks.push(matches!(frame, Frame::Event(event) if event.is_done()));
        });
        assert_eq!(marks, [done], "{body}");
    }
}

#[test]
fn sse_33_json_over_several_lines() {
    assert_eq!(sse("data: {\"a\":\ndata: 1}\n\n"), [data("{\"a\":\n1}")]);
}

#[test]
fn sse_34_an_empty_body() {
    assert_eq!(sse(""), []);
}

#[test]
fn sse_35_only_comments() {
    assert_eq!(sse(": a\n\n: b\r\n\r\n:"), [Seen::Comment, Seen::Comment, Seen::Comment]);
}

#[test]
fn sse_36_the_media_type() {
    let named = ["text/event-stream", "text/event-stream;charset=utf-8", "TEXT/Event-Stream ; x=y"];
    assert!(named.into_iter().all(is_event_stream));
    let others = ["", "application/json", "text/event-streams", "text/plain; text/event-stream"];
    assert!(!others.into_iter().any(is_event_stream));
}

fn clipped(event: Option<&str>, text: &str) -> Seen {
    let event = event.map(str::to_owned);
    let data = text.to_owned();
    Seen::Event(SeenEvent { event, data, truncated: true, ..SeenEvent::default() })
}

#[test]
fn sse_38_data_below_at_and_above_the_limit() {
    let limit = 100;
    let too_long = Seen::Problem(FrameProblem::TooLong { limit });
    let text = |length| "d".repeat(length);
    for length in [limit - 1, limit] {
        let body = format!("data: {}\n\n", text(length));
        assert_eq!(sse_within(limit, body), [data(&text(length))]);
    }
    let body = format!("data: {}\n\ndata: b\n\n", text(limit + 1));
    let expected = [too_long.clone(), clipped(None, &text(limit)), data("b")];
    assert_eq!(sse_within(limit, body), expected, "what came is kept, and the next event too");

    let body = format!("event: e\ndata: {}\ndata: {}\n\n", text(50), text(49));
    let kept = format!("{}\n{}", text(50), text(48));
    let expected = [too_long.clone(), clipped(Some("e"), &kept)];
    assert_eq!(sse_within(limit, body), expected, "name, data and joins count together");

    let body = format!("data: {}\u{1f600}\n\n", text(98));
    let expected = [too_long, clipped(None, &text(98))];
    assert_eq!(sse_within(limit, body), expected, "no half character is handed out");
}

#[test]
fn sse_38_other_fields_above_the_limit() {
    let limit = 100;
    let too_long = Seen::Problem(FrameProblem::TooLong { limit });
    let long = "0".repeat(limit + 1);
    let body = format!("event: {long}\ndata: x\nevent: y\ndata: z\n\ndata: a\n\n");
    let expected = [too_long.clone(), clipped(None, ""), data("a")];
    assert_eq!(sse_within(limit, body), expected, "nothing is added behind a gap");

    let body = format!("id: 1\nid: {long}\nretry: {long}\nunknown: {long}\ndata: a\n\n");
    let expected = [too_long.clone(), too_long, with_id("1", "a")];
    assert_eq!(sse_within(limit, body), expected, "a clipped id would be a wrong id");
}

#[test]
fn sse_39_many_tiny_events_in_one_read() {
    let body = "data:\n\n".repeat(100_000);
    let mut count = 0;
    Framer::new(Framing::Sse).push(body.as_bytes(), &mut |_| count += 1);
    assert_eq!(count, 100_000);
}

#[test]
fn sse_40_one_event_over_many_reads_in_linear_time() {
    let piece = [b'd'; 200];
    let mut framer = Framer::new(Framing::Sse);
    let mut lengths = Vec::new();
    let start = Instant::now();
    framer.push(b"data: ", &mut |_| {});
    for _ in 0..100_000 {
        framer.push(&piece, &mut |_| {});
    }
    framer.push(b"\n\n", &mut |frame| {
        if let Frame::Event(event) = frame {
            lengths.push(event.data.len());
        }
    });
    assert_eq!(lengths, [20_000_000]);
    // Rescanning or rejoining the line on each read would move 1,000 GB and take minutes.
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
}

#[test]
fn sse_41_name_and_json_type_are_both_handed_out() {
    let body = "event: ping\ndata: {\"type\":\"content_block_delta\"}\n\n";
    assert_eq!(sse(body), [named("ping", "{\"type\":\"content_block_delta\"}")]);
}

#[test]
fn sse_42_data_before_the_name() {
    assert_eq!(sse("data: a\nevent: x\n\n"), [named("x", "a")]);
}

#[test]
fn sse_43_compressed_bytes_give_no_event() {
    let gzip =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xffKI,IT0\xe2\x02\x00\x8f\x1f\x0c\x1a\x08\x00";
    assert_eq!(sse(gzip), []);
}

#[test]
fn sse_44_the_last_event_comes_out_before_the_connection_breaks() {
    let mut framer = Framer::new(Framing::Sse);
    let mut seen: Vec<Seen> = Vec::new();
    framer.push(b"data: last\n\n", &mut |frame| seen.push(frame.into()));
    assert_eq!(seen, [data("last")], "no end is needed");
}

#[test]
fn sse_45_trailing_white_space_only() {
    assert_eq!(sse("data: a\n\n  \n\t\n \r\n   "), [data("a")]);
    assert_eq!(sse("  \n \n\n"), []);
}
