//! Passwords on command lines: the value of a flag, on the line that begins with its program.

use super::judge;
use super::judge::{Seen, is_surely_password};
use super::name;
use super::pattern::Fit;
use super::set::{BLANK, PRINTABLE, Set};
use super::text::{More, Text};

/// The most bytes of a line that are searched.
const LINE: usize = 256;
/// The most flags of a line that are checked.
const FLAGS: usize = 8;
const QUOTES: Set = Set::of("\"'");
const VALUE: Set = PRINTABLE.without(Set::of("\"'`;|&<>\\"));
const QUOTED: Set = PRINTABLE.or(Set::of(" ")).without(Set::of("\"'\\"));

/// A flag whose value is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    text: Vec<u8>,
    value: Value,
}

/// The position of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// After a blank or an equals sign.
    Apart,
    /// Right after the flag.
    Joined,
    /// After a blank or an equals sign, and in that text after this sign.
    Behind(u8),
}

impl Flag {
    /// Reads a flag: `-p`; `-p+` if its value follows without a blank; `-u:` if the secret follows a colon in the
    /// value (or `%`, or a comma).
    pub(super) fn parse(text: &str) -> Flag {
        let (text, value) = match text.as_bytes() {
            [head @ .., b'+'] => (head, Value::Joined),
            [head @ .., sign @ (b':' | b'%' | b',')] => (head, Value::Behind(*sign)),
            head => (head, Value::Apart),
        };
        Flag { text: text.to_vec(), value }
    }
}

/// Returns the first secret value on the line behind a program's name.
pub(super) fn fit(text: Text<'_>, at: usize, flags: &[Flag]) -> Result<Option<Fit>, More> {
    if !text.byte(at)?.is_some_and(|byte| BLANK.has(byte)) {
        return Ok(None);
    }
    let mut looked = 0;
    for here in at + 1..at + LINE {
        let Some(byte) = text.byte(here)? else { return Ok(None) };
        let before = text.before(here, 1);
        if byte == b'\n' && before != Some(b'\\') {
            return Ok(None);
        }
        if !before.is_some_and(|byte| BLANK.has(byte)) || (byte != b'-' && byte != b'/') {
            continue;
        }
        for flag in flags {
            if !text.continues(here, &flag.text, false)? {
                continue;
            }
            looked += 1;
            if looked > FLAGS {
                return Ok(None);
            }
            if let Some(fit) = value(text, here, flag)? {
                return Ok(Some(fit));
            }
        }
    }
    Ok(None)
}

/// Returns the value of the flag at `at`.
fn value(text: Text<'_>, at: usize, flag: &Flag) -> Result<Option<Fit>, More> {
    let mut from = at + flag.text.len();
    if flag.value != Value::Joined {
        let gap = text.run(from, BLANK.or(Set::of("=")), 4)?;
        from += gap;
        // `-uname:password`.
        let is_joined = matches!(flag.value, Value::Behind(_)) && flag.text.len() == 2;
        if gap == 0 && !is_joined {
            return Ok(None);
        }
    }
    let mut quotes = quote(text, from)?;
    from += quotes;
    if let Value::Behind(sign) = flag.value {
        let name = match sign {
            b':' => VALUE.without(Set::of(":")),
            b',' => VALUE.without(Set::of(",")),
            _ => VALUE.without(Set::of("%")),
        };
        let begin = from;
        from += text.run(from, name, 64)?;
        // `"name":"password"`.
        let closing = if quotes > 0 { quote(text, from)? } else { 0 };
        (from, quotes) = (from + closing, quotes.saturating_sub(closing));
        if text.byte(from)? != Some(sign) {
            return Ok(None);
        }
        if quotes > 0 && quote(text, from + 1)? > 0 {
            return Ok(user(text, begin, from));
        }
        from += 1;
        if quotes == 0 {
            quotes = quote(text, from)?;
            from += quotes;
        }
    }
    let length = text.run(from, if quotes > 0 { QUOTED } else { VALUE }, LINE)?;
    let there = text.part(from, from + length);
    let refers = matches!(there.first(), Some(b'-' | b'$' | b'<' | b'%' | b'/' | b'@' | b'['))
        || is_braced_name(there);
    let is_secret = length >= 4 && !refers && !is_word(there) && !judge::is_sample(there);
    Ok(is_secret.then_some(Fit { from, to: from + length, open: None }))
}

