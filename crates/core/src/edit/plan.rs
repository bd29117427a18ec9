//! The list of edits over one input.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Edits over one input, in order and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    edits: Vec<Edit>,
    /// The length of the input that this is a plan for.
    len: usize,
}

/// Edits that are being collected, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    edits: Vec<Edit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    text: Vec<u8>,
}

/// A run of bytes of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// These bytes of the input, as they are.
    Input(Range<usize>),
    /// New bytes.
    New(&'a [u8]),
}

/// Two edits want the same bytes, or one wants bytes that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The byte offset in the input.
    pub at: usize,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two edits want the byte {} of the input", self.at)
    }
}

impl std::error::Error for Overlap {}

impl Draft {
    /// No edits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` in the place of `range`. An empty text in place of an empty range is no edit.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<Vec<u8>>) {
        let text = text.into();
        if !range.is_empty() || !text.is_empty() {
            self.edits.push(Edit { range, text });
        }
    }

    /// Puts `text` before the byte `at`. Several texts for one place keep their order.
    pub fn insert(&mut self, at: usize, text: impl Into<Vec<u8>>) {
        self.replace(at..at, text);
    }

    /// Leaves out `range`.
    pub fn delete(&mut self, range: Range<usize>) {
        self.replace(range, Vec::new());
    }

    /// The plan for an input of `len` bytes.
    ///
    /// # Errors
    /// When edits overlap or reach beyond the input. An insertion at either end of another edit is no overlap.
    pub fn finish(mut self, len: usize) -> Result<Plan, Overlap> {
        // The sort is stable: insertions at one place keep their order, and go before the replacement there.
        self.edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut end = 0;
        for edit in &self.edits {
            if edit.range.start < end || edit.range.start > edit.range.end {
                return Err(Overlap { at: edit.range.start });
            }
            end = edit.range.end;
        }
        if end > len { Err(Overlap { at: len }) } else { Ok(Plan { edits: self.edits, len }) }
    }
}

impl Plan {
    /// Whether there are no edits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The number of edits.
    #[must_use]
    pub fn edits(&self) -> usize {
        self.edits.len()
    }

    /// The number of bytes of the output.
    #[must_use]
    pub fn output_len(&self) -> usize {
        let (out, gone) = self
            .edits
            .iter()
            .fold((0, 0), |(out, gone), edit| (out + edit.text.len(), gone + edit.range.len()));
        self.len.saturating_sub(gone) + out
    }

    /// The output as non-empty runs of bytes: at most two for each edit, and one more.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'_>> {
        let starts = self.edits.iter().map(|edit| edit.range.start).chain([self.len]);
        let ends = [0].into_iter().chain(self.edits.iter().map(|edit| edit.range.end));
        let texts = self.edits.iter().map(|edit| edit.text.as_slice()).chain([&[][..]]);
        let gaps = ends.zip(starts).map(|(start, end)| start..end);
        gaps.zip(texts).flat_map(|(gap, text)| [Segment::Input(gap), Segment::New(text)]).filter(
            |segment| match segment {
                Segment::Input(range) => !range.is_empty(),
                Segment::New(text) => !text.is_empty(),
            },
        )
    }

    /// The output as slices of the input and of the plan. The input must be the one of this plan; missing bytes of a
    /// shorter input are left out.
    pub fn slices<'a>(&'a self, input: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.segments().map(|segment| match segment {
            Segment::Input(range) => input.get(range).unwrap_or_default(),
            Segment::New(text) => text,
        })
    }

    /// The output in one piece: borrows the input if there are no edits.
    #[must_use]
    pub fn apply<'i>(&self, input: &'i [u8]) -> Cow<'i, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(input);
        }
        let mut out = Vec::with_capacity(self.output_len());
        self.slices(input).for_each(|slice| out.extend_from_slice(slice));
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_empty_plan_is_the_very_input() {
        let input = b"as it was";
        let plan = Draft::new().finish(input.len()).unwrap();
        assert!(matches!(plan.apply(input), Cow::Borrowed(same) if std::ptr::eq(same, input)));
        assert_eq!(plan.segments().collect::<Vec<_>>(), [Segment::Input(0..input.len())]);
    }

    #[test]
    fn edits_may_touch_but_not_overlap() {
        let mut draft = Draft::new();
        draft.delete(3..5);
        draft.insert(3, "b");
        draft.insert(5, "c");
        draft.insert(3, "B");
        draft.replace(5..6, "d");
        let plan = draft.finish(8).unwrap();
        assert_eq!(plan.apply(b"01234567").as_ref(), b"012bBcd67");
        assert_eq!(plan.output_len(), 9);
        for (one, two) in [(2..5, 4..6), (2..5, 3..3), (1..2, 7..9)] {
            let mut draft = Draft::new();
            draft.replace(one, "x");
            draft.replace(two, "y");
            assert!(draft.finish(8).is_err());
        }
    }

    /// Alternating gaps and edits: (bytes kept, bytes replaced, new text).
    fn plans() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..6);
        prop::collection::vec((bytes(), bytes(), bytes()), 0..12)
    }

    proptest! {
        /// For any edits in any order, all other bytes equal the input.
        #[test]
        fn bytes_outside_the_edits_are_the_inputs_own(parts in plans(), seed in any::<u64>()) {
            let (mut input, mut expected, mut edits) = (Vec::new(), Vec::new(), Vec::new());
            for (kept, old, new) in &parts {
                // Two edits at one place would be one edit.
                let kept = if kept.is_empty() { &vec![b'.'] } else { kept };
                input.extend_from_slice(kept);
                expected.extend_from_slice(kept);
                edits.push((input.len()..input.len() + old.len(), new.clone()));
                input.extend_from_slice(old);
                expected.extend_from_slice(new);
            }
            let len = edits.len().max(1);
            edits.rotate_left(usize::try_from(seed % len as u64).unwrap());
            let mut draft = Draft::new();
            for (range, text) in edits {
                draft.replace(range, text);
            }
            let plan = draft.finish(input.len()).unwrap();
            let applied = plan.apply(&input);
            prop_assert_eq!(applied.as_ref(), expected.as_slice());
            prop_assert_eq!(plan.slices(&input).collect::<Vec<_>>().concat(), expected);
            prop_assert!(plan.segments().count() <= 2 * plan.edits() + 1);
            prop_assert_eq!(plan.output_len(), plan.apply(&input).len());
        }
    }
}
