//! Cutting plain text into chunks that are laid out one at a time.

use std::ops::Range;

/// A chunk ends at the first line feed behind this many bytes.
const ENOUGH: usize = 4 << 10;
/// A chunk without a line feed ends here, at a space if there is one nearby.
const MOST: usize = 16 << 10;

/// Appends the chunks of `text` from `start` on; the last one is the rest. The end of a chunk depends only on the
/// text up to there and the next [`MOST`] bytes at most, so that only the last chunk changes when text is appended.
pub(super) fn push_chunks(text: &str, mut start: usize, chunks: &mut Vec<Range<usize>>) {
    while let Some(end) = end_of_chunk(text, start) {
        chunks.push(start..end);
        start = end;
    }
    chunks.push(start..text.len());
}

fn end_of_chunk(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let window = bytes.get(start + ENOUGH..)?;
    let reach = window.get(..MOST - ENOUGH).unwrap_or(window);
    if let Some(at) = reach.iter().position(|byte| *byte == b'\n') {
        let end = start + ENOUGH + at + 1;
        // A line feed at the very end does not end the chunk yet, because no text may follow it.
        return (end < bytes.len()).then_some(end);
    }
    if window.len() <= reach.len() {
        return None;
    }
    let cut = start + MOST;
    let space = bytes.get(start..cut)?.iter().rposition(|byte| *byte == b' ');
    let cut = space.map(|at| start + at + 1).filter(|at| *at > start + ENOUGH).unwrap_or(cut);
    (start + 1..=cut).rev().find(|at| text.is_char_boundary(*at))
}

#[cfg(test)]
mod tests {
    use super::push_chunks;

    #[test]
    fn chunks_cover_the_text_and_stay_when_it_grows() {
        let prose = "some words in a line of a thought\n".repeat(2000);
        let flat = "words without any end ".repeat(3000);
        let solid = "日本語".repeat(9000);
        for text in [prose.as_str(), &flat, &solid, "", "\n", &"\n".repeat(20_000)] {
            let mut whole = Vec::new();
            push_chunks(text, 0, &mut whole);
            let joined: String =
                whole.iter().map(|chunk| text.get(chunk.clone()).unwrap()).collect();
            assert_eq!(joined, text);
            assert!(whole.iter().all(|chunk| chunk.len() <= 16 << 10));
            for end in (0..text.len()).step_by(997).filter(|end| text.is_char_boundary(*end)) {
                let mut part = Vec::new();
                push_chunks(text.get(..end).unwrap(), 0, &mut part);
                let done = part.len() - 1;
                assert_eq!(part[..done], whole[..done], "after {end} bytes");
            }
        }
    }
}
