//! What is done about thoughts that a model demands and that nobody has.
//!
//! A ladder, which is gone down only as far as need be: the value that the provider documents for calls of other
//! models; thinking off for this request; old calls and their results told in words; else the request goes as it is.
//! Nothing that is put in stands for a thought, and what is told could be seen before. Each rung is a function of the
//! messages up to its place, so that the same history is always told in the same words.

use super::Asked;
use super::manner::Restore;
use crate::content::{Block, Content, Other, Speaker, ToolCall, ToolResponse};
use crate::json::{Extra, Raw, Val};
use crate::policy::{Action, Decision};
use std::ops::Range;

/// How a request goes around thoughts that are demanded and that nobody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// So many answers carry the value that the provider documents for such calls.
    pub bypassed: usize,
    /// Thinking is off in this request.
    pub is_off: bool,
    /// The calls of so many answers, and what they gave, are told in words.
    pub told: usize,
}

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// Nothing is done.
    Ground,
    /// The provider's documented value goes where a payload is missing.
    Bypass(&'static str),
    /// Thinking is off.
    Off,
    /// Calls are told in words.
    Words,
}

impl Asked<'_> {
    /// The first rung that this model has; none where the thought must be there, or all goes as it came.
    pub(super) fn rung(&self) -> Rung {
        let rule = &self.target.rule;
        if self.manner.restore != Restore::Recommended || self.manner.dry_run {
            return Rung::Ground;
        }
        match rule.contract.bypass {
            Some(value) => Rung::Bypass(value),
            None if rule.thinking.off.is_some() && !rule.contract.when_off => Rung::Off,
            None => Rung::Words,
        }
    }
}

impl Rung {
    /// Carries the rung out on the messages of the answers that lack their thoughts.
    pub(super) fn take(
        self,
        contents: &mut [Content],
        lacking: &[Range<usize>],
        wire: &'static str,
    ) -> Around {
        let count = |done: &mut dyn FnMut(&Range<usize>) -> bool| {
            lacking.iter().map(|step| usize::from(done(step))).sum()
        };
        match self {
            Rung::Ground => Around::default(),
            Rung::Off => Around { is_off: true, ..Around::default() },
            Rung::Bypass(value) => {
                let bypassed = count(&mut |step| sign(contents, step, value));
                Around { bypassed, ..Around::default() }
            }
            Rung::Words => {
                let told = count(&mut |step| tell(contents, step, wire));
                Around { told, ..Around::default() }
            }
        }
    }

    /// Says where a documented value stands.
    pub(super) fn explain(self, lacking: &[Range<usize>], decisions: &mut [Decision]) {
        let Rung::Bypass(_) = self else { return };
        let is_lacking = |message| lacking.iter().any(|step| step.contains(&message));
        for decision in decisions.iter_mut().filter(|it| it.action.is_sent()) {
            if is_lacking(decision.message) {
                decision.action = Action::Add;
                decision.reason =
                    "nobody has the thought; the provider documents this value for such calls"
                        .to_owned();
            }
        }
    }
}

/// Only the first call of an answer carries a payload.
fn sign(contents: &mut [Content], step: &Range<usize>, value: &str) -> bool {
    let blocks = contents.get_mut(step.clone()).into_iter().flatten().flat_map(|it| &mut it.blocks);
    let mut calls = blocks.filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolResponse(_) => None,
    });
    match calls.next() {
        Some(call) if call.signature.is_none() => {
            call.signature = Some(value.to_owned());
            true
        }
        Some(_) | None => false,
    }
}