/// How long a quote is, with the backslashes that are before it inside of a string.
fn quote(text: Text<'_>, at: usize) -> Result<usize, More> {
    let slashes = text.run(at, Set::of("\\"), 7)?;
    let quotes = text.run(at + slashes, QUOTES, 1)?;
    Ok(if quotes == 0 { 0 } else { slashes + quotes })
}

/// Returns the user's name as the secret if no password follows the sign and the name looks like a password.
fn user(text: Text<'_>, from: usize, sign: usize) -> Option<Fit> {
    let name = text.part(from, sign);
    let is_secret = is_surely_password(name);
    is_secret.then_some(Fit { from, to: sign, open: None })
}

/// A value in braces is a placeholder, unless its inner text looks random.
fn is_braced_name(value: &[u8]) -> bool {
    value.first() == Some(&b'{')
        && !matches!(value, [b'{', inner @ .., b'}'] if Seen::of(inner).form() > 0)
}

/// Whether it is a placeholder for a password in a manual.
fn is_word(value: &[u8]) -> bool {
    ["password", "passwd", "pass", "secret", "token", "mypassword", "test"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || name::is_label(value)
        || value.ends_with(b"password") && value.iter().all(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(flags: &str, text: &'t str) -> Option<&'t str> {
        let flags: Vec<Flag> = flags.split('|').map(Flag::parse).collect();
        let at = text.find(' ')?;
        let fit = fit(Text::whole(text.as_bytes()), at, &flags).unwrap()?;
        text.get(fit.from..fit.to)
    }

    #[test]
    fn values_of_flags_are_found() {
        for (flags, text, expected) in [
            ("-a|--pass", "redis-cli -h x -a v4lue ping", "v4lue"),
            ("-a|--pass", "redis-cli --pass=v4lue", "v4lue"),
            ("-p+", "mysql -u root -pv4lue shop", "v4lue"),
            ("-u:", "curl -s -u bob:v4lue https://host", "v4lue"),
            ("-u:", "curl -u 'bob:v4 lue!' https://host", "v4 lue!"),
            ("-u:", "curl -u \":v4lue\" https://host", "v4lue"),
            ("-u:", "curl -u bob:'v4lue' https://host", "v4lue"),
            ("-u:", "curl -u \"{bob}\":\"{v4lue\" x", "{v4lue"),
            ("-U%", "smbclient //nas/share -U bob%v4lue", "v4lue"),
            ("-p", "docker \\\n -p v4lue", "v4lue"),
            ("-P", "zip -P 'v4lue' x.zip", "v4lue"),
            ("-u:", "curl -u \"v4lue9xyZ:\" https://host", "v4lue9xyZ"),
        ] {
            let expected = if expected.starts_with('{') { None } else { Some(expected) };
            assert_eq!(found(flags, text), expected, "{text}");
        }
        for (flags, text) in [
            ("-a", "redis-cli -a $PASS"),
            ("-a", "redis-cli ping\n -a v4lue"),
            ("-p+", "mysql -u root -p shop"),
            ("-u:", "curl -u bob https://host"),
            ("-u:", "curl -u user:pass https://host"),
            ("-u:", "curl -u \":\" https://host/x:y"),
            ("-u:", "curl -u \"username:\" https://host"),
            ("-u:", "curl -u neo4j:[PASSWORD] https://host"),
            ("-p", "mongo -p --host x"),
            ("-p", "x-p v4lue"),
            ("-P", "zip -Pv4lue"),
        ] {
            assert_eq!(found(flags, text), None, "{text}");
        }
    }
}
