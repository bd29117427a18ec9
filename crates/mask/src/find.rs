//! Finds the secrets that begin at one position of a text.

use super::assigned::{self, Start};
use super::judge::{self, Kind};
use super::pattern::{Fit, Pattern};
use super::rule::{Look, REGISTERED, Wants};
use super::set::{BLANK, NAME, Set};
use super::tag::{self, Tag};
use super::text::{More, Text};
use super::{
    Masker, address, begin, block, command, header, lead, manifest, name, personal, sentence,
};

/// The rule index of our own placeholders, which stay as they are.
pub(super) const PLACEHOLDER: usize = usize::MAX;

/// A secret, or its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) rule: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) open: Open,
    /// The tag, if it is not computed from the covered bytes.
    pub(super) tag: Option<Tag>,
}

/// How a secret goes on behind the part that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Not at all.
    Closed,
    /// With all bytes of a set.
    Set(Set),
    /// With the lines of a block, each behind this prefix.
    Block(block::Lead),
}

/// Something that begins at a place.
pub(super) enum Begins {
    Secret(Found),
    /// A placeholder that ends here.
    Placeholder(usize),
}

/// Adds the secrets and placeholders that begin at `at` to `take`. Skips a rule if `is_done` says so.
pub(super) fn at(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    is_done: &dyn Fn(usize) -> bool,
    take: &mut Vec<Begins>,
) -> Result<(), More> {
    let rest = text.part(at, text.len());
    for anchor in masker.rules.filter.at(rest) {
        if is_done(anchor.rule) {
            continue;
        }
        // The check that most anchors fail comes first.
        let is_there = text.continues(at, &anchor.literal, anchor.caseless);
        if is_there == Ok(false)
            || !begin::is_left_fine(masker, anchor.rule, text, at)
            || !is_there?
        {
            continue;
        }
        if anchor.rule == PLACEHOLDER {
            take.extend(tag::placeholder(text, at)?.map(Begins::Placeholder));
            continue;
        }
        let length = anchor.literal.len();
        if let Some(Look::Manifest { .. }) = masker.look(anchor.rule) {
            of_manifest(text, at, anchor.rule, anchor.part, length, take)?;
            continue;
        }
        if begin::straddles(masker, text, at, anchor)? {
            continue;
        }
        let found = match anchor.rule {
            REGISTERED => registered(masker, text, at, anchor.part)?,
            rule => by_rule(masker, text, at, rule, anchor.part, length)?,
        };
        if found.is_empty() || is_outdone(masker, text, at, anchor)? {
            continue;
        }
        for found in found {
            if found.to > found.from && !tag::meets(text, at, found.to)? {
                take.push(Begins::Secret(found));
            }
        }
    }
    if masker.rules.personal.is_empty() || !personal::may_begin(text, at) {
        return Ok(());
    }
    for (rule, kind) in &masker.rules.personal {
        if is_done(*rule) {
            continue;
        }
        if let Some(to) = personal::fit(*kind, text, at)?
            && !tag::meets(text, at, to)?
        {
            let found = Found { rule: *rule, from: at, to, open: Open::Closed, tag: None };
            take.push(Begins::Secret(found));
        }
    }
    Ok(())
}

/// Finds the secrets whose lead begins at a position. Covers each of them from the position on from which it was held
/// back.
pub(super) fn leads(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    is_done: &dyn Fn(usize) -> bool,
    take: &mut Vec<Begins>,
) -> Result<(), More> {
    for lead::Maybe { rule, pattern, from } in masker.rules.leads.at(text, at) {
        if is_done(rule) {
            continue;
        }
        let (Some(fit), Some(least)) = (pattern.rest(text, at)?, from) else { continue };
        let Some(Look::Lead { wants, .. }) = masker.look(rule) else { continue };
        let from = fit.from.max(least);
        if wants.is_met(text.part(fit.from, fit.to)) && !tag::meets(text, at, fit.to)? {
            let open = fit.open.map_or(Open::Closed, Open::Set);
            take.push(Begins::Secret(Found { rule, from, to: fit.to, open, tag: None }));
        }
    }
    Ok(())
}

