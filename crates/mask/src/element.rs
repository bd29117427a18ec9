//! Elements of XML and HTML, and blocks of settings, whose name or one of whose members names a value.

use super::escape::{gap, line_end};
use super::set::{BLANK, NAME, PRINTABLE, Set};
use super::text::{More, Text};

/// Returns the start of an element's text, if its name, or the name in it, ends at `at` and is not the whole tag.
pub(super) fn behind_name(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    match behind_key(text, at)? {
        Some(at) => Ok(Some(at)),
        None => behind_attributes(text, at),
    }
}

/// Returns the position after the end of a name in a property list, if a string follows: `<key>name</key>
/// <string>value</string>`.
fn behind_key(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const KEY: &[u8] = b"</key>";
    const STRING: &[u8] = b"<string>";
    if !text.continues(at, KEY, false)? {
        return Ok(None);
    }
    let string = at + KEY.len() + gap(text, at + KEY.len(), BLANK.or(Set::of("\r\n")), 48)?;
    Ok(text.continues(string, STRING, false)?.then_some(string + STRING.len()))
}

/// Returns the position after the attributes of an element whose name ends at `at`, if it has some.
fn behind_attributes(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const MOST: usize = 4;
    let name = NAME.or(Set::of(":"));
    let back = (1..40).find(|back| !text.before(at, *back).is_some_and(|byte| name.has(byte)));
    if back.and_then(|back| text.before(at, back)) != Some(b'<') {
        return Ok(None);
    }
    let mut here = at;
    for _ in 0..MOST {
        let blanks = text.run(here, BLANK, 4)?;
        let end = here + blanks + text.run(here + blanks, name, 40)?;
        let slashes = text.run(end + 1, Set::of("\\"), 7)?;
        let quote = end + 1 + slashes;
        if blanks == 0 || text.byte(end)? != Some(b'=') || text.byte(quote)? != Some(b'"') {
            return Ok(None);
        }
        here = quote + 1;
        here += text.run(here, PRINTABLE.without(Set::of("\"\\<>")), 128)?;
        here += text.run(here, Set::of("\\"), slashes)?;
        if text.byte(here)? != Some(b'"') {
            return Ok(None);
        }
        here += 1;
        if text.byte(here)? == Some(b'>') {
            return Ok(Some(here + 1));
        }
    }
    Ok(None)
}

/// Returns the position after `value=` of an element, if other attributes come between it and the attribute that
/// names the value: `name="password" type="text" value="..."`. The naming attribute ends with its quote at `at`.
pub(super) fn behind_others(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const MOST: usize = 5;
    let Some(quote @ (b'"' | b'\'')) = text.before(at, 1) else { return Ok(None) };
    let inside = PRINTABLE.or(BLANK).without(Set::of("\"'\\<>"));
    let mut here = at;
    for _ in 0..MOST {
        let blanks = text.run(here, BLANK.or(Set::of("\r\n")), 24)?;
        let name = here + blanks;
        let end = name + text.run(name, NAME, 32)?;
        if blanks == 0 || end == name || text.byte(end)? != Some(b'=') {
            return Ok(None);
        }
        if text.part(name, end).eq_ignore_ascii_case(b"value") {
            return Ok(Some(end + 1));
        }
        let slashes = text.run(end + 1, Set::of("\\"), 7)?;
        here = end + 1 + slashes;
        if text.byte(here)? != Some(quote) {
            return Ok(None);
        }
        here += 1;
        here += text.run(here, inside, 96)?;
        here += text.run(here, Set::of("\\"), slashes)?;
        if text.byte(here)? != Some(quote) {
            return Ok(None);
        }
        here += 1;
    }
    Ok(None)
}

/// Returns the position after `default =` in the block of a Terraform variable, whose name ends at `at_name` and its
/// quote at `at`.
pub(super) fn default_of(text: Text<'_>, at_name: usize, at: usize) -> Result<Option<usize>, More> {
    const LINES: usize = 6;
    const LINE: Set = PRINTABLE.or(BLANK).without(Set::of("\\"));
    let back = (1..64).find(|back| !text.before(at_name, *back).is_some_and(|it| NAME.has(it)));
    let begin = back.map_or(0, |back| (at_name + 1).saturating_sub(back));
    let before = text.part(begin.saturating_sub(b"variable \\\"".len()), begin);
    let is_variable = before.ends_with(b"variable \"") || before.ends_with(b"variable \\\"");
    if !is_variable || text.before(at, 1) != Some(b'"') {
        return Ok(None);
    }
    let mut here = at + text.run(at, BLANK, 4)?;
    if text.byte(here)? != Some(b'{') {
        return Ok(None);
    }
    here += 1;
    for _ in 0..LINES {
        here += gap(text, here, BLANK, 48)?;
        if text.continues(here, b"default", false)? {
            let sign = here + b"default".len();
            let sign = sign + text.run(sign, BLANK, 24)?;
            return Ok((text.byte(sign)? == Some(b'=')).then_some(sign + 1));
        }
        // A line of its block; a string of JSON has its quotes with backslashes.
        let Some(next) = behind_line(text, here, LINE)? else { return Ok(None) };
        here = next;
    }
    Ok(None)
}

/// Returns the position after the end of the line at `at`. Skips escaped quotes in the line.
fn behind_line(text: Text<'_>, at: usize, set: Set) -> Result<Option<usize>, More> {
    const LONGEST: usize = 160;
    let mut here = at;
    while here - at < LONGEST {
        here += text.run(here, set.without(Set::of("{}")), LONGEST)?;
        if let Some(end) = line_end(text, here)? {
            return Ok(Some(end));
        }
        let quote = here + text.run(here, Set::of("\\"), 7)?;
        if quote == here || text.byte(quote)? != Some(b'"') {
            return Ok(None);
        }
        here = quote + 1;
    }
    Ok(None)
}
