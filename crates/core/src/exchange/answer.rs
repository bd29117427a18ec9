//! An answer on its way to the caller, through its [pipeline](crate::pipeline), and the data that is stored of it.

use super::handling::View;
use super::mint::{Edited, Mint, record_of};
use super::own::{Finished, remedy};
use super::show::Show;
use super::stamp::Missing;
use super::{Owner, RequestContext};
use crate::answer::{Answer, REFUSAL_DETAILS};
use crate::content::{Origin, Thinking};
use crate::contract::Return;
use crate::event::{Event, Fact, Sink, Vacancy};
use crate::json::Raw;
use crate::outgoing::Outgoing;
use crate::pipeline::{Adjust, End, Ended, Failure, Pipeline, ToCaller};
use crate::problem::Problem;
use crate::restore::{Answered, Delivery, Head, Hook, Kept};
use crate::settings::Resolved;
use crate::wire::Wire;
use std::borrow::Cow;

pub use crate::pipeline::error_event;

/// A request on its way, and its answer.
#[derive(Debug)]
pub struct Exchange {
    outgoing: Outgoing,
    /// The output is `None` for an own conversation: only the driver gets its answer.
    pipeline: Pipeline<Option<ToCaller<Adjustments>>>,
    keeper: Option<Keeper>,
    /// The caller speaks the model's wire. Only the form of the answer may differ.
    is_own: bool,
    /// The answer is stored under its name.
    is_named: bool,
}

/// The differences between the upstream's answer and the caller's.
#[derive(Debug)]
struct Adjustments {
    wire: &'static str,
    /// The name under which the answer is stored. `is_said`: the stream has it already.
    name: Option<Name>,
    is_said: bool,
    missing: Missing,
    /// The model name that the caller asked for, if the model has another.
    alias: Option<String>,
    /// The place of thoughts for the caller, if configured.
    show: Option<Show>,
    tickets: Tickets,
}

/// The place at which calls and thoughts get their tickets.
#[derive(Debug)]
enum Tickets {
    None,
    /// In newly written events.
    InEvents(Mint),
    /// In the upstream's own bytes. The same edits also change the model's name and the spelling of values.
    InBytes(Edited),
}

/// The data for the record of the answer.
#[derive(Debug)]
struct Keeper {
    owner: Owner,
    hook: Hook,
    origin: Origin,
    /// Answers without a thought also get a record.
    keeps_all: bool,
    /// The model's contract wants thoughts back.
    is_wanted: bool,
}

impl Keeper {
    /// Answers without a thought need no record if the model wants no thoughts back. After an answer with a record they
    /// do, because the caller may go back to the model that gave it.
    fn new(asked: &RequestContext<'_>, hook: Option<Hook>, origin: Origin) -> Option<Self> {
        let (owner, hook) = asked.owner.clone().zip(hook)?;
        let wants = asked.target.rule.contract.returns != Return::Never;
        let keeps_all = wants || hook.goes_on();
        Some(Keeper { owner, hook, origin, keeps_all, is_wanted: wants })
    }

    /// Makes a record for each choice, because the caller may continue from any. Takes the blocks out of the answer, so
    /// that a long thought is not in memory twice.
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
        records.retain(|(head, _)| self.keeps_all || head.thought.is_some());
        records
    }
}

/// The result of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The answer, without its blocks and further choices.
    pub answer: Answer,
    /// The answer has blocks.
    pub has_said: bool,
    /// The reason why there is no proper answer.
    pub failure: Option<Failure>,
    /// How it ended.
    pub end: End,
    /// The records to seal: one for each choice that may be kept.
    pub records: Vec<(Head, Kept)>,
    /// The whole answer as the caller knows it, if it [has a name](RequestContext::set_name) and is complete.
    pub named: Option<String>,
}

/// The name under which an answer is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The id of the answer. A relayed answer keeps the upstream's id.
    pub id: String,
    /// Further fields of the answer, on the caller's wire.
    pub fields: Vec<(String, Raw)>,
}

