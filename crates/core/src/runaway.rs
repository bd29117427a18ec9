//! A thought that goes round in circles: the same text again and again, of whatever length.
//!
//! [`Circles`] reads a text as it comes, in a time that grows with the text and in a memory that does not, and says the
//! same of it however it is cut. What it says is exact: each letter is compared with the one a period before it.

/// So much text is remembered: the longest circle that is found.
const LONGEST: usize = 8 * 1024;
/// So many bytes that stood somewhere before make a suspicion.
const WINDOW: usize = 32;
/// A text goes round in circles once it has said the same so often, and for so many bytes: tables, rulers and lists of
/// equal lines are shorter.
const TIMES: u64 = 5;
const BYTES: u64 = 4 * 1024;
/// Places where a window stood are kept by its hash.
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

/// What is done about a thought that says the same again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runaway {
    /// Nothing.
    Off,
    /// It is told.
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
    /// How many bytes it says again.
    pub period: u64,
    /// For how many bytes it did so when it was noticed.
    pub length: u64,
}

/// Looks for circles in one text.
#[derive(Clone, Debug, Default)]
pub struct Circles {
    /// The last bytes, each at its place modulo their number; empty until there are any.
    text: Vec<u8>,
    /// Where a window with this hash stood last, counted from 1.
    places: Vec<u64>,
    /// How many bytes came.
    came: u64,
    hash: u64,
    /// The period that is suspected, 0 for none, and for how many bytes it held.
    period: u64,
    held: u64,
    found: Option<Circle>,
}

impl Circles {
    /// Takes more of the text; gives the circle when it is noticed, once.
    pub fn push(&mut self, delta: &str) -> Option<Circle> {
        if self.found.is_some() || delta.is_empty() {
            return None;
        }
        if self.text.is_empty() {
            (self.text, self.places) = (vec![0; LONGEST], vec![0; PLACES]);
        }
        for byte in delta.bytes() {
            self.take(byte);
            let least = BYTES.max(TIMES.saturating_mul(self.period));
            if self.period > 0 && self.held >= least {
                self.found = Some(Circle { period: self.period, length: self.held });
                (self.text, self.places) = Default::default();
                return self.found;
            }
        }
        None
    }

    fn take(&mut self, byte: u8) {
        if self.period > 0 && self.before(self.period) == Some(byte) {
            self.held += 1;
        } else {
            (self.period, self.held) = (0, 0);
        }
        let gone = self.before(WINDOW as u64).unwrap_or_default();
        let window = self.hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1);
        // What was never there was never counted.
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

    /// The last window may have stood so many bytes before.
    fn suspect(&mut self, period: u64) {
        let is_same = |back: u64| self.before(back) == self.before(back + period);
        if (1..=WINDOW as u64).all(is_same) {
            (self.period, self.held) = (period, WINDOW as u64);
        }
    }

    /// The byte so many before the next one.
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

    /// Words that nobody says twice.
    fn plain(words: usize) -> String {
        (0..words).map(|at| format!("word {} and {}. ", at * 7919, at ^ 0x5A5A)).collect()
    }

    #[test]
    fn circles_of_any_length_are_found_behind_any_text() {
        for period in [1, 2, 31, 33, 100, 1_000, 5_000] {
            let said: String = plain(period).chars().take(period).collect();
            let text = plain(500) + &said.repeat(10 + 6_000 / period);
            let found = circle(&text).unwrap_or_else(|| panic!("a period of {period}"));
            assert_eq!(found.period, period as u64);
            assert!(found.length >= BYTES && found.length >= TIMES * found.period);
        }
    }

    #[test]
    fn what_is_not_said_often_enough_is_none() {
        assert_eq!(circle(&plain(20_000)), None);
        assert_eq!(circle(&(plain(100) + &"-".repeat(4_000))), None);
        let page = plain(100);
        assert_eq!(circle(&page.repeat(4)), None);
        // One letter that differs each time makes it no circle.
        let counted: String =
            (0..2_000).map(|at| format!("wait, let me try again: {at}\n")).collect();
        assert_eq!(circle(&counted), None);
    }

    #[test]
    fn it_is_said_once_and_nothing_is_kept_for_it_then() {
        let mut circles = Circles::default();
        assert!(circles.push(&"again and ".repeat(1_000)).is_some());
        assert_eq!(circles.push(&"again and ".repeat(1_000)), None);
        assert!(circles.text.is_empty() && circles.places.is_empty());
    }

    proptest! {
        #[test]
        fn however_a_text_is_cut_the_same_is_said_of_it(
            head in "[a-c ä]{0,200}",
            said in "[a-c ]{1,40}",
            cuts in prop::collection::vec(1..700_usize, 1..40),
        ) {
            let text = head + &said.repeat(5_000 / said.len());
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
