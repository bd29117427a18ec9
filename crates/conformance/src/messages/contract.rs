//! The rule about thoughts in the history.

use serde_json::{Value, json};

use super::binding::Prefix;
use super::read::{Message, Request};
use super::{Generation, MessagesDialect, blocks, payload_digest, refusal, text_digest};
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};
use crate::seal::{Look, Seal};

/// Facts about the thoughts of an accepted request.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    /// Digest of the payload of the last thought that was not dropped, else 0.
    pub(super) last_payload: u64,
    /// Reports of dropped thoughts. `None` without the beta header that asks for them.
    pub(super) transformations: Option<Vec<Value>>,
}

/// Logs every thought of the request and applies the rule.
pub(super) fn enforce(
    visit: &mut Visit<'_>,
    dialect: &MessagesDialect,
    request: &Request,
) -> Result<Accepted, Refusal> {
    if dialect.generation == Generation::DeepSeek {
        return deepseek(visit, dialect, request);
    }
    let latest = request.messages.iter().rposition(|message| message.assistant);
    let mut thoughts = Vec::new();
    for (place, message) in request.messages.iter().enumerate() {
        thoughts.extend(read(visit, message, place));
    }
    if !request.thinking.on {
        disabled(dialect, request, latest)?;
        return Ok(Accepted::default());
    }
    if dialect.generation == Generation::Manual {
        begins_with_thought(dialect, request, latest)?;
    }
    let accepted = signatures(visit, dialect, request, &thoughts, latest)?;
    complete(dialect, request, &thoughts, latest)?;
    lost(visit, request);
    Ok(accepted)
}

/// A `thinking` or `redacted_thinking` block of the request.
struct Thought {
    message: usize,
    block: usize,
    kind: &'static str,
    text: String,
    payload: String,
    seal: Option<Seal>,
}

impl Thought {
    fn at(&self) -> String {
        format!("messages.{}.content.{}", self.message, self.block)
    }

    fn intact(&self) -> bool {
        let text = if self.kind == "thinking" { text_digest(&self.text) } else { 0 };
        self.seal.as_ref().is_some_and(|seal| seal.text == text)
    }
}

fn read(visit: &mut Visit<'_>, message: &Message, place: usize) -> Vec<Thought> {
    let visible = Visible::of(&blocks::text(message), &blocks::calls(message));
    let mut out = Vec::new();
    for (index, block) in message.blocks.iter().enumerate() {
        let (kind, payload) = match block.at("type").as_str() {
            Some("thinking") => ("thinking", block.at("signature")),
            Some("redacted_thinking") => ("redacted_thinking", block.at("data")),
            Some(_) | None => continue,
        };
        let payload = payload.as_str().unwrap_or_default().to_owned();
        let thought = Thought {
            message: place,
            block: index,
            kind,
            text: block.at("thinking").as_str().unwrap_or_default().to_owned(),
            seal: Seal::decode(visit.id, Look::Anthropic, &payload),
            payload,
        };
        let state = match &thought.seal {
            None => ThoughtState::Foreign,
            Some(_) if !thought.intact() => ThoughtState::Altered,
            Some(_) if kind == "redacted_thinking" => ThoughtState::Own,
            Some(seal) => match judge(&seal.body, visible) {
                Verdict::Own => ThoughtState::Own,
                Verdict::Altered | Verdict::Foreign => ThoughtState::Altered,
            },
        };
        let parts = (!thought.text.is_empty(), !thought.payload.is_empty());
        visit.log.saw(place, kind, parts, state);
        out.push(thought);
    }
    out
}

/// Whether the last assistant message is in the final position: only tool results follow it.
fn in_final_position(request: &Request, latest: usize) -> bool {
    request.messages.iter().skip(latest + 1).all(|message| message.has("tool_result"))
}

fn disabled(
    dialect: &MessagesDialect,
    request: &Request,
    latest: Option<usize>,
) -> Result<(), Refusal> {
    let Some(latest) = latest.filter(|latest| in_final_position(request, *latest)) else {
        return Ok(());
    };
    let Some(message) = request.messages.get(latest) else { return Ok(()) };
    let thought = message.blocks.iter().position(|block| {
        matches!(block.at("type").as_str(), Some("thinking" | "redacted_thinking"))
    });
    match (dialect.generation, thought) {
        (Generation::Manual, Some(block)) => {
            let text = format!(
                "messages.{latest}.content.{block}.type: When thinking is disabled, an `assistant` message in the \
                 final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request."
            );
            Err(refusal(dialect, 400, &text))
        }
        (
            Generation::Manual | Generation::Omitted | Generation::Bound | Generation::DeepSeek,
            _,
        ) => Ok(()),
    }
}

