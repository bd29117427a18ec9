//! Whatever a model says, nothing of it steers the terminal: `fixtures/hostile`, split at every byte.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};
use thinkthrough_chat::harmless::harmless_char;
use thinkthrough_chat::screen::Screen;
use thinkthrough_chat::screen::model::{
    Body, Choice, Item, Level, List, Overlay, Page, Question, Thought, ThoughtState, Tool,
    ToolState, View,
};
use thinkthrough_chat::screen::theme::{Background, Depth, Theme};

const AREA: Rect = Rect { x: 0, y: 0, width: 60, height: 70 };

/// The sequences, of which each is a number of bytes that need not be UTF-8.
fn sequences() -> Vec<Vec<u8>> {
    let text = include_str!("../../../fixtures/hostile/sequences.txt");
    text.lines().filter(|line| !line.starts_with("# ")).map(bytes).collect()
}

fn bytes(line: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), line.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            let digits = std::str::from_utf8(&after[1..3]).unwrap();
            out.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &after[3..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

/// A view in which the sequence, in two pieces, is everywhere where a model or a server can put text.
fn view(first: &str, second: &str) -> View {
    let text = format!("{first}{second}");
    let mut view = View::default();
    let user = view.transcript.push(Body::User(first.into()));
    let mut thought = Thought::begin(Duration::ZERO);
    thought.text = first.into();
    let live = view.transcript.push(Body::Thought(thought));
    let done = Thought { choice: Some(true), ..Thought::stored(first, ThoughtState::Done, None) };
    let done = view.transcript.push(Body::Thought(done));
    let answer = view.transcript.push(Body::Answer(first.into()));
    let notice = view.transcript.push(Body::Notice(Level::Error, first.into()));
    for id in [user, live, done, answer, notice] {
        view.transcript.append(id, second);
    }
    for choice in [None, Some(true)] {
        let mut tool = Tool::call(text.clone(), text.clone());
        tool.set_result(text.clone(), ToolState::Error);
        tool.arguments.clone_from(&text);
        tool.language = "diff".into();
        tool.choice = choice;
        view.transcript.push(Body::Tool(tool));
    }
    view.transcript.push(Body::Compression(text.clone()));
    view.status.model.clone_from(&text);
    view.status.message = Some(text.clone());
    view.composer.text.clone_from(&text);
    view.composer.note = text;
    view
}

/// The same text where it is asked about, chosen from or read.
fn above(text: &str) -> [View; 3] {
    let question = Question {
        title: text.into(),
        detail: text.into(),
        language: "sh".into(),
        choices: vec![Choice { key: text.into(), label: text.into() }],
        selected: 0,
        hint: text.into(),
    };
    let list = List {
        title: text.into(),
        filter: Some(text.into()),
        items: vec![Item::new(text, text)],
        hint: text.into(),
        ..List::default()
    };
    let page = Page { title: text.into(), text: text.into(), ..Page::default() };
    [
        View { question: Some(question), ..View::default() },
        View { overlay: Some(Overlay::List(list)), ..View::default() },
        View { overlay: Some(Overlay::Page(page)), ..View::default() },
    ]
}

fn screen(depth: Depth) -> Screen {
    Screen::new(Theme::new(Background::Dark, depth))
}

#[track_caller]
fn check_cells(view: &View) {
    let mut buffer = Buffer::empty(AREA);
    screen(Depth::True).render(view, &mut buffer);
    for cell in &buffer.content {
        let symbol = cell.symbol();
        assert!(
            symbol.chars().all(|char| harmless_char(char) == char && !char.is_control()),
            "{symbol:?}"
        );
        assert!(symbol.chars().count() <= 10, "{symbol:?}");
        let is_joined = symbol.contains(['\u{200d}', '\u{fe0f}', '\u{200c}', '\u{fe0e}']);
        assert!(
            !is_joined || symbol.chars().any(|char| char > '\u{2190}' || "#*©®".contains(char)),
            "{symbol:?}"
        );
    }
}

/// What goes to the terminal is our own escapes and no others: positions, styles, the cursor.
#[track_caller]
fn check_bytes(view: &View) {
    let mut written = Vec::new();
    let options = TerminalOptions { viewport: Viewport::Fixed(AREA) };
    let backend = CrosstermBackend::new(&mut written);
    let mut terminal = Terminal::with_options(backend, options).unwrap();
    terminal.draw(|frame| drop(screen(Depth::True).render(view, frame.buffer_mut()))).unwrap();
    drop(terminal);
    let text = String::from_utf8(written).expect("only whole characters are written");
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|char: char| char.is_control()) {
        let escape = rest[at..]
            .strip_prefix("\u{1b}[")
            .expect("the only control character begins an escape of ours");
        let end = escape.find(|char: char| !char.is_ascii_digit() && !";?".contains(char)).unwrap();
        let whole = &escape[..=end];
        assert!(whole.ends_with(['H', 'm']) || ["?25l", "?25h"].contains(&whole), "{whole}");
        rest = &escape[end + 1..];
    }
}

#[test]
fn there_are_at_least_300_sequences() {
    assert!(sequences().len() >= 300, "{}", sequences().len());
}

#[test]
fn no_split_of_a_hostile_sequence_reaches_a_cell() {
    for sequence in sequences() {
        for at in 0..=sequence.len().min(80) {
            let first = String::from_utf8_lossy(&sequence[..at]);
            let second = String::from_utf8_lossy(&sequence[at..]);
            check_cells(&view(&first, &second));
        }
    }
}

#[test]
fn no_hostile_sequence_reaches_the_terminal() {
    for sequence in sequences() {
        let text = String::from_utf8_lossy(&sequence);
        check_bytes(&view(&text, ""));
        for view in above(&text) {
            check_cells(&view);
            check_bytes(&view);
        }
    }
}
