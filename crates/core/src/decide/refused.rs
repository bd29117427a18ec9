//! Finds the records that a provider refused, so that they are never put back again.
//!
//! A blamed record is lost for good, so that suspicion alone does not blame a record. A record is blamed if the
//! refusal names its id or payload, or the message that contains it. A refusal without names blames the only thought
//! that was put back, if the client sent no thoughts of its own. If several were put back, it blames no record.
//! Only the address that made a thought can blame its record. At another address the thought is only left out.

use super::named::{Named, SHORTEST, is_named, short};
use super::{Repair, refusal, unlisted};
use crate::content::Block;
use crate::provider::Target;
use crate::restore::Kept;
use std::fmt;

/// Why a provider refused a thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// The provider reports that the thought was altered.
    Altered,
    /// It belongs to another conversation.
    Bound,
    /// The provider does not have it any more.
    Gone,
    /// It cannot be decrypted.
    Shut,
    /// Its signature does not hold.
    Signature,
}

impl RefusalCause {
    /// All of them.
    pub const ALL: [RefusalCause; 5] = [
        RefusalCause::Altered,
        RefusalCause::Bound,
        RefusalCause::Gone,
        RefusalCause::Shut,
        RefusalCause::Signature,
    ];

    /// The complaint about a thought in the body of a refusal, if there is one.
    #[must_use]
    pub fn of(refusal: &str) -> Option<Self> {
        refusal::cause(refusal)
    }

    /// Its name in counters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalCause::Altered => "altered",
            RefusalCause::Bound => "bound",
            RefusalCause::Gone => "gone",
            RefusalCause::Shut => "shut",
            RefusalCause::Signature => "signature",
        }
    }
}

/// The thoughts in a request that a refusal may name, with the records that were put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    pub(super) records: Vec<Known>,
    /// The client sends thoughts of its own as well.
    pub(super) has_own: bool,
}

/// A record, and the names that a refusal may use for it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Known {
    record: String,
    names: Vec<String>,
    /// The address and account that are asked made it.
    is_own: bool,
}

impl Known {
    /// Returns `None` for a plain thought, which such a refusal cannot name.
    pub(super) fn of(record: &str, kept: &Kept, is_own: bool) -> Option<Self> {
        let mut names = Vec::new();
        let mut payloads = Vec::new();
        for block in &kept.blocks {
            match block {
                Block::Thinking(it) => {
                    names.extend(it.id.clone());
                    payloads.extend([&it.signature, &it.redacted_data, &it.encrypted_content]);
                }
                Block::Text(text) => payloads.push(&text.signature),
                Block::ToolCall(call) => payloads.push(&call.signature),
                Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
            }
        }
        names.extend(payloads.into_iter().flatten().cloned());
        names.retain(|name| name.len() >= SHORTEST);
        (!names.is_empty()).then(|| Known { record: record.to_owned(), names, is_own })
    }
}

/// Payloads are secrets of the tenant's.
impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Known").field(&self.record).finish()
    }
}

impl PutBack {
    /// The thoughts of a client alone.
    #[cfg(test)]
    pub(crate) fn of_client() -> Self {
        PutBack { records: Vec::new(), has_own: true }
    }

