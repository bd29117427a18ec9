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
    /// The user's own text, chosen for this conversation by `-s`, a profile or `/system`. An empty text means that
    /// the user chose to have none.
    pub own: Option<String>,
    /// The text of `[chat] system`. It counts if the user chose no text, and if the conversation holds none.
    pub usual: Option<String>,
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
    /// The order at the start of a question.
    const IN_QUESTION: [Part; 4] = [Part::Date, Part::Folder, Part::Files, Part::Own];
    /// The order in the first message, whose beginning is the user's own text.
    const BEHIND_OWN: [Part; 3] = [Part::Files, Part::Folder, Part::Date];

    /// The words with which the part begins.
    const fn head(self) -> &'static str {
        match self {
            Part::Date => "Today's date: ",
            Part::Folder => "Working folder: ",
            Part::Files => "Instructions from ",
            Part::Own => "Instructions for this conversation from now on:\n\n",
        }
    }

    /// The length of the statement about this part at the beginning of a question.
    fn length(self, text: &str) -> Option<usize> {
        match self {
            Part::Date | Part::Folder => text.starts_with(self.head()).then(|| text.find(GAP))?,
            Part::Files => match text.starts_with(NO_FILES) {
                true => Some(NO_FILES.len()),
                false => length_of_files(text),
            },
            Part::Own => match text.starts_with(NO_OWN) {
                true => Some(NO_OWN.len()),
                false => text.starts_with(self.head()).then(|| text.find(END))?,
            },
        }
    }
}

/// The text between two parts.
const GAP: &str = "\n\n";
/// The statement that earlier files count no longer.
const NO_FILES: &str = "Instructions from files: none from now on.";
/// The statement that an earlier text of the user counts no longer.
const NO_OWN: &str = "Instructions for this conversation: none from now on.";
/// The end of the changes at the start of a question, and the gap before it.
const END: &str = "\n\n(End of the changed instructions.)";

impl Instructions {
    /// The first message of a conversation. `None` if there are no instructions.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let own = self.own.as_ref().or(self.usual.as_ref()).filter(|it| !it.trim().is_empty());
        let files = self.files.as_ref().is_some_and(|files| !files.is_empty());
        let behind = Part::BEHIND_OWN.into_iter().filter(|part| *part != Part::Files || files);
        let parts = own.cloned().into_iter().chain(behind.filter_map(|part| self.statement(part)));
        Some(parts.collect::<Vec<_>>().join(GAP)).filter(|text| !text.is_empty())
    }

    /// Chooses the text of a profile. A profile without a text chooses that of `[chat] system`.
    pub fn choose_profile(&mut self, system: Option<String>) {
        self.own = Some(system.or_else(|| self.usual.clone()).unwrap_or_default());
    }

    /// The instructions as one text, for the next question of a conversation.
    pub(crate) fn held(&self, earlier: &[Content]) -> Option<String> {
        let own = self.own.clone().or_else(|| own_text(earlier));
        Instructions { own, ..self.clone() }.text()
    }

    /// Updates the date from a time in seconds since 1970, unless the date is switched off.
    pub(crate) fn set_date(&mut self, seconds: u64) {
        if let Some(date) = &mut self.date {
            *date = today(seconds);
        }
    }

    /// The statement about a part. `None` if the part is switched off.
    fn statement(&self, part: Part) -> Option<String> {
        let with_head = |text: &String| format!("{}{text}", part.head());
        match part {
            Part::Date => self.date.as_ref().map(with_head),
            Part::Folder => self.folder.as_ref().map(with_head),
            Part::Own => {
                self.own.as_ref().or(self.usual.as_ref()).map(|own| {
                    if own.trim().is_empty() { NO_OWN.to_owned() } else { with_head(own) }
                })
            }
            Part::Files => self.files.as_ref().map(|files| {
                let noun = match files.len() {
                    0 => return NO_FILES.to_owned(),
                    1 => "file",
                    _ => "files",
                };
                let blocks = files.iter().map(|it| named(&it.path, "md", &it.text));
                let blocks = blocks.fold(String::new(), |text, block| text + GAP + &block);
                format!("{}{} {noun}:{blocks}", part.head(), files.len())
            }),
        }
    }

    /// The statements that the conversation does not hold yet, in the order of a question, and the line that ends them.
    fn changes(&self, earlier: &[Content]) -> String {
        let mut changes = Vec::new();
        for part in Part::IN_QUESTION {
            let Some(statement) = self.statement(part) else { continue };
            let is_new = match latest(earlier, part) {
                Some(_) if part == Part::Own && self.own.is_none() => false,
                Some(text) => text != statement,
                None => statement != NO_FILES && statement != NO_OWN,
            };
            changes.extend(is_new.then_some(statement));
        }
        let end = if changes.is_empty() { "" } else { END };
        changes.join(GAP) + end
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
        let changes = changes + GAP;
        match question.blocks.first_mut() {
            Some(Block::Text(text)) => text.text.insert_str(0, &changes),
            Some(_) | None => question.blocks.insert(0, Block::text(changes)),
        }
    }
    vec![question]
}

