//! How much of an entry is shown.

use thinkthrough_core::settings::Display;

use super::model::{Body, Thought, ThoughtState, Tool, View};

/// How many of the newest rows of a live thought are shown while it is folded.
const NEWEST: usize = 4;
/// As [`NEWEST`], for the mode that shows thoughts while they arrive (`stream_only`).
const NEWEST_STREAMED: usize = 12;

/// How much of an entry is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// Everything.
    Full,
    /// Its head only.
    Head,
    /// Hidden, with no empty row either.
    Hidden,
    /// Its head and its newest rows, at most this many.
    Newest(usize),
}

/// How much of this entry is shown.
pub(super) fn fold(view: &View, body: &Body) -> Fold {
    match body {
        Body::Thought(thought) => thought_fold(view, thought),
        Body::Tool(Tool { choice: Some(true), .. }) => Fold::Full,
        Body::Tool(_) => Fold::Head,
        // An empty answer takes no room.
        Body::Answer(text) if text.trim().is_empty() => Fold::Hidden,
        Body::Answer(_) | Body::Compression(_) | Body::Notice(..) | Body::User(_) => Fold::Full,
    }
}

fn thought_fold(view: &View, thought: &Thought) -> Fold {
    if !view.shows_thoughts {
        return Fold::Hidden;
    }
    let is_live = thought.state == ThoughtState::Live;
    match (thought.choice, view.display) {
        _ if thought.text.is_empty() && (is_live || view.display != Display::Off) => Fold::Head,
        (Some(true), _) => Fold::Full,
        (Some(false), Display::Off) if !is_live => Fold::Hidden,
        (Some(false), _) => Fold::Head,
        (None, Display::Show) => Fold::Full,
        (None, Display::Collapsed) if is_live => Fold::Newest(NEWEST),
        (None, Display::StreamOnly) if is_live => Fold::Newest(NEWEST_STREAMED),
        (None, Display::Collapsed | Display::StreamOnly) => Fold::Head,
        (None, Display::Off) if is_live => Fold::Head,
        (None, Display::Off) => Fold::Hidden,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Fold, NEWEST, NEWEST_STREAMED, fold};
    use crate::screen::model::{Body, Thought, ThoughtState, View};
    use thinkthrough_core::settings::Display;

    #[track_caller]
    fn check(display: Display, choice: Option<bool>, live: Fold, done: Fold) {
        let mut view = View { display, ..View::default() };
        for (state, want) in [(ThoughtState::Live, live), (ThoughtState::Done, done)] {
            let mut thought = Thought::stored("text", state, Some(Duration::ZERO));
            thought.choice = choice;
            let body = Body::Thought(thought);
            view.shows_thoughts = true;
            assert_eq!(fold(&view, &body), want, "{display:?} {choice:?} {state:?}");
            view.shows_thoughts = false;
            assert_eq!(fold(&view, &body), Fold::Hidden, "req_think_007_4");
        }
    }

    #[test]
    fn table_1_5_q2_modes_and_choices() {
        check(Display::Show, None, Fold::Full, Fold::Full);
        check(Display::Collapsed, None, Fold::Newest(NEWEST), Fold::Head);
        check(Display::StreamOnly, None, Fold::Newest(NEWEST_STREAMED), Fold::Head);
        check(Display::Off, None, Fold::Head, Fold::Hidden);
        for display in [Display::Show, Display::Collapsed, Display::StreamOnly] {
            check(display, Some(true), Fold::Full, Fold::Full);
            check(display, Some(false), Fold::Head, Fold::Head);
        }
        check(Display::Off, Some(true), Fold::Full, Fold::Full);
        check(Display::Off, Some(false), Fold::Head, Fold::Hidden);
    }
}
