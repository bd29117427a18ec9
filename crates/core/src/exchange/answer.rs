//! An answer on its way to the caller.

use super::handling::View;
use super::mint::{Edited, Mint, record_of};
use super::show::Show;
use super::{Owner, RequestContext};
use crate::answer::Answer;
use crate::content::Origin;
use crate::event::{Event, Fact, Sink};
use crate::json::Raw;
use crate::outgoing::Outgoing;
use crate::problem::{Problem, ProblemCode};
use crate::restore::{Answered, Delivery, Head, Hook, Kept, Restoration};
use crate::turn::{Failure, Turn};
use crate::wire::{Encode, ErrorBody, Wire};
use std::borrow::Cow;

/// A request on its way, and its answer.
#[derive(Debug)]
pub struct Exchange {
    caller: &'static dyn Wire,
    turn: Turn,
    passing: Passing,
    keeper: Option<Keeper>,
    /// It is kept by its name.
    is_named: bool,
    status: u16,
}

/// What becomes of the upstream's bytes.
#[derive(Debug)]
enum Passing {
    /// They are the caller's.
    Untouched,
    /// They are the caller's, but for the ids of calls.
    Edited(Edited),
    /// The answer is written anew.
    Anew(Writer),
}

/// Writes the answer anew.
#[derive(Debug)]
struct Writer {
    wire: &'static str,
    encoder: Box<dyn Encode>,
    /// The name that it is kept by, and whether the stream said it.
    name: Option<Name>,
    is_said: bool,
    /// Where the caller finds thoughts, if it is said.
    show: Option<Show>,
    /// Gives calls and thoughts their tickets.
    mint: Option<Mint>,
}

/// What the record of the answer is made with.
#[derive(Debug)]
struct Keeper {
    owner: Owner,
    hook: Hook,
    origin: Origin,
}

impl Keeper {
    /// The record of each choice: nobody knows with which one the caller goes on. Takes their blocks out of the answer,
    /// because a long thought is not held twice.
    fn records(
        &self,
        answer: &mut Answer,
        delivery: Delivery,
        at: u64,
        mint: Option<&Mint>,
    ) -> Vec<(Head, Kept)> {
        let choices = std::mem::take(&mut answer.choices);
        let first = Answer { blocks: std::mem::take(&mut answer.blocks), ..answer.clone() };
        let choices = (0..).zip(std::iter::once(first).chain(choices));
        let mut records = Vec::new();
        for (choice, said) in choices.filter(|(_, said)| !said.blocks.is_empty()) {
            let content = said.into_content(None);
            let answered = Answered {
                record: &record_of(&self.owner.record, choice),
                origin: &self.origin,
                delivery,
                at,
                tickets: mint.and_then(|mint| mint.covers(choice, &content)),
                has_thought_ticket: mint.is_some_and(|mint| mint.signed(choice)),
                content,
            };
            records.extend(self.hook.capture(answered, &self.owner.secret));
        }
        records
    }
}

/// What an exchange came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What was said, without its blocks and further choices.
    pub answer: Answer,
    /// It has blocks.
    pub has_said: bool,
    /// Why there is no proper answer.
    pub failure: Option<Failure>,
    /// The records to seal: one for each choice that may be kept.
    pub records: Vec<(Head, Kept)>,
    /// The whole answer as the caller knows it, if it [is kept by its name](RequestContext::set_name) and nothing went wrong.
    pub named: Option<String>,
}

/// What an answer is called that is kept by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its id, where the upstream's own bytes do not say another.
    pub id: String,
    /// Further fields of it, in the caller's words.
    pub fields: Vec<(String, Raw)>,
}

