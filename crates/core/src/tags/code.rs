//! Where Markdown code begins and ends, as far as tags need to know it.
//!
//! Fences are those of CommonMark. A code span is looked for on its own line only: a stray backtick must not hide a
//! tag some lines further down.

/// A longer run of backticks is no code.
pub(super) const MAX_RUN: usize = 64;

/// The longest run that opens a span. Bounds how often a line is looked through.
const MAX_SPAN: usize = 16;

/// No indent: something else stands before on this line.
const INLINE: u8 = u8::MAX;

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
    },
}

/// Follows the text and knows whether the current place is code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracker {
    pub(super) code: Code,
    /// Spaces since the line began.
    indent: u8,
    /// The byte before this place; a line feed at the start.
    pub(super) before: u8,
    /// No fence begins at or after this offset: one that never ends is none.
    pub(super) fence_limit: usize,
}

/// A run of fence characters in the text.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) mark: u8,
    pub(super) len: usize,
    /// Its offset in the message.
    pub(super) at: usize,
    /// Whether white space or nothing stands right after it.
    pub(super) free: bool,
    /// Whether what a tag begins with stands right after it.
    pub(super) tagged: bool,
}

impl Tracker {
    pub(super) fn new() -> Self {
        Self { code: Code::None, indent: 0, before: b'\n', fence_limit: usize::MAX }
    }

    /// Starts again at the beginning of a line; thoughts and the texts around them are documents of their own.
    pub(super) fn restart(&mut self) {
        self.code = Code::None;
        self.indent = 0;
        self.before = b'\n';
    }

    /// Goes over bytes that hold no run and no line feed that matters.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.before = bytes.last().copied().unwrap_or(self.before);
        let mut spaces = 0u8;
        for byte in bytes.iter().rev() {
            match byte {
                b'\n' => {
                    self.indent = spaces;
                    return;
                }
                b' ' if spaces < 3 => spaces += 1,
                _ => {
                    self.indent = INLINE;
                    return;
                }
            }
        }
        self.indent = match self.indent.saturating_add(spaces) {
            few @ 0..=3 => few,
            _ => INLINE,
        };
    }

    pub(super) fn line_feed(&mut self) {
        self.indent = 0;
        self.before = b'\n';
        match &mut self.code {
            Code::Span { .. } => self.code = Code::None,
            Code::Fence { first_line, .. } => *first_line = false,
            Code::None => {}
        }
    }

    /// Takes a run of fence characters.
    pub(super) fn run(&mut self, run: Run, fences: bool) {
        let line_start = self.indent <= 3;
        self.indent = INLINE;
        self.before = run.mark;
        let allowed = run.at < self.fence_limit;
        let span = |len: usize| Code::Span { run: len, after: run.at + run.len, sure: false };
        self.code = match self.code {
            // No language is called like a tag: that would be the end of the thought right behind code.
            Code::None if fences && line_start && run.len >= 3 && !run.tagged && allowed => {
                Code::Fence { mark: run.mark, run: run.len, first_line: true, at: run.at }
            }
            Code::None if run.mark == b'`' && run.len <= MAX_SPAN => span(run.len),
            Code::Span { run: len, .. } if run.mark == b'`' && run.len == len => Code::None,
            // A backtick in the line that opens a backtick fence means that it was inline code after all.
            Code::Fence { mark: b'`', run: len, first_line: true, .. } if run.mark == b'`' => {
                if run.len == len { Code::None } else { span(len) }
            }
            Code::Fence { mark, run: len, first_line: false, .. }
                if mark == run.mark && line_start && run.len >= len && (run.free || run.tagged) =>
            {
                Code::None
            }
            other @ (Code::None | Code::Span { .. } | Code::Fence { .. }) => other,
        };
    }
}
