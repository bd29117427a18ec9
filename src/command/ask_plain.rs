//! The output of `think ask` for people: the answer on standard output, all else on standard error.

use super::ask_show::{put, tell};
use super::ask_thought::{Shows, Thought, columns, width};
use super::asking::env;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};
use thinkthrough_chat::answer_start::AnswerStart;
use thinkthrough_chat::counted::{tokens, withheld};
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::screen::theme::{Background, Depth, Theme};
use thinkthrough_chat::screen::{Flow, Printer, last_words};
use thinkthrough_chat::{Notice, Watch, why_again};
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Content, Thinking, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::settings::Resolved;

/// The parts of an answer to print.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// Hides thoughts, tool calls and notes.
    pub(super) is_quiet: bool,
    /// Hides the text of the answer while it streams.
    pub(super) is_hidden: bool,
    pub(super) is_raw: bool,
}

/// Prints an answer while it streams.
pub(crate) struct Plain {
    form: Form,
    /// Formats the answer as Markdown, if standard output is a terminal.
    markdown: Option<Printer>,
    shows: Shows,
    colour: bool,
    thoughts: BTreeMap<usize, Thought>,
    /// Standard error ends inside a thought, without a line feed.
    is_open: bool,
    /// Wraps thoughts at words, if standard error is a terminal.
    flow: Option<Flow>,
    /// The last line of standard error is temporary.
    is_live: bool,
    /// Standard error is a terminal that can overwrite a line.
    is_terminal: bool,
    /// The time of the last live line of the answer.
    drawn: Option<Instant>,
    start: AnswerStart,
    has_answered: bool,
    ends_with_line: bool,
    warned: Vec<String>,
}

impl Plain {
    pub(super) fn new(settings: &Resolved, form: Form) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let is_laid_out = io::stdout().is_terminal() && !is_dumb && !form.is_raw;
        let shows = Shows::of(settings, is_terminal && !is_dumb);
        Plain {
            form,
            markdown: is_laid_out.then(|| Printer::new(theme(), columns(&io::stdout()))),
            shows: if form.is_quiet { Shows::Nothing } else { shows },
            colour: is_terminal && !is_plain && !is_dumb,
            thoughts: BTreeMap::new(),
            is_open: false,
            flow: is_terminal.then(Flow::default),
            is_live: false,
            is_terminal: is_terminal && !is_dumb,
            drawn: None,
            start: AnswerStart::default(),
            has_answered: false,
            ends_with_line: true,
            warned: Vec::new(),
        }
    }

    pub(crate) fn finish(&mut self) {
        self.lay_out_rest();
        self.close();
        if self.has_answered && !self.ends_with_line {
            put(&mut io::stdout(), "\n");
        }
    }

    /// Prints a line, unless the run is quiet.
    fn remark(&mut self, text: &str) {
        if !self.form.is_quiet {
            self.note(text);
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.close();
        put(&mut io::stderr(), &format!("{}\n", harmless(text)));
    }

    /// Ends the open line of standard error: erases a live line, or adds the line feed of a thought.
    fn close(&mut self) {
        if std::mem::take(&mut self.is_live) {
            put(&mut io::stderr(), "\r\u{1b}[K");
        }
        if std::mem::take(&mut self.is_open) {
            let rest = self.flow.as_mut().map(Flow::rest).unwrap_or_default();
            let off = if self.colour { "\u{1b}[0m" } else { "" };
            put(&mut io::stderr(), &format!("{rest}{off}\n"));
        }
    }

    fn think(&mut self, block: usize, delta: &str) {
        let Some(thought) = self.thoughts.get_mut(&block) else { return };
        thought.push(delta);
        match self.shows {
            Shows::Nothing => {}
            Shows::InFull => self.in_full(delta),
            Shows::Line { live: false, .. } => {}
            Shows::Line { live: true, .. } | Shows::Live => {
                if let Some(line) = thought.live_line(self.shows) {
                    self.is_live = true;
                    put(&mut io::stderr(), &live_line(&line, self.colour));
                }
            }
        }
    }

    fn in_full(&mut self, delta: &str) {
        let mut shown = String::new();
        let mut text = harmless(delta);
        if !self.is_open {
            shown.push_str(if self.colour { "\u{1b}[2;3m" } else { "" });
            text.insert_str(0, "thinking: ");
            self.is_open = true;
        }
        match &mut self.flow {
            Some(flow) => shown.push_str(&flow.push(&text, width())),
            None => shown.push_str(&text),
        }
        put(&mut io::stderr(), &shown);
    }

    fn thought(&mut self, block: usize, thinking: &Thinking, whole: Option<&str>) {
        let Some(thought) = self.thoughts.remove(&block) else { return };
        match self.shows {
            Shows::Nothing => {}
            Shows::InFull => {
                if !self.is_open && thinking.has_payload() {
                    self.note("thinking: (the provider withheld the text)");
                }
                self.close();
            }
            Shows::Line { label, .. } => self.note(&thought.line(label, thinking, whole)),
            Shows::Live => self.close(),
        }
    }

    fn answer(&mut self, delta: &str) {
        let delta = self.start.push(delta);
        if delta.is_empty() || self.form.is_hidden {
            return;
        }
        if let Some(printer) = &mut self.markdown {
            let lines = printer.push(&delta);
            let tail = last_words(printer.open(), width().saturating_sub(1));
            self.put_lines(&lines);
            self.draw_tail(&tail);
            return;
        }
        self.close();
        self.has_answered = true;
        self.ends_with_line = delta.ends_with('\n');
        put(&mut io::stdout(), &harmless(&delta));
    }
}

