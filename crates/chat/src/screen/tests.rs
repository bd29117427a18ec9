use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::model::{Body, EntryId, Thought, ThoughtState, View};
use super::theme::{Background, Depth, Theme};
use super::{Frame, Hit, Screen, Scroll};

fn screen() -> Screen {
    Screen::new(Theme::new(Background::Dark, Depth::True))
}

fn paint(screen: &mut Screen, view: &View, (width, height): (u16, u16)) -> (Frame, Vec<String>) {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let frame = screen.render(view, &mut buffer);
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (frame, (0..height).map(|y| row(y).trim_end_matches(['┃', ' ']).to_owned()).collect())
}

fn numbered(entries: usize) -> View {
    let mut view = View::default();
    for at in 0..entries {
        view.transcript.push(Body::Answer(format!("entry {at}\n\nsecond line")));
    }
    view
}

#[test]
fn err_003_only_what_is_in_sight_is_laid_out() {
    let mut view = numbered(5000);
    let mut thought = Thought::begin(Duration::ZERO);
    thought.text = "a line of a long thought\n".repeat(400_000);
    let id = view.transcript.push(Body::Thought(thought));
    let mut screen = screen();
    for _ in 0..50 {
        view.transcript.append(id, "and on ");
        paint(&mut screen, &view, (120, 40));
    }
    assert!(screen.roll.kept() < 100, "{}", screen.roll.kept());
    screen.scroll(Scroll::Start);
    let (_, rows) = paint(&mut screen, &view, (120, 40));
    assert_eq!(rows[0], "   entry 0");
    assert!(screen.roll.kept() < 200, "{}", screen.roll.kept());
}

#[test]
fn growing_by_any_pieces_shows_what_the_whole_shows() {
    let text = "# T\n\npara *one*\ngoes on\n\n- a\n\n  b\n- c\n\n```rs\nfn x() {}\n\ny\n```\n\n> q\n\n| a |\n|---|\n| b |\n\nend";
    let mut whole = View::default();
    whole.transcript.push(Body::Answer(text.into()));
    let want = paint(&mut screen(), &whole, (60, 40)).1;
    for step in [1, 2, 3, 7, 20] {
        let mut view = View::default();
        let id = view.transcript.push(Body::Answer(String::new()));
        let mut screen = screen();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(step) {
            view.transcript.append(id, &piece.iter().collect::<String>());
            paint(&mut screen, &view, (60, 40));
        }
        assert_eq!(paint(&mut screen, &view, (60, 40)).1, want, "in steps of {step}");
    }
}

#[test]
fn a_long_block_of_code_in_chunks_looks_as_it_does_whole() {
    let code: String = (0..2_000).map(|at| format!("let x{at} = \"a /* b\"; /* c\n*/\n")).collect();
    let text = format!("before\n\n```rs\n{code}```\n\nafter");
    let mut view = View::default();
    view.transcript.push(Body::Answer(text.clone()));
    let want = super::markdown::rows(&text, super::transcript::text_width(60));
    let rows = (0..want.len()).map(|at| want.row(at).1.map(|(text, _)| text).collect::<String>());
    let want: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    let height = u16::try_from(want.len()).unwrap() + 20;
    let seen = paint(&mut screen(), &view, (60, height)).1;
    let seen: Vec<&str> = seen.iter().map(|row| row.trim_start_matches("   ")).collect();
    for (at, row) in want.iter().enumerate() {
        assert_eq!(seen[at].trim(), row.trim(), "row {at}");
    }
    // The same while it grows, with and without the line that ends it.
    let mut view = View::default();
    let id = view.transcript.push(Body::Answer(String::new()));
    let mut screen = screen();
    for piece in text.as_bytes().chunks(3_001) {
        view.transcript.append(id, std::str::from_utf8(piece).unwrap());
        paint(&mut screen, &view, (60, 24));
    }
    let grown = paint(&mut screen, &view, (60, height)).1;
    assert_eq!(grown.iter().map(|row| row.trim_start_matches("   ")).collect::<Vec<_>>(), seen);
}

#[test]
fn what_is_read_stays_in_place_while_more_comes() {
    let mut view = numbered(100);
    let mut screen = screen();
    paint(&mut screen, &view, (60, 20));
    screen.scroll(Scroll::Rows(-30));
    let (_, before) = paint(&mut screen, &view, (60, 20));
    assert!(!screen.is_following());
    view.transcript.push(Body::Answer("new".repeat(500)));
    let (frame, after) = paint(&mut screen, &view, (60, 20));
    assert_eq!(before[..15], after[..15]);
    let y =
        u16::try_from(after.iter().position(|row| row.contains("more below")).unwrap()).unwrap();
    assert_eq!(frame.hit(50, y), Some(Hit::Latest));
    screen.scroll(Scroll::End);
    let (_, rows) = paint(&mut screen, &view, (60, 20));
    assert!(screen.is_following() && rows.iter().any(|row| row.contains("newnew")));
}

#[test]
fn every_row_is_reached_up_and_down_again() {
    let view = numbered(60);
    let mut screen = screen();
    let mut seen = vec![paint(&mut screen, &view, (60, 20)).1[0].clone()];
    for _ in 0..400 {
        screen.scroll(Scroll::Rows(-1));
        seen.push(paint(&mut screen, &view, (60, 20)).1[0].clone());
    }
    for at in 0..55 {
        assert!(seen.contains(&format!("   entry {at}")), "{at}");
    }
    for _ in 0..400 {
        screen.scroll(Scroll::Rows(1));
        paint(&mut screen, &view, (60, 20));
    }
    assert!(screen.is_following());
}

#[test]
fn a_click_on_the_head_names_the_thought() {
    let mut view = View::default();
    view.transcript.push(Body::User("q".into()));
    let thought = Thought::stored("t", ThoughtState::Done, None);
    let id = view.transcript.push(Body::Thought(thought));
    let (frame, rows) = paint(&mut screen(), &view, (60, 20));
    assert!(rows[2].contains("Thought"));
    assert_eq!(frame.hit(5, 2), Some(Hit::Head(id)));
    assert_eq!(frame.hit(5, 3), Some(Hit::Entry(id)));
    assert_eq!(frame.hit(5, 0), Some(Hit::Entry(EntryId(0))));
    assert_eq!(frame.hit(5, 1), None);
    assert_eq!(frame.hit(5, 19), None);
    assert_eq!(frame.entries, [EntryId(0), id]);
}

#[test]
fn another_transcript_is_not_taken_for_the_first() {
    let mut view = numbered(3);
    let mut screen = screen();
    paint(&mut screen, &view, (60, 20));
    view.transcript = numbered(0).transcript;
    view.transcript.push(Body::Answer("entry X\n\nsecond line".into()));
    assert_eq!(paint(&mut screen, &view, (60, 20)).1[0], "   entry X");
}

#[test]
fn every_size_can_be_painted() {
    let view = numbered(5);
    let mut screen = screen();
    for width in 0..30 {
        for height in 0..12 {
            paint(&mut screen, &view, (width, height));
        }
    }
}
