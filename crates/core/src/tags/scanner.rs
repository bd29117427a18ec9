//! The engine: from markers to thoughts and visible text.

use super::code::Code;
use super::family::{Begins, Blank, LoneClose, Nested, Role, Unclosed};
use super::leap::Leaps;
use super::lexer::{Found, Lexer, Place, Scan};
use super::piece::{End, Ending, Piece};
use super::side::{Out, Thought, Visible, is_space};
use super::spec::TagSpec;

/// The state of the scanner at the beginning of the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The family decides.
    #[default]
    Family,
    /// In a thought: the prompt's template opened it.
    Thought,
    /// In visible text: the template opened no thought, or closed it again.
    Text,
    /// In visible text. Only a tag at the very beginning opens a thought.
    Leading,
}

/// The scanner's knowledge about the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The state at the beginning of the message.
    pub start: Start,
    /// The request switched thinking off: all text is visible text.
    pub thinking_off: bool,
    /// Every block is a thought, also in a family that takes only the first.
    pub every_block: bool,
}

/// Finds the thoughts in a text that comes in pieces. The same text gives the same result however it is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagScanner {
    spec: TagSpec,
    options: Options,
    lexer: Lexer,
    /// Bytes that are not consumed yet, because they may begin a marker.
    held: String,
    place: Place,
    /// Whether the text so far, in `pending`, may still turn out to be a thought.
    undecided: bool,
    pending: String,
    thought: Thought,
    visible: Visible,
    /// A tool call ended the thought; its end marker may still come.
    owed: bool,
    /// The wrapper around the answer is open.
    wrapped: bool,
    /// The search is over.
    idle: bool,
    /// The message is read a second time.
    reread: bool,
    /// The offset in the message at which the current thought or text began.
    thought_at: usize,
}

impl TagScanner {
    /// A scanner for one message.
    #[must_use]
    pub fn new(spec: &TagSpec, options: Options) -> Self {
        let lexer = Lexer::new(spec, !options.thinking_off);
        let begins = match options.start {
            _ if options.thinking_off => Begins::Outside,
            Start::Family => spec.family.begins,
            Start::Thought => Begins::Inside,
            Start::Text | Start::Leading => Begins::Outside,
        };
        let idle = lexer.is_idle();
        let mut scanner = Self {
            spec: spec.clone(),
            options,
            lexer,
            held: String::new(),
            place: Place::Text,
            undecided: begins == Begins::Unknown,
            pending: String::new(),
            thought: Thought::default(),
            visible: Visible::default(),
            owed: false,
            wrapped: false,
            idle,
            reread: false,
            thought_at: 0,
        };
        if begins == Begins::Inside && !idle {
            scanner.place = Place::Thought;
            scanner.thought.open("", true);
        }
        scanner
    }

    /// The markers and rules that it searches for.
    #[must_use]
    pub fn spec(&self) -> &TagSpec {
        &self.spec
    }

