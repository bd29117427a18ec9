//! The password or token in the address of a service: `scheme://user:password@host`.

use super::pattern::Fit;
use super::set::{ALNUM, DIGIT, PRINTABLE, Set};
use super::text::{More, Text};

const USER: Set = PRINTABLE.without(Set::of("/@:?#'\"`<>\\[]{}()$,"));
const PASSWORD: Set = PRINTABLE.without(Set::of("/?#'\"`<>\\[]{},;"));
const LONGEST: usize = 256;
/// Shorter ones are the names of users.
const LEAST_TOKEN: usize = 20;

/// Well-known values from documentation.
const KNOWN: [&str; 16] = [
    "password",
    "pass",
    "passwd",
    "pwd",
    "secret",
    "user",
    "username",
    "root",
    "admin",
    "guest",
    "test",
    "postgres",
    "token",
    "mypassword",
    "mysecretpassword",
    "p@ssw0rd",
];

/// Reads the part after `://`, or after the same in an encoded address: `%3A%2F%2F`.
pub(super) fn fit(text: Text<'_>, at: usize, is_encoded: bool) -> Result<Option<Fit>, More> {
    if is_encoded {
        return encoded(text, at + b"%3A%2F%2F".len());
    }
    let user = at + 3;
    let length = text.run(user, USER, LONGEST)?;
    let behind = user + length;
    match text.byte(behind)? {
        Some(b'@') if length >= LEAST_TOKEN => {
            let token = text.part(user, behind);
            let is_drawn = !token.contains(&b'.') && super::judge::is_drawn(token);
            Ok(is_drawn.then_some(Fit { from: user, to: behind, open: None }))
        }
        Some(b':') => {
            let from = behind + 1;
            let length = text.run(from, PASSWORD, LONGEST)?;
            let there = text.part(from, from + length);
            let Some(password) = memchr::memrchr(b'@', there) else {
                return odd(text, from, length);
            };
            let value = there.get(..password).unwrap_or_default();
            Ok(is_password(value, text.part(user, behind)).then_some(Fit {
                from,
                to: from + password,
                open: None,
            }))
        }
        _ => Ok(None),
    }
}

/// Returns the first position of an address at which a secret may begin, if the address goes on at `at`: a token is
/// no longer than its first label, and a password follows a colon.
pub(super) fn earliest(text: Text<'_>, at: usize, is_encoded: bool) -> usize {
    let rest = text.part(at, text.len());
    if is_encoded {
        let colon = rest.windows(3).position(|three| three.eq_ignore_ascii_case(b"%3A"));
        return colon.map_or(text.len(), |colon| at + colon + 3);
    }
    let user = rest.iter().take_while(|byte| USER.has(**byte)).count();
    match rest.get(user) {
        Some(b':') => at + user + 1,
        None if rest.contains(&b'.') => text.len(),
        _ => at,
    }
}

/// `user%3Apassword%40host`.
fn encoded(text: Text<'_>, user: usize) -> Result<Option<Fit>, More> {
    const ANY: Set = ALNUM.or(Set::of("-_.~%!*"));
    let all = text.part(user, user + text.run(user, ANY, LONGEST)?);
    let find = |sign: &[u8]| {
        let mut places = all.windows(3).enumerate();
        places.find(|(_, three)| three.eq_ignore_ascii_case(sign)).map(|(at, _)| at)
    };
    let (Some(colon), Some(at)) = (find(b"%3A"), find(b"%40")) else { return Ok(None) };
    let value = all.get(colon + 3..at).unwrap_or_default();
    let is_secret = is_password(value, all.get(..colon).unwrap_or_default());
    let (from, to) = (user + colon + 3, user + at);
    Ok(is_secret.then_some(Fit { from, to, open: None }))
}

/// A password with signs in it that should have been written otherwise, `/`, `?` or `#`: it looks drawn, and a host
/// with its port or its dots follows.
fn odd(text: Text<'_>, from: usize, seen: usize) -> Result<Option<Fit>, More> {
    const ODD: Set = PASSWORD.or(Set::of("/?#")).without(Set::of("@"));
    const HOST: Set = ALNUM.or(Set::of("-."));
    let digits = text.run(from, DIGIT, 5)?;
    // Digits alone before such a sign are a port.
    let is_port = digits > 0 && digits == seen;
    if is_port || seen >= LONGEST || !text.byte(from + seen)?.is_some_and(|byte| ODD.has(byte)) {
        return Ok(None);
    }
    let length = text.run(from, ODD, LONGEST)?;
    let to = from + length;
    if text.byte(to)? != Some(b'@') {
        return Ok(None);
    }
    let host = text.run(to + 1, HOST, 64)?;
    let behind = to + 1 + host;
    let has_port = text.byte(behind)? == Some(b':') && text.run(behind + 1, DIGIT, 5)? > 1;
    let has_dot = text.part(to + 1, behind).contains(&b'.');
    let value = text.part(from, to);
    let is_secret = (has_port || has_dot) && value.len() >= 8 && super::judge::is_drawn(value);
    Ok(is_secret.then_some(Fit { from, to, open: None }))
}

