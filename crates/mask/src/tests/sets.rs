//! The measured sets: the share of secrets that are covered, and the share of harmless texts that are.
//!
//! A generator makes each set, so that no set holds a real secret. `docs/masking.md` has the figures.

use super::benign;
use super::in_pieces;
use super::samples::{Random, Sample, leak, samples};
use crate::rule::{self, Rule};
use crate::{Masker, Tiers};
use std::fmt::Write as _;

/// The surroundings of secrets: the text before and after, and how often the whole is escaped as JSON.
const SURROUNDINGS: [(&str, &str, u8); 12] = [
    ("The deployment fails because the old credential ", " was revoked last night, so I need", 0),
    ("Wait, the log has ", ". That explains the 401.", 0),
    ("    let client = Client::new(\"", "\");\n", 1),
    ("{\"role\":\"user\",\"content\":\"use ", " please\"}", 1),
    ("{\"arguments\":\"{\\\"value\\\":\\\"", "\\\"}\"}", 2),
    ("services:\n  app:\n    args:\n      - ", "\n      - --verbose\n", 0),
    ("https://api.example.org/v1/items?limit=20&k=", "&page=2", 0),
    ("$ curl -s -H 'x: ", "' https://api.example.org/", 0),
    ("| staging | `", "` | rotated weekly |\n", 0),
    ("> ", "\n\nThe quoted line above is what he sent.\n", 0),
    ("<td>", "</td>", 0),
    ("2026-01-31T08:15:30Z WARN retry 3 of 5 ", "\n2026-01-31T08:15:31Z INFO ok\n", 0),
];

/// The secret of a sample without its surroundings, if it may occur anywhere.
fn bare<'s>(sample: &'s Sample, rules: &[Rule]) -> Option<&'s str> {
    let is_certain = rules.iter().any(|rule| rule.id == sample.rule && rule.tier == 1);
    let wrappers =
        [("key is ", ", then"), ("KEY=", "\nNEXT"), ("(", ")"), ("\"", "\""), ("a: ", "")];
    let inner = wrappers.iter().find_map(|(before, behind)| {
        sample.text.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind))
    })?;
    let is_plain = !inner.contains([' ', '"', '\'', '\\', '\n', '<', '&', '#', '`', '|']);
    (is_certain && sample.is_secret && is_plain).then_some(inner)
}

fn as_json(text: &str, times: u8) -> String {
    (0..times).fold(text.to_owned(), |text, _| {
        let mut json = String::new();
        thinkthrough_json::write_escaped(&text, &mut json);
        json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap().to_owned()
    })
}

/// The pieces of a text, as a model's deltas come.
fn deltas<'t>(text: &'t str, random: &mut Random) -> Vec<&'t [u8]> {
    let mut rest = text.as_bytes();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(12)).min(rest.len()));
        all.push(piece);
        rest = behind;
    }
    all
}

#[test]
fn set_a_secrets_by_their_form_are_covered_wherever_they_stand() {
    let masker = Masker::new(Tiers::CERTAIN, &[7; 32]);
    let rules = rule::rules(Tiers::CERTAIN);
    let mut random = Random(11);
    let (mut all, mut missed) = (0, Vec::new());
    for seed in 20..22 {
        for sample in samples(seed) {
            let Some(inner) = bare(&sample, &rules) else { continue };
            for (before, behind, times) in SURROUNDINGS {
                let text = format!("{before}{}{behind}", as_json(inner, times));
                let masked = in_pieces(&masker, deltas(&text, &mut random));
                let masked = String::from_utf8(masked).unwrap();
                all += 1;
                if !masked.contains("[masked:") || leak(&sample, &masked).is_some() {
                    missed.push(format!("{}: {text:?} became {masked:?}", sample.rule));
                }
                assert_eq!(masked, masker.mask_text(&text), "cut otherwise");
            }
        }
    }
    println!("set A: {all} secrets, {} missed", missed.len());
    assert!(all >= 5_000, "{all}");
    assert!(missed.len() * 1_000 <= all * 5, "{} of {all}\n{}", missed.len(), missed.join("\n"));
}