/// The user's own text that the conversation holds.
fn own_text(contents: &[Content]) -> Option<String> {
    let statement = latest(contents, Part::Own)?;
    Some(statement.strip_prefix(Part::Own.head()).unwrap_or_default().to_owned())
}

/// The latest statement of the conversation about this part.
fn latest(earlier: &[Content], part: Part) -> Option<String> {
    let questions = earlier.iter().rev().filter(|it| it.speaker == Speaker::Human);
    let changed = questions.into_iter().find_map(|question| match question.blocks.first() {
        Some(Block::Text(text)) => {
            let (statements, _) = changes_of(&text.text)?;
            let found = statements.into_iter().find(|(of, _)| *of == part);
            found.map(|(_, statement)| statement.to_owned())
        }
        Some(_) | None => None,
    });
    changed.or_else(|| {
        let first = earlier.first().filter(|it| it.speaker == Speaker::System)?;
        in_first(&first.visible_text(), part)
    })
}

/// The statement about a part in the first message of a conversation.
///
/// The message is read from its end, because the user's own text at its beginning may look like any other part.
fn in_first(text: &str, wanted: Part) -> Option<String> {
    let mut own = text;
    for part in Part::BEHIND_OWN.into_iter().rev() {
        let is_whole = |statement: &str| match part {
            Part::Files => length_of_files(statement) == Some(statement.len()),
            Part::Date | Part::Folder | Part::Own => !statement.contains(GAP),
        };
        let mut starts = own.match_indices(part.head()).map(|(at, _)| at);
        let start = starts.find(|at| {
            let (before, statement) = own.split_at(*at);
            (before.is_empty() || before.ends_with(GAP)) && is_whole(statement)
        });
        let Some((before, statement)) = start.map(|at| own.split_at(at)) else { continue };
        if part == wanted {
            return Some(statement.to_owned());
        }
        own = before.strip_suffix(GAP).unwrap_or(before);
    }
    // The first message has the text without its head.
    (wanted == Part::Own && !own.is_empty()).then(|| format!("{}{own}", wanted.head()))
}

/// The statements at the beginning of a question, and the question itself. `None` without any statement.
fn changes_of(text: &str) -> Option<(Vec<(Part, &str)>, &str)> {
    let (mut statements, mut rest) = (Vec::new(), text);
    for part in Part::IN_QUESTION {
        let at_part = if statements.is_empty() { Some(rest) } else { rest.strip_prefix(GAP) };
        let Some((statement, behind)) =
            at_part.and_then(|it| it.split_at_checked(part.length(it)?))
        else {
            continue;
        };
        statements.push((part, statement));
        rest = behind;
    }
    let question = rest.strip_prefix(END).filter(|_| !statements.is_empty())?;
    Some((statements, question.strip_prefix(GAP).unwrap_or(question)))
}

/// A question without the changes in front of it.
pub(crate) fn without_changes(text: &str) -> &str {
    changes_of(text).map_or(text, |(_, question)| question)
}

/// The length of the statement about files at the beginning of a text: its head and as many blocks as it announces.
fn length_of_files(text: &str) -> Option<usize> {
    let (count, mut rest) = text.strip_prefix(Part::Files.head())?.split_once(' ')?;
    rest = rest.strip_prefix("files:").or_else(|| rest.strip_prefix("file:"))?;
    for _ in 0..count.parse::<usize>().ok()? {
        rest = rest.strip_prefix(GAP)?;
        rest = rest.get(block(rest)?.1..)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests;
