//! What the requirements say about cells.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use thinkthrough_chat::screen::Rgb;
use thinkthrough_chat::screen::model::{Body, ThoughtState, View};
use thinkthrough_chat::screen::theme::{Background, CONTRAST, Depth, Theme};
use thinkthrough_core::settings::Display;

use crate::{SIZES, SMALL, painted, states, themes};

fn row(buffer: &Buffer, y: u16) -> String {
    (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect()
}

/// The rows from the head of the thought to its last line, and the text that begins where.
fn thought_rows(buffer: &Buffer) -> std::ops::Range<u16> {
    let rows = 0..buffer.area.height;
    let first = rows.clone().find(|y| row(buffer, *y).contains("Thought for 12 s")).unwrap();
    let last = rows.rev().find(|y| row(buffer, *y).contains("writes them down")).unwrap();
    first..last + 1
}

fn rgb(colour: Color, otherwise: Rgb) -> Rgb {
    match colour {
        Color::Rgb(r, g, b) => Rgb(r, g, b),
        _ => otherwise,
    }
}

#[test]
fn req_think_007_1_the_ground_differs_inside_the_block_only() {
    // A small screen does not show the whole thought.
    for size in SIZES.into_iter().filter(|size| *size != SMALL) {
        let mut view = states::answer();
        // A plain answer, so that no other ground is there but the user's.
        let ids: Vec<_> = view.transcript.iter().map(|(id, _)| id).collect();
        view.transcript.edit(ids[2], |body| *body = Body::Answer("Plain.".into()));
        for background in [Background::Dark, Background::Light] {
            let buffer = painted(&view, Theme::new(background, Depth::True), size);
            let thought = thought_rows(&buffer);
            let ground = buffer[(5, thought.start)].bg;
            assert_ne!(ground, Color::Reset);
            for y in 0..buffer.area.height {
                for x in 0..buffer.area.width {
                    let inside = thought.contains(&y) && x >= 1 && x < buffer.area.width - 2;
                    assert_eq!(buffer[(x, y)].bg == ground, inside, "{x},{y}");
                }
            }
        }
    }
}

#[test]
fn req_think_007_2_thoughts_are_italic_and_the_rest_is_not() {
    for (name, theme) in themes((80, 24)) {
        let buffer = painted(&states::answer(), theme, (120, 40));
        let thought = thought_rows(&buffer);
        for y in 0..buffer.area.height {
            for x in 3..buffer.area.width - 3 {
                let cell = &buffer[(x, y)];
                if cell.symbol() != " " && !row(&buffer, y).contains("nothing") {
                    let is_italic = cell.modifier.contains(Modifier::ITALIC);
                    assert_eq!(is_italic, thought.contains(&y), "{name} {x},{y}");
                }
            }
        }
    }
}

#[test]
fn req_think_007_3_lighter_on_dark_darker_on_light_and_legible() {
    for background in [Background::Dark, Background::Light, Background::Known(Rgb(0, 43, 54))] {
        let terminal = background.rgb();
        let buffer = painted(&states::answer(), Theme::new(background, Depth::True), (80, 24));
        // At 80x24 the head is scrolled away.
        let y = (0..24).find(|y| row(&buffer, *y).contains("timings")).unwrap();
        let cells = (3..60).map(|x| &buffer[(x, y)]);
        for cell in cells {
            let ground = rgb(cell.bg, terminal);
            assert_eq!(ground.luminance() > terminal.luminance(), terminal.is_dark());
            assert!(rgb(cell.fg, Rgb(0, 0, 0)).contrast(ground) >= CONTRAST);
        }
    }
}

fn whole(view: &View) -> String {
    let buffer = painted(view, Theme::new(Background::Dark, Depth::True), (120, 80));
    (0..80).map(|y| row(&buffer, y) + "\n").collect()
}

#[test]
fn req_think_007_4_not_in_the_response_is_nowhere_on_the_screen() {
    for display in [Display::Show, Display::Collapsed, Display::StreamOnly, Display::Off] {
        for mut view in [states::answer(), states::live(display), crate::asked::tools()] {
            view.display = display;
            view.shows_thoughts = false;
            let thoughts: Vec<_> = view.transcript.iter().map(|(id, _)| id).collect();
            for id in thoughts {
                view.transcript.choose(id, true);
            }
            let text = whole(&view);
            for word in
                ["Thought", "Thinking", "come to mind", "consider", "I list", "1,240", "192"]
            {
                assert!(!text.contains(word), "{display:?}: {word}\n{text}");
            }
        }
    }
}

#[test]
fn table_1_5_q2_all_four_modes_are_there_and_act_on_the_past_too() {
    let mut view = states::answer();
    for (display, head, text) in [
        (Display::Show, true, true),
        (Display::Collapsed, true, false),
        (Display::StreamOnly, true, false),
        (Display::Off, false, false),
        (Display::Show, true, true),
    ] {
        view.display = display;
        let screen = whole(&view);
        assert_eq!(screen.contains("Thought for 12 s, 1,240 tokens"), head, "{display:?}");
        assert_eq!(screen.contains("come to mind"), text, "{display:?}");
    }
}

#[test]
fn oq3_a_live_thought_says_its_time_and_tokens_in_every_mode() {
    for (display, newest, oldest) in [
        (Display::Show, true, true),
        (Display::Collapsed, true, false),
        (Display::StreamOnly, true, false),
        (Display::Off, false, false),
    ] {
        let screen = whole(&states::live(display));
        assert!(screen.contains("Thinking for 7 s, about 144 tokens"), "{display:?}\n{screen}");
        assert_eq!(screen.contains("one more thing"), newest, "{display:?}");
        assert_eq!(screen.contains("come to mind"), oldest, "{display:?}");
    }
}

#[test]
fn hidden_thoughts_leave_no_free_rows() {
    let mut hidden = states::answer();
    hidden.display = Display::Off;
    let mut without = View {
        status: hidden.status.clone(),
        composer: hidden.composer.clone(),
        ..View::default()
    };
    for (_, body) in hidden.transcript.iter() {
        if !matches!(body, Body::Thought(thought) if thought.state == ThoughtState::Done) {
            without.transcript.push(body.clone());
        }
    }
    assert_eq!(whole(&hidden), whole(&without));
}
