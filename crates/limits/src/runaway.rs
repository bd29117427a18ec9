//! Detects a thought that goes round in circles: it repeats the same text, of any length.
//!
//! [`Circles`] reads a text as it comes, in linear time and bounded memory, and its result does not depend on the
//! cuts. The result is exact: each letter is compared with the letter one period before it. A text with words whose
//! repetitions differ only in numbers ("attempt 17: ...", "attempt 18: ...") is a circle too; a table of numbers is
//! not.

/// The size of the text memory: the longest circle that is found.
const LONGEST: usize = 8 * 1024;
/// The number of repeated bytes that make a suspicion.
const WINDOW: usize = 32;
/// A text goes round in circles after so many repetitions with so many bytes: rulers and lists of equal lines are
/// shorter.
const TIMES: u64 = 5;
const BYTES: u64 = 4 * 1024;
/// The number of bytes for a text without letters: a table of zeros, or a drawing.
const WORDLESS: u64 = 16 * 1024;
/// The number of letters and numbers if numbers differ, with at least so many letters in each repetition: long lists,
/// tests and tables in code count, too.
const COUNTED: u64 = 32 * 1024;
const LETTERS: usize = 8;
/// Replaces each number, so that all numbers are equal. No text has such a byte.
const NUMBER: u8 = 0xFF;
/// The number of window hashes whose positions are stored.
const PLACES: usize = 8 * 1024;
/// The base of the rolling hash, and the base to the power of the window's length.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
const OUT: u64 = {
    let (mut power, mut at) = (1_u64, 0);
    while at < WINDOW {
        power = power.wrapping_mul(BASE);
        at += 1;
    }
    power
};

/// The reaction to a thought that repeats itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runaway {
    /// No reaction.
    Off,
    /// The user gets a warning.
    #[default]
    Warn,
    /// The answer is cut there.
    Cut,
}

impl Runaway {
    /// The word in configurations.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "cut" => Some(Self::Cut),
            _ => None,
        }
    }
}

/// A text says the same again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle {
    /// How many bytes it says again; a number counts as one where numbers differ.
    pub period: u64,
    /// For how many bytes it did so when it was noticed, counted alike.
    pub length: u64,
}

/// Looks for circles in one text.
#[derive(Clone, Debug, Default)]
pub struct Circles {
    exact: Search,
    /// The same with all numbers alike.
    counted: Search,
    /// The last byte was a digit.
    is_in_number: bool,
    is_found: bool,
}

impl Circles {
    /// Takes more of the text; gives the circle when it is noticed, once.
    pub fn push(&mut self, delta: &str) -> Option<Circle> {
        if self.is_found || delta.is_empty() {
            return None;
        }
        for byte in delta.bytes() {
            let exact = self.exact.push(byte, Search::exact);
            let goes_on = self.is_in_number && byte.is_ascii_digit();
            self.is_in_number = byte.is_ascii_digit();
            let byte = if self.is_in_number { NUMBER } else { byte };
            let counted = || self.counted.push(byte, Search::counted);
            let found = if goes_on { exact } else { exact.or_else(counted) };
            if found.is_some() {
                *self = Circles { is_found: true, ..Circles::default() };
                return found;
            }
        }
        None
    }
}

/// Looks for one circle.
#[derive(Clone, Debug, Default)]
struct Search {
    /// The last bytes, each at its place modulo their number; empty until there are any.
    text: Vec<u8>,
    /// The last position of the window with this hash, counted from 1.
    places: Vec<u64>,
    /// The number of bytes so far.
    came: u64,
    hash: u64,
    /// The suspected period, or 0, and the number of bytes for which it held.
    period: u64,
    held: u64,
    /// The number of bytes for which it has to hold; computed from the text once a circle is likely.
    least: Option<u64>,
}

impl Search {
    /// Takes a byte. Returns a circle that has at least the length `least`.
    fn push(&mut self, byte: u8, least: fn(&Self) -> u64) -> Option<Circle> {
        if self.text.is_empty() {
            (self.text, self.places) = (vec![0; LONGEST], vec![0; PLACES]);
        }
        self.take(byte);
        // The second repetition counts as one period.
        let is_likely = self.held >= BYTES.max((TIMES - 1).saturating_mul(self.period));
        if self.period == 0 || !is_likely {
            return None;
        }
        let long_enough = self.least.unwrap_or_else(|| least(self));
        self.least = Some(long_enough);
        let circle = Circle { period: self.period, length: self.held };
        (self.held >= long_enough).then_some(circle)
    }

    /// The required length of an exact repetition.
    fn exact(&self) -> u64 {
        if self.letters() > 0 { BYTES } else { WORDLESS }
    }

    /// The required length if numbers may differ.
    fn counted(&self) -> u64 {
        let has_number = self.last_period().any(|byte| byte == NUMBER);
        if has_number && self.letters() >= LETTERS { COUNTED } else { u64::MAX }
    }

    /// The number of letters in one period; for letters beyond ASCII every byte counts.
    fn letters(&self) -> usize {
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || (0x80..NUMBER).contains(byte);
        self.last_period().filter(is_letter).count()
    }

    fn last_period(&self) -> impl Iterator<Item = u8> {
        (1..=self.period).filter_map(|back| self.before(back))
    }