/// The end of an answer, as its driver saw it.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The reason why the transport broke off, if it did.
    pub cut: Option<&'a str>,
    /// The caller went away or stopped it.
    pub is_stopped: bool,
    /// The time of the end, in milliseconds since 1970.
    pub at: u64,
}

impl RequestContext<'_> {
    /// Stores the answer under a name: [`Done::named`] then has the whole answer.
    pub fn set_name(&mut self, name: Name) {
        self.name = Some(name);
    }

    /// Sets the model name that the caller asked for. The answer has this name instead of the model's own.
    pub fn set_alias(&mut self, name: &str) {
        self.alias = (name != self.target.model).then(|| name.to_owned());
    }
}

impl Exchange {
    pub(super) fn new(
        asked: &RequestContext<'_>,
        outgoing: Outgoing,
        hook: Option<Hook>,
        origin: Origin,
    ) -> Self {
        let is_stream = outgoing.stream;
        let view = match asked.settings.include_in_response.value {
            true => asked.handling.view.filter(|view| *view != View::Native),
            false => Some(View::Hidden),
        };
        let output = asked.caller().map(|caller| Self::output(asked, caller, is_stream, view));
        Exchange {
            pipeline: Pipeline::with(asked.target.reader(is_stream), output),
            outgoing,
            keeper: Keeper::new(asked, hook, origin),
            is_own: asked.is_own_wire() && view.is_none(),
            is_named: asked.name.is_some(),
        }
    }

    fn output(
        asked: &RequestContext<'_>,
        caller: &'static dyn Wire,
        is_stream: bool,
        view: Option<View>,
    ) -> ToCaller<Adjustments> {
        let is_relayed = asked.is_own_wire() && view.is_none() && caller.is_plain();
        let adjust = Adjustments {
            wire: caller.id(),
            name: asked.name.clone().filter(|_| !is_relayed),
            is_said: false,
            missing: if is_relayed { Missing::default() } else { Missing::of(asked, caller) },
            alias: asked.alias.clone(),
            show: view.map(Show::new),
            tickets: match (asked.mint(), is_relayed) {
                (None, true) if !caller.has_forms() && asked.alias.is_none() => Tickets::None,
                (mint, true) => {
                    Tickets::InBytes(Edited::new(mint, asked.alias.clone(), caller, is_stream))
                }
                (Some(mint), false) => Tickets::InEvents(mint),
                (None, false) => Tickets::None,
            },
        };
        match is_relayed {
            true => ToCaller::relayed(caller, is_stream, adjust),
            false => ToCaller::written(caller, is_stream, adjust),
        }
    }

    /// The address, headers and decisions of the upstream's request. The body of a caller's request is in
    /// [`super::Prepared`].
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    pub(super) fn warn(&mut self, said: Option<Problem>) {
        self.outgoing.warnings.extend(said);
    }

    pub(super) fn into_outgoing(self) -> Outgoing {
        self.outgoing
    }

