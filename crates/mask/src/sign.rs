//! The sign that joins a name and its value: an operator, or a word in one of some languages.

use super::set::{ALNUM, BLANK, Set};
use super::text::{More, Text};

pub(super) const QUOTES: Set = Set::of("\"'`");
const TYPE: Set = ALNUM.or(Set::of("&'<>_"));

/// The sign between name and value.
pub(super) enum Sign {
    None,
    /// An operator or a word that ends here.
    Ends {
        at: usize,
        is_prose: bool,
        wants_quote: bool,
    },
}

/// The context behind a name.
#[derive(Clone, Copy)]
pub(super) struct Stands {
    /// The name is all of a string.
    pub(super) is_string: bool,
    /// Only the closing characters of the name follow.
    pub(super) is_bare: bool,
    /// No other word comes before the sign.
    pub(super) is_first: bool,
}

/// Reads the sign at a place.
pub(super) fn sign(text: Text<'_>, at: usize, stands: Stands) -> Result<Sign, More> {
    let ends = |at| Sign::Ends { at, is_prose: false, wants_quote: false };
    let Some(first) = text.byte(at)? else { return Ok(Sign::None) };
    Ok(match first {
        b'=' | b':' | b'!' | b'?' => {
            let length = text.run(at, Set::of("=:>!?~"), 4)?;
            if first == b':' && length == 1 {
                return Ok(ends(typed(text, at + 1)?.unwrap_or(at + 1)));
            }
            let signs = text.part(at, at + length);
            if signs == b"??" {
                return Ok(Sign::Ends { at: at + 2, is_prose: false, wants_quote: true });
            }
            // The other side of a comparison is a name too, unless it is a string.
            let wants_quote = matches!(signs, b"==" | b"===" | b"!=" | b"!==");
            match signs.contains(&b'=') {
                true => Sign::Ends { at: at + length, is_prose: false, wants_quote },
                false => Sign::None,
            }
        }
        0xE2 if text.continues(at, "→".as_bytes(), false)? => ends(at + "→".len()),
        b'<' if text.byte(at + 1)? == Some(b'-') => ends(at + 2),
        // The default value of a program: `TOKEN || "..."`.
        b'|' if text.byte(at + 1)? == Some(b'|') => {
            Sign::Ends { at: at + 2, is_prose: false, wants_quote: true }
        }
        b'o' if is_or(text, at)? => Sign::Ends { at: at + 3, is_prose: false, wants_quote: true },
        b'>' | b'|' => ends(at + 1),
        b'.' if text.byte(at + 1)? == Some(b'=') => ends(at + 2),
        b'(' if stands.is_bare => Sign::Ends { at: at + 1, is_prose: false, wants_quote: true },
        b',' if stands.is_string && stands.is_first => {
            Sign::Ends { at: at + 1, is_prose: false, wants_quote: true }
        }
        0xEF if text.continues(at, "：".as_bytes(), false)? => ends(at + "：".len()),
        b'i' | b'w' | b't' | b'a' | b'b' | b's' | b'l' | b'e' | 128.. => {
            for verb in VERBS {
                if text.continues(at, verb.as_bytes(), false)? {
                    let at = behind_filler(text, at + verb.len())?;
                    return Ok(Sign::Ends { at, is_prose: true, wants_quote: false });
                }
            }
            Sign::None
        }
        _ => Sign::None,
    })
}

/// The words that announce the value, in some languages.
const VERBS: [&str; 20] = [
    "is ", "was ", "to ", "is: ", "as ", "be ", "are ", "stays ", // English
    "ist ", "lautet ", "lautet: ", // German
    "est : ", "est ", // French
    "es ", "é ", "è ", // Spanish, Portuguese, Italian
    "是", "为",  // Chinese
    "は",  // Japanese
    "는 ", // Korean
];

/// Whether `or` and a string follow: the default value of a program.
fn is_or(text: Text<'_>, at: usize) -> Result<bool, More> {
    Ok(text.continues(at, b"or ", false)?
        && text.byte(at + 3)?.is_some_and(|byte| b"\"'\\".contains(&byte)))
}

/// Returns the position after a word that does not change the meaning, as in `is still v4lue`.
fn behind_filler(text: Text<'_>, at: usize) -> Result<usize, More> {
    for word in [b"still ".as_slice(), b"now ", b"just ", b"probably ", b"currently ", b"set to "] {
        if text.continues(at, word, false)? {
            return Ok(at + word.len());
        }
    }
    Ok(at)
}

/// Returns the position after a type, as in `name: &str = "value"`.
fn typed(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at + text.run(at, BLANK, 2)?;
    let length = text.run(here, TYPE, 24)?;
    here += length;
    here += text.run(here, BLANK, 2)?;
    if length == 0 || text.byte(here)? != Some(b'=') {
        return Ok(None);
    }
    here += 1;
    let mut quote = here + text.run(here, BLANK, 2)?;
    quote += text.run(quote, Set::of("\\"), 4)?;
    let is_quoted = text.byte(quote)?.is_some_and(|byte| QUOTES.has(byte));
    Ok(is_quoted.then_some(here))
}
