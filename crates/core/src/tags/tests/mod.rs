//! Tests of the scanner and of `split`.

mod delimiter;
mod families;
mod filter;
mod leaps;
mod markers;
mod page;
mod tables;

use super::{End, Options, Part, Parts, TagScanner, TagSpec};

/// Feeds the pieces and folds the output.
pub(super) fn feed<'a>(
    spec: &TagSpec,
    options: Options,
    pieces: impl IntoIterator<Item = &'a str>,
    end: End,
) -> Vec<Part> {
    let mut scanner = TagScanner::new(spec, options);
    let mut parts = Parts::new(spec.joined());
    for piece in pieces {
        scanner.push(piece, &mut |piece| parts.push(piece));
    }
    scanner.end(end, &mut |piece| parts.push(piece));
    parts.finish()
}

/// Feeds the text whole, and in every way of splitting it that the law asks for; all must agree.
pub(super) fn feed_all_ways(spec: &TagSpec, options: Options, text: &str, end: End) -> Vec<Part> {
    let whole = feed(spec, options, [text], end);
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    for &cut in &cuts {
        let (a, b) = text.split_at(cut);
        assert_eq!(feed(spec, options, [a, b], end), whole, "split at {cut} of {text:?}");
    }
    let mut buffer = [0; 4];
    let mut scanner = TagScanner::new(spec, options);
    let mut parts = Parts::new(spec.joined());
    for char in text.chars() {
        scanner.push(char.encode_utf8(&mut buffer), &mut |piece| parts.push(piece));
    }
    scanner.end(end, &mut |piece| parts.push(piece));
    assert_eq!(parts.finish(), whole, "one character at a time: {text:?}");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..100 {
        let pieces = random.pieces(text, &cuts);
        assert_eq!(feed(spec, options, pieces.iter().copied(), end), whole, "split {pieces:?}");
    }
    whole
}

/// Xorshift, so that a failure can be repeated.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit.max(1) as u64)).unwrap()
    }

    pub(super) fn pieces<'a>(&mut self, text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
        let often = 1 + self.below(8);
        let mut pieces = Vec::new();
        let mut from = 0;
        for &cut in cuts {
            if self.below(often) == 0 {
                pieces.push(text.get(from..cut).unwrap());
                from = cut;
            }
        }
        pieces.push(text.get(from..).unwrap());
        pieces
    }
}

pub(super) fn named(name: &str) -> TagSpec {
    TagSpec::named(name).unwrap_or_else(|| panic!("family `{name}`"))
}

/// A thought that has its end.
pub(super) fn thought(thought: &str) -> Part {
    Part::Thinking { thought: thought.to_owned(), partial: false }
}

/// A thought that a cut left without its end.
pub(super) fn cut(thought: &str) -> Part {
    Part::Thinking { thought: thought.to_owned(), partial: true }
}

pub(super) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// Checks a family's parts for a text with a clean end, in every split.
#[track_caller]
pub(super) fn check(family: &str, input: &str, expected: &[Part]) {
    let parts = feed_all_ways(&named(family), Options::default(), input, End::Clean);
    assert_eq!(parts, expected, "{family}: {input:?}");
}
