//! A stream that ends early keeps what came, and never looks complete.

use crate::bodies::Body;
use crate::random::Random;
use crate::run::{Run, streamed};
use std::collections::BTreeSet;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::Fold;

/// At most this many cuts between the frames of a stream, evenly spread.
const CUTS: usize = 200;

/// So many places of a stream are drawn to be cut at inside a frame.
const INSIDE: usize = 50;

pub(crate) fn check(body: &Body) {
    let full = streamed(body.wire, [body.bytes.as_slice()]);
    let mut run = Run::new(body.wire);
    let mut fold = Fold::new();
    let mut frames = 0;
    let step = count(body).div_ceil(CUTS).max(1);
    let inside = inside(body);
    for (at, byte) in body.bytes.iter().enumerate() {
        let has_frame = run.push(std::slice::from_ref(byte), &mut fold);
        frames += usize::from(has_frame);
        let is_cut = if has_frame { frames % step == 0 } else { inside.contains(&at) };
        if is_cut {
            let has_end = run.decoder.is_complete();
            let mut cut = fold.clone();
            run.clone().end(&mut cut);
            keeps(body, at + 1, &cut.finish(), &full, has_end);
        }
    }
}

/// Places that are drawn, the same each time. A byte before a line's end is none of them: where lines are frames, the
/// frame is whole there. Nor is one in a line that names an event: some servers write it behind the data, which is whole
/// then.
fn inside(body: &Body) -> BTreeSet<usize> {
    let bytes = body.bytes.as_slice();
    let mut random = Random(0xc075);
    let ends_line = |at: usize| matches!(bytes.get(at + 1), None | Some(b'\n' | b'\r'));
    let names_event = |at: usize| {
        let begin = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |it| it + 1);
        bytes[begin..].starts_with(b"event:")
    };
    let places = (0..INSIDE).map(|_| random.below(bytes.len().max(1)));
    places.filter(|at| !ends_line(*at) && !names_event(*at)).collect()
}

fn keeps(body: &Body, at: usize, answer: &Answer, full: &Answer, has_end: bool) {
    assert!(has_end || !answer.is_complete(), "{body}: looks complete when cut at {at}");
    for (is, of) in answer.blocks.iter().zip(&full.blocks) {
        assert!(is_kept(is, of), "{body}: cut at {at}: {is:?} is no beginning of {of:?}");
    }
    assert!(answer.blocks.len() <= full.blocks.len(), "{body}: cut at {at}");
}

fn count(body: &Body) -> usize {
    let (mut run, mut fold) = (Run::new(body.wire), Fold::new());
    body.bytes.iter().filter(|byte| run.push(std::slice::from_ref(*byte), &mut fold)).count()
}

/// Whether a block of a cut stream is the beginning of what it became.
fn is_kept(is: &Block, of: &Block) -> bool {
    match (is, of) {
        (Block::Thinking(is), Block::Thinking(of)) => {
            let begins = |is: &Option<String>, of| is.is_none() || is == of;
            of.thought.starts_with(&is.thought)
                && begins(&is.signature, &of.signature)
                && begins(&is.redacted_data, &of.redacted_data)
                && begins(&is.encrypted_content, &of.encrypted_content)
        }
        (Block::Text(is), Block::Text(of)) => of.text.starts_with(&is.text),
        (Block::ToolCall(is), Block::ToolCall(of)) => of.name.starts_with(&is.name),
        (is, of) => std::mem::discriminant(is) == std::mem::discriminant(of),
    }
}
