//! Differences that a provider's own rule explains.

use std::collections::BTreeMap;

/// More than these are no exceptions.
const MOST: usize = 5;

/// The conversations with their reasons, which name the page that states the rule.
pub(crate) fn exceptions() -> BTreeMap<&'static str, &'static str> {
    let rows = include_str!("../../../../fixtures/exceptions/replay.tsv").lines();
    rows.filter(|row| !row.is_empty() && !row.starts_with('#'))
        .map(|row| row.split_once('\t').unwrap())
        .collect()
}

#[test]
fn exceptions_are_few_and_name_the_rule() {
    let exceptions = exceptions();
    assert!(exceptions.len() <= MOST, "{} exceptions", exceptions.len());
    for (conversation, reason) in exceptions {
        let (why, page) = reason.split_once('\t').unwrap();
        assert!(why.len() > 20 && page.starts_with("https://"), "{conversation}: {reason}");
    }
}
