//! Decides about each block that is a thought or has a part of one.

use super::remains::{self, Which};
use super::{Applied, bound};
use crate::content::{Block, Content, Other, Speaker};
use crate::contract::{Contract, Older, Return, is_kin};
use crate::decision::{Action, Decision, Why};
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::settings::{Include, Key, Resolved, Strip};
use crate::turns::Turns;
use crate::wire;
use std::borrow::Cow;

/// Decides about every thought in these messages, and leaves them unchanged. `empty` lists the messages whose records
/// show that the model did not think.
pub(super) fn decide<'c>(
    contents: &[Content],
    empty: &[usize],
    target: &Target,
    settings: &Resolved,
) -> Applied<'c> {
    let (contract, turns) = (&target.rule.contract, &Turns::of(contents));
    let pass = Pass { target, settings, contract, turns, contents };
    let mut decisions = pass.all();
    if pass.contract.bound {
        bound::blocks(contents, &mut decisions);
    }
    let empties = pass.empties(contents, empty, &decisions);
    decisions.extend(empties);
    let mut warnings = pass.warnings(&decisions);
    warnings.extend(trailing_partial(contents));
    Applied { contents: Cow::default(), decisions, warnings }
}

/// Keeps the client's own thoughts on the model's own wire, unless the provider refuses them or a setting removes them.
pub(super) fn leave_the_callers_own(
    decisions: &mut [Decision],
    target: &Target,
    settings: &Resolved,
) {
    let is_said = settings.include_in_context.value != Include::Auto
        || settings.strip_from_context.value != Strip::None;
    if is_said || (!settings.enabled.value && target.rule.contract.only_when_on) {
        return;
    }
    for decision in decisions.iter_mut().filter(|it| it.action == Action::Strip) {
        decision.action = Action::Keep;
        decision.reason = "the client sends it on the model's own wire".into();
    }
}

pub(super) fn is_thought(other: &Other) -> bool {
    wire::find(other.wire).is_some_and(|wire| wire.is_thought(other))
}

/// Whether a block is a thought or has a part of one.
fn carries_reasoning(block: &Block, which: Which) -> bool {
    let remain = |extra| remains::are_in(extra, which);
    match block {
        Block::Thinking(_) => true,
        Block::Text(text) => text.signature.is_some() || remain(&text.extra),
        Block::ToolCall(call) => call.signature.is_some() || remain(&call.extra),
        Block::Other(other) => {
            is_thought(other)
                || remains::without_any(&other.raw, which).is_some()
                || remain(&other.notes)
        }
        Block::Media(media) => remain(&media.extra),
        Block::ToolResponse(result) => remain(&result.extra),
    }
}

struct Pass<'a> {
    target: &'a Target,
    settings: &'a Resolved,
    contract: &'a Contract,
    turns: &'a Turns,
    contents: &'a [Content],
}

