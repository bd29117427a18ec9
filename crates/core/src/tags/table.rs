//! The markers that count in each place, ready to be searched for.

use super::family::{Begins, LoneClose, Role};
use super::leap::Keys;
use super::spec::TagSpec;
use memchr::{memchr, memchr2, memchr3, memmem};
use std::borrow::Cow;

/// A longer header does not count.
const MAX_HEADER: usize = 256;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tables {
    pub(super) start: Vec<Marker>,
    pub(super) text: Table,
    pub(super) thought: Table,
    pub(super) call: Table,
    pub(super) raw: Table,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) markers: Vec<Marker>,
    /// The bytes that the markers begin with; of a marker behind a line feed, the byte behind it.
    pub(super) firsts: Needles,
    /// Some markers begin with a line feed. It is looked for from behind: there is one in every line.
    pub(super) line_feeds: bool,
    /// Longer search keys, for markers whose first bytes are frequent.
    pub(super) keys: Keys,
    /// The bytes that come second, as bits.
    seconds: [u64; 4],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) text: Cow<'static, str>,
    until: &'static str,
    role: Role,
}

pub(super) enum Match {
    No,
    More,
    Full { len: usize, role: Role },
}

impl Tables {
    pub(super) fn new(spec: &TagSpec, thoughts: bool) -> Self {
        let family = spec.family;
        let mut all: Vec<(Marker, bool)> = family
            .markers
            .iter()
            .filter(|marker| thoughts || !takes_thoughts(marker.role))
            .map(|marker| {
                let text = Cow::Borrowed(marker.text);
                (Marker { text, until: marker.until, role: marker.role }, marker.at_start)
            })
            .collect();
        if let (Some((open, close)), true) = (&spec.custom, thoughts) {
            for (text, role) in [(open, Role::Open), (close, Role::Close)] {
                let text = Cow::Owned(text.clone());
                all.push((Marker { text, until: "", role }, false));
            }
        }
        let lone = family.lone_close != LoneClose::Text
            || family.begins == Begins::Unknown
            || family.markers.iter().any(|marker| marker.role == Role::Tool);
        let pick = |wanted: &dyn Fn(&Marker) -> bool| {
            Table::new(all.iter().filter(|(marker, start)| !start && wanted(marker)))
        };
        let has_raw_end = family.markers.iter().any(|marker| marker.role == Role::RawEnd);
        // A pair may be the same string twice.
        let closes = |text: &str| {
            all.iter().any(|(marker, _)| marker.role == Role::Close && marker.text == text)
        };
        Self {
            start: all
                .iter()
                .filter(|(_, start)| *start)
                .map(|(marker, _)| marker.clone())
                .collect(),
            text: pick(&|marker| match marker.role {
                Role::Open | Role::Answer | Role::Drop | Role::Raw | Role::Unwrap => true,
                Role::Close | Role::CloseAnswer => lone,
                Role::Tool | Role::ToolTells => true,
                Role::CallEnd | Role::RawEnd | Role::Stripped => false,
            }),
            thought: pick(&|marker| match marker.role {
                Role::Open => !closes(&marker.text),
                Role::Close | Role::CloseAnswer | Role::Answer | Role::Raw => true,
                Role::Tool | Role::ToolTells => true,
                Role::CallEnd | Role::Drop | Role::RawEnd => false,
                Role::Stripped | Role::Unwrap => false,
            }),
            // Only its end marker counts: such a span may contain any text.
            raw: pick(&|marker| match marker.role {
                Role::RawEnd => true,
                Role::Close | Role::CloseAnswer => !has_raw_end,
                Role::Answer | Role::CallEnd | Role::Drop | Role::Open | Role::Raw => false,
                Role::Stripped | Role::Tool | Role::ToolTells | Role::Unwrap => false,
            }),
            call: pick(&|marker| match marker.role {
                Role::CallEnd | Role::Close | Role::CloseAnswer => true,
                Role::Answer | Role::Drop | Role::Open | Role::Raw | Role::RawEnd => false,
                Role::Stripped | Role::Tool | Role::ToolTells | Role::Unwrap => false,
            }),
        }
    }

    /// Whether a marker begins with a code character.
    pub(super) fn clashes_with_code(&self) -> bool {
        [&self.text, &self.thought]
            .iter()
            .any(|table| table.firsts.bytes().iter().any(|byte| *byte == b'`' || *byte == b'~'))
    }
}

/// Whether a marker concerns thoughts, not only framing.
fn takes_thoughts(role: Role) -> bool {
    match role {
        Role::Open | Role::Close | Role::CloseAnswer | Role::Stripped => true,
        Role::CallEnd | Role::Tool | Role::ToolTells => true,
        Role::Answer | Role::Drop | Role::Raw | Role::RawEnd | Role::Unwrap => false,
    }
}

