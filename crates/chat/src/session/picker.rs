//! Lists and pages above the transcript: completions, models, conversations, search results, texts to read.

use super::Session;
use super::command::Candidate;
use super::message::{Effect, Hit, Keep, Kept, Listed, Offer};
use super::prompt::Path;
use crate::screen::model::{Body, Item, List, Overlay, Page};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A list or page above the transcript.
#[derive(Debug)]
pub(super) enum Picker {
    /// Completions for the word at the cursor.
    Completions {
        /// The candidates.
        rows: Vec<Candidate>,
        /// Index of the highlighted entry. Enter accepts it; Tab accepts the first entry if no entry is highlighted.
        selected: Option<usize>,
    },
    /// A list to choose from.
    Choice(Choice),
    /// A page to read.
    Page {
        /// The title of the page.
        title: String,
        /// The text, in Markdown.
        text: String,
        /// Rows that are scrolled away.
        scroll: usize,
    },
}

/// A list to choose from.
#[derive(Debug)]
pub(super) struct Choice {
    kind: Kind,
    title: String,
    filter: String,
    rows: Vec<Row>,
    selected: usize,
    empty: String,
}

/// The kind of rows in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Models,
    Sessions,
    /// Sent messages.
    Sent,
}

#[derive(Clone, Debug)]
struct Row {
    /// The key of the row: a model's name, or a conversation's id.
    key: String,
    item: Item,
}

impl Choice {
    fn shown(&self) -> Vec<&Row> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |row: &&Row| {
            let text = format!("{} {}", row.item.label, row.item.detail).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.rows.iter().filter(fits).collect()
    }

    /// Appends to the filter. Control characters become spaces, because the filter has one line.
    pub(super) fn narrow(&mut self, text: &str) {
        self.filter.extend(text.chars().map(|it| if it.is_control() { ' ' } else { it }));
        self.selected = 0;
    }

    fn chosen(&self) -> Option<String> {
        self.shown().get(self.selected).map(|row| row.key.clone())
    }
}

