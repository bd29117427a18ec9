//! Finds secrets in text and puts placeholders in their place.
//!
//! [`Masker`] holds the rules of some tiers and the registered values; [`MaskStream`] masks a text as it arrives. The
//! output does not depend on the cuts of a text and is never retracted: a [`MaskStream`] holds back bytes that may
//! still turn out to be a secret, in bounded memory. [`mask_json`] masks the strings of a body, and [`mask_request`]
//! those texts of a request to a model that may change without breaking the conversation.
//!
//! ```
//! use thinkthrough_mask::{Masker, Tiers};
//! let mut masker = Masker::new(Tiers::ALL, &[7; 32]);
//! masker.register("correct horse battery");
//! let masked = masker.mask_text("it is correct%20horse%20battery, not more");
//! assert!(masked.starts_with("it is [masked:registered:") && masked.ends_with("], not more"));
//! assert_eq!(masker.mask_text(&masked), masked);
//! ```
//!
//! Every rule searches from each place of the text by itself, and the masker covers the union of the findings. So the
//! output depends neither on the order of the findings nor on the cuts. The rules are data (`rules/*.tsv`), each in a
//! small language for the form of its secret. No rule reads one place twice, so that masking takes time linear in the
//! text.
#![doc(test(attr(deny(warnings))))]

mod address;
mod assigned;
mod begin;
mod block;
mod body;
mod command;
mod element;
mod escape;
mod filter;
mod find;
mod header;
mod judge;
mod lead;
mod manifest;
mod name;
mod pattern;
mod personal;
mod registered;
mod request;
mod rule;
mod sentence;
mod set;
mod sign;
mod stream;
mod tag;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use address::passwords;
pub use body::{Opaque, mask_json};
pub use request::mask_request;
pub use stream::MaskStream;

use filter::{Anchor, Filter};
use lead::Leads;
use personal::Personal;
use registered::Form;
use rule::{Look, REGISTERED, Rule};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tag::TagKey;

/// The replacement of a text whose masker broke: no part of the text is shown then.
pub const BROKEN: &str = "[masked:error]";

/// The set of rules in use: the tiers of `docs/masking.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers(u8);

impl Tiers {
    /// Registered values only.
    pub const REGISTERED: Tiers = Tiers(0b001);
    /// Registered values, and secrets that their own form identifies.
    pub const CERTAIN: Tiers = Tiers(0b011);
    /// Also secrets that the name before them identifies.
    pub const ALL: Tiers = Tiers(0b111);
    /// Personal data: mail addresses, and numbers of cards and persons.
    pub const PERSONAL: Tiers = Tiers(0b1000);

    /// The tiers of both sets.
    #[must_use]
    pub const fn and(self, other: Tiers) -> Tiers {
        Tiers(self.0 | other.0)
    }

    /// Parses a list of tiers such as `0,1`; `None` if the list is empty or names an unknown tier.
    #[must_use]
    pub fn parse(list: &str) -> Option<Tiers> {
        let mut tiers = 0;
        for tier in list.split(',') {
            tiers |= match tier.trim() {
                "0" => 0b001,
                "1" => 0b010,
                "2" => 0b100,
                "3" => 0b1000,
                _ => return None,
            };
        }
        Some(Tiers(tiers))
    }

    fn has(self, tier: u8) -> bool {
        self.0 >> tier & 1 == 1
    }
}

/// Finds secrets and covers them. Copies share their rules.
#[derive(Clone)]
pub struct Masker {
    rules: Arc<Rules>,
    key: TagKey,
    tiers: Tiers,
    /// The text at which it breaks, for tests.
    breaks: Option<&'static str>,
}

#[derive(Clone)]
struct Rules {
    rules: Vec<Rule>,
    filter: Filter,
    forms: Vec<Form>,
    /// The rules whose secrets may begin at any word.
    personal: Vec<(usize, Personal)>,
    /// The rules whose secrets begin with a run of letters.
    leads: Leads,
}