impl Table {
    fn new<'a>(markers: impl Iterator<Item = &'a (Marker, bool)>) -> Self {
        let markers: Vec<Marker> = markers.map(|(marker, _)| marker.clone()).collect();
        let mut firsts = Needles::NONE;
        let mut seconds = [0; 4];
        let behind_feed =
            |marker: &Marker| marker.text.strip_prefix('\n').is_some_and(|rest| rest.len() > 1);
        for marker in &markers {
            let skip = usize::from(behind_feed(marker));
            let mut bytes = marker.text.bytes().skip(skip);
            if let Some(byte) = bytes.next() {
                firsts.add(byte);
            }
            match bytes.next() {
                Some(byte) => {
                    if let Some(word) = seconds.get_mut(usize::from(byte >> 6)) {
                        *word |= 1 << (byte & 63);
                    }
                }
                // Any byte may follow a marker of one byte.
                None => seconds = [u64::MAX; 4],
            }
        }
        let line_feeds = markers.iter().any(behind_feed);
        let keys = Keys::new(&markers);
        Self { markers, firsts, line_feeds, keys, seconds }
    }

    /// The beginning of the marker around `hit`: at `hit`, or at the line feed before it.
    pub(super) fn with_line_feed(&self, buf: &[u8], from: usize, hit: usize, last: bool) -> usize {
        let before = hit.saturating_sub(1);
        if !self.line_feeds || hit <= from || !rest(buf, before).starts_with(b"\n") {
            return hit;
        }
        match longest(&self.markers, rest(buf, before), last) {
            Match::No => hit,
            Match::More | Match::Full { .. } => before,
        }
    }

    /// Whether a marker can begin like `hay`, judged by the second byte.
    pub(super) fn may_begin(&self, hay: &[u8]) -> bool {
        let Some(byte) = hay.get(1) else { return true };
        self.seconds.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }
}

/// The longest marker that `hay` begins with; `More` if a longer one may still come.
pub(super) fn longest(markers: &[Marker], hay: &[u8], last: bool) -> Match {
    let mut best = Match::No;
    let mut best_weight = 0;
    let mut waiting = 0;
    for marker in markers {
        // The longer marker counts, without the length of its header.
        let weight = marker.text.len() + usize::from(!marker.until.is_empty());
        match marker.at(hay, last) {
            Fit::No => {}
            Fit::Begun => waiting = waiting.max(weight),
            Fit::Full(len) if weight > best_weight => {
                best_weight = weight;
                best = Match::Full { len, role: marker.role };
            }
            Fit::Full(_) => {}
        }
    }
    if waiting > best_weight && !last && !hay.is_empty() { Match::More } else { best }
}

/// How far a marker fits.
enum Fit {
    No,
    /// It fits up to the end of the text.
    Begun,
    /// The whole marker fits, with this length.
    Full(usize),
}

impl Marker {
    /// How it fits the beginning of `hay`.
    fn at(&self, hay: &[u8], last: bool) -> Fit {
        let text = self.text.as_bytes();
        if !hay.starts_with(text) {
            // A message may end before the line feed that belongs to its last marker.
            return match hay.len() < text.len() && text.starts_with(hay) {
                true if last && text.strip_suffix(b"\n") == Some(hay) => Fit::Full(hay.len()),
                true => Fit::Begun,
                false => Fit::No,
            };
        }
        if self.until.is_empty() {
            return Fit::Full(text.len());
        }
        let header = rest(between(hay, 0, hay.len().min(MAX_HEADER)), text.len());
        let is_named = self.until == "\n";
        match memmem::find(header, self.until.as_bytes()) {
            Some(at) if !is_named || is_name(between(header, 0, at)) => {
                Fit::Full(text.len() + at + self.until.len())
            }
            None if hay.len() < MAX_HEADER
                && (!is_named || header.is_empty() || is_name(header)) =>
            {
                Fit::Begun
            }
            Some(_) | None => Fit::No,
        }
    }
}

/// Whether it is the name of a channel.
fn is_name(header: &[u8]) -> bool {
    !header.is_empty() && header.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
}

pub(super) fn starts_any(markers: &[Marker], hay: &[u8]) -> bool {
    markers.iter().any(|marker| hay.starts_with(marker.text.as_bytes()))
}

pub(super) fn rest(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

pub(super) fn between(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    bytes.get(from..to).unwrap_or_default()
}

/// A few bytes to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needles {
    bytes: [u8; 8],
    len: usize,
}

impl Needles {
    pub(super) const NONE: Self = Self { bytes: [0; 8], len: 0 };

    pub(super) fn bytes(&self) -> &[u8] {
        between(&self.bytes, 0, self.len)
    }

    pub(super) fn add(&mut self, byte: u8) {
        if self.bytes().contains(&byte) {
            return;
        }
        // No family's markers begin with more than four different bytes; three are added for code.
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    pub(super) fn find(&self, hay: &[u8]) -> Option<usize> {
        match self.bytes() {
            [] => None,
            [a] => memchr(*a, hay),
            [a, b] => memchr2(*a, *b, hay),
            [a, b, c] => memchr3(*a, *b, *c, hay),
            [a, b, c, more @ ..] => {
                let mut nearest = memchr3(*a, *b, *c, hay);
                for byte in more {
                    let hay = between(hay, 0, nearest.unwrap_or(hay.len()));
                    nearest = memchr(*byte, hay).or(nearest);
                }
                nearest
            }
        }
    }
}
