//! One owner of a caller's request and its answer, without any I/O: what a gateway drives.
//!
//! 1. [`RequestContext::read`] reads the caller's request. [`RequestContext::need`] says what is to be looked up.
//! 2. [`RequestContext::prepare`] takes the records that were found, and gives a [`Prepared`]: the upstream's request, on the
//!    same wire the caller's own bytes with edits, else written anew, and an [`Exchange`] for the answer. It may be
//!    asked again, to try another way.
//!    A request that was refused for its thoughts may be [repaired](RequestContext::repair), and prepared again.
//! 3. [`Exchange::push`] takes the upstream's bytes and gives the caller's, and the events.
//! 4. [`Exchange::end`] gives the answer, and the record to seal.

mod answer;
mod fragments;
mod handling;
mod ladder;
mod limit;
mod mint;
mod own;
mod pair;
mod refusal;
mod refused;
mod repair;
mod restored;
mod show;
mod told;

pub use answer::{Done, Ending, Exchange, Name, error_event};
pub use handling::{Handling, Restore, Thoughts, View};
pub use refused::{PutBack, RefusalCause};
pub use repair::Repair;

use crate::content::{Content, Origin};
use crate::contract::Return;
use crate::edit::Plan;
use crate::edit::request::{Additions, plan_to};
use crate::json::{Doc, Raw};
use crate::outgoing::{self, Outgoing};
use crate::plane::{Open, Sealed, Tenant};
use crate::policy::{self, Action, Decided, Decision};
use crate::provider::Target;
use crate::request::Request;
use crate::restore::{
    About, Ask, Counts, Head, Kept, Key, Question, Restoration, Secret, Verdict, Version, ticket,
};
use crate::settings::{Effort, Include, Resolved, Setting, Source, Strip};
use crate::wire::{RequestError, Wire};
use ladder::{Fallback, Lacking};
use mint::{Mint, Of};
use refused::Known;
use restored::{Hits, Restored};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Whose request it is, as far as restoration needs to know. Without it nothing is looked up and nothing kept.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The tenant.
    pub tenant: Tenant,
    /// The tenant's secret for look-ups.
    pub secret: Secret,
    /// What the client says about its session.
    pub hint: Option<String>,
    /// The account boundary at the upstream, where opaque payloads are bound to one.
    pub account: Option<String>,
    /// The id that the answer's record is to have, drawn at random.
    pub record: String,
    /// The vault may have records of older gateways, which are found by other keys.
    pub has_old_records: bool,
    /// The answer may be kept. Where it is not, the caller gets the provider's ids, for nobody could map others back.
    pub is_kept: bool,
}

/// What has to be had before the upstream can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The records with any of these keys, in any order.
    Lookup(Vec<Key>),
    /// Nothing.
    Nothing,
}

/// A record as the vault keeps it.
#[derive(Clone)]
pub struct Found {
    /// What is known without opening it.
    pub head: Head,
    /// Its thoughts.
    pub kept: Sealed<Kept>,
}

/// A caller's request that was read.
#[derive(Debug)]
pub struct RequestContext<'d> {
    caller: &'static dyn Wire,
    doc: &'d Doc<'d>,
    request: Request,
    target: Target,
    settings: Resolved,
    handling: Handling,
    owner: Option<Owner>,
    /// What is missing, and what it is kept under; none where thoughts are left alone.
    question: Option<Question>,
    /// The messages without all that the caller sends of thoughts, where a repair leaves that out.
    bare: Option<Vec<Content>>,
    /// A repair leaves the vault's thoughts out as well.
    omits: bool,
    name: Option<Name>,
}

/// What was done about thoughts that are demanded and that nobody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// So many answers carry the value that the provider documents for such calls.
    pub bypassed: usize,
    /// So many answers, and what their calls gave, are told in words.
    pub told: usize,
    /// Thinking is off in this request.
    pub is_off: bool,
}

/// The upstream's request, and what will become of its answer.
#[derive(Debug)]
pub struct Prepared {
    /// The body; `None`: the caller's own bytes, as they came.
    pub body: Option<String>,
    /// The numbers for the answer's header.
    pub counts: Counts,
    /// The first message whose thought the provider demands and nobody has.
    pub missing: Option<usize>,
    /// What was done about what is missing.
    pub without: Without,
    /// What was decided about each answer in the request, with its messages.
    pub outcomes: Vec<(Range<usize>, Verdict)>,
    /// The thoughts that a refusal may be about.
    pub put_back: PutBack,
    /// What the answer goes through.
    pub exchange: Box<Exchange>,
}

