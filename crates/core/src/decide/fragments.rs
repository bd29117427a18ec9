//! Fragments of one answer: a client has written its calls into messages of their own, often with the result of each
//! behind it.
//!
//! If a provider checks every message or step, it refuses a fragment without the thought, or reads it as an answer
//! without a thought. So the fragments go as the one message that the model gave, with their results behind it.
//! Fragments are found earlier (`GoesOn`): only results are between a fragment and the one before.
//!
//! Messages keep their indices: a message that was merged into another one has no blocks, and counts among the
//! results.

use super::Input;
use crate::content::{Block, Content, Speaker, Thinking};
use crate::decision::{Action, Decision};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Puts the fragments of each known answer into its first message.
pub(super) fn joined<'c>(
    mut contents: Cow<'c, [Content]>,
    input: &Input<'_>,
    answers: &[Decision],
) -> Cow<'c, [Content]> {
    let contract = input.contract();
    let looks_at_each = contract.required || contract.signed;
    if !looks_at_each {
        return contents;
    }
    // The message of the answer that the next step may go on with, and the first behind it.
    let (mut home, mut said) = (None, Said::new());
    for (step, answer) in input.steps().iter().zip(answers) {
        let (start, end) = (step.contents.start, step.contents.end);
        let is_part = answer.action == Action::GoesOn;
        if !is_part {
            home = answer.found().is_some().then_some((start, end));
        }
        let Some((message, behind)) = home else { continue };
        let parts = if is_part { start..end } else { start + 1..end };
        if parts.is_empty() {
            continue;
        }
        let contents = contents.to_mut();
        parts.for_each(|at| take_in(contents, message, at, &mut said));
        if is_part && input.caller.joins_results() {
            let results = contents.iter().skip(end);
            let count = results.take_while(|it| it.speaker == Speaker::Tool).count();
            (end..end + count).for_each(|at| take_in(contents, behind, at, &mut said));
        }
    }
    contents
}

/// Digests of the texts and thoughts of messages, by index, so that the work grows with the number of fragments.
type Said = BTreeMap<usize, BTreeSet<[u8; 32]>>;

/// Moves the blocks of message `at` into the earlier message `home`, except blocks that `home` has already.
fn take_in(contents: &mut [Content], home: usize, at: usize, said: &mut Said) {
    let Some((before, rest)) = contents.split_at_mut_checked(at) else { return };
    let said = said.entry(home);
    let (Some(home), Some(part)) = (before.get_mut(home), rest.first_mut()) else { return };
    let said = said.or_insert_with(|| home.blocks.iter().filter_map(digest).collect());
    let nothing = Content::new(Speaker::Tool, Vec::new());
    let Content { blocks, signature, extra, .. } = std::mem::replace(part, nothing);
    for block in blocks {
        // Some clients write the text of an answer, or its thought, into each fragment.
        let is_new = digest(&block).is_none_or(|digest| said.insert(digest));
        if is_new && !is_nothing(&block) {
            home.blocks.push(block);
        }
    }
    home.signature = home.signature.take().or(signature);
    let Some(wire) = extra.wire else { return };
    for (key, value) in extra.fields {
        if home.extra.get(wire, &key).is_none() {
            home.extra.insert(wire, &key, value);
        }
    }
}

fn is_nothing(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.text.trim().is_empty() && text.signature.is_none(),
        Block::Media(_)
        | Block::Other(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => false,
    }
}

/// A digest of a text or a thought. Other blocks are never duplicates.
fn digest(block: &Block) -> Option<[u8; 32]> {
    let parts = match block {
        Block::Text(text) => [Some(text.text.trim()), None, None, None],
        Block::Thinking(thinking) => {
            let Thinking { thought, signature, redacted_data, encrypted_content, .. } = thinking;
            let [signature, redacted, encrypted] =
                [signature, redacted_data, encrypted_content].map(Option::as_deref);
            [Some(thought.as_str()), signature, redacted, encrypted]
        }
        Block::Media(_) | Block::Other(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {
            return None;
        }
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(matches!(block, Block::Text(_)))]);
    for part in parts {
        let length = part.map_or(u64::MAX, |part| u64::try_from(part.len()).unwrap_or(u64::MAX));
        hasher.update(&length.to_le_bytes()).update(part.unwrap_or_default().as_bytes());
    }
    Some(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// How long it takes to join so many fragments, each with a text of its own.
    fn took(fragments: usize) -> Duration {
        let text = |at: usize| Content::new(Speaker::Ai, vec![Block::text(format!("part {at}"))]);
        let mut contents: Vec<Content> = (0..fragments).map(text).collect();
        let (began, mut said) = (Instant::now(), Said::new());
        (1..fragments).for_each(|at| take_in(&mut contents, 0, at, &mut said));
        let took = began.elapsed();
        assert_eq!(contents[0].blocks.len(), fragments);
        took
    }

    #[test]
    fn many_fragments_of_one_answer_take_linear_work() {
        let ratio = || took(16_000).as_secs_f64() / took(4_000).as_secs_f64();
        // Linear work takes four times as long, quadratic work sixteen times; an unlucky comparison is made again.
        assert!((0..3).map(|_| ratio()).any(|ratio| ratio < 9.0));
    }

    #[test]
    fn what_is_said_already_is_said_once_and_calls_stay() {
        let text = |text: &str| Block::text(text.to_owned());
        let mut contents = vec![
            Content::new(Speaker::Ai, vec![text("a ")]),
            Content::new(Speaker::Ai, vec![text("a"), text(" "), text("b"), text("b")]),
        ];
        take_in(&mut contents, 0, 1, &mut Said::new());
        assert_eq!(contents[0].blocks, [text("a "), text("b")]);
        assert!(contents[1].blocks.is_empty());
    }
}
