//! Names that are no secrets: constants, variables, modules, files, terms, versions.
//!
//! Also the meaning of a name for its value: that the value is public, identifies something, or only describes a
//! secret.

use super::text::Text;
use super::words::TERMS;

/// Endings of files that a program reads or writes.
const FILES: [&[u8]; 24] = [
    b"pem",
    b"p12",
    b"pfx",
    b"jks",
    b"key",
    b"crt",
    b"cer",
    b"der",
    b"json",
    b"yaml",
    b"yml",
    b"toml",
    b"txt",
    b"md",
    b"xml",
    b"conf",
    b"cfg",
    b"ini",
    b"env",
    b"html",
    b"properties",
    b"py",
    b"js",
    b"ts",
];

/// The words for secrets.
const SECRETS: [&[u8]; 8] =
    [b"password", b"passwd", b"pass", b"pwd", b"secret", b"secrets", b"token", b"passphrase"];

/// The parts of a value between signs that join words.
fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| b"-_".contains(byte))
}

/// Whether it is a term that has digits, with or without a dash in it, or with a word beside it: `sha256_crypt`.
pub(super) fn is_term(value: &[u8]) -> bool {
    let is_type = |value: &[u8]| {
        let rest = value.strip_prefix(b"u").unwrap_or(value);
        let bits = rest.strip_prefix(b"int").or(rest.strip_prefix(b"float"));
        bits.is_some_and(|bits| [b"8".as_slice(), b"16", b"32", b"64", b"128"].contains(&bits))
    };
    let is_one = |value: &[u8]| {
        is_type(value) || TERMS.iter().any(|term| value.eq_ignore_ascii_case(term.as_bytes()))
    };
    let plain: Vec<u8> = value.iter().filter(|byte| !b"-_".contains(byte)).copied().collect();
    let is_word = |part: &[u8]| part.iter().all(u8::is_ascii_alphabetic);
    is_one(&plain)
        || (parts(value).any(is_one) && parts(value).all(|part| is_one(part) || is_word(part)))
}

/// Whether it is the name of a variable behind `$`, as shells write it: in large letters, or without digits.
pub(super) fn is_variable(value: &[u8]) -> bool {
    let Some((b'$', name)) = value.split_first() else { return false };
    let name = name.strip_suffix(b";").unwrap_or(name);
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let has_case = name.iter().any(u8::is_ascii_lowercase);
    is_name && !name.is_empty() && !(has_case && name.iter().any(u8::is_ascii_digit))
}

/// Whether it is the name of a constant: words in large letters with `_` between them.
pub(super) fn is_constant(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'_');
    let is_word = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let digits = part.get(letters..).unwrap_or_default();
        part.is_empty()
            || ((letters > 1 || digits.len() <= 1)
                && digits.len() <= 2
                && digits.iter().all(u8::is_ascii_digit))
    };
    let is_plain = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_long = parts.clone().count() > 3 && digits <= 2 && value.iter().all(is_plain);
    value.contains(&b'_')
        && value.iter().any(u8::is_ascii_uppercase)
        && (is_long || parts.all(is_word))
}

/// Whether it is an object as Java prints it, with its type and a hexadecimal number:
/// `org.example.LoginToken@6d06d69c`. A number with only decimal digits does not count, because people end passwords
/// like that.
pub(super) fn is_object(value: &[u8]) -> bool {
    let cut = value.iter().rposition(|byte| *byte == b'@');
    let Some((name, number)) = cut.and_then(|cut| value.split_at_checked(cut)) else {
        return false;
    };
    let number = number.get(1..).unwrap_or_default();
    let is_number = (6..=8).contains(&number.len())
        && number.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && number.iter().any(u8::is_ascii_digit)
        && !number.iter().all(u8::is_ascii_digit);
    let large = name.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    is_number && (is_path_of_names(name) || large > 1 && is_identifier(name))
}

/// Names with dots, as programs write them: each part begins with a letter.
pub(super) fn is_path_of_names(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'.');
    let is_name = |part: &[u8]| {
        part.first().is_some_and(u8::is_ascii_alphabetic)
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    value.contains(&b'.') && parts.all(is_name)
}

/// Names with dots: modules, hosts, versions, files.
pub(super) fn is_dotted(value: &[u8]) -> bool {
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'.').collect();
    let is_name = |part: &&[u8]| {
        !part.is_empty()
            && part.iter().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(byte))
            || part.iter().all(u8::is_ascii_digit)
    };
    parts.len() > 1 && parts.iter().all(is_name)
}

