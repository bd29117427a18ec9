//! Finds the markers: where the next one is, or from where on it takes more text to tell.

use super::code::{Code, MAX_RUN, Run, Tracker};
use super::family::{Begins, CodeRule, Role, TagSpec};
use memchr::{memchr, memchr2, memchr3, memmem};
use std::borrow::Cow;
use std::sync::Arc;

/// A header longer than this is none.
const MAX_HEADER: usize = 256;

/// Where in the message the scanner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Thought,
    /// In a span that stays as it is; `back` tells whether it interrupted a thought.
    Raw {
        back: bool,
    },
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Marker {
        at: usize,
        len: usize,
        role: Role,
    },
    /// Everything before is plain; the rest must wait for more.
    Hold(usize),
    /// Everything is plain.
    Plain,
}

/// Finds markers in a text that comes in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexer {
    tables: Arc<Tables>,
    rule: CodeRule,
    pub(super) tracker: Tracker,
    /// How much of the message was consumed before the current buffer.
    pub(super) base: usize,
    /// Markers that count only at the start were looked for.
    started: bool,
    /// How far beyond a held marker a partner of its code span was looked for already: the marker's offset in the
    /// message, and how far.
    probe: (usize, usize),
}

#[derive(Debug, PartialEq, Eq)]
struct Tables {
    start: Vec<Marker>,
    text: Table,
    thought: Table,
    raw: Table,
}

#[derive(Debug, PartialEq, Eq)]
struct Table {
    markers: Vec<Marker>,
    /// The bytes that the markers begin with.
    firsts: Needles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Marker {
    text: Cow<'static, str>,
    until: &'static str,
    role: Role,
}

enum Match {
    No,
    More,
    Full { len: usize, role: Role },
}

/// Whether a marker in code counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InCode {
    Counts,
    /// Not if it fills its code span.
    Quoted,
    /// Not in any code.
    Never,
}

enum Verdict {
    Real,
    Code,
    Wait,
}

impl Lexer {
    /// `thoughts` is false where nothing is to be taken for a thought.
    pub(super) fn new(spec: &TagSpec, thoughts: bool) -> Self {
        let tables = Tables::new(spec, thoughts);
        let rule = if tables.clashes_with_code() { CodeRule::Counts } else { spec.family.code };
        let started = tables.start.is_empty();
        Self {
            tables: Arc::new(tables),
            rule,
            tracker: Tracker::new(),
            base: 0,
            started,
            probe: (0, 0),
        }
    }

    /// Whether no marker can ever be found.
    pub(super) fn is_idle(&self) -> bool {
        self.started
            && self.tables.text.markers.is_empty()
            && self.tables.thought.markers.is_empty()
    }

    /// The next marker in `buf` from `from` on. `last`: nothing follows. `undecided`: the text may still turn out to
    /// be a thought.
    pub(super) fn next(
        &mut self,
        buf: &[u8],
        from: usize,
        place: Place,
        undecided: bool,
        last: bool,
    ) -> Found {
        if !self.started {
            match self.at_start(buf, from, last) {
                Match::More => return Found::Hold(from),
                Match::Full { len, role } => {
                    let blank = blank_len(rest(buf, from));
                    // The marker itself may begin with the white space.
                    let at =
                        if starts_any(&self.tables.start, rest(buf, from)) { 0 } else { blank };
                    return Found::Marker { at: from + at, len, role };
                }
                Match::No => {}
            }
        }
        let tables = Arc::clone(&self.tables);
        let table = match place {
            Place::Text => &tables.text,
            Place::Thought => &tables.thought,
            Place::Raw { .. } => &tables.raw,
        };
        self.search(table, &Scan { buf, place, undecided, last }, from)
    }

    fn at_start(&mut self, buf: &[u8], from: usize, last: bool) -> Match {
        let hay = rest(buf, from);
        let mut more = false;
        for hay in [hay, rest(hay, blank_len(hay))] {
            match longest(&self.tables.start, hay, last) {
                Match::No => {}
                Match::More => more = true,
                full @ Match::Full { .. } => {
                    self.started = true;
                    return full;
                }
            }
            more |= hay.is_empty() && !last;
        }
        if more {
            return Match::More;
        }
        self.started = true;
        Match::No
    }

    fn search(&mut self, table: &Table, scan: &Scan<'_>, from: usize) -> Found {
        let track = self.rule != CodeRule::Counts && !matches!(scan.place, Place::Raw { .. });
        let mut at = from;
        loop {
            let needles = self.needles(table, scan, track);
            let Some(hit) = needles.find(rest(scan.buf, at)).map(|hit| at + hit) else {
                self.tracker.pass(rest(scan.buf, at));
                return Found::Plain;
            };
            self.tracker.pass(between(scan.buf, at, hit));
            let byte = scan.buf.get(hit).copied().unwrap_or_default();
            if track && (byte == b'`' || byte == b'~') {
                let Some(next) = self.run(table, scan, hit, byte) else { return Found::Hold(hit) };
                at = next;
                continue;
            }
            at = match longest(&table.markers, rest(scan.buf, hit), scan.last) {
                Match::More => return Found::Hold(hit),
                Match::Full { len, role } => match self.verdict(scan, hit, len, role) {
                    Verdict::Real => return Found::Marker { at: hit, len, role },
                    Verdict::Wait => return Found::Hold(hit),
                    Verdict::Code => hit + 1,
                },
                Match::No => hit + 1,
            };
            if byte == b'\n' {
                self.tracker.line_feed();
            } else {
                self.tracker.pass(between(scan.buf, hit, at));
            }
        }
    }