    /// Whether the caller gets the upstream's own bytes, possibly [with edits](Exchange::is_untouched).
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        self.pipeline.output().as_ref().is_some_and(ToCaller::is_relayed)
    }

    /// Whether the caller speaks the model's wire and asked for no other view. Its parameters and headers, and a
    /// refusal, then pass unchanged. The answer may still have [another form](Exchange::is_relayed).
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Whether the caller gets the upstream's bytes without edits. [`Exchange::push`] then appends no bytes.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        let is_untouched = |output: &ToCaller<Adjustments>| {
            output.is_relayed() && matches!(output.adjust().tickets, Tickets::None)
        };
        self.pipeline.output().as_ref().is_some_and(is_untouched)
    }

    /// Writes the answer anew, because the upstream's bytes are on the caller's wire but not in its form. Has no effect
    /// on bytes that were pushed before.
    pub fn write_anew(&mut self) {
        if let Some(output) = self.pipeline.output_mut() {
            output.write_anew();
            output.adjust_mut().write_anew();
        }
    }

    /// Reports the head of the answer.
    pub fn head(&mut self, status: u16) {
        self.pipeline.head(status);
    }

    /// Reports bytes of the answer. Appends the caller's bytes and emits the events. If the answer [is
    /// untouched](Exchange::is_untouched), it appends no bytes, because the driver passes these bytes on.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, sink: &mut dyn Sink) {
        self.pipeline.push(bytes, out, sink);
    }

    /// Whether the wire's own end of the stream was seen, so that no more of the answer can come. On wires without such
    /// an end this stays false, and the end of the body is the end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.pipeline.is_over()
    }

    /// Whether the answer may go on without a record: it is a stream, the model wants no thoughts back, and the answer
    /// has no name.
    #[must_use]
    pub fn may_be_forgotten(&self) -> bool {
        let is_wanted = self.keeper.as_ref().is_some_and(|keeper| keeper.is_wanted);
        self.outgoing.stream && !is_wanted && !self.is_named
    }

    /// Drops the contents of a streamed answer and makes no record of it. The caller still gets the whole answer.
    pub fn forget(&mut self) {
        self.keeper = None;
        self.is_named = false;
        self.pipeline.forget_contents();
    }

    /// Takes an ended thought for which `is_large` is true out of an answer that gets a record, if there is one. The
    /// thought has to be [put back](Exchange::put_back) before the end.
    pub fn take_thought(
        &mut self,
        is_large: &dyn Fn(&Thinking) -> bool,
    ) -> Option<(Vacancy, Thinking)> {
        self.keeper.as_ref()?;
        self.pipeline.fold_mut().take_thought(is_large)
    }

    /// Puts a thought back into its place.
    pub fn put_back(&mut self, vacancy: Vacancy, thinking: Thinking) {
        self.pipeline.fold_mut().put_back(vacancy, thinking);
    }

    /// The bytes of ended blocks that the caller's stream repeats at its end.
    #[must_use]
    pub fn held_output(&self) -> usize {
        self.pipeline.output().as_ref().map_or(0, ToCaller::held)
    }

    /// The error that ends a stream immediately, if there is no time for the rest of it.
    #[must_use]
    pub fn interrupted(&mut self, why: &str) -> Vec<u8> {
        self.pipeline.interrupted(why)
    }

    /// Ends the answer and appends the rest of the caller's bytes. `whole` sees the answer before its blocks move into
    /// its records.
    #[must_use]
    pub fn end(
        mut self,
        ending: &Ending<'_>,
        out: &mut Vec<u8>,
        sink: &mut dyn Sink,
        whole: &mut dyn FnMut(&Answer),
    ) -> Done {
        let Ended { mut answer, end, failure } = self.pipeline.end(ending.cut, out, sink);
        let delivery = match end {
            _ if ending.is_stopped => Delivery::Stopped,
            End::Whole => Delivery::Full,
            End::Cut | End::Failed | End::Gapped | End::Refused | End::Unread => Delivery::Cut,
        };
        let output = self.pipeline.output_mut();
        let is_named = self.is_named && delivery == Delivery::Full;
        let named = output.as_mut().filter(|_| is_named).map(|output| output.whole(&answer));
        let has_said = !answer.blocks.is_empty();
        whole(&answer);
        let mint = output.as_mut().and_then(|output| output.adjust_mut().mint());
        let records = self.keeper.map(|it| it.records(&mut answer, delivery, ending.at, mint));
        answer.blocks = Vec::new();
        answer.choices = Vec::new();
        Done { answer, has_said, failure, end, records: records.unwrap_or_default(), named }
    }

    /// Ends the answer of an own conversation. The answer becomes a message of this origin.
    pub(super) fn finish(
        mut self,
        cut: Option<&str>,
        origin: Origin,
        settings: &Resolved,
        sink: &mut dyn Sink,
    ) -> Finished {
        let Ended { answer, end, mut failure } = self.pipeline.end(cut, &mut Vec::new(), sink);
        if let Some(failure) = &mut failure {
            failure.remedy = remedy(&failure.message, &self.outgoing, settings);
        }
        let has_said = !answer.blocks.is_empty();
        let content = has_said.then(|| answer.clone().into_content(Some(origin)));
        Finished { answer, end, content, failure, fact: None, is_off: false }
    }
}

