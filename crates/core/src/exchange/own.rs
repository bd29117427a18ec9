//! A request of an own conversation, and its answer.

use super::mending::{Mending, Sent, may_be_repaired};
use super::{Prepared, RequestContext};
use crate::answer::Answer;
use crate::content::{Content, Origin};
use crate::decide::Repair;
use crate::decision::Action;
use crate::event::{Event, Sink};
use crate::outgoing::Outgoing;
use crate::pipeline::{End, Failure};
use crate::plane::{Open, SealError};
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::request::Request;
use crate::settings::{Efforts, Include, Key, Resolved};
use std::borrow::Cow;
use std::mem::take;
use thinkthrough_mask::Masker;

/// One request to a model, and its answer, without any I/O: the driver moves the bytes.
///
/// ```
/// use thinkthrough_core::content::{Content, Speaker};
/// use thinkthrough_core::event::Event;
/// use thinkthrough_core::exchange::{Ended, Turn};
/// use thinkthrough_core::provider::Target;
/// use thinkthrough_core::request::Request;
/// use thinkthrough_core::settings::Resolved;
///
/// let target = Target::built_in("deepseek", None, "deepseek-v4-pro").unwrap();
/// let contents = vec![Content::text(Speaker::Human, "What is 2 + 2?")];
/// let request = Request { contents, ..Request::default() };
/// let mut turn = Turn::begin(&request, &target, &Resolved::default());
/// let answered = loop {
///     // Here turn.outgoing() is sent; this is what came back.
///     let (status, body) = (200, br#"{"choices":[{"message":{"reasoning_content":"Easy.","content":"4"}}]}"#);
///     turn.head(status);
///     turn.push(body, &mut |_: Event<'_>| {});
///     match turn.end(None, &mut |_: Event<'_>| {}) {
///         Ended::Done(finished) => break finished.content.unwrap(),
///         Ended::Again(repaired) => turn = *repaired,
///     }
/// };
/// assert_eq!(answered.thoughts().next().unwrap().thought, "Easy.");
/// ```
#[derive(Debug)]
pub struct Turn<'d> {
    own: Own<'d>,
    /// The model as it is asked, repairs included.
    target: Target,
    mending: Mending,
    prepared: Prepared,
    status: u16,
    /// The body of a refusal, as long as the request may be repaired.
    refusal: Vec<u8>,
    /// The errors of a stream that has sent only errors so far.
    held: Option<Vec<Problem>>,
}

/// An own conversation that goes to a model.
#[derive(Clone, Debug)]
pub struct Own<'d> {
    /// The conversation and its parameters.
    pub request: &'d Request,
    /// The model.
    pub target: Target,
    /// The settings that hold.
    pub settings: Resolved,
    /// Covers secrets in the texts of users and tools.
    pub masker: Option<&'d Masker>,
    /// Compute how the outgoing request [differs](Prepared::differences) from the conversation.
    pub is_compared: bool,
}

impl<'d> Own<'d> {
    /// A conversation that goes out unchanged, without a comparison.
    #[must_use]
    pub fn new(request: &'d Request, target: &Target, settings: &Resolved) -> Self {
        let (target, settings) = (target.clone(), settings.clone());
        Own { request, target, settings, masker: None, is_compared: false }
    }

    /// The request that would go out. A pure function: the same conversation, target and settings give the same bytes.
    #[must_use]
    pub fn outgoing(self) -> Outgoing {
        Turn::of(self).prepared.exchange.into_outgoing()
    }
}

/// How a request ended.
#[derive(Debug)]
pub enum Ended<'d> {
    /// With an answer, or with a final failure.
    Done(Box<Finished>),
    /// It was refused for its thoughts. This repaired request is to be sent.
    Again(Box<Turn<'d>>),
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The answer of the provider.
    pub answer: Answer,
    /// How it ended.
    pub end: End,
    /// The message for the conversation; `None` if the answer is empty.
    pub content: Option<Content>,
    /// Why there is no proper answer, in a sentence for people.
    pub failure: Option<Failure>,
    /// The lesson of a refusal about the model: further requests go [to the model as it teaches
    /// it](Repair::taught_to).
    pub fact: Option<Repair>,
    /// The turn cannot go on with thinking: its further requests go without, too.
    pub is_off: bool,
}