    fn fences(&self, place: Place) -> bool {
        self.rule == CodeRule::Strict || place == Place::Text
    }

    /// The bytes worth stopping at.
    fn needles(&self, table: &Table, scan: &Scan<'_>, track: bool) -> Needles {
        let mut needles = table.firsts;
        if !track {
            return needles;
        }
        match self.tracker.code {
            Code::None => {
                needles.add(b'`');
                if self.fences(scan.place) {
                    needles.add(b'~');
                }
            }
            Code::Span { .. } => {
                needles.add(b'`');
                needles.add(b'\n');
            }
            Code::Fence { mark, first_line, .. } => {
                // Within a fence only end markers of a text that may be a thought count.
                if self.rule == CodeRule::Strict || !scan.undecided {
                    needles = Needles::NONE;
                }
                needles.add(mark);
                if first_line {
                    needles.add(b'\n');
                }
            }
        }
        needles
    }

    /// Takes the run of fence characters at `hit`; the place after it, or nothing if it may go on.
    fn run(&mut self, table: &Table, scan: &Scan<'_>, hit: usize, mark: u8) -> Option<usize> {
        let hay = rest(scan.buf, hit);
        let len = hay.iter().take(MAX_RUN).take_while(|byte| **byte == mark).count();
        let next = hay.get(len).copied();
        if next.is_none() && !scan.last && len < MAX_RUN {
            return None;
        }
        let free = next
            .is_none_or(|next| next.is_ascii_whitespace() || table.firsts.bytes().contains(&next));
        let run = Run { mark, len, at: self.base + hit, free };
        self.tracker.run(run, self.fences(scan.place));
        Some(hit + len)
    }

    fn verdict(&mut self, scan: &Scan<'_>, hit: usize, len: usize, role: Role) -> Verdict {
        match (self.in_code(scan, role), self.tracker.code) {
            (InCode::Counts, _) | (InCode::Never | InCode::Quoted, Code::None) => Verdict::Real,
            (InCode::Quoted, Code::Span { run, after, .. }) if after == self.base + hit => {
                fills_span(rest(scan.buf, hit + len), run, scan.last)
            }
            (InCode::Quoted, Code::Span { .. } | Code::Fence { .. }) => Verdict::Real,
            (InCode::Never, Code::Fence { .. } | Code::Span { sure: true, .. }) => Verdict::Code,
            (InCode::Never, Code::Span { run, after, sure: false }) => {
                self.probe_span(scan, hit, len, run, after)
            }
        }
    }

    fn in_code(&self, scan: &Scan<'_>, role: Role) -> InCode {
        match (self.rule, scan.place) {
            (CodeRule::Counts, _) | (_, Place::Raw { .. }) => InCode::Counts,
            (CodeRule::Strict, _) => InCode::Never,
            (CodeRule::Quoted, Place::Thought) => InCode::Quoted,
            (CodeRule::Quoted, Place::Text) if scan.undecided && role != Role::Open => {
                InCode::Quoted
            }
            (CodeRule::Quoted, Place::Text) => InCode::Never,
        }
    }

    /// Whether the code span that was open before the marker at `hit` closes on this line.
    fn probe_span(
        &mut self,
        scan: &Scan<'_>,
        hit: usize,
        len: usize,
        run: usize,
        after: usize,
    ) -> Verdict {
        let mut at = match self.probe {
            (marker, far) if marker == self.base + hit => hit + far,
            _ => hit + len,
        };
        while let Some(found) = memchr2(b'`', b'\n', rest(scan.buf, at)) {
            at += found;
            let hay = rest(scan.buf, at);
            let ticks = hay.iter().take(MAX_RUN).take_while(|byte| **byte == b'`').count();
            if ticks == 0 {
                self.tracker.code = Code::None;
                return Verdict::Real;
            }
            if hay.len() == ticks && !scan.last && ticks < MAX_RUN {
                self.probe = (self.base + hit, at - hit);
                return Verdict::Wait;
            }
            if ticks == run {
                self.tracker.code = Code::Span { run, after, sure: true };
                return Verdict::Code;
            }
            at += ticks;
        }
        if scan.last {
            self.tracker.code = Code::None;
            return Verdict::Real;
        }
        self.probe = (self.base + hit, scan.buf.len() - hit);
        Verdict::Wait
    }
}

/// One search.
struct Scan<'a> {
    buf: &'a [u8],
    place: Place,
    undecided: bool,
    last: bool,
}

