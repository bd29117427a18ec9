//! Search in the sealed logs. Each row is opened, searched, and dropped.

use super::{Conversations, Summary};
use crate::error::StoreError;
use crate::id::ConversationId;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use thinkthrough_core::content::{Block, Content, Parameters, Speaker};
use thinkthrough_core::plane::Masked;
use thinkthrough_mask::Masker;

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The text to find. Case does not matter.
    pub text: String,
    /// The texts to search.
    pub within: Within,
    /// Search only this conversation.
    pub only: Option<ConversationId>,
}

/// The texts to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Within {
    /// All: thoughts, answers, questions, and the inputs and outputs of tools.
    #[default]
    All,
    /// Visible texts of models.
    Answers,
    /// Thoughts of models.
    Thoughts,
}

/// A report of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A match.
    Hit(Hit),
    /// The progress in conversations.
    Progress {
        /// Number of searched conversations.
        done: usize,
        /// Number of all conversations.
        of: usize,
    },
}

/// The first match in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The conversation.
    pub id: ConversationId,
    /// Its title.
    pub title: Option<String>,
    /// Index of the message, from 0.
    pub message: u32,
    /// Index of the block in the message, from 0.
    pub block: usize,
    /// The speaker of the message.
    pub speaker: Speaker,
    /// True for a match in a thought.
    pub is_thought: bool,
    /// The surrounding words in one line.
    pub excerpt: String,
    /// Range of the match in the excerpt, in bytes.
    pub at: Range<usize>,
}

impl Conversations {
    /// Searches all conversations, the latest first, and passes each result to `found` at once. The search stops when
    /// `found` returns false.
    ///
    /// # Errors
    /// When the store cannot be read. Damaged messages are skipped.
    pub async fn search<F>(&self, search: &Search, found: F) -> Result<(), StoreError>
    where
        F: FnMut(Found) -> bool,
    {
        self.search_masked(search, None, found).await
    }

    /// As [`search`](Self::search), but masks each text first. So secrets cannot be found, and excerpts contain no
    /// part of one.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn search_masked<F>(
        &self,
        search: &Search,
        masker: Option<&Masker>,
        mut found: F,
    ) -> Result<(), StoreError>
    where
        F: FnMut(Found) -> bool,
    {
        let needle = Arc::new(Needle::new(&search.text));
        let mut list = self.list().await?;
        list.retain(|it| search.only.as_ref().is_none_or(|only| *only == it.id));
        let of = list.len();
        for (done, summary) in list.iter().enumerate() {
            if !found(Found::Progress { done, of }) {
                return Ok(());
            }
            let within = (search.within, masker);
            match self.search_one(summary, within, &needle, &mut found).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // The conversation was deleted meanwhile.
                Err(StoreError::NoConversation(_)) => {}
                Err(error) => return Err(error),
            }
        }
        found(Found::Progress { done: of, of });
        Ok(())
    }

    /// Searches one conversation. Returns false if the search has to stop.
    async fn search_one<F>(
        &self,
        summary: &Summary,
        (within, masker): (Within, Option<&Masker>),
        needle: &Arc<Needle>,
        found: &mut F,
    ) -> Result<bool, StoreError>
    where
        F: FnMut(Found) -> bool,
    {
        let opened = self.opened(&summary.id).await?;
        let mut from = 0;
        loop {
            let page = self.page(&opened, from).await?;
            let Some((last, _)) = page.last() else { return Ok(true) };
            from = last.saturating_add(1);
            let (opened, needle) = (Arc::clone(&opened), Arc::clone(needle));
            let (summary, masker) = (summary.clone(), masker.cloned());
            let look = move || -> Vec<Hit> {
                let contents = page.iter().filter_map(|(position, sealed)| {
                    Some((*position, opened.log.open(*position, sealed)?))
                });
                contents
                    .flat_map(|(position, content)| {
                        hits(&summary, (position, &content), (within, masker.as_ref()), &needle)
                    })
                    .collect()
            };
            let hits = tokio::task::spawn_blocking(look).await.map_err(|_| StoreError::Closed)?;
            for hit in hits {
                if !found(Found::Hit(hit)) {
                    return Ok(false);
                }
            }
        }
    }
}

fn hits(
    summary: &Summary,
    (message, content): (u32, &Content),
    (within, masker): (Within, Option<&Masker>),
    needle: &Needle,
) -> Vec<Hit> {
    let hit = |(block, it): (usize, &Block)| {
        let is_thought = matches!(it, Block::Thinking(_));
        let is_wanted = match within {
            Within::All => true,
            Within::Answers => content.speaker == Speaker::Ai && matches!(it, Block::Text(_)),
            Within::Thoughts => is_thought,
        };
        let text = text_of(it).filter(|_| is_wanted)?;
        let text = match masker {
            Some(masker) => Cow::Owned(Masked::by(masker, &text.into_owned()).into_inner()),
            None => text,
        };
        let (excerpt, at) = excerpt(&text, needle.find(&text)?);
        Some(Hit {
            id: summary.id.clone(),
            title: summary.meta.title.clone(),
            message,
            block,
            speaker: content.speaker,
            is_thought,
            excerpt,
            at,
        })
    };
    content.blocks.iter().enumerate().filter_map(hit).collect()
}

