//! Notes about an answer that is incomplete or not what the user asked for. All surfaces share them: the terminal
//! client, `think ask` and editors.

use crate::agent::{Outcome, Round};
use std::fmt;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;

/// An answer that is empty, cut off, withheld, or ended in calls that did not run. Its `Display` is one sentence that
/// says so, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    kind: Kind,
    has_answer: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The answer ends with calls of these tools, and no toolbox runs them.
    Calls(Vec<String>),
    /// Cut off, with the provider's word for why.
    Cut(Stop, String),
    /// Neither a text nor a thought.
    Empty,
    /// A refusal of the model, with its words if it gave any.
    Refusal(String),
    /// Only a thought.
    Thought,
    /// No text followed after these tools were not allowed.
    ToolsRefused(Vec<String>),
    /// Held back by a filter, with the provider's word for it.
    Withheld(String),
}

/// Why a provider ended an answer early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The context window is full.
    Context,
    /// A filter or a refusal.
    Filter,
    /// The limit of output tokens.
    Length,
}

impl Stop {
    /// The meaning of a provider's finish reason, unless it is an ordinary end.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "max_output_tokens" | "model_length" | "incomplete" => {
                Stop::Length
            }
            "model_context_window_exceeded" | "context_length_exceeded" => Stop::Context,
            "blocklist"
            | "content_filter"
            | "content_filtered"
            | "error_toxic"
            | "guardrail_intervened"
            | "image_safety"
            | "prohibited_content"
            | "recitation"
            | "refusal"
            | "safety"
            | "spii" => Stop::Filter,
            _ => return None,
        })
    }
}

impl Ending {
    /// The note for the end of a question. `None` if the answer is complete, or if a failure, the budget, the limit
    /// of rounds or the user ended it, because these have sentences of their own.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let has_own_sentence = outcome.failure.is_some()
            || outcome.refused.is_some()
            || outcome.is_unfinished
            || outcome.is_stopped;
        let (last, before) = outcome.rounds.split_last().filter(|_| !has_own_sentence)?;
        let has_answer = has_said(&last.answer);
        let kind = kind(last, before.last(), has_answer)?;
        Some(Ending { kind, has_answer })
    }

    /// Whether there is an answer nevertheless, such as the first part of an answer that was cut off.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        self.has_answer
    }
}

fn kind(last: &Round, before: Option<&Round>, has_answer: bool) -> Option<Kind> {
    let answer = &last.answer;
    if let Some(text) = answer.refusal.as_ref().filter(|text| !text.trim().is_empty()) {
        return Some(Kind::Refusal(text.trim().to_owned()));
    }
    let word = answer.finish_reason.as_deref().unwrap_or_default();
    match Stop::of(word) {
        Some(Stop::Filter) => return Some(Kind::Withheld(word.to_owned())),
        Some(stop) => return Some(Kind::Cut(stop, word.to_owned())),
        None => {}
    }
    if has_answer {
        return None;
    }
    let calls = answer.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.name.clone()),
        _ => None,
    });
    let calls: Vec<String> = calls.collect();
    if !calls.is_empty() {
        return Some(Kind::Calls(calls));
    }
    if let Some(round) = before.filter(|round| !round.refused.is_empty()) {
        return Some(Kind::ToolsRefused(round.refused.clone()));
    }
    let has_thought = answer.blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
    Some(if has_thought { Kind::Thought } else { Kind::Empty })
}

/// Whether the answer has a block that is neither a thought nor a call.
fn has_said(answer: &Answer) -> bool {
    answer.blocks.iter().any(|block| match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Media(_) | Block::Other(_) => true,
        Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    })
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Calls(names) => write!(
                f,
                "the model calls {} and says nothing, and no tools run here; let it use tools, or ask otherwise",
                quoted(names)
            ),
            Kind::Cut(Stop::Context, word) => write!(
                f,
                "the context window is full, so the answer was cut off (`{word}`); shorten the conversation"
            ),
            Kind::Cut(_, word) if self.has_answer => write!(
                f,
                "the answer was cut off at the limit of output tokens (`{word}`); say `go on`, or ask for less at once"
            ),
            Kind::Cut(_, word) => write!(
                f,
                "the limit of output tokens was reached before there was an answer (`{word}`); ask for less thinking, \
                 or for less at once"
            ),
            Kind::Empty => f.write_str("the model ended its answer without a word; ask again"),
            Kind::Refusal(text) => write!(f, "the model refuses: {text}"),
            Kind::Thought => f.write_str(
                "the model ended its answer with a thought and no word; ask again, or for less thinking",
            ),
            Kind::ToolsRefused(names) => write!(
                f,
                "the model said nothing after {} was not allowed; allow it, or ask for something else",
                quoted(names)
            ),
            Kind::Withheld(word) => write!(
                f,
                "the provider's filter ended the answer (`{word}`); ask in other words"
            ),
        }
    }
}

