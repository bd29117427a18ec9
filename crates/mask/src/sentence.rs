//! Passwords in sentences: a cue such as `password`, a link such as `is`, and a value, as in `the pass on these
//! cameras is ...` or `access via root / ...`.
//!
//! After a cue a sentence is read word by word, and the points of `judge/score.rs` decide about each word. Other
//! rules read text with operators in it.

use super::escape;
use super::judge::Seen;
use super::pattern::Fit;
use super::set::{ALNUM, BLANK, Set};
use super::text::{More, Text};

/// The most bytes of a sentence that are read behind a cue.
const SENTENCE: usize = 112;
/// Longer words are not read.
const WORD: usize = 80;
/// Signs that close a cue, as in `password's`, `(password)`, `password:`.
const CLOSING: Set = Set::of("s',:?)*\"`");
/// Signs of programs and of our own placeholders.
const CODE: Set = Set::of("{}<>[];=|\\");
const OPENING: Set = Set::of("\"'`(*");
const ENDING: Set = Set::of("\"'`)*.,:;?");

/// Reads the sentence behind one of these cues that ends at `at`, up to the next cue. A weak cue is a cue about
/// logging in.
pub(super) fn fit(
    text: Text<'_>,
    at: usize,
    cues: &[String],
    is_weak: bool,
) -> Result<Option<Fit>, More> {
    let mut here = at + text.run(at, CLOSING, 4)?;
    let opening = text.part(at, here);
    let (mut last, mut place) = (opening, 0);
    while here - at < SENTENCE {
        let begin = here;
        here = behind_blanks(text, here)?;
        if escape::line_end(text, here)?.is_some() {
            let announces = place == 0 || matches!(last.last(), Some(b':' | b'?' | b','));
            return if is_weak || !announces { Ok(None) } else { alone(text, here) };
        }
        let end = here + word(text, here)?;
        if end == here || (place == 0 && here == begin) {
            return Ok(None);
        }
        let there = text.part(here, end);
        // A quote before a colour.
        if there.iter().all(|byte| OPENING.has(*byte)) {
            here = end;
            continue;
        }
        let found = candidate(there).filter(|(_, seen)| {
            let is_listed = !is_weak && place == 1 && opening.contains(&b':');
            Seen { last, is_first: place == 0, is_listed, is_weak, ..*seen }.is_password()
        });
        if let Some((from, seen)) = found
            && !(place == 0 && is_verb(text, at, end)?)
        {
            let from = here + from;
            return Ok(Some(Fit { from, to: from + seen.value.len(), open: None }));
        }
        let is_arrow = matches!(there, b"->" | b"=>" | b"|" | b"=");
        let is_code = !is_arrow && there.iter().any(|byte| CODE.has(*byte));
        // The type that a function returns.
        let is_result = there == b"->" && last.ends_with(b")") && !last.contains(&b'(');
        let is_over = matches!(there.last(), Some(b'.' | b'!'))
            && candidate(there).is_none_or(|(_, seen)| seen.form() <= 0);
        if is_code || is_result || is_over || is_cue(there, cues) {
            return Ok(None);
        }
        (last, here, place) = (there, end, place + 1);
    }
    Ok(None)
}

/// Whether a word is a cue, whatever closes it.
fn is_cue(word: &[u8], cues: &[String]) -> bool {
    let is = |cue: &String| {
        let (name, rest) = word.split_at_checked(cue.len())?;
        let is_name = name.eq_ignore_ascii_case(cue.as_bytes());
        (is_name && rest.iter().all(|byte| CLOSING.has(*byte))).then_some(())
    };
    cues.iter().any(|cue| is(cue).is_some())
}

/// Returns the position after blanks and terminal colours.
fn behind_blanks(text: Text<'_>, at: usize) -> Result<usize, More> {
    let here = escape::behind_colours(text, at)?;
    escape::behind_colours(text, here + text.run(here, BLANK, 8)?)
}

