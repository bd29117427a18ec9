//! Applies decisions to the messages of a request.

use super::Input;
use super::blocks::{is_silent, is_thought, says_anything};
use super::records::{self, Opened};
use super::remains::{self, Which};
use crate::content::{Block, Content, Speaker, Thinking};
use crate::contract::Contract;
use crate::decision::{Action, Decision};
use crate::edit::{Change, What, changed};
use crate::json::Extra;
use crate::provider::Target;
use crate::restore::{Kept, ordered, ticket, weave};
use crate::settings::{Include, Resolved};
use crate::wire::chat_completions::SIBLINGS;
use crate::wire::responses::{self, is_made_id, is_summary, reads_content, to_content};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Inserts the vault's thoughts into their answers, and restores the ids of calls.
pub(super) fn answers<'c>(
    input: &Input<'c>,
    answers: &[Decision],
    opened: &[Opened],
) -> Cow<'c, [Content]> {
    let (contents, contract) = (input.contents, input.contract());
    let mut changes = Vec::new();
    for ((step, answer), opened) in input.steps().iter().zip(answers).zip(opened) {
        if answer.evidence.is_empty() {
            changes.extend(weave(contents, step, answer.action, None, None));
        }
        for ((action, found), kept) in answer.parts().zip(&opened.0) {
            changes.extend(weave(contents, step, action, Some(found), kept.as_ref()));
        }
    }
    changes.extend(records::of_orphans(input));
    changes.retain(|change| !keeps_ticket(contents, change, contract));
    changed(contents, &changes)
}

/// Restores the order of answers with sealed thoughts, because their model refuses another order. Has no effect on
/// wires that show no order.
pub(super) fn in_order<'c>(
    mut contents: Cow<'c, [Content]>,
    input: &Input<'c>,
    answers: &[Decision],
    opened: &[Opened],
) -> Cow<'c, [Content]> {
    if !input.contract().signed || !input.target.wire.shows_order() {
        return contents;
    }
    for ((step, answer), opened) in input.steps().iter().zip(answers).zip(opened) {
        let is_empty = |at: usize| contents.get(at).is_none_or(|content| content.blocks.is_empty());
        let is_joined = step.contents.clone().skip(1).all(is_empty);
        let is_whole = answer.evidence.len() == 1 && is_joined;
        let has_thought = matches!(answer.action, Action::Keep | Action::Restore);
        let [Some(kept)] = opened.0.as_slice() else { continue };
        if is_whole
            && has_thought
            && let Some(content) = contents.get(step.contents.start)
        {
            let mut moved = content.clone();
            ordered(&mut moved, kept, !input.is_own_wire);
            if moved != *content
                && let Some(content) = contents.to_mut().get_mut(step.contents.start)
            {
                *content = moved;
            }
        }
    }
    contents
}

/// Moves plain thoughts that the gateway wrote as summaries for its caller to the place that the model reads; if the
/// model demands thoughts, also those of unknown makers.
pub(super) fn in_place<'c>(
    mut contents: Cow<'c, [Content]>,
    input: &Input<'c>,
    answers: &[Decision],
    opened: &[Opened],
) -> Cow<'c, [Content]> {
    let is_read = input.target.wire.id() == responses::ID && reads_content(&input.target.dialect);
    if input.contract().signed || !is_read {
        return contents;
    }
    for ((step, answer), opened) in input.steps().iter().zip(answers).zip(opened) {
        if answer.action != Action::Keep {
            continue;
        }
        let mut thoughts = opened.0.iter().flatten().flat_map(Kept::thoughts).peekable();
        let may_be_ours = thoughts.peek().is_some() || input.contract().required;
        let is_ours = may_be_ours && !thoughts.any(is_summary);
        let moves = |thinking: &Thinking| {
            let is_made = thinking.id.as_deref().is_some_and(is_made_id);
            is_summary(thinking) && (is_ours || is_made)
        };
        for message in step.contents.clone() {
            let has_some = |it: &Content| it.thoughts().any(moves);
            if contents.get(message).is_some_and(has_some)
                && let Some(content) = contents.to_mut().get_mut(message)
            {
                for block in &mut content.blocks {
                    if let Block::Thinking(thinking) = block
                        && moves(thinking)
                    {
                        to_content(thinking);
                    }
                }
            }
        }
    }
    contents
}