impl Masker {
    /// Makes a masker with the rules of these tiers. `key` makes the tags of placeholders: equal secrets have equal
    /// tags under one key, and guesses cannot be tried without it.
    #[must_use]
    pub fn new(tiers: Tiers, key: &[u8; 32]) -> Self {
        let rules = rule::rules(tiers);
        let mut filter = Filter::new();
        let placeholder =
            Anchor { literal: tag::opening(), caseless: false, rule: find::PLACEHOLDER, part: 0 };
        filter.add(placeholder, set::Set::NONE);
        let (mut personal, mut leads) = (Vec::new(), Leads::default());
        for (at, rule) in rules.iter().enumerate() {
            if let Look::Personal(kind) = rule.look {
                personal.push((at, kind));
            }
            if let Look::Lead { patterns, .. } = &rule.look {
                patterns.iter().for_each(|pattern| leads.add(at, pattern));
            }
            for (part, (literal, caseless, then)) in rule.anchors().into_iter().enumerate() {
                filter.add(Anchor { literal, caseless, rule: at, part }, then);
            }
        }
        if !personal.is_empty() {
            filter.add_first(personal::FIRST);
        }
        let rules = Rules { rules, filter, forms: Vec::new(), personal, leads };
        Masker { rules: Arc::new(rules), key: TagKey::new(key), tiers, breaks: None }
    }

    /// Covers this value from now on, in all its encodings. Returns false if the value is not covered: if it has
    /// fewer than eight bytes, which may occur anywhere, or if the tier of registered values is left out. Streams
    /// that already began do not cover it.
    ///
    /// The masker does not store the value itself, only keyed digests of its forms and their first bytes.
    pub fn register(&mut self, value: &str) -> bool {
        let value = value.trim();
        if value.len() < registered::SHORTEST || !self.tiers.has(0) {
            return false;
        }
        let forms = registered::forms(value, &self.key);
        let rules = Arc::make_mut(&mut self.rules);
        for (literal, form) in forms {
            if rules.forms.iter().any(|known| known.fingerprint == form.fingerprint) {
                continue;
            }
            let part = rules.forms.len();
            rules.forms.push(form);
            rules
                .filter
                .add(Anchor { literal, caseless: false, rule: REGISTERED, part }, set::Set::NONE);
        }
        true
    }

    /// The same masker, except that it panics at this text: for tests of the output in that case.
    #[doc(hidden)]
    #[must_use]
    pub fn breaking_at(self, text: &'static str) -> Self {
        Masker { breaks: Some(text), ..self }
    }

    /// A digest of the rules. A masked text can store it to name the rules that it was masked with.
    #[must_use]
    pub fn version() -> [u8; 32] {
        rule::version()
    }

    /// The ids of all rules of its tiers.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.rules.rules.iter().map(|rule| rule.id.as_str())
    }

    /// Masks a text as it comes.
    #[must_use]
    pub fn stream(&self) -> MaskStream {
        MaskStream::new(self.clone())
    }

    /// Masks bytes.
    #[must_use]
    pub fn mask(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(bytes.len() + 64);
        stream.push(bytes, &mut out);
        stream.end(&mut out);
        out
    }

    /// Masks a text. If masking breaks, the output is [`BROKEN`].
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8(self.mask(text.as_bytes()))
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Masks the value of a member of this name: the whole value if the name announces a secret and the value looks
    /// like one, else the secrets in it.
    #[must_use]
    pub fn mask_named(&self, name: &str, value: &str) -> String {
        match catch_unwind(AssertUnwindSafe(|| find::named(self, name, value))) {
            Err(_) => BROKEN.to_owned(),
            Ok(Some((rule, tag))) => {
                let mut out = Vec::new();
                tag.write(rule, &mut out);
                String::from_utf8(out).unwrap_or_default()
            }
            Ok(None) => self.mask_text(value),
        }
    }

    fn look(&self, rule: usize) -> Option<&Look> {
        self.rules.rules.get(rule).map(|rule| &rule.look)
    }
}

/// Leaves out keys and registered values.
impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rules, registered) = (self.rules.rules.len(), self.rules.forms.len());
        write!(f, "Masker({rules} rules, {registered} registered forms)")
    }
}
