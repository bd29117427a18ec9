//! Recorded traffic through the built program, with each kind of option for `parse`.

use crate::corpus::{Case, cases, exceptions};
use crate::judge::{
    differences, other_differences, said_differences, source_differences, tag_differences,
};
use crate::program::think;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use thinkthrough_core::{provider, wire};

/// More exceptions would make the rule meaningless.
const MAX_EXCEPTIONS: usize = 3;

/// Number of cases in the corpus. With fewer, some recordings would be skipped silently.
const RECORDED: usize = 727;

/// The options for `parse`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Wire,
    Provider,
    Both,
}

#[test]
fn every_recorded_answer_is_read_by_its_wire() {
    let exceptions = exceptions();
    assert!(exceptions.len() <= MAX_EXCEPTIONS, "{} exceptions", exceptions.len());
    let cases = cases();
    assert!(cases.is_empty() || cases.len() == RECORDED, "{} cases", cases.len());
    run(Way::Wire, &cases, &exceptions);
}

#[test]
fn every_recorded_answer_is_read_by_its_provider() {
    run(Way::Provider, &of_known_providers(), &BTreeMap::new());
}

#[test]
fn every_recorded_answer_is_read_by_its_provider_and_wire() {
    run(Way::Both, &of_known_providers(), &BTreeMap::new());
}

/// The cases of known providers. Some recordings come from others.
fn of_known_providers() -> Vec<Case> {
    cases().into_iter().filter(|case| provider::find(&case.provider).is_some()).collect()
}

fn run(way: Way, cases: &[Case], exceptions: &BTreeMap<String, String>) {
    let findings = on_all_cores(cases, |case| findings(way, case));
    let mut score: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    let mut failures = Vec::new();
    for (case, findings) in cases.iter().zip(findings) {
        let [right, all] = score.entry((&case.api, &case.provider)).or_default();
        *all += 1;
        *right += usize::from(findings.is_empty());
        match (findings.is_empty(), exceptions.get(&case.id)) {
            (true, None) => {}
            (true, Some(_)) => failures.push(format!("{}: excepted, but right", case.id)),
            (false, Some(reason)) => println!("{}: excepted: {reason}", case.id),
            (false, None) => failures.push(format!("{}: {}", case.id, findings.join("; "))),
        }
    }
    for ((api, provider), [right, all]) in &score {
        println!("{way:?}: {api} {provider}: {right} of {all}");
    }
    let right: usize = score.values().map(|[right, _]| right).sum();
    println!("{way:?}: {right} of {} recorded cases", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn findings(way: Way, case: &Case) -> Vec<String> {
    let Some(wire) = case.wire() else { return tag_findings(case) };
    let args: &[&str] = match way {
        Way::Wire => &["parse", "--wire", wire],
        Way::Provider => &["parse", "--provider", &case.provider],
        Way::Both => &["parse", "--provider", &case.provider, "--wire", wire, "-"],
    };
    let ran = think(args, &case.body);
    if ran.code != Some(0) || ran.out.lines().count() != 1 {
        return vec![format!("{:?} {}", ran.code, ran.err)];
    }
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let mut findings = other_differences(&answer, &case.expected);
    let said = said_differences(&answer, &case.expected);
    // With a provider, `parse` knows which models think in tags, and removes the tags from the
    // text.
    match case.expected.get("tagged") {
        Some(tagged) if way != Way::Wire && !said.is_empty() => {
            findings.extend(tag_differences(&answer, tagged));
        }
        _ => {
            findings.extend(said);
            let source = (wire, case.quirks.as_slice());
            findings.extend(source_differences(&answer, &case.expected, source));
        }
    }
    findings
}

/// A family of its own is read by `parse`; the generic splitters of the tables stand for a pair of
/// tags.
fn tag_findings(case: &Case) -> Vec<String> {
    let tag = |key: &str| case.tag(key).as_str().unwrap_or_default();
    let family = tag("family");
    if !matches!(family, "extract-reasoning-middleware" | "inline-split") {
        let parsed = think(&["parse", "--tags", family], &case.body);
        let mut findings = differences(&parsed.json(), &case.expected);
        findings.extend(split_findings(case, &["split", "--tags", family]));
        return findings;
    }
    let mut args = vec!["split", "--open", tag("start"), "--close", tag("end")];
    args.extend((case.tag("starts_in_reasoning") == true).then_some("--starts-open"));
    split_findings(case, &args)
}

fn split_findings(case: &Case, args: &[&str]) -> Vec<String> {
    let halves = think(args, &case.body).json();
    let thoughts = case.expected["thinking"].as_array().unwrap().iter();
    let thoughts: Vec<&str> = thoughts.map(|thought| thought["text"].as_str().unwrap()).collect();
    let thought = halves["reasoning"]["text"].as_str();
    let mut findings = Vec::new();
    if thought.unwrap_or_default() != thoughts.join("\n")
        || thought.is_some() == thoughts.is_empty()
    {
        findings.push(format!("split: {thought:?} instead of {thoughts:?}"));
    }
    if halves["visible"] != case.expected["text"] {
        findings.push(format!("split: {} is visible", halves["visible"]));
    }
    findings
}

fn on_all_cores<T: Send>(cases: &[Case], work: impl Fn(&Case) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some((at, case)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
        {
            done.push((at, work(case)));
        }
        done
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn every_wire_of_the_recordings_is_there() {
    for case in cases() {
        if let Some(id) = case.wire() {
            assert!(wire::find(id).is_some(), "`{id}`");
        }
    }
}