/// In manual mode the answer that a tool loop or a prefill continues must begin with its thought.
fn begins_with_thought(
    dialect: &MessagesDialect,
    request: &Request,
    latest: Option<usize>,
) -> Result<(), Refusal> {
    let Some(latest) = latest.filter(|latest| in_final_position(request, *latest)) else {
        return Ok(());
    };
    let first = request.messages.get(latest).and_then(|message| message.blocks.first());
    match first.and_then(|block| block.at("type").as_str()) {
        None | Some("thinking" | "redacted_thinking") => Ok(()),
        Some(found) => {
            let text = format!(
                "messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. \
                 When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding \
                 the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks \
                 from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation \
                 at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
            );
            Err(refusal(dialect, 400, &text))
        }
    }
}

/// Checks every signature against its text and model. On bound models also against everything
/// before it.
fn signatures(
    visit: &mut Visit<'_>,
    dialect: &MessagesDialect,
    request: &Request,
    thoughts: &[Thought],
    latest: Option<usize>,
) -> Result<Accepted, Refusal> {
    let model = Visit::model_digest(&request.model);
    let mut prefix = Prefix::of(&request.body);
    let mut previous = 0;
    let mut dropped = Vec::new();
    for thought in thoughts {
        let Some(seal) = &thought.seal else { return Err(invalid(dialect, thought)) };
        if !thought.intact() {
            return Err(if Some(thought.message) == latest {
                modified(dialect, thought)
            } else {
                invalid(dialect, thought)
            });
        }
        let reason = if seal.model != model {
            Some(Mismatch::Model)
        } else if dialect.generation == Generation::Bound {
            bound(visit, &prefix.before(thought.message, thought.block), seal, previous)
        } else {
            None
        };
        match reason {
            None => previous = payload_digest(&thought.payload),
            // Newer models drop thoughts of other models. The manual generation refuses them.
            Some(Mismatch::Model) if dialect.generation != Generation::Manual => {
                dropped.push((thought, Mismatch::Model));
            }
            Some(Mismatch::Model) => return Err(invalid(dialect, thought)),
            Some(mismatch) if request.thinking.drop_block => dropped.push((thought, mismatch)),
            Some(mismatch) => return Err(unbound(dialect, thought, mismatch)),
        }
    }
    let transformations = request.thinking.tells.then(|| {
        let entries = dropped.iter().map(|(thought, mismatch)| {
            json!({"type": "thinking_dropped", "path": thought.at(), "reason": mismatch.reason()})
        });
        entries.collect()
    });
    for (thought, mismatch) in dropped {
        visit.log.loss(format!(
            "the thought at message {} was dropped ({})",
            thought.message,
            mismatch.reason()
        ));
    }
    Ok(Accepted { last_payload: previous, transformations })
}

/// The part of a request that does not fit a thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    Model,
    Organisation,
    System,
    Tools,
    Messages,
    Predecessor,
}

impl Mismatch {
    fn reason(self) -> &'static str {
        match self {
            Self::Model => "model_binding_mismatch",
            Self::Organisation => "organization_binding_mismatch",
            Self::System | Self::Tools | Self::Messages | Self::Predecessor => {
                "prefix_binding_mismatch"
            }
        }
    }

    fn detail(self) -> &'static str {
        match self {
            Self::System => {
                " The `system` prompt differs from the one this block was created with."
            }
            Self::Tools => " The `tools` differ from the ones this block was created with.",
            Self::Messages => {
                " The `messages` before this block differ from the ones this block was created with."
            }
            Self::Predecessor => {
                " The `thinking` block that preceded this one when it was created is missing from this request."
            }
            Self::Model | Self::Organisation => "",
        }
    }
}