impl Adjustments {
    fn write_anew(&mut self) {
        if let Tickets::InBytes(edited) = std::mem::replace(&mut self.tickets, Tickets::None) {
            self.tickets = edited.into_mint().map_or(Tickets::None, Tickets::InEvents);
        }
    }

    /// The maker of the caller's tickets.
    fn mint(&mut self) -> Option<&Mint> {
        match &mut self.tickets {
            Tickets::None => None,
            Tickets::InEvents(mint) => Some(mint),
            Tickets::InBytes(edited) => edited.mint().map(|mint| &*mint),
        }
    }
}

impl Adjust for Adjustments {
    fn refused(&mut self) {
        if let Tickets::InBytes(edited) = &mut self.tickets {
            edited.refused();
        }
    }

    fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if let Tickets::InBytes(edited) = &mut self.tickets {
            edited.push(bytes, out);
        }
    }

    fn rest(&mut self, out: &mut Vec<u8>) {
        if let Tickets::InBytes(edited) = &mut self.tickets {
            edited.end(out);
        }
    }

    fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        let Adjustments { wire, name, is_said, missing, alias, show, tickets } = self;
        missing.before(event, pass);
        if let Some(Name { id, fields }) = name {
            if !std::mem::replace(is_said, true) {
                pass(Event::Fact(Fact::ResponseId(id)));
                for (key, value) in fields {
                    pass(Event::Fact(Fact::Field { wire, key, value }));
                }
            }
            if let Event::Fact(Fact::ResponseId(_)) = event {
                return;
            }
        }
        let mut named = |event: Event<'_>| match (event, alias.as_deref()) {
            (Event::Fact(Fact::Model(_)), Some(alias)) => pass(Event::Fact(Fact::Model(alias))),
            (Event::Finish { finish_reason, model: Some(_) }, model @ Some(_)) => {
                pass(Event::Finish { finish_reason, model });
            }
            // The details of a refusal have the same key on every wire.
            (Event::Fact(Fact::Field { key: REFUSAL_DETAILS, value, .. }), _) => {
                pass(Event::Fact(Fact::Field { wire, key: REFUSAL_DETAILS, value }));
            }
            (event, _) => pass(event),
        };
        let mut shown = |event: Event<'_>| match show {
            Some(show) => show.event(event, &mut named),
            None => named(event),
        };
        match tickets {
            Tickets::InEvents(mint) => mint.event(event, &mut shown),
            Tickets::InBytes(_) | Tickets::None => shown(event),
        }
    }

    fn answer<'a>(&mut self, answer: &'a Answer) -> Cow<'a, Answer> {
        let mut shown = match &mut self.tickets {
            Tickets::None => Cow::Borrowed(answer),
            Tickets::InEvents(mint) => Cow::Owned(mint.answer(answer.clone())),
            Tickets::InBytes(edited) => match edited.mint() {
                Some(mint) => Cow::Owned(mint.answer(answer.clone())),
                None => Cow::Borrowed(answer),
            },
        };
        if let Some(show) = &self.show {
            shown = Cow::Owned(show.answer(&shown));
        }
        if let Some(alias) = self.alias.as_ref().filter(|_| shown.model.is_some()) {
            let named = shown.to_mut();
            named.model = Some(alias.clone());
            named.choices.iter_mut().for_each(|choice| choice.model = Some(alias.clone()));
        }
        if let Some(details) = shown.refusal_details().cloned() {
            shown.to_mut().extra.insert(self.wire, REFUSAL_DETAILS, details);
        }
        if self.missing.is_in(&shown) {
            self.missing.fill(shown.to_mut());
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
