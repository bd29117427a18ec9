//! Where everything comes from that is built into the program.

use crate::tree;
use std::fs;

const INDEX: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What is wrong with the packages of a lock file: those of ours have no source, all others are from the one registry,
/// with a checksum.
fn foreign(lock: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line =
                package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
            line.strip_suffix('"')
        };
        let name = field("name").unwrap_or("?");
        match (field("source"), field("checksum")) {
            (None, None) if name.starts_with("thinkthrough") => {}
            (Some(INDEX), Some(sum)) if sum.len() == 64 => {}
            (source, _) => findings.push(format!("{name} comes from {source:?}")),
        }
    }
    findings
}

#[test]
fn t_9_a_package_of_unknown_origin_is_found() {
    let good = format!(
        "[[package]]\nname = \"thinkthrough\"\n[[package]]\nname = \"a\"\nsource = \"{INDEX}\"\nchecksum = \"{}\"\n",
        "0".repeat(64)
    );
    assert!(foreign(&good).is_empty());
    for bad in [
        good.replace(INDEX, "git+https://github.com/a/a"),
        good.replace(INDEX, "registry+https://mirror.example/index"),
        good.replace("checksum", "check"),
        good.replace("name = \"thinkthrough\"", "name = \"b\""),
    ] {
        assert_eq!(foreign(&bad).len(), 1, "{bad}");
    }
}

#[test]
fn t_9_everything_comes_from_the_one_registry_and_as_it_was_locked() {
    let read = |path: &str| fs::read_to_string(tree::root().join(path)).expect(path);
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        if tree::root().join(lock).exists() {
            crate::assert_none("packages come from the one registry", &foreign(&read(lock)));
        }
    }
    let deny = read("deny.toml");
    for rule in ["unknown-registry = \"deny\"", "unknown-git = \"deny\"", "yanked = \"deny\""] {
        assert!(deny.contains(rule), "deny.toml must say `{rule}`");
    }
    // Whoever checks a change builds what was locked, or a new release of a dependency comes in unseen.
    let ci = read(".ci/run");
    let building =
        ["cargo test ", "cargo clippy ", "cargo nextest run ", "cargo build ", "cargo doc "];
    let is_loose = |line: &&str| {
        building.iter().any(|it| line.contains(it))
            && !line.contains("--locked")
            && !line.contains("--offline")
    };
    // The README's own command is run word for word, after the locked one.
    let loose: Vec<String> =
        ci.lines().map(str::trim).filter(is_loose).map(str::to_owned).collect();
    assert_eq!(loose, ["cargo test --workspace"]);
}
