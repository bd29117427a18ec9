//! One request to a model and its answer, without any I/O, for each face.
//!
//! A *thought* is the reasoning of an answer: text, a seal (a signature or encrypted content), or both. Its *maker*
//! is the model family that made it, with the host. A *contract* is the data of the model's rule about the thoughts
//! that a model wants, demands and refuses. A *wire* is an API format. A *record* is the gateway's data about an
//! answer: its thoughts, encrypted for one tenant, and digests of its text, calls and history, which find it again.
//!
//! All faces go through the same steps. They differ in the source of the conversation and in the receiver of the
//! answer. The *driver* is the code around this module that sends requests.
//!
//! | step | own conversation: `think ask`, `chat`, `acp`, the library | caller: `think serve`, `explain` |
//! | --- | --- | --- |
//! | 1. read | [`Own`]: has all thoughts, each with its maker | [`RequestContext::read`]: has what the client sends |
//! | 2. look up | nothing to look up | [`RequestContext::need`] names the keys of records |
//! | 3. decide about every thought, write the request | [`Turn::of`] | [`RequestContext::prepare`] |
//! | 4. read the answer | [`Turn::push`] gives events | [`Exchange::push`] gives events, and bytes for the caller |
//! | 5. end | [`Turn::end`] gives a message with its maker | [`Exchange::end`] gives records, which the driver stores |
//! | 6. after a refusal | [`Turn::end`] gives [`Ended::Again`]: a new turn with a repair | the driver asks [`Mending`] for a repair and prepares again; it may also use another key or model |
//!
//! [`Turn::of`] calls [`RequestContext::prepare`], so that both columns decide alike. If a caller speaks the model's
//! own wire, its bytes are edited; else the request is written anew. `explain` ends after step 3. The driver sends
//! the body as it is, except that the transport removes the question for usage from a request that a server refused
//! because of it ([`without_usage`](crate::outgoing::without_usage)).
//!
//! # The fate of a thought
//!
//! The first row that fits counts.
//!
//! | thought | action |
//! | --- | --- |
//! | cut off, because the answer broke off | is not kept and not sent |
//! | removed by `includeInContext` or `stripFromContext` | is left out; the ladder does not apply |
//! | refused by this model before | is left out at this model; the ladder follows if the contract demands a thought here |
//! | of a maker that the model cannot read | is left out, whoever sends it; the ladder follows if the contract demands a thought here |
//! | not wanted here by the contract | is left out; a copy that the client itself sends on the model's own wire stays |
//! | dropped or emptied by the client, with a record | is put back |
//! | sealed, edited by the client, with a record | is replaced by the one that was given out |
//! | plain, edited by the client | is sent as the client has it |
//! | of the model itself, or of a maker that it can read | is sent in the form that the model reads |
//! | of an unknown maker, on the model's own wire | stays as the client sent it; loses its seal if the model demands words |
//! | of an unknown maker, on another wire | loses its seal if the model takes plain thoughts, else is left out |
//! | demanded, and nobody has it | the ladder follows; with the model's setting `restore = "required"`: 400 |
//!
//! An own conversation knows all makers. An imported message without one counts as the model's own.
//!
//! The ladder has four steps. The request takes the first step that the contract allows:
//!
//! 1. the placeholder that the provider documents for missing thoughts goes in its place;
//! 2. the answer and the results of its calls become quoted text of the user, without calls;
//! 3. thinking goes off for this request;
//! 4. the request goes without the thought, and the provider may refuse it.
//!
//! # A refusal
//!
//! A refusal that concerns thoughts leads to a repair, and all decisions are made again. A thought that the refusal
//! names is left out alone, and a member that it names is changed alone. A refusal in general words leads to a
//! request without any thought, or, if the refused one had none, to a request with the known thoughts; a demanded
//! thought then goes down the ladder. The lesson of a repair about the model is remembered for a day. A refused
//! thought stays out: the vault marks its record, the gateway remembers a client's own for a day, and an own
//! conversation keeps a mark beside the answer.
//!
//! [`decide`] has the exact conditions.

mod align;
mod answer;
mod body;
mod difference;
mod handling;
mod head;
mod mending;
mod mint;
mod own;
mod pair;
mod repaired;
mod show;
mod stamp;

pub use crate::decide::{Named, PutBack, RefusalCause, Repair};
pub use crate::decision::Without;
pub use crate::restore::Found;
pub use answer::{Done, Ending, Exchange, Name, error_event};
pub use difference::{Difference, Differences, Side};
pub use handling::{Handling, Restore, Thoughts, View};
pub use mending::{Mending, Sent, may_be_repaired};
pub use own::{Ended, Finished, Own, Turn, build};
pub use stamp::Stamp;

