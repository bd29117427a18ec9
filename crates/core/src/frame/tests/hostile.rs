//! Bodies made to hurt: memory stays within the limit, and nothing panics.

use super::{FrameProblem, Framer, Framing, Seen};
use crate::frame::event_stream::encode_message;
use crate::frame::split_law::Random;

const LIMIT: usize = 64 * 1024;
const MEBIBYTE: usize = 1024 * 1024;

/// Pushes one start and then 32 MiB of the same bytes, and returns the frames.
///
/// The debug output of a decoder shows its buffered bytes: up to five characters for each byte.
fn flood(framing: Framing, start: &[u8], with: &[u8]) -> Vec<Seen> {
    let mut framer = Framer::with_limit(framing, LIMIT);
    let mut seen: Vec<Seen> = Vec::new();
    framer.push(start, &mut |frame| seen.push(frame.into()));
    let piece = with.repeat(MEBIBYTE / with.len());
    for _ in 0..32 {
        framer.push(&piece, &mut |frame| {
            if !matches!(frame, crate::frame::Frame::Comment) {
                seen.push(frame.into());
            }
        });
        let carried = format!("{framer:?}").len() / 5;
        assert!(carried <= LIMIT + 200, "carries {carried} bytes");
    }
    framer.end(&mut |frame| seen.push(frame.into()));
    seen
}

fn problems(seen: &[Seen]) -> usize {
    let too_long = Seen::Problem(FrameProblem::TooLong { limit: LIMIT });
    seen.iter().filter(|seen| **seen == too_long).count()
}

#[test]
fn lines_without_end_need_no_more_memory_than_the_limit() {
    let starts: [(&[u8], usize); 7] = [
        (b"data: ", 1),
        (b"event: ", 1),
        (b"id: ", 1),
        (b"retry: ", 1),
        (b"unknown: ", 0),
        (b": ", 0),
        (b"", 0),
    ];
    for (start, expected) in starts {
        let seen = flood(Framing::Sse, start, b"0");
        assert_eq!(problems(&seen), expected, "{:?}", String::from_utf8_lossy(start));
    }
    assert_eq!(problems(&flood(Framing::Ndjson, b"{", b"0")), 1);
}

#[test]
fn events_without_end_need_no_more_memory_than_the_limit() {
    for line in [&b"data: 12345678\n"[..], b"data\n", b"data:\r", b"data:\r\n"] {
        let seen = flood(Framing::Sse, b"", line);
        assert_eq!(problems(&seen), 1, "{:?}", String::from_utf8_lossy(line));
        let Some(Seen::Event(event)) = seen.last() else { panic!("nothing was kept") };
        assert!(event.truncated && event.unterminated && event.data.len() <= LIMIT);
    }
    for line in [&b"event: 12345678\n"[..], b"id: 12345678\n", b": c\n", b"x\n", b"\r"] {
        let seen = flood(Framing::Sse, b"", line);
        assert_eq!(seen, [], "{:?}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_message_that_claims_to_be_huge_needs_no_memory() {
    let mut message = Vec::new();
    encode_message(&[], &vec![0; 4 * MEBIBYTE], &mut message).unwrap();
    let seen = flood(Framing::EventStream, &message[..20], b"\0");
    assert_eq!(problems(&seen), 1);
}

#[test]
fn noise_obeys_the_law_in_every_framing() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let body: Vec<u8> = (0..600).map(|_| noise(&mut random)).collect();
        for framing in [Framing::Sse, Framing::Ndjson, Framing::EventStream] {
            super::frames(framing, &body);
            super::frames_within(random.below(40), framing, &body);
        }
    }
}

/// A random byte, often one with a meaning in a framing.
fn noise(random: &mut Random) -> u8 {
    let telling = b"\n\n\r:: data\xef\xbb\xbf\0\xff";
    match random.below(4) {
        0 => u8::try_from(random.below(256)).unwrap(),
        _ => telling[random.below(telling.len())],
    }
}
