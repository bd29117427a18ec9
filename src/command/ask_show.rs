//! The output of `think ask` for programs: events, or one JSON object.

use crate::failure::{Failure, say};
use crate::printed::{for_output, printed};
use std::io::{self, Write};
use thinkthrough_chat::counted;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::screen::code_blocks;
use thinkthrough_chat::{Cover, Notice, Outcome, Round, Watch, grouped};
use thinkthrough_client::Retry;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Content, Speaker, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::price::Price;
use thinkthrough_core::shape::{write_answer_and, write_block, write_event, write_result};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_core::usage::Usage;
use thinkthrough_json::Writer;
use thinkthrough_store::Cost;

/// Prints no events, because the command prints one JSON object at its end.
#[derive(Default)]
pub(crate) struct Recorder {
    warned: Warned,
}

/// The warnings so far. Each one is printed once, on standard error.
#[derive(Default)]
struct Warned(Vec<String>);

impl Warned {
    fn tell(&mut self, request: &Outgoing) {
        for warning in &request.warnings {
            if !self.0.contains(&warning.message) {
                say(format_args!("warning: {}", warning.message));
                self.0.push(warning.message.clone());
            }
        }
    }
}

impl Watch for Recorder {
    fn event(&mut self, _: usize, _: Event<'_>) {}

    fn outgoing(&mut self, _: usize, request: &Outgoing) {
        self.warned.tell(request);
    }

    fn tool_response(&mut self, _: usize, _: &ToolResponse) {}
    fn retry(&mut self, _: &Retry<'_>) {}

    fn notice(&mut self, notice: &Notice) {
        tell(notice);
    }
}

/// Prints each event as a line of JSON.
pub(crate) struct Stream {
    shows: bool,
    warned: Warned,
}

impl Stream {
    pub(crate) fn new(shows: bool) -> Self {
        Stream { shows, warned: Warned::default() }
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
            put(&mut io::stdout(), &(printed(&w.finish()) + "\n"));
        }
    }

    fn outgoing(&mut self, _: usize, request: &Outgoing) {
        self.warned.tell(request);
    }

    fn tool_response(&mut self, round: usize, response: &ToolResponse) {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("type", "tool_response");
            w.str_or_null("callId", response.call_id.as_deref());
            w.str_or_null("name", response.name.as_deref());
            write_result(w.key("result"), &response.result);
            if response.is_error {
                w.field_bool("isError", true);
            }
            w.field_u64("round", number(round));
        });
        put(&mut io::stdout(), &(printed(&w.finish()) + "\n"));
    }

    fn retry(&mut self, _: &Retry<'_>) {}

    fn notice(&mut self, notice: &Notice) {
        tell(notice);
    }
}

pub(super) fn tell(notice: &Notice) {
    say(format_args!("note: {notice}"));
}

/// Prints the last answer, all rounds, and their total usage.
pub(crate) fn write_json(
    outcome: &Outcome,
    session: Option<&str>,
    (shows, cover): (bool, &Cover),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut last =
        outcome.rounds.last().map(|round| shown(&round.answer, shows)).unwrap_or_default();
    last.usage = summed(&outcome.rounds);
    let count = |round: &Round| {
        let Answer { usage, blocks, .. } = &round.answer;
        counted::known(usage.as_ref(), blocks, round.answer.is_complete())
    };
    let mut w = Writer::new();
    write_answer_and(&mut w, &last, &|w| {
        let counts: Vec<_> = outcome.rounds.iter().filter_map(count).collect();
        write_count(w, (!counts.is_empty()).then(|| counted::sum(counts)));
        w.key("rounds").array(|w| {
            for round in &outcome.rounds {
                write_answer_and(w, &shown(&round.answer, shows), &|w| {
                    write_count(w, count(round));
                    w.key("toolResponses").array(|w| {
                        for response in &round.tool_responses {
                            write_block(w, &Block::ToolResponse(response.clone()));
                        }
                    });
                });
            }
        });
        w.str_or_null("session", session);
        let trace = outcome.rounds.last().and_then(|round| round.trace.as_deref());
        w.str_or_null("trace", trace);
    });
    writeln!(out, "{}", for_output(&cover.json(&w.finish())))?;
    Ok(())
}

/// Writes the tokens of the thoughts and the source of that count. An estimate replaces a `null` of `usage`.
fn write_count(w: &mut Writer, count: Option<TokenCount>) {
    let Some(count) = count else { return w.key("reasoning").null() };
    w.key("reasoning").object(|w| {
        w.field_u64("tokens", count.tokens);
        w.field_str("source", count.source.as_str());
    });
}

/// Prints the tokens of all rounds, and their cost if the price is known.
pub(super) fn tell_usage(outcome: &Outcome, price: Option<Price>) {
    let usage = summed(&outcome.rounds).unwrap_or_default();
    let count = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), grouped);
    let part = |count: Option<u64>, what: &str| {
        let count = count.filter(|it| *it > 0);
        count.map(|it| format!(" ({} {what})", grouped(it))).unwrap_or_default()
    };
    let mut cost = Cost::default();
    outcome.rounds.iter().for_each(|it| cost += Cost::of(price, it.answer.usage.as_ref()));
    say(format_args!(
        "usage: {} tokens in{}, {} out{}{}",
        count(usage.input_tokens),
        part(usage.cache_read_tokens, "cached"),
        count(usage.output_tokens),
        part(usage.reasoning_tokens, "thought"),
        cost.shown().map(|cost| format!(", {cost}")).unwrap_or_default()
    ));
}

/// Prints the code blocks of the last answer. An answer without code goes to standard error, so that a script does not
/// mistake prose for code.
pub(super) fn print_code(
    outcome: &Outcome,
    cover: &Cover,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let blocks = outcome.rounds.last().map(|it| it.answer.blocks.clone()).unwrap_or_default();
    let answer = Content::new(Speaker::Ai, blocks).visible_text();
    let answer = harmless(&cover.text(&answer));
    let blocks = code_blocks(&answer);
    if blocks.is_empty() {
        say(format_args!("{}", answer.trim_end()));
        let message = "the answer above has no block of code; leave out `-x` to print all of it";
        return Err(Failure::Failed(message.to_owned()));
    }
    Ok(out.write_all(blocks.join("\n").as_bytes())?)
}

/// The answer, without its thoughts if the settings hide them.
fn shown(answer: &Answer, shows: bool) -> Answer {
    let mut answer = answer.clone();
    if !shows {
        answer.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
    }
    answer
}

/// Adds the usage of all rounds. A count that one round does not report is unknown for all.
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
        tool_input_tokens: match (a.tool_input_tokens, b.tool_input_tokens) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default().saturating_add(b.unwrap_or_default())),
        },
        is_cached_apart: a.is_cached_apart && b.is_cached_apart,
        is_reasoning_apart: a.is_reasoning_apart || b.is_reasoning_apart,
        total_tokens: add(a.total_tokens, b.total_tokens),
        is_early: a.is_early || b.is_early,
        is_priced_apart: a.is_priced_apart || b.is_priced_apart,
        raw: None,
    }
}

fn number(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Writes and flushes. Ignores errors here, because the last write of the command reports a closed pipe.
pub(super) fn put(to: &mut dyn Write, text: &str) {
    drop(to.write_all(text.as_bytes()).and_then(|()| to.flush()));
}
