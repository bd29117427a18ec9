//! The stream decoder.

use super::choice::{Choice, Fields, How, Mode, Out};
use super::{problem, usage};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{Decode, Dialect};
use std::borrow::Cow;

/// The message that ends a stream.
const DONE: &str = "[DONE]";
/// More choices than this are a hostile upstream's.
const MAX_CHOICES: usize = 128;

/// One response as far as it came; whole bodies go through it as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Decoder {
    wire: &'static str,
    /// One more sibling string with reasoning, where the provider uses one that is not usual.
    custom: Option<Cow<'static, str>>,
    pub(super) choices: Vec<Choice>,
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    usage: Option<Raw>,
    /// An error came; nothing is missing then.
    has_failed: bool,
    /// The end was said.
    is_over: bool,
    is_done: bool,
}

impl Decoder {
    pub(in crate::wire) fn new(wire: &'static str, dialect: &Dialect) -> Self {
        let custom = dialect.field.clone().filter(|field| super::is_custom(field));
        Decoder {
            wire,
            custom,
            choices: vec![Choice::default()],
            id: None,
            model: None,
            usage: None,
            has_failed: false,
            is_over: false,
            is_done: false,
        }
    }

    /// Takes a whole body.
    pub(in crate::wire) fn body(&mut self, body: Val<'_>, sink: &mut dyn Sink) {
        self.take(body, Mode::Message, sink);
        if !self.has_failed && body.some("choices").is_none_or(|list| list.items().next().is_none()) {
            self.fail(&Problem::new(ProblemCode::UpstreamError, "the response has no `choices`"), sink);
        }
        self.is_done = true;
        self.finish(sink);
    }

    fn take(&mut self, body: Val<'_>, mode: Mode, sink: &mut dyn Sink) {
        self.facts(body, sink);
        let list = body.some("choices");
        for (nth, choice) in list.iter().flat_map(|list| list.items()).enumerate() {
            let at = choice.u64("index").and_then(|index| usize::try_from(index).ok());
            let at = at.unwrap_or(nth).min(MAX_CHOICES - 1);
            self.choice(choice, at, mode, sink);
        }
        if let Some(usage) = usage::find(body) {
            self.usage = Some(Raw::from(usage));
        }
        let errors = list.iter().flat_map(|list| list.items()).filter_map(|choice| choice.some("error"));
        if let Some(problem) = problem::find(body).or_else(|| errors.last().map(problem::of)) {
            self.fail(&problem, sink);
        }
    }

    fn fail(&mut self, problem: &Problem, sink: &mut dyn Sink) {
        self.has_failed = true;
        sink.event(Event::Problem(problem));
    }

    /// Id and model; the first that says something counts.
    fn facts(&mut self, body: Val<'_>, sink: &mut dyn Sink) {
        let is_news = |own: &Option<String>, new: &str| match own {
            None => true,
            Some(own) => own.is_empty() && !new.is_empty(),
        };
        if let Some(id) = body.text("id").filter(|id| is_news(&self.id, id)) {
            sink.event(Event::Fact(Fact::ResponseId(&id)));
            self.id = Some(id.into_owned());
        }
        if let Some(model) = body.text("model").filter(|model| is_news(&self.model, model)) {
            sink.event(Event::Fact(Fact::Model(&model)));
            self.model = Some(model.into_owned());
        }
    }

    fn choice(&mut self, object: Val<'_>, at: usize, mode: Mode, sink: &mut dyn Sink) {
        while self.choices.len() <= at {
            self.choices.push(Choice::default());
        }
        let Some(choice) = self.choices.get_mut(at) else { return };
        let custom = self.custom.as_deref();
        let mut out = Out { wire: self.wire, choice: at, sink };
        let delta = object.some("delta").map(|delta| (delta, Fields::read(delta, custom)));
        let delta = delta.filter(|(_, fields)| mode == Mode::Delta && !fields.is_empty());
        if let Some((delta, fields)) = delta {
            choice.take(delta, &fields, How { mode: Mode::Delta, custom }, &mut out);
        } else if let Some(message) = object.some("message").or_else(|| object.some("delta")) {
            let mode = if mode == Mode::Delta { Mode::Resent } else { mode };
            choice.take(message, &Fields::read(message, custom), How { mode, custom }, &mut out);
        }
        if let Some(reason) = object.text("finish_reason") {
            let is_news = choice.finish.as_deref().is_none_or(|own| own != reason && !reason.is_empty());
            if is_news {
                choice.finish = Some(reason.into_owned());
            }
        }
    }

    /// Whether a choice ended with a reason, for streams without the usual last message.
    fn has_reasons(&self) -> bool {
        self.choices.iter().all(|choice| choice.finish.as_deref().is_some_and(|reason| !reason.is_empty()))
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let is_cut = !self.is_complete();
        for (at, choice) in self.choices.iter_mut().enumerate() {
            choice.end(is_cut || self.has_failed, &mut Out { wire: self.wire, choice: at, sink });
        }
        if let Some(raw) = &self.usage {
            sink.event(Event::Usage(&usage::read(raw.doc().root())));
        }
        if is_cut && !self.has_failed {
            let message = "the stream ended without a finish reason and without `[DONE]`";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
        for (at, choice) in self.choices.iter().enumerate() {
            let finish_reason = choice.finish.as_deref();
            if finish_reason.is_none() && (is_cut || self.has_failed) {
                continue;
            }
            let model = self.model.as_deref();
            Out { wire: self.wire, choice: at, sink }.event(Event::Finish { finish_reason, model });
        }
    }
}

impl Decode for Decoder {
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        if self.is_over {
            return;
        }
        match Doc::parse_str(data) {
            Ok(doc) => self.take(doc.root(), Mode::Delta, sink),
            Err(_) if data.trim() == DONE => {
                self.is_done = true;
                self.finish(sink);
            }
            Err(_) if data.trim().is_empty() => {}
            Err(_) if name == Some("error") => {
                self.fail(&Problem::new(ProblemCode::UpstreamError, data), sink);
            }
            Err(error) => {
                let problem = Problem::new(ProblemCode::Malformed, "a message of the stream was skipped");
                sink.event(Event::Problem(&problem.at(error.to_string())));
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.finish(sink);
    }

    fn is_complete(&self) -> bool {
        !self.has_failed && (self.is_done || self.has_reasons())
    }

    crate::wire::decode_is_value!();
}
