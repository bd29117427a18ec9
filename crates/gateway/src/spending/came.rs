//! Estimates the received tokens of an answer, for budgets whose provider reports no count.

use thinkthrough_core::content::Block;
use thinkthrough_core::event::Event;
use thinkthrough_core::settled::{AnswerSize, Settled};
use thinkthrough_core::tokens::AnswerEstimate;
use thinkthrough_core::usage::Usage;

/// The estimated tokens of an answer so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    /// Tokens of thoughts.
    pub(crate) thought: u64,
    /// Tokens of the whole answer, thoughts included.
    pub(crate) all: u64,
    /// It came to its end.
    pub(crate) is_whole: bool,
}

impl Came {
    /// An estimate from `text` bytes of text, thoughts included.
    pub(super) fn of(thoughts: AnswerEstimate, text: usize, is_whole: bool) -> Self {
        let all = (text as u64).div_ceil(4).saturating_add(thoughts.sealed());
        Came { thought: thoughts.total(), all, is_whole }
    }

    /// The final size of the answer, from the provider's count and the estimate.
    pub(crate) fn settled(self, usage: Option<&Usage>) -> Settled {
        let size = AnswerSize { thought: self.thought, all: self.all };
        Settled::of(usage, size, self.is_whole)
    }
}

/// The bytes of text that an event adds.
pub(crate) fn text(event: Event<'_>) -> usize {
    match event {
        Event::ThinkingDelta { delta, .. }
        | Event::TextDelta { delta, .. }
        | Event::ToolCallDelta { delta, .. } => delta.len(),
        Event::Whole { value: Block::Thinking(thinking), .. } => thinking.thought.len(),
        Event::Whole { value: Block::Text(said), .. } => said.text.len(),
        Event::Choice { event, .. } => text(*event),
        _ => 0,
    }
}