use crate::content::{Content, Origin};
use crate::contract::Return;
use crate::decide::{self, Decided, Input, Memory, Vault};
use crate::decision::Counts;
use crate::json::{Doc, Val};
use crate::outgoing::{self, Choice};
use crate::plane::{Open, Tenant};
use crate::provider::Target;
use crate::request::{ReasoningAsk, Request};
use crate::restore::{About, Ask, Key, Question, Secret, Version, more, ticket};
use crate::settings::Resolved;
use crate::wire::{LEAST_BUDGET, RequestError, Wire, read_for};
use mint::{Mint, Of};
use std::borrow::Cow;
use std::collections::BTreeSet;
use thinkthrough_mask::Masker;

/// The owner of a request, as far as restoration needs it. Without an owner there is no look-up and no record.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The tenant.
    pub tenant: Tenant,
    /// The tenant's secret for look-ups.
    pub secret: Secret,
    /// The client's hint about its session.
    pub hint: Option<String>,
    /// The account at the upstream, if opaque payloads are bound to one.
    pub account: Option<String>,
    /// The id of the answer's record, drawn at random.
    pub record: String,
    /// The answer may be stored. If not, the caller gets the provider's ids, because the gateway could not map tickets
    /// back.
    pub is_kept: bool,
}

/// The data that `prepare` needs first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The records with any of these keys, in any order.
    Lookup(Vec<Key>),
    /// No records.
    Nothing,
}

/// A request that was read, from a caller or of an own conversation.
#[derive(Debug)]
pub struct RequestContext<'d> {
    /// `None`: the conversation is an own one.
    caller: Option<Caller<'d>>,
    request: Cow<'d, Request>,
    target: Target,
    settings: Resolved,
    handling: Handling,
    owner: Option<Owner>,
    /// The data for look-ups and for the answer's record. `None` if thoughts are left alone.
    question: Option<Question>,
    /// The messages without the caller's thoughts that a repair removed.
    bare: Option<Vec<Content>>,
    left_out: LeftOut,
    memory: Memory,
    name: Option<Name>,
    stamp: Option<Stamp>,
    /// The model name that the caller asked for, if the model has another.
    alias: Option<String>,
    /// The most tokens of the answer, if a budget sets a cap.
    most: Option<u64>,
    /// A budget asks for little effort, in the caller's own words.
    is_lowered: bool,
    /// The outgoing messages are compared with the caller's.
    is_compared: bool,
    /// Masks secrets in an own conversation.
    masker: Option<&'d Masker>,
}

#[derive(Clone, Copy, Debug)]
struct Caller<'d> {
    /// The wire that the request came on.
    wire: &'static dyn Wire,
    doc: &'d Doc<'d>,
}

/// The parts of a request that a refusal removed.
#[derive(Debug, Default)]
struct LeftOut {
    /// All thoughts of an own conversation.
    is_all: bool,
    /// The keyed digests of payloads and texts.
    marks: BTreeSet<String>,
    /// The ids of vault records.
    records: BTreeSet<String>,
}

