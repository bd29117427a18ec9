//! Records of version 1, which older gateways wrote: they know an answer by the whole conversation before it.
//!
//! Nothing writes their keys any more. A request asks for them as long as a store has such records; those with ids of
//! calls that no other answer has get the keys of these ids, too ([`with_anchors`]), once for each store. Records live for
//! as long as the age limit of the vault says after their last use; when none of version 1 can be left, this file goes.

use super::key::{Key, Of, Secret, Version};
use super::normal::Normal;
use super::question::anchor;
use super::record::{CallMark, Head, Kept, Keys, Seen};
use super::results::Results;
use crate::content::{Block, Content, Speaker, ToolCall};
use crate::request::Tool;

/// What a record of version 1 knows of the head of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OldHead {
    pub(super) system: Key,
    pub(super) tools: Key,
}

/// A record of version 1 with the keys of the ids of its calls, and with their names, which are sealed with its thoughts.
/// `None` where nothing is to be added.
#[must_use]
pub fn with_anchors(head: &Head, kept: &Kept, secret: &Secret) -> Option<Head> {
    if head.version != Version::V1 || !head.keys.anchors.is_empty() {
        return None;
    }
    let names = kept.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.name.as_str()),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolResponse(_) => None,
    });
    let names: Vec<&str> = names.collect();
    // A client that began the answer itself said some of its calls.
    if names.len() != head.seen.calls.len() {
        return None;
    }
    let normal = Normal { secret, version: Version::CURRENT };
    // Where nothing is known about the endpoint, no request asks for them.
    let ids = head.seen.calls.iter();
    let anchors: Vec<Key> = ids.filter_map(|it| anchor(&normal, &it.id, true)).collect();
    let calls = head.seen.calls.iter().zip(names);
    let calls = calls.map(|(mark, name)| CallMark { name: Some(name.to_owned()), ..mark.clone() });
    (!anchors.is_empty()).then(|| Head {
        keys: Keys { anchors, ..head.keys.clone() },
        seen: Seen { calls: calls.collect(), ..head.seen.clone() },
        ..head.clone()
    })
}

/// What records of version 1 say of a request's head, and the keys that they have for its answers.
pub(super) fn read(
    contents: &[Content],
    tools: &[Tool],
    secret: &Secret,
) -> (OldHead, Vec<Option<Key>>) {
    let normal = Normal { secret, version: Version::V1 };
    let instructions =
        contents.iter().take_while(|content| content.speaker == Speaker::System).count();
    let (system, mut rest) = contents.split_at_checked(instructions).unwrap_or_default();
    let mut digest = normal.digest(Of::System);
    system.iter().for_each(|content| {
        digest.key(&normal.said(content));
    });
    let (mut node, mut chains) = (normal.digest(Of::Root).finish(), Vec::new());
    let add = |node: &mut Key, piece: &Key| {
        *node = normal.digest(Of::Node).key(node).key(piece).finish();
    };
    while let Some(first) = rest.first() {
        if first.speaker != Speaker::Ai {
            add(&mut node, &normal.said(first));
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let run =
            |of: &[Content], speaker| of.iter().take_while(|it| it.speaker == speaker).count();
        let (said, behind) = rest.split_at_checked(run(rest, Speaker::Ai)).unwrap_or_default();
        let (given, behind) =
            behind.split_at_checked(run(behind, Speaker::Tool)).unwrap_or_default();
        rest = behind;
        let text: String = said.iter().map(Content::visible_text).collect();
        let text = normal.answer(&text);
        let calls: Vec<&ToolCall> = said.iter().flat_map(Content::tool_calls).collect();
        let digests: Vec<Key> = calls.iter().map(|call| normal.call(call)).collect();
        chains.push(chain(&normal, &node, text.as_ref(), &digests));
        text.iter().for_each(|text| add(&mut node, text));
        let mut results = Results::of(given);
        for (call, digest) in calls.iter().zip(&digests) {
            add(&mut node, digest);
            if let Some(result) = results.take(call) {
                add(&mut node, &normal.result(result));
            }
        }
        results.rest().for_each(|result| add(&mut node, &normal.result(result)));
    }
    (OldHead { system: digest.finish(), tools: normal.tools(tools) }, chains)
}

fn chain(normal: &Normal<'_>, node: &Key, text: Option<&Key>, calls: &[Key]) -> Option<Key> {
    if text.is_none() && calls.is_empty() {
        return None;
    }
    let mut digest = normal.digest(Of::Chain);
    digest.key(node).tag(u8::from(text.is_some()));
    text.into_iter().chain(calls).for_each(|key| {
        digest.key(key);
    });
    Some(digest.finish())
}
