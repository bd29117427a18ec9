//! The mark at the end of every simulated thought. A simulator recognises its own thoughts by it on
//! wires where thoughts are plain text.
//!
//! The mark covers the thought and the visible part of its answer, so that a thought at the wrong
//! message is detected. It does not name the simulator.

use super::Call;
use crate::seal::{Digest, HEX};

/// Digest of the visible part of an answer. All thoughts of the answer share it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible(Digest);

impl Visible {
    /// The digest of an answer with this text and these calls.
    pub(crate) fn of<'a>(text: &str, calls: impl IntoIterator<Item = &'a Call>) -> Self {
        let start = Digest::new("thought").text(text.trim());
        let calls = calls.into_iter();
        Self(calls.fold(start, |hash, call| hash.text(&call.name).value(&call.arguments)))
    }
}

const OPEN: &str = "\n(simulated thought ";
const CLOSE: char = ')';

/// The result of judging a thought that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Unchanged, and at its answer.
    Own,
    /// Marked, but changed or moved.
    Altered,
    /// Without a mark.
    Foreign,
}

/// Appends the mark to a thought.
pub(super) fn signed(words: &str, visible: Visible) -> String {
    format!("{words}{OPEN}{}{CLOSE}", mark(words, visible))
}

/// The thought of another choice: changed words, and a mark for the visible part of that choice.
pub(crate) fn reworded(thought: &str, choice: u64, text: &str, calls: &[Call]) -> String {
    // A thought that the token cap cut has no mark to renew.
    match thought.rsplit_once(OPEN) {
        Some((words, _)) => {
            let words = format!("{words} I could say it in {choice} ways.");
            signed(&words, Visible::of(text, calls))
        }
        None => thought.to_owned(),
    }
}

/// Judges a thought that came back next to this visible part.
pub(crate) fn judge(thought: &str, visible: Visible) -> Verdict {
    let Some((words, tail)) = thought.rsplit_once(OPEN) else {
        return if thought.contains(OPEN.trim()) { Verdict::Altered } else { Verdict::Foreign };
    };
    match tail.strip_suffix(CLOSE) {
        Some(found) if found == mark(words, visible) => Verdict::Own,
        Some(_) | None => Verdict::Altered,
    }
}

fn mark(words: &str, Visible(hash): Visible) -> String {
    hash.text(words).word(HEX, 8)
}
