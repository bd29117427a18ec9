//! The instructions for a model, before the first message of a conversation.
//!
//! They are the first message of a conversation and never change, because thoughts and caches may be bound to all
//! messages before them. A later change is part of the next question.

mod files;

pub use files::{Found, InstructionFile, find};

use crate::attachment::{block, named};
use crate::wording::date;
use thinkthrough_core::content::{Block, Content, Speaker};

/// The instructions in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The user's own text.
    pub own: Option<String>,
    /// The files with instructions, the most general first. `None` if files are switched off.
    pub files: Option<Vec<InstructionFile>>,
    /// The working folder.
    pub folder: Option<String>,
    /// The date.
    pub date: Option<String>,
}

/// A part of the instructions. Each part is compared and changed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Date,
    Folder,
    Files,
    Own,
}

impl Part {
    /// The order at the start of a question. The user's own text is the last part, because only the other parts have
    /// a visible end.
    const IN_QUESTION: [Part; 4] = [Part::Date, Part::Folder, Part::Files, Part::Own];
    /// The order in the first message, whose beginning is the user's own text.
    const BEHIND_OWN: [Part; 3] = [Part::Files, Part::Folder, Part::Date];

    /// The words with which the part begins.
    const fn head(self) -> &'static str {
        match self {
            Part::Date => "Today's date: ",
            Part::Folder => "Working folder: ",
            Part::Files => "Instructions from files:",
            Part::Own => "Instructions for this conversation from now on:\n\n",
        }
    }
}

/// The text between two parts.
const GAP: &str = "\n\n";
/// The statement that earlier files count no longer.
const NO_FILES: &str = "Instructions from files: none from now on.";

impl Instructions {
    /// The first message of a conversation. `None` if there are no instructions.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let own = self.own.clone().filter(|it| !it.trim().is_empty());
        let files = self.files.as_ref().is_some_and(|files| !files.is_empty());
        let behind = Part::BEHIND_OWN.into_iter().filter(|part| *part != Part::Files || files);
        let parts = own.into_iter().chain(behind.filter_map(|part| self.statement(part)));
        Some(parts.collect::<Vec<_>>().join(GAP)).filter(|text| !text.is_empty())
    }

    /// Updates the date from a time in seconds since 1970, unless the date is switched off.
    pub(crate) fn set_date(&mut self, seconds: u64) {
        if let Some(date) = &mut self.date {
            *date = today(seconds);
        }
    }

    /// The statement of a question about a part. `None` if the part is switched off.
    fn statement(&self, part: Part) -> Option<String> {
        let with_head = |text: &String| format!("{}{text}", part.head());
        match part {
            Part::Date => self.date.as_ref().map(with_head),
            Part::Folder => self.folder.as_ref().map(with_head),
            Part::Own => self.own.as_ref().filter(|it| !it.trim().is_empty()).map(with_head),
            Part::Files => self.files.as_ref().map(|files| {
                if files.is_empty() {
                    return NO_FILES.to_owned();
                }
                let blocks = files.iter().map(|it| named(&it.path, "md", &it.text));
                let text = blocks.fold(String::new(), |text, block| text + GAP + &block);
                with_head(&text)
            }),
        }
    }

    /// The statements that the conversation does not hold yet, in the order of a question.
    fn changes(&self, earlier: &[Content]) -> String {
        let mut changes = String::new();
        for part in Part::IN_QUESTION {
            let Some(statement) = self.statement(part) else { continue };
            let is_new = match said(earlier, part) {
                Some(text) => !is_statement(&text, &statement),
                None => statement != NO_FILES,
            };
            if is_new {
                changes.push_str(&statement);
                changes.push_str(GAP);
            }
        }
        changes
    }
}

/// The date in the instructions at a time in seconds since 1970.
#[must_use]
pub fn today(seconds: u64) -> String {
    format!("{} (UTC)", date(seconds))
}

