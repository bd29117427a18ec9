//! Calls and results that belong together: results without an id, for APIs that identify a result only by it (Gemini's
//! clients may send the name alone), and calls of several answers with one id.

use crate::content::{Block, Content, Speaker, ToolResponse};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Gives each result without an id the id of its call. The call is the first unnamed one of the same tool in the
/// earlier answer, else the first unnamed one.
pub(super) fn pair(mut contents: Cow<'_, [Content]>) -> Cow<'_, [Content]> {
    let mut after = false;
    let mut calls: VecDeque<(Option<String>, String)> = VecDeque::new();
    for at in 0..contents.len() {
        let Some(content) = contents.get(at) else { continue };
        if content.speaker == Speaker::Ai {
            if std::mem::take(&mut after) {
                calls.clear();
            }
            calls.extend(content.tool_calls().map(|call| (call.id.clone(), call.name.clone())));
            continue;
        }
        if !after {
            let named = results(&contents, at);
            calls.retain(|(id, _)| id.is_none() || !named.contains(id));
        }
        after = true;
        let is_nameless = |block: &Block| {
            matches!(block, Block::ToolResponse(ToolResponse { call_id: None, .. }))
        };
        if calls.is_empty() || !content.blocks.iter().any(is_nameless) {
            continue;
        }
        let Some(content) = contents.to_mut().get_mut(at) else { continue };
        for block in &mut content.blocks {
            if let Block::ToolResponse(result) = block
                && result.call_id.is_none()
                && !calls.is_empty()
            {
                let is_its = |(_, name): &(_, String)| result.name.as_ref() == Some(name);
                let index = calls.iter().position(is_its).unwrap_or_default();
                result.call_id = calls.remove(index).and_then(|(id, _)| id);
            }
        }
    }
    contents
}

/// Gives a call whose id an earlier answer has, too, an id of its own, and its results with it: `ID_2` for the second. Some
/// providers count the calls of each answer, and others refuse an id that comes again.
pub(super) fn unique(mut contents: Cow<'_, [Content]>) -> Cow<'_, [Content]> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    // The new ids in the turn of calls and results under way.
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    for at in 0..contents.len() {
        let Some(content) = contents.get(at) else { continue };
        if content.speaker == Speaker::Ai {
            let ids: BTreeSet<String> =
                content.tool_calls().filter_map(|call| call.id.clone()).collect();
            for id in ids {
                let count = seen.entry(id.clone()).and_modify(|it| *it += 1).or_insert(1);
                match *count {
                    1 => renamed.remove(&id),
                    count => renamed.insert(id.clone(), format!("{id}_{count}")),
                };
            }
        }
        let new = |id: &Option<String>| renamed.get(id.as_ref()?);
        let is_old = |block: &Block| match block {
            Block::ToolCall(call) => new(&call.id).is_some(),
            Block::ToolResponse(result) => new(&result.call_id).is_some(),
            Block::Media(_) | Block::Other(_) | Block::Text(_) | Block::Thinking(_) => false,
        };
        if !content.blocks.iter().any(is_old) {
            continue;
        }
        let Some(content) = contents.to_mut().get_mut(at) else { continue };
        for block in &mut content.blocks {
            let id = match block {
                Block::ToolCall(call) => &mut call.id,
                Block::ToolResponse(result) => &mut result.call_id,
                Block::Media(_) | Block::Other(_) | Block::Text(_) | Block::Thinking(_) => continue,
            };
            if let Some(new) = id.as_ref().and_then(|id| renamed.get(id)) {
                *id = Some(new.clone());
            }
        }
    }
    contents
}

/// The ids in results from this message on, up to the next answer.
fn results(contents: &[Content], from: usize) -> BTreeSet<Option<String>> {
    let run = contents.iter().skip(from).take_while(|content| content.speaker != Speaker::Ai);
    let ids = run.flat_map(|content| &content.blocks).filter_map(|block| match block {
        Block::ToolResponse(result) => Some(result.call_id.clone()),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolCall(_) => None,
    });
    ids.collect()
}
