//! Fragments of one answer: a client has written its calls into messages of their own, often with the result of each
//! behind it.
//!
//! Where a provider looks at every message or step, a fragment without the thought is refused, or read as an answer
//! that was never thought about. So the fragments go as the one message that the model gave, with their results behind
//! it. What is a fragment is decided before (`GoesOn`): only results stand between it and the one before.
//!
//! Messages keep their indices: what was taken into another one is left without a block, among the results.

use super::Input;
use crate::content::{Block, Content, Speaker, Thinking};
use crate::decision::{Action, Decision};
use std::borrow::Cow;

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
    let mut home = None;
    for (step, answer) in input.steps().iter().zip(answers) {
        let (start, end) = (step.contents.start, step.contents.end);
        let is_part = answer.action == Action::GoesOn;
        if !is_part {
            home = (answer.found().is_some() && step.has_calls()).then_some((start, end));
        }
        let Some((message, behind)) = home else { continue };
        let parts = if is_part { start..end } else { start + 1..end };
        if parts.is_empty() {
            continue;
        }
        let contents = contents.to_mut();
        parts.for_each(|at| take_in(contents, message, at));
        if is_part && input.caller.joins_results() {
            let results = contents.iter().skip(end);
            let count = results.take_while(|it| it.speaker == Speaker::Tool).count();
            (end..end + count).for_each(|at| take_in(contents, behind, at));
        }
    }
    contents
}

/// What the message `at` says is said by `home` before it, but for what that says already.
fn take_in(contents: &mut [Content], home: usize, at: usize) {
    let Some((before, rest)) = contents.split_at_mut_checked(at) else { return };
    let (Some(home), Some(part)) = (before.get_mut(home), rest.first_mut()) else { return };
    let nothing = Content::new(Speaker::Tool, Vec::new());
    let Content { blocks, signature, extra, .. } = std::mem::replace(part, nothing);
    for block in blocks {
        if !is_said(&home.blocks, &block) {
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

/// Some clients write the text of an answer, or its thought, into each fragment.
fn is_said(said: &[Block], block: &Block) -> bool {
    let is_same = |other: &Block| match (other, block) {
        (Block::Text(one), Block::Text(two)) => one.text.trim() == two.text.trim(),
        (Block::Thinking(one), Block::Thinking(two)) => {
            one.thought == two.thought && payload(one) == payload(two)
        }
        _ => false,
    };
    let is_nothing = match block {
        Block::Text(text) => text.text.trim().is_empty() && text.signature.is_none(),
        Block::Media(_)
        | Block::Other(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => false,
    };
    is_nothing || said.iter().any(is_same)
}

fn payload(thinking: &Thinking) -> [Option<&String>; 3] {
    let Thinking { signature, redacted_data, encrypted_content, .. } = thinking;
    [signature, redacted_data, encrypted_content].map(Option::as_ref)
}
