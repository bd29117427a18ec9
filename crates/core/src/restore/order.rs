//! Restores the order of an answer's blocks.
//!
//! Some wires show an answer as one text and then its calls, and some clients move all thoughts to the front. Models that
//! verify their sealed thoughts refuse another order. The outline in the record lists every visible block, so the order can
//! be restored.

use super::record::Kept;
use crate::content::{Block, Content, Text};
use std::collections::{BTreeMap, VecDeque};

/// Marks a picture or another file in an outline.
pub(super) const MEDIA: &str = "media";

/// Sorts the blocks of an answer into the order of its record. With `splits`, cuts a merged text at the boundaries of the
/// original texts. Changes nothing if the answer has a thought that is not in the record.
pub(crate) fn ordered(content: &mut Content, kept: &Kept, splits: bool) {
    if splits {
        split(content, kept);
    }
    let Some(places) = places(&content.blocks, &kept.blocks) else { return };
    if places.is_sorted() {
        return;
    }
    let blocks = std::mem::take(&mut content.blocks);
    let mut placed: Vec<(usize, Block)> = places.into_iter().zip(blocks).collect();
    placed.sort_by_key(|(place, _)| *place);
    content.blocks = placed.into_iter().map(|(_, block)| block).collect();
}

/// The place of each block in the outline. A block without one keeps its place behind its neighbour. `None` if a thought has
/// no place.
fn places<'b>(blocks: &'b [Block], outline: &'b [Block]) -> Option<Vec<usize>> {
    let mut marks = by_key(outline);
    let came = by_key(blocks);
    // The outline has no content of texts and other blocks, so they match by number if both lists have as many.
    marks.retain(|key, marks| {
        let is_named = matches!(key, Key::Call(..) | Key::Thought(..));
        is_named || came.get(key).is_some_and(|came| came.len() == marks.len())
    });
    let mut last = 0;
    let mut places = Vec::with_capacity(blocks.len());
    for block in blocks {
        let mut take = |key: Key<'b>| marks.get_mut(&key)?.pop_front();
        let place = match key(block) {
            // A record whose provider gave no id.
            Some(Key::Call(name, id)) => {
                take(Key::Call(name, id)).or_else(|| take(Key::Call(name, None)))
            }
            Some(key @ Key::Thought(..)) => Some(take(key)?),
            Some(key) => take(key),
            None => None,
        };
        last = place.unwrap_or(last);
        places.push(last);
    }
    Some(places)
}

/// The places of the blocks with each key, in order.
fn by_key(blocks: &[Block]) -> BTreeMap<Key<'_>, VecDeque<usize>> {
    let mut places: BTreeMap<Key<'_>, VecDeque<usize>> = BTreeMap::new();
    for (place, block) in blocks.iter().enumerate() {
        key(block).into_iter().for_each(|key| places.entry(key).or_default().push_back(place));
    }
    places
}

/// The part of a block that its mark in an outline has, too.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'b> {
    Blank,
    Call(&'b str, Option<&'b str>),
    Media,
    Other(&'b str),
    Text,
    Thought(&'b str, [Option<&'b str>; 3]),
}

fn key(block: &Block) -> Option<Key<'_>> {
    Some(match block {
        Block::Thinking(it) => {
            let payloads = [&it.signature, &it.redacted_data, &it.encrypted_content];
            Key::Thought(&it.thought, payloads.map(|payload| payload.as_deref()))
        }
        Block::ToolCall(call) => Key::Call(&call.name, call.id.as_deref()),
        Block::Text(text) if is_blank(text) => Key::Blank,
        Block::Text(_) => Key::Text,
        Block::Media(_) => Key::Media,
        Block::Other(other) if other.wire.is_empty() && other.kind == MEDIA => Key::Media,
        Block::Other(other) => Key::Other(&other.kind),
        Block::ToolResponse(_) => return None,
    })
}

fn is_blank(text: &Text) -> bool {
    text.text.trim().is_empty()
}

/// The length of each text of the record, in bytes.
fn lengths(kept: &Kept) -> Option<Vec<usize>> {
    let texts = kept.blocks.iter().filter_map(|block| match block {
        Block::Text(text) if !is_blank(text) => Some(text.text.parse().ok()),
        _ => None,
    });
    texts.collect()
}