/// How an answer ended, as its driver saw it.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// Why the transport broke off, if it did.
    pub cut: Option<&'a str>,
    /// The caller went away or stopped it.
    pub is_stopped: bool,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl Exchange {
    pub(super) fn new(
        asked: &RequestContext<'_>,
        outgoing: Outgoing,
        plan: Option<&Restoration>,
        origin: Origin,
    ) -> Self {
        let view = match asked.settings.include_in_response.value {
            true => asked.handling.view.filter(|view| *view != View::Native),
            false => Some(View::Hidden),
        };
        let is_relayed = asked.caller.id() == asked.target.wire.id() && view.is_none();
        let mint = asked.mint();
        let framing = outgoing.stream.then(|| asked.caller.framing());
        let passing = match (is_relayed, mint) {
            (true, None) => Passing::Untouched,
            (true, Some(mint)) => Passing::Edited(Edited::new(mint, framing)),
            (false, mint) => {
                let (encoder, show) = (asked.caller.encoder(), view.map(Show::new));
                let (wire, name) = (asked.caller.id(), asked.name.clone());
                Passing::Anew(Writer { wire, encoder, name, is_said: false, show, mint })
            }
        };
        let keeper = asked.owner.as_ref().zip(asked.question.as_ref().zip(plan));
        let keeper = keeper.map(|(owner, (question, plan))| Keeper {
            owner: owner.clone(),
            hook: Hook::of(question, plan),
            origin,
        });
        Exchange {
            caller: asked.caller,
            turn: Turn::with(outgoing, &asked.target, &asked.settings),
            passing,
            keeper,
            is_named: asked.name.is_some(),
            status: 200,
        }
    }

    /// Address, headers and decisions of the upstream's request; its body is in [`super::Prepared`].
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        self.turn.outgoing()
    }

    /// The caller gets the upstream's own bytes, or [all but the ids of calls](Exchange::is_untouched).
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        !matches!(self.passing, Passing::Anew(_))
    }

    /// The caller gets the very bytes of the upstream, so that [`Exchange::push`] gives none.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        matches!(self.passing, Passing::Untouched)
    }

    /// The head of the answer came.
    pub fn head(&mut self, status: u16) {
        self.status = status;
        self.turn.head(status);
        if let Passing::Edited(edited) = &mut self.passing
            && !(200..300).contains(&status)
        {
            edited.refused();
        }
    }

    /// Bytes of the answer came: appends what the caller is to get in their place, and tells the events. Where the
    /// answer [is untouched](Exchange::is_untouched) that is nothing, for the caller gets these very bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, sink: &mut dyn Sink) {
        let streams = self.streams();
        match &mut self.passing {
            Passing::Untouched => self.turn.push(bytes, sink),
            Passing::Edited(edited) => {
                edited.push(bytes, out);
                self.turn.push(bytes, sink);
            }
            Passing::Anew(writer) => {
                let mut both = |event: Event<'_>| {
                    if streams {
                        writer.event(event, out);
                    }
                    sink.event(event);
                };
                self.turn.push(bytes, &mut both);
            }
        }
    }

    /// The wire's own end of a stream was seen: nothing of the answer can come any more. Where this is never true, the
    /// end of the body is the end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.turn.is_over()
    }

    /// The answer is over: appends what the caller is still to get.
    #[must_use]
    pub fn end(mut self, ending: &Ending<'_>, out: &mut Vec<u8>, sink: &mut dyn Sink) -> Done {
        let streams = self.streams();
        let (mut answer, failure) = match &mut self.passing {
            Passing::Untouched => {
                let (answer, failure) = self.turn.answer(ending.cut, sink);
                if streams {
                    break_off(self.caller, &answer, out);
                }
                (answer, failure)
            }
            Passing::Edited(edited) => {
                let (answer, failure) = self.turn.answer(ending.cut, sink);
                // Of a stream that broke off, the event that it broke off in is none.
                if !streams || answer.is_complete() {
                    edited.end(out);
                }
                if streams {
                    break_off(self.caller, &answer, out);
                }
                (answer, failure)
            }
            Passing::Anew(writer) => {
                // Decoder and transport may both say that it broke off; the caller is told once, and the transport knows why.
                let mut is_told = false;
                let mut both = |event: Event<'_>| {
                    let is_again = is_cut(event) && std::mem::replace(&mut is_told, true);
                    if streams && !is_again {
                        match ending.cut.filter(|_| is_cut(event)) {
                            Some(why) => {
                                let problem = Problem::new(ProblemCode::Truncated, why);
                                writer.event(Event::Problem(&problem), out);
                            }
                            None => writer.event(event, out),
                        }
                    }
                    sink.event(event);
                };
                let (answer, failure) = self.turn.answer(ending.cut, &mut both);
                if streams {
                    writer.encoder.end(out);
                } else {
                    let whole = writer.whole(self.caller, &answer, failure.as_ref(), self.status);
                    out.append(&mut whole.into_bytes());
                }
                (answer, failure)
            }
        };
        let delivery = delivery(&answer, self.status, ending);
        let is_named = self.is_named && delivery == Delivery::Full && failure.is_none();
        let named = is_named.then(|| self.caller.write_response(&self.passing.shown(&answer)));
        let has_said = !answer.blocks.is_empty();
        let (keeper, mint) = (self.keeper.as_ref(), self.passing.mint());
        let records = keeper.map(|it| it.records(&mut answer, delivery, ending.at, mint));
        answer.blocks = Vec::new();
        answer.choices = Vec::new();
        Done { answer, has_said, failure, records: records.unwrap_or_default(), named }
    }

    fn streams(&self) -> bool {
        self.turn.outgoing().stream && (200..300).contains(&self.status)
    }
}

