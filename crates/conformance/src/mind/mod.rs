//! The scripted mind that all simulators share: it reads a conversation and the tools on offer, and decides what to
//! think, which tools to call with which arguments, and what to answer from what the tools really said.
//!
//! It knows no wire: the renderers put its [`Plan`] into the form of each API.

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

/// A conversation as far as the mind needs it: what is visible, thoughts left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    /// Id of the simulator, for the words of the answer.
    pub(crate) simulator: &'static str,
    /// The conversation in order.
    pub(crate) said: Vec<Said>,
    /// The tools on offer.
    pub(crate) tools: Vec<Tool>,
    /// Whether tools may, must or must not be called.
    pub(crate) choice: Choice,
    /// Several calls in one answer are allowed.
    pub(crate) parallel: bool,
    /// Thinking is on.
    pub(crate) thinking: bool,
    /// Cap on the tokens of thought and answer together.
    pub(crate) max_tokens: Option<u64>,
}

/// One thing said in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// The user's words.
    User(String),
    /// An earlier answer.
    Ai(Vec<Call>),
    /// What a tool gave back.
    Result {
        /// The tool's name, where the wire or the call says it.
        name: String,
        /// The text of the result.
        text: String,
        /// The tool failed.
        failed: bool,
    },
}

/// A tool on offer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON schema of the arguments.
    pub(crate) schema: Value,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// The request's tool choice.
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

/// What the mind decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The thought, empty when thinking is off.
    pub(crate) thought: String,
    /// The visible text, empty beside calls.
    pub(crate) text: String,
    /// The calls.
    pub(crate) calls: Vec<Call>,
    /// The token cap ended the answer early.
    pub(crate) truncated: bool,
}

impl Plan {
    /// Estimated tokens of the thought.
    pub(crate) fn thought_tokens(&self) -> u64 {
        tokens(&self.thought)
    }

    /// Estimated tokens of everything that is visible.
    pub(crate) fn visible_tokens(&self) -> u64 {
        let calls: u64 = self
            .calls
            .iter()
            .map(|call| tokens(&call.name) + tokens(&call.arguments.to_string()))
            .sum();
        tokens(&self.text) + calls
    }

    /// Cuts the plan where the token cap ends it, as a real model stops in mid-sentence.
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

/// The estimate that all usage numbers of the simulators rest on: four characters a token.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

fn head(text: &str, tokens: u64) -> String {
    let chars = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    text.chars().take(chars).collect()
}

/// Decides what comes next in the conversation.
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

/// A question with these words is answered without a thought, although thinking is on.
const AT_ONCE: &str = "Do not think about it.";

/// How many bytes of a question the mind reads: one half from its start, the other from its end. Every clause is
/// compared with every tool, so that the work on a longer question must not grow with both.
const ATTENTION: usize = 16 * 1024;

/// The running turn: the user's last words and what happened since.
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
