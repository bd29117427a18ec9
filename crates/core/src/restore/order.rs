//! Restores the order of an answer's blocks.
//!
//! Some wires show an answer as one text and then its calls, and some clients move all thoughts to the front. Models that
//! verify their sealed thoughts refuse another order. The outline in the record lists every visible block, so the order can
//! be restored.

use super::record::Kept;
use crate::content::{Block, Content, Text};

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

/// The place of each block in the outline. A block without one keeps its place behind its neighbour.
fn places(blocks: &[Block], outline: &[Block]) -> Option<Vec<usize>> {
    let mut taken = vec![false; outline.len()];
    let mut last = 0;
    let mut places = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        let is_it = |mark: &Block| match (block, mark) {
            (Block::Thinking(its), Block::Thinking(own)) => {
                its.thought == own.thought
                    && its.signature == own.signature
                    && its.redacted_data == own.redacted_data
                    && its.encrypted_content == own.encrypted_content
            }
            (Block::ToolCall(its), Block::ToolCall(own)) => {
                its.name == own.name && (its.id == own.id || own.id.is_none())
            }
            // The outline has no content of texts and other blocks, so they match by number if both lists have as many.
            _ => is_alike(block, mark) && count(blocks, block) == count(outline, mark),
        };
        let place = (0..outline.len()).find(|place| {
            let is_free = taken.get(*place) == Some(&false);
            is_free && outline.get(*place).is_some_and(is_it)
        });
        if place.is_none() && matches!(blocks.get(at), Some(Block::Thinking(_))) {
            return None;
        }
        if let Some(place) = place {
            last = place;
            taken.iter_mut().skip(place).take(1).for_each(|it| *it = true);
        }
        places.push(last);
    }
    Some(places)
}

fn count(blocks: &[Block], like: &Block) -> usize {
    blocks.iter().filter(|block| is_alike(block, like)).count()
}

fn is_alike(one: &Block, other: &Block) -> bool {
    match (one, other) {
        (Block::Text(one), Block::Text(other)) => is_blank(one) == is_blank(other),
        (Block::Other(one), Block::Other(other)) => one.kind == other.kind,
        (Block::Media(_), Block::Other(mark)) => mark.kind == MEDIA,
        (Block::Media(_), Block::Media(_)) => true,
        _ => false,
    }
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
