//! Item ids that contain the seed of their answer, so that pairs are recognised without memory.

use crate::seal::{Digest, HEX};

const SEED: usize = 24;

/// The common part of the ids of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    simulator: &'static str,
    seed: String,
    thinks: bool,
}

/// The content of an id that this simulator made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// Common to all items of one answer.
    pub(super) seed: String,
    /// The answer began with a reasoning item.
    pub(super) paired: bool,
}

impl Pair {
    pub(super) fn new(simulator: &'static str, seed: Digest, thinks: bool) -> Self {
        Self { simulator, seed: seed.text("items").word(HEX, SEED), thinks }
    }

    /// The id of an item with this prefix.
    pub(super) fn id(&self, kind: &str, place: usize) -> String {
        let flag = if self.thinks { 'a' } else { '0' };
        let content = format!("{}{flag}{:x}", self.seed, place % 16);
        let check = check(self.simulator, kind, &content);
        format!("{kind}_{content}{check}")
    }

    /// The digest that binds encrypted content to this answer.
    pub(super) fn digest(&self) -> u64 {
        digest(&self.seed)
    }
}

/// The digest that binds encrypted content to the answer with this seed.
pub(super) fn digest(seed: &str) -> u64 {
    Digest::new("pair").text(seed).finish()
}

/// Parses an id with this prefix. `None` if this simulator did not make it.
pub(super) fn known(simulator: &str, kind: &str, id: &str) -> Option<Known> {
    let rest = id.strip_prefix(kind)?.strip_prefix('_')?;
    let (content, mac) = rest.split_at_checked(SEED + 2)?;
    let (seed, marks) = content.split_at_checked(SEED)?;
    let fits = check(simulator, kind, content) == mac;
    fits.then(|| Known { seed: seed.to_owned(), paired: marks.starts_with('a') })
}

/// The id of the reasoning item of the same answer.
pub(super) fn reasoning(simulator: &str, known: &Known) -> String {
    let content = format!("{}a0", known.seed);
    let check = check(simulator, "rs", &content);
    format!("rs_{content}{check}")
}

/// An id in the form of a UUID, without a readable seed.
pub(super) fn uuid(seed: Digest) -> String {
    let part = |name: &str, length: usize| seed.text(name).word(HEX, length);
    format!(
        "{}-{}-4{}-a{}-{}",
        part("a", 8),
        part("b", 4),
        part("c", 3),
        part("d", 3),
        part("e", 12)
    )
}

fn check(simulator: &str, kind: &str, content: &str) -> String {
    Digest::new("item").text(simulator).text(kind).text(content).word(HEX, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_lead_to_their_reasoning_and_foreign_ones_are_not_known() {
        let pair = Pair::new("responses-stateless", Digest::new("x"), true);
        let call = pair.id("fc", 1);
        let known = known("responses-stateless", "fc", &call).unwrap();
        assert!(known.paired);
        assert_eq!(reasoning("responses-stateless", &known), pair.id("rs", 0));
        assert_eq!(super::known("xai", "fc", &call), None);
        assert_eq!(super::known("responses-stateless", "rs", &call), None);
        assert_eq!(super::known("responses-stateless", "fc", "fc_123"), None);
    }
}
