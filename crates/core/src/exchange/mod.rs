//! One request to a model and its answer, without any I/O: what happens to a thought, on each face.
//!
//! All faces go through the same steps. They differ in where the conversation comes from, and in who gets the answer.
//!
//! | step | one's own conversation: `think ask`, `chat`, `acp`, the library | somebody else's client: `think serve`, `explain` |
//! | --- | --- | --- |
//! | 1. read | [`Own`]: all thoughts are there, each with its maker | [`RequestContext::read`]: its messages are all that is known of it |
//! | 2. look up | nothing | [`RequestContext::need`] names the records that are wanted |
//! | 3. decide about every thought, write the request | [`Turn::of`] | [`RequestContext::prepare`]; on the model's own wire, edits of the client's bytes |
//! | 4. read the answer | [`Turn::push`]: events | [`Exchange::push`]: events, and the client's bytes |
//! | 5. end | [`Turn::end`]: a message with its maker | [`Exchange::end`]: a record to seal |
//! | 6. a refusal that is about thoughts | [`Ended::Again`]: the same with a repair ([`Mending`]) | the same, by the driver, which may also go to another key or model |
//!
//! Both doors lead to one [`RequestContext::prepare`]. Behind it one thing changes a body: the transport leaves out the
//! question for usage where a refusal names it ([`without_usage`](crate::outgoing::without_usage)).
//!
//! # What becomes of a thought
//!
//! | it is | what is done |
//! | --- | --- |
//! | the model's, and wanted | it is sent; a client that dropped it has it put back |
//! | the model's, and not wanted | it is left out; a client's own stays on the model's wire |
//! | another's, which the model reads | as the model's |
//! | another's, which it cannot read | it is left out, whoever sends it; where one is demanded: the ladder |
//! | of an unknown maker | on the model's wire a client's is sent; elsewhere without its seal, or not; an imported one is taken for the model's |
//! | demanded, and nobody has it | the ladder; for a client with `restore = "required"`: 400 |
//! | cut off by the provider | it is never sent |
//! | kept out by a setting | it is left out, and nothing is done about it |
//! | refused by the model | it alone is left out, at this model, from then on |
//!
//! The ladder: the value that the provider documents; else the answer told in words; else thinking off for this request;
//! else as it is. [`decide`] says how each of these is found out.

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

pub use crate::decide::{Named, PutBack, RefusalCause, Repair};
pub use crate::decision::Without;
pub use crate::restore::Found;
pub use answer::{Done, Ending, Exchange, Name, error_event};
pub use difference::{Difference, Differences, Side};
pub use handling::{Handling, Restore, Thoughts, View};
pub use mending::{Mending, Sent, may_be_repaired};
pub use own::{Ended, Finished, Own, Turn, build};

use crate::content::{Content, Origin};
use crate::contract::Return;
use crate::decide::{self, Decided, Input, Memory, Vault};
use crate::decision::Counts;
use crate::json::{Doc, Val};
use crate::mask::Masker;
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

/// A request that was read: somebody else's client's, or one of a conversation of one's own.
#[derive(Debug)]
pub struct RequestContext<'d> {
    /// `None`: the conversation is one's own.
    caller: Option<Caller<'d>>,
    request: Cow<'d, Request>,
    target: Target,
    settings: Resolved,
    handling: Handling,
    owner: Option<Owner>,
    /// What is missing, and what it is kept under; none where thoughts are left alone.
    question: Option<Question>,
    /// The messages without the caller's thoughts that a repair removed.
    bare: Option<Vec<Content>>,
    left_out: LeftOut,
    memory: Memory,
    name: Option<Name>,
    /// The name that the caller asked for, where the model has another.
    alias: Option<String>,
    /// So many tokens may the answer take, where a budget says so.
    most: Option<u64>,
    /// A budget asks for little effort, and the caller's own words are to say so.
    is_lowered: bool,
    /// Somebody wants to know how what goes out differs from what came.
    is_compared: bool,
    /// Covers secrets in a conversation of one's own.
    masker: Option<&'d Masker>,
}

/// Somebody else's client, as far as it is known.
#[derive(Clone, Copy, Debug)]
struct Caller<'d> {
    /// The wire that its request came on.
    wire: &'static dyn Wire,
    /// Its request.
    doc: &'d Doc<'d>,
}