fn is_password(value: &[u8], user: &[u8]) -> bool {
    let is_known = KNOWN.iter().any(|known| value.eq_ignore_ascii_case(known.as_bytes()));
    let refers = matches!(value.first(), Some(b'$' | b'%' | b'<' | b'*'))
        && !value.iter().any(u8::is_ascii_digit);
    // `postgrespassword`, `adminadmin`.
    let rest = value.strip_prefix(user).unwrap_or_default();
    let is_doubled =
        !user.is_empty() && (rest == user || KNOWN.iter().any(|known| rest == known.as_bytes()));
    value.len() >= 3
        && !is_known
        && !refers
        && !is_doubled
        && value != user
        && !super::name::is_label(value)
        && !super::name::is_constant(value)
        && !super::judge::is_sample(value)
}

/// Returns the passwords of a service's address in its usual forms: `scheme://user:password@host`, `host=h
/// password=p`, `Server=h;Password=p`. Each is returned as written, and without its escapes if it has some.
#[must_use]
pub fn passwords(address: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |password: &str| {
        let plain = plain(password);
        for text in [password.to_owned(), plain] {
            if !text.is_empty() && !all.contains(&text) {
                all.push(text);
            }
        }
    };
    for authority in address.split("://").skip(1) {
        let end = authority.find(['/', '?', '#', ' ', '"', '\'']).unwrap_or(authority.len());
        // A password that contains such a sign goes on to the last `@`.
        let (user, _) = authority.split_at(end);
        let user = user.rsplit_once('@').or_else(|| authority.rsplit_once('@'));
        let password = user.and_then(|(user, _)| user.split_once(':'));
        password.into_iter().for_each(|(_, password)| add(password));
    }
    let lower = address.to_ascii_lowercase();
    for name in ["password=", "pwd="] {
        for (at, _) in lower.match_indices(name) {
            let value = address.get(at + name.len()..).unwrap_or_default();
            let quote = value.chars().next().filter(|char| matches!(char, '\'' | '"'));
            let value = match quote {
                Some(quote) => value.get(1..).and_then(|value| value.split(quote).next()),
                None => value.split([';', '&', ' ', '\t', '\n']).next(),
            };
            value.into_iter().for_each(&mut add);
        }
    }
    all
}

/// Decodes percent escapes.
fn plain(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, behind) = match byte.filter(|_| *first == b'%') {
            Some(byte) => (byte, behind.get(2..).unwrap_or_default()),
            None => (*first, behind),
        };
        out.push(byte);
        rest = behind;
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passwords_of_configured_addresses_are_known() {
        for (address, expected) in [
            ("postgres://app:h8Kd%402qx@db:5432/x?a=b@c", vec!["h8Kd%402qx", "h8Kd@2qx"]),
            ("postgres://app:h8/Kd2qx@db/x", vec!["h8/Kd2qx"]),
            ("host=db user=app password='h8 Kd2qx' dbname=x", vec!["h8 Kd2qx"]),
            ("Server=db;User Id=sa;Password=h8Kd2qx!;X=1", vec!["h8Kd2qx!"]),
            ("postgres://db/x?user=app&password=h8Kd%212", vec!["h8Kd%212", "h8Kd!2"]),
            ("postgres://app@db:5432/x", vec![]),
            ("https://host:8080/x", vec![]),
        ] {
            assert_eq!(passwords(address), expected, "{address}");
        }
    }

    #[test]
    fn the_name_of_a_host_is_not_held_back() {
        let held = |text: &'static str| {
            let at = text.find("://").map(|at| at + 3).or(text.find("2F").map(|at| at + 2));
            let begun = Text::begun(text.as_bytes());
            text.get(earliest(begun, at.unwrap(), text.contains('%'))..)
        };
        assert_eq!(held("https://regis"), Some("regis"));
        assert_eq!(held("https://registry.example"), Some(""));
        assert_eq!(held("https://ann.lee:v4lue"), Some("v4lue"));
        assert_eq!(held("%2Fwww.example"), Some(""));
        assert_eq!(held("%2Fu%3Ah8K"), Some("h8K"));
    }

    #[test]
    fn passwords_of_addresses_are_found() {
        let found = |text: &'static str| -> Option<&str> {
            let at = text.find("://").or(text.find('%')).unwrap();
            let fit = fit(Text::whole(text.as_bytes()), at, text.contains('%')).unwrap()?;
            text.get(fit.from..fit.to)
        };
        assert_eq!(found("postgres://app:h8Kd@2q!x@db/x"), Some("h8Kd@2q!x"));
        assert_eq!(found("redis://:h8Kd2q@cache:6379"), Some("h8Kd2q"));
        assert_eq!(found("https://q8Zr2LkV0tXw7NfB9dKe@host/r.git"), Some("q8Zr2LkV0tXw7NfB9dKe"));
        assert_eq!(found("amqp://svc:h8Kd/q2x#Z9@10.0.0.5:5672/x"), Some("h8Kd/q2x#Z9"));
        assert_eq!(found("redis%3A%2F%2Fu%3Ah8Kd2q%40cache%3A6379"), Some("h8Kd2q"));
        for text in [
            "https://host:8080/a1B2c3@b.org",
            "git://host:path/of/things@b.org",
            "https://host:8080/a@b",
            "postgres://postgres:postgres@db",
            "https://user@host",
            "a://u:$PASSWORD@h",
            "a://u:password@h",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