impl<'d> RequestContext<'d> {
    /// Reads a request that came on the wire `caller` and goes to `target`.
    ///
    /// # Errors
    /// When the body is not a request of the wire; the error names the place.
    pub fn read(
        caller: &'static dyn Wire,
        doc: &'d Doc<'d>,
        target: &Target,
        settings: &Resolved,
        handling: Handling,
        owner: Option<Owner>,
    ) -> Result<Self, RequestError> {
        let mut request = caller.read_request(doc.root())?;
        request.is_relayed = true;
        let target = target.in_format(settings.format.value).into_owned();
        let owner = owner.filter(|_| handling.restore != Restore::Never);
        let is_asked = handling.restore != Restore::Never;
        let question =
            is_asked.then(|| question(&request, &request.contents, owner.as_ref(), &target));
        Ok(RequestContext {
            caller,
            doc,
            request,
            target,
            settings: settings.clone(),
            handling,
            owner,
            question,
            bare: None,
            omits: false,
            name: None,
        })
    }

    /// The model as it is asked, repairs included.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether the answer is asked for as a stream; on wires where the path says so, the driver knows better.
    pub fn set_stream(&mut self, stream: bool) {
        self.request.stream = stream;
    }

    /// The answer is kept by a name: [`Done::named`] has it whole.
    pub fn set_name(&mut self, name: Name) {
        self.name = Some(name);
    }

    /// What is to be looked up.
    #[must_use]
    pub fn need(&self) -> Need {
        let question = self.question.as_ref().filter(|_| self.owner.is_some());
        let keys = question.map(Question::keys).unwrap_or_default();
        if keys.is_empty() { Need::Nothing } else { Need::Lookup(keys) }
    }

    /// The ids of further records that are to be looked up, now that these were found: answers that only the one behind
    /// them names. Mostly there are none.
    #[must_use]
    pub fn more(&self, found: &[Found]) -> Vec<String> {
        let Some(question) = &self.question else { return Vec::new() };
        if found.iter().all(|found| found.head.ancestors.is_empty()) {
            return Vec::new();
        }
        let origin = self.origin();
        let heads: Vec<Head> = found.iter().map(|found| found.head.clone()).collect();
        let contract = &self.target.rule.contract;
        let ask = Ask { contract, origin: &origin, is_thinking: true };
        Restoration::more(question, &heads, &ask)
    }

    fn origin(&self) -> Origin {
        self.target.origin(self.owner.as_ref().and_then(|it| it.account.clone()))
    }

    /// Decides about every thought, and makes the upstream's request. A record that cannot be opened is none.
    #[must_use]
    pub fn prepare(&self, found: &[Found], open: &dyn Open) -> Prepared {
        let settings = &self.settings;
        let looked = self.look(settings, found, open);
        let lacking = self.lacking(looked.plan.as_ref());
        match self.fallback(&lacking, &looked.contents) {
            Fallback::Off => {
                let wanted = self.make(looked, settings, &lacking, Fallback::None);
                let mut off = settings.clone();
                off.enabled.value = false;
                let looked = self.look(&off, found, open);
                let off = self.make(looked, &off, &lacking, Fallback::Off);
                // The numbers stay, for the thought is lost all the same.
                let Prepared { counts, outcomes, .. } = wanted;
                Prepared { counts, outcomes, ..off }
            }
            fallback => self.make(looked, settings, &lacking, fallback),
        }
    }

