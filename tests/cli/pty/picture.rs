//! The recording in the README is a session of the built program with a scripted model. `BLESS=1` draws it anew.

use super::paced::Paced;
use super::{Begin, CTRL_D, ENTER, Pty};
use crate::place::Place;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vt100::{Cell, Color, Screen};

/// The size of the screen in cells.
const SIZE: (u16, u16) = (88, 25);
/// A cell in pixels.
const CELL: (usize, usize) = (9, 19);
/// How far below the top of its cell a text has its base.
const BASE: usize = 14;
/// The terminal's own ground and letters.
const OWN: [&str; 2] = ["#141418", "#e6e6ea"];

#[test]
fn the_recording_of_the_readme_is_a_session_of_this_program() {
    let (place, paced) = (Place::new("picture"), Paced::start());
    // A new store would be introduced by its path.
    place.ask(&["-c", "-m", "sim/default", "Hello"]);
    let log = "error: linker `mold` not found\nerror: could not compile `app`\n";
    std::fs::write(place.folder().join("build.log"), log).unwrap();
    let config = format!(
        "default_model = \"thinker\"\n[models.thinker]\nprovider = \"demo\"\nmodel = \"m\"\ncontext_window = 128000\n\
         [providers.demo]\nwire = \"chat-completions\"\nbase_url = \"{}\"\n",
        paced.url()
    );
    let config = place.write("config.toml", &config);
    let begin = Begin { size: SIZE, ..Begin::default() };
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    let mut film = Film::of(&pty);
    pty.see("ask, or type");
    film.take(900);
    pty.press("Why does the build fail?");
    film.take(1_500);
    pty.press(ENTER);
    paced.asked(1);
    paced.think("They say that the build fails, but not how.");
    film.take(1_500);
    paced.think(" Its last words are in `build.log`, so I read that before I guess.");
    film.take(2_000);
    paced.call("shell", &json!({"command": "tail -n 2 build.log"}));
    pty.see("always in this session");
    film.take(3_000);
    pty.answer("y");
    paced.asked(2);
    paced.think("The linker is missing, and nothing else is wrong.");
    film.take(2_000);
    paced.say("The build needs the linker **mold**, and it is not installed:\n\n```sh\nsudo apt-get install mold\n```");
    paced.end();
    pty.see("apt-get");
    pty.see_no("esc stops");
    film.take(5_000);
    pty.press(CTRL_D);
    film.end();
    pty.end();
}

/// Frames of the screen, compared with those of the stored recording.
struct Film<'p> {
    pty: &'p Pty,
    file: PathBuf,
    kept: Vec<Vec<String>>,
    /// The milliseconds of each frame, and its rows.
    frames: Vec<(u32, Vec<String>)>,
}

impl<'p> Film<'p> {
    fn of(pty: &'p Pty) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/chat.svg");
        let kept = std::fs::read_to_string(&file).unwrap();
        let frame = |text: &str| {
            let rows = text.lines().skip(1).take_while(|line| *line != "</g>");
            rows.map(str::to_owned).collect()
        };
        let kept = kept.split("<g class=").skip(1).map(frame).collect();
        Film { pty, file, kept, frames: Vec::new() }
    }

    /// Takes a frame that is shown for this time, as soon as it equals the stored one.
    fn take(&mut self, millis: u32) {
        let kept = self.kept.get(self.frames.len()).map(|rows| steady(rows));
        let (began, mut drawn) = (Instant::now(), self.pty.look(rows));
        while kept.as_ref() != Some(&steady(&drawn)) && began.elapsed() < patience() {
            std::thread::sleep(Duration::from_millis(20));
            drawn = self.pty.look(rows);
        }
        if !blesses() {
            let at = self.frames.len();
            assert_eq!(Some(steady(&drawn)), kept, "frame {at}; `BLESS=1` draws it anew");
        }
        self.frames.push((millis, drawn));
    }

    fn end(&self) {
        if blesses() {
            std::fs::write(&self.file, svg(&self.frames)).unwrap();
        }
        assert!(blesses() || self.frames.len() == self.kept.len(), "the recording has more frames");
    }
}

fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// The time for a frame to equal the stored one. With `BLESS=1` it never does.
fn patience() -> Duration {
    if blesses() { Duration::from_millis(700) } else { super::PATIENCE }
}