/// Checks the binding of one thought.
///
/// `previous` is the payload digest of the last kept thought before it, or 0. A client may leave
/// out the first thoughts of a history, but no thought after a kept one.
fn bound(visit: &Visit<'_>, prefix: &Seal, seal: &Seal, previous: u64) -> Option<Mismatch> {
    if seal.account != visit.account() {
        return Some(Mismatch::Organisation);
    }
    if seal.system != prefix.system {
        return Some(Mismatch::System);
    }
    if seal.tools != prefix.tools {
        return Some(Mismatch::Tools);
    }
    if seal.messages != prefix.messages {
        return Some(Mismatch::Messages);
    }
    let follows = previous == 0 || previous == seal.previous;
    (!follows).then_some(Mismatch::Predecessor)
}

fn invalid(dialect: &MessagesDialect, thought: &Thought) -> Refusal {
    let part = if thought.kind == "thinking" { "signature" } else { "data" };
    let text = format!("{}: Invalid `{part}` in `{}` block", thought.at(), thought.kind);
    refusal(dialect, 400, &text)
}

fn unbound(dialect: &MessagesDialect, thought: &Thought, mismatch: Mismatch) -> Refusal {
    if mismatch == Mismatch::Organisation {
        return invalid(dialect, thought);
    }
    let part = if thought.kind == "thinking" { "signature" } else { "data" };
    let text = format!(
        "{}: Invalid `{part}` in `{}` block. The block is bound to a different conversation. Remove the block, or set \
         `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\" to drop it automatically.{}",
        thought.at(),
        thought.kind,
        mismatch.detail()
    );
    refusal(dialect, 400, &text)
}

fn modified(dialect: &MessagesDialect, thought: &Thought) -> Refusal {
    let text = format!(
        "{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks \
         must remain as they were in the original response.",
        thought.at()
    );
    refusal(dialect, 400, &text)
}

/// Demands that the thoughts of the final assistant message are complete and in order. A message
/// without any thought passes.
fn complete(
    dialect: &MessagesDialect,
    request: &Request,
    thoughts: &[Thought],
    latest: Option<usize>,
) -> Result<(), Refusal> {
    let Some(latest) = latest.filter(|latest| in_final_position(request, *latest)) else {
        return Ok(());
    };
    let mine: Vec<&Thought> = thoughts.iter().filter(|thought| thought.message == latest).collect();
    for (index, thought) in mine.iter().enumerate() {
        let place = thought.seal.as_ref().map_or(0, |seal| seal.place);
        if place != super::place(index, mine.len()) {
            return Err(modified(dialect, thought));
        }
    }
    Ok(())
}

/// Logs each assistant message of the running turn that has no thought.
fn lost(visit: &mut Visit<'_>, request: &Request) {
    let start = request
        .messages
        .iter()
        .rposition(|message| !message.assistant && !message.has("tool_result"));
    for (place, message) in request.messages.iter().enumerate().skip(start.unwrap_or(0)) {
        if message.assistant && !message.has("thinking") && !message.has("redacted_thinking") {
            visit.log.loss(format!("thought missing at message {place}, allowed but worse"));
        }
    }
}

/// DeepSeek: in a turn with tool calls every assistant message must have its thinking block, also
/// in later requests.
fn deepseek(
    visit: &mut Visit<'_>,
    dialect: &MessagesDialect,
    request: &Request,
) -> Result<Accepted, Refusal> {
    for (place, message) in request.messages.iter().enumerate() {
        let visible = Visible::of(&blocks::text(message), &blocks::calls(message));
        for block in message.blocks.iter().filter(|block| block.at("type") == "thinking") {
            let state = match judge(block.at("thinking").as_str().unwrap_or_default(), visible) {
                Verdict::Own => ThoughtState::Own,
                Verdict::Altered => ThoughtState::Altered,
                Verdict::Foreign => ThoughtState::Foreign,
            };
            let opaque =
                block.at("signature").as_str().is_some_and(|signature| !signature.is_empty());
            visit.log.saw(place, "thinking", (block.at("thinking") != "", opaque), state);
        }
    }
    let is_question = |message: &Message| !message.assistant && !message.has("tool_result");
    let turns = request.messages.split(is_question);
    let broken = |turn: &[Message]| {
        let tools = turn.iter().any(|message| message.has("tool_use"));
        tools && turn.iter().any(|message| message.assistant && !message.has("thinking"))
    };
    if request.thinking.on && turns.into_iter().any(broken) {
        let text = "The content[].thinking in the thinking mode must be passed back to the API";
        return Err(refusal(dialect, 400, text));
    }
    Ok(Accepted::default())
}
