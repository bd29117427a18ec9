//! Random numbers that are the same each time.

/// A xorshift generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % n
    }

    /// Cuts bytes into pieces, mostly of up to `longest` bytes.
    pub(crate) fn pieces<'b>(&mut self, mut bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let longest = [3, 40, 700, 9_000][self.below(4)];
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at((1 + self.below(longest)).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