    /// Decides about the thoughts of the vault, and puts them in their places.
    fn look(&self, settings: &Resolved, found: &[Found], open: &dyn Open) -> Looked<'_> {
        let contract = &self.target.rule.contract;
        let origin = self.origin();
        let is_thinking = outgoing::thinks(&self.request, &self.target, settings);
        let ask = Ask { contract, origin: &origin, is_thinking };
        let found = if self.omits { &[] } else { found };
        let came = self.bare.as_ref().unwrap_or(&self.request.contents);
        let tenant = self.owner.as_ref().map(|owner| &owner.tenant);
        let hits = Hits { found, tenant, open };
        let most = self.handling.max_restore_tokens;
        let restored = self
            .question
            .as_ref()
            .map(|question| restored::restore(came, question, &ask, &hits, most));
        let (plan, contents, known) = match restored {
            Some(Restored { plan, contents, known }) => (Some(plan), contents, known),
            None => (None, Cow::Borrowed(came.as_slice()), Vec::new()),
        };
        if self.goes_as_it_came() {
            return Looked { plan, contents: Cow::Borrowed(&self.request.contents), known };
        }
        let contents = match (&self.question, &plan) {
            (Some(question), Some(plan)) => {
                fragments::joined(contents, &question.steps, plan, contract, self.caller)
            }
            _ => contents,
        };
        let contents = match contract.tickets {
            None => contents,
            Some(ids) => {
                let secret = self.owner.as_ref().map(|owner| &owner.secret);
                ticket::rebuilt(contents, ids, secret)
            }
        };
        let contents = ticket::withdrawn(contents, contract.signed && !contract.unsealed);
        Looked { plan, contents, known }
    }

    /// Makes the upstream's request, with what is done about thoughts that are lacking.
    fn make(
        &self,
        looked: Looked<'_>,
        settings: &Resolved,
        lacking: &[Lacking],
        fallback: Fallback,
    ) -> Prepared {
        let Looked { mut plan, mut contents, known } = looked;
        let done = match fallback {
            Fallback::Bypass(_) | Fallback::Tell(_) => {
                fallback.take(contents.to_mut(), lacking, self.caller.id())
            }
            Fallback::None | Fallback::Off => fallback.take(&mut [], lacking, self.caller.id()),
        };
        let (body, mut outgoing) = self.outgoing(contents, settings);
        if !self.handling.dry_run {
            self.settle(plan.as_mut(), &mut outgoing.decisions);
            fallback.explain(lacking, &done, &mut outgoing.decisions);
        }
        Prepared {
            body,
            counts: plan.as_ref().map(Restoration::counts).unwrap_or_default(),
            missing: lacking.iter().find(|it| it.is_demanded).map(|it| it.messages.start),
            without: fallback.counts(&done),
            outcomes: self.outcomes(plan.as_ref()),
            put_back: plan.as_ref().map(|it| restored::put_back(it, known)).unwrap_or_default(),
            exchange: Box::new(Exchange::new(self, outgoing, plan.as_ref(), self.origin())),
        }
    }

    fn goes_as_it_came(&self) -> bool {
        self.handling.dry_run || self.handling.restore == Restore::Never
    }

    /// What gives the answer its tickets, if thoughts go back some day: calls where the provider's ids are weak, thoughts
    /// where the caller's wire wants a signature and the model's has none.
    fn mint(&self) -> Option<Mint> {
        let contract = &self.target.rule.contract;
        let owner = self.owner.as_ref().filter(|it| it.is_kept && !self.handling.dry_run)?;
        let is_translated = self.caller.id() != self.target.wire.id();
        let of = Of {
            calls: contract.tickets.map(|_| ticket::Form::of(self.caller)),
            thoughts: is_translated && self.caller.wants_signatures(),
        };
        let is_wanted = (of.calls.is_some() || of.thoughts) && contract.returns != Return::Never;
        is_wanted.then(|| Mint::new(owner.secret.clone(), owner.record.clone(), of))
    }

    /// Body, decisions, and the rest of the upstream's request.
    fn outgoing(
        &self,
        contents: Cow<'_, [Content]>,
        settings: &Resolved,
    ) -> (Option<String>, Outgoing) {
        if self.caller.id() == self.target.wire.id()
            && let Some((body, outgoing)) = self.edited(&contents, settings)
        {
            return (body, outgoing);
        }
        let request = self.request.with_contents(pair::pair(contents).into_owned());
        let mut settings = Cow::Borrowed(settings);
        if self.show().is_some() && !settings.include_in_response.is_explicit() {
            let show = Setting { value: true, source: Source::Request };
            settings.to_mut().include_in_response = show;
        }
        let mut outgoing = outgoing::build(&request, &self.target, &settings);
        (Some(std::mem::take(&mut outgoing.body)), outgoing)
    }

    /// The caller's own bytes, with thoughts put in and taken out; `None` where they cannot be edited.
    fn edited(
        &self,
        contents: &[Content],
        settings: &Resolved,
    ) -> Option<(Option<String>, Outgoing)> {
        let request = &self.request;
        let asked = outgoing::as_asked(request, &self.target, settings);
        let mut decided = policy::decide(contents, &self.target, &asked);
        self.leave_the_callers_own(&mut decided, asked.enabled.value);
        let mut after = Cow::Borrowed(contents);
        let goes_as_it_came = self.goes_as_it_came();
        if !goes_as_it_came {
            leave_out(&mut after, &decided.decisions);
            own::fit(&mut after, &self.target);
        }
        let plan = self.plan(&after, !goes_as_it_came, asked.enabled.value)?;
        let said = outgoing::said(request, &self.target, settings);
        let mut warnings = decided.warnings;
        warnings.extend(said.warnings);
        let edited = match plan.apply(self.doc.text().as_bytes()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(bytes) => Some(String::from_utf8(bytes).ok()?),
        };
        let body = match said.patches.as_slice() {
            [] => edited,
            patches => {
                let body = edited.unwrap_or_else(|| self.doc.text().to_owned());
                Some(outgoing::merged_in(body, patches))
            }
        };
        let outgoing = Outgoing {
            url: self.target.url(request.stream),
            headers: self.target.headers.clone(),
            body: String::new(),
            stream: request.stream,
            decisions: decided.decisions,
            warnings,
            untranslated: Vec::new(),
        };
        Some((body, outgoing))
    }

    /// On its own wire, what the caller sends stays unless the provider refuses it or a setting says otherwise.
    fn leave_the_callers_own(&self, decided: &mut Decided, is_thinking: bool) {
        let settings = &self.settings;
        let is_said = settings.include_in_context.value != Include::Auto
            || settings.strip_from_context.value != Strip::None;
        if is_said || (!is_thinking && self.target.rule.contract.only_when_on) {
            return;
        }
        for decision in decided.decisions.iter_mut().filter(|it| it.action == Action::Strip) {
            decision.action = Action::Keep;
            decision.reason = "the client sends it on the model's own wire".to_owned();
        }
    }

    fn plan(&self, after: &[Content], is_ours: bool, is_thinking: bool) -> Option<Plan> {
        let flags = self.target.rule.contract.flags;
        let said = [flags, self.show().filter(|_| is_thinking)].into_iter().flatten();
        let fill: Vec<Raw> =
            said.filter(|_| is_ours).filter_map(|said| Raw::parse(said).ok()).collect();
        let additions = Additions { model: Some(&self.target.model), fill: &fill };
        let before = &self.request.contents;
        plan_to(self.caller, self.doc, before, after, &self.target.dialect, additions).ok()
    }

    /// What asks for thoughts that the provider withholds, for a caller that says nothing about them and gets some.
    fn show(&self) -> Option<&'static str> {
        let (said, thinking) = (&self.request.reasoning, &self.target.rule.thinking);
        let asks = said.enabled == Some(true) || said.effort.is_some() || said.max_tokens.is_some();
        let thinks = said.enabled != Some(false)
            && said.effort != Some(Effort::None)
            && (asks || thinking.default_on);
        let is_left_out = said.show.is_none();
        let is_wanted = self.handling.thoughts == Thoughts::Show;
        thinking.show.filter(|_| is_wanted && thinks && is_left_out)
    }

    /// What was put back is told from what the caller sent; what a setting keeps out was not wanted.
    fn settle(&self, plan: Option<&mut Restoration>, decisions: &mut [Decision]) {
        let steps = self.question.iter().flat_map(|question| &question.steps);
        for (step, outcome) in steps.zip(plan.into_iter().flat_map(|plan| &mut plan.outcomes)) {
            if outcome.verdict == Verdict::Restored && !restored::mark(decisions, &step.contents) {
                outcome.verdict = Verdict::NotWanted;
            }
        }
    }

    fn outcomes(&self, plan: Option<&Restoration>) -> Vec<(Range<usize>, Verdict)> {
        let steps = self.question.iter().flat_map(|question| &question.steps);
        let outcomes = plan.into_iter().flat_map(|plan| &plan.outcomes);
        steps.zip(outcomes).map(|(step, it)| (step.contents.clone(), it.verdict)).collect()
    }
}