/// The messages to add for a question: the question, and the instructions if the conversation begins with them.
#[must_use]
pub fn with_instructions(
    earlier: &[Content],
    instructions: &Instructions,
    mut question: Content,
) -> Vec<Content> {
    if earlier.is_empty() {
        let first = instructions.text().map(|text| Content::text(Speaker::System, text));
        return first.into_iter().chain([question]).collect();
    }
    let changes = instructions.changes(earlier);
    if !changes.is_empty() {
        match question.blocks.first_mut() {
            Some(Block::Text(text)) => text.text.insert_str(0, &changes),
            Some(_) | None => question.blocks.insert(0, Block::text(changes)),
        }
    }
    vec![question]
}

/// The user's own text in the first message of a conversation.
pub(crate) fn first(contents: &[Content]) -> Option<String> {
    let text = first_text(contents)?;
    Some(own_of(&text).to_owned()).filter(|own| !own.is_empty())
}

/// The first message of a conversation, if it has instructions.
fn first_text(contents: &[Content]) -> Option<String> {
    let first = contents.first().filter(|it| it.speaker == Speaker::System)?;
    Some(first.visible_text())
}

/// The beginning of the first message, up to the part behind it.
fn own_of(text: &str) -> &str {
    let ends = Part::BEHIND_OWN.into_iter().filter_map(|part| paragraph(text, part));
    let end = ends.min().unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end_matches('\n')
}

/// The start of the paragraph that begins with the head of a part.
fn paragraph(text: &str, part: Part) -> Option<usize> {
    let mut starts = text.match_indices(part.head()).map(|(at, _)| at);
    starts.find(|at| *at == 0 || text.get(..*at).is_some_and(|before| before.ends_with(GAP)))
}

/// The latest text of the conversation that begins with a statement about this part.
fn said(earlier: &[Content], part: Part) -> Option<String> {
    let questions = earlier.iter().rev().filter(|it| it.speaker == Speaker::Human);
    let latest = questions.into_iter().find_map(|question| match question.blocks.first() {
        Some(Block::Text(text)) => in_question(&text.text, part).map(str::to_owned),
        Some(_) | None => None,
    });
    latest.or_else(|| {
        let text = first_text(earlier)?;
        match part {
            Part::Own => Some(own_of(&text)).filter(|own| !own.is_empty()).map(|own| {
                // The first message has the text without its head.
                format!("{}{own}", part.head())
            }),
            Part::Date | Part::Folder | Part::Files => {
                text.get(paragraph(&text, part)?..).map(str::to_owned)
            }
        }
    })
}

/// The rest of a question from its statement about this part on.
fn in_question(text: &str, wanted: Part) -> Option<&str> {
    let mut rest = text;
    for part in Part::IN_QUESTION {
        let Some(behind) = rest.strip_prefix(part.head()) else { continue };
        if part == wanted {
            return Some(rest);
        }
        rest = match part {
            Part::Date | Part::Folder => rest.split_once(GAP)?.1,
            Part::Files => behind_files(behind),
            Part::Own => return None,
        };
    }
    None
}

/// A question without the changes in front of it. The user's own text has no visible end, so it stays.
pub(crate) fn without_changes(text: &str) -> &str {
    let mut rest = text;
    for part in [Part::Date, Part::Folder, Part::Files] {
        let Some(behind) = rest.strip_prefix(part.head()) else { continue };
        rest = match part {
            Part::Files => behind_files(behind),
            Part::Date | Part::Folder | Part::Own => rest.split_once(GAP).map_or("", |it| it.1),
        };
    }
    rest
}

/// The rest of a question behind the blocks of its files.
fn behind_files(text: &str) -> &str {
    let Some(mut rest) = text.strip_prefix(GAP) else {
        return text.split_once(GAP).map_or("", |it| it.1);
    };
    while let Some((_, length, _)) = block(rest) {
        let behind = rest.get(length..).unwrap_or_default();
        rest = behind.strip_prefix(GAP).unwrap_or(behind);
    }
    rest
}

/// Returns whether a text begins with exactly this statement.
fn is_statement(text: &str, statement: &str) -> bool {
    text.strip_prefix(statement).is_some_and(|rest| rest.is_empty() || rest.starts_with(GAP))
}

#[cfg(test)]
mod tests;
