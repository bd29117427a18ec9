//! Private keys in blocks of text: PEM, OpenSSH, PGP, SSH2, PuTTY.
//!
//! A block is long, and its end may never come. So it is certain as soon as its head and a first line of its body are
//! there, and from then on everything is swallowed that can belong to a body ([`step`]).

use super::set::{ALNUM, Set};
use super::text::{More, Text};

const LABEL: Set = ALNUM.or(Set::of(" "));
const BASE64: Set = ALNUM.or(Set::of("+/="));
const HEADER: Set = ALNUM.or(Set::of("-"));
/// What stands between the lines of a body, also where it is written as strings of a program.
const BETWEEN: Set = Set::of(" \t\r\n\"'+,>#|*");
/// The least length of a line of which it is clear that it belongs to a body.
const LINE: usize = 16;
const WORD: usize = 512;

/// What a block may go on with.
pub(super) enum Step {
    /// This much more belongs to it.
    On(usize),
    /// It ends here.
    Done(usize),
}

/// Where the head ends that begins at `at` with `opening`, if a body follows it.
pub(super) fn head(text: Text<'_>, at: usize, opening: usize) -> Result<Option<usize>, More> {
    let mut here = at + opening;
    if text.part(at, here).starts_with(b"Private") {
        here += text.run(here, ALNUM.or(Set::of(" ")), 8)?;
    } else {
        let length = text.run(here, LABEL, 64)?;
        let label = text.part(here, here + length).to_ascii_lowercase();
        let is_secret = ["private key", "static key"]
            .into_iter()
            .any(|kind| memchr::memmem::find(&label, kind.as_bytes()).is_some());
        here += length;
        let dashes = text.run(here, Set::of("-"), 5)?;
        if !is_secret || dashes < 4 {
            return Ok(None);
        }
        here += dashes;
    }
    let mut body = here;
    // Some lines of a head, such as `Proc-Type:`, may come before the first of the body.
    for _ in 0..6 {
        let begin = between(text, body)?;
        if let Some(end) = header(text, begin)? {
            body = end;
            continue;
        }
        let is_body = text.run(begin, BASE64, LINE)? == LINE;
        return Ok(is_body.then_some(here));
    }
    Ok(None)
}

/// What follows in a body from here on.
pub(super) fn step(text: Text<'_>, at: usize) -> Result<Step, More> {
    let begin = between(text, at)?;
    if let Some(end) = tail(text, begin)? {
        return Ok(Step::Done(end));
    }
    if let Some(end) = header(text, begin)? {
        return Ok(Step::On(end));
    }
    let length = text.run(begin, BASE64, WORD)?;
    let end = begin + length;
    let word = text.part(begin, end);
    let is_odd = word.iter().any(|byte| byte.is_ascii_digit() || b"+/=".contains(byte));
    let is_line = match length {
        0 => false,
        LINE.. => true,
        8.. => is_odd || tail(text, between(text, end)?)?.is_some(),
        _ => word.starts_with(b"=") || tail(text, between(text, end)?)?.is_some(),
    };
    Ok(if is_line { Step::On(end) } else { Step::Done(at) })
}

/// Behind blanks, line ends and escapes of line ends.
fn between(text: Text<'_>, at: usize) -> Result<usize, More> {
    const MOST: usize = 64;
    let mut here = at;
    while here - at < MOST {
        match text.byte(here)? {
            Some(byte) if BETWEEN.has(byte) => here += 1,
            Some(b'\\') => {
                let slashes = text.run(here, Set::of("\\"), 8)?;
                match text.byte(here + slashes)? {
                    Some(b'n' | b'r' | b't') => here += slashes + 1,
                    Some(b'\n' | b'\r' | b'"') => here += slashes,
                    _ => break,
                }
            }
            _ => break,
        }
    }
    Ok(here)
}

/// Behind a line such as `Version: GnuPG`.
fn header(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let length = text.run(at, HEADER, 24)?;
    if length < 2 || !text.continues(at + length, b": ", false)? {
        return Ok(None);
    }
    let line = Set::range(b' ', b'~').without(Set::of("\\\""));
    let mut here = at + length + 2;
    // A comment may be quoted; any other quote ends the string that the block stands in.
    let quotes = text.run(here, Set::of("\""), 1)?;
    here += quotes;
    here += text.run(here, line, 128)?;
    Ok(Some(here + if quotes == 1 { text.run(here, Set::of("\""), 1)? } else { 0 }))
}

/// Behind `-----END ...-----`.
fn tail(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let dashes = text.run(at, Set::of("-"), 5)?;
    if dashes < 4 {
        return Ok(None);
    }
    let mut here = at + dashes;
    here += text.run(here, Set::of(" "), 1)?;
    if !text.continues(here, b"END", false)? {
        return Ok(None);
    }
    here += text.run(here, LABEL, 64)?;
    Ok(Some(here + text.run(here, Set::of("-"), 5)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(text: &str) -> Option<usize> {
        let text = Text::whole(text.as_bytes());
        let mut at = head(text, 0, "-----BEGIN".len()).unwrap()?;
        loop {
            match step(text, at).unwrap() {
                Step::On(end) => at = end,
                Step::Done(end) => return Some(end),
            }
        }
    }

    #[test]
    fn blocks_are_covered_to_their_end() {
        let head = format!("-----BEGIN {} KEY-----", "PRIVATE");
        let tail = format!("-----END {} KEY-----", "PRIVATE");
        let line = "MIIabcdEFGH0123".repeat(4);
        for between in ["\n", "\r\n", "\\n", "\\\\n", " ", "\\n\" +\n    \""] {
            let block = format!("{head}{between}{line}{between}{line}{between}Qk={between}{tail}");
            assert_eq!(covered(&format!("{block}\nand more")), Some(block.len()), "{block}");
        }
        let cut = format!("{head}\nProc-Type: 4,ENCRYPTED\n\n{line}\n{line}");
        assert_eq!(covered(&format!("{cut}\n\nThen it says more.")), Some(cut.len()));
        assert_eq!(covered(&format!("{head}\nfollows in the next message")), None);
        assert_eq!(covered("-----BEGIN CERTIFICATE-----\nMIIabcdEFGH0123456789\n"), None);
    }
}
