//! The transcript as a roll of rows. Only the visible rows and their neighbours are laid out.
//!
//! A place on the roll is an entry, a part of it and a row. It is not a number of rows from the top, because that
//! would need the height of everything above.

use std::collections::VecDeque;
use std::ops::Range;

use super::fold::{Fold, fold};
use super::heights::Heights;
use super::laid::{Laid, Part, Parts, text};
use super::model::{Body, EntryId, View};
use super::rows::Rows;

/// How many segments keep their rows: enough for many screens, but few compared to a long conversation.
const KEPT: usize = 1024;

/// The position at the top of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) entry: usize,
    pub(super) part: Part,
    pub(super) row: usize,
}

/// Rows of one part that are in sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) entry: usize,
    pub(super) part: Part,
    pub(super) rows: Range<usize>,
}

/// The layout that is cached between frames.
#[derive(Debug, Default)]
pub(super) struct Roll {
    laid: Vec<Laid>,
    heights: Heights,
    key: Key,
    /// Segments with rows, the oldest first.
    kept: VecDeque<(usize, usize)>,
}

/// The inputs of the cached layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Key {
    generation: u64,
    width: usize,
    display: Option<thinkthrough_core::settings::Display>,
    shows_thoughts: bool,
}

impl Roll {
    /// Prepares a frame of this width. Later calls must pass the same view.
    pub(super) fn sync(&mut self, view: &View, width: usize) {
        let key = Key {
            generation: view.transcript.generation(),
            width,
            display: Some(view.display),
            shows_thoughts: view.shows_thoughts,
        };
        if key.generation != self.key.generation {
            self.laid.clear();
            self.kept.clear();
        }
        if key != self.key {
            self.key = key;
            self.heights.clear();
        }
        self.laid.resize_with(view.transcript.len(), Laid::default);
        for at in self.heights.len()..view.transcript.len() {
            let body = view.transcript.get(EntryId(at));
            self.heights.push(body.map_or(0, |body| guess(view, body, width)));
        }
    }

    /// The rows in sight from a place on, at most `height` of them.
    pub(super) fn slices(&mut self, view: &View, top: Place, height: usize) -> Vec<Slice> {
        let (mut slices, mut left, mut place) = (Vec::new(), height, Some(top));
        while let Some(at) = place.filter(|_| left > 0) {
            let end = self.height(view, at.entry, at.part);
            let rows = at.row.min(end)..end.min(at.row.saturating_add(left));
            left -= rows.len();
            if !rows.is_empty() {
                slices.push(Slice { entry: at.entry, part: at.part, rows });
            }
            place = self.next(view, at);
        }
        slices
    }

    /// The place behind the last row, if there is any.
    pub(super) fn end(&mut self, view: &View) -> Option<Place> {
        let past = Place { entry: view.transcript.len(), part: Part::Gap, row: 0 };
        self.previous(view, past)
    }

    /// The first row of the first entry that is shown.
    pub(super) fn start(&mut self, view: &View) -> Option<Place> {
        (0..view.transcript.len()).find_map(|entry| self.first_of(view, entry))
    }

    /// The first row of an entry, or of the next visible entry.
    pub(super) fn at_entry(&mut self, view: &View, entry: usize) -> Option<Place> {
        (entry..view.transcript.len()).find_map(|entry| self.first_of(view, entry))
    }

    /// The place this number of rows above, and the number of rows that were missing.
    pub(super) fn up(&mut self, view: &View, mut place: Place, mut rows: usize) -> (Place, usize) {
        while place.row < rows {
            rows -= place.row;
            place.row = 0;
            match self.previous(view, place) {
                Some(above) => place = above,
                None => return (place, rows),
            }
        }
        place.row -= rows;
        (place, 0)
    }

    /// The place this number of rows below, which may be after the last row.
    pub(super) fn down(&mut self, view: &View, mut place: Place, mut rows: usize) -> Place {
        loop {
            let left = self.height(view, place.entry, place.part).saturating_sub(place.row);
            if rows < left {
                place.row += rows;
                return place;
            }
            rows -= left;
            match self.next(view, place) {
                Some(below) => place = below,
                None => {
                    place.row += left;
                    return place;
                }
            }
        }
    }

    /// The same place after a change, or the nearest place that still exists.
    pub(super) fn settle(&mut self, view: &View, place: Place) -> Option<Place> {
        let parts = self.parts(view, place.entry);
        let Some(part) = parts.from(place.part).or(parts.last()) else {
            return self.at_entry(view, place.entry).or_else(|| self.end(view));
        };
        let last = self.height(view, place.entry, part).saturating_sub(1);
        let row = if part == place.part { place.row.min(last) } else { 0 };
        Some(Place { entry: place.entry, part, row })
    }

