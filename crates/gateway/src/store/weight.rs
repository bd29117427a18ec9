//! The memory that each event of an answer adds to its record.

use thinkthrough_core::content::{Block, MediaSource, Parameters, Text, Thinking, ToolCall};
use thinkthrough_core::event::{Event, Fact};

/// The memory of a block without its text.
const BLOCK: usize = 256;

/// Counts the bytes that one event adds, sealed payloads included.
pub(crate) fn weight(event: Event<'_>) -> usize {
    match event {
        Event::ThinkingDelta { delta, .. }
        | Event::TextDelta { delta, .. }
        | Event::ToolCallDelta { delta, .. } => delta.len(),
        Event::ThinkingStart { .. } | Event::TextStart { .. } | Event::ToolCallStart { .. } => {
            BLOCK
        }
        Event::ThinkingEnd { thinking, .. } => of_thinking(thinking),
        Event::TextEnd { text, .. } => of_text(text),
        Event::ToolCallEnd { call, .. } => of_call(call),
        Event::Whole { value, .. } => BLOCK + of_block(value),
        Event::Fact(fact) => of_fact(fact),
        Event::Problem(problem) => BLOCK + problem.message.len(),
        Event::Choice { event, .. } => weight(*event),
        _ => 0,
    }
}

fn length(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

/// The bytes of a thought, sealed payloads included.
pub(crate) fn of_thinking(thinking: &Thinking) -> usize {
    let payloads = [&thinking.signature, &thinking.redacted_data, &thinking.encrypted_content];
    let payloads: usize = payloads.into_iter().map(|it| length(it.as_ref())).sum();
    let parts = thinking.summary.iter().chain(&thinking.content).flatten();
    thinking.thought.len() + payloads + parts.map(String::len).sum::<usize>()
}

fn of_text(text: &Text) -> usize {
    text.text.len() + length(text.signature.as_ref())
}

fn of_call(call: &ToolCall) -> usize {
    let parameters = match &call.parameters {
        Parameters::Free(text) | Parameters::Invalid(text) => text.len(),
        Parameters::Json(raw) => raw.as_str().len(),
    };
    call.name.len() + parameters + length(call.signature.as_ref())
}

fn of_block(block: &Block) -> usize {
    match block {
        Block::Media(media) => match &media.source {
            MediaSource::Data(text) | MediaSource::Url(text) => text.len(),
        },
        Block::Other(other) => other.raw.as_str().len(),
        Block::Text(text) => of_text(text),
        Block::Thinking(thinking) => of_thinking(thinking),
        Block::ToolCall(call) => of_call(call),
        Block::ToolResponse(response) => response.result.size(),
    }
}

fn of_fact(fact: Fact<'_>) -> usize {
    match fact {
        Fact::Beside { members: raw, .. }
        | Fact::Field { value: raw, .. }
        | Fact::Note { value: raw, .. } => raw.as_str().len(),
        Fact::MessageSignature(text) | Fact::Refusal(text) | Fact::ToolPlan(text) => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_payloads_and_blocks_of_every_choice_are_counted() {
        let sealed = Thinking {
            encrypted_content: Some("x".repeat(1000)),
            summary: Some(vec!["y".repeat(10)]),
            ..Thinking::new("", "summary")
        };
        let end = Event::ThinkingEnd { block: 0, thinking: &sealed, thought: None };
        assert_eq!(weight(end), 1010);
        let delta = Event::ThinkingDelta { block: 0, delta: "four" };
        assert_eq!(weight(Event::Choice { index: 1, event: &delta }), 4);
        let whole = Block::Text(Text::new("whole"));
        assert_eq!(weight(Event::Whole { block: 0, value: &whole }), BLOCK + 5);
    }
}
