//! The picture in the README is a recorded session of the built program. `BLESS=1` draws it anew.

use super::{Begin, CTRL_D, Pty};
use crate::place::Place;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use vt100::{Cell, Color, Screen};

/// A cell in pixels.
const CELL: (usize, usize) = (9, 19);
/// How far below the top of its cell a text has its base.
const BASE: usize = 14;
/// The terminal's own ground and letters.
const OWN: [&str; 2] = ["#141418", "#e6e6ea"];

#[test]
fn the_picture_of_the_readme_is_a_session_of_this_program() {
    let place = Place::new("picture");
    std::fs::rename(place.folder().join("needle.txt"), place.folder().join("notes.md")).unwrap();
    let begin = Begin { size: (92, 34), ..Begin::default() };
    let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
    pty.see("ask, or type");
    pty.line("What is in this folder?");
    pty.see("list_directory gave");
    pty.see_no("esc stops");
    pty.line("Run the shell command `cat notes.md`");
    pty.see("always in this session");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/chat.svg");
    let kept = std::fs::read_to_string(&file).unwrap();
    // A frame may be on its way still.
    let (began, mut drawn) = (Instant::now(), pty.look(svg));
    while steady(&drawn) != steady(&kept) && began.elapsed() < patience() {
        std::thread::sleep(Duration::from_millis(20));
        drawn = pty.look(svg);
    }
    pty.press("\u{1b}");
    pty.see("interrupted");
    pty.press(CTRL_D);
    pty.end();
    if blesses() {
        return std::fs::write(&file, &drawn).unwrap();
    }
    assert_eq!(steady(&drawn), steady(&kept), "`BLESS=1` draws it anew; look at it then");
}

fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// The time for the picture to equal the stored one. With `BLESS=1` it never does.
fn patience() -> Duration {
    if blesses() { Duration::from_secs(1) } else { super::PATIENCE }
}

/// The picture without durations, spinners, and the count, which follows a moment later.
fn steady(svg: &str) -> String {
    let is_turning = |char: char| ('⠀'..='⣿').contains(&char);
    let grounds: Vec<String> =
        svg.lines().filter(|line| line.contains("Thought for ")).filter_map(ground).collect();
    let mut lines = String::new();
    for line in svg.lines() {
        let is_timed = line.starts_with("<rect") && grounds.iter().any(|it| line.contains(it));
        if is_timed || line.contains("/?  <") {
            continue;
        }
        let line = line.replace(is_turning, "⠋");
        match line
            .split_once("Thought for ")
            .and_then(|(head, tail)| Some((head, tail.split_once(',')?.1)))
        {
            // Its width goes with the time.
            Some((_, tail)) => writeln!(lines, "Thought for some time,{tail}").unwrap(),
            None => writeln!(lines, "{line}").unwrap(),
        }
    }
    lines
}

/// The vertical position of the rectangles behind a text. The width of those behind a duration
/// changes with it.
fn ground(text: &str) -> Option<String> {
    let (_, behind) = text.split_once(" y=\"")?;
    let base: usize = behind.split_once('"')?.0.parse().ok()?;
    Some(format!(" y=\"{}\" ", base.checked_sub(BASE)?))
}

fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (wide, high) =
        (usize::from(columns.get()) * CELL.0 + 20, usize::from(rows.get()) * CELL.1 + 20);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"15\">\n\
         <title>A session of think chat with the simulated model</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        OWN[0]
    );
    for row in 0..rows.get() {
        let cells: Vec<&Cell> = (0..columns.get()).filter_map(|at| screen.cell(row, at)).collect();
        for (column, alike) in stretches(&cells) {
            draw(usize::from(row), column, alike, &mut out);
        }
    }
    out.push_str("</svg>\n");
    out
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
        writeln!(
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
    writeln!(
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
