//! Finds the next marker, or the place from which more text is needed to decide.

use super::code::{Code, MAX_RUN, Run, Tracker};
use super::family::{CodeRule, Role};
use super::leap::{Fences, Leaps};
use super::spec::TagSpec;
use super::table::{Match, Needles, Table, Tables, between, longest, rest, starts_any};
use memchr::{memchr, memchr2, memchr3, memrchr};
use std::sync::Arc;

/// White space up to this length still counts as the start of the message.
const MAX_LEAD: usize = 64;

/// The scanner's place in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Thought,
    /// In a tool call, whose arguments may contain any text.
    Call,
    /// In a span that stays as it is; `back` tells whether it interrupted a thought.
    Raw {
        back: bool,
    },
}

/// The input of a search.
pub(super) struct Scan<'a> {
    pub(super) buf: &'a [u8],
    pub(super) place: Place,
    /// Nothing follows.
    pub(super) last: bool,
}

/// The result of a search.
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
    /// Markers that count only at the start were looked for.
    started: bool,
    pub(super) cursor: Cursor,
}

/// The state of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    rule: CodeRule,
    pub(super) tracker: Tracker,
    /// How much of the message was consumed before the current buffer.
    pub(super) base: usize,
    /// How far beyond a held marker a partner of its code span was looked for already: the marker's offset in the
    /// message, and how far.
    probe: (usize, usize),
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
    /// With `thoughts` false, the search finds no thoughts.
    pub(super) fn new(spec: &TagSpec, thoughts: bool) -> Self {
        let tables = Tables::new(spec, thoughts);
        let rule = if tables.clashes_with_code() { CodeRule::Counts } else { spec.family.code };
        let started = tables.start.is_empty();
        let nests = rule != CodeRule::Strict;
        let cursor = Cursor { rule, tracker: Tracker::new(nests), base: 0, probe: (0, 0) };
        Self { tables: Arc::new(tables), started, cursor }
    }

    /// Continues with the markers of a family that differs only in its markers.
    pub(super) fn switch(&mut self, spec: &TagSpec) {
        self.tables = Arc::new(Tables::new(spec, true));
    }

    /// Whether no marker can ever be found.
    pub(super) fn is_idle(&self) -> bool {
        self.started
            && self.tables.text.markers.is_empty()
            && self.tables.thought.markers.is_empty()
    }

    /// The next marker from `from` on. `leaps` is one for all searches in a buffer.
    pub(super) fn next(&mut self, scan: &Scan<'_>, from: usize, leaps: &mut Leaps) -> Found {
        let buf = scan.buf;
        if !self.started {
            match self.at_start(buf, from, scan.last) {
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
        let table = match scan.place {
            Place::Text => &self.tables.text,
            Place::Thought => &self.tables.thought,
            Place::Call => &self.tables.call,
            Place::Raw { .. } => &self.tables.raw,
        };
        self.cursor.search(table, scan, from, leaps)
    }

    fn at_start(&mut self, buf: &[u8], from: usize, last: bool) -> Match {
        let hay = rest(buf, from);
        let mut more = false;
        for hay in [hay, rest(hay, blank_len(hay))] {
            match longest(&self.tables.start, hay, last) {
                Match::No => {}
                Match::More => more = true,
                Match::Full { len, role: Role::Stripped } => match hay.get(len) {
                    // With its marker gone, the thought's first word follows without a space.
                    Some(byte) if byte.is_ascii_uppercase() => {
                        self.started = true;
                        return Match::Full { len, role: Role::Stripped };
                    }
                    None if !last => more = true,
                    Some(_) | None => {}
                },
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
}

impl Cursor {
    fn search(&mut self, table: &Table, scan: &Scan<'_>, from: usize, leaps: &mut Leaps) -> Found {
        let track = self.tracks(scan.place);
        let mut needles = self.needles(table, scan);
        // The tracker has seen all bytes before `passed`.
        let (mut at, mut passed) = (from, from);
        loop {
            if leaps.is_due(scan.buf.len() - at) {
                (at, passed) = self.leap(table, scan, leaps, (at, passed));
                needles = self.needles(table, scan);
            }
            let Some(hit) = needles.find(rest(scan.buf, at)).map(|hit| at + hit) else {
                let is_open =
                    table.line_feeds && !scan.last && rest(scan.buf, from).ends_with(b"\n");
                let end = scan.buf.len() - usize::from(is_open);
                self.tracker.pass(between(scan.buf, passed, end));
                return if is_open { Found::Hold(end) } else { Found::Plain };
            };
            at = hit + 1;
            leaps.stopped();
            let hay = rest(scan.buf, hit);
            let byte = hay.first().copied().unwrap_or_default();
            let is_code = track && matches!(byte, b'`' | b'~' | b'\n');
            if !is_code && !table.may_begin(hay) {
                continue;
            }
            let hit =
                if is_code { hit } else { table.with_line_feed(scan.buf, from, hit, scan.last) };
            self.tracker.pass(between(scan.buf, passed, hit));
            passed = hit;
            if is_code && byte != b'\n' {
                let Some(next) = self.run(table, scan, hit, byte) else { return Found::Hold(hit) };
                (at, passed) = (next, next);
                needles = self.needles(table, scan);
                continue;
            }
            match longest(&table.markers, rest(scan.buf, hit), scan.last) {
                Match::More => return Found::Hold(hit),
                Match::Full { len, role } => match self.verdict(scan, hit, len, role) {
                    Verdict::Real => return Found::Marker { at: hit, len, role },
                    Verdict::Wait => return Found::Hold(hit),
                    Verdict::Code => {}
                },
                Match::No => {}
            }
            if is_code {
                self.tracker.line_feed();
                passed = at;
                needles = self.needles(table, scan);
            }
        }
    }

    /// Leaps from `at` to a place at which a marker may begin, or a fence continues; the tracker has seen all bytes
    /// before `passed`. Both places after it.
    fn leap(
        &mut self,
        table: &Table,
        scan: &Scan<'_>,
        leaps: &mut Leaps,
        (mut at, mut passed): (usize, usize),
    ) -> (usize, usize) {
        while leaps.is_due(scan.buf.len() - at) && !self.in_fence() {
            let to = leaps.target(&table.keys, scan.buf, at);
            if self.tracks(scan.place) {
                (at, passed) = self.follow(table, scan, (at, passed), to);
            } else {
                at = to;
            }
        }
        (at, passed)
    }

    /// Follows code from `at` to `to`, without a marker between them, or past it.
    fn follow(
        &mut self,
        table: &Table,
        scan: &Scan<'_>,
        (mut at, mut passed): (usize, usize),
        to: usize,
    ) -> (usize, usize) {
        let head = between(scan.buf, 0, to);
        let mut fences = self.fences(scan.place).then(|| Fences::new(&table.keys, head));
        let mut lines = at;
        while at < to {
            if !self.in_fence() {
                // A span ends with its line: of all lines before the next fence only the last one matters.
                let fence = fences.as_mut().map_or(to, |fences| fences.next(at));
                lines = lines.max(at);
                if let Some(feed) = memrchr(b'\n', between(scan.buf, lines, fence)) {
                    at = lines + feed + 1;
                    passed = at;
                    self.tracker.restart();
                }
                lines = lines.max(fence);
            }
            let Some(hit) = self.next_mark(rest(head, at), scan.place) else { break };
            let hit = at + hit;
            self.tracker.pass(between(head, passed, hit));
            let mark = head.get(hit).copied().unwrap_or_default();
            at = if mark == b'\n' {
                self.tracker.line_feed();
                hit + 1
            } else {
                let Some(next) = self.run(table, scan, hit, mark) else { return (hit, hit) };
                next
            };
            passed = at;
        }
        (at.max(to), passed)
    }

    /// The next offset in `hay` at which code may begin or end.
    fn next_mark(&self, hay: &[u8], place: Place) -> Option<usize> {
        match self.tracker.code {
            Code::None if self.fences(place) => memchr2(b'`', b'~', hay),
            Code::None => memchr(b'`', hay),
            Code::Span { .. } => memchr2(b'`', b'\n', hay),
            Code::Fence { quotes: 1.., .. } => memchr3(b'`', b'~', b'\n', hay),
            Code::Fence { mark, first_line: true, .. } => memchr2(mark, b'\n', hay),
            Code::Fence { mark, first_line: false, .. } => memchr(mark, hay),
        }
    }

    fn tracks(&self, place: Place) -> bool {
        self.rule != CodeRule::Counts && !is_verbatim(place)
    }

    fn in_fence(&self) -> bool {
        match self.tracker.code {
            Code::Fence { .. } => true,
            Code::None | Code::Span { .. } => false,
        }
    }

    fn fences(&self, place: Place) -> bool {
        self.rule == CodeRule::Strict || place == Place::Text
    }

    /// The bytes worth stopping at.
    fn needles(&self, table: &Table, scan: &Scan<'_>) -> Needles {
        let mut needles = table.firsts;
        if !self.tracks(scan.place) {
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
            // Any line may end the quote, and its fence.
            Code::Fence { quotes: 1.., .. } => {
                b"`~\n".iter().for_each(|byte| needles.add(*byte));
            }
            Code::Fence { mark, first_line, .. } => {
                // Thoughts have fences only if the markers inside code do not count.
                needles = Needles::NONE;
                needles.add(mark);
                if first_line {
                    needles.add(b'\n');
                }
            }
        }
        needles
    }

    /// Takes the run of fence characters at `hit`; returns the place after it, or `None` if it may continue.
    fn run(&mut self, table: &Table, scan: &Scan<'_>, hit: usize, mark: u8) -> Option<usize> {
        let hay = rest(scan.buf, hit);
        let len = hay.iter().take(MAX_RUN).take_while(|byte| **byte == mark).count();
        let next = hay.get(len).copied();
        // Even after the longest run, the next byte is needed to know its surroundings.
        if next.is_none() && !scan.last {
            return None;
        }
        let free = next.is_none_or(|next| next.is_ascii_whitespace());
        let tagged = !free && next.is_some_and(|next| table.firsts.bytes().contains(&next));
        let run = Run { mark, len, at: self.base + hit, free, tagged };
        self.tracker.run(run, self.fences(scan.place));
        Some(hit + len)
    }

    fn verdict(&mut self, scan: &Scan<'_>, hit: usize, len: usize, role: Role) -> Verdict {
        self.tracker.leave_quote();
        // A tag between quotation marks is spoken of, not used. Inside a thought this does not apply: the thought may
        // end with a quotation and the answer begin with one.
        let quote = self.tracker.before;
        if self.rule == CodeRule::Quoted
            && scan.place == Place::Text
            && (quote == b'"' || quote == b'\'')
        {
            match scan.buf.get(hit + len) {
                Some(byte) if *byte == quote => return Verdict::Code,
                None if !scan.last => return Verdict::Wait,
                Some(_) | None => {}
            }
        }
        match (self.in_code(scan, role), self.tracker.code) {
            (InCode::Counts, _) | (_, Code::None) | (InCode::Quoted, Code::Fence { .. }) => {
                Verdict::Real
            }
            (InCode::Never, Code::Fence { .. } | Code::Span { sure: true, .. }) => Verdict::Code,
            (InCode::Never, Code::Span { run, after, sure: false }) => {
                self.probe_span(scan, hit, len, run, after)
            }
            (InCode::Quoted, Code::Span { run, after, .. }) => {
                if after == self.base + hit {
                    fills_span(rest(scan.buf, hit + len), run, scan.last)
                } else {
                    Verdict::Real
                }
            }
        }
    }

    fn in_code(&self, scan: &Scan<'_>, role: Role) -> InCode {
        match (self.rule, scan.place) {
            (CodeRule::Counts, _) | (_, Place::Call | Place::Raw { .. }) => InCode::Counts,
            (CodeRule::Strict, _) | (CodeRule::Quoted, Place::Text) => InCode::Never,
            (CodeRule::Quoted, Place::Thought) => match role {
                Role::Close | Role::CloseAnswer => InCode::Counts,
                Role::Answer | Role::Open | Role::Raw | Role::Tool | Role::ToolTells => {
                    InCode::Quoted
                }
                // They are no markers of thoughts.
                Role::CallEnd | Role::Drop | Role::RawEnd | Role::Stripped | Role::Unwrap => {
                    InCode::Quoted
                }
            },
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
        self.probe = (0, 0);
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

/// Whether the text there is no prose of the model's.
fn is_verbatim(place: Place) -> bool {
    match place {
        Place::Call | Place::Raw { .. } => true,
        Place::Text | Place::Thought => false,
    }
}

/// Whether the span of `run` backticks ends right at the start of `hay`.
fn fills_span(hay: &[u8], run: usize, last: bool) -> Verdict {
    let ticks = hay.iter().take(MAX_RUN).take_while(|byte| **byte == b'`').count();
    if ticks == hay.len() && !last && ticks <= run {
        return Verdict::Wait;
    }
    if ticks == run { Verdict::Code } else { Verdict::Real }
}

/// The length of the white space and byte order marks at the beginning of `hay`, up to the limit of held text.
fn blank_len(hay: &[u8]) -> usize {
    let mut at = 0;
    loop {
        if at >= MAX_LEAD {
            return at;
        }
        let hay = rest(hay, at);
        at += match hay.first() {
            Some(byte) if byte.is_ascii_whitespace() => 1,
            Some(0xef) if hay.starts_with("\u{feff}".as_bytes()) => 3,
            _ => return at,
        };
    }
}
