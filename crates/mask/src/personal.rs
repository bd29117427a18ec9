//! Personal data: mail addresses, and numbers of cards, accounts, telephones and persons.
//!
//! Only its form identifies personal data, so the rules check each form as far as possible: the digits of a card and
//! of an account have a checksum, and the number of a person has ranges that are never assigned.

use super::set::{ALNUM, DIGIT, Set, UPPER};
use super::text::{More, Text};

/// The kinds of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Personal {
    /// An address of mail.
    Mail,
    /// The number of a card.
    Card,
    /// The number of an account (IBAN).
    Account,
    /// A number of social security in the USA.
    SocialSecurity,
    /// A telephone number.
    Telephone,
}

impl Personal {
    /// The kind of this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "mail" => Personal::Mail,
            "card" => Personal::Card,
            "account" => Personal::Account,
            "social-security" => Personal::SocialSecurity,
            "telephone" => Personal::Telephone,
            _ => return None,
        })
    }
}

/// The bytes that begin personal data.
pub(super) const FIRST: Set = ALNUM.or(Set::of("+("));
/// The bytes before a position that continue a word.
const WITHIN: Set = ALNUM.or(Set::of("_.%+-@"));

/// Whether personal data may begin at `at`: no word goes on there.
pub(super) fn may_begin(text: Text<'_>, at: usize) -> bool {
    let first = text.part(at, at + 1).first().copied();
    let goes_on = text.before(at, 1).is_some_and(|byte| WITHIN.has(byte) || byte >= 128);
    first.is_some_and(|byte| FIRST.has(byte)) && !goes_on
}

/// Returns the end of the personal data that begins at `at`.
pub(super) fn fit(kind: Personal, text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    match kind {
        Personal::Mail => mail(text, at),
        Personal::Card => card(text, at),
        Personal::Account => account(text, at),
        Personal::SocialSecurity => social_security(text, at),
        Personal::Telephone => telephone(text, at),
    }
}

fn mail(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const LOCAL: Set = ALNUM.or(Set::of("._%+-"));
    const LABEL: Set = ALNUM.or(Set::of("-"));
    let local = text.run(at, LOCAL, 64)?;
    let mut here = at + local;
    if local == 0 || text.byte(here)? != Some(b'@') || text.part(at, here) == b"git" {
        return Ok(None);
    }
    here += 1;
    let mut end = None;
    for label in 0..8 {
        let length = text.run(here, LABEL, 63)?;
        let last = text.part(here, here + length);
        here += length;
        if length == 0 {
            break;
        }
        let is_top = length >= 2 && last.iter().all(u8::is_ascii_alphabetic);
        if label > 0 && is_top {
            end = Some(here);
        }
        if text.byte(here)? != Some(b'.') {
            break;
        }
        here += 1;
    }
    Ok(end)
}

/// The digits from a place on, with at most one blank or hyphen between two, and where each ends; one more than
/// `most` if there are more.
fn digits(text: Text<'_>, at: usize, most: usize) -> Result<Vec<(u8, usize)>, More> {
    let mut all = Vec::with_capacity(most + 1);
    let mut here = at;
    while all.len() <= most {
        let Some(byte) = text.byte(here)? else { break };
        if byte.is_ascii_digit() {
            here += 1;
            all.push((byte - b'0', here));
        } else if matches!(byte, b' ' | b'-')
            && !all.is_empty()
            && text.byte(here + 1)?.is_some_and(|next| next.is_ascii_digit())
        {
            here += 1;
        } else {
            break;
        }
    }
    Ok(all)
}

/// Whether a word or a number goes on at `at`.
fn goes_on(text: Text<'_>, at: usize) -> Result<bool, More> {
    let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    Ok(match text.byte(at)? {
        Some(b'.' | b'-' | b',' | b':') => is_digit(text.byte(at + 1)?),
        Some(byte) => ALNUM.or(Set::of("_")).has(byte),
        None => false,
    })
}

