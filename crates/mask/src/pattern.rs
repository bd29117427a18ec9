//! The small language in which rules describe the form of a secret, and its matcher.
//!
//! A pattern is literal text with runs in braces: `ghp_{a36+}` is `ghp_` and 36 letters and digits or more. A run is
//! the letter of a set ([`Set::named`]) and a length: `36`, `36-40`, or `36+` without an upper bound. `(a|b)` is one
//! of several texts, `<` and `>` mark the secret if it is not the whole match, and a backslash makes the next
//! character literal.
//!
//! A run takes as many bytes as possible without backtracking, so that a match reads each byte once.

use super::escape;
use super::set::{ALNUM, Set};
use super::text::{More, Text};

/// The most bytes of a secret that are read before it is certain. Further bytes of its set belong to it.
pub(super) const CERTAIN: usize = 512;

/// The least number of random letters behind a distinctive prefix that make a secret.
const DRAWN: usize = 16;

/// A shorter prefix begins many a name.
const PREFIX: usize = 4;

/// Signs that addresses and strings write otherwise: `%2F` and `\/` for `/`.
const SIGNS: Set = Set::of("\"$/:+=!@?&");

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Literal(Vec<u8>),
    /// As many bytes of a set as possible; `most` is `None` for an unbounded run.
    Run {
        set: Set,
        least: usize,
        most: Option<usize>,
    },
    From,
    To,
}

/// The form of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The first literal, up to a sign that may be written otherwise.
    literal: Vec<u8>,
    /// The whole first literal.
    beginning: Vec<u8>,
    /// The steps after it.
    steps: Vec<Step>,
    /// All bytes that may follow the first run. A secret that is longer than the search goes on with these bytes.
    all: Set,
}

/// The run that a pattern begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    pub(super) set: Set,
    pub(super) least: usize,
    /// Whether it has no other length.
    pub(super) is_exact: bool,
    /// The letter behind it.
    pub(super) then: Option<u8>,
}

/// The position of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// The start of the secret.
    pub(super) from: usize,
    /// The end of the secret, or of the part that was read.
    pub(super) to: usize,
    /// The bytes that it goes on with behind `to`.
    pub(super) open: Option<Set>,
}

