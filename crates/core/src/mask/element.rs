//! Elements of XML and HTML whose name, or an attribute of theirs, names a value.

use super::escape::gap;
use super::set::{BLANK, NAME, PRINTABLE, Set};
use super::text::{More, Text};

/// Where the text of an element begins whose name, or the name in it, ends at a place and is not all of its tag.
pub(super) fn behind_name(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    match behind_key(text, at)? {
        Some(at) => Ok(Some(at)),
        None => behind_attributes(text, at),
    }
}

/// Behind the end of a name in a property list, where a string follows: `<key>name</key> <string>value</string>`.
fn behind_key(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    const KEY: &[u8] = b"</key>";
    const STRING: &[u8] = b"<string>";
    if !text.continues(at, KEY, false)? {
        return Ok(None);
    }
    let string = at + KEY.len() + gap(text, at + KEY.len(), BLANK.or(Set::of("\r\n")), 48)?;
    Ok(text.continues(string, STRING, false)?.then_some(string + STRING.len()))
}

/// Behind the attributes of an element whose name ends at a place, where it has some.
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