impl Passing {
    /// The answer as the caller knows it.
    fn shown<'a>(&mut self, answer: &'a Answer) -> Cow<'a, Answer> {
        match self {
            Passing::Untouched => Cow::Borrowed(answer),
            Passing::Edited(edited) => Cow::Owned(edited.mint().answer(answer.clone())),
            Passing::Anew(writer) => writer.shown(answer),
        }
    }

    /// What gave the caller tickets.
    fn mint(&mut self) -> Option<&Mint> {
        match self {
            Passing::Untouched => None,
            Passing::Edited(edited) => Some(edited.mint()),
            Passing::Anew(writer) => writer.mint.as_ref(),
        }
    }
}

impl Writer {
    /// Writes an event. That the upstream broke off is an error on every wire, also where the end alone would tell.
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let Writer { wire, encoder, name, is_said, show, mint } = self;
        if let Some(Name { id, fields }) = name {
            if !std::mem::replace(is_said, true) {
                encoder.event(Event::Fact(Fact::ResponseId(id)), out);
                for (key, value) in fields {
                    let field = Fact::Field { wire, key, value };
                    encoder.event(Event::Fact(field), out);
                }
            }
            if let Event::Fact(Fact::ResponseId(_)) = event {
                return;
            }
        }
        if let Event::Problem(problem) = event
            && is_cut(event)
        {
            let problem = Problem::new(ProblemCode::UpstreamError, problem.message.clone());
            return encoder.event(Event::Problem(&problem), out);
        }
        let mut shown = |event: Event<'_>| match show {
            Some(show) => show.event(event, &mut |event| encoder.event(event, out)),
            None => encoder.event(event, out),
        };
        match mint {
            Some(mint) => mint.event(event, &mut shown),
            None => shown(event),
        }
    }

    /// A whole answer, or the error that it is, on the caller's wire.
    fn whole(
        &mut self,
        caller: &dyn Wire,
        answer: &Answer,
        failure: Option<&Failure>,
        status: u16,
    ) -> String {
        if let Some(failure) = failure {
            return caller.write_error(&ErrorBody {
                status,
                code: "upstream_error".to_owned(),
                message: failure.message.clone(),
            });
        }
        caller.write_response(&self.shown(answer))
    }

    /// The answer as the caller knows it.
    fn shown<'a>(&mut self, answer: &'a Answer) -> Cow<'a, Answer> {
        let mut shown = Cow::Borrowed(answer);
        if let Some(mint) = &mut self.mint {
            shown = Cow::Owned(mint.answer(shown.into_owned()));
        }
        if let Some(show) = &self.show {
            shown = Cow::Owned(show.answer(&shown));
        }
        if let Some(Name { id, fields }) = &self.name {
            let named = shown.to_mut();
            named.response_id = Some(id.clone());
            for (key, value) in fields {
                named.extra.insert(self.wire, key, value.clone());
            }
        }
        shown
    }
}

fn is_cut(event: Event<'_>) -> bool {
    matches!(event, Event::Problem(problem) if problem.code == ProblemCode::Truncated)
}

fn delivery(answer: &Answer, status: u16, ending: &Ending<'_>) -> Delivery {
    // A message that could not be read may have held a part of a thought.
    let is_read = answer.problems.iter().all(|problem| problem.code != ProblemCode::Malformed);
    let is_answer = ending.cut.is_none() && (200..300).contains(&status);
    let is_whole = answer.is_complete() && is_read && is_answer;
    match (ending.is_stopped, is_whole) {
        (true, _) => Delivery::Stopped,
        (false, true) => Delivery::Full,
        (false, false) => Delivery::Cut,
    }
}

/// A stream whose bytes passed as they came and that broke off without saying so ends with the wire's own error, so
/// that it never looks whole.
fn break_off(wire: &dyn Wire, answer: &Answer, out: &mut Vec<u8>) {
    let is_cut = |problem: &&Problem| problem.code == ProblemCode::Truncated;
    let cut = answer.problems.iter().rfind(is_cut);
    if let Some(cut) = cut.filter(|_| answer.upstream_error().is_none()) {
        out.extend_from_slice(&error_event(wire, &cut.message));
    }
}

/// The wire's own event for an error in the middle of a stream.
#[must_use]
pub fn error_event(wire: &dyn Wire, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = wire.encoder();
    encoder.event(Event::Problem(&Problem::new(ProblemCode::UpstreamError, message)), &mut out);
    encoder.end(&mut out);
    out
}
