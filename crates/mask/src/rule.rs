//! The rules, as listed in the tables under `rules/`.
//!
//! A line has an id, a tier, how it looks for its secret, and patterns or words, with tabs between.

use super::Tiers;
use super::command::Flag;
use super::judge::Kind;
use super::pattern::Pattern;
use super::personal::Personal;
use super::set::Set;

/// The tables. If two rules cover the same text, the earlier one wins.
const TABLES: [&str; 5] = [
    include_str!("rules/forms.tsv"),
    include_str!("rules/keys.tsv"),
    include_str!("rules/services.tsv"),
    include_str!("rules/names.tsv"),
    include_str!("rules/personal.tsv"),
];

/// How a rule looks for its secret.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// By its own form, which must not continue another word. With `is_general`, a form with a longer beginning takes
    /// precedence; with `has_lines`, the secret goes on line by line as a body of base64; with `has_length`, only the
    /// length identifies the form, because its prefix is a common word.
    Form {
        patterns: Vec<Pattern>,
        left: Left,
        wants: Wants,
        is_general: bool,
        has_lines: bool,
        has_length: bool,
    },
    /// By its own form, whose fixed letters follow a run of random ones.
    Lead { patterns: Vec<Pattern>, wants: Wants },
    /// By its form behind a name; with `is_direct`, no sign is needed between them.
    Near { names: Vec<String>, values: Vec<Pattern>, wants: Wants, is_direct: bool },
    /// The credential in the header of one of these names.
    Header { names: Vec<String> },
    /// The whole value of the header of one of these names.
    Line { names: Vec<String> },
    /// After a name, if the value looks like a secret; with `is_word`, the name is too short to be searched inside
    /// of other names.
    Assigned { names: Vec<String>, kind: Kind, is_word: bool },
    /// In the sentence behind a cue; with `is_weak`, the cue only says that a person logs in.
    Sentence { cues: Vec<String>, is_weak: bool },
    /// In a document of Kubernetes.
    Manifest { names: Vec<String> },
    /// On the line of a program, behind one of these flags.
    Command { programs: Vec<String>, flags: Vec<Flag> },
    /// Anywhere, by its form and its sum.
    Personal(Personal),
    /// In the address of a service.
    Address,
    /// A block of lines.
    Block { openings: Vec<String> },
    /// One of the values that were registered.
    Registered,
}

/// The further condition for a secret besides its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// No further condition: letters and length leave no doubt.
    Nothing,
    /// It is no example.
    NoSample,
    /// It looks drawn.
    Drawn,
    /// It looks drawn and has letters: numbers alone name an account, not a secret.
    Letters,
}

/// The condition for the byte before a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// No letter and no digit.
    Bound,
    /// Anything.
    Any,
    /// A digit.
    Digit,
}

/// A rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) tier: u8,
    pub(super) look: Look,
    pub(super) caseless: bool,
    /// Whether its names are those of constants, in large letters only.
    pub(super) is_large: bool,
}

/// The index of the rule for registered values, which always exists.
pub(super) const REGISTERED: usize = 0;

/// Returns all rules of these tiers. Skips invalid lines; a test ensures that there are no such lines.
pub(super) fn rules(tiers: Tiers) -> Vec<Rule> {
    let registered = Rule {
        id: "registered".to_owned(),
        tier: 0,
        look: Look::Registered,
        caseless: false,
        is_large: false,
    };
    let read = lines().filter_map(|line| rule(line).ok()).filter(|rule| tiers.has(rule.tier));
    let read: Vec<Rule> = read.collect();
    let of_any_length: Vec<Rule> = read.iter().filter_map(Rule::of_any_length).collect();
    std::iter::once(registered).chain(read).chain(of_any_length).collect()
}

/// A digest of all rules. A masked text can store it to name the rules that it was masked with.
pub(super) fn version() -> [u8; 32] {
    let mut digest = blake3::Hasher::new();
    TABLES.iter().for_each(|table| {
        digest.update(table.as_bytes());
    });
    *digest.finalize().as_bytes()
}

