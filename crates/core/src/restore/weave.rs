//! Finds the places of a record's blocks in the caller's messages.

use super::normal::{copied_words, display_copy};
use super::question::Step;
use super::record::Kept;
use super::ticket;
use crate::content::{Block, Content, Speaker, ToolCall};
use crate::decision::{Action, Evidence};
use crate::edit::{Change, What};

/// The changes that carry out the decision about one step, for one record. `kept` is the opened record; it may be
/// `None` if no block of it is put in.
///
/// A thought that the client sends in the step is removed if another one replaces it. Ids that were minted for the
/// caller become the provider's own again, even if no thought goes back.
#[must_use]
pub fn weave(
    contents: &[Content],
    step: &Step,
    action: Action,
    found: Option<&Evidence>,
    kept: Option<&Kept>,
) -> Vec<Change> {
    let spots = spots(contents, step, found);
    let mut changes = Vec::new();
    let is_first = found.is_none_or(|found| found.first == 0);
    let is_restored = action == Action::Restore;
    let goes_on = action == Action::GoesOn;
    let is_replaced = is_restored || matches!(action, Action::Drop(_) | Action::Withhold);
    if is_first && (is_replaced || action == Action::Unseal) {
        remove_own(contents, step, action == Action::Unseal, &mut changes);
    }
    if action == Action::Withhold && found.is_some_and(|it| it.shows_copy) {
        hide_copy(contents, &spots, &mut changes);
    }
    let Some(kept) = kept else { return changes };
    let calls = found.map(|found| found.calls.as_slice()).unwrap_or_default();
    if is_restored {
        insert(contents, &spots, kept, calls, step, &mut changes);
    }
    if is_restored || goes_on {
        sign(&spots, kept, calls, &mut changes);
    }
    rename(contents, step, &spots, kept, calls, &mut changes);
    unshow(contents, &spots, kept, &mut changes);
    changes
}

/// Removes a copy of the thought that the client shows at the head of the text: the thought has its own place, and
/// models imitate the text that they read. A text that only resembles a copy stays.
fn unshow(contents: &[Content], spots: &[Spot], kept: &Kept, changes: &mut Vec<Change>) {
    let Some(spot) = spots.first().filter(|spot| !spot.is_call) else { return };
    let block = contents.get(spot.message).and_then(|content| content.blocks.get(spot.block));
    let Some(Block::Text(text)) = block else { return };
    let thoughts = kept.blocks.iter().filter_map(|block| match block {
        // In tags of the model's own, the text is the thought's place.
        Block::Thinking(thinking) if thinking.source_field != "think_tags" => {
            Some(thinking.thought.trim())
        }
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => None,
    });
    let thought = crate::content::join_thoughts(thoughts);
    let Some((copy, rest)) = display_copy(&text.text) else { return };
    if !thought.is_empty() && copied_words(copy) == copied_words(&thought) {
        let Spot { message, block, .. } = *spot;
        changes.push(Change { message, block, what: What::Say(rest.trim_start().to_owned()) });
    }
}

/// Removes the copy of a thought that the target cannot read. The copy equals the thought of the record.
fn hide_copy(contents: &[Content], spots: &[Spot], changes: &mut Vec<Change>) {
    let Some(Spot { message, block, .. }) = spots.first().filter(|spot| !spot.is_call).copied()
    else {
        return;
    };
    let text = contents.get(message).and_then(|content| match content.blocks.get(block)? {
        Block::Text(text) => Some(text),
        _ => None,
    });
    if let Some((_, rest)) = text.and_then(|text| display_copy(&text.text)) {
        let rest = rest.trim_start();
        let what = if rest.is_empty() { What::Remove } else { What::Say(rest.to_owned()) };
        changes.push(Change { message, block, what });
    }
}

/// A visible block of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    message: usize,
    block: usize,
    is_call: bool,
}

/// The visible blocks of a step. If the step holds several answers, only the blocks of the found one: its calls, and
/// the text of the first answer.
fn spots(contents: &[Content], step: &Step, found: Option<&Evidence>) -> Vec<Spot> {
    let mut calls = 0..;
    let of_answer = |spot: &Spot| match (found, spot.is_call) {
        (None, _) => true,
        (Some(found), false) => found.first == 0,
        (Some(found), true) => {
            let end = found.first + found.calls.len();
            calls.next().is_some_and(|at| (found.first..end).contains(&at))
        }
    };
    let mut spots = all_spots(contents, step);
    spots.retain(of_answer);
    spots
}

