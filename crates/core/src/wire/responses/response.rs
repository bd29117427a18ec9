//! Whole responses.

use super::stream::Decoder;
use super::write_item::{Items, Place};
use super::{ID, terminal};
use crate::answer::{Answer, BESIDE};
use crate::content::{Block, Other};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::ending::Ending;

/// Reads a whole response as the events that a stream would give.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    // Some gateways wrap the response as the terminal event does.
    let response = body.get("response").filter(|inner| inner.is_object()).unwrap_or(body);
    if response.get("output").is_none() && terminal::is_error(response) {
        return sink.event(Event::Problem(&terminal::error_of(response)));
    }
    if let Some(model) = response.text("model") {
        sink.event(Event::Fact(Fact::Model(&model)));
    }
    if let Some(id) = response.text("id") {
        sink.event(Event::Fact(Fact::ResponseId(&id)));
    }
    let mut decoder = Decoder::default();
    terminal::take_output(&mut decoder, response, sink);
    terminal::usage(response, sink);
    terminal::fields(response, sink);
    terminal::beside(body, sink);
    match response.some("error") {
        Some(_) => sink.event(Event::Problem(&terminal::error_of(response))),
        None => terminal::finish(response, sink),
    }
}

/// Writes a whole response.
pub(super) fn write(answer: &Answer) -> String {
    let id = answer.response_id.as_deref().unwrap_or(NO_ID);
    let mut items = Items::new(Place::Answer(id));
    let mut output = Writer::new();
    output.array(|w| {
        items.answer(w, &answer.blocks);
        if let Some(refusal) = lone_refusal(answer) {
            items.output_message(w, &[refusal]);
        }
    });
    let mut w = Writer::new();
    let state = State {
        id,
        model: answer.model.as_deref(),
        ending: match answer.upstream_error().or_else(|| broken(answer)) {
            Some(problem) => Ended::Failed(problem),
            None => Ended::of(answer.finish_reason.as_deref()),
        },
        usage: answer.usage.as_ref(),
        extra: &answer.extra,
    };
    object(&mut w, &state, &output.finish());
    w.finish()
}

/// The refusal beside the content (the form of other wires), as a block.
fn lone_refusal(answer: &Answer) -> Option<Block> {
    let text = answer.refusal.as_deref()?;
    let is_there = |block: &Block| matches!(block, Block::Other(other) if other.kind == "refusal");
    (!answer.blocks.iter().any(is_there)).then(|| refusal_block(text))
}

/// A refusal as a part of a message.
pub(super) fn refusal_block(text: &str) -> Block {
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", "refusal");
            w.field_str("refusal", text);
        });
    });
    Block::Other(Other::new(ID, "refusal", raw))
}

fn broken(answer: &Answer) -> Option<&Problem> {
    answer.problems.iter().find(|problem| problem.code == ProblemCode::Truncated)
}

/// The id of a response that has none.
pub(super) const NO_ID: &str = "resp_0";

/// The state of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended<'a> {
    /// It came to an end, with this status and, if it is incomplete, this reason.
    Status(&'a str, Option<&'a str>),
    /// It failed.
    Failed(&'a Problem),
}

impl<'a> Ended<'a> {
    /// Translates a finish reason of any wire.
    pub(super) fn of(finish_reason: Option<&'a str>) -> Self {
        let Some(word) = finish_reason else { return Ended::Status("completed", None) };
        match word {
            "cancelled" | "completed" | "in_progress" | "incomplete" | "queued" => {
                Ended::Status(word, None)
            }
            "content_filter" | "max_output_tokens" => Ended::Status("incomplete", Some(word)),
            _ => match Ending::of(word) {
                Some(Ending::ContextFull | Ending::Failed | Ending::Length) => {
                    Ended::Status("incomplete", Some("max_output_tokens"))
                }
                Some(Ending::Refused) => Ended::Status("incomplete", Some("content_filter")),
                Some(Ending::Complete | Ending::Pause | Ending::StopSequence | Ending::ToolUse)
                | None => Ended::Status("completed", None),
            },
        }
    }

    /// The status word.
    pub(super) fn status(self) -> &'a str {
        match self {
            Ended::Status(status, _) => status,
            Ended::Failed(_) => "failed",
        }
    }
}

/// The members of a response object beside its output.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'a> {
    pub(super) id: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) ending: Ended<'a>,
    pub(super) usage: Option<&'a Usage>,
    /// The fields that have no name here.
    pub(super) extra: &'a Extra,
}

/// Writes the response object with this output. Clients demand some fields that no answer has; these get the API's
/// defaults.
pub(super) fn object(w: &mut Writer, state: &State<'_>, output: &str) {
    w.object(|w| {
        w.field_str("id", state.id);
        w.field_str("object", "response");
        w.field_str("status", state.ending.status());
        match state.ending {
            Ended::Failed(problem) => w.key("error").object(|w| {
                w.field_str("code", problem.at.as_deref().unwrap_or("server_error"));
                w.field_str("message", &problem.message);
            }),
            Ended::Status(..) => w.key("error").null(),
        }
        match state.ending {
            Ended::Status(_, Some(reason)) => {
                w.key("incomplete_details").object(|w| w.field_str("reason", reason));
            }
            Ended::Status(_, None) | Ended::Failed(_) => w.key("incomplete_details").null(),
        }
        w.opt_str("model", state.model);
        w.key("output").raw_str(output);
        for (key, value) in terminal::DEFAULTS {
            if state.extra.get(ID, key).is_none() {
                w.key(key).raw_str(value);
            }
        }
        w.extra(state.extra, ID);
        if let Some(beside) = state.extra.noted(ID, BESIDE) {
            w.members(beside, "");
        }
        match state.usage {
            Some(counts) => usage(w.key("usage"), counts),
            None => w.key("usage").null(),
        }
    });
}

/// Writes token counts: the object that came if it has this wire's form, else one with the known counts.
fn usage(w: &mut Writer, usage: &Usage) {
    // Some relatives count in the words of Chat Completions, which clients of this API do not read.
    let is_own =
        |raw: Val<'_>| raw.u64("input_tokens").is_some() && terminal::counts(raw) == *usage;
    if let Some(raw) = &usage.raw
        && is_own(raw.doc().root())
    {
        return w.raw(raw);
    }
    // The wire cannot express an unknown count, so an unknown count that it demands is written as 0.
    let demanded = |w: &mut Writer, key, count: Option<u64>| {
        w.field_u64(key, count.unwrap_or_default());
    };
    w.object(|w| {
        demanded(w, "input_tokens", usage.input_tokens_with_cached());
        w.key("input_tokens_details").object(|w| {
            demanded(w, "cached_tokens", usage.cache_read_tokens);
            if let Some(written) = usage.cache_write_tokens {
                w.field_u64("cache_write_tokens", written);
            }
        });
        demanded(w, "output_tokens", usage.output_tokens_with_reasoning());
        w.key("output_tokens_details").object(|w| {
            demanded(w, "reasoning_tokens", usage.reasoning_tokens);
        });
        demanded(w, "total_tokens", usage.total());
    });
}
