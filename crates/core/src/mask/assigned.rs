//! `name = "value"` in all the ways in which code, files and people write it.

use super::set::{ALNUM, BLANK, PRINTABLE, Set};
use super::text::{More, Text};

pub(super) const NAME: Set = ALNUM.or(Set::of("_.-"));
/// What closes a name: quotes, brackets, and the backslash before a quote inside of a string.
const CLOSERS: Set = Set::of("\"'`])\\*");
const QUOTES: Set = Set::of("\"'`");
const TYPE: Set = ALNUM.or(Set::of("&'<>_"));
/// The longest value that is looked at.
pub(super) const LONGEST: usize = 256;

/// Where a value begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: usize,
    /// The quote before it.
    pub(super) quote: Option<u8>,
    /// Whether a word stands between name and value, as people write it.
    pub(super) is_prose: bool,
    /// Whether the name is that of an element of XML, so that the value ends where another tag begins.
    pub(super) is_element: bool,
}

/// Where a value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) to: usize,
    /// What it goes on with, if it is longer than what is looked at.
    pub(super) open: Option<Set>,
}

/// What stands between name and value.
enum Sign {
    None,
    /// An operator or a word that ends here.
    Ends {
        at: usize,
        is_prose: bool,
        wants_quote: bool,
    },
}