/// Whether it is a file name, judged by its ending.
pub(super) fn is_file(value: &[u8]) -> bool {
    let value = value.split(|byte| *byte == b'#').next().unwrap_or_default();
    let cut = value.iter().rposition(|byte| *byte == b'.');
    let Some((name, end)) = cut.and_then(|cut| value.split_at_checked(cut)) else { return false };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:\\".contains(byte);
    let end = end.get(1..).unwrap_or_default();
    name.len() > 1 && name.iter().all(is_plain) && FILES.contains(&end)
}

/// A time, or the number of a constant: `2019-03-20T17:54:53Z`, `0x10000`.
pub(super) fn is_time(value: &[u8]) -> bool {
    const LONGEST: usize = 10;
    let is_sign = |byte: &u8| b"-:T.Z+ ".contains(byte);
    let signs = value.iter().filter(|byte| is_sign(byte)).count();
    let is_hex = value.len() <= LONGEST
        && value.strip_prefix(b"0x").is_some_and(|rest| rest.iter().all(u8::is_ascii_hexdigit));
    is_hex || (signs > 1 && value.iter().all(|byte| byte.is_ascii_digit() || is_sign(byte)))
}

/// A number of a version: `v1.19.12`, `v1.0.0-b5`.
pub(super) fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"v").unwrap_or(value);
    let value = value.split(|byte| *byte == b'-').next().unwrap_or_default();
    value.contains(&b'.')
        && value
            .split(|byte| *byte == b'.')
            .all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

/// A name with the number of its version: `MPL-2.0`.
pub(super) fn is_version(value: &[u8]) -> bool {
    let cut = value.iter().rposition(|byte| *byte == b'-');
    let Some((name, number)) = cut.and_then(|cut| value.split_at_checked(cut)) else {
        return false;
    };
    let is_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    name.iter().all(is_word) && is_number(number.get(1..).unwrap_or_default())
}

/// Whether it is made of words, and of at least `mean` letters for each: `bearerTokenSecret`, `X-Cf-App-Instance`.
/// Drawn letters of both cases have a large one at every second place.
pub(super) fn is_of_words(value: &[u8], mean: usize) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphabetic() || b"-_.#".contains(byte);
    let words = |part: &[u8]| {
        let large = part.iter().filter(|byte| byte.is_ascii_uppercase()).count();
        let has_small_first = part.first().is_some_and(u8::is_ascii_lowercase);
        // `ReadMsgUDP` ends in one word.
        let ending = part.iter().rev().take_while(|byte| byte.is_ascii_uppercase()).count();
        large - ending.saturating_sub(1) + usize::from(has_small_first)
    };
    let count: usize = value.split(|byte| !byte.is_ascii_alphabetic()).map(words).sum();
    value.iter().all(is_plain) && count * mean <= value.len()
}

/// Whether it is the name of a variable or a type, perhaps with a number behind it: `_resolveConfig$with`,
/// `oidExtKeyUsage21`.
pub(super) fn is_identifier(value: &[u8]) -> bool {
    const MEAN: usize = 4;
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (name, _) = value.split_at(value.len() - if digits <= 2 { digits } else { 0 });
    let name: Vec<u8> = name.iter().map(|byte| if *byte == b'$' { b'_' } else { *byte }).collect();
    is_of_words(&name, MEAN)
}

/// Whether it is made of three words or more with signs between them, some with a number:
/// `my-json-file-base64-encoded`.
pub(super) fn are_joined(value: &[u8]) -> bool {
    const LONGEST: usize = 14;
    let is_word = |part: &[u8]| {
        let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (word, _) = part.split_at(part.len() - digits);
        let rest = word.get(1..).unwrap_or_default();
        let is_of_one_case = word.iter().all(u8::is_ascii_uppercase)
            || rest.iter().all(u8::is_ascii_lowercase)
                && word.first().is_none_or(u8::is_ascii_alphabetic);
        is_of_one_case && digits <= 2 && (1..=LONGEST).contains(&part.len())
    };
    let count = parts(value).count();
    count >= 3 && value.len() >= count * 4 && parts(value).all(is_word)
}

/// Whether it describes the secret that belongs in its place: words that end in a word for secrets, such as
/// `airflow-mysql-password` and `uri_secret`.
pub(super) fn is_label(value: &[u8]) -> bool {
    let is_word = |part: &[u8]| {
        let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (word, _) = part.split_at(part.len() - digits);
        digits <= 1 && !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic)
    };
    let last = parts(value).last().unwrap_or_default();
    parts(value).count() > 1
        && SECRETS.iter().any(|secret| last.eq_ignore_ascii_case(secret))
        && parts(value).all(is_word)
}

