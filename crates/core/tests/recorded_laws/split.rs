//! However a stream is cut, it says the same.

use crate::bodies::Body;
use crate::random::Random;
use crate::run::{Log, Run, streamed};

/// The state just after a frame, and what was said since the one before.
struct Mark {
    at: usize,
    run: Run,
    log: Log,
}

pub(crate) fn check(body: &Body) {
    let marks = one_byte_at_a_time(body);
    for pair in marks.windows(2) {
        cut_between(&pair[0], &pair[1], body);
    }
    let answer = streamed(body.wire, [body.bytes.as_slice()]);
    assert_eq!(streamed(body.wire, body.bytes.chunks(1)), answer, "{body}: one byte at a time");
    let mut random = Random(0x5eed);
    for round in 0..100 {
        let pieces = random.pieces(&body.bytes);
        assert_eq!(streamed(body.wire, pieces), answer, "{body}: random partition {round}");
    }
}

/// The marks of a stream. Between two of them it comes in one piece; by induction the state at each is the uncut one.
fn one_byte_at_a_time(body: &Body) -> Vec<Mark> {
    let mut run = Run::new(body.wire);
    let mut marks = vec![Mark { at: 0, run: run.clone(), log: Log::default() }];
    let mut log = Log::default();
    for (at, byte) in body.bytes.iter().enumerate() {
        let has_frame = run.push(std::slice::from_ref(byte), &mut log);
        if has_frame || at + 1 == body.bytes.len() {
            marks.push(Mark { at: at + 1, run: run.clone(), log: std::mem::take(&mut log) });
        }
    }
    marks
}

/// Cuts the bytes between two marks in two, at every byte, and once not at all.
fn cut_between(from: &Mark, to: &Mark, body: &Body) {
    let bytes = &body.bytes[from.at..to.at];
    for at in 0..bytes.len() {
        let (head, tail) = bytes.split_at(at);
        let mut run = from.run.clone();
        let mut log = Log::default();
        run.push(head, &mut log);
        run.push(tail, &mut log);
        assert_eq!(log, to.log, "{body}: cut at {}", from.at + at);
        assert!(run.same(&to.run), "{body}: the state after a cut at {}", from.at + at);
    }
}
