//! Export and import of conversations: Markdown, HTML and JSON lines.
//!
//! - [`to_markdown`] and [`from_markdown`] are each other's inverse: every block comes back as it was, opaque
//!   payloads included, unless thoughts were left out. Changes that a reader makes by hand are read back.
//! - [`to_html`] makes one self-contained page, with the thoughts folded.
//! - [`to_jsonl`] and [`from_jsonl`] are the neutral contents, one a line, as in history files.

mod html;
mod jsonl;
mod lines;
mod markdown;
mod masked;
mod page;
mod read;

pub use html::{html_closing, html_message, html_opening, to_html};
pub use jsonl::{from_jsonl, to_jsonl};
pub use markdown::to_markdown;
pub use masked::masked;
pub use read::from_markdown;

use crate::counted::tokens;
use std::fmt;
use thinkthrough_core::content::{Block, Content, Thinking};
use thinkthrough_core::tokens::TokenCount;

/// A conversation as it is exported and imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Its title, one line.
    pub title: Option<String>,
    /// The messages.
    pub contents: Vec<Content>,
}

/// How thoughts look in Markdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThoughtForm {
    /// `> [!thinking]-`: a folded callout in editors that know them, a quote everywhere else.
    #[default]
    Callout,
    /// `<details>`: folded wherever HTML is rendered.
    Details,
    /// Between lines `---thinking---` and `---/thinking---`.
    Fenced,
}

impl ThoughtForm {
    /// The form of that name: `callout`, `details` or `fenced`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "callout" => Some(ThoughtForm::Callout),
            "details" => Some(ThoughtForm::Details),
            "fenced" => Some(ThoughtForm::Fenced),
            _ => None,
        }
    }
}

/// The error for a text that is no exported conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; correct it or take it out", self.line, self.message)
    }
}

impl std::error::Error for ImportError {}

/// The contents without their thoughts. A message with only thoughts is left out.
#[must_use]
pub fn without_thoughts(contents: &[Content]) -> Vec<Content> {
    let is_kept = |block: &Block| !matches!(block, Block::Thinking(_));
    contents
        .iter()
        .filter(|content| content.blocks.is_empty() || content.blocks.iter().any(is_kept))
        .map(|content| Content {
            blocks: content.blocks.iter().filter(|block| is_kept(block)).cloned().collect(),
            ..content.clone()
        })
        .collect()
}

/// The label of a folded thought: `Thought for 12 s, 1,240 tokens`, as far as it is known.
pub(crate) fn label(thinking: &Thinking, count: Option<TokenCount>) -> String {
    if thinking.is_withheld() {
        return "The provider withheld the text".to_owned();
    }
    let tokens = count.map_or_else(String::new, |count| format!(", {}", tokens(count)));
    let effort = thinking.effort.as_deref().map_or_else(String::new, |it| format!(", effort {it}"));
    match thinking.duration_ms {
        Some(ms) => format!("Thought for {} s{tokens}{effort}", (ms + 500) / 1000),
        None => format!("Thinking{tokens}{effort}"),
    }
}

#[cfg(test)]
mod tests;
