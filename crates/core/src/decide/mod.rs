//! The one place that decides about thoughts: which go into a request, and why.
//!
//! A request says nothing of most thoughts that its answers had: clients drop them. Some models demand them back, some
//! refuse them, and some take them from nobody but themselves. [`decide`] is a pure function of the request, the records
//! that were found for it, the model's contract and the settings. It gives a list of [`Decision`]s, and everything that
//! says what was done reads that list: the answer's header, `think explain`, metrics, traces.
//!
//! # Why a thought is put back or left out
//!
//! In this order, and each step sees what the ones before it decided.
//!
//! 1. **Which record is this answer?** `restore` says so, by ids, history, or the answer behind it; here that is the
//!    [`Evidence`](crate::decision::Evidence) of a decision.
//! 2. **What becomes of each answer's thought?** (`answers`) The first of these that fits:
//!    - it is a fragment of the answer before, which has the thought: `GoesOn`;
//!    - the client sends one. Being there does not make it the model's own: its maker is known by the record that has it,
//!      else by the form of its seal ([`Contract::can_read`]). A foreign one: `Withhold`; one that is altered: `Restore`; one
//!      without the seal that the model demands: `Drop`; of an unknown maker on another wire: `Unseal`, or `Drop`; else
//!      `Keep`;
//!    - the contract does not want one here ([`Contract::wants`]): `Strip`;
//!    - no record: `Miss`; several that are unequal: `Ambiguous`;
//!    - the record is another model's, which this one cannot read ([`Contract::can_read`]): `Withhold`; it stands behind
//!      other messages than then, was broken off, or is a part of an answer that stands elsewhere: `Drop` or `Miss`;
//!    - nothing was thought: `Empty`;
//!    - else `Restore`.
//!
//!    Then what became of it in earlier requests to this model stays so (`Lasting`): an answer that was told stays told,
//!    and what was left out stays out, with `Drop` where a record says otherwise by now.
//! 3. **Is it bound to those before it?** (`bound`) Then only an unbroken run goes back, up to the newest answer.
//! 4. **Is it too much?** (`limit`) The oldest beyond `max_restore_tokens` go, but none that is demanded.
//! 5. **Is a demanded thought nowhere, or withheld?** (`ladder`) Then the first of these that the model has: the documented
//!    value in its place (`Bypass`), the answer told in words (`Tell`), the request without thinking (`Off`), nothing.
//! 6. **What is said of each block?** (`blocks`) Of all that is now in the messages, whoever put it there:
//!    - `includeInContext = false` takes everything out: `Strip`;
//!    - what the model refuses or cannot use goes: `Drop`; what it cannot read: `Withhold`;
//!    - `stripFromContext` takes out what it names: `Strip`, but what is demanded is sent all the same: `Add`;
//!    - what is wanted is sent: `Keep`; what is not goes: `Strip`, but a client's own on its model's own wire stays;
//!    - where thoughts are bound to those before them, none goes out of the middle;
//!    - where the contract wants its field on every answer, one that is known to have had no thought gets an empty one.
//! 7. **What came of step 2?** A thought of the vault that is sent is marked `Restore` on its blocks; an answer whose
//!    thought step 6 took out was not wanted: `Strip`.
//!
//! A provider that refuses the request for its thoughts leads to one [`Repair`], and all is decided again.
//!
//! # What was sent once stays
//!
//! **When the messages of a caller grow by appending, so do those that go to the same model.** As long as the messages up
//! to an answer are the same, the answer among them, and the record of some answer behind it is found:
//!
//! - an answer that was told in words, or with the documented value, is told so again, although its thought is found;
//! - a thought that was left out although a record was there stays out: beyond the limit, in a bound run that broke, among
//!   several that fit, or because the provider refused the request with it;
//! - a thought that went back goes back, as long as its record is found. One thing breaks this: where no id says whose an
//!   answer is, and another model gave the same answer to the same history meanwhile, several records fit and none goes
//!   back. A few times in a million that happens where two models are asked the same (`benches/results/agents-*`).
//!
//! Every record says that of all answers before it, and the newest one that was given along the same path counts. A
//! thought that nobody had, with nothing in its place, goes back once its record is found. A look-up that failed, and a
//! request that goes without thinking, decide for themselves alone: their answers' records say nothing. And a refusal
//! changes what was sent: the request that comes of it is decided afresh where the provider demands what is missing, and
//! later ones go by what it did. (`tests/exchange/told.rs`)
//!
//! `apply` carries decisions out on the messages, in the same way whether they become edits of the caller's own bytes or
//! a request that is written anew. Wires write what they are given.
//!
//! # Where each question is answered
//!
//! | question | answer |
//! | --- | --- |
//! | is a thought wanted, demanded, forbidden; can the model read it? | [`Contract`] |
//! | is this the turn under way, does it call tools, is it stripped? | `turns` |
//! | is the model to think? | [`thinks`] |
//! | what of a conversation of our own goes out? | `ours` |
//! | is it known that nothing was thought? | `blocks::empties` |
//! | is this a fragment of the answer before? | `restore::matching`; `fragments` puts them together |
//! | which item goes without its id? | `apply::pair` |

