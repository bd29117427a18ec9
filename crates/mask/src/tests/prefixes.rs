//! Secrets behind the prefix of a service, at undocumented lengths.

use super::super::Tiers;
use super::super::rule::{Look, rules};
use super::super::set::ALNUM;
use super::masker;
use super::samples::Random;

/// Draws letters of a set; at least every fourth is a digit, because nearly all random values have some.
fn drawn(letters: &[u8], length: usize, seed: u64) -> String {
    let digits: Vec<u8> = letters.iter().copied().filter(u8::is_ascii_digit).collect();
    let mut random = Random(seed);
    let mut letter = |place: usize| {
        let from = if place % 4 == 3 && !digits.is_empty() { &digits } else { letters };
        char::from(from[random.below(from.len())])
    };
    (0..length).map(&mut letter).collect()
}

#[test]
fn a_prefix_of_its_own_tells_a_secret_of_any_length() {
    let masker = masker();
    let (mut wrong, mut prefixes) = (Vec::new(), 0);
    for rule in rules(Tiers::CERTAIN) {
        let Look::Form { patterns, is_general: true, has_length: true, .. } = &rule.look else {
            continue;
        };
        for pattern in patterns {
            let letters: Vec<u8> = pattern.second().unwrap().bytes().collect();
            let letters: Vec<u8> = letters.into_iter().filter(|byte| ALNUM.has(*byte)).collect();
            if letters.is_empty() {
                continue;
            }
            let prefix = std::str::from_utf8(pattern.beginning()).unwrap();
            prefixes += 1;
            for length in [16, 27, 62, 131, 700] {
                let secret = drawn(&letters, length, length as u64 + prefixes);
                let masked = masker.mask_text(&format!("it is {prefix}{secret}, I think"));
                let shown =
                    masked.split_once("[masked:").is_none_or(|(before, _)| before != "it is ");
                if shown || !masked.ends_with(", I think") {
                    wrong.push(format!("{} {prefix}{secret} became {masked}", rule.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(prefixes > 200, "{prefixes} prefixes");
}

#[test]
fn the_service_is_named_whatever_the_length() {
    let masker = masker();
    for (key, rule) in [
        (
            format!("sk-ant-api03-{}", "Zq7Rm2Xw9Kd4".repeat(6).get(..62).unwrap()),
            "anthropic-api-key",
        ),
        (
            format!("sk-ant-api03-{}", drawn(b"qwertzuiopasdfghjklyxcvbnm", 62, 5)),
            "anthropic-api-key",
        ),
        (
            format!("sk-ant-api03-{}", drawn(b"QWERTZUIOPASDFGHJKLYXCVBNM", 93, 7)),
            "anthropic-api-key",
        ),
        ("sk-or-v1-Zq7Rm2Xw9Kd4Tb5Y".to_owned(), "openrouter-api-key"),
        ("sk-or-v1-qxwzvkjhgtrdpmnl".to_owned(), "openrouter-api-key"),
        ("ghp_Zq7Rm2Xw9Kd4Tb5Y".to_owned(), "github-token"),
        (format!("AKIA{}", "Z7Q2R5M3XW6KD4TBN7VP"), "aws-access-key-id"),
        (format!("npm_{}", "Zq7Rm2Xw9Kd4Tb5Yh8Lc"), "npm-token"),
    ] {
        let masked = masker.mask_text(&format!("key {key} end"));
        assert!(masked.starts_with(&format!("key [masked:{rule}:")), "{key} became {masked}");
        assert!(masked.ends_with("] end"), "{masked}");
    }
    for name in [
        "ghp_",
        "sk-ant-api03-",
        "npm_config_registry_url",
        "github_pat_short1",
        "glpat-see-the-manual",
        "sk-or-v1-theplaceholderkey",
        "sk-ant-api03-configurationfile",
        "sk-ant-api03-internationalization",
    ] {
        assert_eq!(masker.mask_text(name), name);
    }
}