/// Cuts the only text of an answer into the texts of its record if the lengths add up.
fn split(content: &mut Content, kept: &Kept) {
    let Some(lengths) = lengths(kept).filter(|lengths| lengths.len() > 1) else { return };
    let is_text = |block: &Block| matches!(block, Block::Text(text) if !is_blank(text));
    let mut texts = content.blocks.iter().enumerate().filter(|(_, block)| is_text(block));
    let (Some((at, Block::Text(text))), None) = (texts.next(), texts.next()) else { return };
    if text.text.len() != lengths.iter().sum::<usize>() {
        return;
    }
    let (mut rest, mut parts) = (text.text.as_str(), Vec::new());
    for length in lengths {
        let Some((part, behind)) = rest.split_at_checked(length) else { return };
        parts.push(Block::text(part));
        rest = behind;
    }
    if let Some(Block::Text(last)) = parts.last_mut() {
        (last.signature, last.extra) = (text.signature.clone(), text.extra.clone());
    }
    content.blocks.splice(at..=at, parts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Other, Speaker, Thinking, ToolCall};
    use crate::json::Raw;

    fn thought(text: &str) -> Block {
        Block::Thinking(Thinking {
            signature: Some(format!("sealed {text}")),
            ..Thinking::new(text, "thinking")
        })
    }

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall::new(Some(id), "look"))
    }

    fn server_tool() -> Block {
        Block::Other(Other::new("messages", "server_tool_use", Raw::parse("{}").unwrap()))
    }

    fn answer() -> Vec<Block> {
        vec![
            thought("one"),
            Block::text("\n\n"),
            call("a"),
            thought("two"),
            server_tool(),
            Block::text("Weighing."),
            call("b"),
            thought("three"),
            Block::text("Grüße."),
        ]
    }

    fn given_back(blocks: Vec<Block>, splits: bool) -> Vec<Block> {
        let mut content = Content::new(Speaker::Ai, blocks);
        ordered(&mut content, &Kept::of(answer()), splits);
        content.blocks
    }

    #[test]
    fn thoughts_in_front_go_back_to_their_places() {
        let mut hoisted = answer();
        hoisted.sort_by_key(|block| !matches!(block, Block::Thinking(_)));
        assert_ne!(hoisted, answer());
        assert_eq!(given_back(hoisted, false), answer());
        assert_eq!(given_back(answer(), false), answer());
    }

    #[test]
    fn one_text_and_then_the_calls_is_the_answer_again() {
        let flat = vec![
            thought("one"),
            thought("two"),
            thought("three"),
            Block::text("Weighing.Grüße."),
            call("a"),
            call("b"),
        ];
        let mut expected = answer();
        expected.retain(|block| !matches!(block, Block::Other(_)) && *block != Block::text("\n\n"));
        assert_eq!(given_back(flat, true), expected);
    }

    /// Nanoseconds that this thread has run, however busy the machine is. Zero where the system does not say it.
    fn time_on_a_core() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        text.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or_default()
    }

    #[test]
    fn many_blocks_of_one_answer_take_linear_work() {
        let took = |count: usize| {
            let blocks = (0..count).map(|at| Block::text(format!("part {at}"))).collect();
            let began = time_on_a_core();
            given_back(blocks, true);
            time_on_a_core() - began
        };
        // Linear work takes eight times as long, quadratic work 64 times; an unlucky comparison is made again.
        assert!((0..3).any(|_| took(80_000) < 24 * took(10_000).max(4_000_000)));
    }

    #[test]
    fn what_is_not_the_records_stays_where_it_is() {
        let strange = vec![call("a"), thought("another"), thought("one")];
        assert_eq!(given_back(strange.clone(), true), strange);
        // Another number of texts: the new one stays behind its neighbour.
        let more =
            vec![call("a"), Block::text("x"), Block::text("y"), Block::text("z"), thought("one")];
        let expected =
            vec![thought("one"), call("a"), Block::text("x"), Block::text("y"), Block::text("z")];
        assert_eq!(given_back(more, true), expected);
    }
}