mod answers;
mod apply;
mod blocks;
mod bound;
mod fragments;
mod ladder;
mod limit;
mod named;
mod ours;
mod records;
mod refusal;
mod refused;
mod remains;
mod repair;
#[cfg(test)]
mod tests;
mod told;
mod unlisted;

pub use answers::answers;
pub(crate) use apply::{bare, said};
pub use named::Named;
pub(crate) use named::without_named;
pub(crate) use ours::decide as ours;
pub use ours::withheld;
pub use refused::{PutBack, RefusalCause};
pub use repair::Repair;

use crate::content::{Content, Origin};
use crate::contract::Contract;
use crate::decision::{Action, Decision, Lasting};
use crate::plane::{Open, Tenant};
use crate::problem::Problem;
use crate::provider::Target;
use crate::request::Request;
use crate::restore::{Ask, Found, Hook, Question, Secret, Step, ticket};
use crate::settings::{Effort, Resolved};
use crate::wire::Wire;
use ladder::Fallback;
use records::Opened;
use std::borrow::Cow;

/// What is decided about: a request, the records that were found for it, and where it goes.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) request: &'a Request,
    /// The wire that it came on.
    pub(crate) caller: &'static dyn Wire,
    /// Its messages, as a repair leaves them.
    pub(crate) contents: &'a [Content],
    pub(crate) target: &'a Target,
    /// It came on the wire that it goes out on.
    pub(crate) is_own_wire: bool,
    /// Everything is decided, and nothing of it done.
    pub(crate) goes_as_it_came: bool,
    /// The answers in it, if lost thoughts are looked for.
    pub(crate) question: Option<&'a Question>,
    pub(crate) vault: Vault<'a>,
    /// What is done about lost thoughts: the ladder, or nothing.
    pub(crate) may_fall_back: bool,
    /// Restored thoughts beyond so many tokens stay out.
    pub(crate) most: Option<u64>,
    /// What the request has to do with those before and behind it.
    pub(crate) memory: Memory,
}

/// What a request goes by of what earlier ones did, and what later ones are to go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// A refusal changes what was done before: it is decided afresh.
    pub(crate) is_afresh: bool,
    /// The vault's thoughts stay out, because the provider refused the request with them.
    pub(crate) omits: bool,
    /// The look-up failed, so that this request is decided about for itself alone.
    pub(crate) is_alone: bool,
}

/// What was found in the vault, whose it is, and what opens it.
#[derive(Clone, Copy)]
pub(crate) struct Vault<'a> {
    pub(crate) found: &'a [Found],
    pub(crate) tenant: Option<&'a Tenant>,
    pub(crate) secret: Option<&'a Secret>,
    pub(crate) open: &'a dyn Open,
    /// What the target's own answers are marked with.
    pub(crate) origin: &'a Origin,
    /// The answer may be kept.
    pub(crate) is_kept: bool,
}

/// A conversation as it goes into a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied<'c> {
    /// The messages.
    pub contents: Cow<'c, [Content]>,
    /// What was decided about each answer, each thought, and each opaque payload on another block, in the order of the
    /// conversation.
    pub decisions: Vec<Decision>,
    /// What the user should know.
    pub warnings: Vec<Problem>,
}

