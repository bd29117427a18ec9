//! A list or page above the transcript.

/// Something above the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Completions, right above the composer; keys still go to the composer.
    Completion(List),
    /// A list to choose from: models, sessions, settings, search results.
    List(List),
    /// A text to read: help, an explanation, a plan.
    Page(Page),
}

/// A list to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The title.
    pub title: String,
    /// The text that filters the rows, if the list has a filter.
    pub filter: Option<String>,
    /// The rows that are left.
    pub items: Vec<Item>,
    /// The index in `items` that is highlighted, if one is.
    pub selected: Option<usize>,
    /// The text for an empty list.
    pub empty: String,
    /// The keys, on the lower edge: `↵ use  esc close`.
    pub hint: String,
}

/// A row of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The name, on the left.
    pub label: String,
    /// More about it, to the right of all labels.
    pub detail: String,
    /// Whether it is the one in use now.
    pub is_current: bool,
}

/// A text to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The text, in Markdown.
    pub text: String,
    /// How many rows are scrolled away; more than there are counts as all but the last page.
    pub scroll: usize,
    /// The keys, on the lower edge.
    pub hint: String,
}

impl Item {
    /// A row.
    #[must_use]
    pub fn new(label: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { label: label.into(), detail: detail.into(), is_current: false }
    }
}
