//! One owner of a request and its answer, without any I/O: whoever drives it moves the bytes.
//!
//! [`Turn::begin`] builds the request; the driver sends it, passes on the head and the bytes of the answer, and
//! [`Turn::end`] gives the answer and the content that goes into the conversation.

use crate::answer::Answer;
use crate::content::Content;
use crate::event::{Event, Fold, Sink, Tee};
use crate::outgoing::{self, Outgoing};
use crate::policy::Action;
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::read::Reader;
use crate::request::Request;
use crate::settings::{Key, Resolved};

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Turn {
    target: Target,
    outgoing: Outgoing,
    status: u16,
    reader: Option<Reader>,
    fold: Fold,
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What the provider said.
    pub answer: Answer,
    /// The message that goes into the conversation; `None` when nothing was said.
    pub content: Option<Content>,
    /// Why there is no proper answer, in a sentence for people.
    pub failure: Option<Failure>,
}

/// Why there is no proper answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The provider's words.
    pub message: String,
    /// What to do about it, where that is known.
    pub remedy: Option<String>,
}

impl Turn {
    /// Builds the request.
    #[must_use]
    pub fn begin(request: &Request, target: &Target, settings: &Resolved) -> Self {
        Turn::with(outgoing::build(request, target, settings), target, settings)
    }

    /// The turn of a request that is built already.
    #[must_use]
    pub fn with(outgoing: Outgoing, target: &Target, settings: &Resolved) -> Self {
        Turn {
            outgoing,
            target: target.in_format(settings.format.value).into_owned(),
            status: 200,
            reader: None,
            fold: Fold::new(),
        }
    }

    /// The request to send.
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// The head of the answer came.
    pub fn head(&mut self, status: u16) {
        self.status = status;
        let is_stream = self.outgoing.stream && (200..300).contains(&status);
        self.reader = Some(self.target.reader(is_stream));
    }

    /// Bytes of the answer came.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        if let Some(reader) = &mut self.reader {
            reader.push(bytes, &mut Tee(&mut self.fold, sink));
        }
    }

    /// The wire's own end of a stream was seen.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reader.as_ref().is_some_and(Reader::is_over)
    }

    /// The answer is over. `cut` says why, when the transport broke off.
    #[must_use]
    pub fn end(self, cut: Option<&str>, sink: &mut dyn Sink) -> Finished {
        let origin = self.target.origin(None);
        let (answer, failure) = self.answer(cut, sink);
        let has_said = !answer.blocks.is_empty();
        let content = has_said.then(|| answer.clone().into_content(Some(origin)));
        Finished { answer, content, failure }
    }

    /// As [`Turn::end`], for whoever needs the answer alone: it may be large, and is not copied.
    #[must_use]
    pub(crate) fn answer(
        mut self,
        cut: Option<&str>,
        sink: &mut dyn Sink,
    ) -> (Answer, Option<Failure>) {
        let mut tee = Tee(&mut self.fold, sink);
        let has_read = self.reader.as_mut().is_none_or(|reader| reader.end(&mut tee));
        if !has_read && (200..300).contains(&self.status) {
            // Decoders say that a message lacks its end, not that there is none.
            let problem = Problem::new(
                ProblemCode::Truncated,
                "there is nothing in the answer that can be read",
            );
            tee.event(Event::Problem(&problem));
        }
        if let Some(cut) = cut {
            let problem = Problem::new(ProblemCode::Truncated, cut);
            tee.event(Event::Problem(&problem));
        }
        let answer = self.fold.finish();
        let failure = failure(&answer, self.status, &self.outgoing);
        (answer, failure)
    }
}

fn failure(answer: &Answer, status: u16, outgoing: &Outgoing) -> Option<Failure> {
    let problem = answer.upstream_error();
    let is_refused = !(200..300).contains(&status);
    let message = match problem {
        Some(problem) => problem.message.clone(),
        None if is_refused => format!("the provider answered with status {status}"),
        None => return None,
    };
    let message = message.trim_end_matches('.').to_owned();
    Some(Failure { status, remedy: remedy(&message, outgoing), message })
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
    let left_out = outgoing.decisions.iter().find(|it| it.action == Action::Strip)?;
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