/// A longer refusal contains no further information.
const LONGEST: usize = 64 * 1024;

/// The request that would go out, by [`Own::outgoing`].
#[must_use]
pub fn build(request: &Request, target: &Target, settings: &Resolved) -> Outgoing {
    Own::new(request, target, settings).outgoing()
}

impl<'d> Turn<'d> {
    /// Builds the request.
    #[must_use]
    pub fn begin(request: &'d Request, target: &Target, settings: &Resolved) -> Self {
        Turn::of(Own::new(request, target, settings))
    }

    /// Builds the request.
    #[must_use]
    pub fn of(own: Own<'d>) -> Self {
        Turn::mended(own, Mending::own())
    }

    fn mended(own: Own<'d>, mut mending: Mending) -> Self {
        let mut asked = RequestContext::own(own.request, &own.target, &own.settings);
        asked.compare(own.is_compared);
        asked.cover(own.masker);
        let known = refused(&own.request.contents, &asked.target.origin(None));
        mending.apply(&mut asked, known);
        let mut prepared = asked.prepare(&[], &Nothing);
        let said = mending.repaired().map(|repair| again(repair, &asked.target));
        prepared.exchange.warn(said);
        let target = asked.target;
        let (refusal, held) = (Vec::new(), Some(Vec::new()));
        Turn { own, target, mending, prepared, status: 200, refusal, held }
    }

    /// The request to send.
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        self.prepared.exchange.outgoing()
    }

    /// The data about the request beside its bytes.
    #[must_use]
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The conversation.
    #[must_use]
    pub fn request(&self) -> &'d Request {
        self.own.request
    }

    /// The model as it is asked, repairs included.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The repair of this request.
    #[must_use]
    pub fn repaired(&self) -> Option<Repair> {
        self.mending.repaired()
    }

    /// The head of the answer came.
    pub fn head(&mut self, status: u16) {
        self.status = status;
        self.prepared.exchange.head(status);
    }

    /// Bytes of the answer came.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        if self.may_be_repaired() && self.refusal.len() < LONGEST {
            self.refusal.extend_from_slice(bytes);
            return;
        }
        let held = &mut self.held;
        self.prepared.exchange.push(bytes, &mut Vec::new(), &mut |event: Event<'_>| {
            match (event, &mut *held) {
                (Event::Problem(problem), Some(held)) => return held.push(problem.clone()),
                (Event::Fact(_) | Event::Usage(_), _) | (_, None) => {}
                (_, all @ Some(_)) => tell(all, sink),
            }
            sink.event(event);
        });
    }

    /// The wire's own end of a stream was seen.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.prepared.exchange.is_over()
    }

    /// The answer is over. `cut` is the reason if the transport broke off.
    #[must_use]
    pub fn end(self, cut: Option<&str>, sink: &mut dyn Sink) -> Ended<'d> {
        match self.again() {
            Some(next) => Ended::Again(Box::new(next)),
            None => Ended::Done(Box::new(self.finish(cut, sink))),
        }
    }

    /// The same, and a refusal is the end of it.
    #[must_use]
    pub fn finish(mut self, cut: Option<&str>, sink: &mut dyn Sink) -> Finished {
        let refusal = take(&mut self.refusal);
        tell(&mut self.held, sink);
        let mut exchange = self.prepared.exchange;
        if !refusal.is_empty() {
            exchange.push(&refusal, &mut Vec::new(), sink);
        }
        let mut finished = exchange.finish(cut, self.target.origin(None), &self.own.settings, sink);
        if let Some(content) = finished.content.as_mut().filter(|_| finished.failure.is_none()) {
            content.refused.extend(self.mending.marks().iter().cloned());
            finished.fact = self.mending.fact();
            finished.is_off = self.mending.repaired() == Some(Repair::Off);
        }
        finished
    }

    fn may_be_repaired(&self) -> bool {
        !(200..300).contains(&self.status) && self.mending.may_go_on()
    }

    /// The same request with a repair, if the refusal asks for a repair that changes it.
    fn again(&self) -> Option<Self> {
        let refusal = match self.held.iter().flatten().find(|it| it.breaks()) {
            // A stream that begins with an error refuses the request as a status would.
            Some(problem) if (200..300).contains(&self.status) => Cow::Borrowed(&*problem.message),
            _ => String::from_utf8_lossy(&self.refusal),
        };
        let status = if self.refusal.is_empty() { 400 } else { self.status };
        // If a setting keeps thoughts out, the user learns which one.
        let is_wanted = remedy(&refusal, self.outgoing(), &self.own.settings).is_some();
        let is_refused = !refusal.is_empty() && self.mending.may_go_on() && !is_wanted;
        if !is_refused || !may_be_repaired(status, &refusal) {
            return None;
        }
        let body = self.outgoing().body.as_bytes();
        let (put_back, target) = (&self.prepared.put_back, &self.target);
        let sent = Sent { body, put_back, target, has_more: true };
        let mending = self.mending.after(&refusal, sent)?;
        let next = Turn::mended(self.own.clone(), mending);
        (next.outgoing().body.as_bytes() != body).then_some(next)
    }
}

