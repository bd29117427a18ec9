//! The core and the crates below it do no I/O and read no clock, environment or randomness.

use crate::code::Code;
use crate::{assert_none, tree};

/// The crates that are functions of their arguments.
const PURE: [&str; 4] = ["core", "json", "limits", "mask"];

/// Parts of the standard library that the core must not name, with their replacements.
const BANNED: [(&[&str], &str); 10] = [
    (&["fs"], "bytes as an argument"),
    (&["net"], "bytes as an argument"),
    (&["env"], "settings as an argument"),
    (&["thread"], "nothing, the shells run it"),
    (&["process"], "an error as a result"),
    (&["os"], "bytes as an argument"),
    (&["io", "stdin"], "bytes as an argument"),
    (&["io", "stdout"], "a result"),
    (&["io", "stderr"], "a problem as a result"),
    (&["hash", "RandomState"], "an ordered map, or a hasher with a given key"),
];

/// Names that reach outside under any path.
const BANNED_NAMES: [&str; 7] =
    ["SystemTime", "RandomState", "getrandom", "thread_rng", "tokio", "reqwest", "hyper"];

#[test]
fn pure_crates_reach_nothing_outside_their_arguments() {
    let mut findings = Vec::new();
    for (path, code) in PURE.iter().flat_map(|name| tree::shipped(&format!("crates/{name}/src"))) {
        findings.extend(reaches(&code).into_iter().map(|finding| format!("{path}:{finding}")));
    }
    assert_none("the core is pure, what it needs to know comes in as an argument", &findings);
}

fn reaches(code: &Code) -> Vec<String> {
    let mut findings = Vec::new();
    for root in ["std", "alloc", "core"] {
        for (line, path) in code.paths_from(root) {
            let banned = BANNED.iter().find(|(banned, _)| path.starts_with(banned));
            findings.extend(banned.map(|(banned, instead)| {
                format!("{line}: `{root}::{}`; take {instead}", banned.join("::"))
            }));
            if path.last() == Some(&"*") && path.len() == 1 {
                findings.push(format!("{line}: `{root}::*` hides what is used"));
            }
        }
    }
    let words = code.words();
    let calls_instant = |at: usize| {
        let after: String = words.iter().skip(at + 1).take(3).map(|(_, word)| *word).collect();
        words[at].1 == "Instant" && after == "::now"
    };
    for (at, (line, word)) in words.iter().enumerate() {
        if BANNED_NAMES.contains(word) || calls_instant(at) {
            findings.push(format!("{line}: `{word}`"));
        }
    }
    findings
}

#[test]
fn reaching_outside_is_found_however_it_is_spelled() {
    let outside = [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::{\n    fmt,\n    {net as n, thread},\n};",
        "fn f() { std::env::var(\"HOME\").ok(); }",
        "fn f() { ::std::process::exit(1) }",
        "use std::time::{Duration, Instant}; fn f() { Instant::now(); }",
        "use std::time::SystemTime;",
        "use std::io::{self, stdin};",
        "use std::*;",
        "use std::collections::hash_map::RandomState;",
    ];
    for source in outside {
        assert!(!reaches(&Code::without_tests(source)).is_empty(), "not found: {source}");
    }
    let inside = [
        "// std::fs is not for us\nuse std::fmt;",
        "use std::{borrow::Cow, time::Duration};",
        "fn f(now: Instant, name: &str) { g(\"std::env\") }",
        "#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
        "use std::io::Write;",
    ];
    for source in inside {
        assert!(reaches(&Code::without_tests(source)).is_empty(), "wrongly found: {source}");
    }
}
