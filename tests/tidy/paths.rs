//! Names and sizes of files.

use crate::exceptions::Exceptions;
use crate::{assert_none, tree};

/// The most lines of a file, so that it can be read in one go.
const MOST_LINES: usize = 500;

/// Names that do not describe a file's content, and so attract code of all kinds.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "misc", "types", "manager", "shared"];

#[test]
fn no_source_file_is_too_long() {
    let mut exceptions = Exceptions::read("long.txt", include_str!("long.txt"));
    let sizes = tree::files("rs").into_iter().map(|file| (file.text.lines().count(), file.path));
    let long =
        sizes.filter(|(lines, path)| *lines > MOST_LINES && !exceptions.allow(path, "lines"));
    let mut findings: Vec<String> =
        long.map(|(lines, path)| format!("{path}: {lines} lines")).collect();
    findings.extend(exceptions.stale());
    assert_none("a source file has at most 500 lines; split it by theme", &findings);
}

#[test]
fn files_are_named_by_what_they_hold() {
    let paths = tree::files("rs").into_iter().map(|file| file.path);
    let findings: Vec<String> = paths.filter(|path| has_empty_name(path)).collect();
    assert_none("name the module by what it holds", &findings);
}

fn has_empty_name(path: &str) -> bool {
    path.trim_end_matches(".rs").split('/').any(|part| EMPTY_NAMES.contains(&part))
}

#[test]
fn empty_names_are_found_in_files_and_folders() {
    assert!(has_empty_name("crates/core/src/utils.rs") && has_empty_name("src/common/mod.rs"));
    assert!(
        !has_empty_name("crates/core/src/tokens.rs") && !has_empty_name("src/types_of_wire.rs")
    );
}
