//! Examples are run, not only built.

use crate::{assert_none, tree};

#[test]
fn every_example_is_a_test() {
    let read =
        |path: &str| std::fs::read_to_string(tree::root().join(path)).expect("it can be read");
    let manifest = read("Cargo.toml");
    let run: Vec<&str> = manifest
        .split("[[example]]")
        .skip(1)
        .filter(|section| section.contains("test = true\n"))
        .filter_map(|section| section.split('"').nth(1))
        .collect();
    let examples = std::fs::read_dir(tree::root().join("examples")).expect("there are examples");
    let names: Vec<String> = examples
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    let runs_itself =
        |name: &str| read(&format!("examples/{name}.rs")).contains("#[test]\nfn it_runs()");
    let findings =
        names.into_iter().filter(|name| !run.contains(&name.as_str()) || !runs_itself(name));
    let findings: Vec<String> = findings.map(|name| format!("{name} is not run")).collect();
    assert_none("an example stands in `Cargo.toml` and is run by `cargo test`", &findings);
}
