//! The stream decoder.

use super::beside::{self, Said};
use super::choice::{Choice, How, Mode, Out};
use super::fields::Fields;
use super::template::{Found, Template};
use super::{problem, shape, usage};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Raw, Scratch, Val, unescape_into};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::{Decode, Dialect};
use std::borrow::Cow;

/// The message that ends a stream.
const DONE: &str = "[DONE]";
/// The type of a body that is an error.
const IS_ERROR: &str = "\"error\"";
/// A hostile upstream may send more choices.
const MAX_CHOICES: usize = 128;

/// One response, with the pieces so far; whole bodies go through it as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Decoder {
    wire: &'static str,
    /// One more sibling string with reasoning, if the provider uses an unusual name.
    custom: Option<Cow<'static, str>>,
    pub(super) choices: Vec<Choice>,
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    usage: Option<Raw>,
    /// See [`Dialect::reports_cached_at_top`].
    reports_cached_at_top: bool,
    /// The counts came before any part of the answer.
    is_early: bool,
    said: Said,
    /// An error came, so that no part counts as missing.
    has_failed: bool,
    /// The end was reported.
    is_over: bool,
    /// It is a whole body, which may leave out why it ended.
    is_whole: bool,
    /// The last message had only the counts of the answer, which marks the end if reasons are left out.
    is_counted: bool,
    is_done: bool,
    scratch: Scratch,
    /// Every message is read in full.
    is_plain: bool,
    template: Template,
    /// Memory for a text without its escapes.
    text: String,
}

/// The members of a body or chunk that matter, found in one pass.
#[derive(Clone, Copy, Debug, Default)]
struct Body<'d> {
    id: Option<Val<'d>>,
    model: Option<Val<'d>>,
    choices: Option<Val<'d>>,
    usage: Option<Val<'d>>,
    wrapper: Option<Val<'d>>,
    status: Option<Val<'d>>,
    error: Option<Val<'d>>,
    /// The body itself, if it is marked as an error.
    is_error: Option<Val<'d>>,
    detail: Option<Val<'d>>,
}

impl<'d> Body<'d> {
    /// Finds the members, and shows those to `other` that have no place of their own in the neutral answer.
    fn read(whole: Val<'d>, mut other: impl FnMut(&str, Val<'d>)) -> Self {
        let mut body = Body::default();
        for (key, value) in whole.entries().filter(|(_, value)| !value.is_null()) {
            match key.as_ref() {
                "id" => body.id = Some(value),
                "model" => body.model = Some(value),
                "choices" => body.choices = Some(value),
                "usage" => body.usage = Some(value),
                "error" => body.error = Some(value),
                "object" if value.raw() == IS_ERROR => body.is_error = Some(whole),
                "object" => {}
                key => {
                    match key {
                        "x_groq" => body.wrapper = Some(value),
                        "base_resp" => body.status = Some(value),
                        "detail" => body.detail = Some(value),
                        "type" if value.raw() == IS_ERROR => body.is_error = Some(whole),
                        _ => {}
                    }
                    other(key, value);
                }
            }
        }
        body
    }

    fn usage(&self) -> Option<Val<'d>> {
        let wrapped = || self.wrapper.and_then(|wrapper| wrapper.some("usage"));
        let beside = self.usage.filter(|usage| usage::says_something(*usage));
        beside.or_else(|| wrapped().filter(|usage| usage::says_something(*usage)))
    }

    fn error(&self) -> Option<Problem> {
        let detail = self.detail.filter(|_| self.choices.is_none());
        let status = || self.status.and_then(problem::of_status);
        self.error.or(self.is_error).or(detail).map(problem::of).or_else(status)
    }
}

/// The members of an entry of `choices` that matter.
#[derive(Clone, Copy, Debug, Default)]
struct Entry<'d> {
    index: Option<u64>,
    delta: Option<Val<'d>>,
    message: Option<Val<'d>>,
    finish_reason: Option<Val<'d>>,
    usage: Option<Val<'d>>,
    error: Option<Val<'d>>,
    /// There are others.
    has_more: bool,
}

impl<'d> Entry<'d> {
    fn read(choice: Val<'d>) -> Self {
        let mut entry = Entry::default();
        for (key, value) in choice.entries().filter(|(_, value)| !value.is_null()) {
            match key.as_ref() {
                "index" => entry.index = value.as_u64(),
                "delta" => entry.delta = Some(value),
                "message" => entry.message = Some(value),
                "finish_reason" => entry.finish_reason = Some(value),
                "usage" => entry.usage = Some(value),
                "error" => entry.error = Some(value),
                _ => entry.has_more = true,
            }
        }
        entry
    }

