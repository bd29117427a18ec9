//! JSON lines.

use proptest::prelude::*;

use super::{FrameProblem, Framing, Seen, SeenEvent, data, unterminated};

fn ndjson(body: impl AsRef<[u8]>) -> Vec<Seen> {
    super::frames(Framing::Ndjson, body)
}

#[test]
fn lines_end_with_a_line_feed_or_both_characters() {
    assert_eq!(ndjson("{\"a\":1}\n{\"b\":2}\r\n"), [data("{\"a\":1}"), data("{\"b\":2}")]);
}

#[test]
fn a_carriage_return_alone_ends_no_line() {
    assert_eq!(ndjson("{\"a\":\r1}\n"), [data("{\"a\":\r1}")]);
}

#[test]
fn blank_lines_are_skipped() {
    assert_eq!(ndjson("\n\r\n \t\n{}\n\n  \r\n"), [data("{}")]);
    assert_eq!(ndjson(""), []);
    assert_eq!(ndjson(" \n\t "), []);
}

#[test]
fn the_last_line_may_lack_its_line_feed() {
    assert_eq!(ndjson("{}\n{\"a\":1}"), [data("{}"), unterminated("{\"a\":1}")]);
    assert_eq!(ndjson("{}\r"), [unterminated("{}")]);
}

#[test]
fn an_sse_prefix_is_not_taken_off() {
    assert_eq!(ndjson("data: {}\n"), [data("data: {}")]);
}

#[test]
fn broken_bytes_become_replacement_characters() {
    assert_eq!(ndjson(b"{\"a\":\"\xff\xe2\x82\"}\n"), [data("{\"a\":\"\u{fffd}\u{fffd}\"}")]);
}

#[test]
fn a_line_below_at_and_above_the_limit() {
    let limit = 10;
    let lines = |body: &str| super::frames_within(limit, Framing::Ndjson, body);
    assert_eq!(lines("123456789\n1234567890\n"), [data("123456789"), data("1234567890")]);
    let clipped = Seen::Event(SeenEvent {
        data: "1234567890".into(),
        truncated: true,
        ..SeenEvent::default()
    });
    let expected = [Seen::Problem(FrameProblem::TooLong { limit }), clipped, data("2")];
    assert_eq!(lines("12345678901\n2\n"), expected);
}

proptest! {
    #[test]
    fn lines_come_out_as_the_standard_library_splits_them(
        lines in prop::collection::vec("[ -~é\u{2028}\u{1f600}]{0,12}", 0..8),
        end in prop::sample::select(vec!["", "\n", "\r\n"]),
    ) {
        let body = lines.join("\n") + end;
        let expected: Vec<String> = body
            .lines()
            .filter(|line| !line.trim_ascii().is_empty())
            .map(str::to_owned)
            .collect();
        let seen: Vec<String> = ndjson(&body)
            .into_iter()
            .map(|seen| match seen {
                Seen::Event(event) => event.data,
                Seen::Comment | Seen::Problem(_) => panic!("only lines: {seen:?}"),
            })
            .collect();
        prop_assert_eq!(seen, expected);
    }
}
