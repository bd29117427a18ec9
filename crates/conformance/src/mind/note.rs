//! The mark at the end of every simulated thought, by which a simulator recognises its own words on wires whose
//! thoughts are plain text.
//!
//! The mark covers the thought and the visible part of its answer, so that a thought at the wrong message is noticed.

use super::Call;
use crate::seal::{Digest, HEX};

const OPEN: &str = "\n(simulated thought ";
const CLOSE: char = ')';

/// What a returned thought is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Unchanged and at its answer.
    Own,
    /// Ours once, but changed or moved.
    Altered,
    /// Without our mark.
    Foreign,
}

/// The thought with its mark.
pub(super) fn signed(words: &str, text: &str, calls: &[Call]) -> String {
    format!("{words}{OPEN}{}{CLOSE}", mark(words, text, calls))
}

/// The thought of another choice: other words, and the mark of this visible part.
pub(crate) fn reworded(thought: &str, choice: u64, text: &str, calls: &[Call]) -> String {
    // A thought that was cut short has no mark to renew.
    match thought.rsplit_once(OPEN) {
        Some((words, _)) => {
            signed(&format!("{words} I could say it in {choice} ways."), text, calls)
        }
        None => thought.to_owned(),
    }
}

/// Judges a thought that came back beside this visible part.
pub(crate) fn judge(thought: &str, text: &str, calls: &[Call]) -> Verdict {
    let Some((words, tail)) = thought.rsplit_once(OPEN) else {
        return if thought.contains(OPEN.trim()) { Verdict::Altered } else { Verdict::Foreign };
    };
    match tail.strip_suffix(CLOSE) {
        Some(found) if found == mark(words, text, calls) => Verdict::Own,
        Some(_) | None => Verdict::Altered,
    }
}

fn mark(words: &str, text: &str, calls: &[Call]) -> String {
    let start = Digest::new("thought").text(words).text(text.trim());
    calls.iter().fold(start, |hash, call| hash.text(&call.name).value(&call.arguments)).word(HEX, 8)
}
