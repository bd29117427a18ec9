//! Links in Markdown lead somewhere, and the table of dependencies is true.

use std::collections::BTreeSet;

use crate::{assert_none, tree};

#[test]
fn links_in_markdown_lead_somewhere() {
    let mut findings = Vec::new();
    for file in tree::files("md") {
        for (line, target) in links(&file.text) {
            if let Some(problem) = broken(&file.path, &target) {
                findings.push(format!("{}:{line}: {target}: {problem}", file.path));
            }
        }
    }
    assert_none("links lead to files and headings that exist", &findings);
}

#[test]
fn every_direct_dependency_has_its_row() {
    let root = read("Cargo.toml");
    let declared = root.split("[workspace.dependencies]").nth(1).expect("the table is there");
    let declared = declared.split("\n[").next().unwrap_or_default().lines();
    let names = declared.filter_map(|line| line.split_once(" = ").map(|(name, _)| name.trim()));
    let foreign: BTreeSet<&str> =
        names.filter(|name| !name.starts_with("thinkthrough") && !name.starts_with('#')).collect();
    let table = read("docs/dependencies.md");
    let cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let rows: BTreeSet<&str> =
        cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `")).collect();
    assert!(foreign.len() > 5, "the manifest was read");
    let missing = foreign.difference(&rows).map(|name| format!("{name} has no row"));
    let stale = rows.difference(&foreign).map(|name| format!("{name} is no dependency"));
    assert_none(
        "docs/dependencies.md says why we use what we use",
        &missing.chain(stale).collect::<Vec<_>>(),
    );
}

/// Each folder under `fixtures/` is read by a test that names it.
#[test]
fn no_fixture_is_forgotten() {
    let Ok(folders) = std::fs::read_dir(tree::root().join("fixtures")) else { return };
    let sources: String = tree::files("rs").into_iter().map(|file| file.text).collect();
    let names = folders.map(|entry| entry.expect("an entry can be read").file_name());
    let names =
        names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "README.md");
    let forgotten = names.filter(|name| !sources.contains(&format!("fixtures/{name}")));
    assert_none(
        "a test names each folder of fixtures as `fixtures/<folder>`",
        &forgotten.collect::<Vec<_>>(),
    );
}

/// `.ci/run` runs the commands that the README shows to a newcomer.
#[test]
fn the_commands_of_the_readme_are_run() {
    let commands =
        ["cargo run -- ask \"What is in this folder? Think first.\"", "cargo test --workspace"];
    let mut findings = Vec::new();
    for file in ["README.md", ".ci/run"].into_iter().filter(|file| tree::root().join(file).exists())
    {
        let text = read(file);
        let missing = commands.iter().filter(|command| !text.contains(**command));
        findings.extend(missing.map(|command| format!("{file}: {command}")));
    }
    assert_none("a newcomer's commands are written down and work", &findings);
}

fn read(path: &str) -> String {
    std::fs::read_to_string(tree::root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Targets of links with their line numbers; code is skipped.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut fenced = false;
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        links.extend(inline.map(|target| (line, target.to_owned())));
        let definition = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        links.extend(definition.map(|(_, target)| (line, target.trim().to_owned())));
    }
    links
}

/// The reason why a link from this file leads nowhere, if it does.
fn broken(from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) =
        target.split_once('#').map_or((target, None), |(path, h)| (path, Some(h)));
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() { from.to_owned() } else { format!("{folder}/{path}") };
    let file = tree::root().join(path.trim_start_matches('/'));
    if !file.exists() {
        return Some("no such file".to_owned());
    }
    let heading = heading?;
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let known = text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
    let is_document = file.extension().is_some_and(|extension| extension == "md");
    (is_document && !known).then(|| "no such heading".to_owned())
}

/// The anchor of a heading as web views of Markdown make it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn broken_links_are_found() {
    let text = "See [a](b.md) and [c](d.md#e \"title\").\n```\n[no](code.md)\n```\n`[no](x)` [f]: \n[g]: h.md\n";
    let found = [(1, "b.md"), (1, "d.md#e"), (6, "h.md")];
    assert_eq!(links(text), found.map(|(line, target)| (line, target.to_owned())));
    assert_eq!(broken("README.md", "no-such-file.md").as_deref(), Some("no such file"));
    assert_eq!(broken("docs/x.md", "dependencies.md#nothing").as_deref(), Some("no such heading"));
    assert_eq!(broken("docs/x.md", "dependencies.md#why-tiktoken-rs-counts-our-tokens"), None);
    assert_eq!(broken("docs/x.md", "../Cargo.toml"), None);
    assert_eq!(broken("a.md", "https://example.org/x"), None);
}