/// Tells the calls of an answer in its own text, and the results behind it in a message of the user's.
///
/// Results are the user's words rather than the model's, since what stands last must not look like an answer that is to
/// be gone on with. What the client sends in place of a thought stays, and so does its message.
fn tell(contents: &mut [Content], step: &Range<usize>, wire: &'static str) -> bool {
    let Some((said, behind)) = contents.split_at_mut_checked(step.end) else { return false };
    let said = said.get_mut(step.start..).unwrap_or_default();
    let has_own = said.iter().any(|content| content.thoughts().next().is_some());
    let calls: Vec<ToolCall> = said.iter().flat_map(Content::tool_calls).cloned().collect();
    if has_own || calls.is_empty() {
        return false;
    }
    for content in said {
        let mut told = Told::default();
        for block in std::mem::take(&mut content.blocks) {
            match block {
                Block::ToolCall(call) => told.say(&called(&call), &call.extra),
                other => told.blocks.push(other),
            }
        }
        content.blocks = told.blocks;
    }
    let (mut told, mut count) = (Told::default(), 0);
    let given: Vec<&mut Content> =
        behind.iter_mut().take_while(|content| content.speaker == Speaker::Tool).collect();
    let mut given = given.into_iter();
    let Some(first) = given.next() else { return true };
    for content in std::iter::once(&mut *first).chain(given) {
        for block in std::mem::take(&mut content.blocks) {
            match block {
                Block::ToolResponse(result) => {
                    told.result(&result, name(&result, &calls, count), wire);
                    count += 1;
                }
                other => told.blocks.push(other),
            }
        }
    }
    // Those behind it are left without a word, and are no messages any more.
    *first = Content::new(Speaker::Human, told.blocks);
    true
}

/// What is told of one message.
#[derive(Default)]
struct Told {
    blocks: Vec<Block>,
}

impl Told {
    /// Adds a paragraph to the text that ends here. A cache marker on what is told goes on with it.
    fn say(&mut self, words: &str, about: &Extra) {
        let is_open =
            |block: &&mut Block| matches!(block, Block::Text(text) if text.signature.is_none());
        if self.blocks.last_mut().filter(is_open).is_none() {
            self.blocks.push(Block::text(""));
        }
        let Some(Block::Text(text)) = self.blocks.last_mut() else { return };
        if !text.text.trim().is_empty() {
            text.text.push_str("\n\n");
        }
        text.text.push_str(words);
        let marker = about.fields.iter().find(|(key, _)| key == MARKER);
        if let (Some(wire), Some((key, value))) = (about.wire, marker) {
            text.extra.insert(wire, key, value.clone());
        }
    }

    fn result(&mut self, result: &ToolResponse, name: &str, wire: &'static str) {
        let doc = result.result.doc();
        let root = doc.root();
        let (texts, others): (Vec<Val<'_>>, Vec<Val<'_>>) =
            root.items().partition(|part| part.get("text").is_some_and(|it| it.as_str().is_some()));
        let is_parts = root.is_array() && others.iter().all(|part| part.text("type").is_some());
        let text = match root.as_str() {
            Some(text) => text.into_owned(),
            None if root.is_null() => String::new(),
            None if is_parts => {
                let texts: Vec<String> =
                    texts.iter().filter_map(|part| part.string("text")).collect();
                texts.join("\n")
            }
            None => root.raw().to_owned(),
        };
        let verb = if result.is_error { "failed" } else { "gave" };
        let words = match text.trim() {
            "" => format!("The tool `{name}` {verb}."),
            _ => format!("The tool `{name}` {verb}:\n{text}"),
        };
        self.say(&words, &result.extra);
        // What is no text is shown as it came.
        for part in others.into_iter().filter(|_| is_parts) {
            let kind = part.string("type").unwrap_or_default();
            self.blocks.push(Block::Other(Other::new(wire, kind, Raw::from(part))));
        }
    }
}

/// Marks that part of the prompt is to be cached.
const MARKER: &str = "cache_control";

fn called(call: &ToolCall) -> String {
    format!("I used the tool `{}` with {}.", call.name, call.parameters.as_text())
}

/// The tool that gave a result: that of the call that it names, else of the call in its place.
fn name<'c>(result: &'c ToolResponse, calls: &'c [ToolCall], place: usize) -> &'c str {
    let named = calls.iter().find(|call| call.id.is_some() && call.id == result.call_id);
    let call = named.or_else(|| calls.get(place)).map(|call| call.name.as_str());
    result.name.as_deref().or(call).unwrap_or("?")
}