/// The upstream's request, and the handling of its answer.
#[derive(Debug)]
pub struct Prepared {
    /// The body. `None`: the caller's own bytes, unchanged.
    pub body: Option<String>,
    /// The numbers for the answer's header.
    pub counts: Counts,
    /// The first message whose demanded thought is lost.
    pub missing: Option<usize>,
    /// The substitutes for missing thoughts.
    pub without: Without,
    /// The reason why the request cannot go out as asked, as a sentence for the caller.
    pub conflict: Option<String>,
    /// The thoughts that a refusal may be about.
    pub put_back: PutBack,
    /// The differences from the caller's request; `None` unless [asked for](RequestContext::compare).
    pub differences: Option<Differences>,
    /// The path of the answer.
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
        let mut request = read_for(caller, target.wire, doc.root())?;
        request.is_relayed = true;
        let target = target.in_format(settings.format.value).into_owned();
        let owner = owner.filter(|_| handling.restore != Restore::Never);
        let is_asked = handling.restore != Restore::Never;
        let question =
            is_asked.then(|| question(&request, &request.contents, owner.as_ref(), &target));
        let memory = Memory {
            // With `required`, words never replace an answer and no demanded thought stays out, so that earlier
            // decisions do not matter.
            is_afresh: handling.restore == Restore::Required,
            ..Memory::default()
        };
        let own = RequestContext::of(Cow::Owned(request), target, settings);
        let caller = Some(Caller { wire: caller, doc });
        Ok(RequestContext { caller, handling, owner, question, memory, ..own })
    }

    /// Makes the context of an own conversation, which has all its thoughts.
    #[must_use]
    pub fn own(request: &'d Request, target: &Target, settings: &Resolved) -> Self {
        let target = target.in_format(settings.format.value).into_owned();
        RequestContext::of(Cow::Borrowed(request), target, settings)
    }

    fn of(request: Cow<'d, Request>, target: Target, settings: &Resolved) -> Self {
        RequestContext {
            caller: None,
            request,
            target,
            settings: settings.clone(),
            handling: Handling::default(),
            owner: None,
            question: None,
            bare: None,
            left_out: LeftOut::default(),
            memory: Memory::default(),
            name: None,
            stamp: None,
            alias: None,
            most: None,
            is_lowered: false,
            is_compared: false,
            masker: None,
        }
    }

    /// The wire that the request came on; `None` for an own conversation.
    #[must_use]
    pub fn caller(&self) -> Option<&'static dyn Wire> {
        self.caller.map(|caller| caller.wire)
    }

    /// The model of the request, with the facts that repairs taught.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The messages of the request.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        &self.request.contents
    }

    /// The caller's parameters for reasoning.
    #[must_use]
    pub fn reasoning(&self) -> &ReasoningAsk {
        &self.request.reasoning
    }

    /// The settings of the request.
    #[must_use]
    pub fn settings(&self) -> &Resolved {
        &self.settings
    }

    /// Replaces the settings, for example to stay within a budget.
    pub fn set_settings(&mut self, settings: Resolved) {
        self.settings = settings;
    }

    /// The request as the caller wrote it; `None` for an own conversation.
    #[must_use]
    pub fn root(&self) -> Option<Val<'_>> {
        self.caller.map(|caller| caller.doc.root())
    }

    /// The caller's cap on the tokens of the answer.
    #[must_use]
    pub fn cap(&self) -> Option<u64> {
        self.request.max_tokens
    }

    /// Sets a cap on the tokens of the answer. A lower cap of the caller stays.
    pub fn set_most(&mut self, tokens: u64) {
        // A cap of 0 counts as no cap.
        let cap = self.request.max_tokens.filter(|cap| *cap > 0);
        self.request.to_mut().max_tokens = Some(cap.map_or(tokens, |cap| cap.min(tokens)));
        self.most = Some(tokens);
    }

    /// The smallest cap on thoughts that the request can have, in tokens. If the model's rule has none, a Messages
    /// caller that set a cap gets the least one of its API. Else 1.
    #[must_use]
    pub fn least_thought(&self) -> u64 {
        let own = self.request.reasoning.max_tokens.filter(|_| self.caller_is("messages"));
        let of_rule = self.target.rule.thinking.budget.map(|form| form.min);
        of_rule.or(own.map(|_| LEAST_BUDGET)).unwrap_or(1)
    }

    /// Whether the answer is asked for as a stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.request.stream
    }

    /// Sets whether the answer is a stream. On some wires only the path shows it, which the driver knows.
    pub fn set_stream(&mut self, stream: bool) {
        self.request.to_mut().stream = stream;
    }

    /// Sets whether the outgoing messages are compared with the caller's. The comparison reads all messages once more.
    pub fn compare(&mut self, is_compared: bool) {
        self.is_compared = is_compared;
    }

    /// The records to look up.
    #[must_use]
    pub fn need(&self) -> Need {
        let question = self.question.as_ref().filter(|_| self.owner.is_some());
        let keys = question.map(Question::keys).unwrap_or_default();
        if keys.is_empty() { Need::Nothing } else { Need::Lookup(keys) }
    }

    /// The ids of further records to look up, given the first ones: answers that only a later answer names. Usually
    /// empty.
    #[must_use]
    pub fn more(&self, found: &[Found]) -> Vec<String> {
        let Some(question) = &self.question else { return Vec::new() };
        let known: BTreeSet<&str> = found.iter().map(|found| found.head.id.as_str()).collect();
        let mut named = found.iter().flat_map(|found| &found.head.ancestors);
        // Usually the history of each of them led to its record.
        if named.all(|ancestor| known.contains(&*ancestor.id)) {
            return Vec::new();
        }
        let origin = self.origin();
        let contract = &self.target.rule.contract;
        let is_own_wire = self.is_own_wire();
        let ask =
            Ask { contract, origin: &origin, is_own_wire, is_thinking: true, is_afresh: true };
        more(question, found.iter().map(|found| &*found.head), &ask)
    }

    fn origin(&self) -> Origin {
        self.target.origin(self.owner.as_ref().and_then(|it| it.account.clone()))
    }

    /// Reports that the look-up failed or took too long. The decisions are then for this request alone, and the next
    /// request looks again.
    pub fn look_up_failed(&mut self) {
        self.memory.is_alone = true;
    }

    /// Decides about every thought and makes the upstream's request. A record that cannot be opened counts as not
    /// found.
    #[must_use]
    pub fn prepare(&self, found: &[Found], open: &dyn Open) -> Prepared {
        let origin = self.origin();
        let choice = self.choice();
        let mut settings = Cow::Borrowed(&self.settings);
        if choice == Choice::ThinkingOff {
            settings = Cow::Owned(decide::without_thinking(&settings));
        }
        let found = self.usable(found, open);
        let decided = self.decided(&found, open, &origin, &settings);
        if decided.is_off {
            settings = Cow::Owned(decide::without_thinking(&settings));
        }
        let Decided { applied, missing, put_back, hook, .. } = decided;
        let (counts, without) = (Counts::of(&applied.decisions), Without::of(&applied.decisions));
        let came = &self.request.contents;
        debug_assert_eq!(came.len(), applied.contents.len(), "each message goes in its own place");
        let mut differences = self.is_compared.then(|| Differences::of(came, &applied.contents));
        let (mut body, mut outgoing) = self.outgoing(applied, &settings);
        let is_adapted = choice == Choice::ThinkingOff;
        outgoing.adapted.extend(is_adapted.then_some(outgoing::THINKING));
        let conflict = (choice == Choice::Conflict).then(|| self.conflict());
        if let Some(differences) = differences.as_mut().filter(|_| body.is_some()) {
            self.set_members(differences, &settings);
        }
        if self.caller.is_none() {
            outgoing.body = self.covered(body.take().unwrap_or_default());
        }
        let exchange = Box::new(Exchange::new(self, outgoing, hook, origin));
        Prepared { body, counts, missing, without, conflict, put_back, differences, exchange }
    }

    /// Decides about each thought. An own conversation has all of them; for a caller, the vault adds more.
    fn decided<'s>(
        &'s self,
        found: &'s [Found],
        open: &'s dyn Open,
        origin: &'s Origin,
        settings: &Resolved,
    ) -> Decided<'s> {
        let Some(caller) = self.caller else {
            let is_refused = |word: &str| self.is_refused(word);
            return decide::ours(&self.request, &self.target, settings, &is_refused);
        };
        let owner = self.owner.as_ref();
        let input = Input {
            request: &self.request,
            caller: caller.wire,
            contents: self.bare.as_ref().unwrap_or(&self.request.contents),
            target: &self.target,
            is_own_wire: self.is_own_wire(),
            goes_as_it_came: self.goes_as_it_came(),
            question: self.question.as_ref(),
            vault: Vault {
                found,
                tenant: owner.map(|owner| &owner.tenant),
                secret: owner.map(|owner| &owner.secret),
                open,
                origin,
                is_kept: owner.is_some_and(|owner| owner.is_kept),
            },
            may_fall_back: self.handling.restore == Restore::Recommended && !self.handling.dry_run,
            most: self.handling.max_restore_tokens,
            memory: self.memory,
        };
        let mut decided = decide::decide(&input, settings);
        if !decided.is_off && self.began_off(&decided.applied.decisions, settings) {
            decided = decide::decide(&input, &decide::without_thinking(settings));
            decided.is_off = true;
        }
        Decided { applied: self.without_refused(decided.applied), ..decided }
    }

    fn is_own_wire(&self) -> bool {
        self.caller_is(self.target.wire.id())
    }

    fn caller_is(&self, wire: &str) -> bool {
        self.caller.is_some_and(|caller| caller.wire.id() == wire)
    }

    fn goes_as_it_came(&self) -> bool {
        self.handling.dry_run || self.handling.restore == Restore::Never
    }

    /// Makes the source of tickets, if thoughts ever go back. Calls get tickets if the provider's ids are weak.
    /// Thoughts get one if the caller's wire wants a signature and the model's has none.
    fn mint(&self) -> Option<Mint> {
        let contract = &self.target.rule.contract;
        let owner = self.owner.as_ref().filter(|it| it.is_kept && !self.handling.dry_run)?;
        let caller = self.caller()?;
        let of = Of {
            calls: contract.tickets.map(|_| ticket::Form::of(caller)),
            thoughts: !self.is_own_wire() && caller.wants_signatures(),
        };
        let is_wanted = (of.calls.is_some() || of.thoughts) && contract.returns != Return::Never;
        is_wanted.then(|| Mint::new(owner.secret.clone(), owner.record.clone(), of))
    }
}

/// Reads the look-up question of these messages. Without an owner there is no look-up, so that any secret will do.
fn question(
    request: &Request,
    contents: &[Content],
    owner: Option<&Owner>,
    target: &Target,
) -> Question {
    let hint = owner.and_then(|owner| owner.hint.as_deref());
    let (is_unlisted, is_sealed) = (!target.lists_ids, target.rule.contract.signed);
    let about = About { tools: &request.tools, hint, is_unlisted, is_sealed };
    let nobodys = Secret::new([0; 32]);
    let secret = owner.map_or(&nobodys, |owner| &owner.secret);
    Question::read(contents, about, secret, Version::CURRENT)
}