/// The parts of a request that a refusal removed.
#[derive(Debug, Default)]
struct LeftOut {
    /// All thoughts of a conversation of one's own.
    is_all: bool,
    /// The keyed digests of payloads and texts.
    marks: BTreeSet<String>,
    /// The ids of vault records.
    records: BTreeSet<String>,
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
    /// Why the request cannot go out as it is asked for, in a sentence for its caller.
    pub conflict: Option<String>,
    /// The thoughts that a refusal may be about.
    pub put_back: PutBack,
    /// How it differs from what the caller sent; `None` where nobody [wants to know](RequestContext::compare).
    pub differences: Option<Differences>,
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
        let mut request = read_for(caller, target.wire, doc.root())?;
        request.is_relayed = true;
        let target = target.in_format(settings.format.value).into_owned();
        let owner = owner.filter(|_| handling.restore != Restore::Never);
        let is_asked = handling.restore != Restore::Never;
        let question =
            is_asked.then(|| question(&request, &request.contents, owner.as_ref(), &target));
        let memory = Memory {
            // Nothing is told there, and nothing that is demanded stays out.
            is_afresh: handling.restore == Restore::Required,
            ..Memory::default()
        };
        let own = RequestContext::of(Cow::Owned(request), target, settings);
        let caller = Some(Caller { wire: caller, doc });
        Ok(RequestContext { caller, handling, owner, question, memory, ..own })
    }

    /// A request of a conversation of one's own, of which nothing is missing.
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
            alias: None,
            most: None,
            is_lowered: false,
            is_compared: false,
            masker: None,
        }
    }

    /// The wire that it came on; `None`: the conversation is one's own.
    #[must_use]
    pub fn caller(&self) -> Option<&'static dyn Wire> {
        self.caller.map(|caller| caller.wire)
    }

    /// The model as it is asked, repairs included.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What the caller sends of the conversation.
    #[must_use]
    pub fn contents(&self) -> &[Content] {
        &self.request.contents
    }

    /// What the caller says about reasoning.
    #[must_use]
    pub fn reasoning(&self) -> &ReasoningAsk {
        &self.request.reasoning
    }

    /// The settings that hold.
    #[must_use]
    pub fn settings(&self) -> &Resolved {
        &self.settings
    }

    /// Other settings hold: those within a budget.
    pub fn set_settings(&mut self, settings: Resolved) {
        self.settings = settings;
    }

    /// The request as the caller wrote it; `None`: the conversation is one's own.
    #[must_use]
    pub fn root(&self) -> Option<Val<'_>> {
        self.caller.map(|caller| caller.doc.root())
    }

    /// The most tokens that the caller lets the answer take, if it says so.
    #[must_use]
    pub fn cap(&self) -> Option<u64> {
        self.request.max_tokens
    }

    /// The answer may take no more tokens than these: its caller's own cap holds where that is less.
    pub fn set_most(&mut self, tokens: u64) {
        // A cap of nothing is no cap: nobody asks for an answer of nothing.
        let cap = self.request.max_tokens.filter(|cap| *cap > 0);
        self.request.to_mut().max_tokens = Some(cap.map_or(tokens, |cap| cap.min(tokens)));
        self.most = Some(tokens);
    }

    /// The least that the model can be told to think at most: where its rule has no cap on thoughts, the caller may name
    /// one all the same.
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

    /// Whether the answer is asked for as a stream; on wires where the path says so, the driver knows better.
    pub fn set_stream(&mut self, stream: bool) {
        self.request.to_mut().stream = stream;
    }

    /// Whether what goes out is compared with what came: for that all messages are looked at once more.
    pub fn compare(&mut self, is_compared: bool) {
        self.is_compared = is_compared;
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
        let known: BTreeSet<&str> = found.iter().map(|found| found.head.id.as_str()).collect();
        let mut named = found.iter().flat_map(|found| &found.head.ancestors);
        // Mostly each of them was found behind its own history.
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

    /// The look-up failed, or took too long: what is decided is for this request alone, and the next one looks again.
    pub fn look_up_failed(&mut self) {
        self.memory.is_alone = true;
    }

    /// Decides about every thought, and makes the upstream's request. A record that cannot be opened is none.
    #[must_use]
    pub fn prepare(&self, found: &[Found], open: &dyn Open) -> Prepared {
        let origin = self.origin();
        let choice = self.choice();
        let mut settings = Cow::Borrowed(&self.settings);
        if choice == Choice::ThinkingOff {
            settings = Cow::Owned(decide::without_thinking(&settings));
        }
        let found = self.usable(found);
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

    /// What goes of each thought: of one's own conversation all of them are there, of a caller's the vault knows more.
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

    /// What gives the answer its tickets, if thoughts go back some day: calls where the provider's ids are weak, thoughts
    /// where the caller's wire wants a signature and the model's has none.
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

/// What is asked of a vault about these messages. Nobody's are under nobody's secret, for nothing is looked up.
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
