//! Every state of the screen, cell by cell.
//!
//! The files under `fixtures/screens` hold what each screen shows and how its cells are set. `BLESS=1`
//! writes them anew; read the difference before it is committed.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

mod asked;
mod cells;
mod desk;
mod dump;
mod states;

use std::collections::BTreeSet;
use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use states::State;
use thinkthrough_chat::screen::model::{Activity, Body, ThoughtState, ToolState, View};
use thinkthrough_chat::screen::theme::{Background, Depth, Theme};
use thinkthrough_chat::screen::{Screen, Scroll};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), SMALL];
/// A small terminal, which is also drawn with the 16 colours that users choose themselves.
const SMALL: (u16, u16) = (60, 15);

fn themes(size: (u16, u16)) -> Vec<(&'static str, Theme)> {
    let without = ("no colour", Theme::new(Background::Dark, Depth::Without));
    if size == SMALL {
        return vec![("16 colours", Theme::new(Background::Dark, Depth::Sixteen)), without];
    }
    let dark = ("dark", Theme::new(Background::Dark, Depth::True));
    vec![dark, ("light", Theme::new(Background::Light, Depth::True)), without]
}

fn painted(view: &View, theme: Theme, size: (u16, u16)) -> Buffer {
    scrolled(view, None, theme, size)
}

fn scrolled(view: &View, scroll: Option<Scroll>, theme: Theme, size: (u16, u16)) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    let mut screen = Screen::new(theme);
    scroll.into_iter().for_each(|scroll| screen.scroll(scroll));
    screen.render(view, &mut buffer);
    buffer
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/screens"))
}

#[test]
fn every_state_looks_as_it_did() {
    let blesses = std::env::var_os("BLESS").is_some();
    let mut changed = Vec::new();
    let mut known = Vec::new();
    for State { name, view, scroll } in states::all() {
        for size in SIZES {
            let mut text = String::new();
            for (theme_name, theme) in themes(size) {
                text.push_str(&dump::dump(theme_name, &scrolled(&view, scroll, theme, size)));
            }
            let file = format!("{name}-{}x{}.txt", size.0, size.1);
            let path = folder().join(&file);
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            if blesses {
                std::fs::write(&path, text).unwrap();
            } else if old != text {
                changed.push(format!("{file}\n{}", dump::first_difference(&old, &text)));
            }
            known.push(file);
        }
    }
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !known.contains(&name) {
            changed.push(format!("{name}: no state has this name"));
        }
    }
    assert!(changed.is_empty(), "BLESS=1 accepts these:\n{}", changed.join("\n"));
}

/// The state of this name holds it.
fn holds(name: &str, is_it: impl Fn(&View) -> bool) -> bool {
    states::all().iter().any(|state| state.name == name && is_it(&state.view))
}

#[test]
fn there_is_a_state_for_everything_that_can_be_under_way() {
    let activities = [
        Activity::Answering,
        Activity::Compressing,
        Activity::Idle,
        Activity::Retrying,
        Activity::Sending,
        Activity::Thinking,
        Activity::Tools,
        Activity::Waiting,
    ];
    for activity in activities {
        let is_it = |view: &View| view.status.activity == activity;
        assert!(holds(states::of_activity(activity), is_it), "{activity:?}");
    }
    let tools = [
        ToolState::Denied,
        ToolState::Error,
        ToolState::Ok,
        ToolState::Running,
        ToolState::Waiting,
    ];
    for state in tools {
        let is_it = |body: &Body| matches!(body, Body::Tool(tool) if tool.state == state);
        let any = |view: &View| view.transcript.iter().any(|(_, body)| is_it(body));
        assert!(holds(states::of_tool(state), any), "{state:?}");
    }
    let thoughts = [
        ThoughtState::Absent,
        ThoughtState::Done,
        ThoughtState::Live,
        ThoughtState::Partial,
        ThoughtState::Withheld,
    ];
    for state in thoughts {
        let is_it = |body: &Body| matches!(body, Body::Thought(it) if it.state == state);
        let any = |view: &View| view.transcript.iter().any(|(_, body)| is_it(body));
        assert!(holds(states::of_thought(state), any), "{state:?}");
    }
    let names: BTreeSet<&str> = states::all().iter().map(|state| state.name).collect();
    assert_eq!(names.len(), states::all().len(), "each has a name of its own");
}