fn card(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const MOST: usize = 19;
    if !text.byte(at)?.is_some_and(|byte| (b'2'..=b'6').contains(&byte)) {
        return Ok(None);
    }
    let all = digits(text, at, MOST)?;
    let numbers: Vec<u8> = all.iter().map(|(digit, _)| *digit).collect();
    let end = all.last().map_or(at, |(_, end)| *end);
    let first = |count: usize| {
        numbers.iter().take(count).fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit))
    };
    let is_length = match (first(1), first(2), numbers.len()) {
        (3, 34 | 37, 15) | (3, 30 | 36 | 38 | 39, 14) | (3, 35, 16) => true,
        (4, _, 13 | 16 | 19) | (5, 51..=55, 16) => true,
        (6, 60 | 64 | 65, 16) | (6, 62, 16..=19) => true,
        (2, 22..=27, 16) => (2221..=2720).contains(&first(4)),
        _ => false,
    };
    let is_one = is_length && distinct(&numbers) > 1 && has_sum(&numbers) && !goes_on(text, end)?;
    Ok(is_one.then_some(end))
}

fn distinct(digits: &[u8]) -> usize {
    (0..10).filter(|digit| digits.contains(digit)).count()
}

/// The sum of Luhn: every second digit from the end counts twice.
fn has_sum(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, u32::from(*digit) * 2) {
            (0, twice) => twice / 2,
            (_, twice @ 10..) => twice - 9,
            (_, twice) => twice,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Countries with their lengths.
const COUNTRIES: [(&[u8; 2], usize); 40] = [
    (b"AT", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"CH", 21),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DK", 18),
    (b"EE", 20),
    (b"ES", 24),
    (b"FI", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GI", 23),
    (b"GR", 27),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"MC", 27),
    (b"MT", 31),
    (b"NL", 18),
    (b"NO", 15),
    (b"PL", 28),
    (b"PT", 25),
    (b"RO", 24),
    (b"RS", 22),
    (b"SA", 24),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"TR", 26),
    (b"AE", 23),
];