    fn take(&mut self, byte: u8) {
        if self.period > 0 && self.before(self.period) == Some(byte) {
            self.held += 1;
        } else {
            (self.period, self.held, self.least) = (0, 0, None);
        }
        let gone = self.before(WINDOW as u64).unwrap_or_default();
        let window = self.hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1);
        // Bytes before the beginning were never added to the hash.
        let has_gone = self.came >= WINDOW as u64;
        let out = if has_gone { OUT.wrapping_mul(u64::from(gone) + 1) } else { 0 };
        self.hash = window.wrapping_sub(out);
        let at = place(self.came, LONGEST);
        if let Some(slot) = self.text.get_mut(at) {
            *slot = byte;
        }
        self.came += 1;
        if self.came < WINDOW as u64 {
            return;
        }
        let slot = place(self.hash >> 32 ^ self.hash, PLACES);
        let Some(last) = self.places.get_mut(slot) else { return };
        let before = std::mem::replace(last, self.came);
        let period = self.came - before;
        if self.period == 0 && before > 0 && period < (LONGEST - WINDOW) as u64 {
            self.suspect(period);
        }
    }

    /// Suspects a period, if the last window also occurred that many bytes before.
    fn suspect(&mut self, period: u64) {
        let is_same = |back: u64| self.before(back) == self.before(back + period);
        if (1..=WINDOW as u64).all(is_same) {
            (self.period, self.held) = (period, WINDOW as u64);
        }
    }

    /// Returns the byte at a distance before the next one.
    fn before(&self, back: u64) -> Option<u8> {
        let at = self.came.checked_sub(back)?;
        self.text.get(place(at, LONGEST)).copied()
    }
}

/// The place of a number in a table of this size.
fn place(number: u64, size: usize) -> usize {
    usize::try_from(number % size as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn circle(text: &str) -> Option<Circle> {
        Circles::default().push(text)
    }

    /// Words without a repetition.
    fn plain(words: usize) -> String {
        (0..words).map(|at| format!("word {} and {}. ", named(at * 7919), at ^ 0x5A5A)).collect()
    }

    #[test]
    fn circles_of_any_length_are_found_behind_any_text() {
        for period in [1, 2, 31, 33, 100, 1_000, 5_000] {
            let said: String = plain(period).chars().take(period).collect();
            let text = plain(500) + &said.repeat(10 + 6_000 / period);
            let found = circle(&text).unwrap_or_else(|| panic!("a period of {period}"));
            assert_eq!(found.period, period as u64);
            assert!(found.length >= BYTES && found.length >= (TIMES - 1) * found.period);
        }
    }

    #[test]
    fn what_is_not_said_often_enough_is_none() {
        assert_eq!(circle(&plain(20_000)), None);
        assert_eq!(circle(&(plain(20) + &"-".repeat(16_000))), None);
        let page: String = (0..90).map(|at| format!("{} of the page. ", named(at))).collect();
        assert_eq!(circle(&page.repeat(4)), None);
        let found = circle(&page.repeat(5)).unwrap();
        assert!(found.length <= 4 * page.len() as u64 && found.period == page.len() as u64);
    }

    /// A word for a number.
    fn named(at: usize) -> String {
        at.to_string().bytes().map(|digit| char::from(digit - b'0' + b'k')).collect()
    }

    #[test]
    fn a_circle_may_count() {
        let counted = |line: fn(usize) -> String| (0..3_000).map(line).collect::<String>();
        let found = circle(&counted(|at| format!("wait, let me try again: {at}\n"))).unwrap();
        assert_eq!((found.period, found.length), (26, COUNTED));
        // A text with one word that differs each time is not a circle, and neither is a table of numbers.
        let worded = (0..3_000).map(|at| format!("let me try {} again\n", named(at)));
        assert_eq!(circle(&worded.collect::<String>()), None);
        assert_eq!(circle(&counted(|at| format!("| {at} | {} | ok |\n", at * 7919))), None);
        assert_eq!(circle(&counted(|at| format!("{at}, "))), None);
    }

    #[test]
    fn what_has_no_words_goes_on_for_longer() {
        for zeros in ["0", "0, ", "| 0 | 0 |\n", "="] {
            let found = circle(&zeros.repeat(20_000)).unwrap();
            assert_eq!((found.period, found.length), (zeros.len() as u64, WORDLESS), "{zeros}");
        }
    }

    #[test]
    fn it_is_said_once_and_nothing_is_kept_for_it_then() {
        let mut circles = Circles::default();
        assert!(circles.push(&"again and ".repeat(1_000)).is_some());
        assert_eq!(circles.push(&"again and ".repeat(1_000)), None);
        assert!(circles.exact.text.is_empty() && circles.counted.places.is_empty());
    }

    proptest! {
        #[test]
        fn however_a_text_is_cut_the_same_is_said_of_it(
            head in "[a-c ä]{0,200}",
            said in "[a-c ]{1,40}",
            cuts in prop::collection::vec(1..700_usize, 1..40),
        ) {
            let text = head + &said.repeat(20_000 / said.len());
            let mut circles = Circles::default();
            let (mut found, mut rest, mut cuts) = (None, text.as_str(), cuts.iter().cycle());
            while !rest.is_empty() {
                let most = *cuts.next().unwrap();
                let at = (0..=most.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at));
                let (piece, more) = rest.split_at(at.filter(|at| *at > 0).unwrap_or(rest.len()));
                found = found.or(circles.push(piece));
                rest = more;
            }
            prop_assert_eq!(found, circle(&text));
            prop_assert!(found.is_some());
        }
    }
}
