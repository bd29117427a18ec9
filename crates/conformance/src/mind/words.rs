//! Brings the words of requests and tool descriptions to a common form, so that they can be
//! compared.

use std::borrow::Cow;
use std::collections::HashSet;

/// Start and end of a text, together about `limit` bytes, cut between characters. A shorter text is
/// returned unchanged.
pub(super) fn excerpt(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (head, _) = text.split_at(boundary(limit / 2));
    let (_, tail) = text.split_at(boundary(text.len() - limit / 2));
    Cow::Owned(format!("{head}\n{tail}"))
}

/// Removes the tagged notes that agents put before a question. A text of notes alone is returned
/// unchanged.
pub(super) fn without_notes(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((tag, _)) = rest.strip_prefix('<').and_then(|it| it.split_once('>')) {
        let Some((_, after)) = rest.split_once(&format!("</{tag}>")) else { break };
        rest = after.trim_start();
    }
    if rest.is_empty() { text } else { rest }
}

/// The words of a text in a common form: split at camel and snake case, in lower case, without
/// fillers and endings, and with one word for all synonyms of a tool's work.
pub(super) fn keys(text: &str) -> HashSet<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut lower = false;
    for letter in text.chars() {
        if letter.is_uppercase() && lower {
            spaced.push(' ');
        }
        lower = letter.is_lowercase();
        spaced.push(if letter.is_alphanumeric() { letter } else { ' ' });
    }
    let words = spaced.split_whitespace().map(str::to_lowercase);
    words
        .filter(|word| !is_filler(word))
        .map(|word| key(&word))
        .filter(|key| !is_filler(key))
        .collect()
}

/// Whether the word says nothing about the request.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

const FILLERS: &[&str] = &[
    "a", "an", "the", "is", "are", "was", "be", "in", "on", "of", "to", "for", "and", "or", "it",
    "its", "this", "that", "these", "what", "which", "who", "how", "do", "does", "you", "your",
    "i", "me", "my", "we", "with", "from", "by", "at", "as", "if", "then", "first", "think",
    "please", "can", "could", "would", "will", "tell", "give", "use", "using", "return", "s", "t",
    "one", "all", "any", "there", "here", "name", "not", "has", "have", "get", "about", "say",
    "tool", "tools", "parallel", "call", "calls", "look", "both", "now", "again", "also", "me",
    "let", "today", "just",
];

fn key(word: &str) -> String {
    let stem = word
        .strip_suffix("ies")
        .map(|stem| format!("{stem}y"))
        .or_else(|| word.strip_suffix("ing").filter(|stem| stem.len() > 2).map(str::to_owned))
        .or_else(|| {
            word.strip_suffix('s').filter(|s| s.len() > 2 && !s.ends_with('s')).map(str::to_owned)
        })
        .unwrap_or_else(|| word.to_owned());
    let mapped = match stem.as_str() {
        "folder" | "directory" | "ls" | "list" | "entry" | "dir" => "dir",
        "open" | "show" | "cat" | "content" | "read" | "summarise" | "summarize" => "read",
        "grep" | "find" | "search" | "mention" | "occur" => "search",
        "temperature" | "forecast" | "weather" => "weather",
        "clock" | "date" | "time" => "time",
        "add" | "multiply" | "calculate" | "calculator" | "compute" | "sum" => "calculate",
        other => other,
    };
    mapped.to_owned()
}

/// The first `count` words of a text, with an ellipsis if it has more.
pub(super) fn shortened(text: &str, count: usize) -> String {
    let mut words = text.split_whitespace();
    let mut out = words.by_ref().take(count).collect::<Vec<_>>().join(" ");
    if words.next().is_some() {
        out.push_str(" ...");
    }
    out
}

/// The parts of a request that each ask for one thing.
pub(super) fn clauses(question: &str) -> Vec<&str> {
    question
        .split([';', '\n'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(", "))
        .flat_map(|part| part.split(" then "))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The words of a text without the punctuation around them.
pub(super) fn bare(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| {
            word.trim_matches(|c: char| ",;:!?()[]{}<>\"'`*".contains(c)).trim_end_matches('.')
        })
        .filter(|word| !word.is_empty())
}

/// Whether the word names a file: it has an extension of at most five letters and digits.
pub(super) fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    !stem.is_empty()
        && (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic())
}

/// The parts of a text in quotation marks or backticks.
pub(super) fn quoted(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for mark in ['"', '`', '\u{201c}'] {
        let close = if mark == '\u{201c}' { '\u{201d}' } else { mark };
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(mark) {
            let Some((inside, tail)) = after.split_once(close) else { break };
            if !inside.trim().is_empty() {
                out.push(inside);
            }
            rest = tail;
        }
    }
    out
}
