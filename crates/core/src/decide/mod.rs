//! Decides which thoughts go into a request, and why. No other code decides this.
//!
//! Clients drop most thoughts of earlier answers. Some models demand their thoughts back, some refuse all thoughts, and
//! some accept only their own. [`decide`] is a pure function of the request, the records that were found for it, the
//! model's contract and the settings. It returns a list of [`Decision`]s. The header of the answer, `think explain`,
//! metrics and traces all read that list.
//!
//! # Why a thought is put back or left out
//!
//! The steps run in this order, and each step sees the decisions of the earlier ones.
//!
//! 1. **Which record is this answer?** `restore` finds it by ids, by history, or by the answer after it. The result is
//!    the [`Evidence`](crate::decision::Evidence) of a decision.
//! 2. **What becomes of each answer's thought?** (`answers`) The first case that fits counts:
//!    - The answer is a fragment of the answer before, which has the thought: `GoesOn`.
//!    - The client sends a thought. Its record names the maker, else the form of its seal does. If the model cannot
//!      read thoughts of that maker ([`Contract::can_read`]): `Withhold`. If the client altered a sealed thought:
//!      `Restore`. If the model demands a seal and the thought has none: `Drop`. If the maker is unknown and the wire
//!      is another: `Unseal` or `Drop`. Else: `Keep`.
//!    - The client refers to items that the provider stores: `Keep`.
//!    - The contract does not want a thought here ([`Contract::wants`]): `Strip`.
//!    - No record was found: `Miss`. Several unequal records fit: `Ambiguous`.
//!    - The record is from a model whose thoughts this one cannot read ([`Contract::can_read`]): `Withhold`.
//!    - The messages before the answer have changed, the answer was broken off, or it is a part of an answer that is
//!      elsewhere in the request: `Drop` or `Miss`.
//!    - The model did not think: `Empty`.
//!    - Else: `Restore`.
//!
//!    Earlier requests to this model then overrule the record (`Lasting`): an answer that went out in words does so
//!    again, and a thought that was left out stays out, with `Drop`.
//! 3. **Is it bound to the thoughts before it?** (`bound`) Then only an unbroken run up to the newest answer goes back.
//! 4. **Is it too much?** (`limit`) The oldest thoughts beyond `max_restore_tokens` stay out, except demanded ones.
//! 5. **Is a demanded thought missing or withheld?** (`ladder`) The first substitute that the model supports is used:
//!    the documented value (`Bypass`), the answer in words (`Tell`), the request without thinking (`Off`), else
//!    nothing.
//! 6. **Which blocks go out?** (`blocks`) This step sees all thoughts in the messages, of the client and of the vault:
//!    - `includeInContext = false` removes all of them: `Strip`.
//!    - The model refuses a thought or cannot use it: `Drop`. The model cannot read it: `Withhold`.
//!    - `stripFromContext` removes the thoughts that it selects: `Strip`. Demanded thoughts are sent nevertheless:
//!      `Add`.
//!    - The contract wants a thought: `Keep`. It does not: `Strip`, but a client's own thought stays on its model's own
//!      wire.
//!    - If thoughts are bound to earlier ones, no thought in the middle is left out.
//!    - If the contract wants its field on every answer, an answer that is known to have had no thought gets an empty
//!      one.
//! 7. **Was the thought of step 2 sent?** A thought of the vault that is sent is marked `Restore` on its blocks. If
//!    step 6 removed it, the answer is marked `Strip`.
//!
//! If the provider refuses the request for its thoughts, a [`Repair`] follows, and all steps run again.
//!
//! # Decisions that last
//!
//! **If the messages of a caller grow only by appending, so do the messages to the same model.** This holds for an
//! answer as long as it and the messages before it are unchanged, and the record of some later answer is found:
//!
//! - An answer that went out in words, or with the documented value, does so again, even if its thought is found by
//!   now.
//! - A thought that was left out although its record was there stays out. The reasons are the limit, a broken run of
//!   bound thoughts, several fitting records, and a refusal by the provider.
//! - A restored thought is restored again, as long as its record is found. There is one exception: if no id names the
//!   answer, and another model has meanwhile given the same answer to the same history, several records fit and no
//!   thought goes back. That happens a few times in a million if two models get the same questions
//!   (`benches/results/agents-*`).
//!
//! Every record has these decisions for the answers before it, and the newest record of the same path counts. A thought
//! that was missing and had no substitute goes back once its record is found. If a look-up failed, or thinking went
//! off, the decisions are for that request alone, and the record of its answer has none (except refused thoughts). A
//! refusal changes earlier decisions: if the provider demands missing thoughts, the repaired request is decided afresh,
//! and later requests follow it (`tests/exchange/told.rs`).
//!
//! `apply` applies the decisions to the messages. The result becomes edits of the caller's own bytes, or a newly
//! written request. Wires write the messages as they are.
//!
//! # Where each question is answered
//!
//! | question | answer |
//! | --- | --- |
//! | is a thought wanted, demanded, forbidden; can the model read it? | [`Contract`] |
//! | is this the turn under way, does it call tools, is it stripped? | `turns` |
//! | is the model to think? | [`thinks`] |
//! | which thoughts of an own conversation go out? | `ours` |
//! | is it known that the model did not think? | `blocks::empties` |
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

