//! Finds the positions where a secret may begin, in one pass over the text.
//!
//! The hash of an anchor's first three bytes is a bit in a table of 8 KiB, so that most text costs one look-up a
//! byte. Anchors are compared only where the bit is set.

use super::set::Set;

/// The literal by which a rule is found.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    /// Its text, in small letters if case does not count.
    pub(super) literal: Vec<u8>,
    /// Whether case does not count.
    pub(super) caseless: bool,
    /// The index of the rule.
    pub(super) rule: usize,
    /// The index of the rule's pattern.
    pub(super) part: usize,
}

const BITS: usize = 1 << 16;
const LISTS: usize = 1 << 12;

/// All anchors.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    bits: Vec<u64>,
    lists: Vec<Vec<u32>>,
    by_first: Vec<Vec<u32>>,
    anchors: Vec<Anchor>,
    /// Something may begin with each of these bytes, whatever follows.
    first: Set,
}

impl Filter {
    pub(super) fn new() -> Self {
        Filter {
            bits: vec![0; BITS / 64],
            lists: vec![Vec::new(); LISTS],
            by_first: vec![Vec::new(); 256],
            anchors: Vec::new(),
            first: Set::NONE,
        }
    }

    /// Lets matches begin with each of these bytes, unless another of them comes before it.
    pub(super) fn add_first(&mut self, first: Set) {
        self.first = self.first.or(first);
    }

    /// Adds an anchor. If its text is shorter than three bytes, `then` is the set of the bytes that may follow it.
    pub(super) fn add(&mut self, anchor: Anchor, then: Set) {
        let id = u32::try_from(self.anchors.len()).unwrap_or(u32::MAX);
        let choices = |at: usize| -> Vec<u8> {
            match anchor.literal.get(at) {
                Some(byte) if anchor.caseless => {
                    let mut both = vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
                    both.dedup();
                    both
                }
                Some(byte) => vec![*byte],
                None => then.bytes().collect(),
            }
        };
        let (firsts, seconds, thirds) = (choices(0), choices(1), choices(2));
        for first in &firsts {
            if let Some(list) = self.by_first.get_mut(usize::from(*first)) {
                list.push(id);
            }
            for (second, third) in
                seconds.iter().flat_map(|second| thirds.iter().map(move |third| (second, third)))
            {
                let hash = hash(*first, *second, *third);
                if let Some(word) = self.bits.get_mut(hash >> 6) {
                    *word |= 1 << (hash & 63);
                }
                if let Some(list) = self.lists.get_mut(hash % LISTS)
                    && list.last() != Some(&id)
                {
                    list.push(id);
                }
            }
        }
        self.anchors.push(anchor);
    }

    /// Returns the first position from `from` on at which an anchor may begin, or else the end of the text. If the
    /// text is not whole, that includes positions at which the text ends within an anchor.
    pub(super) fn next(&self, bytes: &[u8], from: usize, is_whole: bool) -> usize {
        let table: &[u64; BITS / 64] = match self.bits.as_slice().try_into() {
            Ok(table) => table,
            Err(_) => return bytes.len(),
        };
        if self.first != Set::NONE {
            return self.next_word(table, bytes, from, is_whole);
        }
        let rest = bytes.get(from..).unwrap_or_default();
        let found = rest.windows(3).position(|three| match three {
            [a, b, c] => {
                let hash = hash(*a, *b, *c);
                table.get(hash >> 6).is_some_and(|word| word >> (hash & 63) & 1 == 1)
            }
            _ => false,
        });
        if let Some(found) = found {
            return from + found;
        }
        if is_whole {
            return bytes.len();
        }
        let tail = bytes.len().saturating_sub(2).max(from);
        let begins = |at: &usize| {
            let first = bytes.get(*at).copied().unwrap_or_default();
            self.by_first.get(usize::from(first)).is_some_and(|list| !list.is_empty())
        };
        (tail..bytes.len()).find(begins).unwrap_or(bytes.len())
    }

    /// The same where something may begin with each word.
    fn next_word(
        &self,
        table: &[u64; BITS / 64],
        bytes: &[u8],
        from: usize,
        is_whole: bool,
    ) -> usize {
        let begins = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let is_hit = match rest {
                [a, b, c, ..] => {
                    let hash = hash(*a, *b, *c);
                    table.get(hash >> 6).is_some_and(|word| word >> (hash & 63) & 1 == 1)
                }
                _ => !is_whole,
            };
            let has = |byte: Option<&u8>| byte.is_some_and(|byte| self.first.has(*byte));
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            is_hit || (has(rest.first()) && !has(before))
        };
        (from..bytes.len()).find(begins).unwrap_or(bytes.len())
    }

    /// The anchors that may begin with these bytes.
    pub(super) fn at(&self, bytes: &[u8]) -> impl Iterator<Item = &Anchor> {
        let list = match bytes {
            [a, b, c, ..] => self.lists.get(hash(*a, *b, *c) % LISTS),
            [a, ..] => self.by_first.get(usize::from(*a)),
            [] => None,
        };
        let ids = list.into_iter().flatten();
        ids.filter_map(|id| self.anchors.get(usize::try_from(*id).ok()?))
    }
}

fn hash(a: u8, b: u8, c: u8) -> usize {
    let three = u32::from_le_bytes([a, b, c, 0]);
    let mixed = three.wrapping_mul(0x9E37_79B1) >> 16;
    usize::from(u16::try_from(mixed).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_found_where_they_begin() {
        let mut filter = Filter::new();
        let anchor = |literal: &str, caseless, rule| Anchor {
            literal: literal.as_bytes().to_vec(),
            caseless,
            rule,
            part: 0,
        };
        filter.add(anchor("ghp_", false, 1), Set::NONE);
        filter.add(anchor("secret", true, 2), Set::NONE);
        filter.add(anchor("AC", false, 3), super::super::set::DIGIT);
        let rules = |text: &str| -> Vec<usize> {
            filter.at(text.as_bytes()).map(|anchor| anchor.rule).collect()
        };
        let next = |text: &str, whole| filter.next(text.as_bytes(), 0, whole);
        assert_eq!((next("xx ghp_", true), rules("ghp_")), (3, vec![1]));
        assert_eq!((next("a SeCret", true), rules("SeCret")), (2, vec![2]));
        assert_eq!((next("AC9", true), rules("AC9")), (0, vec![3]));
        assert_eq!(next("plain words", true), 11);
        assert_eq!((next("end g", false), next("end g", true)), (4, 5));
    }
}