/// The shortest time between two live lines of an answer.
const REDRAW: Duration = Duration::from_millis(50);

impl Plain {
    fn put_lines(&mut self, lines: &str) {
        if !lines.is_empty() {
            self.close();
            put(&mut io::stdout(), lines);
        }
    }

    /// Shows the newest words of an incomplete block.
    fn draw_tail(&mut self, tail: &str) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
        if self.is_terminal && is_due && !tail.is_empty() {
            if !self.is_live {
                self.close();
            }
            self.drawn = Some(Instant::now());
            self.is_live = true;
            put(&mut io::stderr(), &live_line(tail, self.colour));
        }
    }

    /// Prints the rest of the answer before other output.
    fn lay_out_rest(&mut self) {
        if let Some(printer) = &mut self.markdown {
            let lines = printer.end();
            self.put_lines(&lines);
        }
    }
}

/// The theme for Markdown on this terminal.
fn theme() -> Theme {
    Theme::new(Background::of(env), Depth::of(env))
}

/// A line without a line feed, which later output overwrites.
fn live_line(text: &str, colour: bool) -> String {
    let [on, off] = if colour { ["\u{1b}[2;3m", "\u{1b}[0m"] } else { ["", ""] };
    format!("\r{on}{}{off}\u{1b}[K", harmless(text))
}

impl Watch for Plain {
    fn event(&mut self, _: usize, event: Event<'_>) {
        match event {
            Event::ThinkingStart { block, .. } => {
                self.lay_out_rest();
                self.thoughts.insert(block, Thought::begin(self.shows));
            }
            Event::ThinkingDelta { block, delta } => self.think(block, delta),
            Event::ThinkingEnd { block, thinking, thought } => {
                self.thought(block, thinking, thought);
            }
            Event::TextDelta { delta, .. } => self.answer(delta),
            Event::ToolCallEnd { call, .. } => {
                self.lay_out_rest();
                self.remark(&format!("calls {} {}", call.name, call.parameters.as_text()));
            }
            // The end of the run reports these problems.
            Event::Problem(problem)
                if !matches!(problem.code, ProblemCode::UpstreamError | ProblemCode::Truncated) =>
            {
                self.note(&problem.to_string());
            }
            _ => {}
        }
    }

    fn outgoing(&mut self, _: usize, request: &Outgoing) {
        for warning in &request.warnings {
            if !self.warned.contains(&warning.message) {
                self.warned.push(warning.message.clone());
                self.note(&format!("warning: {}", warning.message));
            }
        }
    }

    fn added(&mut self, _: usize, content: &Content) {
        if self.shows != Shows::Nothing
            && self.shows != Shows::Live
            && let Some(count) = withheld(content)
        {
            self.note(&format!("thinking: {} (the provider withheld the text)", tokens(count)));
        }
    }

    fn tool_response(&mut self, _: usize, response: &ToolResponse) {
        let text = response.result.text();
        let lines = text.lines().count();
        let name = response.name.as_deref().unwrap_or("tool");
        let word = if response.is_error { "failed" } else { "gave" };
        let plural = if lines == 1 { "" } else { "s" };
        self.remark(&format!("{name} {word} {lines} line{plural}"));
    }

    fn notice(&mut self, notice: &Notice) {
        self.close();
        tell(notice);
    }

    fn retry(&mut self, retry: &Retry<'_>) {
        let seconds = retry.wait.as_secs_f32();
        self.note(&format!("{}; trying again in {seconds:.1} s", why_again(retry)));
    }
}
