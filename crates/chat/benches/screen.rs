//! How long a frame takes: in a thought of 10 MB, in a conversation of 5,000 messages, with a keystroke, at another size.

use std::fmt::Write;
use std::time::Duration;

use divan::{Bencher, black_box};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use thinkthrough_chat::screen::model::{Body, EntryId, Thought, ThoughtState, View};
use thinkthrough_chat::screen::theme::{Background, Depth, Theme};
use thinkthrough_chat::screen::{Screen, Scroll};
use thinkthrough_core::settings::Display;

fn main() {
    divan::main();
}

fn screen() -> Screen {
    Screen::new(Theme::new(Background::Dark, Depth::True))
}

fn buffer(width: u16, height: u16) -> Buffer {
    Buffer::empty(Rect::new(0, 0, width, height))
}

/// A live thought of so many megabytes.
fn thinking(megabytes: usize) -> (View, EntryId) {
    let mut view = View::default();
    let mut thought = Thought::begin(Duration::ZERO);
    let mut line = 0;
    while thought.text.len() < megabytes << 20 {
        writeln!(
            thought.text,
            "Step {line}: what follows from what was said, and what does not; naïve or not."
        )
        .unwrap_or_default();
        line += 1;
    }
    let id = view.transcript.push(Body::Thought(thought));
    (view, id)
}

/// A conversation of so many messages, each answer with a thought.
fn conversation(messages: usize) -> View {
    let answer = "The **answer** has a list:\n\n- one\n- two with `code`\n\n```rust\nfn main() { println!(\"hi\"); }\n```\n\n\
                  | a | b |\n|---|---|\n| 1 | 2 |\n\nAnd a closing paragraph that is long enough to be broken into rows.";
    let mut view = View::default();
    for at in 0..messages / 2 {
        view.transcript
            .push(Body::User(format!("Question {at}, in a line or two of text that is asked.")));
        let thought = Thought::stored("I think about it.\n".repeat(20), ThoughtState::Done, None);
        view.transcript.push(Body::Thought(thought));
        view.transcript.push(Body::Answer(answer.into()));
    }
    view
}

/// A delta of a live thought, and the frame that shows it.
#[divan::bench(args = [0, 1, 10])]
fn delta_of_a_live_thought(bencher: Bencher<'_, '_>, megabytes: usize) {
    let (mut view, id) = thinking(megabytes);
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    screen.render(&view, &mut cells);
    bencher.bench_local(|| {
        view.transcript.append(id, "another few words ");
        view.now += Duration::from_millis(1);
        black_box(screen.render(&view, &mut cells));
    });
}

/// The same while only the newest rows are shown.
#[divan::bench(args = [0, 10])]
fn delta_of_a_folded_live_thought(bencher: Bencher<'_, '_>, megabytes: usize) {
    let (mut view, id) = thinking(megabytes);
    view.display = Display::Collapsed;
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    bencher.bench_local(|| {
        view.transcript.append(id, "another few words ");
        black_box(screen.render(&view, &mut cells));
    });
}

/// The first frame of a conversation, as after it was opened.
#[divan::bench(args = [10, 5000])]
fn first_frame(bencher: Bencher<'_, '_>, messages: usize) {
    let view = conversation(messages);
    let mut cells = buffer(120, 40);
    bencher.bench_local(|| black_box(screen().render(&view, &mut cells)));
}

/// A frame in which a letter was typed and nothing else happened.
#[divan::bench(args = [10, 5000])]
fn keystroke(bencher: Bencher<'_, '_>, messages: usize) {
    let mut view = conversation(messages);
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    bencher.bench_local(|| {
        view.composer.text.push('x');
        view.composer.text.truncate(100);
        view.composer.cursor = view.composer.text.len();
        black_box(screen.render(&view, &mut cells));
    });
}

/// A page up, into what was never seen.
#[divan::bench(args = [5000])]
fn page_up(bencher: Bencher<'_, '_>, messages: usize) {
    let view = conversation(messages);
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    bencher.bench_local(|| {
        screen.scroll(Scroll::Pages(-1));
        black_box(screen.render(&view, &mut cells));
    });
}

/// A frame at another width than the one before.
#[divan::bench(args = [10, 5000])]
fn resize(bencher: Bencher<'_, '_>, messages: usize) {
    resized(bencher, &conversation(messages));
}

/// The same in a thought of 10 MB.
#[divan::bench(args = [10])]
fn resize_in_a_thought(bencher: Bencher<'_, '_>, megabytes: usize) {
    resized(bencher, &thinking(megabytes).0);
}

fn resized(bencher: Bencher<'_, '_>, view: &View) {
    let mut screen = screen();
    let mut cells = [buffer(120, 40), buffer(80, 24)];
    bencher.bench_local(|| {
        cells.reverse();
        let [first, _] = &mut cells;
        black_box(screen.render(view, first));
    });
}

/// The first frame of a thought of 10 MB, and the first one after all thoughts were shown or hidden.
#[divan::bench(args = [10])]
fn first_frame_of_a_thought(bencher: Bencher<'_, '_>, megabytes: usize) {
    let (view, _) = thinking(megabytes);
    let mut cells = buffer(120, 40);
    bencher.bench_local(|| black_box(screen().render(&view, &mut cells)));
}

#[divan::bench(args = [5000])]
fn toggle_all_thoughts(bencher: Bencher<'_, '_>, messages: usize) {
    let mut view = conversation(messages);
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    bencher.bench_local(|| {
        view.display = if view.display == Display::Off { Display::Show } else { Display::Off };
        black_box(screen.render(&view, &mut cells));
    });
}

/// A delta of an open block of code of so many kilobytes, and the frame that shows it.
#[divan::bench(args = [4, 500, 5_000])]
fn delta_of_an_open_block_of_code(bencher: Bencher<'_, '_>, kilobytes: usize) {
    let mut view = View::default();
    let line = "    let answer = compute(\"something\", 42); // and why\n";
    let text = format!("Here it is:\n\n```rust\n{}", line.repeat((kilobytes << 10) / line.len()));
    let id = view.transcript.push(Body::Answer(text));
    let (mut screen, mut cells) = (screen(), buffer(120, 40));
    screen.render(&view, &mut cells);
    bencher.bench_local(|| {
        view.transcript.append(id, "let more = 1;\n");
        black_box(screen.render(&view, &mut cells));
    });
}
