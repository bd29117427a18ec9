//! Private keys in blocks of text: PEM, OpenSSH, PGP, SSH2, PuTTY.
//!
//! A block is long, and its end may never come. So it is certain as soon as its head and a first line of its body are
//! there, and from then on [`step`] swallows all text that can belong to a body.
//!
//! The lines of a body may each have a prefix: a line number, a time, or a file name. The first line of the body
//! defines this [`Lead`]. The other lines begin in the same way, with any numbers.

use super::escape;
use super::set::{ALNUM, Set};
use super::text::{More, Text};

const LABEL: Set = ALNUM.or(Set::of(" -"));
const BASE64: Set = ALNUM.or(Set::of("+/="));
const HEADER: Set = ALNUM.or(Set::of("-"));
/// The characters between the lines of a body, also if the body is written as strings of a program.
const BETWEEN: Set = Set::of(" \t\r\n\"'+,>#|*");
/// A line of at least this length surely belongs to a body.
const LINE: usize = 16;
/// The length of a body's line behind a header line; other text there is shorter.
const BODY: usize = 48;
const WORD: usize = 512;

/// The longest prefix of a line that is read.
const LEAD: usize = 96;
/// The least length of a line of the body that has a prefix.
const LED: usize = 32;

/// A digest of the prefix of each line of a block. All numbers count as equal, and all blanks too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lead(u64);

/// The end of a head, and the prefix of the lines behind it.
pub(super) struct Head {
    pub(super) to: usize,
    pub(super) lead: Lead,
}

/// The next step through the body of a block.
pub(super) enum Step {
    /// The block goes on up to this position.
    On(usize),
    /// The block ends at this position.
    Done(usize),
}

/// Returns the end of the head that begins at `at` with `opening`, if a body follows it.
pub(super) fn head(text: Text<'_>, at: usize, opening: usize) -> Result<Option<Head>, More> {
    let mut here = at + opening;
    if text.part(at, here).starts_with(b"Private") {
        here += text.run(here, ALNUM.or(Set::of(" ")), 8)?;
    } else {
        // Most blocks are known by the first letters of their label.
        for public in [b"CERT".as_slice(), b"PUBL"] {
            if text.continues(here, public, false)? {
                return Ok(None);
            }
        }
        let run = text.run(here, LABEL, 64)?;
        let label = text.part(here, here + run).to_ascii_lowercase();
        // A label may have dashes in it (`SLH-DSA`), but not four of them.
        let length = memchr::memmem::find(&label, b"----").unwrap_or(run);
        let label = label.get(..length).unwrap_or_default();
        let is_secret = ["private key", "static key", "nkey seed"]
            .into_iter()
            .any(|kind| memchr::memmem::find(label, kind.as_bytes()).is_some());
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
        if text.run(begin, BASE64, LINE)? == LINE {
            return Ok(Some(Head { to: here, lead: Lead::NONE }));
        }
        break;
    }
    Ok(led(text, here)?.map(|lead| Head { to: here, lead }))
}

