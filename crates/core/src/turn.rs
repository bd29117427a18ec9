//! One owner of a request and its answer, without any I/O: whoever drives it moves the bytes.
//!
//! [`Turn::begin`] builds the request; the driver sends it, passes on the head and the bytes of the answer, and
//! [`Turn::end`] gives the answer and the content that goes into the conversation.

use crate::answer::Answer;
use crate::content::Content;
use crate::event::{Event, Fold, Sink, Tee};
use crate::frame::Framing;
use crate::outgoing::{self, Outgoing};
use crate::policy::Action;
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::read::{Form, Reader};
use crate::request::Request;
use crate::settings::{Key, Resolved};
use crate::tags::{Options, TagSpec};

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
        Turn {
            outgoing: outgoing::build(request, target, settings),
            target: target.clone(),
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
        // Lines of JSON look like one JSON value until the second comes.
        let is_lines = self.target.wire.framing() == Framing::Ndjson;
        let form = if is_stream && is_lines { Form::Stream } else { Form::Auto };
        let mut reader = Reader::new(self.target.wire, &self.target.dialect, form);
        if let Some(spec) = self.target.rule.tags.and_then(TagSpec::named) {
            reader = reader.with_tags(&spec, Options::default());
        }
        self.reader = Some(reader);
    }

    /// Bytes of the answer came.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        if let Some(reader) = &mut self.reader {
            reader.push(bytes, &mut Tee(&mut self.fold, sink));
        }
    }

    /// The answer is over. `cut` says why, when the transport broke off.
    #[must_use]
    pub fn end(mut self, cut: Option<&str>, sink: &mut dyn Sink) -> Finished {
        let mut tee = Tee(&mut self.fold, sink);
        if let Some(reader) = &mut self.reader {
            reader.end(&mut tee);
        }
        if let Some(cut) = cut {
            let problem = Problem::new(ProblemCode::Truncated, cut);
            tee.event(Event::Problem(&problem));
        }
        let answer = self.fold.finish();
        let failure = failure(&answer, self.status, &self.outgoing);
        let has_said = !answer.blocks.is_empty();
        let content = has_said.then(|| answer.clone().into_content(Some(self.target.origin(None))));
        Finished { answer, content, failure }
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
    const WORDS: [&str; 5] = ["encrypted", "reasoning", "signature", "thinking", "thought"];
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
