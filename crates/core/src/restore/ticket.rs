//! Tickets: short opaque ids that are minted for a caller if the provider's own are weak, or if the caller's wire
//! wants a signature and the model gave none.

use super::ids::normal_id;
use super::key::{Key, Of, Secret, Version};
use super::normal::Normal;
use crate::content::{Block, Content, Speaker, ToolCall};
use crate::contract::WeakIds;
use crate::wire::Wire;
use std::borrow::Cow;
use std::collections::BTreeMap;

const PREFIX: &str = "tk_";
/// 14 letters and digits hold 83 bits; 8 more identify the tenant.
const LONG: Form = Form { prefix: PREFIX, drawn: 14, mark: 8 };
/// 6 letters and digits hold 36 bits; 3 more identify the tenant, which match another id once in 238,328 times.
const SHORT: Form = Form { prefix: "", drawn: 6, mark: 3 };
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How a ticket is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    prefix: &'static str,
    drawn: usize,
    mark: usize,
}

impl Form {
    /// For callers of this API.
    #[must_use]
    pub fn of(wire: &dyn Wire) -> Self {
        if wire.has_short_ids() { SHORT } else { LONG }
    }

    fn len(self) -> usize {
        self.prefix.len() + self.drawn + self.mark
    }

    fn has(self, id: &str) -> bool {
        let is_plain = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        id.len() == self.len() && id.strip_prefix(self.prefix).is_some_and(is_plain)
    }

    /// Whether a ticket of this form was minted under the secret.
    fn is_own(self, normal: &Normal<'_>, id: &str) -> bool {
        let drawn = id.get(self.prefix.len()..self.prefix.len() + self.drawn);
        self.has(id) && drawn.is_some_and(|drawn| id.ends_with(&self.marked(normal, drawn)))
    }

    /// The mark that shows that a ticket was minted under this secret.
    fn marked(self, normal: &Normal<'_>, drawn: &str) -> String {
        digits(&normal.digest(Of::Mint).part(drawn.as_bytes()).finish(), self.mark)
    }
}

/// The ticket of one call of a coming record. It has no randomness of its own, so that a retry of the same record
/// gives the same ticket. It cannot be guessed, because the record's id is drawn at random and the digest has the
/// tenant's secret.
#[must_use]
pub fn mint(secret: &Secret, record: &str, call: u32, form: Form) -> String {
    minted(secret, record, &call.to_le_bytes(), form)
}

/// The ticket that replaces the signature of a record's thoughts, made as [`mint`] makes the tickets of calls.
#[must_use]
pub fn of_thought(secret: &Secret, record: &str) -> String {
    minted(secret, record, b"thought", LONG)
}

fn minted(secret: &Secret, record: &str, of: &[u8], form: Form) -> String {
    let normal = Normal { secret, version: Version::CURRENT };
    let key = normal.digest(Of::Mint).part(record.as_bytes()).part(of).finish();
    let drawn = digits(&key, form.drawn);
    let mark = form.marked(&normal, &drawn);
    format!("{}{drawn}{mark}", form.prefix)
}

fn digits(key: &Key, count: usize) -> String {
    let half = key.bytes().first_chunk::<16>().copied().unwrap_or_default();
    let mut number = u128::from_le_bytes(half);
    let mut digits = String::with_capacity(count);
    for _ in 0..count {
        let digit = usize::try_from(number % 62).unwrap_or_default();
        digits.push(ALPHABET.get(digit).copied().map_or('0', char::from));
        number /= 62;
    }
    digits
}

/// Whether an id has the form of our tickets, which no provider uses. Whether it is one only the vault knows.
#[must_use]
pub fn is_ticket(id: &str) -> bool {
    LONG.has(id)
}

/// Whether an id is a ticket; one in the form of other ids is known by its mark.
pub(super) fn is_minted(normal: &Normal<'_>, id: &str) -> bool {
    is_ticket(id) || SHORT.is_own(normal, id)
}

/// Turns tickets without records into ids of the provider's own form, on calls and on the results that name them. The
/// new ids depend only on earlier messages, so that a request that grows at its end keeps its ids.
///
/// An unknown server may be a gateway that mints tickets, too: there, only tickets of this tenant are replaced.
#[must_use]
pub fn rebuilt<'c>(
    mut contents: Cow<'c, [Content]>,
    ids: WeakIds,
    secret: Option<&Secret>,
) -> Cow<'c, [Content]> {
    let is_minted = |call: &ToolCall| {
        let id = normal_id(call.id.as_deref().unwrap_or_default());
        let normal = secret.map(|secret| Normal { secret, version: Version::CURRENT });
        let is_ours = |form: Form| normal.as_ref().is_some_and(|it| form.is_own(it, &id));
        let is_long = if ids == WeakIds::Any { is_ours(LONG) } else { is_ticket(&id) };
        is_long || is_ours(SHORT)
    };
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
                    if is_minted(call) {
                        let new = ids.id(&call.name, before, place);
                        let old = call.id.replace(new.clone()).unwrap_or_default();
                        native.insert(old, new);
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

/// Removes tickets that are still in the place of signatures, because a provider cannot read them: alone, or with
/// their thoughts if only sealed thoughts may go back.
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

/// The look-up key of a ticket's record.
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
            mint(&secret, "r1", 0, LONG),
            mint(&secret, "r1", 1, LONG),
            mint(&secret, "r2", 0, LONG),
            mint(&Secret::new([4; 32]), "r1", 0, LONG),
            of_thought(&secret, "r1"),
            of_thought(&secret, "r2"),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        // Fits every API's rule for ids: 40 characters of `[a-zA-Z0-9_-]`.
        assert!(all.iter().all(|ticket| ticket.len() == 25 && is_ticket(ticket)));
        assert_eq!(mint(&secret, "r1", 0, LONG), all[0]);
        for id in ["tk_", "call_1", "tk_0123456789012345678901-", "tk_01234567890123456789012"] {
            assert!(!is_ticket(id), "{id}");
        }
    }

    #[test]
    fn a_short_ticket_is_known_by_its_mark() {
        let (secret, other) = (Secret::new([3; 32]), Secret::new([4; 32]));
        let normal = |secret| Normal { secret, version: Version::CURRENT };
        let short: Vec<String> = (0..500).map(|call| mint(&secret, "r1", call, SHORT)).collect();
        assert!(short.iter().all(|id| id.len() == 9 && SHORT.has(id) && !is_ticket(id)));
        assert!(short.iter().all(|id| is_minted(&normal(&secret), id)));
        assert!(short.iter().all(|id| !is_minted(&normal(&other), id)));
        let distinct: std::collections::BTreeSet<_> = short.iter().collect();
        assert_eq!(distinct.len(), short.len());
        for id in ["", "D681PevKs", "call00001", "tk_234567", "123é5678"] {
            assert!(!is_minted(&normal(&secret), id), "{id}");
        }
    }

    #[test]
    fn a_lost_ticket_becomes_an_id_of_the_providers_form() {
        let ticket = |call| mint(&Secret::new([3; 32]), "r1", call, LONG);
        let call = |id: &str, name: &str| Block::ToolCall(ToolCall::new(Some(id), name));
        let ai = |blocks| Content::new(Speaker::Ai, blocks);
        let result = |id: &str| {
            let response = ToolResponse {
                call_id: Some(id.to_owned()),
                name: None,
                result: Raw::string("it").into(),
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
            assert_eq!(*rebuilt(Cow::Owned(old), form, None), said(native));
            let own = said(native);
            assert!(matches!(rebuilt(Cow::Borrowed(&own), form, None), Cow::Borrowed(_)));
        }
    }
}
