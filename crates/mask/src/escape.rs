//! Signs that are written with other signs: the end of a line as `\n`, a quote as `\"`, the colours of a terminal.

use super::set::{ALNUM, Set};
use super::text::{More, Text};

/// The parameters between the beginning of a terminal's escape sequence and its final letter.
const PARAMETERS: Set = Set::of("0123456789;:?");
/// The longest such sequence that is read: `\u001b[38;2;255;255;255m` is one.
const LONGEST: usize = 24;
/// The ways to write the sign that a sequence begins with.
const BEGINNINGS: [&[u8]; 8] =
    [b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\033", b"\\e", b"^["];

/// Whether an escape ends before `at`: `\n`, `\u0022`, `%3D`, or a colour. Its last letter does not belong to a word.
pub(super) fn ends_at(text: Text<'_>, at: usize) -> bool {
    let back = |many: usize| text.before(at, many);
    let is_hex = |many: usize| back(many).is_some_and(|byte| byte.is_ascii_hexdigit());
    (back(2) == Some(b'\\') && matches!(back(1), Some(b'n' | b'r' | b't' | b'b' | b'f')))
        || (back(3) == Some(b'%') && is_hex(2) && is_hex(1))
        || (back(6) == Some(b'\\') && back(5) == Some(b'u') && (1..=4).all(is_hex))
        || (back(4) == Some(b'\\') && back(3) == Some(b'x') && is_hex(2) && is_hex(1))
        || is_colour(text, at)
}

/// Whether a terminal sequence ends before `at`. A sequence with a number and a final `m` counts even if its first
/// sign was lost.
fn is_colour(text: Text<'_>, at: usize) -> bool {
    let Some(last) = text.before(at, 1).filter(u8::is_ascii_alphabetic) else { return false };
    let mut back = 2;
    while back < LONGEST && text.before(at, back).is_some_and(|byte| PARAMETERS.has(byte)) {
        back += 1;
    }
    if text.before(at, back) != Some(b'[') {
        return false;
    }
    let begin = at - back;
    let before = text.part(begin.saturating_sub(6), begin);
    (last == b'm' && back > 2) || BEGINNINGS.iter().any(|sign| before.ends_with(sign))
}

/// Returns the position after the terminal sequences that begin at `at`.
pub(super) fn behind_colours(text: Text<'_>, at: usize) -> Result<usize, More> {
    const MOST: usize = 4;
    let mut here = at;
    for _ in 0..MOST {
        if !matches!(text.byte(here)?, Some(b'\x1b' | b'\\' | b'^')) {
            break;
        }
        let Some(end) = colour(text, here)? else { break };
        here = end;
    }
    Ok(here)
}

/// Returns the position after the terminal sequence that begins at `at`.
pub(super) fn colour(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    for sign in BEGINNINGS {
        if !text.continues(at, sign, false)? {
            continue;
        }
        let mut here = at + sign.len();
        if text.byte(here)? != Some(b'[') {
            continue;
        }
        here += 1;
        here += text.run(here, PARAMETERS, LONGEST)?;
        let is_end = text.byte(here)?.is_some_and(|byte| byte.is_ascii_alphabetic());
        return Ok(is_end.then_some(here + 1));
    }
    Ok(None)
}

/// Returns the position after the end of a line that begins at `at`, as itself or written with backslashes.
pub(super) fn line_end(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at;
    loop {
        match text.byte(here)? {
            Some(b'\n') => return Ok(Some(here + 1)),
            Some(b'\r') => here += 1,
            Some(b'\\') => {
                let slashes = text.run(here, Set::of("\\"), 8)?;
                match text.byte(here + slashes)? {
                    Some(b'n') => return Ok(Some(here + slashes + 1)),
                    Some(b'r') => here += slashes + 1,
                    _ => break,
                }
            }
            _ => break,
        }
        if here - at > LONGEST {
            break;
        }
    }
    Ok(None)
}

/// How many bytes of a set there are, written ends of lines among them.
pub(super) fn gap(text: Text<'_>, at: usize, set: Set, most: usize) -> Result<usize, More> {
    let mut here = at;
    loop {
        here += text.run(here, set, most)?;
        match line_end(text, here)? {
            Some(end) if end - at <= most => here = end,
            _ => return Ok(here - at),
        }
    }
}

/// Whether a backslash at a place begins a written sign that parts words: `\n`, `\r`, `\t`.
pub(super) fn parts(text: Text<'_>, at: usize) -> Result<bool, More> {
    if text.byte(at)? != Some(b'\\') {
        return Ok(false);
    }
    let slashes = text.run(at, Set::of("\\"), 8)?;
    let is_one = matches!(text.byte(at + slashes)?, Some(b'n' | b'r' | b't'));
    Ok(is_one)
}

/// Whether the quote at `at`, with the backslashes before it, ends a string of JSON: another member follows, or the
/// end of the surrounding object.
pub(super) fn ends_string(text: Text<'_>, at: usize) -> Result<bool, More> {
    let quote = at + text.run(at, Set::of("\\"), 8)?;
    if text.byte(quote)? != Some(b'"') {
        return Ok(false);
    }
    Ok(match text.byte(quote + 1)? {
        Some(b'}' | b']') => true,
        Some(b',') => {
            let next = quote + 2 + text.run(quote + 2, Set::of(" \n"), 8)?;
            let next = next + text.run(next, Set::of("\\"), 8)?;
            matches!(text.byte(next)?, Some(b'"' | b'{' | b'['))
        }
        _ => false,
    })
}

/// Returns the position after an HTML entity of a quote: `&quot;`, `&#34;`, `&#39;`.
pub(super) fn entity(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    if text.byte(at)? != Some(b'&') {
        return Ok(None);
    }
    for entity in [b"&quot;".as_slice(), b"&#34;", b"&#39;", b"&#x27;", b"&apos;"] {
        if text.continues(at, entity, false)? {
            return Ok(Some(at + entity.len()));
        }
    }
    Ok(None)
}

/// Returns the position after a literal, some signs of which may be written otherwise: `%2F`, `\/`, `\"`, `&quot;`.
pub(super) fn literal(
    text: Text<'_>,
    at: usize,
    literal: &[u8],
    signs: Set,
) -> Result<Option<usize>, More> {
    let mut here = at;
    for byte in literal {
        let Some(there) = text.byte(here)? else { return Ok(None) };
        if there == *byte {
            here += 1;
            continue;
        }
        let end = if signs.has(*byte) { sign(text, here, *byte)? } else { None };
        let Some(end) = end else { return Ok(None) };
        here = end;
    }
    Ok(Some(here))
}

/// Returns the position after an escaped sign.
fn sign(text: Text<'_>, at: usize, sign: u8) -> Result<Option<usize>, More> {
    match text.byte(at)? {
        Some(b'%') => {
            let end = at + b"%2F".len();
            let is_it = text.byte(end - 2)?.is_some()
                && text.byte(end - 1)?.is_some()
                && text.part(at, end).eq_ignore_ascii_case(format!("%{sign:02x}").as_bytes());
            Ok(is_it.then_some(end))
        }
        Some(b'\\') if b"/\"".contains(&sign) => {
            let end = at + text.run(at, Set::of("\\"), 7)?;
            Ok((text.byte(end)? == Some(sign)).then_some(end + 1))
        }
        Some(b'&') if sign == b'"' => entity(text, at),
        _ => Ok(None),
    }
}

/// Whether a word of a name goes on at `at`, so that no name begins there.
pub(super) fn is_inside_word(text: Text<'_>, at: usize) -> bool {
    text.before(at, 1).is_some_and(|before| ALNUM.or(Set::of("_")).has(before))
        && !ends_at(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_known_from_both_sides() {
        for colour in ["\x1b[32m", "\\u001b[01;31m", "\\x1b[K", "\\033[m", "\\e[0m", "^[[1m"] {
            let text = Text::whole(colour.as_bytes());
            assert_eq!(behind_colours(text, 0), Ok(colour.len()), "{colour}");
            assert!(ends_at(text, colour.len()), "{colour}");
        }
        for (text, is_one) in [("[32m", true), ("[m", false), ("[x32m", false), ("a\\n", true)] {
            assert_eq!(ends_at(Text::whole(text.as_bytes()), text.len()), is_one, "{text}");
        }
    }

    #[test]
    fn written_signs_are_read() {
        let end = |text: &'static str| line_end(Text::whole(text.as_bytes()), 0).unwrap();
        assert_eq!(
            (end("\n"), end("\r\nx"), end("\\n"), end("\\\\r\\\\n")),
            (Some(1), Some(2), Some(2), Some(6))
        );
        assert_eq!((end("x"), end("\\t")), (None, None));
        let ends = |text: &'static str| ends_string(Text::whole(text.as_bytes()), 0).unwrap();
        assert!(
            ends("\"}") && ends("\",\"a") && ends("\\\"}") && !ends("\", then") && !ends("\" x")
        );
        assert_eq!(entity(Text::whole(b"&quot;x"), 0), Ok(Some(6)));
    }
}