/// Rows without spinners, durations, and the count of tokens, which depend on the time.
fn steady(rows: &[String]) -> Vec<String> {
    let one = |row: &String| {
        let timed = [" for under ", " for 1 s", "esc stops", "/128000"];
        let bare: String =
            row.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect();
        let row = row.replace(|char| ('⠀'..='⣿').contains(&char), "⠋");
        if !timed.iter().any(|it| bare.contains(it)) {
            return row;
        }
        let parts: Vec<&str> = bare.split(", ").filter(|part| part.contains("token")).collect();
        parts.join(", ")
    };
    rows.iter().map(one).collect()
}

/// A picture that plays the frames in turn. Without animation it shows the last one.
fn svg(frames: &[(u32, Vec<String>)]) -> String {
    let (wide, high) = (usize::from(SIZE.0) * CELL.0 + 20, usize::from(SIZE.1) * CELL.1 + 20);
    let all: u32 = frames.iter().map(|(millis, _)| millis).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"15\">\n\
         <title>A session of think chat</title>\n<style>\n\
         g {{ visibility: hidden; animation: {all}ms step-end infinite }}\n\
         .f{} {{ visibility: visible }}\n",
        frames.len() - 1
    );
    let percent = |millis: u32| f64::from(millis) * 100.0 / f64::from(all);
    let mut from = 0;
    for (at, (millis, _)) in frames.iter().enumerate() {
        let [start, end] = [from, from + millis].map(percent);
        let before = if from == 0 { "" } else { "0% { visibility: hidden } " };
        let after = if from + millis == all { "" } else { "{end}% { visibility: hidden }" };
        let after = after.replace("{end}", &format!("{end:.1}"));
        writeln!(
            out,
            ".f{at} {{ animation-name: f{at} }}\n@keyframes f{at} {{ {before}{start:.1}% {{ visibility: visible }} {after} }}"
        )
        .unwrap();
        from += millis;
    }
    out.push_str("@media (prefers-reduced-motion: reduce) { g { animation: none } }\n</style>\n");
    writeln!(out, "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>", OWN[0]).unwrap();
    for (at, (_, rows)) in frames.iter().enumerate() {
        writeln!(out, "<g class=\"f{at}\">\n{}\n</g>", rows.join("\n")).unwrap();
    }
    out.push_str("</svg>\n");
    out
}

/// The elements of each row that is not empty.
fn rows(screen: &Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    let mut drawn = Vec::new();
    for row in 0..rows.get() {
        let cells: Vec<&Cell> = (0..columns.get()).filter_map(|at| screen.cell(row, at)).collect();
        let mut out = String::new();
        for (column, alike) in stretches(&cells) {
            draw(usize::from(row), column, alike, &mut out);
        }
        drawn.extend(Some(out).filter(|out| !out.is_empty()));
    }
    drawn
}

/// Neighbours of one look, with the column that each stretch begins in.
fn stretches<'c>(cells: &'c [&'c Cell]) -> Vec<(usize, &'c [&'c Cell])> {
    let look = |cell: &Cell| (cell.fgcolor(), cell.bgcolor(), cell.bold(), cell.italic());
    let mut column = 0;
    let alike = cells.chunk_by(|a, b| look(a) == look(b));
    alike
        .map(|stretch| {
            column += stretch.len();
            (column - stretch.len(), stretch)
        })
        .collect()
}

/// A rectangle and a text.
fn draw(row: usize, column: usize, cells: &[&Cell], out: &mut String) {
    let [left, top] = [10 + column * CELL.0, 10 + row * CELL.1];
    let (width, first) = (cells.len() * CELL.0, cells[0]);
    if first.bgcolor() != Color::Default {
        let fill = colour(first.bgcolor(), OWN[0]);
        let high = CELL.1;
        write!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{high}\" fill=\"{fill}\"/>"
        )
        .unwrap();
    }
    let letter = |cell: &&Cell| {
        if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() }
    };
    let text: String = cells.iter().map(letter).collect();
    if text.trim().is_empty() {
        return;
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let bold = if first.bold() { " font-weight=\"bold\"" } else { "" };
    let italic = if first.italic() { " font-style=\"italic\"" } else { "" };
    let (fill, base) = (colour(first.fgcolor(), OWN[1]), top + BASE);
    write!(
        out,
        "<text x=\"{left}\" y=\"{base}\" textLength=\"{width}\" xml:space=\"preserve\" fill=\"{fill}\"{bold}{italic}>{text}</text>"
    )
    .unwrap();
}

fn colour(colour: Color, own: &str) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Default | Color::Idx(_) => own.to_owned(),
    }
}
