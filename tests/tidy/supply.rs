//! The sources of all parts of the program.

use crate::{tree, walls};
use std::fs;

const INDEX: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The faults of a lock file. Our packages must have no source, and all others must come from the
/// one registry, with a checksum.
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
    // Checks use the lock file, so that no new release of a dependency comes in unseen.
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

/// Packages that use a crate which `deny.toml` allows only through others. `cargo deny` reports the
/// same if it is installed. Our packages are locked with the dependencies of their tests.
fn around_the_walls(deny: &str, lock: &str) -> Vec<String> {
    let packages = walls::locked(lock);
    let rules = deny.lines().filter_map(|line| line.trim().strip_prefix("{ crate = "));
    let mut findings = Vec::new();
    for rule in rules {
        let mut quoted = rule.split('"').skip(1).step_by(2);
        let banned = quoted.next().expect("a rule names a crate");
        let wrappers: Vec<&str> = if rule.contains("wrappers") { quoted.collect() } else { vec![] };
        let users = packages.iter().filter(|(_, used)| used.contains(banned));
        let around = users.filter(|(name, _)| !wrappers.contains(&name.as_str()));
        findings.extend(around.map(|(name, _)| format!("{name} uses {banned}")));
    }
    findings
}

#[test]
fn t_9_the_walls_of_deny_toml_stand() {
    let read = |path: &str| fs::read_to_string(tree::root().join(path)).expect(path);
    let findings = around_the_walls(&read("deny.toml"), &read("Cargo.lock"));
    crate::assert_none("`cargo deny` would refuse these", &findings);
}

#[test]
fn t_9_whoever_goes_around_a_wall_is_found() {
    let lock = "[[package]]\nname = \"ours\"\ndependencies = [\n \"heavy\",\n]\n\n[[package]]\nname = \"heavy\"\n";
    let rule = |wrappers: &str| format!("deny = [\n    {{ crate = \"heavy\", {wrappers} }},\n]\n");
    assert_eq!(around_the_walls(&rule("wrappers = [\"ours\", \"x\"]"), lock), [""; 0]);
    assert_eq!(around_the_walls(&rule("wrappers = [\"x\"]"), lock), ["ours uses heavy"]);
    assert_eq!(around_the_walls(&rule("reason = \"ours\""), lock), ["ours uses heavy"]);
}

#[test]
fn t_9_what_was_not_run_is_the_last_thing_that_is_said() {
    let ci = fs::read_to_string(tree::root().join(".ci/run")).expect("the script");
    let last = ci.trim_end().lines().next_back().expect("a line");
    assert!(last.contains("NOT RUN:"), "{last}");
    assert!(ci.contains("not_run+=('licences and sources"), "without `cargo deny`");
}
