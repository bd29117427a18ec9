//! The part of a text that is there so far.

use super::set::Set;
use std::cell::Cell;

/// More of the text is needed to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct More;

/// A text, or its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    is_whole: bool,
    runs: Option<&'t Runs>,
}

/// The number of remembered sets: as many as [`Set::hash`] distinguishes.
const RUNS: usize = 64;

/// For some sets the last run of their bytes that was seen, so that many secrets that could begin inside of one run
/// do not each look at all of it.
#[derive(Debug)]
pub(super) struct Runs([Cell<Seen>; RUNS]);

/// All bytes between these places are in the set.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    set: Option<Set>,
    from: usize,
    to: usize,
}

impl<'t> Text<'t> {
    /// A complete text.
    pub(super) fn whole(bytes: &'t [u8]) -> Self {
        Text { bytes, is_whole: true, runs: None }
    }

    /// The beginning of a text.
    pub(super) fn begun(bytes: &'t [u8]) -> Self {
        Text { bytes, is_whole: false, runs: None }
    }

    /// The same text, with runs that are remembered for it.
    pub(super) fn remembering(self, runs: &'t Runs) -> Self {
        Text { runs: Some(runs), ..self }
    }

    /// Returns the bytes that have arrived.
    pub(super) fn bytes(self) -> &'t [u8] {
        self.bytes
    }

    /// How much is there.
    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }

    /// Whether the text is complete.
    pub(super) fn is_whole(self) -> bool {
        self.is_whole
    }

    /// The byte at a place; `None` behind the end.
    pub(super) fn byte(self, at: usize) -> Result<Option<u8>, More> {
        match self.bytes.get(at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.is_whole => Ok(None),
            None => Err(More),
        }
    }

    /// The byte before a place.
    pub(super) fn before(self, at: usize, back: usize) -> Option<u8> {
        at.checked_sub(back).and_then(|at| self.bytes.get(at)).copied()
    }

    /// Bytes that are there.
    pub(super) fn part(self, from: usize, to: usize) -> &'t [u8] {
        self.bytes.get(from..to.min(self.bytes.len())).unwrap_or_default()
    }

    /// Whether the text goes on like this.
    pub(super) fn continues(self, at: usize, with: &[u8], caseless: bool) -> Result<bool, More> {
        let there = self.part(at, at + with.len());
        let begun = with.get(..there.len()).unwrap_or_default();
        let same = if caseless { there.eq_ignore_ascii_case(begun) } else { there == begun };
        match same {
            true if there.len() == with.len() => Ok(true),
            true if !self.is_whole => Err(More),
            _ => Ok(false),
        }
    }

    /// How many bytes from here are in a set, at most `most`.
    pub(super) fn run(self, at: usize, set: Set, most: usize) -> Result<usize, More> {
        let there = self.part(at, at.saturating_add(most));
        let known = self.runs.map_or(0, |runs| runs.known(at, set)).min(there.len());
        let rest = there.get(known..).unwrap_or_default();
        let length = known + rest.iter().take_while(|byte| set.has(**byte)).count();
        if let Some(runs) = self.runs
            && length > known
        {
            runs.remember(at, set, length);
        }
        if length == there.len() && length < most && !self.is_whole {
            return Err(More);
        }
        Ok(length)
    }
}

impl Runs {
    /// No runs are known yet.
    pub(super) fn new() -> Self {
        Runs(std::array::from_fn(|_| Cell::default()))
    }

    /// How many bytes from here are known to be in a set.
    fn known(&self, at: usize, set: Set) -> usize {
        let seen = self.place(set).map(Cell::get).unwrap_or_default();
        let is_inside = seen.set == Some(set) && seen.from <= at && at < seen.to;
        if is_inside { seen.to - at } else { 0 }
    }

    fn remember(&self, at: usize, set: Set, length: usize) {
        let Some(place) = self.place(set) else { return };
        let seen = place.get();
        let goes_on = seen.set == Some(set) && seen.from <= at && at <= seen.to;
        let from = if goes_on { seen.from } else { at };
        place.set(Seen { set: Some(set), from, to: at + length });
    }

    fn place(&self, set: Set) -> Option<&Cell<Seen>> {
        self.0.get(set.hash())
    }
}
