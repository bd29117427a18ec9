//! Sets of bytes, as the rules name them.

/// A set of ASCII bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u128);

impl Set {
    /// No byte.
    pub(super) const NONE: Set = Set(0);

    /// The bytes of a text.
    pub(super) const fn of(text: &str) -> Set {
        let mut bits = 0;
        let mut rest = text.as_bytes();
        while let [first, more @ ..] = rest {
            if *first < 128 {
                bits |= 1 << *first;
            }
            rest = more;
        }
        Set(bits)
    }

    /// The bytes between these two, and they themselves.
    pub(super) const fn range(first: u8, last: u8) -> Set {
        let mut bits = 0;
        let mut byte = first;
        while byte <= last && byte < 128 {
            bits |= 1 << byte;
            byte += 1;
        }
        Set(bits)
    }

    /// The bytes of both.
    pub(super) const fn or(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// The members of this set that are not in the other one.
    pub(super) const fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    /// Whether a byte is in it.
    pub(super) const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// The ASCII bytes of which there are some, and of large letters the small ones too.
    pub(super) fn of_either_case([low, high, ..]: [u64; 4]) -> Set {
        let large = high & 0x07FF_FFFE;
        Set(u128::from(low) | u128::from(high | large << 32) << 64)
    }

    /// Whether all bytes of another set are in it.
    pub(super) fn has_all(self, other: Set) -> bool {
        other.0 & !self.0 == 0
    }

    /// A number below 64 that is the same for equal sets.
    pub(super) fn hash(self) -> usize {
        let both = (self.0 ^ (self.0 >> 64)) & u128::from(u64::MAX);
        let mixed = both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        usize::try_from(mixed & 63).unwrap_or_default()
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> impl Iterator<Item = u8> {
        (0..128).filter(move |byte| self.has(*byte))
    }

    /// Returns the set of a letter in a pattern.
    pub(super) fn named(name: char) -> Option<Set> {
        Some(match name {
            'd' => DIGIT,
            'l' => LOWER,
            'u' => UPPER,
            'h' => DIGIT.or(Set::range(b'a', b'f')),
            'H' => DIGIT.or(Set::range(b'a', b'f')).or(Set::range(b'A', b'F')),
            'a' => ALNUM,
            'n' => DIGIT.or(LOWER),
            'N' => DIGIT.or(UPPER),
            '2' => UPPER.or(Set::range(b'2', b'7')),
            '5' => ALNUM.without(Set::of("0OIl")),
            '4' => Set::of("AEIMQUYcgk"),
            'w' => ALNUM.or(Set::of("_")),
            'b' => ALNUM.or(Set::of("-_")),
            'E' => ALNUM.or(Set::of("-_=")),
            'B' => ALNUM.or(Set::of("+/")),
            'e' => ALNUM.or(Set::of("+/=")),
            'x' => ALNUM.or(Set::of("-_.")),
            'o' => ALNUM.or(Set::of("-_.=")),
            't' => ALNUM.or(Set::of("-_.~+/=")),
            'y' => ALNUM.or(Set::of("-_.~+/=%")),
            'p' => PRINTABLE.without(Set::of("\"'`\\<>[],;")),
            'P' => PRINTABLE.without(Set::of("\"'`\\<>[],;$%{")),
            'q' => ALNUM.or(Set::of("-_.~")),
            's' => PRINTABLE.without(Set::of("'\\")).or(Set::of(" ")),
            '_' => BLANK,
            'S' => BLANK.or(Set::of("\r\n")),
            'c' => PRINTABLE.without(Set::of("\"'`\\<>[]")).or(Set::of(" ")),
            _ => return None,
        })
    }
}

pub(super) const DIGIT: Set = Set::range(b'0', b'9');
pub(super) const LOWER: Set = Set::range(b'a', b'z');
pub(super) const UPPER: Set = Set::range(b'A', b'Z');
pub(super) const ALNUM: Set = DIGIT.or(LOWER).or(UPPER);
pub(super) const PRINTABLE: Set = Set::range(b'!', b'~');
/// Letters of the names of programs and files.
pub(super) const NAME: Set = ALNUM.or(Set::of("_.-"));
pub(super) const BLANK: Set = Set::of(" \t");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_their_letters_say() {
        let text =
            |name: char| -> String { Set::named(name).unwrap().bytes().map(char::from).collect() };
        assert_eq!(text('h'), "0123456789abcdef");
        assert_eq!(text('2'), "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        assert_eq!(text('5').len(), 58);
        assert!(!ALNUM.has(0xC3) && !text('p').contains(['[', '"', '\\']));
        assert_eq!(Set::named('?'), None);
    }
}
