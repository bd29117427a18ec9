//! Each promise of SECURITY.md names its tests, and these tests exist.

use crate::{assert_none, tree};
use std::collections::BTreeSet;

/// The names in backticks in the last cell of each row of the table of promises: `None` for a row
/// without any.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let table = text.lines().skip_while(|line| !line.starts_with("| promise |")).skip(2);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let tests = cells.last().copied().unwrap_or_default().split('`').skip(1).step_by(2);
        (cells[0].to_owned(), tests.map(str::to_owned).collect())
    };
    table.take_while(|line| line.starts_with('|')).map(row).collect()
}

/// Whether a test or a law of this name is in this source.
fn is_in(source: &str, name: &str) -> bool {
    let begins = [format!("fn {name}("), format!("fn {name}<"), format!("    {name}: ")];
    begins.iter().any(|begin| source.contains(begin.as_str()))
}

#[test]
fn every_promise_is_tested() {
    let text = std::fs::read_to_string(tree::root().join("SECURITY.md")).expect("it can be read");
    let rows = rows(&text);
    assert!(rows.len() >= 10, "the table of promises was read");
    let bare: Vec<String> =
        rows.iter().filter(|row| row.1.is_empty()).map(|row| row.0.clone()).collect();
    assert_none("a promise names the tests that hold it", &bare);
    let sources: Vec<String> = tree::files("rs").into_iter().map(|file| file.text).collect();
    let named: BTreeSet<&String> = rows.iter().flat_map(|row| &row.1).collect();
    let absent = named.into_iter().filter(|name| !sources.iter().any(|it| is_in(it, name)));
    let absent: Vec<String> = absent.cloned().collect();
    assert_none("each test that SECURITY.md names is there", &absent);
}

#[test]
fn promises_without_tests_are_found() {
    let text = "x\n| promise | against | tests |\n|---|---|---|\n| a | b | `t_1_x`, `law` |\n| c | d | none |\n\n| e |";
    let expected = [
        ("a".to_owned(), vec!["t_1_x".to_owned(), "law".to_owned()]),
        ("c".to_owned(), Vec::new()),
    ];
    assert_eq!(rows(text), expected);
    assert!(is_in("async fn t_1_x(folder: Folder) {", "t_1_x"));
    assert!(is_in("laws! {\n    law: a::b, 0, &[];\n}", "law"));
    assert!(!is_in("fn t_1_xy() { t_1_x(); }", "t_1_x"));
}