    /// The number of all rows, and of the rows above a place. Rows that were never on the screen are estimated.
    pub(super) fn extent(&self, place: Place) -> (usize, usize) {
        let inside = match (self.laid.get(place.entry), place.part) {
            (Some(laid), Part::Segment(at)) => laid.guess_before(at) + place.row,
            _ => place.row,
        };
        (self.heights.sum(self.heights.len()), self.heights.sum(place.entry) + inside)
    }

    /// The rows of a segment.
    pub(super) fn rows(&mut self, view: &View, entry: usize, at: usize) -> Option<&Rows> {
        let width = self.key.width;
        let body = view.transcript.get(EntryId(entry))?;
        if !self.laid.get(entry)?.keeps(at, width) {
            self.keep(entry, at);
        }
        self.laid.get_mut(entry)?.rows(body, at, width)
    }

    /// The segments that the newest rows of an entry come from.
    pub(super) fn newest(
        &mut self,
        view: &View,
        entry: usize,
        rows: usize,
    ) -> Vec<(usize, Range<usize>)> {
        let body = view.transcript.get(EntryId(entry));
        let newest = body.zip(self.laid.get_mut(entry));
        newest.map(|(body, laid)| laid.newest(body, rows, self.key.width)).unwrap_or_default()
    }

    /// How many segments were laid out, up to as many as are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }

    fn keep(&mut self, entry: usize, at: usize) {
        if self.kept.back() != Some(&(entry, at)) {
            self.kept.push_back((entry, at));
        }
        while self.kept.len() > KEPT {
            let Some((entry, at)) = self.kept.pop_front() else { break };
            self.laid.get_mut(entry).into_iter().for_each(|laid| laid.forget(at));
        }
    }

    fn first_of(&mut self, view: &View, entry: usize) -> Option<Place> {
        let part = self.parts(view, entry).first()?;
        Some(Place { entry, part, row: 0 })
    }

    fn next(&mut self, view: &View, place: Place) -> Option<Place> {
        match self.parts(view, place.entry).after(place.part) {
            Some(part) => Some(Place { part, row: 0, ..place }),
            None => self.at_entry(view, place.entry + 1),
        }
    }

    /// The place after the last row of the part above.
    fn previous(&mut self, view: &View, place: Place) -> Option<Place> {
        let above = self.parts(view, place.entry).before(place.part);
        let above = above.map(|part| (place.entry, part));
        let (entry, part) = above.or_else(|| {
            (0..place.entry).rev().find_map(|at| Some((at, self.parts(view, at).last()?)))
        })?;
        let row = self.height(view, entry, part);
        Some(Place { entry, part, row })
    }

    /// The parts of an entry as it is now.
    fn parts(&mut self, view: &View, entry: usize) -> Parts {
        let (Some(body), Some(laid)) =
            (view.transcript.get(EntryId(entry)), self.laid.get_mut(entry))
        else {
            return Parts::default();
        };
        laid.sync(view, entry);
        let mut parts = laid.parts(view, body);
        if !parts.is_empty() && wants_gap(view, entry, body) {
            parts.add_gap();
        }
        self.heights.set(entry, laid.guess(&parts));
        parts
    }

    fn height(&mut self, view: &View, entry: usize, part: Part) -> usize {
        let width = self.key.width;
        let (Some(body), Some(laid)) =
            (view.transcript.get(EntryId(entry)), self.laid.get_mut(entry))
        else {
            return 0;
        };
        match part {
            Part::Gap | Part::Head | Part::Result => 1,
            Part::Newest(rows) => {
                laid.newest(body, rows, width).iter().map(|(_, range)| range.len()).sum()
            }
            Part::Segment(at) => laid.height(body, at, width),
        }
    }
}

/// Each entry but the first has an empty row above it. Successive tool calls have none between them.
fn wants_gap(view: &View, entry: usize, body: &Body) -> bool {
    let above = (0..entry).rev().filter_map(|at| view.transcript.get(EntryId(at)));
    let above = above.into_iter().find(|body| fold(view, body) != Fold::Hidden);
    above.is_some_and(|above| !matches!((above, body), (Body::Tool(_), Body::Tool(_))))
}

/// The estimated height of an entry that was never laid out.
fn guess(view: &View, body: &Body, width: usize) -> usize {
    match fold(view, body) {
        Fold::Full => text(body).len() / width.max(1) + 2,
        Fold::Head => 2,
        Fold::Hidden => 0,
        Fold::Newest(rows) => rows + 2,
    }
}
