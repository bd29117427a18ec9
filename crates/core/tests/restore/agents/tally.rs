//! What is counted of a world, and what went wrong in it.

use super::oracle::Evidence;
use std::collections::BTreeMap;

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Law {
    /// The thought of another answer.
    Foreign,
    /// One thought at two places.
    Twice,
    /// A bound thought behind other words than it was thought behind.
    Moved,
    /// A bound thought before one that is left out.
    Gap,
    /// With fewer records, another thought.
    Less,
    /// With more that look alike, another decision about an answer that shows its own id.
    More,
    /// The messages grew at their end, and another decision about an earlier answer.
    Grown,
}

/// The numbers of one kind of world.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) lookups: usize,
    pub(super) restored: usize,
    pub(super) twins: usize,
    pub(super) possible: usize,
    pub(super) right: usize,
    /// The same for answers that show a random id of their own.
    pub(super) possible_by_id: usize,
    pub(super) right_by_id: usize,
    /// How often each law was broken, and the shortest example.
    pub(super) broken: BTreeMap<Law, (usize, String)>,
    /// The shortest example of a thought that could have gone back, by what singled it out.
    pub(super) missed: BTreeMap<&'static str, (usize, String)>,
}

impl Tally {
    pub(super) fn breaks(&mut self, law: Law, example: impl FnOnce() -> String) {
        note(self.broken.entry(law).or_default(), 1, example());
    }

    pub(super) fn was_possible(&mut self, evidence: Evidence, is_right: bool) {
        let is_by_id = evidence == Evidence::OwnId;
        self.possible += 1;
        self.right += usize::from(is_right);
        self.possible_by_id += usize::from(is_by_id);
        self.right_by_id += usize::from(is_by_id && is_right);
    }

    pub(super) fn misses(&mut self, evidence: Evidence, example: impl FnOnce() -> String) {
        let by = match evidence {
            Evidence::OwnId => "own id",
            Evidence::History => "history",
            Evidence::Next => "next answer",
        };
        note(self.missed.entry(by).or_default(), 1, example());
    }

    pub(super) fn count_of(&self, law: Law) -> usize {
        self.broken.get(&law).map_or(0, |(count, _)| *count)
    }

    /// Adds the numbers of another world, and names it in its examples.
    pub(super) fn add(&mut self, other: Tally, world: &str) {
        self.lookups += other.lookups;
        self.restored += other.restored;
        self.twins += other.twins;
        self.possible += other.possible;
        self.right += other.right;
        self.possible_by_id += other.possible_by_id;
        self.right_by_id += other.right_by_id;
        for (law, (count, example)) in other.broken {
            note(self.broken.entry(law).or_default(), count, named(world, &example));
        }
        for (by, (count, example)) in other.missed {
            note(self.missed.entry(by).or_default(), count, named(world, &example));
        }
    }
}

fn named(world: &str, example: &str) -> String {
    if world.is_empty() { example.to_owned() } else { format!("{world}\n{example}") }
}

fn note(entry: &mut (usize, String), count: usize, example: String) {
    entry.0 += count;
    if entry.1.is_empty() || example.len() < entry.1.len() {
        entry.1 = example;
    }
}
