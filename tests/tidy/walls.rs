//! The walls between the crates: allowed dependencies, and the crates that may bring in foreign
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::{assert_none, tree};

/// Our crates and which of our crates each may use.
const OWN: [(&str, &[&str]); 13] = [
    ("thinkthrough", &["json", "mask", "core"]),
    (
        "thinkthrough-cli",
        &[
            "json",
            "limits",
            "mask",
            "core",
            "gateway",
            "chat",
            "conformance",
            "store",
            "client",
            "tokenizer",
            "heap",
        ],
    ),
    ("thinkthrough-chat", &["json", "limits", "mask", "core", "store", "client"]),
    ("thinkthrough-client", &["core"]),
    ("thinkthrough-conformance", &["core", "client"]),
    ("thinkthrough-core", &["json", "limits", "mask"]),
    ("thinkthrough-gateway", &["json", "limits", "mask", "core", "store", "client"]),
    ("thinkthrough-heap", &[]),
    ("thinkthrough-json", &[]),
    ("thinkthrough-limits", &["json"]),
    ("thinkthrough-mask", &["json"]),
    ("thinkthrough-store", &["json", "limits", "mask", "core"]),
    ("thinkthrough-tokenizer", &["core"]),
];

/// Crates whose tests may be answered by the simulated upstreams.
const TESTED_AGAINST_SIMULATORS: [&str; 4] =
    ["thinkthrough-cli", "thinkthrough-chat", "thinkthrough-client", "thinkthrough-gateway"];

/// All dependencies of the core, direct or not. A new name here is a decision about the
/// architecture.
const UNDER_CORE: [&str; 15] = [
    "arrayvec",
    "base64",
    "blake3",
    // Only its build script names these; as `pure` it compiles no C.
    "cc",
    "cfg-if",
    "constant_time_eq",
    "cpufeatures",
    "crc32fast",
    "find-msvc-tools",
    "libc",
    "memchr",
    "shlex",
    "thinkthrough-json",
    "thinkthrough-limits",
    "thinkthrough-mask",
];

/// Foreign crates that only these of ours may bring in.
const BROUGHT_IN_BY: [(&str, &[&str]); 17] = [
    ("axum", &["gateway"]),
    ("tiktoken-rs", &["tokenizer"]),
    ("clap", &["cli"]),
    ("crossterm", &["chat"]),
    ("hyper", &["client", "conformance", "gateway"]),
    ("hyper-util", &["client", "conformance", "gateway"]),
    ("opentelemetry", &["gateway"]),
    ("opentelemetry-http", &["gateway"]),
    ("opentelemetry-otlp", &["gateway"]),
    ("opentelemetry_sdk", &["gateway"]),
    ("prometheus-client", &["gateway"]),
    ("ratatui", &["chat"]),
    ("rusqlite", &["store"]),
    ("rustls", &["client", "conformance", "gateway", "store"]),
    ("tokio-postgres", &["store"]),
    ("tokio-rustls", &["client", "conformance", "gateway", "store"]),
    ("webpki-roots", &["client", "store"]),
];

/// The dependencies that one of our crates declares.
struct Package {
    name: String,
    /// Names of the crates that it is built from.
    normal: BTreeSet<String>,
    /// Names of the crates that only its tests use.
    for_tests: BTreeSet<String>,
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let packages = packages();
    assert!(packages.len() >= 6, "the workspace was read");
    let findings: Vec<String> = packages.iter().flat_map(own_findings).collect();
    assert_none("dependencies between our crates go one way", &findings);
}

#[test]
fn foreign_crates_come_in_where_their_work_is_done() {
    let findings: Vec<String> = packages().iter().flat_map(foreign_findings).collect();
    assert_none("only the crate whose work it is brings it in", &findings);
}

#[test]
fn the_core_stands_on_nothing_that_does_io() {
    let lock =
        fs::read_to_string(tree::root().join("Cargo.lock")).expect("the lock file can be read");
    let mut locked = locked(&lock);
    // The lock file of our own crates also names the crates that their tests use.
    locked.extend(packages().into_iter().map(|package| (package.name, package.normal)));
    let below = closure(&locked["thinkthrough-core"], &locked);
    let unknown = below.iter().filter(|name| !UNDER_CORE.contains(&name.as_str()));
    let findings: Vec<String> = unknown.cloned().collect();
    assert_none("the core depends on scanners and checksums only", &findings);
}

/// The simulators judge with code of their own. They may use only the framing of the core.
#[test]
fn simulated_upstreams_use_nothing_of_the_core_but_its_framing() {
    let mut findings = Vec::new();
    for (path, code) in tree::shipped("crates/conformance/src") {
        let used = code.paths_from("thinkthrough_core");
        let beyond = used.iter().filter(|(_, names)| names.first() != Some(&"frame"));
        findings.extend(beyond.map(|(line, names)| format!("{path}:{line}: {}", names.join("::"))));
    }
    assert_none("the judge has validators of its own", &findings);
}