/// What was decided about a request.
pub(crate) struct Decided<'c> {
    pub(crate) applied: Applied<'c>,
    /// Thinking goes off in it.
    pub(crate) is_off: bool,
    /// The first message whose thought the provider demands and nobody has.
    pub(crate) missing: Option<usize>,
    /// The thoughts that a refusal may be about.
    pub(crate) put_back: PutBack,
    /// Where the coming answer hangs.
    pub(crate) hook: Option<Hook>,
}

/// Decides about every thought of a request, and carries it out on its messages. A record that cannot be opened is none.
pub(crate) fn decide<'c>(input: &Input<'c>, settings: &Resolved) -> Decided<'c> {
    let looked = Looked::of(input, settings);
    let mut lacking = ladder::lacking(input, &looked.answers);
    let missing = lacking.iter().find_map(ladder::Lacking::lost);
    // Withheld thoughts go down the ladder with every setting of `restore`.
    lacking.retain(|it| input.may_fall_back || it.is_withheld());
    let fallback = ladder::fallback(input, &looked, &lacking);
    if fallback != Fallback::Off {
        let decided = looked.decided(input, settings, &lacking, fallback);
        return Decided { missing, ..decided };
    }
    let wanted = looked.decided(input, settings, &lacking, Fallback::None).applied.decisions;
    let off = without_thinking(settings);
    let off_looked = Looked { refused: looked.refused, ..Looked::of(input, &off) };
    let mut decided = off_looked.decided(input, &off, &lacking, Fallback::Off);
    decided.missing = missing;
    // What is said of the answers stays, for the thought is lost all the same.
    let decisions = &mut decided.applied.decisions;
    decisions.retain(|it| it.block.is_some());
    decisions.extend(wanted.into_iter().filter(|it| it.block.is_none()));
    in_order(decisions);
    decided
}

/// The settings for a request that goes without thinking.
pub(crate) fn without_thinking(settings: &Resolved) -> Resolved {
    let mut off = settings.clone();
    off.enabled.value = false;
    off
}

/// Whether the model is to think in answer to this request, as far as that is known. Where nothing is said, it may:
/// thoughts that it does not need do no harm, unless it refuses them.
pub(crate) fn thinks(request: &Request, target: &Target, settings: &Resolved) -> bool {
    let (ask, form) = (&request.reasoning, &target.rule.thinking);
    if !settings.enabled.value || settings.effort.value == Some(Effort::None) {
        return false;
    }
    let is_set = settings.effort.value.is_some() || settings.max_tokens.value.is_some();
    let by_itself = || form.default_on || !target.rule.contract.only_when_on;
    let may_ask = settings.enabled.is_explicit() || !request.is_relayed;
    ask.enabled.unwrap_or_else(|| match ask.effort {
        Some(effort) => effort != Effort::None,
        None => ask.max_tokens.is_some() || is_set || may_ask || by_itself(),
    })
}

/// The settings as far as thoughts of the history go: where they are refused without thinking, whether there is any the
/// request says, too.
pub(crate) fn as_asked<'s>(
    request: &Request,
    target: &Target,
    settings: &'s Resolved,
) -> Cow<'s, Resolved> {
    let is_refused = target.rule.contract.only_when_on;
    if !is_refused || !settings.enabled.value || thinks(request, target, settings) {
        return Cow::Borrowed(settings);
    }
    Cow::Owned(without_thinking(settings))
}

fn in_order(decisions: &mut [Decision]) {
    decisions.sort_by_key(|it| (it.message, it.block));
}

impl<'a> Input<'a> {
    fn steps(&self) -> &'a [Step] {
        self.question.map(|question| question.steps.as_slice()).unwrap_or_default()
    }

    fn contract(&self) -> &'a Contract {
        &self.target.rule.contract
    }
}

/// What the vault has for a request, and its messages with that.
struct Looked<'c> {
    answers: Vec<Decision>,
    /// The answers whose thoughts a refusal keeps out.
    refused: Vec<usize>,
    opened: Vec<Opened>,
    contents: Cow<'c, [Content]>,
}

