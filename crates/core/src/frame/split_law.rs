//! The law of every pushed decoder: its output does not depend on how the bytes were cut.

use std::fmt::Debug;

/// A decoder that is pushed bytes. Its output is collected so that it can be compared.
pub(crate) trait Pushed: Clone + PartialEq + Debug {
    /// One item of its output, owned.
    type Out: Clone + PartialEq + Debug;
    /// Pushes bytes and appends the output.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Self::Out>);
    /// Ends the body and appends the output.
    fn end(&mut self, out: &mut Vec<Self::Out>);
}

/// Checks the law for a decoder on one body, and returns the output for the body.
///
/// The body goes in whole, byte by byte, cut in two and in 100 seeded random partitions. A body of up to [`SHORT`]
/// bytes is cut in two everywhere, from its first byte to its end. In a longer one each stretch between two outputs
/// is cut: it starts from the state before the stretch and has to reach the state after it, which by induction proves
/// the same for the whole body in linear time.
pub(crate) fn check<D: Pushed>(fresh: &D, body: &[u8]) -> Vec<D::Out> {
    let whole = run(fresh, [body]);
    let marks = byte_by_byte(fresh, body, &whole);
    for pair in marks.windows(2) {
        stretch(&pair[0], &pair[1], body);
    }
    if body.len() <= SHORT {
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            assert_eq!(run(fresh, [head, tail]), whole, "cut in two at {cut}");
        }
    }
    let mut random = Random(0x5eed);
    for round in 0..100 {
        let pieces = random.partition(body);
        assert_eq!(run(fresh, pieces), whole, "random partition {round}");
    }
    whole
}

/// Bodies up to this length are cut in two at every byte from start to end.
const SHORT: usize = 1024;

/// Stretches up to this length are cut at every byte, longer ones near their ends and at random.
const SHORT_STRETCH: usize = 2048;

/// The state of a decoder just after an output.
struct Mark<D: Pushed> {
    at: usize,
    state: D,
    out: Vec<D::Out>,
}

fn run<'b, D: Pushed>(fresh: &D, pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<D::Out> {
    let mut decoder = fresh.clone();
    let mut out = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut out);
    }
    decoder.end(&mut out);
    assert_eq!(decoder, *fresh, "after its end a decoder is ready for a new body");
    out
}

/// Pushes single bytes, and makes a mark at the start, after each byte that gave output, and at the end of the body.
fn byte_by_byte<D: Pushed>(fresh: &D, body: &[u8], whole: &[D::Out]) -> Vec<Mark<D>> {
    let mut decoder = fresh.clone();
    let mut marks = vec![Mark { at: 0, state: fresh.clone(), out: Vec::new() }];
    let mut all = Vec::new();
    for (index, byte) in body.iter().enumerate() {
        let mut out = Vec::new();
        decoder.push(std::slice::from_ref(byte), &mut out);
        decoder.push(&[], &mut out);
        if !out.is_empty() || index + 1 == body.len() {
            all.extend(out.iter().cloned());
            marks.push(Mark { at: index + 1, state: decoder.clone(), out });
        }
    }
    decoder.end(&mut all);
    assert_eq!(all, whole, "byte by byte");
    marks
}

/// Cuts the bytes between two marks in two.
fn stretch<D: Pushed>(from: &Mark<D>, to: &Mark<D>, body: &[u8]) {
    let bytes = &body[from.at..to.at];
    let mut random = Random(bytes.len() as u64);
    let cuts: Vec<usize> = if bytes.len() <= SHORT_STRETCH {
        (0..bytes.len()).collect()
    } else {
        let ends = (0..16).chain(bytes.len() - 16..bytes.len());
        ends.chain((0..16).map(|_| random.below(bytes.len()))).collect()
    };
    for cut in cuts {
        let (head, tail) = bytes.split_at(cut);
        let mut decoder = from.state.clone();
        let mut out = Vec::new();
        decoder.push(head, &mut out);
        assert!(cut == 0 || out.is_empty(), "output before byte {} at {cut}", to.at);
        decoder.push(tail, &mut out);
        assert_eq!(out, to.out, "output of bytes {}..{}, cut at {cut}", from.at, to.at);
        assert!(decoder == to.state, "state at byte {}, cut at {}", to.at, from.at + cut);
    }
}

/// Seeded random numbers (splitmix64): every run of a test cuts at the same places.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit that is not zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// The body in random pieces, tiny ones and large ones in turn; empty ones too.
    fn partition<'b>(&mut self, mut body: &'b [u8]) -> Vec<&'b [u8]> {
        let longest = [2, 16, 100, 1000, 8000][self.below(5)];
        let mut pieces = Vec::new();
        while !body.is_empty() {
            let length = self.below(longest + 1).min(body.len());
            let (piece, rest) = body.split_at(length);
            pieces.push(piece);
            body = rest;
        }
        pieces
    }
}
