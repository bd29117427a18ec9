//! Tests of the repository itself: the walls between crates, the purity of the core, and the house
//! rules that no lint knows.
//! Each check is a function over text, which is tested on text that breaks the rule, and then run
//! over the repository.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

mod code;
mod cycles;
mod documents;
mod examples;
mod exceptions;
mod fuzz;
mod mentions;
mod paths;
mod promises;
mod purity;
mod seeds;
mod skips;
mod supply;
mod tree;
mod walls;

/// Fails with all findings at once, so that one run shows the whole work.
#[track_caller]
fn assert_none(rule: &str, findings: &[String]) {
    let list = findings.join("\n  ");
    assert!(findings.is_empty(), "{} finding(s): {rule}\n  {list}", findings.len());
}