/// Encodes a text in base64 by the letter of RFC 4648, with that many bytes before it and without its end: only the
/// letters that depend on the text alone.
fn base64(bytes: &[u8], shift: usize, last: [char; 2]) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last).collect();
    let bits: Vec<u8> = std::iter::repeat_n(&b'x', shift)
        .chain(bytes)
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
        .collect();
    let groups =
        bits.chunks(6).enumerate().filter(|(at, group)| group.len() == 6 && at * 6 >= shift * 8);
    groups
        .map(|(_, group)| letters[group.iter().fold(0, |sum, bit| sum << 1 | usize::from(*bit))])
        .collect()
}

/// Every way to write a value that the documentation names.
fn encodings(value: &str) -> Vec<String> {
    let hex = value.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let percent = value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    });
    let mut all = vec![
        value.to_owned(),
        as_json(value, 1),
        as_json(value, 2),
        percent,
        hex.to_uppercase(),
        hex,
    ];
    for quotes in [["\"", "'"], ["&quot;", "&apos;"], ["&#34;", "&#39;"], ["&quot;", "&#x27;"]] {
        let text = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        all.push(text.replace('"', quotes[0]).replace('\'', quotes[1]));
    }
    for shift in 0..3 {
        let [text, for_urls] =
            [['+', '/'], ['-', '_']].map(|last| base64(value.as_bytes(), shift, last));
        all.extend([for_urls, text.replace('+', "%2B").replace('/', "%2F")]);
        all.extend([text.replace('/', "\\/"), text]);
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn set_b_registered_values_are_covered_in_every_encoding_and_every_split() {
    let mut random = Random(12);
    let alphabets =
        ["abcdefghijklmnop0123456789", "ABCdefGHI/+=789", "pässwörd-ß é!", "a\"b\\c 'd$e%f&g"];
    let values: Vec<String> = (0..350)
        .map(|at| {
            let letters: Vec<char> = alphabets[at % alphabets.len()].chars().collect();
            (0..10 + random.below(20)).map(|_| letters[random.below(letters.len())]).collect()
        })
        .map(|value: String| format!("v{}x", value.trim()))
        .collect();
    let mut masker = Masker::new(Tiers::REGISTERED, &[9; 32]);
    assert!(values.iter().all(|value| masker.register(value)));
    let mut cases = 0;
    for form in values.iter().flat_map(|value| encodings(value)) {
        let text = format!("see {form}, so");
        let whole = masker.mask_text(&text);
        assert!(whole.starts_with("see [masked:registered:"), "{form} became {whole}");
        let leaks = form
            .as_bytes()
            .windows(8)
            .any(|part| std::str::from_utf8(part).is_ok_and(|part| whole.contains(part)));
        assert!(!leaks, "{form} became {whole}");
        for cut in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            assert_eq!(in_pieces(&masker, [one, two]), whole.as_bytes(), "{form} cut at {cut}");
            cases += 1;
        }
    }
    println!("set B: {cases} cases");
    assert!(cases >= 100_000, "{cases}");
}

#[test]
fn set_d_text_without_secrets_is_left_as_it_is() {
    // The figures of the documentation are of 40 MB: `THINKTHROUGH_BENIGN_MB=40`.
    let megabytes = std::env::var("THINKTHROUGH_BENIGN_MB").ok().and_then(|mb| mb.parse().ok());
    let text = benign::text(megabytes.unwrap_or(5) << 20, 13);
    let covered = |tiers: Tiers| -> Vec<String> {
        let masked = Masker::new(tiers, &[7; 32]).mask_text(&text);
        let found = masked.lines().flat_map(|line| {
            let shown: String = line.chars().take(160).collect();
            std::iter::repeat_n(shown, line.matches("[masked:").count())
        });
        found.collect()
    };
    let personal = Tiers::PERSONAL;
    for (tiers, tenths, name) in
        [(Tiers::CERTAIN, 2, "0,1"), (Tiers::ALL, 10, "0,1,2"), (personal, 10, "3")]
    {
        let hits = covered(tiers);
        if megabytes.is_some() {
            hits.iter().for_each(|hit| println!("{hit}"));
        }
        println!("set D: {} hits of tiers {name} in {} MB", hits.len(), text.len() >> 20);
        assert!(hits.len() * 10 <= tenths * (text.len() >> 20), "{name}:\n{}", hits.join("\n"));
    }
}
