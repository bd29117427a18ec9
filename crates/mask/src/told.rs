//! Passwords that are told in a sentence, where no sign joins them with their name: `the pass on these cameras is ...`,
//! `try ... as password`, `access via root / ...`.
//!
//! A sentence is read word by word from a cue on. What looks like a password in it is one if what stands before it
//! introduces a value. Sentences with the signs of programs in them are left to the other rules.

use super::escape;
use super::judge::{Strike, strike};
use super::pattern::Fit;
use super::set::{ALNUM, BLANK, Set};
use super::text::{More, Text};

/// So much of a sentence is read behind a cue.
const SENTENCE: usize = 112;
/// A longer word is none.
const WORD: usize = 80;
/// What may close a cue itself, as in `password's`, `(password)`, `password:`.
const CLOSING: Set = Set::of("s',:?)*\"`");
/// Signs of programs and of our own placeholders.
const CODE: Set = Set::of("{}<>[];=|\\");
const OPENING: Set = Set::of("\"'`(*");
const ENDING: Set = Set::of("\"'`)*.,:;?");

/// Words that name a password.
const NAMES: [&str; 16] = [
    "password",
    "passwords",
    "passwd",
    "passwort",
    "pasword",
    "passwrd",
    "passphrase",
    "passcode",
    "pass",
    "pw",
    "pwd",
    "psk",
    "secret",
    "kennwort",
    "contraseña",
    "senha",
];

/// Where names of two words end.
const ENDS: [&str; 1] = ["word"];

/// Words of logging in.
const LOGINS: [&str; 12] = [
    "login",
    "logon",
    "credentials",
    "creds",
    "access",
    "account",
    "connect",
    "vpn",
    "wifi",
    "wi-fi",
    "wlan",
    "user",
];

/// Words that a value follows, whatever it looks like.
const INTRODUCING: [&str; 35] = [
    "is", "are", "was", "were", "be", "been", "it's", "as", "use", "uses", "using", "used", "try",
    "tried", "type", "typed", "enter", "entered", "has", "had", "have", "believe", "think",
    "remains", "remained", "stays", "stayed", "became", "says", "said", "still", "now", "again",
    "default", "like",
];

/// Words that a value may follow, or any other thing.
const LEADING: [&str; 6] = ["to", "on", "from", "with", "and", "by"];

/// Reads the sentence behind a cue that ends at `at`. A weak cue is one of logging in: behind it a value stands in a
/// pair with the user's name, or behind a leading word.
pub(super) fn fit(text: Text<'_>, at: usize, is_weak: bool) -> Result<Option<Fit>, More> {
    let mut here = at + text.run(at, CLOSING, 4)?;
    let opening = text.part(at, here);
    let (mut last, mut place) = (opening, 0);
    while here - at < SENTENCE {
        let blanks = text.run(here, BLANK, 8)?;
        here += blanks;
        if escape::line_end(text, here)?.is_some() {
            let announces = place == 0 || matches!(last.last(), Some(b':' | b'?' | b','));
            return if is_weak || !announces { Ok(None) } else { alone(text, here) };
        }
        let end = here + word(text, here)?;
        if end == here || (place == 0 && blanks == 0) {
            return Ok(None);
        }
        let there = text.part(here, end);
        let found = candidate(there);
        // `Passwords: laptop ...`
        let is_listed = place == 1 && opening.contains(&b':');
        if let Some(found) = found
            && !(place == 0 && is_verb(text, at, end)?)
            && (found.is_introduced(last, place == 0, is_weak)
                || (is_listed && found.strike == Strike::Strong && !is_weak))
        {
            return Ok(Some(found.at(here)));
        }
        // What a function of these arguments returns.
        if there == b"->" && last.ends_with(b")") && !last.contains(&b'(') {
            return Ok(None);
        }
        let is_arrow = matches!(there, b"->" | b"=>" | b"|" | b"=");
        let is_over = matches!(there.last(), Some(b'.' | b'!')) && found.is_none();
        // From another cue on the sentence is read again.
        let is_cue =
            is_of(there, &NAMES) || is_of(there, &ENDS) || (is_weak && is_of(there, &LOGINS));
        if is_over || is_cue || (!is_arrow && there.iter().any(|byte| CODE.has(*byte))) {
            return Ok(None);
        }
        (last, here, place) = (there, end, place + 1);
    }
    Ok(None)
}

