//! One response of a provider.

use crate::content::{Block, Content, Origin, Speaker};
use crate::json::{Extra, Raw};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;

/// Note on an answer: an object with the members beside its message.
pub(crate) const BESIDE: &str = "choice";

/// The member of an answer with the reason of a refusal: the category, the explanation, a model to ask instead.
pub(crate) const REFUSAL_DETAILS: &str = "stop_details";

/// One response, read whole or folded from a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The blocks, in wire order.
    pub blocks: Vec<Block>,
    /// Token counts, if the provider gave any.
    pub usage: Option<Usage>,
    /// The provider's word for why the answer ended.
    pub finish_reason: Option<String>,
    /// The model that answered, by the provider's report.
    pub model: Option<String>,
    /// The response's own id.
    pub response_id: Option<String>,
    /// The stop sequence that ended the answer.
    pub stop_sequence: Option<String>,
    /// The text of a refusal beside the content.
    pub refusal: Option<String>,
    /// Text that goes before tool calls on the Cohere wire.
    pub tool_plan: Option<String>,
    /// An opaque payload on the message as a whole.
    pub message_signature: Option<String>,
    /// The further choices, if several were requested; this answer is the first.
    pub choices: Vec<Answer>,
    /// Fields of the response that have no name here.
    pub extra: Extra,
    /// Findings on the way.
    pub problems: Vec<Problem>,
}

impl Answer {
    /// The text blocks, concatenated.
    #[must_use]
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Why it was refused, in the provider's own object: the category, the explanation, a model to ask instead.
    #[must_use]
    pub fn refusal_details(&self) -> Option<&Raw> {
        let mut fields = self.extra.fields.iter();
        fields.find(|(key, _)| key == REFUSAL_DETAILS).map(|(_, details)| details)
    }

    /// Whether the answer ended without errors and without missing parts.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.problems.iter().any(Problem::breaks)
    }

    /// The provider's error, if it answered with one.
    #[must_use]
    pub fn upstream_error(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.code == ProblemCode::UpstreamError)
    }

    /// The message that goes into the conversation.
    #[must_use]
    pub fn into_content(self, origin: Option<Origin>) -> Content {
        let partial = !self.is_complete();
        let mut content = Content {
            origin,
            partial,
            finish_reason: self.finish_reason,
            usage: self.usage,
            signature: self.message_signature,
            ..Content::new(Speaker::Ai, self.blocks)
        };
        // The one wire that has such a plan wants it back beside the calls.
        if let Some(plan) = &self.tool_plan {
            content.extra.insert("cohere-chat", "tool_plan", Raw::string(plan));
        }
        content
    }
}