fn account(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    if text.run(at, UPPER, 2)? < 2 || text.run(at + 2, DIGIT, 2)? < 2 {
        return Ok(None);
    }
    let Some((_, length)) = COUNTRIES.iter().find(|(country, _)| text.part(at, at + 2) == *country)
    else {
        return Ok(None);
    };
    let (mut letters, mut here) = (Vec::with_capacity(*length), at);
    while letters.len() < *length {
        match text.byte(here)? {
            Some(byte) if DIGIT.or(UPPER).has(byte) => letters.push(byte),
            Some(b' ') if letters.len().is_multiple_of(4) => {}
            _ => return Ok(None),
        }
        here += 1;
    }
    let (head, rest) = letters.split_at_checked(4).unwrap_or_default();
    let remainder = rest.iter().chain(head).fold(0_u32, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    Ok((remainder == 1 && !goes_on(text, here)?).then_some(here))
}

fn social_security(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at;
    let mut parts = [0_u32; 3];
    for (part, (length, is_last)) in parts.iter_mut().zip([(3, false), (2, false), (4, true)]) {
        if text.run(here, DIGIT, length)? < length {
            return Ok(None);
        }
        let digits = text.part(here, here + length).iter();
        *part = digits.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        here += length;
        if !is_last {
            if text.byte(here)? != Some(b'-') {
                return Ok(None);
            }
            here += 1;
        }
    }
    let [area, group, number] = parts;
    // From 900 on they are those of tax payers without one.
    let is_one = !matches!(area, 0 | 666) && group > 0 && number > 0;
    Ok((is_one && !goes_on(text, here)?).then_some(here))
}

/// With its country, `+49 30 1234567`, or as in North America: `(212) 555-0123`, `212-555-0123`.
fn telephone(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const BETWEEN: Set = Set::of(" -.()/");
    let first = text.byte(at)?;
    if first == Some(b'+') {
        let (mut count, mut here, mut end) = (0, at + 1, at);
        if !text.byte(here)?.is_some_and(|byte| (b'1'..=b'9').contains(&byte)) {
            return Ok(None);
        }
        while count <= 15 {
            let digits = text.run(here, DIGIT, 16)?;
            (count, here) = (count + digits, here + digits);
            if digits > 0 {
                end = here;
            }
            let between = text.run(here, BETWEEN, 2)?;
            if between == 0 {
                break;
            }
            here += between;
            if text.run(here, DIGIT, 1)? == 0 && text.byte(here)? != Some(b'(') {
                break;
            }
        }
        let is_one = (9..=15).contains(&count) && !goes_on(text, end)?;
        return Ok(is_one.then_some(end));
    }
    let opens = usize::from(first == Some(b'('));
    let area = text.run(at + opens, DIGIT, 4)?;
    let mut here = at + opens + area;
    if area != 3 || (opens == 1 && text.byte(here)? != Some(b')')) {
        return Ok(None);
    }
    here += opens;
    let between = text.run(here, BETWEEN, 1)?;
    if between + opens == 0 || text.run(here + between, DIGIT, 4)? != 3 {
        return Ok(None);
    }
    here += between + 3;
    let between = text.run(here, Set::of("-."), 1)?;
    if between == 0 || text.run(here + 1, DIGIT, 5)? != 4 {
        return Ok(None);
    }
    here += 5;
    let is_range = text.byte(at + opens)?.is_some_and(|byte| (b'2'..=b'9').contains(&byte));
    Ok((is_range && !goes_on(text, here)?).then_some(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: Personal, text: &str) -> Option<&str> {
        let end = fit(kind, Text::whole(text.as_bytes()), 0).unwrap()?;
        text.get(..end)
    }

    #[test]
    fn what_has_its_form_and_its_sum_is_found() {
        for (kind, text) in [
            (Personal::Mail, "ann.lee+x@mail.host.org"),
            (Personal::Card, "4111 1111 1111 1111"),
            (Personal::Card, "5500-0000-0000-0004"),
            (Personal::Card, "378282246310005"),
            (Personal::Account, "DE89 3704 0044 0532 0130 00"),
            (Personal::Account, "GB82WEST12345698765432"),
            (Personal::SocialSecurity, "219-09-9999"),
            (Personal::SocialSecurity, "912-78-1234"),
            (Personal::Telephone, "+49 (30) 1234-567"),
            (Personal::Telephone, "+14155550123"),
            (Personal::Telephone, "(212) 555-0123"),
            (Personal::Telephone, "212-555-0123"),
        ] {
            for behind in ["", ".", ", then", "\n", "\""] {
                assert_eq!(found(kind, &format!("{text}{behind}")), Some(text), "{text}{behind}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for (kind, text) in [
            (Personal::Mail, "git@host.org:a/b"),
            (Personal::Mail, "user@host"),
            (Personal::Mail, "a@1.2.3"),
            (Personal::Card, "4111 1111 1111 1112"),
            (Personal::Card, "4444444444444444"),
            (Personal::Card, "41111111111111111"),
            (Personal::Card, "1700000000000000000"),
            (Personal::Account, "DE89370400440532013001"),
            (Personal::Account, "XX89370400440532013000"),
            (Personal::SocialSecurity, "000-12-3456"),
            (Personal::SocialSecurity, "666-12-3456"),
            (Personal::SocialSecurity, "219-09-99990"),
            (Personal::SocialSecurity, "2024-05-03"),
            (Personal::Telephone, "+1 23"),
            (Personal::Telephone, "192.168.0.1"),
            (Personal::Telephone, "112-555-0123"),
            (Personal::Telephone, "+1234567890123456"),
        ] {
            assert_eq!(found(kind, text), None, "{text}");
        }
    }
}
