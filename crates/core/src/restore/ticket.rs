//! Tickets: short opaque ids that are minted for a caller where the provider's own are weak, or where the caller's wire
//! wants a signature and the model gave none.

use super::ids::normal_id;
use super::key::{Key, Of, Secret, Version};
use super::normal::Normal;
use crate::content::{Block, Content, Speaker, ToolCall};
use crate::contract::WeakIds;
use std::borrow::Cow;
use std::collections::BTreeMap;

const PREFIX: &str = "tk_";
/// 22 letters and digits hold 128 bits.
const DIGITS: usize = 22;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The ticket of one call of a record that is to be: no randomness of its own, so that a retry of the same record gives
/// the same ticket, and unguessable, because the record's id is drawn at random and the digest has the tenant's secret.
#[must_use]
pub fn mint(secret: &Secret, record: &str, call: u32) -> String {
    minted(secret, record, &call.to_le_bytes())
}

/// The ticket that stands in the place of the signature of a record's thoughts, made as [`mint`] makes those of calls.
#[must_use]
pub fn of_thought(secret: &Secret, record: &str) -> String {
    minted(secret, record, b"thought")
}

fn minted(secret: &Secret, record: &str, of: &[u8]) -> String {
    let normal = Normal { secret, version: Version::CURRENT };
    let key = normal.digest(Of::Mint).part(record.as_bytes()).part(of).finish();
    let half = key.bytes().first_chunk::<16>().copied().unwrap_or_default();
    let mut number = u128::from_le_bytes(half);
    let mut ticket = PREFIX.to_owned();
    for _ in 0..DIGITS {
        let digit = usize::try_from(number % 62).unwrap_or_default();
        ticket.push(ALPHABET.get(digit).copied().map_or('0', char::from));
        number /= 62;
    }
    ticket
}

/// Whether an id has the form of a ticket. Whether it is one only the vault knows.
#[must_use]
pub fn is_ticket(id: &str) -> bool {
    id.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == DIGITS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Tickets whose records are gone become ids in the provider's own form, on calls and on the results that name them: a
/// function of what stands before them, so that a request that grows at its end keeps its ids.
#[must_use]
pub fn rebuilt(mut contents: Cow<'_, [Content]>, ids: WeakIds) -> Cow<'_, [Content]> {
    let is_minted =
        |call: &ToolCall| call.id.as_deref().is_some_and(|id| is_ticket(&normal_id(id)));
    if !contents.iter().flat_map(Content::tool_calls).any(is_minted) {
        return contents;
    }
    let mut native: BTreeMap<String, String> = BTreeMap::new();
    let (mut before, mut place) = (0, 0);
    for content in contents.to_mut() {
        if content.speaker != Speaker::Ai {
            place = 0;
        }
        for block in &mut content.blocks {
            match block {
                Block::ToolCall(call) => {
                    if let Some(id) = call.id.as_mut().filter(|id| is_ticket(&normal_id(id))) {
                        let new = ids.id(&call.name, before, place);
                        native.insert(std::mem::replace(id, new.clone()), new);
                    }
                    (before, place) = (before + 1, place + 1);
                }
                Block::ToolResponse(result) => {
                    let new = result.call_id.as_ref().and_then(|id| native.get(id));
                    if let Some(new) = new {
                        result.call_id = Some(new.clone());
                    }
                }
                Block::Media(_) | Block::Other(_) | Block::Text(_) | Block::Thinking(_) => {}
            }
        }
    }
    contents
}

/// The ticket in the place of a thought's signature.
pub(super) fn in_thought(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(thinking) => thinking.signature.as_deref().filter(|it| is_ticket(it)),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => None,
    }
}

/// Tickets that still stand in the place of signatures go, for they say nothing to a provider: alone, or where only
/// sealed thoughts may go back, with the thoughts.
#[must_use]
pub fn withdrawn(mut contents: Cow<'_, [Content]>, only_sealed: bool) -> Cow<'_, [Content]> {
    let has_ticket = |content: &Content| content.blocks.iter().any(|it| in_thought(it).is_some());
    for index in 0..contents.len() {
        if !contents.get(index).is_some_and(has_ticket) {
            continue;
        }
        let Some(content) = contents.to_mut().get_mut(index) else { continue };
        if only_sealed {
            content.blocks.retain(|block| in_thought(block).is_none());
        }
        for block in &mut content.blocks {
            if let Block::Thinking(thinking) = block
                && thinking.signature.as_deref().is_some_and(is_ticket)
            {
                thinking.signature = None;
            }
        }
    }
    contents
}

/// The key by which the record of a ticket is found.
pub(super) fn key(normal: &Normal<'_>, ticket: &str) -> Key {
    normal.digest(Of::Ticket).part(ticket.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{ToolCall, ToolResponse};
    use crate::json::{Extra, Raw};

    #[test]
    fn tickets_are_short_and_differ() {
        let secret = Secret::new([3; 32]);
        let all = [
            mint(&secret, "r1", 0),
            mint(&secret, "r1", 1),
            mint(&secret, "r2", 0),
            mint(&Secret::new([4; 32]), "r1", 0),
            of_thought(&secret, "r1"),
            of_thought(&secret, "r2"),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        // Fits every API's rule for ids: 40 characters of `[a-zA-Z0-9_-]`.
        assert!(all.iter().all(|ticket| ticket.len() == 25 && is_ticket(ticket)));
        assert_eq!(mint(&secret, "r1", 0), all[0]);
        for id in ["tk_", "call_1", "tk_0123456789012345678901-", "tk_01234567890123456789012"] {
            assert!(!is_ticket(id), "{id}");
        }
    }

    #[test]
    fn a_lost_ticket_becomes_an_id_of_the_providers_form() {
        let ticket = |call| mint(&Secret::new([3; 32]), "r1", call);
        let call = |id: &str, name: &str| Block::ToolCall(ToolCall::new(Some(id), name));
        let ai = |blocks| Content::new(Speaker::Ai, blocks);
        let result = |id: &str| {
            let response = ToolResponse {
                call_id: Some(id.to_owned()),
                name: None,
                result: Raw::string("it"),
                is_error: false,
                extra: Extra::default(),
            };
            Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
        };
        let said = |ids: [&str; 4]| {
            vec![
                ai(vec![call(ids[0], "read"), call(ids[1], "read")]),
                result(ids[1]),
                result(ids[0]),
                ai(vec![call(ids[2], "list"), call(ids[3], "read")]),
                result(ids[2]),
                result(ids[3]),
            ]
        };
        let (one, two, three) = (ticket(0), ticket(1), ticket(2) + "_dup1");
        for (form, native) in [
            (WeakIds::Counted, ["functions.read:0", "functions.read:1", "own", "functions.read:3"]),
            (WeakIds::Placed, ["read:0", "read:1", "own", "read:1"]),
        ] {
            let old = said([&one, &two, "own", &three]);
            assert_eq!(*rebuilt(Cow::Owned(old), form), said(native));
            let own = said(native);
            assert!(matches!(rebuilt(Cow::Borrowed(&own), form), Cow::Borrowed(_)));
        }
    }
}