impl Pattern {
    /// Parses a text into patterns: one for each combination of its alternatives.
    pub(super) fn parse(text: &str) -> Result<Vec<Pattern>, String> {
        let mut all = vec![Vec::new()];
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '{' => {
                    let inner: String = chars.by_ref().take_while(|char| *char != '}').collect();
                    let run = run(&inner).ok_or_else(|| format!("`{{{inner}}}` is no run"))?;
                    all.iter_mut().for_each(|steps| steps.push(run.clone()));
                }
                '(' => {
                    let inner: String = chars.by_ref().take_while(|char| *char != ')').collect();
                    let choices: Vec<&str> = inner.split('|').collect();
                    all = all
                        .iter()
                        .flat_map(|steps| choices.iter().map(|choice| with(steps, choice)))
                        .collect();
                }
                '<' => all.iter_mut().for_each(|steps| steps.push(Step::From)),
                '>' => all.iter_mut().for_each(|steps| steps.push(Step::To)),
                '\\' => push(&mut all, chars.next().ok_or("nothing follows a backslash")?),
                char => push(&mut all, char),
            }
        }
        all.into_iter().map(Pattern::of).collect()
    }

    fn of(mut steps: Vec<Step>) -> Result<Pattern, String> {
        if steps.is_empty() {
            return Err("a pattern says something".to_owned());
        }
        let beginning = match steps.first() {
            Some(Step::Literal(literal)) => literal.clone(),
            _ => Vec::new(),
        };
        if !beginning.is_empty() {
            steps.remove(0);
        }
        let mut literal = beginning.clone();
        let is_loose =
            |(at, byte): (usize, &u8)| at > 2 && SIGNS.has(*byte) || at == 2 && *byte == b'"';
        if let Some(cut) = literal.iter().enumerate().position(is_loose) {
            steps.insert(0, Step::Literal(literal.split_off(cut)));
        }
        let all = steps.iter().fold(Set::NONE, |all, step| match step {
            Step::Run { set, .. } => all.or(*set),
            Step::Literal(text) => all.or(std::str::from_utf8(text).map_or(Set::NONE, Set::of)),
            Step::From | Step::To => all,
        });
        Ok(Pattern { literal, beginning, steps, all })
    }

    /// All of the literal that it begins with.
    pub(super) fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// Whether the first literal comes before the secret and is not part of it.
    pub(super) fn is_before(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::From))
    }

    /// Returns a pattern for the same secret at any length, because services change lengths. Returns `None` without a
    /// distinctive prefix: it must end with a sign, so that no word and no base64 begins like it by chance.
    pub(super) fn of_any_length(&self) -> Option<Pattern> {
        let sign = self.beginning.last().filter(|byte| b"-_.:".contains(byte));
        let is_own = self.beginning.len() >= PREFIX && sign.is_some() && !self.is_before();
        let run = Step::Run { set: self.all, least: DRAWN, most: None };
        let prefix = self.steps.iter().take_while(|step| matches!(step, Step::Literal(_)));
        let steps = prefix.cloned().chain([run]).collect();
        is_own.then(|| Pattern { steps, ..self.clone() })
    }

    /// The part of the first literal by which the pattern is found.
    pub(super) fn literal(&self) -> &[u8] {
        &self.literal
    }

    /// The first run of the pattern, if no literal comes before it.
    pub(super) fn lead(&self) -> Option<Lead> {
        let Some(Step::Run { set, least, most }) = self.steps.first() else { return None };
        let then = self.steps.iter().skip(1).find(|step| !matches!(step, Step::From | Step::To));
        let then = match then {
            Some(Step::Literal(literal)) => literal.first().copied(),
            _ => None,
        };
        let is_lead = self.beginning.is_empty() && *least > 0 && most.is_some();
        is_lead.then_some(Lead { set: *set, least: *least, is_exact: *most == Some(*least), then })
    }

    /// The bytes that may follow the literal.
    pub(super) fn second(&self) -> Option<Set> {
        let first = self.steps.iter().find(|step| !matches!(step, Step::From | Step::To));
        match first {
            Some(Step::Run { set, .. }) => Some(*set),
            Some(Step::Literal(_)) => Some(Set::of("\"\\&%")),
            _ => None,
        }
    }

    /// Matches the rest of the pattern after its literal, which was found at `at`.
    pub(super) fn rest(&self, text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
        let mut here = at + self.literal.len();
        let (mut from, mut to) = (at, None);
        let mut last = None;
        for (place, step) in self.steps.iter().enumerate() {
            match step {
                Step::Literal(literal) => {
                    here = escape::behind_colours(text, here)?;
                    let Some(end) = escape::literal(text, here, literal, SIGNS)? else {
                        return Ok(None);
                    };
                    here = end;
                    last = None;
                }
                Step::Run { set, least, most } => {
                    let cap = most.unwrap_or(CERTAIN);
                    here = escape::behind_colours(text, here)?;
                    let length = text.run(here, *set, cap)?;
                    if length < *least {
                        return Ok(None);
                    }
                    here += length;
                    if most.is_none() && length == cap {
                        // A short beginning, or one inside of a longer run, may be anything before the rest was seen.
                        let is_glued = matches!(text.before(at, 1), Some(b'-' | b'_'));
                        let rest = self.steps.get(place..).unwrap_or_default();
                        let is_begun = rest.iter().any(|step| matches!(step, Step::Literal(_)));
                        if is_begun && (is_glued || self.beginning.len() < 3) {
                            return Ok(None);
                        }
                        return Ok(Some(Fit { from, to: here, open: Some(self.all) }));
                    }
                    last = Some((*set, most.is_some()));
                }
                Step::From => from = here,
                Step::To => to = Some(here),
            }
        }
        // If more bytes of the same set follow, this is a longer text that only begins like the secret.
        if let Some((set, true)) = last
            && text.byte(here)?.is_some_and(|byte| set.or(ALNUM).has(byte))
        {
            return Ok(None);
        }
        Ok(Some(Fit { from, to: to.unwrap_or(here), open: None }))
    }
}