fn own_findings(package: &Package) -> Vec<String> {
    let Some((name, allowed)) = OWN.iter().find(|(name, _)| *name == package.name) else {
        return vec![format!("{} is a crate without walls; give it a row", package.name)];
    };
    let ours = |names: &BTreeSet<String>| -> Vec<String> {
        let ours = names.iter().filter_map(|name| name.strip_prefix("thinkthrough-"));
        ours.map(str::to_owned).collect()
    };
    let refused =
        ours(&package.normal).into_iter().filter(|used| !allowed.contains(&used.as_str()));
    let mut findings: Vec<String> = refused.map(|used| format!("{name} uses {used}")).collect();
    let in_tests = ours(&package.for_tests).into_iter().filter(|used| {
        let simulators = used == "conformance" && TESTED_AGAINST_SIMULATORS.contains(name);
        !simulators && !allowed.contains(&used.as_str())
    });
    findings.extend(in_tests.map(|used| format!("tests of {name} use {used}")));
    findings
}

fn foreign_findings(package: &Package) -> Vec<String> {
    let short = package.name.trim_start_matches("thinkthrough").trim_start_matches('-');
    let refused = BROUGHT_IN_BY.iter().filter(|(foreign, allowed)| {
        package.normal.contains(*foreign) && !allowed.contains(&short)
    });
    refused.map(|(foreign, _)| format!("{} uses {foreign}", package.name)).collect()
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(tree::root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    packages_of(&serde_json::from_slice(&output.stdout).expect("cargo prints JSON"))
}

fn packages_of(metadata: &Value) -> Vec<Package> {
    let packages = metadata["packages"].as_array().expect("packages are listed");
    let package = |package: &Value| {
        let name = package["name"].as_str().expect("a package has a name").to_owned();
        let (mut normal, mut for_tests) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().expect("dependencies are listed") {
            let used = dependency["name"].as_str().expect("a dependency has a name").to_owned();
            let is_for_tests = dependency["kind"].as_str() == Some("dev");
            if is_for_tests {
                for_tests.insert(used)
            } else {
                normal.insert(used)
            };
        }
        Package { name, normal, for_tests }
    };
    packages.iter().map(package).collect()
}

/// The dependencies of each locked package. Foreign packages are locked without those of their
/// tests.
pub(crate) fn locked(lock: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for block in lock.split("[[package]]").skip(1) {
        let name = block.lines().find_map(|line| line.strip_prefix("name = "));
        let dependencies = block.lines().filter_map(|line| line.strip_prefix(" \""));
        // A dependency is `name`, or `name version` where the lock file holds several versions of
        // it.
        let names =
            dependencies.map(|line| line.split([' ', '"']).next().unwrap_or_default().to_owned());
        packages
            .entry(name.unwrap_or_default().trim_matches('"').to_owned())
            .or_default()
            .extend(names);
    }
    packages
}

fn closure(
    direct: &BTreeSet<String>,
    locked: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<String> {
    let mut below = direct.clone();
    let mut open: Vec<&String> = direct.iter().collect();
    while let Some(name) = open.pop() {
        let next = locked.get(name).into_iter().flatten();
        open.extend(next.filter(|name| below.insert((*name).clone())));
    }
    below
}

#[test]
fn a_breach_of_a_wall_is_found() {
    let package = |name: &str, normal: &[&str], for_tests: &[&str]| Package {
        name: name.to_owned(),
        normal: normal.iter().map(|name| (*name).to_owned()).collect(),
        for_tests: for_tests.iter().map(|name| (*name).to_owned()).collect(),
    };
    let breaches = [
        package("thinkthrough-core", &["thinkthrough-client"], &[]),
        package("thinkthrough-mask", &["thinkthrough-core"], &[]),
        package("thinkthrough-core", &[], &["thinkthrough-conformance"]),
        package("thinkthrough-conformance", &["thinkthrough-chat"], &[]),
        package("thinkthrough-client", &["thinkthrough-tokenizer"], &[]),
        package("thinkthrough-news", &[], &[]),
    ];
    for breach in breaches {
        assert_eq!(own_findings(&breach).len(), 1, "{}", breach.name);
    }
    let fine = package("thinkthrough-chat", &["thinkthrough-core"], &["thinkthrough-conformance"]);
    assert_eq!(own_findings(&fine), [""; 0]);
    assert_eq!(foreign_findings(&package("thinkthrough-chat", &["clap"], &[])).len(), 1);
    assert_eq!(foreign_findings(&package("thinkthrough-cli", &["clap"], &[])), [""; 0]);
}

#[test]
fn what_a_dependency_brings_along_is_found_in_the_lock_file() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1\"\ndependencies = [\n \"b\",\n \"c 2.0.0\",\n]\n\n\
                [[package]]\nname = \"b\"\ndependencies = [\n \"d\",\n]\n\n[[package]]\nname = \"d\"\n";
    let below = closure(&BTreeSet::from(["a".to_owned()]), &locked(lock));
    assert_eq!(below.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
}
