//! Judges whether a value is a secret or a harmless text in a secret's place.

use super::name::{
    are_joined, is_constant, is_dotted, is_file, is_identifier, is_label, is_object, is_of_words,
    is_path_of_names, is_term, is_time, is_variable, is_version,
};
use super::set::Set;
use super::words::{has_words, is_named};
pub(super) use score::{Seen, is_surely_password};

mod score;

/// The most digits behind a word of a name.
const NUMBER: usize = 2;

/// The kind of value that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// People choose it.
    Password,
    /// A machine draws it.
    Key,
    /// A machine draws it, but most values behind such a name are no secrets.
    Drawn,
    /// People choose it, and only the name before it shows that it is a secret.
    Plain,
    /// A value that is mostly the name of another thing.
    Struck,
}

/// A word, and the letters in it.
struct Word(&'static str, Set);

const fn word(text: &'static str) -> Word {
    Word(text, Set::of(text))
}

/// Words that mark the value of an example. Case is ignored.
const WORDS: [Word; 18] = [
    word("example"),
    word("sample"),
    word("placeholder"),
    word("changeme"),
    word("change_me"),
    word("change-me"),
    word("your"),
    word("xxxx"),
    word("..."),
    word("****"),
    word("redacted"),
    word("insert"),
    word("replace"),
    word("dummy"),
    word("not-needed"),
    word("todo"),
    word("deadbeef"),
    word("testtest"),
];

/// Whether it is a value of documents and tests, which everybody may know.
pub(super) fn is_sample(value: &[u8]) -> bool {
    // A long secret may hold any short word by chance, and is not looked through for each place in it.
    let value = value.get(..64).unwrap_or(value);
    let least = match value.len() {
        ..12 => 2,
        length @ 12..24 => u32::try_from(length / 4).unwrap_or(6),
        24.. => 6,
    };
    let there = there(value);
    if distinct(there) < least || is_typed_idly(value) {
        return true;
    }
    // Few values have all letters of a word.
    let letters = Set::of_either_case(there);
    let mut could_be = WORDS.iter().filter(|word| letters.has_all(word.1)).peekable();
    if could_be.peek().is_none() {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    could_be.any(|Word(word, _)| {
        let places = memchr::memmem::find_iter(&lower, word.as_bytes());
        let written = |at: usize| value.get(at..at + word.len()).unwrap_or_default();
        places.map(written).any(is_of_one_case)
    })
}

/// Whether a person may have written these letters as a word: small or large, or with a large one first. A random
/// value has any letters side by side.
fn is_of_one_case(word: &[u8]) -> bool {
    let rest = word.get(1..).unwrap_or_default();
    !rest.iter().any(u8::is_ascii_uppercase) || !word.iter().any(u8::is_ascii_lowercase)
}

/// Whether a person held a key down or typed the alphabet: most letters equal the letter before them, or many follow
/// each other.
fn is_typed_idly(value: &[u8]) -> bool {
    const ROW: usize = 16;
    let (mut same, mut row) = (0, 1);
    for pair in value.windows(2) {
        let [one, two] = pair else { break };
        same += usize::from(one == two);
        row = if one.wrapping_add(1) == *two { row + 1 } else { 1 };
        if row >= ROW {
            return true;
        }
    }
    value.len() >= ROW && same * 2 > value.len()
}

/// Whether the value follows the row of digits or the alphabet.
pub(super) fn is_counted(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    ["123456789", "abcdefgh"]
        .iter()
        .any(|run| memchr::memmem::find(&lower, run.as_bytes()).is_some())
}

/// Whether a value looks random: it is no word, number or path.
pub(super) fn is_drawn(value: &[u8]) -> bool {
    if is_sample(value) {
        return false;
    }
    // The beginning of a long value shows its composition.
    let value = value.get(..128).unwrap_or(value);
    let Classes { digits, lower, upper, changes, .. } = Classes::of(value);
    // Names in camel case change case less often than random values, and no counting number is that long.
    let all = digits + lower + upper;
    let is_mixed = (digits > 0 && lower + upper > 0)
        || (lower > 0 && upper > 0 && changes * 3 > all)
        || (digits == all && all >= 24);
    is_mixed && entropy(value) >= 2.5 && !is_named(value, NUMBER)
}

/// Whether letters of one case, without a sign between them, are more than a word or some words without blanks:
/// longer, or with more consonants in a row.
pub(super) fn is_no_word(value: &[u8]) -> bool {
    const LONG: usize = 32;
    const ROW: usize = 5;
    let is_of_one_case =
        value.iter().all(u8::is_ascii_lowercase) || value.iter().all(u8::is_ascii_uppercase);
    let is_vowel = |byte: &u8| b"aeiouy".contains(&byte.to_ascii_lowercase());
    let row = value.split(is_vowel).map(<[u8]>::len).max();
    is_of_one_case
        && (value.len() >= LONG || row.is_some_and(|row| row >= ROW))
        && !is_sample(value)
        && entropy(value) >= 3.0
}

/// Whether the value of an assignment is a secret.
pub(super) fn is_secret(value: &[u8], kind: Kind, is_quoted: bool, is_prose: bool) -> bool {
    let may_refer = matches!(kind, Kind::Key | Kind::Drawn) || !ends_in_digits(value);
    if is_sample(value) || is_counted(value) || is_code(value, is_quoted, may_refer) {
        return false;
    }
    match kind {
        Kind::Password => is_password(value, is_quoted, is_prose),
        Kind::Key => is_key(value, is_quoted),
        Kind::Drawn => is_surely_key(value),
        Kind::Plain => Seen { is_first: true, ..Seen::of(value) }.is_password(),
        Kind::Struck => !has_words(value, NUMBER, 3) && is_surely_password(value),
    }
}

/// References, calls, paths and addresses: the source of a secret instead of the secret.
fn is_code(value: &[u8], is_quoted: bool, may_refer: bool) -> bool {
    const REFERS: [Word; 16] = [
        word("#{"),
        word("${"),
        word("{{"),
        word("<%"),
        word("%("),
        word("$("),
        word("%{"),
        word("://"),
        word("::"),
        word("->"),
        word("=>"),
        word("</"),
        word("{}"),
        word("{0}"),
        word("/{"),
        word(": '"),
    ];
    const READS: [Word; 10] = [
        word("process.env"),
        word("os.environ"),
        word("getenv"),
        word("config."),
        word("self."),
        word("this."),
        word("settings."),
        word("secrets."),
        word("var."),
        word("env."),
    ];
    let first = value.first().copied().unwrap_or_default();
    // Few values have all letters of a word.
    let letters = Set::of_either_case(there(value));
    let has = |Word(word, set): &Word| {
        letters.has_all(*set) && memchr::memmem::find(value, word.as_bytes()).is_some()
    };
    let refers = [b'$', b'{', b'<', b'%', b'(', b'&'].contains(&first) && !is_quoted
        || REFERS.iter().any(has);
    let calls = !is_quoted && value.iter().any(|byte| b"(){}<>[".contains(byte)) || is_call(value);
    let rest = value.get(1..).unwrap_or_default();
    let is_tag =
        first == b'!' && (rest.iter().all(u8::is_ascii_alphabetic) || is_path_of_names(rest));
    // Placeholders of templates and prefixes of logs: `@PASSWORD`, `debug2:`.
    let is_hole = first == b'@' && (is_constant(rest) || rest.iter().all(u8::is_ascii_uppercase))
        || first == b'<' && is_constant(rest.strip_suffix(b">").unwrap_or(rest));
    let is_flag = value.starts_with(b"--") && value.contains(&b'=');
    let is_head = !is_quoted && value.ends_with(b":");
    // `a?b:c` of a program without blanks, and an operand after a string that ended: `"KEY="+file.name()`.
    let question = value.iter().position(|byte| *byte == b'?').unwrap_or(value.len());
    let is_choice = !is_quoted && value.iter().skip(question).any(|byte| *byte == b':');
    let is_added = first == b'+' && value.ends_with(b")");
    // Also of a pair: `user:$TOKEN`.
    let second = value.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    let is_variable = (first == b'%' && value.ends_with(b"%")) || is_variable(second);
    let is_path = first == b'/'
        || [b"./".as_slice(), b"../", b"~/", b"urn:", b"arn:"]
            .iter()
            .any(|begin| value.starts_with(begin))
        || is_file(value);
    let is_words = value.iter().filter(|byte| **byte == b' ').count() > 1;
    refers
        || is_tag
        || is_hole
        || is_flag
        || is_object(value)
        || is_head
        || is_choice
        || is_added
        || is_variable
        || calls
        || (!is_quoted && may_refer && is_path_of_names(value))
        || is_path
        || is_words
        || READS.iter().any(has)
}

/// Whether it is the call of a function, as the text that shows a value has it, or a type: `Secret(name='%s')`,
/// `list[Key]`.
fn is_call(value: &[u8]) -> bool {
    let name = value
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte))
        .count();
    let ends = (value.get(name), value.last());
    name > 3 && matches!(ends, (Some(b'('), Some(b')')) | (Some(b'['), Some(b']')))
}