/// Finds the value behind a name that ends at `at`; up to `words` words may follow the name.
pub(super) fn start(text: Text<'_>, at: usize, words: usize) -> Result<Option<Start>, More> {
    let mut here = at;
    for word in 0..=words {
        let name = text.run(here, NAME, 32)?;
        here += name;
        let closers = text.run(here, CLOSERS, 4)?;
        here += closers;
        if word == 0
            && let Some(at) = sibling(text, here)?
        {
            return value_start(text, at, false);
        }
        here += text.run(here, BLANK, 8)?;
        here = behind_remark(text, here)?;
        let stands =
            Stands { is_closed: closers > 0, is_bare: word + name == 0, is_first: word == 0 };
        if let Sign::Ends { at, is_prose, wants_quote } = sign(text, here, stands)? {
            let is_element = text.before(at, 1) == Some(b'>') && text.before(at, 2) != Some(b'=');
            let found = value_start(text, at, is_prose)?;
            let found = found.map(|start| Start { is_element, ..start });
            return Ok(found.filter(|start| !wants_quote || start.quote.is_some()));
        }
        // `the password "..."`.
        let is_quoted = text.byte(here)?.is_some_and(|byte| QUOTES.has(byte));
        if word + name + closers == 0 && here > at && is_quoted {
            return value_start(text, here, true);
        }
        let is_word = text.byte(here)?.is_some_and(|byte| byte.is_ascii_alphabetic());
        if word == words || closers > 0 || !is_word {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Behind `value` and its sign, where name and value are members of one entry: `name: X` and `value: ...` on the next
/// line, or `key="X" value="..."`.
fn sibling(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let gap = text.run(at, BLANK.or(Set::of("\r\n,")), 48)?;
    let mut here = at + gap + text.run(at + gap, CLOSERS, 3)?;
    if gap == 0 || !text.continues(here, b"value", true)? {
        return Ok(None);
    }
    here += b"value".len();
    here += text.run(here, CLOSERS, 3)?;
    here += text.run(here, BLANK, 8)?;
    let signs = text.run(here, Set::of(":=>"), 2)?;
    Ok((signs > 0).then_some(here + signs))
}

/// Behind a remark, as in `password (case sensitive): value`.
fn behind_remark(text: Text<'_>, at: usize) -> Result<usize, More> {
    const REMARK: Set = PRINTABLE.or(Set::of(" ")).without(Set::of("()\"'`"));
    if text.byte(at)? != Some(b'(') || !text.before(at, 1).is_some_and(|byte| BLANK.has(byte)) {
        return Ok(at);
    }
    let end = at + 1 + text.run(at + 1, REMARK, 40)?;
    if text.byte(end)? != Some(b')') {
        return Ok(at);
    }
    let behind = end + 1 + text.run(end + 1, BLANK, 2)?;
    Ok(if matches!(text.byte(behind)?, Some(b':' | b'=')) { behind } else { at })
}

/// Where a value may begin that follows its name without a sign, as in `password v4lue` and `password (v4lue)`.
pub(super) fn direct(text: Text<'_>, at: usize) -> Result<Option<Start>, More> {
    let mut here = at;
    if text.continues(at, b"'s ", false)? {
        here += b"'s ".len();
    } else {
        let blanks = text.run(at, BLANK, 8)?;
        here += blanks;
        if blanks == 0 {
            return Ok(None);
        }
    }
    here += text.run(here, Set::of("("), 1)?;
    value_start(text, here, true)
}

/// Endings of names whose values say something about a secret, and are none.
const ABOUT: [&str; 24] = [
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

/// Whether a name that goes on like this names something about a secret, as `token_url` does.
pub(super) fn is_about(rest: &[u8]) -> bool {
    let rest = rest.to_ascii_lowercase();
    ABOUT.iter().any(|end| rest.ends_with(end.as_bytes()))
}

/// Words before the name of a key or token that everybody may see, or that is good for one page only.
const PUBLIC: [&str; 5] = ["public", "pub", "csrf", "xsrf", "authenticity"];

/// Whether such a word stands before a place.
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

/// Whether a name has such a word in it.
pub(super) fn is_public_name(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    PUBLIC.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

/// Whether the value that was found behind a name that ends at `at` is set to a literal: in quotes behind an equals sign,
/// or as the other member of an entry.
pub(super) fn is_set(text: Text<'_>, at: usize, start: Start) -> bool {
    let between = text.part(at, start.at);
    let has = |sign: &str| memchr::memmem::find(between, sign.as_bytes()).is_some();
    let sets = has("=") && !has("==") && !has("!=") && !has("=>");
    start.quote.is_some() && !start.is_prose && sets
}

/// Whether a name that is a word of many meanings is one here: its value is said right behind it.
pub(super) fn is_told(text: Text<'_>, at: usize) -> Result<bool, More> {
    let mut here = at + text.run(at, CLOSERS, 2)?;
    here += text.run(here, BLANK, 2)?;
    Ok(matches!(text.byte(here)?, Some(b':' | b'='))
        || text.continues(here, b"is ", false)?
        || text.continues(here, b"are ", false)?)
}

/// What stands behind a name.
#[derive(Clone, Copy)]
struct Stands {
    /// Something closed it: a quote or a bracket.
    is_closed: bool,
    /// Nothing but its own closing.
    is_bare: bool,
    /// No other word.
    is_first: bool,
}

fn sign(text: Text<'_>, at: usize, stands: Stands) -> Result<Sign, More> {
    let ends = |at| Sign::Ends { at, is_prose: false, wants_quote: false };
    let Some(first) = text.byte(at)? else { return Ok(Sign::None) };
    Ok(match first {
        b'=' | b':' | b'!' | b'?' => {
            let length = text.run(at, Set::of("=:>!?~"), 4)?;
            if first == b':' && length == 1 {
                return Ok(ends(typed(text, at + 1)?.unwrap_or(at + 1)));
            }
            let signs = text.part(at, at + length);
            if signs.contains(&b'=') { ends(at + length) } else { Sign::None }
        }
        0xE2 if text.continues(at, "→".as_bytes(), false)? => ends(at + "→".len()),
        b'<' if text.byte(at + 1)? == Some(b'-') => ends(at + 2),
        b'>' | b'|' => ends(at + 1),
        b'.' if text.byte(at + 1)? == Some(b'=') => ends(at + 2),
        b'(' if stands.is_bare => Sign::Ends { at: at + 1, is_prose: false, wants_quote: true },
        b',' if stands.is_closed && stands.is_first => {
            Sign::Ends { at: at + 1, is_prose: false, wants_quote: true }
        }
        b'i' | b'w' | b't' | b'a' | b'b' | b's' => {
            for word in
                [b"is ".as_slice(), b"was ", b"to ", b"is: ", b"as ", b"be ", b"are ", b"stays "]
            {
                if text.continues(at, word, false)? {
                    let at = behind_filler(text, at + word.len())?;
                    return Ok(Sign::Ends { at, is_prose: true, wants_quote: false });
                }
            }
            Sign::None
        }
        _ => Sign::None,
    })
}

/// Behind a word that changes nothing, as in `is still v4lue`.
fn behind_filler(text: Text<'_>, at: usize) -> Result<usize, More> {
    for word in [b"still ".as_slice(), b"now ", b"just ", b"probably ", b"currently ", b"set to "] {
        if text.continues(at, word, false)? {
            return Ok(at + word.len());
        }
    }
    Ok(at)
}

/// Behind a type, as in `name: &str = "value"`.
fn typed(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at + text.run(at, BLANK, 2)?;
    let length = text.run(here, TYPE, 24)?;
    here += length;
    here += text.run(here, BLANK, 2)?;
    if length == 0 || text.byte(here)? != Some(b'=') {
        return Ok(None);
    }
    here += 1;
    let blanks = text.run(here, BLANK, 2)?;
    let is_quoted = text.byte(here + blanks)?.is_some_and(|byte| QUOTES.has(byte));
    Ok(is_quoted.then_some(here))
}

fn value_start(text: Text<'_>, at: usize, is_prose: bool) -> Result<Option<Start>, More> {
    const LINES: Set = BLANK.or(Set::of("\r\n"));
    let mut here = at + text.run(at, BLANK, 8)?;
    // The text of an element, or a block of YAML, may begin on the next line.
    let is_line_end = |byte: Option<u8>| matches!(byte, Some(b'\r' | b'\n'));
    if text.before(at, 1) == Some(b'>') && is_line_end(text.byte(here)?) {
        here += text.run(here, LINES, 64)?;
    } else if text.before(at, 1) == Some(b':') && matches!(text.byte(here)?, Some(b'|' | b'>')) {
        let mark = here + 1 + text.run(here + 1, Set::of("+-0123456789"), 2)?;
        if is_line_end(text.byte(mark)?) {
            here = mark + text.run(mark, LINES, 64)?;
        }
    }
    // `b"..."`, `r"..."`, `rb'...'`, `$'...'`.
    let prefix = text.run(here, Set::of("bBrRuUfF$@"), 2)?;
    if prefix > 0 && text.byte(here + prefix)?.is_some_and(|byte| QUOTES.has(byte)) {
        here += prefix;
    }
    here += text.run(here, Set::of("\\*"), 4)?;
    let mut quote = None;
    let quotes = text.run(here, QUOTES, 3)?;
    if quotes > 0 {
        quote = text.byte(here)?;
        here += quotes;
    }
    Ok(text.byte(here)?.map(|_| Start { at: here, quote, is_prose, is_element: false }))
}

/// Where a value ends: at its quote, or where no value goes on.
pub(super) fn value(text: Text<'_>, start: Start) -> Result<Value, More> {
    let set = match start.quote {
        Some(quote) => PRINTABLE.or(Set::of(" ")).without(Set::of(quote_text(quote))),
        None => PRINTABLE.without(Set::of("\"'`,;)}]<>&|\\")),
    };
    let mut here = start.at;
    while let Some(byte) = text.byte(here)? {
        if here - start.at >= LONGEST {
            let open = set.without(Set::of("[\\"));
            return Ok(Value { to: here, open: Some(open) });
        }
        if byte == b'\\' && start.quote.is_some() {
            // An escaped sign belongs to the value, but a line's end and the quote of an outer string do not.
            match text.byte(here + 1)? {
                Some(next)
                    if Some(next) == start.quote && text.before(start.at, 2) == Some(b'\\') =>
                {
                    break;
                }
                Some(b'n' | b'r') | None => break,
                Some(_) => here += 2,
            }
            continue;
        }
        if byte < 128 && !set.has(byte) {
            break;
        }
        here += 1;
    }
    Ok(Value { to: here, open: None })
}

fn quote_text(quote: u8) -> &'static str {
    match quote {
        b'"' => "\"",
        b'\'' => "'",
        _ => "`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        let bytes = Text::whole(text.as_bytes());
        let start = start(bytes, "password".len(), 3).unwrap()?;
        let value = value(bytes, start).unwrap();
        text.get(start.at..value.to)
    }

    #[test]
    fn values_are_found_however_they_are_written() {
        for text in [
            "password=v4lue",
            "password = v4lue;",
            "password: v4lue\n",
            "password_db=\"v4lue\"",
            "password\": \"v4lue\", \"next\"",
            "password\\\": \\\"v4lue\\\", \\\"next",
            "password']='v4lue'",
            "password: &str = \"v4lue\";",
            "password := `v4lue`",
            "password => 'v4lue'",
            "password>v4lue</password>",
            "password(\"v4lue\")",
            "password\", \"v4lue\")",
            "password is v4lue, then",
            "password for the server is v4lue",
            "password is `v4lue`",
            "password**: v4lue",
            "password: b'v4lue'",
            "password=v4lue\\nnext=1",
            "password \"v4lue\" works",
            "password → v4lue",
            "password is still v4lue",
            "password must be v4lue, then",
            "password (case sensitive): v4lue",
            "password .= 'v4lue'",
            "password :::= v4lue",
            "passwordKey\", \"v4lue\")",
            "password>\n  v4lue\n</password>",
            "password: |\n  v4lue\n",
            "password: >-\r\n  v4lue\r\n",
            "password\n  value: v4lue\n",
            "password\" value=\"v4lue\" />",
            "PASSWORD\", \"value\": \"v4lue\"}",
            "password',\n 'value' => 'v4lue'",
        ] {
            assert_eq!(found(text), Some("v4lue"), "{text}");
        }
        for text in ["password", "password.", "password reset", "password, then", "password(x)"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