/// What the vault has for a request, and its messages with that.
struct Looked<'c> {
    plan: Option<Restoration>,
    contents: Cow<'c, [Content]>,
    /// For each step the record that a refusal may name.
    known: Vec<Option<Known>>,
}

/// Takes what was decided to stay out off the messages.
fn leave_out(contents: &mut Cow<'_, [Content]>, decisions: &[Decision]) {
    let out: BTreeSet<(usize, usize)> = decisions
        .iter()
        .filter(|it| !it.action.is_sent())
        .map(|it| (it.message, it.block))
        .collect();
    let messages: BTreeSet<usize> = out.iter().map(|(message, _)| *message).collect();
    for message in messages {
        if let Some(content) = contents.to_mut().get_mut(message) {
            policy::leave_out(content, |block| out.contains(&(message, block)));
        }
    }
}

/// What is asked of a vault about these messages. Nobody's are under nobody's secret, for nothing is looked up.
fn question(
    request: &Request,
    contents: &[Content],
    owner: Option<&Owner>,
    target: &Target,
) -> Question {
    let hint = owner.and_then(|owner| owner.hint.as_deref());
    let has_old = owner.is_some_and(|owner| owner.has_old_records);
    let (is_unlisted, is_sealed) = (!target.lists_ids, target.rule.contract.signed);
    let about = About { tools: &request.tools, hint, is_unlisted, is_sealed, has_old };
    let nobodys = Secret::new([0; 32]);
    let secret = owner.map_or(&nobodys, |owner| &owner.secret);
    Question::read(contents, about, secret, Version::CURRENT)
}
