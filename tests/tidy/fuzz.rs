//! Every law is also driven with coverage guidance.

use std::collections::BTreeSet;

use crate::{assert_none, tree};

#[test]
fn every_law_has_a_fuzz_target() {
    let read =
        |path: &str| std::fs::read_to_string(tree::root().join(path)).expect("it can be read");
    let laws = laws(&read("crates/core/tests/laws/main.rs"));
    assert!(laws.len() >= 8, "the laws were read");
    let manifest = read("fuzz/Cargo.toml");
    let targets = manifest.split("[[bin]]").skip(1);
    let targets = targets.filter_map(|target| target.split('"').nth(1).map(str::to_owned));
    let targets: BTreeSet<String> = targets.collect();
    let findings: Vec<String> = laws.symmetric_difference(&targets).cloned().collect();
    assert_none("laws and fuzz targets have the same names", &findings);
    for target in targets {
        assert!(
            read(&format!("fuzz/targets/{target}.rs")).contains("laws::"),
            "{target} drives a law"
        );
    }
}

#[test]
fn every_fuzz_target_has_been_run() {
    let read =
        |path: &str| std::fs::read_to_string(tree::root().join(path)).expect("it can be read");
    let results = read("fuzz/RESULTS.md");
    let findings: Vec<String> = laws(&read("crates/core/tests/laws/main.rs"))
        .into_iter()
        .filter(|law| !has_result(&results, law))
        .collect();
    assert_none("each law has a dated row in `fuzz/RESULTS.md`", &findings);
}

/// Laws about the inside of a crate. They are in that crate, and only their own driver reaches
/// them.
const INSIDE: [&str; 3] =
    ["crates/client/src/laws.rs", "crates/gateway/src/laws.rs", "src/config/laws.rs"];

#[test]
fn every_law_inside_a_crate_has_been_run() {
    let read =
        |path: &str| std::fs::read_to_string(tree::root().join(path)).expect("it can be read");
    let results = read("fuzz/RESULTS.md");
    for path in INSIDE {
        let laws = laws(&read(path));
        assert!(!laws.is_empty(), "{path} has laws");
        let findings: Vec<String> =
            laws.into_iter().filter(|law| !has_result(&results, law)).collect();
        assert_none("each law has a dated row in `fuzz/RESULTS.md`", &findings);
    }
    let files = tree::files("rs").into_iter().map(|file| file.path);
    let unlisted = files.filter(|path| path.contains("src/") && path.ends_with("/laws.rs"));
    let findings: Vec<String> = unlisted.filter(|path| !INSIDE.contains(&path.as_str())).collect();
    assert_none("a file of laws is in the list above", &findings);
}

/// Whether a row with a date and a number of inputs is about this target.
fn has_result(results: &str, target: &str) -> bool {
    let cell = format!("`{target}`");
    results.lines().any(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [date, name, seconds, inputs, ..] = cells[..] else { return false };
        let is_number = |cell: &str| cell.parse::<u64>().is_ok_and(|number| number > 0);
        date.starts_with("20") && name == cell && is_number(seconds) && is_number(inputs)
    })
}

#[test]
fn rows_of_results_are_read() {
    let row = "| 2026-11-21 | `a` | 600 | 25 | 4 | no crash |";
    assert!(has_result(row, "a") && !has_result(row, "b"));
    assert!(!has_result("| 2026-11-21 | `a` | 0 | 25 | 4 | no crash |", "a"));
    assert!(!has_result("`a` was run", "a"));
}

/// The names in the list of laws: lines of `name: module::function, ...;` inside `laws! {`.
fn laws(source: &str) -> BTreeSet<String> {
    let list = source.split("\nlaws! {").nth(1).and_then(|rest| rest.split("\n}").next());
    let lines = list.unwrap_or_default().lines();
    lines.filter_map(|line| line.trim().split_once(": ").map(|(name, _)| name.to_owned())).collect()
}

#[test]
fn laws_are_read_from_their_list() {
    let source =
        "macro_rules! laws { () => {} }\n\nlaws! {\n    a: b::c, 0, &[];\n    d: e::f, 1, X;\n}\n";
    assert_eq!(laws(source).into_iter().collect::<Vec<_>>(), ["a", "d"]);
}