/// Whether a literal that a program or file sets a password to can be a password: a word of its own.
pub(super) fn is_literal(value: &[u8]) -> bool {
    const SAYS_NOTHING: [&str; 22] = [
        "password",
        "passwort",
        "passwd",
        "passphrase",
        "kennwort",
        "current",
        "new",
        "old",
        "confirm",
        "required",
        "optional",
        "disabled",
        "enabled",
        "incorrect",
        "invalid",
        "undefined",
        "unknown",
        "protected",
        "encrypted",
        "plaintext",
        "hidden",
        "username",
    ];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let says_nothing =
        |part: &[u8]| SAYS_NOTHING.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()));
    (8..=64).contains(&value.len())
        && value.iter().all(is_word)
        && !is_sample(value)
        && !is_constant(value)
        && !value.split(|byte| b"-_".contains(byte)).all(says_nothing)
}

fn is_password(value: &[u8], is_quoted: bool, is_prose: bool) -> bool {
    let is_name = is_dotted(value)
        || is_term(value)
        || is_constant(value)
        || is_label(value)
        || is_version(value)
        || is_time(value)
        || (!is_quoted && (is_of_words(value, 3) || is_named(value, 0)));
    if value.len() < 6 || is_name {
        return false;
    }
    let classes = Classes::of(value);
    match (is_quoted, is_prose) {
        // An unquoted word of a sentence or of code needs more than a digit in it.
        (false, true) => {
            let plain = value.strip_suffix(b".").unwrap_or(value);
            let plain = Classes::of(plain);
            (plain.digits > 0 && plain.letters() > 0 && value.len() >= 7)
                || (plain.strange > 0 && plain.letters() > 3)
        }
        (false, false) => {
            (classes.digits > 0 && classes.letters() > 0)
                || (classes.strange > 0 && classes.letters() > 3)
                || classes.are_mixed()
        }
        (true, _) => {
            classes.letters() > 0
                && (classes.digits > 0 || classes.strange > 0 || classes.are_mixed())
        }
    }
}

