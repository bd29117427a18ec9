//! Random numbers that can be repeated.

/// Seeded random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound that is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("it is below a usize")
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    pub(crate) fn range(&mut self, len: usize) -> (usize, usize) {
        let start = self.below(len + 1);
        let longest = (len - start).min([4, 32, 512][self.below(3)]);
        (start, start + self.below(longest + 1))
    }
}

/// Cuts bytes into pieces whose lengths come from a number, small ones first.
pub(crate) fn pieces(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let mut random = Random(u64::from(seed));
    let longest = 1 + usize::from(seed % 29);
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(random.below(longest + 1).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
