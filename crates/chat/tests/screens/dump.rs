//! A buffer as text: its letters, and under them a letter for the style of each cell.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;

/// The buffer as text, with a line for each style. Cells of the terminal's own style are dots, and free ones at the end
/// of a row are left out.
pub(crate) fn dump(name: &str, buffer: &Buffer) -> String {
    let mut styles: Vec<String> = Vec::new();
    let (mut letters, mut map) = (String::new(), String::new());
    for y in buffer.area.top()..buffer.area.bottom() {
        let (mut text, mut marks) = (String::new(), String::new());
        let mut covered = 0;
        for x in buffer.area.left()..buffer.area.right() {
            let cell = &buffer[(x, y)];
            if covered == 0 {
                text.push_str(cell.symbol());
            }
            covered = match covered {
                0 => ratatui::buffer::CellWidth::cell_width(cell).saturating_sub(1),
                wide => wide - 1,
            };
            marks.push(mark(cell, &mut styles));
        }
        writeln!(letters, "{}", text.trim_end()).unwrap();
        writeln!(map, "{}", marks.trim_end_matches('.')).unwrap();
    }
    let mut out = format!("== {name}\n{letters}-- styles\n{map}");
    for (at, style) in styles.iter().enumerate() {
        writeln!(out, "{} {style}", letter(at)).unwrap();
    }
    out
}

/// The first line that differs.
pub(crate) fn first_difference(old: &str, new: &str) -> String {
    let mut lines = old.lines().zip(new.lines()).enumerate();
    let found = lines.find(|(_, (old, new))| old != new);
    found.map_or("a longer or shorter file".to_owned(), |(at, (old, new))| {
        format!("  line {}\n  was {old}\n  is  {new}", at + 1)
    })
}

fn mark(cell: &Cell, styles: &mut Vec<String>) -> char {
    let mut style = format!("{} on {}", colour(cell.fg), colour(cell.bg));
    if !cell.modifier.is_empty() {
        write!(style, " {:?}", cell.modifier).unwrap();
    }
    if style == "own on own" {
        return '.';
    }
    let at = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
        styles.push(style);
        styles.len() - 1
    });
    letter(at)
}

fn letter(at: usize) -> char {
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[at] as char
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Reset => "own".to_owned(),
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        other => other.to_string(),
    }
}