/// Whether a cue that ends at `at` is the verb `pass`: `pass v1beta2 to ...`. The word behind it ends at `end`.
fn is_verb(text: Text<'_>, at: usize, end: usize) -> Result<bool, More> {
    if !text.part(at.saturating_sub(4), at).eq_ignore_ascii_case(b"pass") {
        return Ok(false);
    }
    for word in [b" to ".as_slice(), b" into ", b" as ", b" through ", b" via "] {
        if text.continues(end, word, false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a value that is alone on its line, a line or two below its cue.
fn alone(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    let (mut from, mut lines) = (at, 0);
    while let Some(end) = escape::line_end(text, from)?.filter(|_| lines <= 2) {
        from = end + text.run(end, Set::of(" \t>"), 24)?;
        lines += 1;
    }
    from = escape::behind_colours(text, from)?;
    let end = from + word(text, from)?;
    let behind = behind_blanks(text, end)?;
    let is_alone = text.byte(behind)?.is_none()
        || escape::line_end(text, behind)?.is_some()
        || escape::ends_string(text, behind)?;
    let found = candidate(text.part(from, end)).filter(|(_, seen)| {
        lines <= 2 && is_alone && !seen.is_pair && Seen { is_first: true, ..*seen }.is_password()
    });
    Ok(found.map(|(begin, seen)| {
        let from = from + begin;
        Fit { from, to: from + seen.value.len(), open: None }
    }))
}

/// The length of a word. It ends at a blank, at a colour, and at the end of its line or string.
fn word(text: Text<'_>, at: usize) -> Result<usize, More> {
    let mut length = 0;
    while length < WORD
        && let Some(byte) = text.byte(at + length)?.filter(|byte| *byte > b' ')
    {
        let here = at + length;
        let is_colour = b"\\^".contains(&byte) && escape::colour(text, here)?.is_some();
        if is_colour
            || (byte == b'\\' && escape::parts(text, here)?)
            || (b"\\\"".contains(&byte) && escape::ends_string(text, here)?)
        {
            break;
        }
        length += 1;
    }
    Ok(length)
}

/// Returns the value in a word, and its start in the word.
fn candidate(word: &[u8]) -> Option<(usize, Seen<'_>)> {
    let mut from = word.iter().take_while(|byte| OPENING.has(**byte)).count();
    let mut to = word.len() - word.iter().rev().take_while(|byte| ENDING.has(**byte)).count();
    let is_quoted =
        from > 0 && word.get(to).is_some_and(|byte| OPENING.has(*byte) || *byte == b')');
    let inner = word.get(from..to)?;
    let cut = inner.iter().rposition(|byte| matches!(byte, b'/' | b':'));
    if let Some(cut) = cut {
        let user = inner.get(..cut)?;
        let is_user = user.first().is_some_and(u8::is_ascii_alphabetic)
            && user.len() <= 40
            && user.iter().all(|byte| ALNUM.or(Set::of("._-@")).has(*byte));
        if !is_user {
            return None;
        }
        from += cut + 1;
    }
    // The name of a file or host may end a sentence; a sign that ends it may be the password's own.
    if word.get(to) == Some(&b'?') && word.len() == to + 1 {
        to = word.len() - 1;
    }
    let seen = Seen::of(word.get(from..to)?);
    Some((from, Seen { is_quoted, is_pair: cut.is_some(), ..seen }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(cue: &str, text: &'t str, is_weak: bool) -> Option<&'t str> {
        let at = text.find(cue).unwrap() + cue.len();
        let fit = fit(Text::whole(text.as_bytes()), at, &[cue.to_owned()], is_weak).unwrap()?;
        text.get(fit.from..fit.to)
    }

    #[test]
    fn what_a_sentence_tells_is_found() {
        for text in [
            "the pass on these cameras is v4lue9xyZ, I think",
            "her pass, she told me on the phone, is v4lue9xyZ.",
            "the pass remains `v4lue9xyZ` for now",
            "the pass is unchanged (v4lue9xyZ)",
            "what is the pass of the lab?\n  v4lue9xyZ\n",
            "so, what is the pass? A: v4lue9xyZ",
            "the pass of root was changed to v4lue9xyZ",
            "pass: demo/v4lue9xyZ",
            "old pass v4lue9xyZ was better",
            "the pass\x1b[0m is \x1b[1;32mv4lue9xyZ\x1b[0m now",
            "the \x1b[1mpass\x1b[0m:\n\x1b[32mv4lue9xyZ\x1b[0m\n",
            "the pass is \"\x1b[32mv4lue9xyZ\x1b[0m\"",
            "pass\\u001b[0m of it is \\u001b[31mv4lue9xyZ\\u001b[0m",
        ] {
            assert_eq!(found("pass", text, false), Some("v4lue9xyZ"), "{text}");
        }
        for text in [
            "the pass of host-12 is long. It is v4lue9xyZ",
            "the pass { v4lue9xyZ }",
            "pass v4lue9xyZ to the next",
            "the pass policy of v4lue9xyZ",
            "the pass is checked against bcrypt and sha256",
            "pass\n\n\nv4lue9xyZ",
            "pass as follows\nv4lue9xyZ is the name",
        ] {
            assert_eq!(found("pass", text, false), None, "{text}");
        }
    }

    #[test]
    fn behind_a_login_only_pairs_and_leading_words_tell() {
        for text in [
            "log in as admin with v4lue9xyZ now",
            "log in: admin/v4lue9xyZ",
            "log in there with root:v4lue9xyZ, please",
            "log in, ann / v4lue9xyZ",
        ] {
            assert_eq!(found("log in", text, true), Some("v4lue9xyZ"), "{text}");
        }
        for text in [
            "log in is v4lue9xyZ",
            "log in at https://host/v4lue9xyZ",
            "log in with the web-server-12",
            "log in and see /logs/v4lue9xyZ",
        ] {
            assert_eq!(found("log in", text, true), None, "{text}");
        }
    }
}
