//! Finds the begin and end of Markdown code, as far as tags need it.
//!
//! Fences are those of CommonMark, also behind the signs of block quotes and lists. A code span is looked for on its
//! own line only: a stray backtick must not hide a tag some lines further down.

use memchr::memrchr;

/// A longer run of backticks is no code.
pub(super) const MAX_RUN: usize = 64;

/// The longest run that opens a span. Bounds how often a line is looked through.
const MAX_SPAN: usize = 16;

/// A fence behind more spaces does not count.
const MAX_INDENT: u8 = 3;

/// A list number with more digits does not count.
const MAX_DIGITS: u8 = 9;

/// Whether this place is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    None,
    /// A run of backticks was seen whose partner was not, so far.
    Span {
        run: usize,
        /// The offset in the message right after the run.
        after: usize,
        /// The partner is there, further on.
        sure: bool,
    },
    Fence {
        mark: u8,
        run: usize,
        /// Still on the line that opened it.
        first_line: bool,
        /// Its offset in the message.
        at: usize,
        /// The number of block quotes around it.
        quotes: u8,
        /// Its column in the innermost quote.
        column: u8,
    },
}

/// The signs before a place on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lead {
    before: Before,
    /// Signs of block quotes.
    quotes: u8,
    /// The sign of a list is there.
    is_item: bool,
    /// Columns behind the last quote.
    column: u8,
    /// Spaces that may follow before a fence.
    left: u8,
    /// Columns that the code of a fence may be indented by.
    deep: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Only signs of quotes and lists, and spaces.
    Blank,
    /// A bullet, or a number and its dot, which wants a space.
    Bullet,
    /// So many digits.
    Digits(u8),
    Text,
}

impl Lead {
    fn start(deep: u8) -> Self {
        let left = deep.saturating_add(MAX_INDENT);
        Lead { before: Before::Blank, quotes: 0, is_item: false, column: 0, left, deep }
    }

    /// Takes the next byte of the line.
    fn take(&mut self, byte: u8) {
        self.column = self.column.saturating_add(1);
        self.before = match (self.before, byte) {
            (Before::Blank, b' ') if self.left > 0 => {
                self.left -= 1;
                Before::Blank
            }
            (Before::Blank, b'>') => {
                self.quotes = self.quotes.saturating_add(1);
                self.column = 0;
                self.left = self.deep.saturating_add(MAX_INDENT + 1);
                Before::Blank
            }
            (Before::Blank, b'-' | b'*' | b'+') => Before::Bullet,
            (Before::Blank, b'0'..=b'9') => Before::Digits(1),
            (Before::Digits(n), b'0'..=b'9') if n < MAX_DIGITS => Before::Digits(n + 1),
            (Before::Digits(_), b'.' | b')') => Before::Bullet,
            (Before::Bullet, b' ' | b'\t') => {
                self.is_item = true;
                self.left = MAX_INDENT;
                Before::Blank
            }
            _ => Before::Text,
        };
    }
}

/// Follows the text and knows whether the current place is code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracker {
    pub(super) code: Code,
    lead: Lead,
    /// Fences are also looked for in quotes and lists.
    nests: bool,
    /// The byte before this place; a line feed at the start.
    pub(super) before: u8,
    /// No fence begins at or after this offset. It excludes a fence that never ends.
    pub(super) fence_limit: usize,
}

/// A run of fence characters in the text.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) mark: u8,
    pub(super) len: usize,
    /// Its offset in the message.
    pub(super) at: usize,
    /// Whether white space or the end follows directly.
    pub(super) free: bool,
    /// Whether the first byte of a tag follows directly.
    pub(super) tagged: bool,
}

impl Tracker {
    pub(super) fn new(nests: bool) -> Self {
        let lead = Lead::start(0);
        Self { code: Code::None, lead, nests, before: b'\n', fence_limit: usize::MAX }
    }

    /// Starts again at the beginning of a line; thoughts and the texts around them are documents of their own.
    pub(super) fn restart(&mut self) {
        self.code = Code::None;
        self.begin_line();
    }

    /// Goes over bytes that hold no run and no line feed that matters.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let line = match memrchr(b'\n', bytes) {
            Some(feed) => {
                self.begin_line();
                bytes.get(feed + 1..).unwrap_or_default()
            }
            None => bytes,
        };
        self.before = *last;
        for byte in line {
            if self.lead.before == Before::Text {
                return;
            }
            if !self.nests && *byte != b' ' {
                self.lead.before = Before::Text;
            } else {
                self.lead.take(*byte);
            }
            if self.lead.before == Before::Text {
                self.leave_quote();
            }
        }
    }

    pub(super) fn line_feed(&mut self) {
        self.leave_quote();
        match &mut self.code {
            Code::Span { .. } => self.code = Code::None,
            Code::Fence { first_line, .. } => *first_line = false,
            Code::None => {}
        }
        self.begin_line();
    }

    fn begin_line(&mut self) {
        let deep = match self.code {
            Code::Fence { column, .. } => column,
            Code::None | Code::Span { .. } => 0,
        };
        self.lead = Lead::start(deep);
        self.before = b'\n';
    }

    /// The line has no more quote signs: a fence ends with its block quote.
    pub(super) fn leave_quote(&mut self) {
        if matches!(self.code, Code::Fence { quotes, .. } if self.lead.quotes < quotes) {
            self.code = Code::None;
        }
    }

    /// Takes a run of fence characters.
    pub(super) fn run(&mut self, run: Run, fences: bool) {
        self.leave_quote();
        let lead = self.lead;
        let line_start = lead.before == Before::Blank;
        self.lead.before = Before::Text;
        self.before = run.mark;
        let allowed = run.at < self.fence_limit;
        let span = |len: usize| Code::Span { run: len, after: run.at + run.len, sure: false };
        self.code = match self.code {
            // No language is called like a tag: that would be the end of the thought right behind code.
            Code::None if fences && line_start && run.len >= 3 && !run.tagged && allowed => {
                let Lead { quotes, column, .. } = lead;
                let (mark, len, at) = (run.mark, run.len, run.at);
                Code::Fence { mark, run: len, first_line: true, at, quotes, column }
            }
            Code::None if run.mark == b'`' && run.len <= MAX_SPAN => span(run.len),
            Code::Span { run: len, .. } if run.mark == b'`' && run.len == len => Code::None,
            // A backtick in the line that opens a backtick fence means that it was inline code after all.
            Code::Fence { mark: b'`', run: len, first_line: true, .. } if run.mark == b'`' => {
                if run.len == len { Code::None } else { span(len) }
            }
            Code::Fence { mark, run: len, first_line: false, quotes, .. }
                if mark == run.mark
                    && line_start
                    && (lead.quotes, lead.is_item) == (quotes, false)
                    && run.len >= len
                    && (run.free || run.tagged) =>
            {
                Code::None
            }
            other @ (Code::None | Code::Span { .. } | Code::Fence { .. }) => other,
        };
    }
}