impl Pass<'_> {
    fn all(&self) -> Vec<Decision> {
        let which = match self.settings.include_in_context.value {
            Include::False => Which::All,
            Include::Auto | Include::True => Which::Saying,
        };
        let mut decisions = Vec::new();
        for (message, content) in self.contents.iter().enumerate() {
            let mut say = |block: usize, value: Option<&Block>| {
                let decision = self.one(content, message, value);
                decisions.push(Decision { message, block: Some(block), ..decision });
            };
            for (block, value) in content.blocks.iter().enumerate() {
                if carries_reasoning(value, which) {
                    say(block, Some(value));
                }
            }
            if content.signature.is_some() || remains::are_in(&content.extra, which) {
                say(content.blocks.len(), None);
            }
        }
        decisions
    }

    /// Decides about a block, or about the payload on the message as a whole.
    fn one(&self, content: &Content, message: usize, block: Option<&Block>) -> Decision {
        let Pass { settings, contract, .. } = self;
        let include = settings.include_in_context.value;
        let left_out = |key: Key, reason| Decision::block(Action::Strip, key.as_str(), reason);
        if include == Include::False {
            return left_out(Key::IncludeInContext, "thoughts are not sent back".into());
        }
        if !settings.enabled.value && !contract.when_off {
            return left_out(Key::Enabled, "thinking is switched off".into());
        }
        if let Some(why) = self.unusable(message, content, block) {
            return Decision::block(Action::Drop(why), "contract", why.sentence());
        }
        if self.is_foreign(content) {
            let reason =
                format!("it was thought elsewhere and `{}` cannot read it", self.target.model);
            return Decision::block(Action::Withhold, "contract", reason);
        }
        let is_payload = match block {
            Some(Block::Text(text)) => text.signature.is_some(),
            Some(Block::ToolCall(call)) => call.signature.is_some(),
            Some(
                Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_),
            ) => false,
            None => content.signature.is_some(),
        };
        if is_payload && contract.reads_words_alone() {
            let why = Why::Unreadable;
            return Decision::block(Action::Drop(why), "contract", why.sentence());
        }
        let is_wanted = self.is_wanted(message, content);
        let strip = settings.strip_from_context.value;
        if self.turns.is_stripped(strip, message) {
            if is_wanted && self.is_demanded(message) {
                let reason = "the model's contract demands it although the history is stripped";
                return Decision::block(Action::Add, "contract", reason);
            }
            let reason: Cow<'_, str> = match strip {
                Strip::None | Strip::All => "the history is sent without thoughts".into(),
                Strip::AllButLast => {
                    "only the thoughts of the last turn that has any are sent".into()
                }
            };
            return left_out(Key::StripFromContext, reason);
        }
        match include {
            Include::True => Decision::block(
                Action::Keep,
                Key::IncludeInContext.as_str(),
                "thoughts are sent back",
            ),
            Include::Auto | Include::False if is_wanted => {
                Decision::block(Action::Keep, "contract", self.why_wanted())
            }
            Include::Auto | Include::False => {
                left_out(Key::IncludeInContext, self.why_not_wanted().into())
            }
        }
    }

    fn is_wanted(&self, message: usize, content: &Content) -> bool {
        let turns = self.turns;
        let (is_current, has_calls) = (turns.is_current(message), turns.has_calls(message));
        content.speaker == Speaker::Ai
            && self.contract.wants(
                self.settings.enabled.value,
                is_current,
                turns.was_sent(message),
                has_calls,
            )
    }

    fn is_demanded(&self, message: usize) -> bool {
        let turns = self.turns;
        self.contract.demands(turns.is_current(message), turns.has_calls(message))
    }

    /// A message of unknown origin counts as the target's own.
    fn is_foreign(&self, content: &Content) -> bool {
        let own = self.target.origin(None);
        content.origin.as_ref().is_some_and(|its| !self.contract.can_read(its, &own))
    }

    /// The reason why a thought cannot be sent, under any settings.
    fn unusable(&self, message: usize, content: &Content, block: Option<&Block>) -> Option<Why> {
        let contract = self.contract;
        let dialect = &self.target.dialect;
        let refuses_field =
            dialect.field.as_deref().is_some_and(|field| dialect.refuses.contains(&field));
        if contract.forbids() || refuses_field {
            return Some(Why::Forbidden);
        }
        if contract.older == Older::Forbidden && !self.turns.is_current(message) {
            return Some(Why::Earlier);
        }
        let Some(block) = block else { return content.partial.then_some(Why::CutPayload) };
        let Block::Thinking(thinking) = block else {
            let is_empty =
                matches!(block, Block::ToolCall(it) if it.signature.as_deref() == Some(""));
            return (contract.signed && is_empty).then_some(Why::Unsealed);
        };
        let is_sealed = thinking.is_sealed();
        // An unknown endpoint may accept its own payload in the wire's own place.
        let is_known = contract.field.is_some() || !contract.source.is_empty();
        if thinking.partial {
            Some(Why::Cut)
        } else if content.partial && (contract.bound || !says_anything(content)) {
            Some(Why::CutAnswer)
        } else if contract.refuses_silence && is_silent(self.contents, message) {
            Some(Why::Unanswered)
        } else if contract.signed && !contract.unsealed && !is_sealed {
            Some(Why::Unsealed)
        } else if is_known
            && !contract.signed
            && thinking.thought.is_empty()
            && is_sealed
            && thinking.detail_type.is_none()
        {
            Some(Why::Unreadable)
        } else {
            None
        }
    }

    /// Decides about empty thoughts, for a contract that wants the field on each answer. An answer gets one if it is
    /// known to have had no thought: a record shows that, or it is the target's own answer and complete.
    fn empties(
        &self,
        contents: &[Content],
        empty: &[usize],
        decisions: &[Decision],
    ) -> Vec<Decision> {
        let Some(value) = self.contract.empty else { return Vec::new() };
        if self.settings.include_in_context.value == Include::False {
            return Vec::new();
        }
        let own = self.target.origin(None);
        let is_known = |(message, content): &(usize, &Content)| {
            let is_own =
                content.origin.as_ref().is_some_and(|its| its.is_beside(&own) && is_kin(its, &own));
            (is_own && !content.partial) || empty.contains(message)
        };
        let is_bare = |message: usize| decisions.iter().all(|it| it.message != message);
        let known = contents.iter().enumerate().filter(is_known);
        let wanting = known.filter(|(message, content)| {
            self.is_demanded(*message) && self.is_wanted(*message, content) && is_bare(*message)
        });
        let empty = wanting.map(|(message, _)| {
            let reason = format!(
                "the contract wants the field; this answer had no thought, so it is {value:?}"
            );
            Decision { message, ..Decision::block(Action::Empty, "contract", reason) }
        });
        empty.collect()
    }

    fn why_wanted(&self) -> String {
        let which = match self.contract.returns {
            Return::All => "all thoughts",
            Return::ToolCalls => "the thoughts of turns with tool calls",
            Return::CurrentTurn | Return::Never => "the thoughts of the turn under way",
        };
        let (verb, model) = (self.verb(), &self.target.model);
        format!("`{model}` {verb} {which} ({})", self.target.rule_source)
    }

    fn why_not_wanted(&self) -> String {
        let model = &self.target.model;
        match self.contract.returns {
            Return::Never => format!("nothing is known that makes `{model}` need thoughts"),
            _ => format!("`{model}` does not need the thoughts of this turn"),
        }
    }

    fn verb(&self) -> &'static str {
        if self.contract.required { "demands" } else { "wants" }
    }

    fn warnings(&self, decisions: &[Decision]) -> Vec<Problem> {
        let mut warnings = Vec::new();
        let mut warn = |text: String| warnings.push(Problem::new(ProblemCode::Fallback, text));
        let (strip, model) = (self.settings.strip_from_context.value, &self.target.model);
        let is_added = |it: &Decision| matches!(it.action, Action::Add | Action::Empty);
        if decisions.iter().any(is_added) && strip != Strip::None {
            warn(format!(
                "`{}` is {}, but `{model}` demands thoughts, so they are sent; `{}=false` would stop them",
                Key::StripFromContext.as_str(),
                strip.as_str(),
                Key::IncludeInContext.as_str(),
            ));
        }
        if self.settings.include_in_context.value == Include::False
            && self.contract.returns != Return::Never
            && !decisions.is_empty()
        {
            let verb = self.verb();
            warn(format!(
                "`{}` is false, but `{model}` {verb} its thoughts back; set it to `auto` if requests are refused",
                Key::IncludeInContext.as_str(),
            ));
        }
        warnings
    }
}

/// Whether an answer has visible blocks other than calls.
pub(super) fn says_anything(content: &Content) -> bool {
    content.blocks.iter().any(|block| match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Media(_) => true,
        Block::Other(other) => !is_thought(other),
        Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    })
}

/// Whether a message is a whole answer with neither words nor calls. The model's own message at the end is the beginning
/// of its next answer, and a message before another one of the model is a fragment.
pub(super) fn is_silent(contents: &[Content], message: usize) -> bool {
    let is_answer = |it: &&Content| it.speaker == Speaker::Ai;
    let ends = contents.get(message + 1).is_some_and(|next| !is_answer(&next));
    contents.get(message).filter(is_answer).is_some_and(|content| {
        ends && content.tool_calls().next().is_none() && !says_anything(content)
    })
}

fn trailing_partial(contents: &[Content]) -> Option<Problem> {
    let last = contents.last()?;
    (last.speaker == Speaker::Ai && last.partial).then(|| {
        Problem::new(
            ProblemCode::Truncated,
            "the last answer was cut off; some models refuse to go on from it, so ask again or say `continue`",
        )
    })
}
