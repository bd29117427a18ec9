//! One request of ours and its answer, without any I/O: whoever drives it moves the bytes.
//!
//! [`Turn::begin`] builds the request; the driver sends it, passes on the head and the bytes of the answer, and
//! [`Turn::end`] gives the answer and the content that goes into the conversation. How the answer is read stands in
//! [`pipeline`](crate::pipeline).

use crate::answer::Answer;
use crate::content::{Content, Origin};
use crate::decision::Action;
use crate::event::Sink;
use crate::outgoing::{self, Outgoing};
use crate::pipeline::{End, Ended, Pipeline};
use crate::provider::Target;
use crate::request::Request;
use crate::settings::{Key, Resolved};

pub use crate::pipeline::Failure;

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Turn {
    outgoing: Outgoing,
    origin: Origin,
    pipeline: Pipeline,
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What the provider said.
    pub answer: Answer,
    /// How it ended.
    pub end: End,
    /// The message that goes into the conversation; `None` when nothing was said.
    pub content: Option<Content>,
    /// Why there is no proper answer, in a sentence for people.
    pub failure: Option<Failure>,
}

impl Turn {
    /// Builds the request.
    #[must_use]
    pub fn begin(request: &Request, target: &Target, settings: &Resolved) -> Self {
        let outgoing = outgoing::build(request, target, settings);
        let target = target.in_format(settings.format.value);
        let pipeline = Pipeline::new(target.reader(outgoing.stream));
        Turn { outgoing, origin: target.origin(None), pipeline }
    }

    /// The request to send.
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// The head of the answer came.
    pub fn head(&mut self, status: u16) {
        self.pipeline.head(status);
    }

    /// Bytes of the answer came.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.pipeline.push(bytes, &mut Vec::new(), sink);
    }

    /// The wire's own end of a stream was seen.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.pipeline.is_over()
    }

    /// The answer is over. `cut` says why, when the transport broke off.
    #[must_use]
    pub fn end(mut self, cut: Option<&str>, sink: &mut dyn Sink) -> Finished {
        let Ended { answer, end, mut failure } = self.pipeline.end(cut, &mut Vec::new(), sink);
        if let Some(failure) = &mut failure {
            failure.remedy = remedy(&failure.message, &self.outgoing);
        }
        let has_said = !answer.blocks.is_empty();
        let content = has_said.then(|| answer.clone().into_content(Some(self.origin)));
        Finished { answer, end, content, failure }
    }
}

/// A refusal that is about missing reasoning, after reasoning was left out, has a known remedy.
fn remedy(message: &str, outgoing: &Outgoing) -> Option<String> {
    // The last is all that some servers say when a thought is missing.
    const WORDS: [&str; 6] =
        ["encrypted", "reasoning", "signature", "thinking", "thought", "param incorrect"];
    let lower = message.to_ascii_lowercase();
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let mut of_blocks = outgoing.decisions.iter().filter(|it| it.block.is_some());
    let left_out = of_blocks.find(|it| it.action == Action::Strip)?;
    let (message, setting) = (left_out.message, left_out.setting);
    let value = match Key::parse(setting)? {
        Key::StripFromContext => "none",
        Key::Enabled => "true",
        Key::IncludeInContext
        | Key::IncludeInResponse
        | Key::Effort
        | Key::MaxTokens
        | Key::Format
        | Key::Display => "auto",
    };
    Some(format!(
        "the thought of message {message} was left out by `{setting}`; set that to `{value}`"
    ))
}