fn lines() -> impl Iterator<Item = &'static str> {
    let lines = TABLES.iter().flat_map(|table| table.lines());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn rule(line: &str) -> Result<Rule, String> {
    let mut cells = line.split('\t');
    let mut cell = || cells.next().ok_or_else(|| format!("too few cells: {line}"));
    let (id, tier, how) = (cell()?, cell()?, cell()?);
    let rest: Vec<&str> = cells.collect();
    let tier = tier.parse().map_err(|_| format!("no tier: {line}"))?;
    let names = |text: &str| text.split('|').map(str::to_ascii_lowercase).collect();
    let first = rest.first().copied().unwrap_or_default();
    let marks: Vec<&str> = how.split(',').collect();
    let has = |mark: &str| marks.contains(&mark);
    let look = match marks.first().copied().unwrap_or_default() {
        "form" => Look::Form {
            patterns: patterns(&rest, 2)?,
            left: match (has("any"), has("digit")) {
                (true, _) => Left::Any,
                (_, true) => Left::Digit,
                _ => Left::Bound,
            },
            wants: match (has("sure"), has("mixed")) {
                (true, _) => Wants::Nothing,
                (_, true) => Wants::Drawn,
                _ => Wants::NoSample,
            },
            is_general: has("general"),
            has_lines: has("lines"),
            has_length: has("length") || has("caseless"),
        },
        "lead" => {
            let patterns = patterns(&rest, 0)?;
            if patterns.iter().any(|pattern| pattern.lead().is_none()) {
                return Err(format!("no lead: {line}"));
            }
            let wants = if has("mixed") { Wants::Drawn } else { Wants::NoSample };
            Look::Lead { patterns, wants }
        }
        "near" => Look::Near {
            names: names(first),
            values: patterns(rest.get(1..).unwrap_or_default(), 0)?,
            wants: match (has("sure"), has("plain")) {
                (true, _) => Wants::Nothing,
                (_, true) => Wants::NoSample,
                _ => Wants::Drawn,
            },
            is_direct: has("direct"),
        },
        "sentence" => Look::Sentence { cues: names(first), is_weak: has("weak") },
        "manifest" => Look::Manifest { names: names(first) },
        "header" => Look::Header { names: names(first) },
        "line" => Look::Line { names: names(first) },
        "password" => {
            Look::Assigned { names: names(first), kind: Kind::Password, is_word: has("word") }
        }
        "key" => Look::Assigned { names: names(first), kind: Kind::Key, is_word: has("word") },
        "drawn" => Look::Assigned { names: names(first), kind: Kind::Drawn, is_word: false },
        "command" => Look::Command {
            programs: first.split('|').map(str::to_owned).collect(),
            flags: rest.get(1).copied().unwrap_or_default().split('|').map(Flag::parse).collect(),
        },
        "personal" => Look::Personal(
            Personal::parse(first).ok_or_else(|| format!("nothing of people: {line}"))?,
        ),
        "address" => Look::Address,
        "block" => Look::Block { openings: rest.iter().map(|text| (*text).to_owned()).collect() },
        _ => return Err(format!("no way to look: {line}")),
    };
    Ok(Rule { id: id.to_owned(), tier, look, caseless: has("caseless"), is_large: has("large") })
}

/// Returns the patterns of some cells. Quotes in them also match escaped quotes.
fn patterns(cells: &[&str], least: usize) -> Result<Vec<Pattern>, String> {
    let mut all = Vec::new();
    for cell in cells {
        all.extend(Pattern::parse(cell).map_err(|error| format!("{cell}: {error}"))?);
    }
    let short = all.iter().find(|pattern| pattern.literal().len() < least);
    match short {
        None if !all.is_empty() => Ok(all),
        _ => Err(format!("{cells:?}: a pattern begins with {least} letters or more")),
    }
}

impl Rule {
    /// Returns the rule for the same secrets at undocumented lengths. It comes after all more specific rules.
    fn of_any_length(&self) -> Option<Rule> {
        let Look::Form { patterns, left: Left::Bound, has_length: false, .. } = &self.look else {
            return None;
        };
        let patterns: Vec<Pattern> = patterns.iter().filter_map(Pattern::of_any_length).collect();
        let look = Look::Form {
            patterns,
            left: Left::Bound,
            wants: Wants::Letters,
            is_general: true,
            has_lines: false,
            has_length: true,
        };
        let has_any = matches!(&look, Look::Form { patterns, .. } if !patterns.is_empty());
        has_any.then(|| Rule { look, ..self.clone() })
    }