/// Removes the ids of items that the target cannot know: ids that the gateway made for a caller, and ids of an answer
/// whose thought is withheld.
pub(super) fn own_ids<'c>(
    mut contents: Cow<'c, [Content]>,
    input: &Input<'c>,
    answers: &[Decision],
) -> Cow<'c, [Content]> {
    for (step, answer) in input.steps().iter().zip(answers) {
        for message in step.contents.clone() {
            let is_foreign = answer.action == Action::Withhold;
            let has_some = |content: &Content| {
                content.blocks.iter().any(|it| item_id(it).is_some_and(|id| is_made_id(&id)))
            };
            if contents.get(message).is_some_and(|it| is_foreign || has_some(it))
                && let Some(content) = contents.to_mut().get_mut(message)
            {
                without_ids(content, |id| is_foreign || is_made_id(id));
            }
        }
    }
    contents
}

/// Whether a change would replace a ticket by the weak id of another model. The ticket stays if the target's own ids
/// are strong, because it is the better id.
fn keeps_ticket(contents: &[Content], change: &Change, contract: &Contract) -> bool {
    let block = contents.get(change.message).and_then(|it| it.blocks.get(change.block));
    let id = match block {
        Some(Block::ToolCall(call)) => call.id.as_deref(),
        Some(Block::ToolResponse(result)) => result.call_id.as_deref(),
        _ => None,
    };
    let is_renamed = matches!(change.what, What::Rename(_)) && id.is_some_and(ticket::is_ticket);
    is_renamed && contract.tickets.is_none()
}

/// Applies the decisions about blocks: removes thoughts, inserts empty ones, and renames their field as the model reads
/// it.
pub(super) fn blocks<'c>(
    mut contents: Cow<'c, [Content]>,
    decisions: &[Decision],
    target: &Target,
    settings: &Resolved,
) -> Cow<'c, [Content]> {
    let contract = &target.rule.contract;
    let mut changing: BTreeMap<usize, Vec<&Decision>> = BTreeMap::new();
    for decision in decisions.iter().filter(|it| !it.action.is_sent()) {
        changing.entry(decision.message).or_default().push(decision);
    }
    // With `false`, ids of items stay, so that the provider applies its own pair rule.
    let pairs = settings.include_in_context.value != Include::False;
    let field = contract.field.filter(|field| SIBLINGS.contains(field));
    for message in 0..contents.len() {
        let decided = changing.get(&message).map(Vec::as_slice).unwrap_or_default();
        let Some(content) = contents.get(message) else { continue };
        let is_answer = content.speaker == Speaker::Ai;
        let goes = contract.refuses_silence && is_silent(&contents, message);
        let may_change =
            goes || content.partial || (is_answer && content.thoughts().next().is_some());
        if decided.is_empty() && !may_change {
            continue;
        }
        let Some(content) = contents.to_mut().get_mut(message) else { continue };
        let is_out =
            |block| decided.iter().any(|it| it.block == Some(block) && it.action != Action::Empty);
        let lost_item = leave_out(content, is_out);
        if decided.iter().any(|it| it.action == Action::Empty) {
            let empty = Thinking::new("", contract.field.unwrap_or_default());
            content.blocks.insert(0, Block::Thinking(empty));
        }
        without_broken_calls(content);
        if goes {
            content.blocks.clear();
        }
        if let (true, Some(field)) = (is_answer, field) {
            rename(content, field);
        }
        pair(content, lost_item && pairs);
    }
    contents
}

/// Removes the calls of an answer that broke off: tools were never run for them, and calls without results would be
/// refused. Nothing remains of an answer without other visible blocks.
pub(super) fn without_broken_calls(content: &mut Content) {
    if !content.partial {
        return;
    }
    content.blocks.retain(|block| !matches!(block, Block::ToolCall(_)));
    if !says_anything(content) {
        content.blocks.clear();
    }
}