    /// The delta or message with content, and its mode.
    fn said(&self, custom: Option<&str>, mode: Mode) -> Option<(Val<'d>, Fields<'d>, Mode)> {
        let delta = self.delta.filter(|_| mode == Mode::Delta);
        let delta = delta.map(|delta| (delta, Fields::read(delta, custom), mode));
        if let Some(said) = delta.filter(|(_, fields, _)| !fields.is_empty()) {
            return Some(said);
        }
        let message = self.message.or(self.delta)?;
        let mode = if mode == Mode::Delta { Mode::Resent } else { mode };
        Some((message, Fields::read(message, custom), mode))
    }
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
            reports_cached_at_top: dialect.reports_cached_at_top,
            is_early: false,
            said: Said::default(),
            has_failed: false,
            is_over: false,
            is_whole: false,
            is_counted: false,
            is_done: false,
            scratch: Scratch::default(),
            is_plain: false,
            template: Template::default(),
            text: String::new(),
        }
    }

    /// A decoder that reads every message in full.
    pub(in crate::wire) fn plain(wire: &'static str, dialect: &Dialect) -> Self {
        Decoder { is_plain: true, ..Decoder::new(wire, dialect) }
    }

    /// Takes a whole body.
    pub(in crate::wire) fn body(&mut self, body: Val<'_>, sink: &mut dyn Sink) {
        self.take(body, Mode::Message, sink);
        if !self.has_failed && body.some("choices").is_none_or(|list| list.items().next().is_none())
        {
            let problem = Problem::new(ProblemCode::UpstreamError, "the response has no `choices`");
            self.fail(&problem, sink);
        }
        self.is_whole = true;
        self.finish(sink);
    }

    fn take(&mut self, body: Val<'_>, mode: Mode, sink: &mut dyn Sink) {
        let body = Body::read(body, |key, value| self.said.member(self.wire, (key, value), sink));
        self.facts(&body, sink);
        let mut error = body.error();
        let mut usage = body.usage();
        let choices = body.choices.iter().flat_map(|list| list.items());
        let mut has_said = false;
        for (nth, choice) in choices.enumerate().filter(|(_, choice)| choice.is_object()) {
            let entry = Entry::read(choice);
            let at = entry.index.and_then(|index| usize::try_from(index).ok());
            let at = at.unwrap_or(nth).min(MAX_CHOICES - 1);
            self.choice(choice, &entry, at, mode, &mut |event: Event<'_>| {
                has_said |= says(event);
                sink.event(event);
            });
            usage = usage.or(entry.usage.filter(|usage| usage::says_something(*usage)));
            error = error.or_else(|| entry.error.map(problem::of));
        }
        self.is_counted &= !has_said;
        if let Some(usage) = usage {
            self.is_counted = !has_said && self.choices.iter().any(Choice::has_come);
            self.usage = Some(Raw::from(usage));
            self.is_early = mode == Mode::Delta && !self.choices.iter().any(Choice::has_come);
            // Some count while they answer, and a budget wants to hear it. The last count comes after the finish
            // reasons.
            if mode == Mode::Delta && !self.has_reasons() {
                let is_early = self.is_early;
                sink.event(Event::Usage(&Usage { is_early, ..self.read_usage(usage) }));
            }
        }
        if let Some(problem) = error {
            self.fail(&problem, sink);
        }
    }

    fn read_usage(&self, usage: Val<'_>) -> Usage {
        usage::read(usage, self.reports_cached_at_top)
    }

    fn fail(&mut self, problem: &Problem, sink: &mut dyn Sink) {
        self.has_failed = true;
        sink.event(Event::Problem(problem));
    }

    /// Id and model; the first values count.
    fn facts(&mut self, body: &Body<'_>, sink: &mut dyn Sink) {
        let is_news = |own: &Option<String>, new: &str| match own {
            None => true,
            Some(own) => own.is_empty() && !new.is_empty(),
        };
        if let Some(id) = body.id.and_then(Val::as_str).filter(|id| is_news(&self.id, id)) {
            sink.event(Event::Fact(Fact::ResponseId(&id)));
            self.id = Some(id.into_owned());
        }
        if let Some(model) =
            body.model.and_then(Val::as_str).filter(|model| is_news(&self.model, model))
        {
            sink.event(Event::Fact(Fact::Model(&model)));
            self.model = Some(model.into_owned());
        }
    }

    fn choice(
        &mut self,
        whole: Val<'_>,
        entry: &Entry<'_>,
        at: usize,
        mode: Mode,
        sink: &mut dyn Sink,
    ) {
        while self.choices.len() <= at {
            self.choices.push(Choice::default());
        }
        let Some(choice) = self.choices.get_mut(at) else { return };
        let custom = self.custom.as_deref();
        let mut out = Out { wire: self.wire, choice: at, sink };
        if let Some((message, fields, mode)) = entry.said(custom, mode) {
            if entry.has_more || fields.has_more {
                choice.say_beside(beside::of_choice(whole, Some(message), custom), &mut out);
            }
            choice.take(message, &fields, How { mode, custom }, &mut out);
        } else if entry.has_more {
            choice.say_beside(beside::of_choice(whole, None, custom), &mut out);
        }
        if let Some(reason) = entry.finish_reason.and_then(Val::as_str) {
            let is_news =
                choice.finish.as_deref().is_none_or(|own| own != reason && !reason.is_empty());
            if is_news {
                choice.finish = Some(reason.into_owned());
            }
        }
    }

    /// Whether a choice ended with a reason, for streams without the usual last message.
    fn has_reasons(&self) -> bool {
        self.choices.iter().all(Choice::has_reason)
    }

    /// Makes a template of a message that was read in full.
    fn learn(&mut self, doc: &Doc<'_>, data: &str) {
        let custom = self.custom.as_deref();
        let Some(choice) = self.choices.first() else { return };
        if let Some((shape, target)) = shape::of(doc.root(), choice, custom, data) {
            self.template.learn(data, &shape, target);
        }
    }

    /// Reports the text of a recognised message.
    fn short(&mut self, found: Found<'_>, sink: &mut dyn Sink) {
        self.is_counted = false;
        let delta = if found.is_escaped {
            self.text.clear();
            unescape_into(found.text, &mut self.text);
            self.text.as_str()
        } else {
            found.text
        };
        let block = found.target.block;
        sink.event(if found.target.is_thought {
            Event::ThinkingDelta { block, delta }
        } else {
            Event::TextDelta { block, delta }
        });
        self.text.clear();
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
            let is_early = self.is_early;
            let usage = self.read_usage(raw.doc().root());
            sink.event(Event::Usage(&Usage { is_early, ..usage }));
        }
        if is_cut && !self.has_failed {
            let message = "the stream ended without a finish reason";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
        for (at, choice) in self.choices.iter().enumerate() {
            let finish_reason = choice.finish.as_deref();
            if finish_reason.is_none() && (is_cut || self.has_failed) {
                continue;
            }
            let mut out = Out { wire: self.wire, choice: at, sink };
            out.event(Event::Finish { finish_reason, model: self.model.as_deref() });
        }
    }
}

