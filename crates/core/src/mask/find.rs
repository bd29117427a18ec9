//! What begins at one place of a text.

use super::assigned::{self, Start};
use super::judge::{self, Kind};
use super::pattern::{Fit, Pattern};
use super::rule::{Left, Look, REGISTERED, Wants};
use super::set::{ALNUM, BLANK, PRINTABLE, Set};
use super::tag::{self, Tag};
use super::text::{More, Text};
use super::{Masker, address, block, command, manifest, personal, told};

/// Stands for the rule of our own placeholders, which are left as they are.
pub(super) const PLACEHOLDER: usize = usize::MAX;

/// A secret, or its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) rule: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) open: Open,
    /// The tag, where it is not made of the bytes that are covered.
    pub(super) tag: Option<Tag>,
}

/// How a secret goes on behind what was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Not at all.
    Closed,
    /// With all that is in a set.
    Set(Set),
    /// With the lines of a block.
    Block,
}

/// Something that begins at a place.
pub(super) enum Begins {
    Secret(Found),
    /// A placeholder that ends here.
    Placeholder(usize),
}

/// Calls `take` with everything that begins at `at`. `is_done` says that a rule need not be tried there, and `glued` that
/// a placeholder ends there.
pub(super) fn at(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    is_done: &dyn Fn(usize) -> bool,
    take: &mut Vec<Begins>,
) -> Result<(), More> {
    let rest = text.part(at, text.len());
    for anchor in masker.rules.filter.at(rest) {
        if is_done(anchor.rule) || !is_left_fine(masker, anchor.rule, text, at) {
            continue;
        }
        if !text.continues(at, &anchor.literal, anchor.caseless)? {
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
        if is_outdone(masker, text, at, anchor)? || straddles(masker, text, at, anchor)? {
            continue;
        }
        let found = match anchor.rule {
            REGISTERED => registered(masker, text, at, anchor.part)?,
            rule => by_rule(masker, text, at, rule, anchor.part, length)?,
        };
        if let Some(found) = found
            && found.to > found.from
            && !tag::meets(text, at, found.to)?
        {
            take.push(Begins::Secret(found));
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

/// Whether a rule of a general form stands back here behind one that begins in the same way and says more.
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

/// Whether the name of a service only seems to stand there: it goes over from one word into the next, and begins or
/// ends within one, as `okta` does in `rookTable`.
fn straddles(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    anchor: &super::Anchor,
) -> Result<bool, More> {
    let behind = at + anchor.literal.len();
    let is_hump = |one: u8, two: u8| one.is_ascii_lowercase() && two.is_ascii_uppercase();
    let mut pairs = text.part(at, behind).windows(2);
    if !matches!(masker.look(anchor.rule), Some(Look::Near { .. }))
        || !pairs.any(|pair| matches!(pair, [one, two] if is_hump(*one, *two)))
    {
        return Ok(false);
    }
    let goes_on = |one: Option<u8>, two: Option<u8>| match (one, two) {
        (Some(one), Some(two)) => {
            one.is_ascii_alphabetic() && two.is_ascii_alphabetic() && !is_hump(one, two)
        }
        _ => false,
    };
    Ok(goes_on(text.before(at, 1), text.byte(at)?)
        || goes_on(text.before(behind, 1), text.byte(behind)?))
}

fn registered(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    part: usize,
) -> Result<Option<Found>, More> {
    let Some(form) = masker.rules.forms.get(part) else { return Ok(None) };
    let there = text.part(at, at + form.length);
    if there.len() < form.length {
        return if text.is_whole() { Ok(None) } else { Err(More) };
    }
    let is_it = masker.key.fingerprint(there) == form.fingerprint;
    Ok(is_it.then_some(Found {
        rule: REGISTERED,
        from: at,
        to: at + form.length,
        open: Open::Closed,
        tag: Some(form.tag),
    }))
}

fn by_rule(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    rule: usize,
    part: usize,
    literal: usize,
) -> Result<Option<Found>, More> {
    let Some(look) = masker.look(rule) else { return Ok(None) };
    let behind = at + literal;
    let fit = match look {
        Look::Form { patterns, wants, .. } => match patterns.get(part) {
            Some(pattern) => form(pattern, text, at, *wants)?,
            None => None,
        },
        Look::Near { values, wants, is_direct, .. } => {
            near(values, text, behind, *wants, *is_direct)?
        }
        Look::Header { .. } => header(text, behind)?,
        Look::Line { .. } => line(text, behind)?,
        Look::Assigned { is_word: true, .. } if !assigned::is_told(text, behind)? => None,
        Look::Assigned { kind: Kind::Key, .. } if assigned::is_public(text, at) => None,
        Look::Assigned { kind, .. } => assigned_value(text, behind, *kind)?,
        Look::Told { is_weak, .. } => told::fit(text, behind, *is_weak)?,
        Look::Tried { .. } => told::tried(text, behind)?,
        Look::Address => address::fit(text, at)?,
        Look::Block { .. } => {
            let head = block::head(text, at, literal)?;
            return Ok(head.map(|to| Found { rule, from: at, to, open: Open::Block, tag: None }));
        }
        Look::Command { flags, .. } => command::fit(text, behind, flags)?,
        Look::Personal(_) | Look::Registered | Look::Manifest { .. } => None,
    };
    Ok(fit.map(|Fit { from, to, open }| Found {
        rule,
        from,
        to,
        open: open.map_or(Open::Closed, Open::Set),
        tag: None,
    }))
}

fn form(pattern: &Pattern, text: Text<'_>, at: usize, wants: Wants) -> Result<Option<Fit>, More> {
    let Some(fit) = pattern.rest(text, at)? else { return Ok(None) };
    let secret = text.part(fit.from, fit.to);
    let drawn = secret.strip_prefix(pattern.literal()).unwrap_or(secret);
    Ok(wants.is_met(drawn).then_some(fit))
}

impl Wants {
    fn is_met(self, value: &[u8]) -> bool {
        match self {
            Wants::Nothing => true,
            Wants::NoSample => !judge::is_sample(value),
            Wants::Drawn => judge::is_drawn(value),
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
        None => return Ok(None),
    };
    let name = text.part(at, at + text.run(at, assigned::NAME, 32)?);
    for value in values {
        if !text.continues(from, value.literal(), false)? {
            continue;
        }
        if let Some(fit) = value.rest(text, from)? {
            let there = text.part(fit.from, fit.to);
            // A number is that of many things, and their names say so.
            let is_id = there.iter().all(u8::is_ascii_digit) && assigned::is_about(name);
            if !is_id && wants.is_met(there) {
                return Ok(Some(fit));
            }
        }
    }
    Ok(None)
}

fn assigned_value(text: Text<'_>, at: usize, kind: Kind) -> Result<Option<Fit>, More> {
    let rest = text.run(at, assigned::NAME, 32)?;
    if assigned::is_about(text.part(at, at + rest)) {
        return Ok(None);
    }
    let words = if kind == Kind::Password { 4 } else { 2 };
    if let Some(start) = assigned::start(text, at, words)? {
        let is_set = kind == Kind::Password && rest == 0 && assigned::is_set(text, at, start);
        return value_of(text, start, kind, is_set);
    }
    match kind {
        Kind::Password if rest == 0 => match assigned::direct(text, at)? {
            Some(start) => value_of(text, start, Kind::Plain, false),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The value that begins there, if it is a secret. One that is set may also be a plain word.
fn value_of(text: Text<'_>, start: Start, kind: Kind, is_set: bool) -> Result<Option<Fit>, More> {
    let value = assigned::value(text, start)?;
    let mut to = value.to;
    if start.is_prose
        && start.quote.is_none()
        && matches!(text.before(to, 1), Some(b'.' | b'!' | b'?' | b':'))
    {
        to -= 1;
    }
    let there = text.part(start.at, to);
    let behind = to + if start.is_element { text.run(to, Set::of(" \t\r\n"), 64)? } else { 0 };
    if start.is_element && !text.continues(behind, b"</", false)? {
        return Ok(None);
    }
    let is_secret = judge::is_secret(there, kind, start.quote.is_some(), start.is_prose)
        || (is_set && judge::is_literal(there));
    Ok(is_secret.then_some(Fit { from: start.at, to, open: value.open }))
}

/// The value of a header that carries a credential, behind the name of its scheme if it has one.
fn header(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    const VALUE: Set = PRINTABLE.without(Set::of("\"'`\\<>[],;"));
    if text.run(at, assigned::NAME, 1)? > 0 {
        return Ok(None);
    }
    let Some(start) = assigned::start(text, at, 0)? else { return Ok(None) };
    if start.is_prose || start.is_element {
        return Ok(None);
    }
    let mut from = start.at;
    // `Bearer`, `Basic`, `Token`, and what `Digest` and `AWS4-HMAC-SHA256` say in several parts.
    let word = text.run(from, ALNUM.or(Set::of("-")), 32)?;
    if word > 0 && text.byte(from + word)? == Some(b' ') {
        from += word + 1;
    }
    let length = text.run(from, VALUE, super::pattern::CERTAIN)?;
    let to = from + length;
    let value = text.part(from, to);
    let is_value = length >= 8
        && value.iter().any(|byte| {
            byte.is_ascii_digit() || b"+/=".contains(byte) || byte.is_ascii_uppercase()
        });
    let is_code = value.iter().any(|byte| b"${(".contains(byte)) || judge::is_sample(value);
    let open = (length == super::pattern::CERTAIN).then_some(VALUE);
    Ok((is_value && !is_code).then_some(Fit { from, to, open }))
}

/// All of a header's value, to the end of its line.
fn line(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    const VALUE: Set = PRINTABLE.or(Set::of(" ")).without(Set::of("\"'`\\<>[]"));
    if text.run(at, assigned::NAME, 1)? > 0 {
        return Ok(None);
    }
    let Some(Start { at: from, is_prose: false, is_element: false, .. }) =
        assigned::start(text, at, 0)?
    else {
        return Ok(None);
    };
    let length = text.run(from, VALUE, super::pattern::CERTAIN)?;
    let value = text.part(from, from + length);
    let pair = memchr::memchr(b'=', value).and_then(|at| value.split_at_checked(at));
    let is_cookie = pair.is_some_and(|(name, value)| {
        !name.contains(&b' ')
            && value.len() >= 8
            && value.iter().any(u8::is_ascii_digit)
            && !value.contains(&b'{')
            && !value.contains(&b'(')
    });
    let open = (length == super::pattern::CERTAIN).then_some(VALUE);
    Ok((is_cookie && !judge::is_sample(value)).then_some(Fit { from, to: from + length, open }))
}

/// Whether a rule's secret may begin behind what stands before it.
fn is_left_fine(masker: &Masker, rule: usize, text: Text<'_>, at: usize) -> bool {
    let left = match masker.look(rule) {
        Some(Look::Form { left, .. }) => left,
        // Such a name is not the end of another one.
        Some(
            Look::Header { .. }
            | Look::Line { .. }
            | Look::Command { .. }
            | Look::Assigned { is_word: true, .. },
        ) => {
            return text.before(at, 1).is_none_or(|before| !ALNUM.or(Set::of("_")).has(before))
                || is_escape(text, at);
        }
        // A cue is a word of a sentence, and no part of a name or of code.
        Some(Look::Told { .. } | Look::Tried { .. }) => {
            const INSIDE: Set = ALNUM.or(Set::of("_$.@<#=&"));
            return text.before(at, 1).is_none_or(|before| before < 128 && !INSIDE.has(before));
        }
        Some(Look::Manifest { .. }) => {
            return text.before(at, 1).is_none_or(|before| b" \t\r\n".contains(&before));
        }
        _ => return true,
    };
    let Some(before) = text.before(at, 1) else { return *left != Left::Digit };
    match left {
        Left::Any => true,
        Left::Digit => before.is_ascii_digit(),
        Left::Bound => !ALNUM.has(before) || is_escape(text, at),
    }
}

/// Whether an escape ends before a place: `\n`, `\u0022`, `%3D`, or the end of a terminal's colour.
fn is_escape(text: Text<'_>, at: usize) -> bool {
    let back = |many: usize| text.before(at, many);
    let is_hex = |many: usize| back(many).is_some_and(|byte| byte.is_ascii_hexdigit());
    (back(2) == Some(b'\\') && matches!(back(1), Some(b'n' | b'r' | b't' | b'b' | b'f')))
        || (back(3) == Some(b'%') && is_hex(2) && is_hex(1))
        || (back(6) == Some(b'\\') && back(5) == Some(b'u') && (1..=4).all(is_hex))
        || (back(4) == Some(b'\\') && back(3) == Some(b'x') && is_hex(2) && is_hex(1))
}

/// What the name of a member says about its value, where that is a secret as a whole.
pub(super) fn named<'m>(masker: &'m Masker, name: &str, value: &str) -> Option<(&'m str, Tag)> {
    if tag::meets(Text::whole(value.as_bytes()), 0, value.len()).unwrap_or(true) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let rules = masker.rules.rules.iter();
    let rule = rules.into_iter().find(|rule| {
        let has = |names: &[String]| names.iter().any(|known| name.contains(known.as_str()));
        match &rule.look {
            Look::Assigned { names, kind, is_word } => {
                let has = |names: &[String]| match is_word {
                    true => names.contains(&name),
                    false => has(names),
                };
                has(names)
                    && !(*kind == Kind::Key && assigned::is_public_name(name.as_bytes()))
                    && !assigned::is_about(name.as_bytes())
                    && judge::is_secret(value.as_bytes(), *kind, true, false)
            }
            Look::Near { names, values, wants, .. } => {
                let text = Text::whole(value.as_bytes());
                let fits = |pattern: &Pattern| {
                    text.continues(0, pattern.literal(), false) == Ok(true)
                        && matches!(pattern.rest(text, 0), Ok(Some(fit)) if fit.to == value.len())
                };
                let is_id = value.bytes().all(|byte| byte.is_ascii_digit())
                    && assigned::is_about(name.as_bytes());
                has(names) && values.iter().any(fits) && !is_id && wants.is_met(value.as_bytes())
            }
            _ => false,
        }
    })?;
    Some((rule.id.as_str(), masker.key.tag(value.as_bytes())))
}