fn all_spots(contents: &[Content], step: &Step) -> Vec<Spot> {
    let messages = contents.iter().enumerate().take(step.contents.end).skip(step.contents.start);
    let mut spots = Vec::new();
    for (message, content) in messages {
        for (block, value) in content.blocks.iter().enumerate() {
            if let Some(is_call) = visible(value) {
                spots.push(Spot { message, block, is_call });
            }
        }
    }
    spots
}

/// Whether a visible block is a call; `None` for an invisible block.
fn visible(block: &Block) -> Option<bool> {
    match block {
        Block::ToolCall(_) => Some(true),
        Block::Text(text) => (!text.text.trim().is_empty()).then_some(false),
        Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_) => None,
    }
}

/// Removes the client's own thoughts, or only their seals.
fn remove_own(contents: &[Content], step: &Step, seals_alone: bool, changes: &mut Vec<Change>) {
    let messages = contents.iter().enumerate().take(step.contents.end).skip(step.contents.start);
    for (message, content) in messages {
        for (block, value) in content.blocks.iter().enumerate() {
            let what = match value {
                Block::Thinking(it) if seals_alone && !it.thought.is_empty() => What::Sign(None),
                Block::Thinking(_) => What::Remove,
                Block::Text(text) if text.signature.is_some() => What::Sign(None),
                Block::ToolCall(call) if call.signature.is_some() => What::Sign(None),
                Block::Media(_)
                | Block::Other(_)
                | Block::Text(_)
                | Block::ToolCall(_)
                | Block::ToolResponse(_) => continue,
            };
            changes.push(Change { message, block, what });
        }
    }
}

fn insert(
    contents: &[Content],
    spots: &[Spot],
    kept: &Kept,
    of_record: &[usize],
    step: &Step,
    changes: &mut Vec<Change>,
) {
    let outline: Vec<bool> = kept.blocks.iter().filter_map(visible).collect();
    let is_same = outline.iter().copied().eq(spots.iter().map(|spot| spot.is_call));
    let (mut seen, mut calls) = (0, 0);
    let first = spots.first().map_or((step.contents.start, 0), |spot| (spot.message, spot.block));
    let end = spots.last().map_or(first, |spot| (spot.message, spot.block + 1));
    for block in &kept.blocks {
        match block {
            Block::Thinking(thinking) => {
                let spot = if is_same {
                    spots.get(seen)
                } else if calls == 0 {
                    // The client has cut the text differently: thoughts before the first call go first.
                    spots.first()
                } else {
                    // Thoughts go behind this number of the record's calls, some of which the client may have left
                    // out.
                    let mut here = spots.iter().filter(|spot| spot.is_call).zip(of_record);
                    here.find(|(_, at)| **at >= calls).map(|(spot, _)| spot)
                };
                let (message, block) = spot.map_or(end, |spot| (spot.message, spot.block));
                let mut thinking = thinking.clone();
                if thinking.is_item() && !spot.is_some_and(|spot| has_item_id(contents, spot)) {
                    thinking.id = None;
                }
                let what = What::Insert(Box::new(thinking));
                changes.push(Change { message, block, what });
            }
            Block::Text(_) | Block::ToolCall(_) => {
                if let Some(is_call) = visible(block) {
                    seen += 1;
                    calls += usize::from(is_call);
                }
            }
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }
}

/// Whether the client kept the id of this item.
fn has_item_id(contents: &[Content], spot: &Spot) -> bool {
    let block = contents.get(spot.message).and_then(|content| content.blocks.get(spot.block));
    let extra = match block {
        Some(Block::Text(text)) => &text.extra,
        Some(Block::ToolCall(call)) => &call.extra,
        Some(Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_))
        | None => return false,
    };
    extra.fields.iter().any(|(key, _)| key == "id")
}