impl Session {
    /// Handles a key for the list or page above the transcript. Returns whether it used the key.
    pub(super) fn picker_key(&mut self, key: KeyEvent) -> bool {
        match &mut self.picker {
            None => false,
            Some(Picker::Completions { .. }) => self.completion_key(key),
            Some(Picker::Page { scroll, .. }) => {
                match key.code {
                    KeyCode::Up => *scroll = scroll.saturating_sub(1),
                    KeyCode::Down => *scroll = scroll.saturating_add(1),
                    KeyCode::PageUp => *scroll = scroll.saturating_sub(PAGE),
                    KeyCode::PageDown | KeyCode::Char(' ') => *scroll = scroll.saturating_add(PAGE),
                    KeyCode::Home => *scroll = 0,
                    KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => self.picker = None,
                    // A user who types has finished reading.
                    KeyCode::Char(_) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                        self.picker = None;
                        return false;
                    }
                    _ => {}
                }
                true
            }
            Some(Picker::Choice(choice)) => {
                let last = choice.shown().len().saturating_sub(1);
                match key.code {
                    KeyCode::Up => choice.selected = choice.selected.saturating_sub(1),
                    KeyCode::Down => choice.selected = (choice.selected + 1).min(last),
                    KeyCode::PageUp => choice.selected = choice.selected.saturating_sub(PAGE),
                    KeyCode::PageDown => choice.selected = (choice.selected + PAGE).min(last),
                    KeyCode::Home => choice.selected = 0,
                    KeyCode::End => choice.selected = last,
                    KeyCode::Esc => self.picker = None,
                    KeyCode::Enter => self.take_choice(),
                    // Pressing the key of the list of sent messages again selects an older one.
                    KeyCode::Char('r') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        choice.selected = (choice.selected + 1).min(last);
                    }
                    KeyCode::Backspace => {
                        choice.filter.pop();
                        choice.selected = 0;
                    }
                    KeyCode::Char(char) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                        choice.narrow(char.encode_utf8(&mut [0; 4]));
                    }
                    _ => {}
                }
                true
            }
        }
    }

    fn completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(Picker::Completions { rows, selected }) = &mut self.picker else { return false };
        match key.code {
            KeyCode::Up => {
                let above = selected.and_then(|at| at.checked_sub(1));
                *selected = above.or(rows.len().checked_sub(1));
            }
            KeyCode::Down => {
                let below = selected.map_or(0, |at| at + 1);
                *selected = Some(if below < rows.len() { below } else { 0 });
            }
            KeyCode::Tab => self.complete(),
            KeyCode::Enter if key.modifiers.is_empty() => return self.take_entry(),
            KeyCode::Esc => self.picker = None,
            _ => return false,
        }
        true
    }

    /// Enter: accepts the highlighted entry of a menu, and runs the command if it needs no further word. Without a
    /// highlighted entry, Enter runs the line as written.
    fn take_entry(&mut self) -> bool {
        let Some(Picker::Completions { rows, selected }) = &self.picker else { return false };
        let Some(candidate) = selected.and_then(|at| rows.get(at)).cloned() else { return false };
        self.complete();
        if candidate.runs {
            self.picker = None;
            self.enter();
        }
        true
    }

    /// A row was clicked.
    pub(super) fn pick(&mut self, row: usize) {
        match &mut self.picker {
            Some(Picker::Completions { selected, .. }) => {
                *selected = Some(row);
                self.complete();
            }
            Some(Picker::Choice(choice)) => {
                choice.selected = row;
                self.take_choice();
            }
            Some(Picker::Page { .. }) | None => {}
        }
    }

    /// Tab: inserts the candidate, or the common beginning of all candidates.
    pub(super) fn complete(&mut self) {
        if self.picker.is_none() {
            self.refresh_completions();
        }
        let Some(Picker::Completions { rows, selected }) = &self.picker else { return };
        let Some(candidate) = rows.get(selected.unwrap_or(0)).cloned() else { return };
        let (text, cursor) = (self.composer.text(), self.composer.cursor());
        let kept = text.get(..candidate.from).unwrap_or_default();
        let space = if candidate.goes_on { " " } else { "" };
        let written = format!("{kept}{}{space}", candidate.text);
        let rest = text.get(cursor..).unwrap_or_default();
        self.composer.put_at(&format!("{written}{rest}"), written.len());
        self.refresh_completions();
    }

    /// Shows the words that may end a command, or the paths that may follow an `@`.
    pub(super) fn refresh_completions(&mut self) {
        if !matches!(self.picker, None | Some(Picker::Completions { .. })) {
            return;
        }
        let text = self.composer.text();
        let cursor = self.composer.cursor();
        let is_at_end = cursor == text.len();
        let rows = if is_at_end { self.candidates(&text) } else { Vec::new() };
        if rows.is_empty() {
            return self.complete_path(text.get(..cursor).unwrap_or_default());
        }
        // A word that is complete needs no completion.
        let is_whole =
            matches!(rows.as_slice(), [only] if text.get(only.from..) == Some(only.text.as_str()));
        let selected = self.highlighted(&text, &rows);
        self.picker =
            (!rows.is_empty() && !is_whole).then_some(Picker::Completions { rows, selected });
    }

    fn complete_path(&mut self, text: &str) {
        let (paths, selected) = self.paths(text);
        let row = |Path { from, text }: Path| Candidate {
            from,
            text,
            about: String::new(),
            goes_on: true,
            runs: false,
        };
        let rows: Vec<_> = paths.into_iter().map(row).collect();
        let is_whole = rows.len() == 1 && selected.is_none();
        self.picker =
            (!rows.is_empty() && !is_whole).then_some(Picker::Completions { rows, selected });
    }

    /// Lists the sent messages, the newest first.
    pub(super) fn search_sent(&mut self) {
        let rows = self.sent_rows();
        self.choose_from(Kind::Sent, "What you sent", rows, "nothing was sent yet");
    }

    /// Adds messages of earlier sessions, also to an open list.
    pub(super) fn on_sent(&mut self, earlier: Vec<String>) {
        self.composer.remember(earlier);
        let rows = self.sent_rows();
        if let Some(Picker::Choice(choice)) = &mut self.picker
            && choice.kind == Kind::Sent
        {
            choice.rows = rows;
        }
    }

    fn sent_rows(&self) -> Vec<Row> {
        let row = |text: &String| Row {
            key: text.clone(),
            item: Item::new(text.split_whitespace().collect::<Vec<_>>().join(" "), ""),
        };
        self.composer.sent().iter().rev().map(row).collect()
    }

    fn take_choice(&mut self) {
        let Some(Picker::Choice(choice)) = &self.picker else { return };
        let (kind, Some(key)) = (choice.kind, choice.chosen()) else { return };
        self.picker = None;
        match kind {
            Kind::Models => self.effect(Effect::Choose(key)),
            Kind::Sessions => self.effect(Effect::Keep(Keep::Open(key))),
            Kind::Sent => {
                self.question_fetch();
                self.composer.put(&key);
            }
        }
    }

    pub(super) fn show_page(&mut self, title: &str, text: String) {
        self.picker = Some(Picker::Page { title: title.to_owned(), text, scroll: 0 });
    }

    pub(super) fn on_models(&mut self, offers: Vec<Offer>) {
        // The search for models has ended.
        self.view.status.message = None;
        let rows = offers
            .into_iter()
            .map(|Offer { name, detail }| Row {
                item: Item { is_current: name == self.model.name, ..Item::new(&name, detail) },
                key: name,
            })
            .collect();
        self.choose_from(Kind::Models, "Models", rows, "no model is there");
    }

    pub(super) fn on_kept(&mut self, kept: Kept) {
        match kept {
            Kept::Opened(stored) => self.on_opened(*stored),
            Kept::Begun(id) => self.conversation.id = Some(id),
            Kept::Forked(id) => {
                self.conversation.id = Some(id);
                self.say("this is a copy now; the other conversation stays as it was");
            }
            Kept::Deleted(id) => {
                if self.conversation.id.as_ref() == Some(&id) {
                    self.clear();
                }
                self.say("the conversation is deleted");
            }
            Kept::Sessions(listed) => {
                let rows = listed
                    .into_iter()
                    .map(|Listed { id, title, detail }| Row {
                        item: Item {
                            is_current: self.conversation.id.as_ref() == Some(&id),
                            ..Item::new(title, detail)
                        },
                        key: id,
                    })
                    .collect();
                self.choose_from(Kind::Sessions, "Conversations", rows, "nothing is stored yet");
            }
            Kept::Found(hits) => {
                // The search has ended.
                self.view.status.message = None;
                // The setting may have changed during the search.
                let shows = self.layers.resolve().include_in_response.value;
                let rows = hits
                    .into_iter()
                    .filter(|hit| shows || !hit.is_thought)
                    .map(|Hit { id, title, excerpt, .. }| Row {
                        key: id,
                        item: Item::new(title, excerpt),
                    })
                    .collect();
                self.choose_from(Kind::Sessions, "Found", rows, "nothing was found");
            }
            Kept::Searching { done, all } => self.say(format!("searching: {done} of {all}")),
        }
    }

    fn choose_from(&mut self, kind: Kind, title: &str, rows: Vec<Row>, empty: &str) {
        let selected = rows.iter().position(|row| row.item.is_current).unwrap_or(0);
        self.picker = Some(Picker::Choice(Choice {
            kind,
            title: title.to_owned(),
            filter: String::new(),
            rows,
            selected,
            empty: empty.to_owned(),
        }));
    }

    /// Shows the list or page above the transcript.
    pub(super) fn refresh_overlay(&mut self) {
        self.view.overlay = self.picker.as_ref().map(|picker| match picker {
            Picker::Completions { rows, selected } => Overlay::Completion(List {
                items: rows.iter().map(|row| Item::new(&row.text, &row.about)).collect(),
                selected: *selected,
                hint: "enter take  tab write  esc close".to_owned(),
                ..List::default()
            }),
            Picker::Choice(choice) => Overlay::List(List {
                title: choice.title.clone(),
                filter: Some(choice.filter.clone()),
                items: choice.shown().into_iter().map(|row| row.item.clone()).collect(),
                selected: Some(choice.selected),
                empty: choice.empty.clone(),
                hint: "enter use  esc close".to_owned(),
            }),
            Picker::Page { title, text, scroll } => Overlay::Page(Page {
                title: title.clone(),
                text: text.clone(),
                scroll: *scroll,
                hint: "esc close".to_owned(),
            }),
        });
    }

    /// The newest thought or answer, for copying.
    pub(super) fn newest(&self, wants_thought: bool) -> Option<String> {
        self.view.transcript.iter().rev().find_map(|(_, body)| match body {
            Body::Thought(thought) if wants_thought && !thought.text.is_empty() => {
                Some(thought.text.clone())
            }
            Body::Answer(text) if !wants_thought => Some(text.clone()),
            _ => None,
        })
    }
}

/// Rows that a page key moves.
const PAGE: usize = 10;
