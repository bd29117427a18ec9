//! The decoder against a plain reading of the standard, over arbitrary bodies.

use proptest::prelude::*;

use super::{Framing, Seen, SeenEvent};

/// The standard's algorithm, transcribed literally: the whole body as text, line by line.
pub(super) fn as_the_standard_says(body: &[u8]) -> Vec<Seen> {
    let text = String::from_utf8_lossy(body).into_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut seen = Vec::new();
    let mut event = SeenEvent::default();
    let mut lines: Vec<&str> = text.split('\n').collect();
    // The text after the last line end is a line only if the body ended inside it.
    let rest = lines.pop().filter(|rest| !rest.is_empty());
    for line in lines {
        read_line(line, &mut event, &mut seen);
    }
    if let Some(rest) = rest {
        read_line(rest, &mut event, &mut seen);
    }
    event.unterminated = true;
    read_line("", &mut event, &mut seen);
    seen
}

/// Reads a line; the event's data has the line feed after each of its lines until it is dispatched.
fn read_line(line: &str, event: &mut SeenEvent, seen: &mut Vec<Seen>) {
    if line.is_empty() {
        let next = SeenEvent { id: event.id.clone(), retry: event.retry, ..SeenEvent::default() };
        let mut done = std::mem::replace(event, next);
        if done.data.pop().is_some() {
            done.event = done.event.filter(|name| !name.is_empty());
            seen.push(Seen::Event(done));
        }
        return;
    }
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    let value = value.strip_prefix(' ').unwrap_or(value);
    match name {
        "" => seen.push(Seen::Comment),
        "data" => {
            event.data.push_str(value);
            event.data.push('\n');
        }
        "event" => event.event = Some(value.to_owned()),
        "id" if !value.contains('\0') => event.id = value.to_owned(),
        "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
            event.retry = value.parse().ok().or(event.retry);
        }
        _ => {}
    }
}

/// Pieces that bodies are made of: everything the format gives a meaning to, and some that it
/// does not.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&[u8]> = vec![
        b"\n",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b":",
        b" ",
        b"data",
        b"data:",
        b"data: ",
        b"event",
        b"event:",
        b"event: ",
        b"id:",
        b"id",
        b"retry:",
        b"1",
        b"23",
        b"x",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xbb",
        b"\xff",
        b"\xf0\x9f",
        b"\x98\x80",
        "é\u{2028}".as_bytes(),
    ];
    prop_oneof![
        9 => prop::sample::select(fixed).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_decoder_reads_as_the_standard_says(body in body()) {
        prop_assert_eq!(super::frames(Framing::Sse, &body), as_the_standard_says(&body));
    }

    #[test]
    fn at_any_limit_the_law_holds_and_nothing_is_longer(body in body(), limit in 0..12_usize) {
        let seen = super::frames_within(limit, Framing::Sse, &body);
        let mut problems = 0;
        for seen in &seen {
            match seen {
                Seen::Problem(_) => problems += 1,
                Seen::Event(event) if event.truncated => prop_assert!(problems > 0),
                Seen::Event(_) | Seen::Comment => {}
            }
        }
        if problems == 0 {
            prop_assert_eq!(seen, as_the_standard_says(&body));
        }
    }
}