fn sign(spots: &[Spot], kept: &Kept, of_record: &[usize], changes: &mut Vec<Change>) {
    let mut set = |spot: &Spot, signature: &String| {
        let Spot { message, block, .. } = *spot;
        // The client's own change of this place is replaced by this one.
        changes.retain(|it| {
            !(it.message == message && it.block == block && matches!(it.what, What::Sign(_)))
        });
        changes.push(Change { message, block, what: What::Sign(Some(signature.clone())) });
    };
    let calls = calls(kept);
    for (spot, at) in spots.iter().filter(|spot| spot.is_call).zip(of_record) {
        if let Some(signature) = calls.get(*at).and_then(|call| call.signature.as_ref()) {
            set(spot, signature);
        }
    }
    let texts = kept.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Media(_)
        | Block::Other(_)
        | Block::ToolCall(_)
        | Block::Thinking(_)
        | Block::ToolResponse(_) => None,
    });
    // A payload on text goes with the last text that is there.
    if of_record.first().is_none_or(|first| *first == 0)
        && let Some(signature) = texts.filter_map(|text| text.signature.as_ref()).next_back()
        && let Some(spot) = spots.iter().rfind(|spot| !spot.is_call)
    {
        set(spot, signature);
    }
}

/// Ids that were minted for the caller, that it changed, or that its wire has no place for become the provider's own
/// again, on calls and on the results that name them.
fn rename(
    contents: &[Content],
    step: &Step,
    spots: &[Spot],
    kept: &Kept,
    of_record: &[usize],
    changes: &mut Vec<Change>,
) {
    let calls = calls(kept);
    let (mut nameless, mut minted) = (0, Vec::new());
    for (spot, at) in spots.iter().filter(|spot| spot.is_call).zip(of_record) {
        let Some(native) = calls.get(*at).map(|call| &call.id) else { continue };
        let block = contents.get(spot.message).and_then(|content| content.blocks.get(spot.block));
        let Some(Block::ToolCall(call)) = block else { continue };
        let place = nameless;
        nameless += usize::from(call.id.is_none());
        if call.id == *native {
            continue;
        }
        if native.is_none() {
            minted.extend(call.id.as_deref().map(|id| (spot, id)));
            continue;
        }
        let mut say = |message, block| {
            changes.push(Change { message, block, what: What::Rename(native.clone()) });
        };
        say(spot.message, spot.block);
        match call.id.as_deref() {
            None => results(contents, step, false)
                .filter(|(_, _, id)| id.is_none())
                .skip(place)
                .take(1)
                .for_each(|(message, block, _)| say(message, block)),
            // A ticket is unique; any other id may occur in other turns as well.
            Some(id) => results(contents, step, ticket::is_ticket(id))
                .filter(|(_, _, named)| *named == Some(id))
                .for_each(|(message, block, _)| say(message, block)),
        }
    }
    unname(contents, step, &minted, changes);
}

/// Calls that came without an id lose their minted ids, if the results are in the order of the calls, or name no
/// call. Otherwise the ids alone assign the results.
fn unname(contents: &[Content], step: &Step, minted: &[(&Spot, &str)], changes: &mut Vec<Change>) {
    let is_minted = |id: &str| minted.iter().any(|(_, minted)| *minted == id);
    if !minted.iter().all(|(_, id)| ticket::is_ticket(id)) {
        return;
    }
    let named = results(contents, step, true).filter(|(_, _, id)| id.is_some_and(is_minted));
    let given: Vec<(usize, usize, Option<&str>)> = named.collect();
    let in_order = given.iter().filter_map(|(_, _, id)| *id);
    if given.is_empty() || in_order.eq(minted.iter().map(|(_, id)| *id)) {
        let calls = minted.iter().map(|(spot, _)| (spot.message, spot.block));
        let places = calls.chain(given.iter().map(|(message, block, _)| (*message, *block)));
        let unnamed = |(message, block)| Change { message, block, what: What::Rename(None) };
        changes.extend(places.map(unnamed));
    }
}

/// The calls of a record.
fn calls(kept: &Kept) -> Vec<&ToolCall> {
    let calls = kept.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolResponse(_) => None,
    });
    calls.collect()
}

/// The results behind a step: those of its own calls, or all of them. Each with its place and the id that it names.
fn results<'c>(
    contents: &'c [Content],
    step: &Step,
    all: bool,
) -> impl Iterator<Item = (usize, usize, Option<&'c str>)> {
    let behind = contents.iter().enumerate().skip(step.contents.end);
    let own = behind.take_while(move |(_, content)| all || content.speaker == Speaker::Tool);
    own.flat_map(|(message, content)| {
        content.blocks.iter().enumerate().filter_map(move |(block, value)| match value {
            Block::ToolResponse(result) => Some((message, block, result.call_id.as_deref())),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolCall(_) => None,
        })
    })
}