/// Returns the prefix of the lines behind a head, if one of the first lines belongs to a body.
fn led(text: Text<'_>, at: usize) -> Result<Option<Lead>, More> {
    const LINES: usize = 6;
    const NAMES: [&[u8]; 5] =
        [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: ", b"Hash: "];
    let mut here = at;
    for _ in 0..LINES {
        let Some(begin) = behind_line_end(text, here)? else { return Ok(None) };
        let mut length = 0;
        while length < LEAD + LED && !is_line_end(text, begin + length)? {
            length += 1;
        }
        let line = text.part(begin, begin + length);
        here = begin + length;
        let has = |name: &&[u8]| memchr::memmem::find(line, name).is_some();
        if NAMES.iter().any(has) {
            while here - begin < 4 * LEAD && !is_line_end(text, here)? {
                here += 1;
            }
            continue;
        }
        let from = line.iter().rposition(|byte| !BASE64.has(*byte)).map_or(0, |at| at + 1);
        let from = from + written(line, from);
        if from == 0 || text.run(begin + from, BASE64, LED)? < LED {
            // A line between head and body has at most the length of a prefix.
            if length >= LEAD {
                return Ok(None);
            }
            continue;
        }
        return Ok(line.get(..from).map(Lead::of).filter(|lead| *lead != Lead::NONE));
    }
    Ok(None)
}

/// Returns how many letters belong to the escape that a backslash began: `\t`, or an arrow as `\u2192`.
fn written(line: &[u8], from: usize) -> usize {
    let is_begun = from.checked_sub(1).and_then(|at| line.get(at)) == Some(&b'\\');
    match line.get(from) {
        Some(b't') if is_begun => 1,
        Some(b'u') if is_begun => 5,
        _ => 0,
    }
}

fn is_line_end(text: Text<'_>, at: usize) -> Result<bool, More> {
    Ok(text.byte(at)?.is_none() || escape::line_end(text, at)?.is_some())
}

/// Returns the position after the end of a line and the characters that close it.
fn behind_line_end(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let closed = at + text.run(at, Set::of(" \t\"'+,"), 8)?;
    escape::line_end(text, closed)
}

impl Lead {
    /// The lines have no prefix.
    const NONE: Lead = Lead(0);
    const BASIS: Lead = Lead(0xCBF2_9CE4_8422_2325);

    fn of(bytes: &[u8]) -> Lead {
        let mut last = 0;
        bytes.iter().fold(Lead::BASIS, |lead, byte| lead.with(&mut last, *byte))
    }

    /// The digest with one byte more (FNV-1a).
    fn with(self, last: &mut u8, byte: u8) -> Lead {
        let kind = match byte {
            b'0'..=b'9' => b'0',
            b'\t' => b' ',
            other => other,
        };
        if kind == *last && matches!(kind, b'0' | b' ') {
            return self;
        }
        *last = kind;
        Lead((self.0 ^ u64::from(kind)).wrapping_mul(0x0100_0000_01B3))
    }

    /// Returns the start of the next line, after its prefix.
    fn next(self, text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
        let Some(begin) = behind_line_end(text, at)? else { return Ok(None) };
        let (mut lead, mut last) = (Lead::BASIS, 0);
        for here in begin..begin + LEAD {
            let Some(byte) = text.byte(here)? else { return Ok(None) };
            // Another blank or digit may belong to the prefix.
            let is_over = lead == self && !matches!(byte, b' ' | b'\t');
            if is_over && !(last == b'0' && byte.is_ascii_digit()) {
                return Ok(Some(here));
            }
            if is_line_end(text, here)? {
                break;
            }
            lead = lead.with(&mut last, byte);
        }
        Ok(None)
    }
}

/// Returns the prefix of the lines of a body that begins at `at` without a head: the blanks before its first line.
pub(super) fn lead_before(text: Text<'_>, at: usize) -> Lead {
    let before = text.part(at.saturating_sub(LEAD / 2), at);
    let blanks = before.iter().rev().take_while(|byte| b" \t".contains(byte)).count();
    let (rest, blanks) = before.split_at(before.len() - blanks);
    let is_line = matches!(rest.last(), None | Some(b'\n')) || rest.ends_with(b"\\n");
    Lead::of(if is_line { blanks } else { b"" })
}

/// Returns the next step through the body from `at`.
pub(super) fn step(text: Text<'_>, at: usize, lead: Lead) -> Result<Step, More> {
    let rest = text.run(at, BASE64, WORD)?;
    if rest > 0 {
        return Ok(Step::On(at + rest));
    }
    let Some(begin) = next(text, at, lead)? else { return Ok(Step::Done(at)) };
    if let Some(end) = tail(text, begin)? {
        return Ok(Step::Done(end));
    }
    if let Some(end) = header(text, begin)? {
        return Ok(Step::On(end));
    }
    let length = text.run(begin, BASE64, WORD)?;
    // A line may be empty except for its prefix.
    if length == 0
        && lead != Lead::NONE
        && let Some(next) = lead.next(text, begin)?
    {
        let length = text.run(next, BASE64, WORD)?;
        return Ok(if length < LINE { Step::Done(at) } else { Step::On(next + length) });
    }
    let end = begin + length;
    let word = text.part(begin, end);
    let is_odd = word.iter().any(|byte| byte.is_ascii_digit() || b"+/=".contains(byte));
    let is_line = match length {
        0 => false,
        LINE.. => true,
        8.. => is_odd || is_last(text, end, lead)?,
        _ => word.starts_with(b"=") || is_last(text, end, lead)?,
    };
    Ok(if is_line { Step::On(end) } else { Step::Done(at) })
}

/// Returns the position where the next line of a body may begin.
fn next(text: Text<'_>, at: usize, lead: Lead) -> Result<Option<usize>, More> {
    if lead == Lead::NONE { between(text, at).map(Some) } else { lead.next(text, at) }
}

/// Whether the end of the block follows.
fn is_last(text: Text<'_>, at: usize, lead: Lead) -> Result<bool, More> {
    Ok(match next(text, at, lead)? {
        Some(begin) => tail(text, begin)?.is_some(),
        None => false,
    })
}

/// Returns the position after blanks, line ends and escapes of line ends.
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

/// Returns the position after a line such as `Version: GnuPG`.
fn header(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let length = text.run(at, HEADER, 24)?;
    if length < 2 || !text.continues(at + length, b": ", false)? {
        return Ok(None);
    }
    let line = Set::range(b' ', b'~').without(Set::of("\\\""));
    let mut here = at + length + 2;
    // A comment may be quoted; any other quote ends the string that contains the block.
    let quotes = text.run(here, Set::of("\""), 1)?;
    here += quotes;
    let length = text.run(here, line, 128)?;
    // If a block has lost its line ends, the body follows a blank.
    for blank in memchr::memchr_iter(b' ', text.part(here, here + length)) {
        if text.run(here + blank + 1, BASE64, BODY)? == BODY {
            return Ok(Some(here + blank));
        }
    }
    here += length;
    Ok(Some(here + if quotes == 1 { text.run(here, Set::of("\""), 1)? } else { 0 }))
}

/// Returns the position after `-----END ...-----`.
fn tail(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    // A sixth dash belongs to a deleted line of a diff.
    let dashes = text.run(at, Set::of("-"), 6)?;
    if dashes < 4 {
        return Ok(None);
    }
    let mut here = at + dashes;
    here += text.run(here, Set::of(" "), 1)?;
    if !text.continues(here, b"END", false)? {
        return Ok(None);
    }
    let run = text.run(here, LABEL, 64)?;
    here += memchr::memmem::find(text.part(here, here + run), b"----").unwrap_or(run);
    Ok(Some(here + text.run(here, Set::of("-"), 5 + usize::from(dashes > 5))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(text: &str) -> Option<usize> {
        let text = Text::whole(text.as_bytes());
        let head = head(text, 0, "-----BEGIN".len()).unwrap()?;
        let mut at = head.to;
        loop {
            match step(text, at, head.lead).unwrap() {
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
        for (one, two, end) in [
            ("     2\t", "     3\t", "    10\t"),
            ("    9→", "   10→", "   11→"),
            ("k.pem:2:", "k.pem:3:", "k.pem:4:"),
            ("2024-05-05T12:00:01Z x F ", "2024-05-05T12:00:02Z x F ", "2024-05-05T12:01:00Z x F "),
            ("-", "-", "-"),
            ("1 | ", "2 | ", "3 | "),
        ] {
            for (new, tab) in [("\n", "\t"), ("\r\n", "\t"), ("\\n", "\\t"), ("\\\\n", "\\\\t")] {
                let block =
                    format!("{head}{new}{one}{line}{new}{two}{line}{new}{two}Qk={new}{end}{tail}");
                let block = block.replace('\t', tab);
                let more = format!("{block}{new}{end}and more of it").replace('\t', tab);
                assert_eq!(covered(&more), Some(block.len()), "{more}");
            }
        }
        let cut = format!("{head}\nProc-Type: 4,ENCRYPTED\n\n{line}\n{line}");
        assert_eq!(covered(&format!("{cut}\n\nThen it says more.")), Some(cut.len()));
        let flat = format!(
            "{head} Proc-Type: 4,ENCRYPTED DEK-Info: AES-128-CBC,00FF  {line} {line} {tail}"
        );
        assert_eq!(covered(&flat), Some(flat.len()));
        assert_eq!(covered(&format!("{head}\nfollows in the next message")), None);
        assert_eq!(covered("-----BEGIN CERTIFICATE-----\nMIIabcdEFGH0123456789\n"), None);
    }
}