/// Tells the errors that were held back.
fn tell(held: &mut Option<Vec<Problem>>, sink: &mut dyn Sink) {
    held.take().iter().flatten().for_each(|problem| sink.event(Event::Problem(problem)));
}

/// The warning to the user that a request goes out a second time.
fn again(repair: Repair, target: &Target) -> Problem {
    let what = match repair {
        // A fact about the model, which lives as long as its store or process.
        Repair::Forbid => "thoughts in this request: it goes again without them".to_owned(),
        Repair::Omit | Repair::Replace => {
            "thoughts in this request: it goes again without them, and they stay out".to_owned()
        }
        Repair::Efforts(efforts) if efforts == Efforts::default() => {
            "the effort in this request: it goes again without one".to_owned()
        }
        Repair::Efforts(_) => {
            "the effort in this request: it goes again with the nearest one that the refusal names"
                .to_owned()
        }
        Repair::Without(member) => {
            format!("`{member}` in this request: it goes again without it")
        }
        Repair::Off => "this request: it goes again without thinking".to_owned(),
        Repair::Apart | Repair::Return(_) | Repair::Sign => {
            "this request: it goes again in the form that the refusal asks for".to_owned()
        }
    };
    Problem::new(ProblemCode::Fallback, format!("`{}` refused {what}", target.model))
}

/// The marks of the thoughts that this model refused, from its answers in the conversation.
fn refused(contents: &[Content], model: &Origin) -> Vec<String> {
    let its = contents.iter().filter(|content| {
        content.origin.as_ref().is_some_and(|it| it.is_beside(model) && it.model == model.model)
    });
    its.flat_map(|content| content.refused.iter().cloned()).collect()
}

/// An own conversation has no sealed records.
struct Nothing;

impl Open for Nothing {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

/// A refusal that is about missing reasoning, after reasoning was left out, has a known remedy.
pub(super) fn remedy(message: &str, outgoing: &Outgoing, settings: &Resolved) -> Option<String> {
    // If a thought is missing, some servers answer only with the last of these words.
    const WORDS: [&str; 6] =
        ["encrypted", "reasoning", "signature", "thinking", "thought", "param incorrect"];
    let lower = message.to_ascii_lowercase();
    if !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let mut of_blocks = outgoing.decisions.iter().filter(|it| it.block.is_some());
    let left_out = of_blocks.find(|it| it.action == Action::Strip)?;
    // The setting is not at fault for a thought that no contract demanded.
    let is_at_fault = Key::parse(left_out.setting) != Some(Key::IncludeInContext)
        || settings.include_in_context.value != Include::Auto;
    if !is_at_fault {
        return None;
    }
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
