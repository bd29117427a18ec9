//! Names of several words: of constants, variables, types, headers, algorithms, tests.

use super::set::Set;

/// Terms with digits, as people name algorithms, forms and machines.
pub(super) const TERMS: [&str; 40] = [
    "base64",
    "base32",
    "base58",
    "sha1",
    "sha2",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "argon2",
    "argon2id",
    "pbkdf2",
    "hs256",
    "rs256",
    "es256",
    "ed25519",
    "x25519",
    "aes128",
    "aes256",
    "oauth2",
    "utf8",
    "ipv4",
    "ipv6",
    "win32",
    "x509",
    "pkcs8",
    "pkcs12",
    "int64",
    "http2",
    "pkcs7",
    "nistp256",
    "nistp384",
    "nistp521",
    "secp256k1",
    "amd64",
    "arm64",
    "aarch64",
    "riscv64",
    "x86_64",
];

/// Whether it is a name of several words, each a term or a word with at most `digits` digits behind it:
/// `imdsv2_session_token`, `V1LocalObjectReference`, `ssh-ed25519-cert-v01`. Random values have digits within their
/// words, or shorter words.
pub(super) fn is_named(value: &[u8], digits: usize) -> bool {
    const MEAN: usize = 4;
    has_words(value, digits, MEAN)
}

/// Like [`is_named`], with words of at least `mean` letters on average.
pub(super) fn has_words(value: &[u8], digits: usize, mean: usize) -> bool {
    let (mut here, mut words) = (0, 0);
    while let Some(rest) = value.get(here..).filter(|rest| !rest.is_empty()) {
        if rest.first().is_some_and(|byte| SIGNS.has(*byte)) {
            here += 1;
            continue;
        }
        let is_first =
            here.checked_sub(1).and_then(|at| value.get(at)).is_none_or(|byte| SIGNS.has(*byte));
        let Some((length, count)) = term(rest, digits).or_else(|| word(rest, digits, is_first))
        else {
            return false;
        };
        (here, words) = (here + length, words + count);
    }
    words > 1 && words * mean <= value.len()
}

/// The signs between the words of a name.
const SIGNS: Set = Set::of("-_.:/#$");

/// Returns the length of the term, with its number, at the beginning of a text, and the one word that it counts for.
fn term(rest: &[u8], digits: usize) -> Option<(usize, usize)> {
    let length = |term: &&str| {
        let letters = term.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (word, number) = term.as_bytes().split_at_checked(letters)?;
        let behind = rest
            .get(letters..)
            .filter(|_| rest.get(..letters).is_some_and(|it| it.eq_ignore_ascii_case(word)))?;
        let sign = usize::from(behind.first().is_some_and(|byte| b"-_".contains(byte)));
        let there =
            behind.get(sign..sign + number.len()).is_some_and(|it| it.eq_ignore_ascii_case(number));
        let end = letters + sign + number.len();
        // `Utf8Case`, and `Utf814` for the fourteenth of its kind.
        let more = rest.iter().skip(end).take_while(|byte| byte.is_ascii_digit()).count();
        let end = end + more;
        let is_over = !rest.get(end).is_some_and(u8::is_ascii_lowercase)
            && (more == 0 || more <= digits && rest.get(end).is_none_or(|byte| SIGNS.has(*byte)));
        (there && is_over).then_some((end, 1))
    };
    TERMS.iter().filter_map(length).max()
}

/// Returns the length of the word, with its digits, at the beginning of a text, and for how many words it counts. A
/// number counts for zero words.
fn word(rest: &[u8], digits: usize, is_first: bool) -> Option<(usize, usize)> {
    const NUMBER: usize = 4;
    let run = |from: usize, is_one: fn(&u8) -> bool| {
        rest.iter().skip(from).take_while(|byte| is_one(byte)).count()
    };
    let large = run(0, u8::is_ascii_uppercase);
    let small = run(large, u8::is_ascii_lowercase);
    let letters = large + small;
    let number = run(letters, u8::is_ascii_digit);
    let end = letters + number;
    let next = (rest.get(end), rest.get(end + 1));
    // `Key2Value` and `V1Local` go on behind their number; letters of one case do not.
    let goes_on = matches!(next, (Some(b'A'..=b'Z'), Some(b'a'..=b'z'))) && large == 1;
    let is_over = next.0.is_none_or(|byte| SIGNS.has(*byte));
    let is_word = match (letters, number) {
        (0, 0) => false,
        (0, _) => {
            let unit = run(end, u8::is_ascii_lowercase);
            let is_over = rest.get(end + unit).is_none_or(|byte| SIGNS.has(*byte));
            let is_number = is_first && is_over && digits > 0 && number <= NUMBER && unit <= 2;
            return is_number.then_some((end + unit, 0));
        }
        (_, 0) => is_over || next.0.is_some_and(u8::is_ascii_uppercase),
        _ => number <= digits && (is_over || goes_on),
    };
    // `SSHCert` is two words, and drawn letters are as many as there are large ones.
    let count = match (large, small) {
        // `X-Api-Key2` is a name of three.
        _ if letters == 1 && is_first && is_over && number == 0 => 0,
        (0 | 1, _) | (2..=5, 0) => 1,
        (_, 0) if is_over => 1,
        (2..=4, 3..) => 2,
        _ => large,
    };
    is_word.then_some((end, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_words_are_told_from_what_is_drawn() {
        let check = |digits: usize, names: &[&str], others: &[&str]| {
            for name in names {
                assert!(is_named(name.as_bytes(), digits), "{name}");
            }
            for other in others {
                assert!(!is_named(other.as_bytes(), digits), "{other}");
            }
        };
        check(
            2,
            &[
                "imdsv2_session_token",
                "V1LocalObjectReference",
                "ssh-ed25519-cert-v01",
                "ecdsa-sha2-nistp256-cert-v01",
                "x-amz-content-sha256",
                "PKCS7PrivateKeyTypes",
                "SSHCertPrivateKeyTypes",
                "TEST_ENCRYPTION_KEY1_SHA256_B64",
                "SCRAM-SHA-256",
                "api_key_2",
                "self.auth_token_v2",
                "X-Goog-Api-Key2",
                "TestDecodeUtf814",
            ],
            &[
                "v4lue",
                "jcEsiwwBkENBFRMKRcsdyecfdoUFElV3",
                "aB3-x9q-Zk2f",
                "q8Zr2LkV0tXw7NfB",
                "ABCD3FGHI7KLMNOP2QRS",
                "abcde12fghij",
                "a-b-c",
            ],
        );
        check(0, &["OAuth2PasswordBearer"], &["stone-river-47", "Winter2025"]);
    }
}
