//! The conversation as a list of entries.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Thought, Tool};

/// Distinguishes transcripts, so that the layout of one is never used for another.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Entries in the order in which they came. Entries are added and changed, never moved, so an id stays good until
/// [`Transcript::clear`].
#[derive(Clone, Debug)]
pub struct Transcript {
    entries: Vec<Entry>,
    generation: u64,
}

/// Names an entry of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub(in crate::screen) usize);

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    body: Body,
    revision: u32,
}

/// The content of an entry.
#[derive(Clone, Debug)]
pub enum Body {
    /// Text of the model, in Markdown. It only grows.
    Answer(String),
    /// From here on the model sees a summary of the messages above. The text describes the compression.
    Compression(String),
    /// A notice of the program.
    Notice(Level, String),
    /// A thought of the model.
    Thought(Thought),
    /// A tool call of the model.
    Tool(Tool),
    /// A message of the user.
    User(String),
}

/// The importance of a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// A failure.
    Error,
    /// Information.
    #[default]
    Info,
    /// A warning.
    Warning,
}

impl Transcript {
    /// Adds an entry at the end.
    pub fn push(&mut self, body: Body) -> EntryId {
        let id = EntryId(self.entries.len());
        self.entries.push(Entry { body, revision: 0 });
        id
    }

    /// Appends to the text of an entry, at a cost that depends on `delta` alone.
    pub fn append(&mut self, id: EntryId, delta: &str) {
        match self.entries.get_mut(id.0).map(|entry| &mut entry.body) {
            Some(
                Body::Answer(text)
                | Body::Compression(text)
                | Body::Notice(_, text)
                | Body::Thought(Thought { text, .. })
                | Body::User(text),
            ) => text.push_str(delta),
            // A tool's result is set as a whole.
            Some(Body::Tool(_)) | None => {}
        }
    }

    /// Changes an entry in any way. Its layout is computed again.
    pub fn edit(&mut self, id: EntryId, change: impl FnOnce(&mut Body)) {
        if let Some(entry) = self.entries.get_mut(id.0) {
            change(&mut entry.body);
            entry.revision = entry.revision.wrapping_add(1);
        }
    }

    /// Changes a thought's state, time, tokens or choice; its text must only grow, or be changed by [`Self::edit`].
    pub fn thought_mut(&mut self, id: EntryId) -> Option<&mut Thought> {
        match self.entries.get_mut(id.0).map(|entry| &mut entry.body) {
            Some(Body::Thought(thought)) => Some(thought),
            _ => None,
        }
    }

    /// Makes a choice for a thought or a tool, which stays until the user makes another one, for it or for all
    /// thoughts. Returns whether the entry can be opened at all.
    pub fn choose(&mut self, id: EntryId, is_open: bool) -> bool {
        match self.entries.get_mut(id.0).map(|entry| &mut entry.body) {
            Some(Body::Thought(Thought { choice, .. }) | Body::Tool(Tool { choice, .. })) => {
                *choice = Some(is_open);
                true
            }
            _ => false,
        }
    }

    /// Resets the choice for every thought, so that all of them follow the mode.
    pub fn follow_mode(&mut self) {
        for entry in &mut self.entries {
            if let Body::Thought(thought) = &mut entry.body {
                thought.choice = None;
            }
        }
    }

    /// An entry's body.
    #[must_use]
    pub fn get(&self, id: EntryId) -> Option<&Body> {
        self.entries.get(id.0).map(|entry| &entry.body)
    }

    /// All entries with their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (EntryId, &Body)> {
        self.entries.iter().enumerate().map(|(at, entry)| (EntryId(at), &entry.body))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the transcript has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries, as when another conversation is opened.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes whenever the transcript is cleared.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A number that changes whenever the entry changes in another way than by growing.
    #[must_use]
    pub fn revision(&self, at: usize) -> u32 {
        self.entries.get(at).map_or(0, |entry| entry.revision)
    }
}

impl Default for Transcript {
    fn default() -> Self {
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Self { entries: Vec::new(), generation }
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Level, Transcript};
    use crate::screen::model::{Thought, ThoughtState};

    #[test]
    fn a_choice_sticks_and_growing_is_no_change() {
        let mut transcript = Transcript::default();
        let answer = transcript.push(Body::Answer("a".into()));
        let stored = Thought::stored("t", ThoughtState::Done, None);
        let thought = transcript.push(Body::Thought(stored));
        transcript.append(answer, "b");
        assert_eq!(transcript.revision(0), 0);
        assert!(matches!(transcript.get(answer), Some(Body::Answer(text)) if text == "ab"));
        assert!(transcript.choose(thought, true) && !transcript.choose(answer, true));
        assert_eq!(transcript.thought_mut(thought).unwrap().choice, Some(true));
        transcript.edit(answer, |body| *body = Body::Notice(Level::Error, "gone".into()));
        assert_eq!(transcript.revision(0), 1);
    }

    #[test]
    fn no_two_transcripts_are_taken_for_each_other() {
        let mut transcript = Transcript::default();
        let first = transcript.generation();
        transcript.clear();
        assert_ne!(transcript.generation(), first);
        assert_ne!(Transcript::default().generation(), transcript.generation());
    }
}