/// One more choice at the end of a pattern; only texts are chosen from.
fn with(steps: &[Step], choice: &str) -> Vec<Step> {
    let mut all = vec![steps.to_vec()];
    choice.chars().for_each(|char| push(&mut all, char));
    all.pop().unwrap_or_default()
}

fn push(all: &mut [Vec<Step>], char: char) {
    let mut bytes = [0; 4];
    let bytes = char.encode_utf8(&mut bytes).as_bytes();
    for steps in all {
        match steps.last_mut() {
            Some(Step::Literal(text)) => text.extend_from_slice(bytes),
            _ => steps.push(Step::Literal(bytes.to_vec())),
        }
    }
}

/// `a36`, `a36-40`, `a36+`.
fn run(text: &str) -> Option<Step> {
    let mut chars = text.chars();
    let set = Set::named(chars.next()?)?;
    let length = chars.as_str();
    let (least, most) = match (length.strip_suffix('+'), length.split_once('-')) {
        (Some(least), _) => (least.parse().ok()?, None),
        (None, Some((least, most))) => (least.parse().ok()?, Some(most.parse().ok()?)),
        (None, None) => (length.parse().ok()?, Some(length.parse().ok()?)),
    };
    Some(Step::Run { set, least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(pattern: &str, text: &str) -> Option<(usize, usize)> {
        let patterns = Pattern::parse(pattern).unwrap();
        let found = patterns.iter().find_map(|pattern| {
            let text = Text::whole(text.as_bytes());
            let begins = text.continues(0, pattern.literal(), false).unwrap();
            begins.then(|| pattern.rest(text, 0).unwrap())?
        });
        found.map(|fit| (fit.from, fit.to))
    }

    #[test]
    fn patterns_are_read_and_matched() {
        assert_eq!(fit("ab_{d2}", "ab_12 "), Some((0, 5)));
        assert_eq!(fit("ab_{d2}", "ab_123"), None);
        assert_eq!(fit("ab_{d2+}", "ab_123x"), Some((0, 6)));
        assert_eq!(fit("(x|yy)z:<{d1-3}>!", "yyz:77!"), Some((4, 6)));
        assert_eq!(fit("a\\{{d1}\\}", "a{7}"), Some((0, 4)));
        assert_eq!(fit("a{d1}.", "a7,"), None);
        assert_eq!(fit("abc/{d1}:{d1}", "abc%2F7%3a7"), Some((0, 11)));
        assert_eq!(fit("abc/{d1}", "abc\\/7"), Some((0, 6)));
        assert_eq!(fit("\"ab\":\"<{d2}>", "\"ab\\\\\":\\\\\"77"), Some((10, 12)));
    }

    #[test]
    fn what_cannot_be_known_yet_is_asked_for() {
        let pattern = Pattern::parse("ab_{d2}").unwrap().remove(0);
        let cut = |text: &'static str| pattern.rest(Text::begun(text.as_bytes()), 0);
        assert!(cut("ab_1").is_err() && cut("ab_12").is_err());
        assert_eq!(cut("ab_1x"), Ok(None));
        assert!(matches!(cut("ab_12 "), Ok(Some(_))));
    }

    #[test]
    fn what_is_no_pattern_is_an_error() {
        for bad in ["x{?3}", "x{a}", "x{a3-b}", "", "x\\"] {
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
    }
}
