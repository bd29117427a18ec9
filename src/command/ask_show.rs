//! What `think ask` shows: text for people, events, or one JSON object.

use crate::failure::Failure;
use crate::sanitize::{harmless, push_harmless};
use std::io::{self, Write};
use thinkthrough_chat::{Outcome, Round, Watch};
use thinkthrough_client::Retry;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::json::Writer;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::settings::{Display, Resolved};
use thinkthrough_core::shape::{write_answer_and, write_block, write_event};
use thinkthrough_core::tokens::estimate_conservative;
use thinkthrough_core::usage::Usage;

/// Text for people: the answer on standard output, everything else on standard error.
pub(crate) struct Plain {
    shows_text: bool,
    shows_line: bool,
    colour: bool,
    thought: String,
    /// The last thing on standard error was a thought without its line feed.
    is_open: bool,
    has_answered: bool,
    ends_with_line: bool,
    warned: Vec<String>,
}

impl Plain {
    pub(crate) fn new(settings: &Resolved, colour: bool) -> Self {
        let shows = settings.include_in_response.value;
        let display = settings.display.value;
        let in_full = matches!(display, Display::Show | Display::StreamOnly);
        Plain {
            shows_text: shows && in_full,
            shows_line: shows && !in_full,
            colour,
            thought: String::new(),
            is_open: false,
            has_answered: false,
            ends_with_line: true,
            warned: Vec::new(),
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.has_answered && !self.ends_with_line {
            put(&mut io::stdout(), "\n");
        }
    }

    fn note(&mut self, text: &str) {
        self.close();
        put(&mut io::stderr(), &format!("{}\n", harmless(text)));
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            put(&mut io::stderr(), if self.colour { "\u{1b}[0m\n" } else { "\n" });
        }
    }

    fn think(&mut self, delta: &str) {
        let mut shown = String::new();
        if !self.is_open {
            shown.push_str(if self.colour { "\u{1b}[2;3m" } else { "" });
            shown.push_str("thinking: ");
            self.is_open = true;
        }
        push_harmless(delta, &mut shown);
        put(&mut io::stderr(), &shown);
    }

    fn answer(&mut self, delta: &str) {
        self.close();
        self.has_answered = true;
        self.ends_with_line = delta.ends_with('\n');
        put(&mut io::stdout(), &harmless(delta));
    }
}

