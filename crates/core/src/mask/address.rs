//! The password or token in the address of a service: `scheme://user:password@host`.

use super::pattern::Fit;
use super::set::{PRINTABLE, Set};
use super::text::{More, Text};

const USER: Set = PRINTABLE.without(Set::of("/@:?#'\"`<>\\[]{}()$,"));
const PASSWORD: Set = PRINTABLE.without(Set::of("/?#'\"`<>\\[]{},;"));
const LONGEST: usize = 256;
/// Shorter ones are the names of users.
const LEAST_TOKEN: usize = 20;

/// Values that stand in everybody's documents.
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

/// Reads what follows `://`.
pub(super) fn fit(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    let user = at + 3;
    let length = text.run(user, USER, LONGEST)?;
    let behind = user + length;
    match text.byte(behind)? {
        Some(b'@') if length >= LEAST_TOKEN => {
            let is_drawn = super::judge::is_drawn(text.part(user, behind));
            Ok(is_drawn.then_some(Fit { from: user, to: behind, open: None }))
        }
        Some(b':') => {
            let from = behind + 1;
            let length = text.run(from, PASSWORD, LONGEST)?;
            let there = text.part(from, from + length);
            let Some(password) = memchr::memrchr(b'@', there) else { return Ok(None) };
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

fn is_password(value: &[u8], user: &[u8]) -> bool {
    let is_known = KNOWN.iter().any(|known| value.eq_ignore_ascii_case(known.as_bytes()));
    let refers = matches!(value.first(), Some(b'$' | b'%' | b'<' | b'*'))
        && !value.iter().any(u8::is_ascii_digit);
    value.len() >= 3 && !is_known && !refers && value != user && !super::judge::is_sample(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_addresses_are_found() {
        let found = |text: &'static str| -> Option<&str> {
            let at = text.find("://").unwrap();
            let fit = fit(Text::whole(text.as_bytes()), at).unwrap()?;
            text.get(fit.from..fit.to)
        };
        assert_eq!(found("postgres://app:h8Kd@2q!x@db/x"), Some("h8Kd@2q!x"));
        assert_eq!(found("redis://:h8Kd2q@cache:6379"), Some("h8Kd2q"));
        assert_eq!(found("https://q8Zr2LkV0tXw7NfB9dKe@host/r.git"), Some("q8Zr2LkV0tXw7NfB9dKe"));
        for text in [
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
