//! The strict parser against `fixtures/json/suite.tsv`, case by case, beside a parser of another hand.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "everything here is a test"
)]

use std::collections::BTreeSet;
use thinkthrough_json::Doc;

struct Case {
    name: &'static str,
    /// What we do with it.
    is_accepted: bool,
    bytes: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../../fixtures/json/suite.tsv");
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines.map(|line| case(line).expect(line)).collect()
}

fn case(line: &'static str) -> Option<Case> {
    let mut cells = line.splitn(3, '\t');
    let (name, ours, bytes) = (cells.next()?, cells.next()?, cells.next()?);
    let is_accepted = match ours {
        "accept" => true,
        "refuse" => false,
        _ => return None,
    };
    Some(Case { name, is_accepted, bytes: unescaped(bytes) })
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        match after[0] {
            b'x' => {
                let digits = std::str::from_utf8(&after[1..3]).unwrap();
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &after[3..];
            }
            b'{' => {
                let end = after.iter().position(|byte| *byte == b'}').unwrap();
                let times = std::str::from_utf8(&after[1..end]).unwrap().parse().unwrap();
                out.extend(std::iter::repeat_n(after[end + 1], times));
                rest = &after[end + 2..];
            }
            other => {
                assert_eq!(other, b'\\', "{text}");
                out.push(other);
                rest = &after[1..];
            }
        }
    }
    out
}

#[test]
fn json_suite_y_accepted_n_refused_i_as_pinned() {
    let cases = cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "a name stands twice");
    for (kind, least) in [("y_", 80), ("n_", 150), ("i_", 35)] {
        let count = names.iter().filter(|name| name.starts_with(kind)).count();
        assert!(count >= least, "{kind}: {count}");
    }
    let mut wrong = Vec::new();
    for Case { name, is_accepted, bytes } in &cases {
        let demanded = match name.split_once('_') {
            Some(("y", _)) => Some(true),
            Some(("n", _)) => Some(false),
            _ => None,
        };
        assert!(demanded.is_none_or(|demanded| demanded == *is_accepted), "{name}: the table");
        let read = Doc::parse(bytes);
        if read.is_ok() != *is_accepted {
            wrong.push(format!("{name}: {:?}", read.err()));
        }
        if let Some(demanded) = demanded {
            // Two hands that wrote the rules down differently would be seen here.
            let other = serde_json::from_slice::<serde_json::Value>(bytes);
            if (other.is_ok() != demanded) != FURTHER.contains(name) {
                wrong.push(format!("{name}, the other parser: {:?}", other.err()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nesting of exactly 128, which we take and the other parser does not.
const FURTHER: [&str; 1] = ["y_array_deep_128"];