impl Watch for Plain {
    fn event(&mut self, _: usize, event: Event<'_>) {
        match event {
            Event::ThinkingDelta { delta, .. } if self.shows_text => self.think(delta),
            Event::ThinkingDelta { delta, .. } if self.shows_line => self.thought.push_str(delta),
            Event::ThinkingEnd { thinking, .. } if self.shows_text => {
                if !self.is_open && thinking.has_payload() {
                    self.note("thinking: (the provider withheld the text)");
                }
                self.close();
            }
            Event::ThinkingEnd { .. } if self.shows_line => {
                let tokens = estimate_conservative(&std::mem::take(&mut self.thought));
                self.note(&format!("thought (about {tokens} tokens)"));
            }
            Event::TextDelta { delta, .. } => self.answer(delta),
            Event::ToolCallEnd { call, .. } => {
                self.note(&format!("calls {} {}", call.name, call.parameters.as_text()));
            }
            // What ends the run is said at its end.
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

    fn tool_response(&mut self, _: usize, response: &ToolResponse) {
        let doc = response.result.doc();
        let text = doc.root().as_str().unwrap_or_default();
        let lines = text.lines().count();
        let name = response.name.as_deref().unwrap_or("tool");
        let word = if response.is_error { "failed" } else { "gave" };
        let plural = if lines == 1 { "" } else { "s" };
        self.note(&format!("{name} {word} {lines} line{plural}"));
    }

    fn retry(&mut self, retry: &Retry<'_>) {
        let seconds = retry.wait.as_secs_f32();
        self.note(&format!("the provider is busy; trying again in {seconds:.1} s"));
    }
}

/// Nothing until the end, then one JSON object.
pub(crate) struct Recorder;

impl Watch for Recorder {
    fn event(&mut self, _: usize, _: Event<'_>) {}
    fn outgoing(&mut self, _: usize, _: &Outgoing) {}
    fn tool_response(&mut self, _: usize, _: &ToolResponse) {}
    fn retry(&mut self, _: &Retry<'_>) {}
}

/// Event lines as they come.
pub(crate) struct Stream {
    shows: bool,
}

impl Stream {
    pub(crate) fn new(shows: bool) -> Self {
        Stream { shows }
    }
}

impl Watch for Stream {
    fn event(&mut self, round: usize, event: Event<'_>) {
        let is_thought = matches!(
            event,
            Event::ThinkingStart { .. } | Event::ThinkingDelta { .. } | Event::ThinkingEnd { .. }
        );
        if is_thought && !self.shows {
            return;
        }
        let mut w = Writer::new();
        let more = |w: &mut Writer| w.field_u64("round", number(round));
        if write_event(&mut w, &event, &more) {
            put(&mut io::stdout(), &format!("{}\n", w.finish_line()));
        }
    }

    fn outgoing(&mut self, _: usize, _: &Outgoing) {}

    fn tool_response(&mut self, round: usize, response: &ToolResponse) {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("type", "tool_response");
            w.str_or_null("callId", response.call_id.as_deref());
            w.str_or_null("name", response.name.as_deref());
            w.field_raw("result", &response.result);
            if response.is_error {
                w.field_bool("isError", true);
            }
            w.field_u64("round", number(round));
        });
        put(&mut io::stdout(), &format!("{}\n", w.finish_line()));
    }

    fn retry(&mut self, _: &Retry<'_>) {}
}

/// Prints the last answer, the rounds, and the usage of all of them.
pub(crate) fn write_json(
    outcome: &Outcome,
    shows: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut last =
        outcome.rounds.last().map(|round| shown(&round.answer, shows)).unwrap_or_default();
    last.usage = summed(&outcome.rounds);
    let mut w = Writer::new();
    write_answer_and(&mut w, &last, &|w| {
        w.key("rounds").array(|w| {
            for round in &outcome.rounds {
                write_answer_and(w, &shown(&round.answer, shows), &|w| {
                    w.key("toolResponses").array(|w| {
                        for response in &round.tool_responses {
                            write_block(w, &Block::ToolResponse(response.clone()));
                        }
                    });
                });
            }
        });
        w.key("session").null();
        w.key("trace").null();
    });
    writeln!(out, "{}", w.finish_line())?;
    Ok(())
}

/// The answer without its thoughts where they are not to be shown.
fn shown(answer: &Answer, shows: bool) -> Answer {
    let mut answer = answer.clone();
    if !shows {
        answer.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
    }
    answer
}

/// Token counts over all rounds; a count that one round does not give is unknown for all.
fn summed(rounds: &[Round]) -> Option<Usage> {
    let mut sum: Option<Usage> = None;
    for round in rounds {
        let usage = Usage { raw: None, ..round.answer.usage.clone()? };
        sum = Some(match sum {
            None => usage,
            Some(sum) => plus(&sum, &usage),
        });
    }
    sum
}

fn plus(a: &Usage, b: &Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Usage {
        input_tokens: add(a.input_tokens, b.input_tokens),
        output_tokens: add(a.output_tokens, b.output_tokens),
        reasoning_tokens: add(a.reasoning_tokens, b.reasoning_tokens),
        cache_read_tokens: add(a.cache_read_tokens, b.cache_read_tokens),
        cache_write_tokens: add(a.cache_write_tokens, b.cache_write_tokens),
        total_tokens: add(a.total_tokens, b.total_tokens),
        raw: None,
    }
}

fn number(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Writes at once. A reader that has gone away is told by the last write of the command.
fn put(to: &mut dyn Write, text: &str) {
    drop(to.write_all(text.as_bytes()).and_then(|()| to.flush()));
}
