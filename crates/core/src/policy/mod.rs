//! Which thoughts go into a request, and why: strip, then include, then the contract pass.
//!
//! [`apply`] is a pure function of the conversation, the target and the settings: twice the same, byte for byte. What
//! is stored is never changed by it.

mod contract_pass;
mod remains;

use crate::content::{Block, Content, Other, Speaker, Thinking};
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::settings::{Include, Key, Resolved, Strip};
use crate::turns::Turns;
use crate::wire;
use contract_pass::{Pass, is_foreign};
use remains::Which;

pub use contract_pass::needs;

#[cfg(test)]
mod tests;

/// What happens to one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put in, because the contract demands it.
    Add,
    /// Left out, because the target refuses or cannot use it.
    Drop,
    /// Sent.
    Keep,
    /// Put back from the vault.
    Restore,
    /// Left out, because a setting says so or nothing asks for it.
    Strip,
    /// Left out, because only another provider, account or model can read it.
    Withhold,
}

impl Action {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Add => "add",
            Action::Drop => "drop",
            Action::Keep => "keep",
            Action::Restore => "restore",
            Action::Strip => "strip",
            Action::Withhold => "withhold",
        }
    }

    /// Whether the thought is in the request.
    #[must_use]
    pub const fn is_sent(self) -> bool {
        matches!(self, Action::Add | Action::Keep | Action::Restore)
    }
}

/// What was decided about one block, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The index of the message in the conversation.
    pub message: usize,
    /// The index of the block in the message; one behind the last for a payload on the message as a whole.
    pub block: usize,
    /// What happens.
    pub action: Action,
    /// Why, in a sentence.
    pub reason: String,
    /// The setting that decided, or `contract`.
    pub setting: &'static str,
}

impl Decision {
    fn new(action: Action, setting: &'static str, reason: impl Into<String>) -> Self {
        Decision { message: 0, block: 0, action, reason: reason.into(), setting }
    }
}

/// A conversation as it goes into a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The messages.
    pub contents: Vec<Content>,
    /// One decision for each thought and each opaque payload on another block.
    pub decisions: Vec<Decision>,
    /// What the user should know.
    pub warnings: Vec<Problem>,
}

/// What becomes of a conversation, without making it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    /// As in [`Applied`].
    pub(crate) decisions: Vec<Decision>,
    /// As in [`Applied`].
    pub(crate) warnings: Vec<Problem>,
}

/// Decides about every thought of a conversation, which stays as it is.
pub(crate) fn decide(contents: &[Content], target: &Target, settings: &Resolved) -> Decided {
    let turns = Turns::of(contents);
    let pass = Pass { target, settings, turns: &turns };
    let (mut decisions, empties, warnings) = decided(contents, &pass);
    decisions.extend(empties);
    Decided { decisions, warnings }
}

/// Decides about every thought of a conversation.
#[must_use]
pub fn apply(contents: &[Content], target: &Target, settings: &Resolved) -> Applied {
    let turns = Turns::of(contents);
    let pass = Pass { target, settings, turns: &turns };
    let (mut decisions, empties, warnings) = decided(contents, &pass);
    let mut sent: Vec<Content> = Vec::with_capacity(contents.len());
    for (message, content) in contents.iter().enumerate() {
        sent.push(build(content, message, &decisions, &pass));
    }
    let field = target.rule.contract.field.unwrap_or_default();
    for empty in &empties {
        if let Some(content) = sent.get_mut(empty.message) {
            content.blocks.insert(0, Block::Thinking(Thinking::new("", field)));
        }
    }
    decisions.extend(empties);
    // An answer of which nothing is left to say is no message, and many providers refuse empty ones.
    let may_be_empty = |speaker| matches!(speaker, Speaker::Human | Speaker::System);
    sent.retain(|content| may_be_empty(content.speaker) || !content.blocks.is_empty());
    Applied { contents: sent, decisions, warnings }
}

/// What is decided about what stands there, in its order; what is put in besides; what the user should know.
fn decided(contents: &[Content], pass: &Pass<'_>) -> (Vec<Decision>, Vec<Decision>, Vec<Problem>) {
    let mut decisions = first_decisions(contents, pass);
    pass.bind(contents, &mut decisions);
    let mut warnings = pass.warnings(&decisions);
    warnings.extend(trailing_partial(contents));
    let empties = pass.empties(contents, &decisions);
    (decisions, empties, warnings)
}

/// Whether a strip policy keeps the thoughts of a message out of the context.
#[must_use]
pub fn is_stripped(contents: &[Content], strip: Strip, message: usize) -> bool {
    Turns::of(contents).is_stripped(strip, message)
}

fn first_decisions(contents: &[Content], pass: &Pass<'_>) -> Vec<Decision> {
    let which = match pass.settings.include_in_context.value {
        Include::False => Which::All,
        Include::Auto | Include::True => Which::Saying,
    };
    let mut decisions = Vec::new();
    for (message, content) in contents.iter().enumerate() {
        for (block, value) in content.blocks.iter().enumerate() {
            if carries_reasoning(value, which) {
                let decision = decide_one(content, message, Some(value), pass);
                decisions.push(Decision { message, block, ..decision });
            }
        }
        if content.signature.is_some() || remains::are_in(&content.extra, which) {
            let decision = decide_one(content, message, None, pass);
            decisions.push(Decision { message, block: content.blocks.len(), ..decision });
        }
    }
    decisions
}