    /// Whether the request has no thoughts that a refusal could be about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.has_own
    }

    /// Whether the client sends thoughts of its own.
    #[must_use]
    pub fn has_own(&self) -> bool {
        self.has_own
    }

    /// The repair that a refusal of `body` asks for, by the tables, or by the parts that it names. If the client's
    /// own thought may be at fault, the client's thoughts give way first.
    #[must_use]
    pub fn repair(&self, refusal: &str, body: &[u8], target: &Target) -> Option<Repair> {
        let Some(repair) = Repair::of(refusal) else {
            return unlisted::repair(refusal, body, target);
        };
        let is_own = self.has_own
            && RefusalCause::of(refusal).is_some()
            && self.at_fault(refusal, body).is_empty();
        Some(if is_own && repair == Repair::Omit { Repair::Replace } else { repair })
    }

    /// The records of this list that the refusing address and account made.
    #[must_use]
    pub fn own(&self, records: &[String]) -> Vec<String> {
        let own = self.records.iter().filter(|it| it.is_own && records.contains(&it.record));
        own.map(|it| it.record.clone()).collect()
    }

    /// The records put back into `body` that `refusal` blames.
    #[must_use]
    pub fn at_fault(&self, refusal: &str, body: &[u8]) -> Vec<String> {
        let named = Named::of(refusal, body);
        let shorts: Vec<_> = refusal.split_whitespace().filter_map(short).collect();
        let is_named = |it: &&Known| {
            named.has_any(&it.names) || it.names.iter().any(|name| is_named(name, refusal, &shorts))
        };
        let blamed = self.records.iter().filter(is_named).map(|it| it.record.clone());
        let blamed: Vec<String> = blamed.collect();
        if !blamed.is_empty() || named.says_where {
            return blamed;
        }
        match self.records.as_slice() {
            [only] if !self.has_own => vec![only.record.clone()],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Thinking;

    fn known(record: &str, signature: &str, id: Option<&str>) -> Known {
        let thinking = Thinking {
            signature: Some(signature.to_owned()),
            id: id.map(str::to_owned),
            ..Thinking::new("hm", "thinking")
        };
        let kept = Kept { blocks: vec![Block::Thinking(thinking)] };
        Known::of(record, &kept, true).unwrap()
    }

    fn two() -> PutBack {
        let records = vec![
            known("one", "gAAA-the-first-XyZ=", Some("rs_11111111")),
            known("two", "gAAA-the-second-QrS=", None),
        ];
        PutBack { records, has_own: false }
    }

    const BODY: &[u8] = br#"{"messages":[{"role":"user","content":"Hi"},
        {"content":[{"signature":"gAAA-the-first-XyZ="}]},{"role":"user","content":"?"},
        {"content":[{"signature":"gAAA-the-second-QrS="}]}]}"#;

    #[test]
    fn u_20_a_record_is_blamed_where_the_refusal_names_it() {
        let invalid = "Invalid `signature` in `thinking` block";
        for (refusal, at_fault) in [
            ("Item with id 'rs_11111111' not found.".to_owned(), vec!["one"]),
            ("The encrypted content gAAA...QrS= could not be verified.".to_owned(), vec!["two"]),
            ("The encrypted content gAAA...nobody= could not be verified.".to_owned(), vec![]),
            (format!("messages.3.content.0: {invalid}"), vec!["two"]),
            (format!("messages[1]: {invalid}"), vec!["one"]),
            // This message is the client's own.
            (format!("messages.0.content.0: {invalid}"), vec![]),
            (format!("messages.9: {invalid}"), vec![]),
            // The refusal does not show which of the two is meant.
            ("Corrupted thought signature.".to_owned(), vec![]),
        ] {
            assert_eq!(two().at_fault(&refusal, BODY), at_fault, "{refusal}");
        }
    }

    #[test]
    fn u_20_the_only_one_is_blamed_unless_the_client_sends_thoughts_too() {
        let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
        let mut only = PutBack { records: two().records.split_off(1), has_own: false };
        assert_eq!(only.at_fault("Corrupted thought signature.", BODY), ["two"]);
        let corrupted = "Corrupted thought signature.";
        assert_eq!(only.repair(corrupted, BODY, &target), Some(Repair::Omit));
        only.has_own = true;
        assert!(only.at_fault(corrupted, BODY).is_empty());
        // It may be the client's, so that those go first, unless it says that it is ours.
        assert_eq!(only.repair(corrupted, BODY, &target), Some(Repair::Replace));
        let ours = "messages.3.content.0: Invalid `signature` in `thinking` block";
        assert_eq!(only.repair(ours, BODY, &target), Some(Repair::Omit));
        let off = "Expected `thinking` or `redacted_thinking`";
        assert_eq!(only.repair(off, BODY, &target), Some(Repair::Off));
    }

    #[test]
    fn u_20_another_address_says_nothing_about_a_record() {
        let mut sent = two();
        sent.records[0].is_own = false;
        let both = ["one".to_owned(), "two".to_owned()];
        let refusal = "messages.1.content.0: Invalid `signature` in `thinking` block";
        // It is left out there, and stays good for the address that made it.
        let at_fault = sent.at_fault(refusal, BODY);
        assert_eq!((&at_fault[..], sent.own(&at_fault)), (&both[..1], Vec::new()));
        assert_eq!(sent.own(&both), ["two"]);
    }

    #[test]
    fn u_20_what_is_no_fault_of_the_thought_blames_nobody() {
        for (refusal, cause) in [
            (
                "The block is bound to a different conversation. Invalid `signature` in `thinking` block",
                Some(RefusalCause::Bound),
            ),
            (
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                None,
            ),
            ("messages.1.content.0.thinking.signature: Field required", None),
            ("Rate limit reached", None),
        ] {
            assert_eq!(RefusalCause::of(refusal), cause, "{refusal}");
        }
        let plain =
            Kept { blocks: vec![Block::Thinking(Thinking::new("hm", "reasoning_content"))] };
        assert!(Known::of("plain", &plain, true).is_none());
    }
}
