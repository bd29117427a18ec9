//! The two sides of a text, thoughts and visible text, each with its rules for white space.

use super::family::{Blank, Family, Seam, Unclosed};
use super::piece::Piece;

/// Takes pieces.
pub(super) type Out<'a> = dyn FnMut(Piece<'_>) + 'a;

/// Whether a character counts as white space around tags.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The thought that is open, if one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thought {
    /// A part of the thought was handed out.
    started: bool,
    /// It had no begin marker.
    pub(super) implicit: bool,
    pub(super) depth: u32,
    /// White space at its start or end that may have to go.
    space: String,
    /// The begin marker, and the text so far, if the end decides whether it is a thought.
    pub(super) opener: String,
    pub(super) kept: String,
    /// The number of thoughts that were handed out.
    pub(super) count: usize,
}

impl Thought {
    pub(super) fn open(&mut self, opener: &str, implicit: bool) {
        self.started = false;
        self.implicit = implicit;
        self.depth = 1;
        self.space.clear();
        self.kept.clear();
        self.opener.clear();
        self.opener.push_str(opener);
    }

    /// Whether it has only white space so far.
    pub(super) fn is_fresh(&self) -> bool {
        !self.started && self.kept.chars().all(is_space)
    }

    pub(super) fn forget_space(&mut self) {
        self.space.clear();
        self.kept.clear();
    }

    pub(super) fn put(&mut self, text: &str, family: &Family, out: &mut Out<'_>) {
        match family.unclosed {
            Unclosed::Thought => self.say(text, family, out),
            Unclosed::Untagged | Unclosed::Visible => self.kept.push_str(text),
        }
    }

    /// Ends it; `sealed` means that it is whole. Returns whether any part of it was handed out.
    pub(super) fn close(&mut self, sealed: bool, family: &Family, out: &mut Out<'_>) -> bool {
        let kept = std::mem::take(&mut self.kept);
        self.say(&kept, family, out);
        if self.started && sealed {
            out(Piece::ThinkingEnd);
        }
        self.space.clear();
        std::mem::take(&mut self.started)
    }

    fn say(&mut self, text: &str, family: &Family, out: &mut Out<'_>) {
        let mut text = text;
        if !self.started {
            let body = text.trim_start_matches(is_space);
            if body.is_empty() && (family.trim || family.blank == Blank::NoThought) {
                self.space.push_str(text);
                return;
            }
            if text.is_empty() {
                return;
            }
            self.start(family, out);
            if family.trim {
                self.space.clear();
                text = body;
            }
        }
        let (body, tail) = if family.trim {
            text.split_at_checked(text.trim_end_matches(is_space).len()).unwrap_or((text, ""))
        } else {
            (text, "")
        };
        if !body.is_empty() {
            if !self.space.is_empty() {
                out(Piece::Thinking(&self.space));
                self.space.clear();
            }
            out(Piece::Thinking(body));
        }
        self.space.push_str(tail);
    }

    fn start(&mut self, family: &Family, out: &mut Out<'_>) {
        self.started = true;
        out(Piece::ThinkingStart);
        if family.joined && self.count > 0 {
            out(Piece::Thinking("\n"));
        }
        self.count += 1;
    }
}

/// The visible text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Visible {
    /// A part of the text was handed out.
    pub(super) any: bool,
    /// A thought was there.
    pub(super) after_thought: bool,
    /// White space whose fate is open: before a thought that may open the message, or before a tag.
    space: String,
    /// A thought was taken out right here.
    gap: bool,
    /// The message opened with a thought.
    led: bool,
}

impl Visible {
    /// A thought begins here for certain.
    pub(super) fn before_thought(&mut self, family: &Family) {
        if family.seam == Seam::Trim || (family.drop_lead && !self.any) {
            self.space.clear();
        }
    }

    /// A thought, or the tags of an empty one, ended here.
    pub(super) fn after_thought(&mut self, said: bool) {
        self.led |= said && !self.any && self.space.is_empty();
        self.after_thought = true;
        self.gap = true;
    }

    pub(super) fn forget_space(&mut self) {
        self.space.clear();
    }

    pub(super) fn put(&mut self, text: &str, family: &Family, out: &mut Out<'_>) {
        if text.is_empty() {
            return;
        }
        match family.seam {
            Seam::Trim => self.put_trimmed(text, out),
            Seam::Line => self.put_joined(text, true, family, out),
            Seam::LineWhenLed => self.put_joined(text, self.led, family, out),
            Seam::Plain => self.put_joined(text, false, family, out),
        }
    }

    /// The message is over.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        if !self.space.is_empty() {
            out(Piece::Text(&self.space));
            self.space.clear();
        }
    }

    fn put_joined(&mut self, text: &str, line: bool, family: &Family, out: &mut Out<'_>) {
        if !self.any {
            if family.drop_lead && !self.after_thought && text.chars().all(is_space) {
                self.space.push_str(text);
                return;
            }
            if !family.prefix.is_empty() {
                out(Piece::Text(family.prefix));
            }
            self.finish(out);
        } else if self.gap && line {
            out(Piece::Text("\n"));
        }
        self.any = true;
        self.gap = false;
        out(Piece::Text(text));
    }

    fn put_trimmed(&mut self, text: &str, out: &mut Out<'_>) {
        let text = if self.gap { text.trim_start_matches(is_space) } else { text };
        let end = text.trim_end_matches(is_space).len();
        let (body, tail) = text.split_at_checked(end).unwrap_or((text, ""));
        if !body.is_empty() {
            if self.gap && self.any {
                out(Piece::Text("\n"));
            }
            self.gap = false;
            self.finish(out);
            self.any = true;
            out(Piece::Text(body));
        }
        self.space.push_str(tail);
    }
}
