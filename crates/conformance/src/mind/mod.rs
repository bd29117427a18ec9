//! The scripted mind of all simulators. From a conversation and the offered tools it decides the
//! thought, the tool calls with their arguments, and the answer with the real results of the tools.
//!
//! The mind knows no wire. The renderers put its [`Plan`] into the form of each API.

mod answer;
mod choose;
mod fill;
mod note;
mod offer;
mod reading;
mod trade;
mod words;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use note::{Verdict, Visible, judge, reworded};

/// The visible part of a conversation, with the settings of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    /// Id of the simulator. The answer names it.
    pub(crate) simulator: &'static str,
    /// The conversation in order.
    pub(crate) said: Vec<Said>,
    pub(crate) tools: Vec<Tool>,
    /// Whether the model may, must or must not call tools.
    pub(crate) choice: Choice,
    /// One answer may have several calls.
    pub(crate) parallel: bool,
    pub(crate) thinking: bool,
    /// Cap on the tokens of thought and answer together.
    pub(crate) max_tokens: Option<u64>,
}

/// One step of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// The words of the user.
    User(String),
    /// An earlier answer, by its calls.
    Ai(Vec<Call>),
    /// The result of a tool.
    Result {
        /// The name of the tool, from the wire or from its call. Empty if neither has it.
        name: String,
        /// The text of the result.
        text: String,
        /// The tool failed.
        failed: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON schema of the arguments.
    pub(crate) schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// The tool choice of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Choice {
    /// The model decides.
    #[default]
    Auto,
    /// No call.
    None,
    /// At least one call of any tool.
    Any,
    /// A call of this tool.
    Named(String),
}

/// The next answer, as the mind decides it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The thought. Empty if thinking is off or the question asks for an answer at once.
    pub(crate) thought: String,
    /// The visible text. The mind writes none if it makes calls.
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// The token cap ended the answer early.
    pub(crate) truncated: bool,
}

impl Plan {
    /// Estimated tokens of the thought.
    pub(crate) fn thought_tokens(&self) -> u64 {
        tokens(&self.thought)
    }

    /// Estimated tokens of text and calls.
    pub(crate) fn visible_tokens(&self) -> u64 {
        let calls: u64 = self
            .calls
            .iter()
            .map(|call| tokens(&call.name) + tokens(&call.arguments.to_string()))
            .sum();
        tokens(&self.text) + calls
    }

    /// Cuts the plan at the token cap: texts in mid-sentence as by a real model, calls as a whole.
    fn capped(mut self, cap: Option<u64>) -> Self {
        let Some(cap) = cap else { return self };
        let thought = self.thought_tokens();
        if thought + self.visible_tokens() <= cap {
            return self;
        }
        self.truncated = true;
        if thought >= cap {
            self.thought = head(&self.thought, cap);
            self.text.clear();
            self.calls.clear();
        } else if self.calls.is_empty() {
            self.text = head(&self.text, cap - thought);
        } else {
            self.calls.clear();
        }
        self
    }
}

/// Estimates tokens as one for four characters. All usage numbers of the simulators are made with
/// it.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

fn head(text: &str, tokens: u64) -> String {
    let chars = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    text.chars().take(chars).collect()
}

/// Decides the next answer of the conversation.
pub(crate) fn think(scene: &Scene) -> Plan {
    let turn = Turn::of(scene);
    let calls = choose::next_calls(scene, &turn);
    let text = if calls.is_empty() { answer::answer(scene, &turn) } else { String::new() };
    let mut plan = Plan { thought: String::new(), text, calls, truncated: false };
    if scene.thinking && !turn.question.contains(AT_ONCE) {
        let words = answer::thought(scene, &turn, &plan);
        plan.thought = note::signed(&words, Visible::of(&plan.text, &plan.calls));
    }
    plan.capped(scene.max_tokens)
}

/// The mind answers a question with these words without a thought, although thinking is on.
const AT_ONCE: &str = "Do not think about it.";

/// The mind reads this many bytes of a question, half from its start and half from its end. It
/// compares every clause with every tool, so that a limit must keep the work on long questions
/// small.
const ATTENTION: usize = 16 * 1024;

/// The running turn: the last user message, and all calls and results since.
#[derive(Debug)]
struct Turn<'a> {
    question: Cow<'a, str>,
    calls: Vec<&'a Call>,
    results: Vec<(&'a str, &'a str, bool)>,
}

impl<'a> Turn<'a> {
    fn of(scene: &'a Scene) -> Self {
        let start = scene.said.iter().rposition(|said| matches!(said, Said::User(_)));
        let mut turn = Self { question: Cow::default(), calls: Vec::new(), results: Vec::new() };
        let mut question = "";
        for said in scene.said.iter().skip(start.unwrap_or(0)) {
            match said {
                Said::User(text) => question = text,
                Said::Ai(calls) => turn.calls.extend(calls),
                Said::Result { name, text, failed } => turn.results.push((name, text, *failed)),
            }
        }
        turn.question = words::excerpt(words::without_notes(question), ATTENTION);
        turn
    }
}

#[cfg(test)]
mod tests;