/// Endings of names whose values describe a secret without being one.
const ABOUT: [&str; 28] = [
    "mgr",
    "manager",
    "realm",
    "mtime",
    "id",
    "ids",
    "_at",
    "url",
    "uri",
    "path",
    "file",
    "name",
    "names",
    "type",
    "count",
    "length",
    "limit",
    "size",
    "expires",
    "expiry",
    "policy",
    "version",
    "label",
    "prompt",
    "hint",
    "env",
    "address",
    "algorithm",
];

/// Whether a word alone says that, as in `the password length`.
pub(super) fn is_word_about(word: &[u8]) -> bool {
    ABOUT.iter().any(|about| about.as_bytes() == word)
}

/// Whether a name that goes on like this names something about a secret, as `token_url` does.
pub(super) fn is_about(rest: &[u8]) -> bool {
    let rest = rest.to_ascii_lowercase();
    ABOUT.iter().any(|end| rest.ends_with(end.as_bytes()))
}

/// Words before the name of a key or token that everybody may see, or that is good for one page only.
const PUBLIC: [&str; 5] = ["public", "pub", "csrf", "xsrf", "authenticity"];

/// Whether such a word comes before `at`.
pub(super) fn is_public(text: Text<'_>, at: usize) -> bool {
    const LONGEST: usize = 13;
    let before = text.part(at.saturating_sub(LONGEST), at);
    let before = match before {
        [rest @ .., b'_' | b'-' | b'.' | b' '] => rest,
        all => all,
    };
    let lower = before.to_ascii_lowercase();
    PUBLIC.iter().any(|word| lower.ends_with(word.as_bytes()))
}

/// Words before `_key` that make it a key for look-up, sorting or storage.
const LOOKUP: [&str; 30] = [
    "cache",
    "primary",
    "foreign",
    "sort",
    "partition",
    "public",
    "idempotency",
    "object",
    "s3",
    "row",
    "group",
    "dedup",
    "dedupe",
    "lookup",
    "map",
    "hash",
    "bucket",
    "file",
    "image",
    "query",
    "index",
    "routing",
    "unique",
    "event",
    "message",
    "record",
    "state",
    "meta",
    "pub",
    "csrf",
];

/// Whether such a word comes before `at`.
pub(super) fn is_lookup(text: Text<'_>, at: usize) -> bool {
    let before = text.part(at.saturating_sub(12), at).to_ascii_lowercase();
    LOOKUP.iter().any(|word| before.ends_with(word.as_bytes()))
}

/// Whether a name has such a word before its `_key`.
pub(super) fn is_lookup_name(name: &[u8]) -> bool {
    let at = memchr::memmem::find(&name.to_ascii_lowercase(), b"_key");
    at.is_some_and(|at| is_lookup(Text::whole(name), at))
}

/// Whether a name has a word in it that says that everybody may see its value.
pub(super) fn is_public_name(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    PUBLIC.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_it: fn(&[u8]) -> bool, names: &[&str], others: &[&str]) {
        for name in names {
            assert!(is_it(name.as_bytes()), "{name}");
        }
        for other in others {
            assert!(!is_it(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn names_are_told_from_what_is_drawn() {
        check(
            is_term,
            &["sha-256", "sha256_crypt", "base64-encoded", "uint16"],
            &["sha256x9", "v4lue"],
        );
        check(
            is_file,
            &["key-45e35d85.json", "client-store.p12"],
            &["a1b2.c3d4", ".key", "x y.md"],
        );
        check(
            is_object,
            &["org.example.LoginToken@6d06d69c", "LoginToken@1a2b3c"],
            &["Winter@20245", "MyDog@123456", "john.doe@1234567", "LoginToken@v4lue"],
        );
        check(is_constant, &["OAUTH2_TOKEN_V1", "API_KEY"], &["V4LUE", "A8R4X_9QZ2"]);
        check(is_number, &["v1.19.12", "2.0"], &["12", "v1", "1..2"]);
        check(is_version, &["MPL-2.0", "Apache-2.0"], &["stone-river-47", "v4lue-2.x"]);
        check(is_time, &["2019-03-20T17:54:53Z", "0x10000"], &["v4lue", "0x1234567890ab", "12-x"]);
        check(
            is_identifier,
            &["_resolveConfig$withCr", "oidExtKeyUsageRecovery21"],
            &["aB3dE5fG", "v4lue99"],
        );
        check(are_joined, &["my-json-file-base64-encoded"], &["aB3-x9q-Zk2f", "one-two", "a-b-c"]);
        check(is_label, &["uri_secret", "mysql-user1-password"], &["password", "secret-v4lue"]);
        check(
            |value| is_of_words(value, 4),
            &["bearerTokenSecret", "X-Cf-App-Instance", "AUTH_API_KEY", "MySqlTableWithColumns"],
            &["aBcDeFgHiJ", "tFpkQFyuuDNC", "v4lue"],
        );
    }
}