impl Tables {
    fn new(spec: &TagSpec, thoughts: bool) -> Self {
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
        let lone = family.lone_close != super::family::LoneClose::Text
            || family.begins == Begins::Unknown
            || family.markers.iter().any(|marker| marker.role == Role::Tool);
        let unknown = family.begins == Begins::Unknown;
        let pick = |wanted: &dyn Fn(Role) -> bool| {
            Table::new(all.iter().filter(|(marker, start)| !start && wanted(marker.role)))
        };
        Self {
            start: all
                .iter()
                .filter(|(_, start)| *start)
                .map(|(marker, _)| marker.clone())
                .collect(),
            text: pick(&|role| match role {
                Role::Open | Role::Answer | Role::Drop | Role::Raw | Role::Unwrap => true,
                Role::Close | Role::CloseAnswer => lone,
                Role::Tool => unknown,
                Role::RawEnd => false,
            }),
            thought: pick(&|role| match role {
                Role::Open | Role::Close | Role::CloseAnswer | Role::Answer | Role::Tool => true,
                Role::Raw => true,
                Role::Drop | Role::RawEnd | Role::Unwrap => false,
            }),
            raw: pick(&|role| match role {
                Role::Open | Role::Close | Role::CloseAnswer | Role::Answer | Role::RawEnd => true,
                Role::Drop | Role::Raw | Role::Tool | Role::Unwrap => false,
            }),
        }
    }

    /// Whether a marker begins with what code begins with.
    fn clashes_with_code(&self) -> bool {
        [&self.text, &self.thought]
            .iter()
            .any(|table| table.firsts.bytes().iter().any(|byte| *byte == b'`' || *byte == b'~'))
    }
}

/// Whether a marker has to do with thoughts, not only with framing.
fn takes_thoughts(role: Role) -> bool {
    match role {
        Role::Open | Role::Close | Role::CloseAnswer | Role::Tool => true,
        Role::Answer | Role::Drop | Role::Raw | Role::RawEnd | Role::Unwrap => false,
    }
}

impl Table {
    fn new<'a>(markers: impl Iterator<Item = &'a (Marker, bool)>) -> Self {
        let markers: Vec<Marker> = markers.map(|(marker, _)| marker.clone()).collect();
        let mut firsts = Needles::NONE;
        for marker in &markers {
            if let Some(byte) = marker.text.as_bytes().first() {
                firsts.add(*byte);
            }
        }
        Self { markers, firsts }
    }
}

/// The longest marker that `hay` begins with; `More` if a longer one may still come.
fn longest(markers: &[Marker], hay: &[u8], last: bool) -> Match {
    let mut best = Match::No;
    let mut best_len = 0;
    let mut waiting = 0;
    for marker in markers {
        let text = marker.text.as_bytes();
        if !hay.starts_with(text) {
            if hay.len() < text.len() && text.starts_with(hay) {
                waiting = waiting.max(text.len());
            }
            continue;
        }
        let len = if marker.until.is_empty() {
            text.len()
        } else {
            let header = between(hay, 0, hay.len().min(MAX_HEADER));
            match memmem::find(rest(header, text.len()), marker.until.as_bytes()) {
                Some(at) => text.len() + at + marker.until.len(),
                None => {
                    if hay.len() < MAX_HEADER {
                        waiting = waiting.max(text.len());
                    }
                    continue;
                }
            }
        };
        // Of two markers the one that says more counts, whatever its header adds.
        if text.len() > best_len {
            best_len = text.len();
            best = Match::Full { len, role: marker.role };
        }
    }
    if waiting > best_len && !last && !hay.is_empty() { Match::More } else { best }
}

fn starts_any(markers: &[Marker], hay: &[u8]) -> bool {
    markers.iter().any(|marker| hay.starts_with(marker.text.as_bytes()))
}

/// Whether the span of `run` backticks ends right at the start of `hay`.
fn fills_span(hay: &[u8], run: usize, last: bool) -> Verdict {
    let ticks = hay.iter().take(MAX_RUN).take_while(|byte| **byte == b'`').count();
    if ticks == hay.len() && !last && ticks <= run {
        return Verdict::Wait;
    }
    if ticks == run { Verdict::Code } else { Verdict::Real }
}

/// The length of the white space and byte order marks that `hay` begins with.
fn blank_len(hay: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let hay = rest(hay, at);
        at += match hay.first() {
            Some(byte) if byte.is_ascii_whitespace() => 1,
            Some(0xef) if hay.starts_with("\u{feff}".as_bytes()) => 3,
            _ => return at,
        };
    }
}

fn rest(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

fn between(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    bytes.get(from..to).unwrap_or_default()
}

/// A few bytes to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needles {
    bytes: [u8; 8],
    len: usize,
}

impl Needles {
    const NONE: Self = Self { bytes: [0; 8], len: 0 };

    fn bytes(&self) -> &[u8] {
        between(&self.bytes, 0, self.len)
    }

    fn add(&mut self, byte: u8) {
        if self.bytes().contains(&byte) {
            return;
        }
        // No family's markers begin with more than four different bytes; three are added for code.
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    fn find(&self, hay: &[u8]) -> Option<usize> {
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