/// Whether it is more of the answer.
fn says(event: Event<'_>) -> bool {
    match event {
        Event::TextDelta { .. }
        | Event::ThinkingDelta { .. }
        | Event::ToolCallDelta { .. }
        | Event::ToolCallStart { .. }
        | Event::Whole { .. } => true,
        Event::Choice { event, .. } => says(*event),
        Event::TextStart { .. }
        | Event::TextEnd { .. }
        | Event::ThinkingStart { .. }
        | Event::ThinkingEnd { .. }
        | Event::ToolCallEnd { .. }
        | Event::Usage(_)
        | Event::Finish { .. }
        | Event::Fact(_)
        | Event::Problem(_) => false,
    }
}

impl Decode for Decoder {
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        if self.is_over {
            return;
        }
        if let Some(found) = self.template.fit(data) {
            return self.short(found, sink);
        }
        match Doc::parse_with(data, &mut self.scratch) {
            Ok(doc) => {
                self.take(doc.root(), Mode::Delta, sink);
                if !self.is_plain && self.template.is_wanted() {
                    self.learn(&doc, data);
                }
                self.scratch.reuse(doc);
            }
            Err(_) if data.trim() == DONE => {
                self.is_done = true;
                self.finish(sink);
            }
            Err(_) if data.trim().is_empty() => {}
            Err(_) if name == Some("error") => {
                self.fail(&Problem::new(ProblemCode::UpstreamError, data), sink);
            }
            Err(error) => {
                let problem =
                    Problem::new(ProblemCode::Malformed, "a message of the stream was skipped");
                sink.event(Event::Problem(&problem.at(error.to_string())));
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.finish(sink);
    }

    fn is_complete(&self) -> bool {
        let is_ended = self.is_whole || self.has_reasons() || (self.is_done && self.is_counted);
        !self.has_failed && is_ended
    }

    /// Usage comes behind the reasons.
    fn is_over(&self) -> bool {
        self.is_over
    }

    crate::wire::decode_is_value!();
}