impl<'c> Looked<'c> {
    /// Steps 1 to 4: decides about the thoughts of the vault, and puts them in their places.
    fn of(input: &Input<'c>, settings: &Resolved) -> Self {
        let Vault { secret, origin, .. } = input.vault;
        let contract = input.contract();
        let is_thinking = thinks(input.request, input.target, settings);
        let is_afresh = input.memory.is_afresh;
        let is_own_wire = input.is_own_wire;
        let ask = Ask { contract, origin, is_own_wire, is_thinking, is_afresh };
        let (mut answers, opened, refused) = records::answers(input, &ask);
        if let Some(most) = input.most {
            limit::limit(&mut answers, input.steps(), &opened, contract, most);
        }
        if input.goes_as_it_came {
            let contents = Cow::Borrowed(input.request.contents.as_slice());
            return Looked { answers, refused, opened, contents };
        }
        let contents = apply::answers(input, &answers, &opened);
        let contents = apply::own_ids(contents, input, &answers);
        let contents = fragments::joined(contents, input, &answers);
        let contents = apply::in_order(contents, input, &answers, &opened);
        let contents = match contract.tickets {
            None => contents,
            Some(ids) => ticket::rebuilt(contents, ids, secret),
        };
        let contents = ticket::withdrawn(contents, contract.signed && !contract.unsealed);
        Looked { answers, refused, opened, contents }
    }

    /// Steps 5 to 7.
    fn decided(
        &self,
        input: &Input<'c>,
        settings: &Resolved,
        lacking: &[ladder::Lacking],
        fallback: Fallback,
    ) -> Decided<'c> {
        let (mut answers, mut contents) = (self.answers.clone(), self.contents.clone());
        let laddered = fallback.take(&mut contents, lacking);
        let settings = as_asked(input.request, input.target, settings);
        let empty = answers.iter().filter(|it| it.action == Action::Empty);
        let empty: Vec<usize> = empty.map(|it| it.message).collect();
        let mut applied = blocks::decide(&contents, &empty, input.target, &settings);
        if input.is_own_wire {
            blocks::leave_the_callers_own(&mut applied.decisions, input.target, &settings);
        }
        if !(input.goes_as_it_came && input.is_own_wire) {
            contents = apply::blocks(contents, &applied.decisions, input.target, &settings);
        }
        if !input.goes_as_it_came {
            answers::settle(input.steps(), &mut answers, &mut applied.decisions);
            ladder::explain(&laddered, &mut applied.decisions);
        }
        let hook = self.hook(input, &mut answers, &laddered);
        // Nothing is told in a request that goes without thinking. Later ones go by it only in what was refused.
        let is_off = fallback == Fallback::Off;
        let is_alone = is_off && self.refused.is_empty();
        let hook = hook.map(|hook| if is_alone { hook.alone() } else { hook });
        let put_back = records::put_back(&answers, &self.opened);
        applied.decisions.append(&mut answers);
        in_order(&mut applied.decisions);
        Decided { applied: Applied { contents, ..applied }, is_off, missing: None, put_back, hook }
    }

    /// Where the coming answer hangs, and what stays as it is in this request.
    fn hook(
        &self,
        input: &Input<'c>,
        answers: &mut [Decision],
        laddered: &[Decision],
    ) -> Option<Hook> {
        let steps = input.steps().iter().zip(answers.iter_mut());
        for (at, (step, answer)) in steps.enumerate() {
            let is_told = |it: &Decision| {
                matches!(it.action, Action::Bypass | Action::Tell)
                    && step.contents.contains(&it.message)
            };
            if laddered.iter().any(is_told) {
                answer.lasting = Some(Lasting::Told);
            } else if self.refused.contains(&at) {
                answer.lasting.get_or_insert(Lasting::LeftOut);
            }
        }
        let hook = Hook::of(input.question?, answers);
        let is_alone = input.memory.is_alone || input.goes_as_it_came;
        Some(if is_alone { hook.alone() } else { hook })
    }
}