/// A request to decide about, with its records and its target.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) request: &'a Request,
    /// The wire that the request came on.
    pub(crate) caller: &'static dyn Wire,
    /// Its messages after repairs.
    pub(crate) contents: &'a [Content],
    pub(crate) target: &'a Target,
    /// The caller's wire equals the model's.
    pub(crate) is_own_wire: bool,
    /// Decisions are made, but not applied.
    pub(crate) goes_as_it_came: bool,
    /// The answers in the request, if thoughts are looked up.
    pub(crate) question: Option<&'a Question>,
    pub(crate) vault: Vault<'a>,
    /// Lost thoughts may have substitutes.
    pub(crate) may_fall_back: bool,
    /// The most tokens of restored thoughts.
    pub(crate) most: Option<u64>,
    pub(crate) memory: Memory,
}

/// The effect of earlier requests on this one, and of this one on later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Ignores the lasting decisions of earlier requests, for example after a refusal that changes them.
    pub(crate) is_afresh: bool,
    /// Leaves out the vault's thoughts, because the provider refused the request with them.
    pub(crate) omits: bool,
    /// The look-up failed, so that the decisions are for this request alone.
    pub(crate) is_alone: bool,
}

/// The records that the vault has for a request, their owner, and the key that opens them.
#[derive(Clone, Copy)]
pub(crate) struct Vault<'a> {
    pub(crate) found: &'a [Found],
    pub(crate) tenant: Option<&'a Tenant>,
    pub(crate) secret: Option<&'a Secret>,
    pub(crate) open: &'a dyn Open,
    /// The origin of the target's own answers.
    pub(crate) origin: &'a Origin,
    /// The answer may be kept.
    pub(crate) is_kept: bool,
}

/// A conversation as it goes into a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied<'c> {
    /// The messages.
    pub contents: Cow<'c, [Content]>,
    /// The decisions about each answer, each thought, and each opaque payload on another block, in the order of the
    /// conversation.
    pub decisions: Vec<Decision>,
    /// Warnings for the user.
    pub warnings: Vec<Problem>,
}

pub(crate) struct Decided<'c> {
    pub(crate) applied: Applied<'c>,
    /// The request goes without thinking.
    pub(crate) is_off: bool,
    /// The first message whose demanded thought is lost.
    pub(crate) missing: Option<usize>,
    /// The thoughts that a refusal may be about.
    pub(crate) put_back: PutBack,
    /// The data that the coming answer's record needs.
    pub(crate) hook: Option<Hook>,
}

/// Decides about every thought of a request and applies the decisions to its messages. A record that cannot be opened
/// counts as not found.
pub(crate) fn decide<'c>(input: &Input<'c>, settings: &Resolved) -> Decided<'c> {
    let looked = Looked::of(input, settings);
    let mut lacking = ladder::lacking(input, &looked.answers);
    let missing = lacking.iter().find_map(ladder::Lacking::lost);
    // Withheld thoughts get substitutes with every setting of `restore`.
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
    // Keeps the decisions about answers: their thoughts are lost all the same.
    let decisions = &mut decided.applied.decisions;
    decisions.retain(|it| it.block.is_some());
    decisions.extend(wanted.into_iter().filter(|it| it.block.is_none()));
    in_order(decisions);
    decided
}

pub(crate) fn without_thinking(settings: &Resolved) -> Resolved {
    let mut off = settings.clone();
    off.enabled.value = false;
    off
}

/// Whether the model may think in its answer to this request, if that is known. If no setting says so, it may, unless
/// the model thinks only on demand and refuses thoughts otherwise: unneeded thoughts do no harm elsewhere.
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

/// The settings for thoughts of the history. If the model refuses thoughts while it does not think, and the request
/// asks for no thinking, these settings have thinking off.
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

/// The vault's thoughts for a request, and the messages with them.
struct Looked<'c> {
    answers: Vec<Decision>,
    /// The answers whose thoughts stay out after a refusal.
    refused: Vec<usize>,
    opened: Vec<Opened>,
    contents: Cow<'c, [Content]>,
}

impl<'c> Looked<'c> {
    /// Runs steps 1 to 4: decides about the vault's thoughts and inserts them.
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
        let contents = apply::in_place(contents, input, &answers, &opened);
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

    /// Runs steps 5 to 7.
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
        // A request without thinking puts no answer in words. Later requests follow it only in the refused thoughts.
        let is_off = fallback == Fallback::Off;
        let is_alone = is_off && self.refused.is_empty();
        let hook = hook.map(|hook| if is_alone { hook.alone() } else { hook });
        let put_back = records::put_back(&answers, &self.opened, &input.vault);
        applied.decisions.append(&mut answers);
        in_order(&mut applied.decisions);
        Decided { applied: Applied { contents, ..applied }, is_off, missing: None, put_back, hook }
    }

    /// The data for the coming answer's record, with the decisions that last.
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