/// Names of things seldom end in more than one digit.
fn ends_in_digits(value: &[u8]) -> bool {
    value.iter().rev().take(2).filter(|byte| byte.is_ascii_digit()).count() == 2
}

/// A key that is no digest, no name in a store and no id: long, and not of hexadecimal digits alone.
fn is_surely_key(value: &[u8]) -> bool {
    const LEAST: usize = 24;
    let is_digest = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let is_path = value.iter().any(|byte| b"/.:".contains(byte));
    // `gss_krb5_rfc1964_keydata`.
    let is_name = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        part.iter().skip(letters).all(u8::is_ascii_digit)
    };
    let is_joined = value.split(|byte| b"_-".contains(byte)).all(is_name);
    let is_other = is_digest || is_path || is_joined;
    value.len() >= LEAST && !is_other && is_drawn(value) && is_key(value, false)
}

fn is_key(value: &[u8], is_quoted: bool) -> bool {
    let least = if is_quoted { 16 } else { 20 };
    let is_name = is_dotted(value)
        || is_constant(value)
        || are_joined(value)
        || is_identifier(value)
        || is_named(value, NUMBER);
    if value.len() < least || value.contains(&b' ') || is_name {
        return false;
    }
    // The second half of a pair is the secret. Services whose pairs begin with a number have rules of their own,
    // which know the length of the other half.
    if let Some(cut) = value.iter().rposition(|byte| *byte == b':') {
        let (name, rest) = value.split_at(cut);
        return !name.iter().all(u8::is_ascii_digit)
            && is_key(rest.get(1..).unwrap_or_default(), is_quoted);
    }
    let classes = Classes::of(value);
    // Names have digits at their ends; random values have them everywhere.
    let has_digits =
        classes.digits >= 2 && classes.letters() >= 2 && classes.changes * 4 >= value.len();
    let is_long = value.len() >= 20 && classes.changes * 3 > value.len();
    (has_digits || classes.are_mixed() || is_long && classes.upper > 1) && entropy(value) >= 3.3
}

#[derive(Default)]
pub(super) struct Classes {
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    /// Signs that names do not contain.
    pub(super) strange: usize,
    /// How often one class follows another.
    pub(super) changes: usize,
}

impl Classes {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut classes = Classes::default();
        let mut last = 0;
        for byte in value {
            let class = match byte {
                b'a'..=b'z' => {
                    classes.lower += 1;
                    1
                }
                b'A'..=b'Z' => {
                    classes.upper += 1;
                    2
                }
                b'0'..=b'9' => {
                    classes.digits += 1;
                    3
                }
                _ => {
                    classes.strange += usize::from(b"!@#$%^&*+=?~".contains(byte));
                    4
                }
            };
            classes.changes += usize::from(class != last);
            last = class;
        }
        classes
    }

    /// Whether small and large letters follow each other as in no word.
    fn are_mixed(&self) -> bool {
        let length = self.lower + self.upper + self.digits;
        self.lower > 1 && self.upper > 1 && self.changes * 5 > length * 2
    }

    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }
}

fn counts(value: &[u8]) -> [u16; 256] {
    let mut counts = [0_u16; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// Returns a bit set of the bytes in the value.
fn there(value: &[u8]) -> [u64; 4] {
    let mut there = [0_u64; 4];
    for byte in value {
        if let Some(word) = there.get_mut(usize::from(*byte >> 6)) {
            *word |= 1 << (*byte & 63);
        }
    }
    there
}

fn distinct(there: [u64; 4]) -> u32 {
    there.iter().map(|word| word.count_ones()).sum()
}

/// Shannon's entropy in bits a byte.
fn entropy(value: &[u8]) -> f64 {
    let all = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let bits = |count: &u16| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    };
    counts(value).iter().filter(|count| **count > 0).map(bits).sum()
}

#[cfg(test)]
mod tests;
