//! Every line of the written requirements has a test that carries its id and exists.

use std::collections::BTreeSet;

use crate::{assert_none, tree};

/// A line of the inventory.
struct Row<'t> {
    id: &'t str,
    issue: &'t str,
    tests: Vec<&'t str>,
}

#[test]
fn every_requirement_that_is_due_has_a_test_that_carries_its_id() {
    let inventory = std::fs::read_to_string(tree::root().join("fixtures/seeds.tsv"));
    let inventory = inventory.expect("the inventory can be read");
    let rows = rows(&inventory);
    let mut tests = BTreeSet::new();
    for file in tree::files("rs") {
        tests.extend(test_names(&file.text));
    }
    let mut findings = findings(&rows, &tests);
    let listed: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    findings.extend(
        numbered()
            .into_iter()
            .filter(|id| !listed.contains(id.as_str()))
            .map(|id| format!("{id} is not in the inventory")),
    );
    assert_none("each line of the requirements is tested under its id", &findings);
}

/// Every id that the requirements number themselves.
fn numbered() -> Vec<String> {
    const PARTS: [usize; 7] = [3, 4, 4, 5, 3, 6, 4];
    let mut ids = Vec::new();
    for (at, parts) in PARTS.into_iter().enumerate() {
        ids.extend((1..=parts).map(|part| format!("REQ-THINK-{:03}.{part}", at + 1)));
    }
    for (kind, count) in [("BR", 9), ("EC", 7), ("ERR", 3)] {
        ids.extend((1..=count).map(|number| format!("{kind}-{number:03}")));
    }
    ids.extend((1..=5).map(|number| format!("DELIMITER-RULE-{number}")));
    ids
}

fn rows(inventory: &str) -> Vec<Row<'_>> {
    let lines = inventory.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row<'_> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [id, issue, _, tests] = cells[..] else { panic!("not four cells: {line}") };
    let tests = tests.split(' ').filter(|test| *test != "-").collect();
    Row { id, issue, tests }
}

fn findings(rows: &[Row<'_>], tests: &BTreeSet<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for Row { id, issue, tests: own } in rows {
        let mark: String = id
            .chars()
            .map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
            .collect();
        let carries = |test: &&str| format!("_{test}_").contains(&format!("_{mark}_"));
        if ["2", "3"].contains(issue) && !own.iter().any(carries) {
            findings.push(format!("{id}: no test has `{mark}` in its name"));
        }
        for test in own.iter().filter(|test| !tests.contains(**test)) {
            findings.push(format!("{id}: there is no test `{test}`"));
        }
    }
    findings
}

/// The functions that are marked as tests.
fn test_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        if let Some(rest) = line.split_once("fn ").filter(|_| is_test).map(|(_, rest)| rest) {
            names.extend(rest.split_once('(').map(|(name, _)| name.to_owned()));
            is_test = false;
        }
    }
    names
}

#[test]
fn requirements_without_their_test_are_found() {
    let tests = test_names(
        "#[test]\nfn br_001_is_fine() {}\nfn br_002_helper() {}\n#[tokio::test]\nasync fn ec_001_a() {}",
    );
    assert_eq!(tests, ["br_001_is_fine", "ec_001_a"]);
    let inventory = "# c\nBR-001\t2\twhat\tbr_001_is_fine\nBR-002\t2\twhat\tbr_002_helper\nBR-003\t2\twhat\t-\nBR-004\t4\twhat\t-\nEC-001\t2\twhat\tbr_001_is_fine\n";
    let found = findings(&rows(inventory), &tests.into_iter().collect());
    assert_eq!(
        found,
        [
            "BR-002: there is no test `br_002_helper`",
            "BR-003: no test has `br_003` in its name",
            "EC-001: no test has `ec_001` in its name",
        ]
    );
    assert_eq!(numbered().len(), 29 + 19 + 5);
}
