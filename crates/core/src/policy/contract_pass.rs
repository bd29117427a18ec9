//! What the target's contract adds, drops and withholds.

use super::{Action, Decision};
use crate::content::{Block, Content, Speaker};
use crate::contract::{Older, Readable, Return};
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::settings::{Include, Key, Resolved, Strip};
use crate::turns::Turns;
use std::collections::BTreeSet;

/// What the pass looks at.
pub(super) struct Pass<'a> {
    pub(super) target: &'a Target,
    pub(super) settings: &'a Resolved,
    pub(super) turns: &'a Turns,
}

/// Whether a contract wants the reasoning of a message.
#[must_use]
pub fn needs(returns: Return, is_current_turn: bool, turn_has_calls: bool) -> bool {
    returns.takes_in(is_current_turn, turn_has_calls)
}

/// Whether the message was written where the target's model cannot read its thoughts.
/// A message of unknown origin counts as the target's own.
pub(super) fn is_foreign(content: &Content, target: &Target) -> bool {
    let Some(origin) = &content.origin else { return false };
    let own = target.origin(None);
    let other_endpoint = origin.provider != own.provider || origin.endpoint != own.endpoint;
    match target.rule.contract.readable {
        Readable::PlainText | Readable::SameEndpoint => other_endpoint,
        Readable::SameModel => other_endpoint || origin.model != own.model,
    }
}