/// A thought, or a part of one on another block.
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

/// Whether a block of a wire's own is a thought.
fn is_thought(other: &Other) -> bool {
    wire::find(other.wire).is_some_and(|wire| wire.is_thought(other))
}

/// Decides about a block, or about the payload on the message as a whole.
fn decide_one(
    content: &Content,
    message: usize,
    block: Option<&Block>,
    pass: &Pass<'_>,
) -> Decision {
    let settings = pass.settings;
    if settings.include_in_context.value == Include::False {
        let reason = "thoughts are not sent back";
        return Decision::new(Action::Strip, Key::IncludeInContext.as_str(), reason);
    }
    if let Some(reason) = pass.unusable(message, content, block) {
        return reason;
    }
    if is_foreign(content, pass.target) {
        let reason = format!("it was thought elsewhere and `{}` cannot read it", pass.target.model);
        return Decision::new(Action::Withhold, "contract", reason);
    }
    let is_needed = pass.is_needed(message, content);
    let (is_current, has_calls) = (pass.turns.is_current(message), pass.turns.has_calls(message));
    let must = is_needed && pass.target.rule.contract.demands(is_current, has_calls);
    let strip = settings.strip_from_context.value;
    if pass.turns.is_stripped(strip, message) {
        if must {
            let reason = "the model's contract demands it although the history is stripped";
            return Decision::new(Action::Add, "contract", reason);
        }
        let reason = match strip {
            Strip::None | Strip::All => "the history is sent without thoughts",
            Strip::AllButLast => "only the thoughts of the last turn that has any are sent",
        };
        return Decision::new(Action::Strip, Key::StripFromContext.as_str(), reason);
    }
    match settings.include_in_context.value {
        Include::True => {
            Decision::new(Action::Keep, Key::IncludeInContext.as_str(), "thoughts are sent back")
        }
        Include::Auto | Include::False if is_needed => {
            Decision::new(Action::Keep, "contract", pass.why_needed())
        }
        Include::Auto | Include::False => {
            Decision::new(Action::Strip, Key::IncludeInContext.as_str(), pass.why_not_needed())
        }
    }
}

/// The message without what was decided to stay out.
fn build(content: &Content, message: usize, decisions: &[Decision], pass: &Pass<'_>) -> Content {
    let mut sent = content.clone();
    sent.usage = None;
    // Decisions stand in the order of the conversation.
    let stays_out = |block: usize| {
        decisions
            .binary_search_by_key(&(message, block), |it| (it.message, it.block))
            .ok()
            .and_then(|at| decisions.get(at))
            .is_some_and(|decision| !decision.action.is_sent())
    };
    let lost_id = leave_out(&mut sent, stays_out);
    if content.partial {
        // The calls of an answer that broke off were never run; without their results they would be refused.
        sent.blocks.retain(|block| !matches!(block, Block::ToolCall(_)));
    }
    if lost_id && pass.settings.include_in_context.value != Include::False {
        unpair(&mut sent);
    }
    sent
}

/// Takes every form of a thought off the blocks that `stays_out` names, and off the message itself where it names the
/// place behind the last. Gives whether an item of its own went.
pub(crate) fn leave_out(content: &mut Content, stays_out: impl Fn(usize) -> bool) -> bool {
    if stays_out(content.blocks.len()) {
        content.signature = None;
        remains::take_out(&mut content.extra);
    }
    let (mut index, mut lost_id) = (0, false);
    content.blocks.retain_mut(|block| {
        let is_out = stays_out(index);
        index += 1;
        if !is_out {
            return true;
        }
        match block {
            Block::Thinking(thinking) => {
                lost_id |= thinking.id.is_some();
                return false;
            }
            Block::Text(text) => {
                text.signature = None;
                remains::take_out(&mut text.extra);
            }
            Block::ToolCall(call) => {
                call.signature = None;
                remains::take_out(&mut call.extra);
            }
            Block::Other(other) if is_thought(other) => return false,
            Block::Other(other) => {
                if let Some(raw) = remains::without_any(&other.raw, Which::All) {
                    other.raw = raw;
                }
                remains::take_out(&mut other.notes);
            }
            Block::Media(media) => remains::take_out(&mut media.extra),
            Block::ToolResponse(result) => remains::take_out(&mut result.extra),
        }
        true
    });
    lost_id
}

/// Items that followed a reasoning item are bound to it by their ids; without it they go without.
/// Source: the pair rule of the Responses API and its own remedy, to send items without ids.
fn unpair(content: &mut Content) {
    for block in &mut content.blocks {
        let extra = match block {
            Block::Text(text) => &mut text.extra,
            Block::ToolCall(call) => &mut call.extra,
            Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_) => {
                continue;
            }
        };
        extra.fields.retain(|(key, _)| key != "id");
    }
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