/// Removes messages of the model and of tools that became empty: many providers refuse empty messages.
pub(crate) fn said(contents: Cow<'_, [Content]>) -> Cow<'_, [Content]> {
    let is_said = |content: &Content| {
        matches!(content.speaker, Speaker::Human | Speaker::System) || !content.blocks.is_empty()
    };
    if contents.iter().all(is_said) {
        return contents;
    }
    let mut contents = contents.into_owned();
    contents.retain(is_said);
    Cow::Owned(contents)
}

/// Removes all thoughts, and the ids of items that depend on thoughts.
pub(crate) fn bare(contents: &[Content]) -> Vec<Content> {
    let mut contents = contents.to_vec();
    contents.iter_mut().for_each(without_thoughts);
    contents
}

pub(super) fn without_thoughts(content: &mut Content) {
    leave_out(content, |_| true);
    without_item_ids(content);
}

/// Removes the ids of items. Call ids stay.
pub(super) fn without_item_ids(content: &mut Content) {
    without_ids(content, |_| true);
}

/// Removes the ids of items for which `goes` returns true.
pub(super) fn without_ids(content: &mut Content, goes: impl Fn(&str) -> bool) {
    for block in &mut content.blocks {
        let is_named = item_id(block).is_some_and(|id| goes(&id));
        match block {
            // If a call has no call id, the id of its item may be its only id.
            Block::ToolCall(call) if call.id.is_none() => {}
            Block::Thinking(thinking) if is_named && thinking.is_item() => thinking.id = None,
            _ if is_named => item(block).into_iter().for_each(lose_id),
            _ => {}
        }
    }
}

/// Removes all forms of a thought from the blocks that `is_out` selects. The index after the last block selects the
/// message itself. Returns whether a reasoning item with an id was removed.
fn leave_out(content: &mut Content, is_out: impl Fn(usize) -> bool) -> bool {
    if is_out(content.blocks.len()) {
        content.signature = None;
        remains::take_out(&mut content.extra);
    }
    let (mut index, mut lost_item) = (0, false);
    content.blocks.retain_mut(|block| {
        index += 1;
        if !is_out(index - 1) {
            return true;
        }
        match block {
            Block::Thinking(thinking) => {
                lost_item |= thinking.id.is_some();
                return false;
            }
            Block::Text(text) => {
                text.signature = None;
                remains::take_out(&mut text.extra);
            }
            Block::ToolCall(call) => {
                call.signature = None;
                remains::take_out(&mut call.extra);
            }
            Block::Other(other) if is_thought(other) => return false,
            Block::Other(other) => {
                if let Some(raw) = remains::without_any(&other.raw, Which::All) {
                    other.raw = raw;
                }
                remains::take_out(&mut other.notes);
            }
            Block::Media(media) => remains::take_out(&mut media.extra),
            Block::ToolResponse(result) => remains::take_out(&mut result.extra),
        }
        true
    });
    lost_item
}

/// Moves thoughts into the field of the contract. The provider refuses them in another field, or ignores them silently.
fn rename(content: &mut Content, field: &str) {
    for block in &mut content.blocks {
        let Block::Thinking(thinking) = block else { continue };
        let is_entry = ["reasoning_details", "thinking_blocks"].contains(&&*thinking.source_field);
        let is_detail = is_entry && !thinking.is_sealed();
        let is_sibling = SIBLINGS.contains(&thinking.source_field.as_str());
        if is_sibling && thinking.source_field != field {
            field.clone_into(&mut thinking.source_field);
        } else if is_detail && !thinking.thought.is_empty() {
            *thinking = Thinking::new(std::mem::take(&mut thinking.thought), field);
        }
    }
}

/// Applies the pair rule of the Responses API: a reasoning item and the item after it either both have an id, or both
/// have none. If a reasoning item is lost, the other items of the answer lose their ids. A reasoning item also loses
/// its id if its message has none and its payload identifies it. Calls have a `call_id`, so they need no id of an item.
/// Source: the rule as documented, its documented remedy, and requests that the API accepted.
fn pair(content: &mut Content, lost_item: bool) {
    let mut has_id = None;
    for block in content.blocks.iter_mut().rev() {
        if let Some(extra) = item(block).filter(|_| lost_item) {
            lose_id(extra);
        }
        match block {
            Block::Thinking(thinking) if thinking.is_item() => {
                if has_id == Some(false) && thinking.encrypted_content.is_some() {
                    thinking.id = None;
                }
            }
            Block::Text(text) => {
                has_id = Some(text.extra.fields.iter().any(|(key, _)| key == "id"));
            }
            Block::Media(_)
            | Block::Other(_)
            | Block::Thinking(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => has_id = None,
        }
    }
}

/// The unknown fields of a block that may be the item after a thought.
fn item(block: &mut Block) -> Option<&mut Extra> {
    match block {
        Block::Text(text) => Some(&mut text.extra),
        Block::ToolCall(call) => Some(&mut call.extra),
        Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_) => None,
    }
}

/// The id of a block's item. A call's `call_id` is another id.
pub(super) fn item_id(block: &Block) -> Option<String> {
    let extra = match block {
        Block::Thinking(thinking) => return thinking.id.clone(),
        Block::Text(text) => &text.extra,
        Block::ToolCall(call) => &call.extra,
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => return None,
    };
    let (_, id) = extra.fields.iter().find(|(key, _)| key == "id")?;
    Some(id.doc().root().as_str()?.into_owned())
}

fn lose_id(extra: &mut Extra) {
    extra.fields.retain(|(key, _)| key != "id");
}