impl Pass<'_> {
    pub(super) fn is_needed(&self, message: usize, content: &Content) -> bool {
        let contract = &self.target.rule.contract;
        if !self.settings.enabled.value && !contract.when_off {
            return false;
        }
        let is_current = self.turns.is_current(message);
        content.speaker == Speaker::Ai
            && (is_current || contract.older == Older::Allowed)
            && needs(contract.returns, is_current, self.turns.has_calls(message))
    }

    /// Why a thought cannot be sent whatever is wanted.
    pub(super) fn unusable(
        &self,
        message: usize,
        content: &Content,
        block: Option<&Block>,
    ) -> Option<Decision> {
        let contract = &self.target.rule.contract;
        let drop = |reason: &str| Some(Decision::new(Action::Drop, "contract", reason));
        if !self.settings.enabled.value && !contract.when_off {
            let reason = "thinking is switched off";
            return Some(Decision::new(Action::Strip, Key::Enabled.as_str(), reason));
        }
        if contract.forbids() || self.refuses_field() {
            return drop("the model refuses reasoning in requests");
        }
        if contract.older == Older::Forbidden && !self.turns.is_current(message) {
            return drop("the model refuses reasoning of earlier turns");
        }
        if block.is_none() && content.partial {
            return drop("its answer was cut off, and the payload belongs to all of it");
        }
        let Some(Block::Thinking(thinking)) = block else { return None };
        if thinking.partial {
            return drop("it was cut off, and only a complete thought may be sent back");
        }
        if content.partial && contract.bound {
            return drop("its answer was cut off, and the thought is bound to it");
        }
        let is_sealed = thinking.has_payload();
        if contract.signed && !contract.unsealed && !is_sealed {
            return drop("it has no signature or other payload that the model could verify");
        }
        // Of an endpoint of which nothing is known, the wire's own place may take what it gave.
        let is_known = contract.field.is_some() || !contract.source.is_empty();
        if is_known
            && !contract.signed
            && thinking.thought.is_empty()
            && is_sealed
            && thinking.detail_type.is_none()
        {
            return drop("it has no readable text, and the model takes nothing else");
        }
        None
    }

    fn refuses_field(&self) -> bool {
        let dialect = &self.target.dialect;
        dialect.field.as_deref().is_some_and(|field| dialect.refuses.contains(&field))
    }

    /// Bound thoughts may only be left out from the front: whatever stands behind the first one that is
    /// sent must be sent too, and behind one that cannot be sent nothing may be.
    pub(super) fn bind(&self, contents: &[Content], decisions: &mut [Decision]) {
        if !self.target.rule.contract.bound {
            return;
        }
        let blocked = decisions.iter().rposition(|decision| {
            matches!(decision.action, Action::Drop | Action::Withhold)
                && contents.get(decision.message).is_some_and(|content| !content.partial)
        });
        let mut has_sent = false;
        for (index, decision) in decisions.iter_mut().enumerate() {
            if blocked.is_some_and(|blocked| index < blocked) && decision.action.is_sent() {
                decision.action = Action::Drop;
                decision.setting = "contract";
                decision.reason =
                    "a later thought is missing, and the model refuses a gap in the chain"
                        .to_owned();
            } else if has_sent && decision.action == Action::Strip {
                decision.action = Action::Add;
                decision.setting = "contract";
                decision.reason =
                    "thoughts are bound to those before them; only the oldest may be \
                                   left out"
                        .to_owned();
            }
            has_sent |= decision.action.is_sent();
        }
    }

    /// The messages that get an empty thought, because the contract wants the field on each.
    pub(super) fn empties(&self, contents: &[Content], decisions: &[Decision]) -> Vec<Decision> {
        let contract = &self.target.rule.contract;
        let Some(empty) = contract.empty.filter(|_| contract.required) else { return Vec::new() };
        if self.settings.include_in_context.value == Include::False {
            return Vec::new();
        }
        let own = self.target.origin(None);
        let with_thoughts: BTreeSet<usize> = decisions.iter().map(|it| it.message).collect();
        let is_wanting = |(message, content): &(usize, &Content)| {
            let is_own = content.origin.as_ref().is_some_and(|origin| {
                origin.provider == own.provider && origin.endpoint == own.endpoint
            });
            let had_none = !with_thoughts.contains(message);
            is_own && had_none && !content.partial && self.is_needed(*message, content)
        };
        let wanting = contents.iter().enumerate().filter(is_wanting);
        let empty = wanting.map(|(message, _)| {
            let reason = format!(
                "the contract wants the field; this answer had no thought, so it is {empty:?}"
            );
            Decision { message, ..Decision::new(Action::Add, "contract", reason) }
        });
        empty.collect()
    }

    pub(super) fn why_needed(&self) -> String {
        let contract = &self.target.rule.contract;
        let which = match contract.returns {
            Return::All => "all thoughts",
            Return::ToolCalls => "the thoughts of turns with tool calls",
            Return::CurrentTurn | Return::Never => "the thoughts of the turn under way",
        };
        let verb = if contract.required { "demands" } else { "wants" };
        format!("`{}` {verb} {which} ({})", self.target.model, self.target.rule_source)
    }

    pub(super) fn why_not_needed(&self) -> String {
        if self.target.rule.contract.returns == Return::Never {
            return format!("nothing is known that makes `{}` need thoughts", self.target.model);
        }
        format!("`{}` does not need the thoughts of this turn", self.target.model)
    }

    pub(super) fn warnings(&self, decisions: &[Decision]) -> Vec<Problem> {
        let contract = &self.target.rule.contract;
        let mut warnings = Vec::new();
        let mut warn = |text: String| warnings.push(Problem::new(ProblemCode::Fallback, text));
        let is_added = decisions.iter().any(|decision| decision.action == Action::Add);
        if is_added && self.settings.strip_from_context.value != Strip::None {
            warn(format!(
                "`{}` is {}, but `{}` demands thoughts, so they are sent; `{}=false` would stop them",
                Key::StripFromContext.as_str(),
                self.settings.strip_from_context.value.as_str(),
                self.target.model,
                Key::IncludeInContext.as_str(),
            ));
        }
        if self.settings.include_in_context.value == Include::False
            && contract.returns != Return::Never
            && !decisions.is_empty()
        {
            let verb = if contract.required { "demands" } else { "wants" };
            warn(format!(
                "`{}` is false, but `{}` {verb} its thoughts back; set it to `auto` if requests are refused",
                Key::IncludeInContext.as_str(),
                self.target.model,
            ));
        }
        warnings
    }
}
