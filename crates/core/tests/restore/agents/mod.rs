//! Agents as they really behave: they clear old tool results, add reminders and clocks, truncate, edit, summarise, split,
//! merge, rename ids, switch models. Each behaviour alone, and all of them mixed.
//!
//! Who is right is known by how a world was made ([`oracle`]): each answer has a name, and every message that a client
//! sends carries the names of the true answers in it. Nothing here reads a digest, a key, or what a record holds.
//!
//! `THINKTHROUGH_LOOKUPS=1000000` looks up so many answers of each kind; `THINKTHROUGH_WORLD=7` makes world 7 alone, and
//! `THINKTHROUGH_KIND=slides` one kind alone. A failure names both.

mod change;
mod client;
mod kind;
mod laws;
mod oracle;
mod recall;
mod tally;
mod vault;
mod world;

/// Seeded random numbers (splitmix64).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    /// True once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// So many signs of an alphabet.
    fn signs(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(self.one(alphabet))).collect()
    }
}