/// Returns the first position of a secret that may begin with the text at `at`: most names come before their secret.
pub(super) fn earliest(masker: &Masker, text: Text<'_>, at: usize) -> usize {
    if !masker.rules.personal.is_empty() && personal::may_begin(text, at) {
        return at;
    }
    let mut earliest = text.len();
    for anchor in masker.rules.filter.at(text.part(at, text.len())) {
        if !begin::is_left_fine(masker, anchor.rule, text, at)
            || text.continues(at, &anchor.literal, anchor.caseless) == Ok(false)
        {
            continue;
        }
        let behind = at + anchor.literal.len();
        let is_before = match masker.look(anchor.rule) {
            Some(
                Look::Assigned { .. } | Look::Sentence { .. } | Look::Near { is_direct: false, .. },
            ) => {
                earliest = earliest.min(behind_name(text, behind));
                continue;
            }
            Some(Look::Address) => {
                earliest = earliest.min(address::earliest(text, behind, anchor.part == 1));
                continue;
            }
            Some(Look::Form { patterns, .. }) => {
                let pattern = patterns.get(anchor.part);
                if pattern.is_some_and(|pattern| pattern.rest(text, at) == Ok(None)) {
                    continue;
                }
                pattern.is_some_and(Pattern::is_before)
            }
            Some(Look::Block { .. } | Look::Lead { .. } | Look::Personal(_) | Look::Registered)
            | None => false,
            Some(
                Look::Near { .. }
                | Look::Header { .. }
                | Look::Line { .. }
                | Look::Manifest { .. }
                | Look::Command { .. },
            ) => true,
        };
        earliest = earliest.min(if is_before { behind } else { at });
    }
    earliest
}

/// Returns the position after the rest of a name and a sign followed by a blank, as far as the text goes: no value
/// begins before it.
fn behind_name(text: Text<'_>, at: usize) -> usize {
    let run = |at: usize, set: Set| {
        at + text.part(at, text.len()).iter().take_while(|byte| set.has(**byte)).count()
    };
    let name = run(run(at, NAME), BLANK);
    match text.part(name, name + 2) {
        [b':' | b'=', blank] if BLANK.has(*blank) => run(name + 1, BLANK),
        _ => name,
    }
}

/// The values of a document, each by itself.
fn of_manifest(
    text: Text<'_>,
    at: usize,
    rule: usize,
    part: usize,
    length: usize,
    take: &mut Vec<Begins>,
) -> Result<(), More> {
    for Fit { from, to, open } in manifest::fits(text, at + length, part == 0)? {
        if !tag::meets(text, from, to)? {
            let open = open.map_or(Open::Closed, Open::Set);
            take.push(Begins::Secret(Found { rule, from, to, open, tag: None }));
        }
    }
    Ok(())
}