fn text_of(block: &Block) -> Option<Cow<'_, str>> {
    let text = match block {
        Block::Text(text) => &text.text,
        Block::Thinking(thinking) => &thinking.thought,
        Block::ToolCall(call) => match &call.parameters {
            Parameters::Free(text) | Parameters::Invalid(text) => text,
            Parameters::Json(raw) => raw.as_str(),
        },
        Block::ToolResponse(response) => return Some(Cow::Owned(response.result.text())),
        Block::Other(other) => other.raw.as_str(),
        Block::Media(_) => return None,
    };
    Some(Cow::Borrowed(text))
}

/// A text to find, in lower case.
struct Needle {
    chars: Vec<char>,
    /// The first byte in lower and upper case, if the first character is a single byte.
    first: Option<(u8, u8)>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
        // A character beyond ASCII may have an ASCII letter as its lower case (the Kelvin sign is a `k`). So the
        // shortcut excludes such letters.
        let alone = |char: &&char| char.is_ascii() && !matches!(char, 'k' | 'i');
        let first = chars.first().filter(alone).and_then(|first| u8::try_from(*first).ok());
        Needle { chars, first: first.map(|first| (first, first.to_ascii_uppercase())) }
    }

    /// The range of the first match.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        if self.chars.is_empty() {
            return None;
        }
        let mut from = 0;
        loop {
            let rest = text.get(from..)?;
            from += match self.first {
                Some((small, capital)) => memchr::memchr2(small, capital, rest.as_bytes())?,
                None => 0,
            };
            let rest = text.get(from..)?;
            if let Some(len) = self.begins(rest) {
                return Some(from..from + len);
            }
            from += rest.chars().next()?.len_utf8();
        }
    }

    /// The length of the match at the start of `rest`, if there is one.
    fn begins(&self, rest: &str) -> Option<usize> {
        let mut wanted = self.chars.iter();
        for (at, char) in rest.char_indices() {
            if wanted.len() == 0 {
                return Some(at);
            }
            for small in char.to_lowercase() {
                if wanted.next() != Some(&small) {
                    return None;
                }
            }
        }
        (wanted.len() == 0).then_some(rest.len())
    }
}

/// Number of characters on each side of a match.
const AROUND: usize = 40;

/// The words around a match in one line, and the range of the match in them.
fn excerpt(text: &str, at: Range<usize>) -> (String, Range<usize>) {
    let (before, rest) = text.split_at_checked(at.start).unwrap_or((text, ""));
    let (found, after) = rest.split_at_checked(at.len()).unwrap_or((rest, ""));
    let start = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let end = after.char_indices().nth(AROUND).map_or(after.len(), |(at, _)| at);
    let mut line = String::new();
    if start > 0 {
        line.push('…');
    }
    push_line(&mut line, before.get(start..).unwrap_or_default());
    let from = line.len();
    push_line(&mut line, found);
    let to = line.len();
    push_line(&mut line, after.get(..end).unwrap_or_default());
    if end < after.len() {
        line.push('…');
    }
    (line, from..to)
}

fn push_line(line: &mut String, text: &str) {
    line.extend(text.chars().map(|char| if char.is_whitespace() { ' ' } else { char }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_and_small_letters_are_one() {
        for (needle, text, expected) in [
            ("sky", "The SKY is", Some(4..7)),
            ("SKY", "the sky", Some(4..7)),
            ("kelvin", "273 \u{212a}elvin", Some(4..12)),
            ("ÄPFEL", "zwei äpfel", Some(5..11)),
            ("aab", "aaab", Some(1..4)),
            ("b", "äb", Some(2..3)),
            ("missing", "miss", None),
            ("", "x", None),
            ("x", "", None),
        ] {
            assert_eq!(Needle::new(needle).find(text), expected, "{needle} in {text}");
        }
    }

    #[test]
    fn an_excerpt_is_one_line_around_the_place() {
        let text = format!("{}\nthe sky\nis {}", "a".repeat(100), "b".repeat(100));
        let (line, at) = excerpt(&text, 105..108);
        assert_eq!(line.get(at), Some("sky"));
        let (a, b) = ("a".repeat(35), "b".repeat(36));
        assert_eq!(line, format!("…{a} the sky is {b}…"));
        assert_eq!(excerpt("sky", 0..3), ("sky".to_owned(), 0..3));
    }
}
