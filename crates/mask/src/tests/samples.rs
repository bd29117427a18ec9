//! The samples of `fixtures/masks`: texts with secrets of one rule, and texts that only look like it.
//!
//! The files hold no secrets, only their patterns: runs in braces, as in rules, are filled in here.

use super::super::rule;
use super::super::set::Set;
use super::super::{Masker, Tiers};
use super::masker;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const SAMPLES: [&str; 2] = [
    include_str!("../../../../fixtures/masks/services.tsv"),
    include_str!("../../../../fixtures/masks/texts.tsv"),
];

/// A sample with its runs filled in, and the texts that fill them.
pub(super) struct Sample {
    pub(super) rule: &'static str,
    pub(super) is_secret: bool,
    pub(super) text: String,
    pub(super) secrets: Vec<String>,
}

/// All samples, filled in from a seed; each by itself, so that a new one changes no other.
pub(super) fn samples(seed: u64) -> Vec<Sample> {
    let lines = SAMPLES.iter().flat_map(|samples| samples.lines());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [rule, sign @ ("+" | "-"), template] = cells[..] else {
                panic!("no sample: {line}")
            };
            let number = line.bytes().fold(seed, |sum, byte| {
                sum.wrapping_mul(0x0100_0000_01B3).wrapping_add(u64::from(byte))
            });
            let (text, secrets) = filled(template, &mut Random(number));
            Sample { rule, is_secret: sign == "+", text, secrets }
        })
        .collect()
}

fn filled(template: &str, random: &mut Random) -> (String, Vec<String>) {
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let run = after.split_once('}').and_then(|(run, behind)| {
            let set = Set::named(run.chars().next()?)?;
            Some((set, run.get(1..)?.parse::<usize>().ok()?, behind))
        });
        let Some((set, length, behind)) = run else {
            text.push('{');
            rest = after;
            continue;
        };
        let letters: Vec<char> = set.bytes().map(char::from).collect();
        let secret: String = (0..length).map(|_| letters[random.below(letters.len())]).collect();
        text.push_str(&secret);
        // A run of digits is the public half of its secret.
        if set != super::super::set::DIGIT {
            secrets.push(secret);
        }
        rest = behind;
    }
    text.push_str(rest);
    (text.replace("\\n", "\n").replace("\\\n", "\\n"), secrets)
}

/// Seeded random numbers (splitmix64).
pub(in super::super) struct Random(pub(in super::super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(in super::super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

/// Returns a part of a secret that is long enough to reveal something and is still in the text.
pub(super) fn leak<'s>(sample: &'s Sample, masked: &str) -> Option<&'s str> {
    let parts = sample
        .secrets
        .iter()
        .flat_map(|secret| (0..secret.len()).filter_map(|at| secret.get(at..at + 8)));
    parts.into_iter().find(|part| masked.contains(part))
}

#[test]
fn every_rule_covers_its_secrets_and_nothing_else() {
    let masker = masker();
    let mut wrong = Vec::new();
    for seed in 0..4 {
        for sample in samples(seed) {
            let masked = masker.mask_text(&sample.text);
            let covered = masked.contains(&format!("[masked:{}:", sample.rule));
            let leaks = sample.is_secret && leak(&sample, &masked).is_some();
            if covered != sample.is_secret || leaks {
                wrong.push(format!(
                    "{} {} {:?} became {masked:?}",
                    sample.rule, sample.is_secret, sample.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_samples_of_both_kinds() {
    let mut known: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    for sample in samples(0) {
        known.entry(sample.rule).or_default().insert(sample.is_secret);
    }
    let rules = rule::rules(Tiers::ALL.and(Tiers::PERSONAL));
    let bare: Vec<&str> = rules
        .iter()
        .map(|rule| rule.id.as_str())
        .filter(|id| *id != "registered" && known.get(id).map_or(0, BTreeSet::len) < 2)
        .collect();
    assert!(bare.is_empty(), "without samples: {bare:?}");
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    assert!(known.keys().all(|id| ids.contains(id)), "samples of rules that are there");
}

#[test]
fn tiers_are_independent() {
    let text = "password=hunter2x and correct-horse-battery";
    let only = |list: &str| {
        let mut masker = Masker::new(Tiers::parse(list).unwrap(), &[7; 32]);
        masker.register("correct-horse-battery");
        let masked = masker.mask_text(text);
        (masked.contains("[masked:password:"), masked.contains("[masked:registered:"))
    };
    assert_eq!((only("0"), only("1"), only("2")), ((false, true), (false, false), (true, false)));
    assert_eq!(only("0,1,2"), (true, true));
    assert_eq!((Tiers::parse("4"), Tiers::parse("")), (None, None));
}