/// Whether a cue that ends at `at` is the verb `pass`: `pass v1beta2 to ...`, where the word behind it ends at `end`.
fn is_verb(text: Text<'_>, at: usize, end: usize) -> Result<bool, More> {
    if !text.part(at.saturating_sub(4), at).eq_ignore_ascii_case(b"pass") {
        return Ok(false);
    }
    for word in [b" to ".as_slice(), b" into ", b" as ", b" through ", b" via "] {
        if text.continues(end, word, false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads what follows a verb that ends at `at`, if the sentence says behind it that it is a password.
pub(super) fn tried(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    const BEHIND: usize = 64;
    let from = at + text.run(at, BLANK, 2)?;
    let end = from + word(text, from)?;
    let Some(found) = candidate(text.part(from, end)).filter(|found| !found.is_pair) else {
        return Ok(None);
    };
    let (mut here, mut is_said) = (end, false);
    while here - end < BEHIND {
        here += text.run(here, BLANK, 4)?;
        let next = here + word(text, here)?;
        let there = text.part(here, next);
        if next == here || there.iter().any(|byte| CODE.has(*byte)) {
            return Ok(None);
        }
        if is_of(there, &NAMES) {
            let is_secret = is_said || found.strike == Strike::Strong;
            return Ok(is_secret.then(|| found.at(from)));
        }
        is_said |= matches!(there, b"as" | b"for" | b"in");
        here = next;
    }
    Ok(None)
}

/// A value that is alone on its line, a line or two below what announces it.
fn alone(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    let (mut from, mut lines) = (at, 0);
    while let Some(end) = escape::line_end(text, from)?.filter(|_| lines <= 2) {
        from = end + text.run(end, Set::of(" \t>"), 24)?;
        lines += 1;
    }
    let end = from + word(text, from)?;
    let behind = end + text.run(end, BLANK, 8)?;
    let is_alone = text.byte(behind)?.is_none()
        || escape::line_end(text, behind)?.is_some()
        || escape::ends_string(text, behind)?;
    let found = candidate(text.part(from, end)).filter(|found| !found.is_pair);
    Ok(found.filter(|_| is_alone && lines <= 2).map(|found| found.at(from)))
}

/// How long a word is: all up to a blank, the end of its line, or the end of the string that it stands in.
fn word(text: Text<'_>, at: usize) -> Result<usize, More> {
    let mut length = 0;
    while length < WORD
        && let Some(byte) = text.byte(at + length)?.filter(|byte| *byte > b' ')
    {
        let here = at + length;
        if (byte == b'\\' && escape::parts(text, here)?)
            || (b"\\\"".contains(&byte) && escape::ends_string(text, here)?)
        {
            break;
        }
        length += 1;
    }
    Ok(length)
}

/// What looks like a password in a word.
#[derive(Clone, Copy)]
struct Candidate {
    from: usize,
    to: usize,
    strike: Strike,
    /// It is quoted, or stands in brackets.
    is_quoted: bool,
    /// The name of a user stands before it, as in `root/...`.
    is_pair: bool,
}

impl Candidate {
    fn at(self, begin: usize) -> Fit {
        Fit { from: begin + self.from, to: begin + self.to, open: None }
    }

    fn is_introduced(self, last: &[u8], is_first: bool, is_weak: bool) -> bool {
        let is_sign = matches!(last, b"/" | b"-" | b"->" | b"=>" | b"=" | b"|")
            || matches!(last.last(), Some(b':' | b'?'))
            || matches!(last, [0xE2, ..]);
        // `secret 0 ...`, `password 7 ...`: how it is written down.
        let is_kind = matches!(last, [b'0'..=b'9']);
        let plain = last.strip_suffix(b",").unwrap_or(last).to_ascii_lowercase();
        let is_one_of =
            |words: &[&str]| words.iter().any(|word| word.as_bytes() == plain.as_slice());
        let leads = self.strike == Strike::Strong && is_one_of(&LEADING);
        if is_weak {
            return self.is_pair || (is_sign && !is_first) || leads;
        }
        is_first
            || self.is_pair
            || self.is_quoted
            || is_sign
            || is_kind
            || leads
            || is_one_of(&INTRODUCING)
    }
}

fn candidate(word: &[u8]) -> Option<Candidate> {
    let mut from = word.iter().take_while(|byte| OPENING.has(**byte)).count();
    let mut to = word.len() - word.iter().rev().take_while(|byte| ENDING.has(**byte)).count();
    let is_quoted =
        from > 0 && word.get(to).is_some_and(|byte| OPENING.has(*byte) || *byte == b')');
    let inner = word.get(from..to)?;
    let cut = inner.iter().rposition(|byte| matches!(byte, b'/' | b':'));
    if let Some(cut) = cut {
        let user = inner.get(..cut)?;
        let is_user = user.first().is_some_and(u8::is_ascii_alphabetic)
            && user.len() <= 40
            && user.iter().all(|byte| ALNUM.or(Set::of("._-@")).has(*byte));
        if !is_user {
            return None;
        }
        from += cut + 1;
    }
    // The name of a file or host may end a sentence; a sign that ends it may be the password's own.
    if word.get(to) == Some(&b'?') && word.len() == to + 1 {
        to = word.len() - 1;
    }
    let strike = strike(word.get(from..to)?)?;
    Some(Candidate { from, to, strike, is_quoted, is_pair: cut.is_some() })
}

/// Whether a word is one of these, whatever closes it.
fn is_of(word: &[u8], words: &[&str]) -> bool {
    let is_sign = |byte: &u8| OPENING.or(ENDING).has(*byte);
    let from = word.iter().take_while(|byte| is_sign(byte)).count();
    let to = word.len() - word.iter().rev().take_while(|byte| is_sign(byte)).count();
    let plain = word.get(from..to).unwrap_or_default();
    words.iter().any(|word| plain.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(cue: &str, text: &'t str, is_weak: bool) -> Option<&'t str> {
        let at = text.find(cue).unwrap() + cue.len();
        let fit = fit(Text::whole(text.as_bytes()), at, is_weak).unwrap()?;
        text.get(fit.from..fit.to)
    }

    #[test]
    fn what_a_sentence_tells_is_found() {
        for text in [
            "the pass on these cameras is v4lue9xyZ, I think",
            "her pass, she told me on the phone, is v4lue9xyZ.",
            "the pass remains `v4lue9xyZ` for now",
            "the pass is unchanged (v4lue9xyZ)",
            "what is the pass of the lab?\n  v4lue9xyZ\n",
            "so, what is the pass? A: v4lue9xyZ",
            "the pass of root was changed to v4lue9xyZ",
            "pass: demo/v4lue9xyZ",
            "old pass v4lue9xyZ was better",
        ] {
            assert_eq!(found("pass", text, false), Some("v4lue9xyZ"), "{text}");
        }
        for text in [
            "the pass of host-12 is long. It is v4lue9xyZ",
            "the pass { v4lue9xyZ }",
            "pass v4lue9xyZ to the next",
            "the pass policy of v4lue9xyZ",
            "the pass is checked against bcrypt and sha256",
            "pass\n\n\nv4lue9xyZ",
            "pass as follows\nv4lue9xyZ is the name",
        ] {
            assert_eq!(found("pass", text, false), None, "{text}");
        }
    }

    #[test]
    fn behind_a_login_only_pairs_and_leading_words_tell() {
        for text in [
            "log in as admin with v4lue9xyZ now",
            "log in: admin/v4lue9xyZ",
            "log in there with root:v4lue9xyZ, please",
            "log in, ann / v4lue9xyZ",
        ] {
            assert_eq!(found("log in", text, true), Some("v4lue9xyZ"), "{text}");
        }
        for text in [
            "log in is v4lue9xyZ",
            "log in at https://host/v4lue9xyZ",
            "log in with the web-server-12",
            "log in and see /logs/v4lue9xyZ",
        ] {
            assert_eq!(found("log in", text, true), None, "{text}");
        }
    }

    #[test]
    fn what_is_said_to_be_a_password_afterwards_is_found() {
        let found = |text: &'static str| {
            let fit = tried(Text::whole(text.as_bytes()), 4).unwrap()?;
            text.get(fit.from..fit.to)
        };
        assert_eq!(found("use v4lue9xyZ as my password"), Some("v4lue9xyZ"));
        assert_eq!(found("use \"v4lue9xyZ\", the old one of the password"), Some("v4lue9xyZ"));
        assert_eq!(found("use stone-river-47 as password"), Some("stone-river-47"));
        for text in [
            "use v4lue9xyZ as my name",
            "use stone-river-47 and ask him; the password is there",
            "use v4lue9xyZ\nas the password",
            "use bcrypt as the password hash",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