/// `` `a`, `b` ``, each name once.
fn quoted(names: &[String]) -> String {
    let mut quoted: Vec<String> = Vec::new();
    for name in names.iter().map(|name| format!("`{name}`")) {
        if !quoted.contains(&name) {
            quoted.push(name);
        }
    }
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Ending, Stop};
    use crate::agent::{Outcome, Round};
    use thinkthrough_core::answer::Answer;
    use thinkthrough_core::content::{Block, Thinking, ToolCall};

    fn thought() -> Block {
        Block::Thinking(Thinking::new("hm", "reasoning_content"))
    }

    fn call() -> Block {
        Block::ToolCall(ToolCall::new(Some("1"), "shell"))
    }

    fn round(blocks: Vec<Block>, word: &str) -> Round {
        let finish_reason = Some(word.to_owned());
        Round { answer: Answer { blocks, finish_reason, ..Answer::default() }, ..Round::default() }
    }

    #[track_caller]
    fn check(rounds: Vec<Round>, want: Option<(&str, bool)>) {
        let ending = Ending::of(&Outcome { rounds, ..Outcome::default() });
        let said = ending.map(|it| (it.to_string(), it.has_answer()));
        let said = said.as_ref().map(|(text, has)| (text.as_str(), *has));
        match (said, want) {
            (Some((text, has)), Some((begins, wants))) => {
                assert!(text.starts_with(begins) && has == wants, "{text} {has}");
            }
            (said, want) => assert_eq!(said, want),
        }
    }

    #[test]
    fn b_6_every_end_without_an_answer_has_its_sentence() {
        let text = || Block::text("yes");
        check(vec![round(vec![text()], "stop")], None);
        check(vec![round(vec![thought(), text()], "end_turn")], None);
        check(
            vec![round(vec![], "stop")],
            Some(("the model ended its answer without a word", false)),
        );
        let blank = Block::text(" \n");
        check(
            vec![round(vec![blank], "stop")],
            Some(("the model ended its answer without", false)),
        );
        let bare = "the model ended its answer with a thought and no word";
        check(vec![round(vec![thought()], "STOP")], Some((bare, false)));
        let cut = "the answer was cut off at the limit of output tokens (`length`)";
        check(vec![round(vec![text()], "length")], Some((cut, true)));
        let early =
            "the limit of output tokens was reached before there was an answer (`MAX_TOKENS`)";
        check(vec![round(vec![thought()], "MAX_TOKENS")], Some((early, false)));
        let full = "the context window is full";
        check(vec![round(vec![text()], "model_context_window_exceeded")], Some((full, true)));
        let filter = "the provider's filter ended the answer (`SAFETY`)";
        check(vec![round(vec![], "SAFETY")], Some((filter, false)));
        let calls = "the model calls `shell` and says nothing";
        check(vec![round(vec![call(), call()], "tool_calls")], Some((calls, false)));
        let mut refused = round(vec![text(), call()], "tool_calls");
        refused.refused = vec!["shell".to_owned()];
        let after = "the model said nothing after `shell` was not allowed";
        check(vec![refused.clone(), round(vec![thought()], "stop")], Some((after, false)));
        check(vec![refused, round(vec![text()], "stop")], None);
        let mut no = round(vec![], "stop");
        no.answer.refusal = Some("I will not.".to_owned());
        check(vec![no], Some(("the model refuses: I will not.", false)));
    }

    #[test]
    fn what_has_a_sentence_of_its_own_gets_no_other() {
        let of = |change: fn(&mut Outcome)| {
            let mut outcome = Outcome { rounds: vec![round(vec![], "stop")], ..Outcome::default() };
            change(&mut outcome);
            Ending::of(&outcome)
        };
        assert!(of(|_| {}).is_some());
        assert_eq!(of(|it| it.is_stopped = true), None);
        assert_eq!(of(|it| it.is_unfinished = true), None);
        assert_eq!(of(|it| it.rounds.clear()), None);
    }

    #[test]
    fn words_of_every_wire_are_known() {
        for word in ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length"] {
            assert_eq!(Stop::of(word), Some(Stop::Length), "{word}");
        }
        for word in ["content_filter", "refusal", "SAFETY", "guardrail_intervened"] {
            assert_eq!(Stop::of(word), Some(Stop::Filter), "{word}");
        }
        for word in ["stop", "end_turn", "tool_use", "completed", ""] {
            assert_eq!(Stop::of(word), None, "{word}");
        }
    }
}
