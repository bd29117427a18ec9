//! `name = "value"` in all the ways in which code, files and people write it.

use super::name;
use super::set::{ALNUM, BLANK, NAME, PRINTABLE, Set};
use super::sign::{QUOTES, Sign, Stands, sign};
use super::text::{More, Text};
use super::{element, escape};

/// The characters that close a name: quotes, brackets, and the backslash before a quote inside of a string.
const CLOSERS: Set = Set::of("\"'`])\\*");
/// The longest value that is looked at.
pub(super) const LONGEST: usize = 256;

/// The most blanks before a sign or a value in a column.
const ALIGNED: usize = 24;

/// The beginning of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: usize,
    /// The quote before it.
    pub(super) quote: Option<u8>,
    /// Whether a word joins name and value, as in prose.
    pub(super) is_prose: bool,
    /// Whether the name is the name of an XML element, so that the value ends at the next tag.
    pub(super) is_element: bool,
}

/// The end of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) to: usize,
    /// The bytes with which the value goes on, if it is longer than [`LONGEST`].
    pub(super) open: Option<Set>,
}

/// Finds the value behind a name that ends at `at`; up to `words` words may follow the name.
pub(super) fn start(text: Text<'_>, at: usize, words: usize) -> Result<Option<Start>, More> {
    let (mut here, at_name) = (at, at);
    for word in 0..=words {
        let name = text.run(here, NAME, 32)?;
        here += name;
        // `password policy: ...` says something about passwords.
        let there = text.part(here - name, here);
        if word > 0 && name::is_number(there) {
            return Ok(None);
        }
        if word == 1 && name::is_word_about(there) {
            return Ok(None);
        }
        let closers = closers(text, here)?;
        here += closers;
        here = escape::behind_colours(text, here)?;
        if word == 0
            && let Some(at) = entry(text, at_name, here)?
        {
            return value_start(text, at, false);
        }
        if word == 0
            && let Some(at) = element::behind_name(text, here)?
        {
            let found = value_start(text, at, false)?;
            return Ok(found.map(|start| Start { is_element: true, ..start }));
        }
        here += text.run(here, BLANK, ALIGNED)?;
        here = behind_remark(text, here)?;
        let stands = Stands {
            is_string: closers > 0 && is_string(text, at, here),
            is_bare: word + name == 0,
            is_first: word == 0,
        };
        if let Sign::Ends { at, is_prose, wants_quote } = sign(text, here, stands)? {
            let is_element = text.before(at, 1) == Some(b'>') && text.before(at, 2) != Some(b'=');
            let found = value_start(text, at, is_prose)?;
            let found = found.map(|start| Start { is_element, ..start });
            if text.before(at, 1) == Some(b'|') && text.before(at, 2) != Some(b'|') {
                return in_cell(text, at_name, found);
            }
            return Ok(found.filter(|start| {
                (!wants_quote || start.quote.is_some()) && !closes_prompt(text, at_name, *start)
            }));
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

/// Whether the name at `at` is the whole string that closes before `behind`. `"password", ` is; a string that ends in
/// a name is not, nor a code span of Markdown.
fn is_string(text: Text<'_>, at: usize, behind: usize) -> bool {
    const LONGEST: usize = 48;
    let back = (1..LONGEST).find(|back| !text.before(at, *back).is_some_and(|it| NAME.has(it)));
    let opening = back.and_then(|back| text.before(at, back));
    let has_span = text.part(at, behind).contains(&b'`');
    matches!(opening, None | Some(b'"' | b'\'' | b';')) && !has_span
}

/// Returns the value of a table cell that a `|` begins, after a name that ends at `at` in the cell before. The value
/// is the whole cell. In a template or a shell, the text behind `|` is a filter.
fn in_cell(text: Text<'_>, at: usize, found: Option<Start>) -> Result<Option<Start>, More> {
    const LONGEST: usize = 48;
    const CELL: Set = PRINTABLE.without(Set::of("|"));
    let back = (1..LONGEST).find(|back| !text.before(at, *back).is_some_and(|it| NAME.has(it)));
    // A name that begins the text has nothing before it.
    let begin = at + 1 - back.unwrap_or(1);
    let before = text.part(begin.saturating_sub(4), begin);
    let before = before.trim_ascii_end();
    let is_filter = text.byte(begin)? == Some(b'.') || matches!(before.last(), Some(b'$' | b'{'));
    let Some(start) = found.filter(|_| !is_filter) else { return Ok(None) };
    if start.quote.is_some() {
        return Ok(found);
    }
    let end = start.at + text.run(start.at, CELL, LONGEST)?;
    let end = end + text.run(end, BLANK, 64)?;
    let is_whole =
        matches!(text.byte(end)?, None | Some(b'|')) || escape::line_end(text, end)?.is_some();
    Ok(found.filter(|_| is_whole))
}

/// Whether the byte at `at` may follow a string.
fn is_over(text: Text<'_>, at: usize) -> Result<bool, More> {
    Ok(text.byte(at)?.is_none_or(|byte| byte <= b' ' || b",;)]}>".contains(&byte)))
}

/// Returns where the value of an entry may begin if its name is only a member of the entry. The name ends at
/// `at_name`, and its closing characters at `at`.
fn entry(text: Text<'_>, at_name: usize, at: usize) -> Result<Option<usize>, More> {
    if let Some(at) = sibling(text, at)? {
        return Ok(Some(at));
    }
    match element::behind_others(text, at)? {
        Some(at) => Ok(Some(at)),
        None => element::default_of(text, at_name, at),
    }
}

/// Returns the position after `value` and its sign, if name and value are members of one entry: `name: X` and `value:
/// ...` on the next line, or `key="X" value="..."`.
fn sibling(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let gap = escape::gap(text, at, BLANK.or(Set::of("\r\n,")), 48)?;
    let mut here = at + gap;
    here += closers(text, here)?;
    if gap == 0 || !text.continues(here, b"value", true)? {
        return Ok(None);
    }
    here += b"value".len();
    here += closers(text, here)?;
    here += text.run(here, BLANK, 8)?;
    let signs = text.run(here, Set::of(":=>"), 2)?;
    Ok((signs > 0).then_some(here + signs))
}

/// How much closes a name.
fn closers(text: Text<'_>, at: usize) -> Result<usize, More> {
    const MOST: usize = 4;
    let mut here = at;
    while here - at < MOST {
        let Some(byte) = text.byte(here)? else { break };
        let is_slash = byte == b'\\';
        if byte == b'&' {
            let Some(end) = escape::entity(text, here)? else { break };
            here = end;
        } else if !CLOSERS.has(byte)
            || (is_slash && (escape::parts(text, here)? || escape::colour(text, here)?.is_some()))
        {
            break;
        } else {
            here += 1;
        }
    }
    Ok(here - at)
}

/// Returns the position after a remark, as in `password (case sensitive): value`.
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

/// Returns the start of a value that follows its name without a sign, as in `password v4lue` and `password (v4lue)`.
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

/// Whether a position is in or behind the name of a flag, or a name that a shell sets: `--api-key`, `set -gx
/// API_TOKEN`, `setx API_TOKEN`. The value of such a name follows without a sign.
pub(super) fn is_flag(text: Text<'_>, at: usize) -> bool {
    const LONGEST: usize = 40;
    let mut begin = at;
    while at - begin < LONGEST && text.before(begin, 1).is_some_and(|byte| NAME.has(byte)) {
        begin -= 1;
    }
    let name = text.part(begin, at);
    let before = text.part(begin.saturating_sub(9), begin);
    let is_set = ["setx ", "set -gx ", "set -x ", "set -Ux ", "set -xg "]
        .iter()
        .any(|set| before.ends_with(set.as_bytes()));
    is_set || (name.starts_with(b"--") && text.before(begin, 1).is_some_and(|byte| byte <= b' '))
}

/// Whether the value after a name that ends at `at` is set to a literal: in quotes after an equals sign, or as the
/// other member of an entry.
pub(super) fn is_set(text: Text<'_>, at: usize, start: Start) -> bool {
    let between = text.part(at, start.at);
    let has = |sign: &str| memchr::memmem::find(between, sign.as_bytes()).is_some();
    let sets = has("=") && !has("==") && !has("!=") && !has("=>");
    start.quote.is_some() && !start.is_prose && sets
}

/// Whether the seeming name is the result of a test, as in the log line `PASS: test_x2`, where the name of the test
/// follows.
pub(super) fn is_verdict(text: Text<'_>, at: usize, behind: usize) -> Result<bool, More> {
    if text.part(at, behind) != b"PASS" || !text.continues(behind, b": ", false)? {
        return Ok(false);
    }
    let value = behind + 2 + text.run(behind + 2, BLANK, ALIGNED)?;
    Ok(!text.byte(value)?.is_some_and(|byte| QUOTES.has(byte)))
}

/// Whether the quote before a value only closes the string of a prompt, as in `getpass('Password: ')`. The name in
/// the prompt ends at `at`.
fn closes_prompt(text: Text<'_>, at: usize, start: Start) -> bool {
    const LONGEST: usize = 48;
    const PROMPT: Set = ALNUM.or(Set::of(" _()-"));
    const BEFORE: Set = Set::of(" \t\r\n([{=,:+");
    let Some(quote) = start.quote.filter(|quote| QUOTES.has(*quote)) else { return false };
    let Some(between) = start.at.checked_sub(1).map(|end| text.part(at, end)) else { return false };
    let back = (1..LONGEST).find(|back| !text.before(at, *back).is_some_and(|it| PROMPT.has(it)));
    let Some(back) = back.filter(|back| text.before(at, *back) == Some(quote)) else {
        return false;
    };
    let is_inner = between.ends_with(b"\\") || between.contains(&quote);
    let prefix = usize::from(text.before(at, back + 1).is_some_and(|it| b"bruf".contains(&it)));
    !is_inner && text.before(at, back + 1 + prefix).is_none_or(|it| BEFORE.has(it))
}

/// Whether an ambiguous word is a name here: its value follows directly.
pub(super) fn is_told(text: Text<'_>, at: usize) -> Result<bool, More> {
    let mut here = at + text.run(at, CLOSERS, 2)?;
    here += text.run(here, BLANK, 2)?;
    Ok(matches!(text.byte(here)?, Some(b':' | b'='))
        || text.continues(here, b"is ", false)?
        || text.continues(here, b"are ", false)?)
}

fn value_start(text: Text<'_>, at: usize, is_prose: bool) -> Result<Option<Start>, More> {
    const LINES: Set = BLANK.or(Set::of("\r\n"));
    let mut here = escape::behind_colours(text, at)?;
    here += text.run(here, BLANK, ALIGNED)?;
    // The text of an element, or a block of YAML, may begin on the next line.
    if text.before(at, 1) == Some(b'>') && escape::line_end(text, here)?.is_some() {
        here += escape::gap(text, here, LINES, 64)?;
    } else if text.before(at, 1) == Some(b':') && matches!(text.byte(here)?, Some(b'|' | b'>')) {
        let mark = here + 1 + text.run(here + 1, Set::of("+-0123456789"), 2)?;
        if escape::line_end(text, mark)?.is_some() {
            here = mark + escape::gap(text, mark, LINES, 64)?;
        }
    }
    here = escape::behind_colours(text, here)?;
    if let Some(at) = escape::entity(text, here)? {
        let start = Start { at, quote: Some(b'&'), is_prose, is_element: false };
        return Ok(text.byte(at)?.map(|_| start));
    }
    // `b"..."`, `r"..."`, `rb'...'`, `$'...'`.
    let prefix = text.run(here, Set::of("bBrRuUfF$@"), 2)?;
    if prefix > 0 && text.byte(here + prefix)?.is_some_and(|byte| QUOTES.has(byte)) {
        here += prefix;
    }
    here += text.run(here, Set::of("\\*"), 4)?;
    let mut quote = None;
    let quotes = text.run(here, QUOTES, 3)?;
    // An empty string. After two quotes that are written for one, the value goes on.
    if quotes == 2 && text.byte(here)? == text.byte(here + 1)? && is_over(text, here + 2)? {
        return Ok(None);
    }
    if quotes > 0 {
        quote = text.byte(here)?;
        here += quotes;
    }
    Ok(text.byte(here)?.map(|_| Start { at: here, quote, is_prose, is_element: false }))
}

/// Calls and constructors that wrap a string value.
const WRAPPERS: [&str; 12] = [
    "Some(",
    "String::from(",
    "Secret::new(",
    "Secret::from(",
    "SecretString::new(",
    "SecretString::from(",
    "SecretStr(",
    "Secret(",
    "Just(",
    "Optional.of(",
    "pulumi.secret(",
    "sensitive(",
];

/// Returns the start of the string inside of wrappers, as in `Some(String::from("v4lue"))`.
pub(super) fn behind_wrappers(text: Text<'_>, start: Start) -> Result<Start, More> {
    let mut here = start.at;
    while start.quote.is_none() && here - start.at < 40 {
        let mut behind = here;
        for wrapper in WRAPPERS {
            if text.continues(here, wrapper.as_bytes(), false)? {
                behind = here + wrapper.len();
            }
        }
        if behind == here {
            break;
        }
        here = behind;
    }
    if here == start.at {
        return Ok(start);
    }
    let found = value_start(text, here, start.is_prose)?.filter(|found| found.quote.is_some());
    Ok(found.unwrap_or(start))
}

/// Returns the start of the value of a PowerShell command that makes a password, as in `ConvertTo-SecureString
/// "v4lue"`. Without such a command, returns `start`.
pub(super) fn behind_cmdlet(text: Text<'_>, start: Start) -> Result<Option<Start>, More> {
    const CMDLET: &[u8] = b"ConvertTo-SecureString";
    if start.quote.is_some() || !text.continues(start.at, CMDLET, true)? {
        return Ok(Some(start));
    }
    let mut here = start.at + CMDLET.len();
    here += text.run(here, BLANK, 4)?;
    for flag in [b"-String ".as_slice(), b"-AsPlainText ", b"-Force "] {
        if text.continues(here, flag, true)? {
            here += flag.len();
        }
    }
    Ok(value_start(text, here, false)?.filter(|start| start.quote.is_some()))
}

/// Returns the end of a value: its closing quote, or the first byte that cannot belong to it.
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
        b'&' => "&",
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
            "password</key><string>v4lue</string>",
            "password</key>\n\t<string>v4lue</string>",
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
            "password || \"v4lue\"",
            "password ?? 'v4lue'",
            "password or 'v4lue'",
            "password lautet v4lue, ja",
            "password：v4lue",
            "password\\n  value: v4lue\\n",
            "password: \u{1b}[32mv4lue\u{1b}[0m",
            "password\u{1b}[0m=v4lue",
            "password&quot;: &quot;v4lue&quot;",
            "password\n  value: v4lue\n",
            "password\" value=\"v4lue\" />",
            "PASSWORD\", \"value\": \"v4lue\"}",
            "password',\n 'value' => 'v4lue'",
            "password                 = v4lue",
            "password\" type=\"text\" id=\"p 1\" value=\"v4lue\">",
            "password\\\" type=\\\"text\\\" value=\\\"v4lue\\\">",
        ] {
            assert_eq!(found(text), Some("v4lue"), "{text}");
        }
        for text in ["password", "password.", "password reset", "password, then", "password(x)"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
