//! The page about tags says of every family what its data says.

use crate::tags::families::FAMILIES;
use crate::tags::family::{Begins, Family, LoneClose, Marker, Role, Unclosed};

/// A marker as a cell of a Markdown table.
fn cell(marker: &Marker) -> String {
    let shown = |text: &str| text.replace('\n', "\\n").replace('|', "\\|");
    let header = if marker.until.is_empty() {
        String::new()
    } else {
        format!(" … {}", shown(marker.until))
    };
    let start = if marker.at_start { " (first)" } else { "" };
    format!("`{}{header}`{start}", shown(marker.text))
}

fn cells(family: &Family, wanted: &[Role]) -> String {
    let markers = family.markers.iter().filter(|marker| wanted.contains(&marker.role));
    markers.map(cell).collect::<Vec<_>>().join(" ")
}

fn row(family: &Family) -> String {
    let begins = match family.begins {
        Begins::Inside => "in a thought",
        Begins::Outside => "in text",
        Begins::Unknown => "the first marker tells",
    };
    let unclosed = match family.unclosed {
        Unclosed::Thought => "thought",
        Unclosed::Untagged => "text, its tag dropped",
        Unclosed::Visible => "text",
    };
    let lone = match family.lone_close {
        LoneClose::Drop => "dropped",
        LoneClose::DropLeading => "dropped if first, else text",
        LoneClose::Text => "text",
    };
    let open = cells(family, &[Role::Open, Role::Stripped]);
    let close = cells(family, &[Role::Close, Role::CloseAnswer]);
    let gone = cells(family, &[Role::Answer, Role::Drop, Role::Unwrap]);
    let kept =
        cells(family, &[Role::Tool, Role::ToolTells, Role::CallEnd, Role::Raw, Role::RawEnd]);
    format!(
        "| `{}` | {begins} | {open} | {close} | {unclosed} | {lone} | {gone} | {kept} |",
        family.name
    )
    .replace("|  |", "| |")
    .replace("|  |", "| |")
}

#[test]
fn the_page_about_tags_has_every_family_as_it_is() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tags.md");
    let page = std::fs::read_to_string(page).expect("docs/tags.md");
    let rows: Vec<String> = FAMILIES.iter().map(row).collect();
    let stands: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(stands, rows, "the table should be:\n{}", rows.join("\n"));
}