/// Whether a general rule yields here to a more specific rule with the same beginning.
fn is_outdone(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    anchor: &super::Anchor,
) -> Result<bool, More> {
    if !matches!(masker.look(anchor.rule), Some(Look::Form { is_general: true, .. })) {
        return Ok(false);
    }
    for other in masker.rules.filter.at(text.part(at, text.len())) {
        if other.literal.len() > anchor.literal.len()
            && matches!(masker.look(other.rule), Some(Look::Form { .. }))
            && text.continues(at, &other.literal, other.caseless)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn registered(masker: &Masker, text: Text<'_>, at: usize, part: usize) -> Result<Vec<Found>, More> {
    let Some(form) = masker.rules.forms.get(part) else { return Ok(Vec::new()) };
    let there = text.part(at, at + form.length);
    if there.len() < form.length {
        return if text.is_whole() { Ok(Vec::new()) } else { Err(More) };
    }
    let is_it = masker.key.fingerprint(there) == form.fingerprint;
    let (from, to) = (at, at + form.length);
    let found = Found { rule: REGISTERED, from, to, open: Open::Closed, tag: Some(form.tag) };
    Ok(is_it.then_some(found).into_iter().collect())
}

fn by_rule(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    rule: usize,
    part: usize,
    literal: usize,
) -> Result<Vec<Found>, More> {
    let Some(look) = masker.look(rule) else { return Ok(Vec::new()) };
    let found = |Fit { from, to, open }| {
        let open = open.map_or(Open::Closed, Open::Set);
        Found { rule, from, to, open, tag: None }
    };
    let behind = at + literal;
    let fit = match look {
        Look::Form { patterns, wants, has_lines, .. } => {
            let fit = patterns.get(part).map(|pattern| form(pattern, text, at, *wants));
            let fit = fit.transpose()?.flatten();
            if let Some(Fit { from, to, .. }) = fit.filter(|_| *has_lines) {
                let open = Open::Block(block::lead_before(text, at));
                return Ok(vec![Found { rule, from, to, open, tag: None }]);
            }
            fit
        }
        Look::Near { values, wants, is_direct, .. } => {
            near(values, text, behind, *wants, *is_direct)?
        }
        Look::Header { .. } => {
            return Ok(header::fits(text, behind)?.into_iter().map(found).collect());
        }
        Look::Line { .. } => header::line(text, behind)?,
        Look::Assigned { is_word: true, .. } if !assigned::is_told(text, behind)? => None,
        Look::Assigned { is_word: true, .. } if assigned::is_verdict(text, at, behind)? => {
            assigned_value(text, behind, Kind::Struck)?
        }
        Look::Assigned { kind: Kind::Key, .. } if name::is_public(text, at) => None,
        Look::Assigned { kind: Kind::Drawn, .. } if name::is_lookup(text, at) => None,
        Look::Assigned { kind, .. } => {
            let first = assigned_value(text, behind, *kind)?;
            return Ok(with_changed(text, first, *kind)?.map(found).collect());
        }
        Look::Sentence { .. } if assigned::is_verdict(text, at, behind)? => None,
        Look::Sentence { cues, is_weak } => {
            let first = sentence::fit(text, behind, cues, *is_weak)?;
            return Ok(with_changed(text, first, Kind::Password)?.map(found).collect());
        }
        Look::Address => address::fit(text, at, part == 1)?,
        Look::Block { .. } => {
            let head = block::head(text, at, literal)?;
            let block = |block::Head { to, lead }| {
                let open = Open::Block(lead);
                Found { rule, from: at, to, open, tag: None }
            };
            return Ok(head.map(block).into_iter().collect());
        }
        Look::Command { flags, .. } => command::fit(text, behind, flags)?,
        Look::Lead { .. } | Look::Personal(_) | Look::Registered | Look::Manifest { .. } => None,
    };
    Ok(fit.map(found).into_iter().collect())
}

/// Returns a value, and the new value that it is changed to.
fn with_changed(
    text: Text<'_>,
    first: Option<Fit>,
    kind: Kind,
) -> Result<impl Iterator<Item = Fit>, More> {
    let second = match first {
        Some(fit) => changed(text, fit, kind)?,
        None => None,
    };
    Ok(first.into_iter().chain(second))
}

/// The value that another one in quotes becomes: `"a" -> "b"`, `"a" to "b"`.
fn changed(text: Text<'_>, fit: Fit, kind: Kind) -> Result<Option<Fit>, More> {
    let quote = match text.byte(fit.to)? {
        Some(quote @ (b'"' | b'\'')) if fit.open.is_none() => quote,
        _ => return Ok(None),
    };
    for becomes in [" -> ", " to ", " => ", " → "] {
        let at = fit.to + 1 + becomes.len();
        if text.continues(fit.to + 1, becomes.as_bytes(), false)? && text.byte(at)? == Some(quote) {
            let (at, quote) = (at + 1, Some(quote));
            return value_of(
                text,
                Start { at, quote, is_prose: false, is_element: false },
                kind,
                false,
            );
        }
    }
    Ok(None)
}

fn form(pattern: &Pattern, text: Text<'_>, at: usize, wants: Wants) -> Result<Option<Fit>, More> {
    let Some(fit) = pattern.rest(text, at)? else { return Ok(None) };
    let secret = text.part(fit.from, fit.to);
    // The name of a variable may take the place of a secret.
    if fit.from > at && name::is_variable(secret) {
        return Ok(None);
    }
    let drawn = secret.strip_prefix(pattern.beginning()).unwrap_or(secret);
    Ok(wants.is_met(drawn).then_some(fit))
}

impl Wants {
    fn is_met(self, value: &[u8]) -> bool {
        match self {
            Wants::Nothing => true,
            Wants::NoSample => !judge::is_sample(value),
            Wants::Drawn => judge::is_drawn(value),
            Wants::Letters => {
                let has_letters = value.iter().any(u8::is_ascii_alphabetic);
                has_letters && judge::is_drawn(value) || judge::is_no_word(value)
            }
        }
    }
}

fn near(
    values: &[Pattern],
    text: Text<'_>,
    at: usize,
    wants: Wants,
    is_direct: bool,
) -> Result<Option<Fit>, More> {
    let from = match assigned::start(text, at, 3)? {
        Some(start) => start.at,
        None if is_direct => at + text.run(at, BLANK, 2)?,
        None if assigned::is_flag(text, at) => {
            match assigned::direct(text, at + text.run(at, NAME, 32)?)? {
                Some(start) => start.at,
                None => return Ok(None),
            }
        }
        None => return Ok(None),
    };
    let name = text.part(at, at + text.run(at, NAME, 32)?);
    for value in values {
        if !text.continues(from, value.literal(), false)? {
            continue;
        }
        if let Some(fit) = value.rest(text, from)? {
            let there = text.part(fit.from, fit.to);
            // Many things have numbers, and their names say so.
            let is_id = there.iter().all(u8::is_ascii_digit) && name::is_about(name);
            if !is_id && wants.is_met(there) {
                return Ok(Some(fit));
            }
        }
    }
    Ok(None)
}

fn assigned_value(text: Text<'_>, at: usize, kind: Kind) -> Result<Option<Fit>, More> {
    let rest = text.run(at, NAME, 32)?;
    if name::is_about(text.part(at, at + rest)) {
        return Ok(None);
    }
    let words = if kind == Kind::Password { 4 } else { 2 };
    if let Some(start) = assigned::start(text, at, words)? {
        let is_set = kind == Kind::Password && rest == 0 && assigned::is_set(text, at, start);
        return value_of(text, start, kind, is_set);
    }
    let is_flag = assigned::is_flag(text, at);
    let kind = match kind {
        Kind::Password if rest == 0 => Kind::Plain,
        Kind::Key if is_flag => Kind::Key,
        _ => return Ok(None),
    };
    match assigned::direct(text, at + rest)? {
        Some(start) => {
            value_of(text, Start { is_prose: start.is_prose && !is_flag, ..start }, kind, false)
        }
        None => Ok(None),
    }
}

/// Returns the value that begins there, if it is a secret. With `is_set`, a plain word may be a value, too.
fn value_of(text: Text<'_>, start: Start, kind: Kind, is_set: bool) -> Result<Option<Fit>, More> {
    let Some(start) = assigned::behind_cmdlet(text, start)? else { return Ok(None) };
    let start = assigned::behind_wrappers(text, start)?;
    let value = assigned::value(text, start)?;
    let mut to = value.to;
    if start.is_prose && start.quote.is_none() {
        let dots = text.part(start.at, to).iter().rev().take_while(|byte| **byte == b'.').count();
        let sign = usize::from(matches!(text.before(to, 1), Some(b'!' | b'?' | b':')));
        to -= dots.max(sign);
    }
    let there = text.part(start.at, to);
    let behind = to + if start.is_element { text.run(to, Set::of(" \t\r\n"), 64)? } else { 0 };
    if start.is_element && !text.continues(behind, b"</", false)? {
        return Ok(None);
    }
    // `name: type = ...`.
    if start.quote.is_none()
        && text.before(start.at, 2) == Some(b':')
        && text.continues(to, b" = ", false)?
    {
        return Ok(None);
    }
    let is_secret = judge::is_secret(there, kind, start.quote.is_some(), start.is_prose)
        || (is_set && judge::is_literal(there));
    Ok(is_secret.then_some(Fit { from: start.at, to, open: value.open }))
}

/// Returns the rule and tag of a member's value, if the member's name says that the whole value is a secret.
pub(super) fn named<'m>(masker: &'m Masker, name: &str, value: &str) -> Option<(&'m str, Tag)> {
    if tag::meets(Text::whole(value.as_bytes()), 0, value.len()).unwrap_or(true) {
        return None;
    }
    let (written, name) = (name, name.to_ascii_lowercase());
    let rules = masker.rules.rules.iter();
    let rule = rules.into_iter().find(|rule| {
        let has = |names: &[String]| names.iter().any(|known| name.contains(known.as_str()));
        match &rule.look {
            Look::Assigned { names, kind, is_word } => {
                let has = |names: &[String]| match is_word {
                    true => names.contains(&name),
                    false => has(names),
                };
                let is_large = |known: &String| written.contains(&known.to_ascii_uppercase());
                has(names)
                    && (!rule.is_large || names.iter().any(is_large))
                    && !(*kind == Kind::Key && name::is_public_name(name.as_bytes()))
                    && !(*kind == Kind::Drawn && name::is_lookup_name(name.as_bytes()))
                    && !name::is_about(name.as_bytes())
                    && judge::is_secret(value.as_bytes(), *kind, true, false)
            }
            Look::Near { names, values, wants, .. } => {
                let text = Text::whole(value.as_bytes());
                let fits = |pattern: &Pattern| {
                    text.continues(0, pattern.literal(), false) == Ok(true)
                        && matches!(pattern.rest(text, 0), Ok(Some(fit)) if fit.to == value.len())
                };
                let is_id = value.bytes().all(|byte| byte.is_ascii_digit())
                    && name::is_about(name.as_bytes());
                has(names) && values.iter().any(fits) && !is_id && wants.is_met(value.as_bytes())
            }
            _ => false,
        }
    })?;
    Some((rule.id.as_str(), masker.key.tag(value.as_bytes())))
}
