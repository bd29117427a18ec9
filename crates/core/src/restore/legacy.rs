//! The keys of version 1, by which records of older gateways are found: an answer behind the whole conversation.
//!
//! Nothing writes them any more. Records live for as long as the age limit of the vault says after their last use; when
//! none of version 1 can be left, this file goes.

use super::key::{Key, Of, Secret, Version};
use super::normal::Normal;
use super::question::Results;
use crate::content::{Content, Speaker, ToolCall};
use crate::request::Tool;

/// The keys of the answers of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chains {
    pub(super) system: Key,
    pub(super) tools: Key,
    chains: Vec<Option<Key>>,
}

impl Chains {
    pub(super) fn key(&self, step: usize) -> Option<Key> {
        self.chains.get(step).copied().flatten()
    }

    pub(super) fn read(contents: &[Content], tools: &[Tool], secret: &Secret) -> Self {
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
        Chains { system: digest.finish(), tools: normal.tools(tools), chains }
    }
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