    /// Takes the next piece of the message.
    pub fn push(&mut self, text: &str, out: &mut dyn FnMut(Piece<'_>)) {
        if self.held.is_empty() {
            let used = self.run(text, false, out);
            self.held.push_str(text.get(used..).unwrap_or_default());
            return;
        }
        let mut buf = std::mem::take(&mut self.held);
        buf.push_str(text);
        let used = self.run(&buf, false, out);
        buf.drain(..used);
        self.held = buf;
    }

    /// Ends the message. The scanner is not to be used afterwards.
    pub fn end(&mut self, how: End, out: &mut dyn FnMut(Piece<'_>)) -> Ending {
        let held = std::mem::take(&mut self.held);
        self.run(&held, true, out);
        self.reread_open_fence(out);
        let mut ending = Ending::Settled;
        if self.place == Place::Thought {
            ending = Ending::Unclosed;
            self.end_unclosed(how, out);
        }
        self.settle_as_text(out);
        self.visible.finish(out);
        ending
    }

    /// Reads `buf`, and returns the number of consumed bytes.
    fn run(&mut self, buf: &str, last: bool, out: &mut Out<'_>) -> usize {
        let mut at = 0;
        let mut leaps = Leaps::new();
        while !self.idle {
            let place = self.place;
            let scan = Scan { buf: buf.as_bytes(), place, last };
            let found = self.lexer.next(&scan, at, &mut leaps);
            let (plain, next) = match found {
                Found::Plain => (buf.len(), buf.len()),
                Found::Hold(hold) => (hold, hold),
                Found::Marker { at, len, .. } => (at, at + len),
            };
            self.plain(buf.get(at..plain).unwrap_or_default(), out);
            if self.idle {
                at = plain;
                break;
            }
            at = next;
            let Found::Marker { role, at: begin, .. } = found else {
                self.lexer.cursor.base += at;
                return at;
            };
            let marker = buf.get(begin..next).unwrap_or_default();
            self.marker(role, marker, out);
            if self.place == place {
                self.lexer.cursor.tracker.pass(marker.as_bytes());
                // The begin marker only repeats the one of the template: the thought begins behind it.
                if place == Place::Thought && self.thought.kept.is_empty() {
                    self.thought_at = self.lexer.cursor.base + next;
                }
            } else {
                self.lexer.cursor.tracker.restart();
                self.thought_at = self.lexer.cursor.base + next;
            }
            if self.idle {
                // The counters are reset, so that equal texts leave equal states.
                self.lexer.cursor.base = 0;
                self.thought_at = 0;
            }
        }
        self.rest(buf.get(at..).unwrap_or_default(), out);
        buf.len()
    }

    /// Hands out text after the end of the search.
    fn rest(&mut self, text: &str, out: &mut Out<'_>) {
        if !self.options.thinking_off {
            self.plain(text, out);
        } else if !text.is_empty() {
            out(Piece::Text(text));
        }
    }

    fn plain(&mut self, text: &str, out: &mut Out<'_>) {
        if self.place == Place::Thought {
            self.thought.put(text, self.spec.family, out);
        } else if self.undecided {
            self.pending.push_str(text);
        } else {
            self.visible.put(text, self.spec.family, out);
            self.idle |= self.options.start == Start::Leading && !text.trim().is_empty();
        }
    }

    fn marker(&mut self, role: Role, text: &str, out: &mut Out<'_>) {
        match self.place {
            Place::Text => self.marker_in_text(role, text, out),
            Place::Thought => self.marker_in_thought(role, text, out),
            Place::Call => self.marker_in_call(role, text, out),
            Place::Raw { back } => self.marker_in_raw(back, role, text, out),
        }
    }

    fn marker_in_text(&mut self, role: Role, text: &str, out: &mut Out<'_>) {
        match role {
            Role::Open if self.options.start == Start::Leading => self.open(text),
            _ if self.options.start == Start::Leading => self.plain(text, out),
            Role::Open if self.reread => {
                self.settle_as_text(out);
                self.plain(text, out);
                self.idle = true;
            }
            Role::Open | Role::Stripped => {
                if role == Role::Stripped {
                    self.lexer.switch(&TagSpec::stripped());
                }
                self.settle_as_text(out);
                self.open(text);
            }
            Role::Close | Role::CloseAnswer => {
                if !self.settle_as_thought(out) {
                    self.lone_close(text, out);
                }
                self.wrapped |= role == Role::CloseAnswer;
            }
            Role::Tool | Role::ToolTells => {
                if role == Role::ToolTells {
                    self.owed |= self.settle_as_thought(out);
                }
                self.settle_as_text(out);
                self.plain(text, out);
                self.place = Place::Call;
            }
            Role::Answer => {
                self.settle_as_thought(out);
                self.wrapped = true;
            }
            Role::Drop => {}
            Role::Unwrap if self.wrapped => self.wrapped = false,
            Role::Raw => {
                self.settle_as_text(out);
                self.plain(text, out);
                self.place = Place::Raw { back: false };
            }
            Role::CallEnd | Role::RawEnd | Role::Unwrap => self.plain(text, out),
        }
    }

    fn marker_in_thought(&mut self, role: Role, text: &str, out: &mut Out<'_>) {
        match role {
            Role::Open => self.open_again(text, out),
            Role::Close | Role::CloseAnswer => {
                self.thought.depth = self.thought.depth.saturating_sub(1);
                if self.thought.depth > 0 {
                    self.plain(text, out);
                } else {
                    self.close(out);
                    self.wrapped |= role == Role::CloseAnswer;
                }
            }
            Role::Tool | Role::ToolTells => {
                self.close(out);
                self.owed = true;
                self.plain(text, out);
                self.place = Place::Call;
            }
            Role::Answer => {
                self.close(out);
                self.wrapped = true;
            }
            Role::Raw => {
                self.close(out);
                self.place = Place::Raw { back: true };
                self.plain(text, out);
            }
            Role::CallEnd | Role::Drop | Role::RawEnd | Role::Stripped | Role::Unwrap => {
                self.plain(text, out);
            }
        }
    }

    /// If a thought only mentioned a tool call, its end marker may come after the supposed call.
    fn marker_in_call(&mut self, role: Role, text: &str, out: &mut Out<'_>) {
        match role {
            Role::CallEnd => {
                self.plain(text, out);
                self.place = Place::Text;
            }
            Role::Close | Role::CloseAnswer if self.owed => {
                self.owed = false;
                self.place = Place::Text;
            }
            Role::Answer | Role::Close | Role::CloseAnswer | Role::Drop => self.plain(text, out),
            Role::Open | Role::Raw | Role::RawEnd | Role::Stripped => self.plain(text, out),
            Role::Tool | Role::ToolTells | Role::Unwrap => self.plain(text, out),
        }
    }

    fn marker_in_raw(&mut self, back: bool, role: Role, text: &str, out: &mut Out<'_>) {
        self.plain(text, out);
        match role {
            Role::Close | Role::CloseAnswer | Role::RawEnd => {
                self.place = Place::Text;
                if back && role == Role::RawEnd {
                    self.open("");
                }
            }
            Role::Answer | Role::CallEnd | Role::Drop | Role::Open | Role::Raw => {}
            Role::Stripped | Role::Tool | Role::ToolTells | Role::Unwrap => {}
        }
    }

    fn open(&mut self, marker: &str) {
        self.place = Place::Thought;
        self.thought.open(marker, marker.is_empty());
        if self.spec.family.unclosed == Unclosed::Thought {
            self.visible.before_thought(self.spec.family);
        }
    }

    /// A begin marker inside a thought.
    fn open_again(&mut self, text: &str, out: &mut Out<'_>) {
        let nested = self.spec.family.nested;
        let repeated = self.thought.implicit
            || match nested {
                Nested::Repeats | Nested::Restart => true,
                Nested::Depth | Nested::Text => false,
            };
        if repeated && self.thought.is_fresh() {
            self.thought.forget_space();
            self.thought.implicit = false;
            return;
        }
        match nested {
            Nested::Depth => {
                self.thought.depth = self.thought.depth.saturating_add(1);
                self.plain(text, out);
            }
            Nested::Repeats | Nested::Text => self.plain(text, out),
            Nested::Restart => {
                self.close(out);
                self.open(text);
            }
        }
    }

    /// The thought is whole.
    fn close(&mut self, out: &mut Out<'_>) {
        self.visible.before_thought(self.spec.family);
        let said = self.thought.close(true, self.spec.family, out);
        self.visible.after_thought(said);
        self.place = Place::Text;
        if self.spec.family.first_only && !self.options.every_block {
            self.idle = true;
        }
    }

    fn lone_close(&mut self, text: &str, out: &mut Out<'_>) {
        if std::mem::take(&mut self.owed) {
            return;
        }
        match self.spec.family.lone_close {
            LoneClose::Drop => {}
            LoneClose::DropLeading if !self.visible.any && !self.visible.after_thought => {
                self.visible.forget_space();
                self.visible.after_thought(false);
            }
            LoneClose::DropLeading | LoneClose::Text => self.plain(text, out),
        }
    }

    /// The text so far was text.
    fn settle_as_text(&mut self, out: &mut Out<'_>) {
        if self.undecided {
            self.undecided = false;
            let text = std::mem::take(&mut self.pending);
            self.visible.put(&text, self.spec.family, out);
        }
    }

    /// Settles the text so far as a thought, unless it is empty or blank. Returns whether it was a thought.
    fn settle_as_thought(&mut self, out: &mut Out<'_>) -> bool {
        if !self.undecided {
            return false;
        }
        let blank = match self.spec.family.blank {
            Blank::Kept => self.pending.is_empty(),
            Blank::NoThought => self.pending.chars().all(is_space),
        };
        if blank {
            self.settle_as_text(out);
            return false;
        }
        self.undecided = false;
        let thought = std::mem::take(&mut self.pending);
        self.place = Place::Thought;
        self.thought.open("", true);
        self.thought.put(&thought, self.spec.family, out);
        self.close(out);
        true
    }

    fn end_unclosed(&mut self, how: End, out: &mut Out<'_>) {
        let family = self.spec.family;
        self.place = Place::Text;
        match family.unclosed {
            Unclosed::Thought => {
                self.visible.before_thought(family);
                self.thought.close(how == End::Clean, family, out);
            }
            Unclosed::Untagged | Unclosed::Visible => {
                let opener = std::mem::take(&mut self.thought.opener);
                let kept = std::mem::take(&mut self.thought.kept);
                if family.unclosed == Unclosed::Visible {
                    self.visible.put(&opener, family, out);
                }
                self.visible.put(&kept, family, out);
            }
        }
    }

    /// A fence that opened inside a thought and never closed has hidden the end marker. It does not count as a fence,
    /// so the thought is read once more without it. In visible text such a fence goes on to the end, as Markdown has
    /// it.
    fn reread_open_fence(&mut self, out: &mut Out<'_>) {
        let Code::Fence { at, .. } = self.lexer.cursor.tracker.code else { return };
        let again = match self.place {
            Place::Thought => std::mem::take(&mut self.thought.kept),
            Place::Text if self.undecided => std::mem::take(&mut self.pending),
            Place::Text | Place::Call | Place::Raw { .. } => return,
        };
        // In text that may be a thought, only an end marker shows that it was one.
        self.reread = self.place == Place::Text;
        self.thought.depth = 1;
        self.lexer.cursor.tracker.restart();
        self.lexer.cursor.tracker.fence_limit = at;
        self.lexer.cursor.base = self.thought_at;
        self.run(&again, true, out);
        self.reread = false;
    }
}