    /// Returns the texts by which the rule is found, each with whether case is ignored, and with the bytes that may
    /// follow.
    pub(super) fn anchors(&self) -> Vec<(Vec<u8>, bool, Set)> {
        let texts = |names: &[String], caseless: bool| {
            // A name of two letters must be followed by its closing character or its sign.
            let then = |name: &str| if name.len() < 3 { Set::of(" :=\"'`\\") } else { Set::NONE };
            // Only letters of ASCII are compared without case: others are looked for in each.
            let cases = |name: &String| {
                let mut cases = vec![name.clone()];
                let mut letters = name.chars();
                if caseless && !name.is_ascii() {
                    let first = letters.next().map(char::to_uppercase);
                    cases.push(first.into_iter().flatten().chain(letters).collect());
                    cases.push(name.to_uppercase());
                    cases.iter_mut().for_each(|name| name.make_ascii_lowercase());
                    cases.dedup();
                }
                cases
            };
            let anchor = |name: String| match self.is_large {
                true => (name.to_ascii_uppercase().into_bytes(), false, then(&name)),
                false => (name.as_bytes().to_vec(), caseless, then(&name)),
            };
            names.iter().flat_map(cases).map(anchor).collect()
        };
        match &self.look {
            Look::Form { patterns, .. } => patterns
                .iter()
                .map(|pattern| {
                    let then = pattern.second().unwrap_or(Set::NONE);
                    let mut literal = pattern.literal().to_vec();
                    if self.caseless {
                        literal.make_ascii_lowercase();
                    }
                    (literal, self.caseless, then)
                })
                .collect(),
            Look::Near { names, .. }
            | Look::Header { names }
            | Look::Line { names }
            | Look::Assigned { names, .. }
            | Look::Sentence { cues: names, .. } => texts(names, true),
            Look::Manifest { names } => texts(names, false),
            Look::Address => {
                vec![(b"://".to_vec(), false, Set::NONE), (b"%3a%2f%2f".to_vec(), true, Set::NONE)]
            }
            Look::Block { openings } => texts(openings, false),
            Look::Command { programs, .. } => programs
                .iter()
                .map(|name| (name.as_bytes().to_vec(), false, Set::of(" \t")))
                .collect(),
            Look::Lead { .. } | Look::Personal(_) | Look::Registered => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_line_is_a_rule_and_no_id_stands_twice() {
        let mut ids = BTreeSet::new();
        for line in lines() {
            let rule = rule(line).unwrap_or_else(|error| panic!("{error}"));
            assert!(ids.insert(rule.id.clone()), "{} stands twice", rule.id);
            assert!((1..=3).contains(&rule.tier), "{line}");
            assert!(
                rule.id.len() <= 48
                    && rule.id.bytes().all(|byte| byte.is_ascii_lowercase()
                        || byte.is_ascii_digit()
                        || byte == b'-'),
                "{line}"
            );
            for (literal, _, then) in rule.anchors() {
                assert!(literal.len() >= 3 || (literal.len() == 2 && then != Set::NONE), "{line}");
            }
        }
        assert!(ids.len() >= 200, "{} rules", ids.len());
    }

    #[test]
    fn marks_change_what_a_rule_begins_with() {
        let begins = |line: &str| -> Vec<String> {
            let anchors = rule(line).unwrap().anchors().into_iter();
            anchors.map(|(literal, ..)| String::from_utf8(literal).unwrap()).collect()
        };
        assert_eq!(begins("a\t2\tkey\t_KEY"), ["_key"]);
        assert_eq!(begins("a\t2\tkey,large\t_KEY"), ["_KEY"]);
    }

    #[test]
    fn lines_that_are_no_rules_are_refused() {
        for bad in [
            "a",
            "a\t1\tform",
            "a\tx\tform\tabc",
            "a\t1\tform\tx{a3}",
            "a\t1\tlooks\tabc",
            "a\t1\tlead\tabc",
        ] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }
}
