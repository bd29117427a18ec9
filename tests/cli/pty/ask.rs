//! `think ask` shows a thought on a narrow terminal, while it arrives and afterwards.

use super::paced::Paced;
use super::{Begin, Pty};
use crate::place::Place;
use std::time::{Duration, Instant};
use vt100::Screen;

const TEXT: &str = "First the question of what is meant by narrowness must be considered carefully, \
                    because terminals differ considerably.";
const COLUMNS: u16 = 40;

/// Asks in a terminal of 40 columns.
fn ask(place: &Place, paced: &Paced, display: &str) -> Pty {
    let config = place.write("own.toml", &paced.config());
    let set = format!("reasoning.display={display}");
    let begin = Begin { size: (COLUMNS, 24), ..Begin::default() };
    let pty = Pty::run(place, &["ask", "--config", &config, "--set", &set, "why?"], &begin);
    paced.asked(1);
    pty
}

/// The rows of the screen, with the line breaks of the terminal itself.
fn rows(pty: &Pty) -> Vec<String> {
    pty.look(rows_of)
}

fn rows_of(screen: &Screen) -> Vec<String> {
    let rows = screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned());
    let rows: Vec<String> = rows.collect();
    let end = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    rows[..end].to_vec()
}

fn end(paced: &Paced, mut pty: Pty) -> Vec<String> {
    paced.say("so it is");
    paced.end();
    pty.see("so it is");
    assert!(pty.end().success());
    rows(&pty)
}

#[test]
fn a_live_line_on_a_narrow_terminal_is_one_row_of_whole_words() {
    let place = Place::new("ask-live");
    let paced = Paced::start();
    let pty = ask(&place, &paced, "stream_only");
    // The whole line about the model, whose end may come later than its words.
    pty.wait("the line about the model", |screen| {
        screen.contents().contains("default_model") && screen.cursor_position().1 == 0
    });
    let before = rows(&pty);
    let words: Vec<&str> = TEXT.split(' ').collect();
    for (nth, word) in words.iter().enumerate() {
        paced.think(&format!("{word} "));
        let began = Instant::now();
        let shown = loop {
            let now = rows(&pty);
            let live = now.strip_prefix(before.as_slice()).unwrap();
            assert!(live.len() <= 1, "{now:?}");
            let shown: Vec<String> =
                live.iter().flat_map(|row| row.split_whitespace()).map(str::to_owned).collect();
            if shown.last().is_some_and(|last| last == word) {
                break shown;
            }
            assert!(began.elapsed() < super::PATIENCE, "{word} was waited for in vain: {now:?}");
            // A live line is drawn at most every 50 ms, when the next piece arrives.
            std::thread::sleep(Duration::from_millis(60));
            paced.think(" ");
        };
        assert!(
            words[..=nth].ends_with(&shown.iter().map(String::as_str).collect::<Vec<_>>()),
            "{shown:?}"
        );
    }
    let left = end(&paced, pty);
    assert_eq!(left.strip_prefix(before.as_slice()).unwrap(), ["so it is"]);
}

#[test]
fn a_counted_line_is_cut_rather_than_wrapped() {
    let place = Place::new("ask-count");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let begin = Begin { size: (16, 24), ..Begin::default() };
    let args = ["ask", "--config", &config, "--set", "reasoning.display=collapsed", "why?"];
    let pty = Pty::run(&place, &args, &begin);
    paced.asked(1);
    for _ in 0..8 {
        paced.think(TEXT);
        std::thread::sleep(Duration::from_millis(60));
    }
    let count = |rows: &[String]| rows.iter().filter(|row| row.contains("thinking:")).count();
    // A line that is being drawn anew is not there for a moment.
    pty.wait("one counted line, the last", |screen| {
        let rows = rows_of(screen);
        count(&rows) == 1 && rows.last().is_some_and(|row| row.starts_with("thinking:"))
    });
    let left = end(&paced, pty);
    assert_eq!(count(&left), 0, "{left:?}");
    assert!(left.iter().any(|row| row.starts_with("Thought for")), "{left:?}");
}

#[test]
fn a_thought_in_full_breaks_at_words_as_it_comes() {
    let place = Place::new("ask-full");
    let paced = Paced::start();
    let pty = ask(&place, &paced, "show");
    // Pieces as models send them: not whole words.
    let chars: Vec<char> = TEXT.chars().collect();
    for piece in chars.chunks(5) {
        paced.think(&piece.iter().collect::<String>());
    }
    let all = end(&paced, pty);
    let from = all.iter().position(|row| row.starts_with("thinking: ")).unwrap();
    let thought = &all[from..all.len() - 1];
    assert!(thought.len() > 2, "{all:?}");
    assert_eq!(thought.join(" "), format!("thinking: {TEXT}"), "{all:?}");
}
