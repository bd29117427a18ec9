//! Dates and times of day in system messages: many clients write the present one there, and mean the same.

/// The words of a text, without words for date and time.
pub(super) fn without_clock(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let kinds: Vec<Kind> = words.iter().map(|word| kind(word)).collect();
    let near_month = |at: usize| {
        let from = at.saturating_sub(2);
        kinds.iter().skip(from).take(at + 3 - from).any(|kind| *kind == Kind::Month)
    };
    let mut kept = Vec::with_capacity(words.len());
    for (at, (word, kind)) in words.iter().zip(&kinds).enumerate() {
        let is_clock = match kind {
            Kind::Clock => true,
            // A month's name that is also a word counts only beside a number, and a number only beside a month.
            Kind::Month => beside_number(&kinds, at),
            Kind::Number => near_month(at),
            Kind::Other => false,
        };
        if !is_clock {
            kept.push(*word);
        }
    }
    kept
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A date, a time, a zone or a day of the week.
    Clock,
    Month,
    /// A number that may be a day or a year.
    Number,
    Other,
}

fn beside_number(kinds: &[Kind], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| kinds.get(before));
    [before, kinds.get(at + 1)].into_iter().flatten().any(|kind| *kind == Kind::Number)
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH_NAMES: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const SHORT_DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const ZONES: [&str; 6] = ["utc", "gmt", "am", "pm", "cet", "cest"];

fn kind(word: &str) -> Kind {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
    let bare = bare.as_str();
    let is_name = |names: &[&str]| names.contains(&bare);
    if is_name(&DAYS) || (is_name(&SHORT_DAYS) && word.ends_with([',', '.'])) || is_name(&ZONES) {
        return Kind::Clock;
    }
    if is_name(&MONTHS) || is_name(&MONTH_NAMES) {
        return Kind::Month;
    }
    if !bare.starts_with(|c: char| c.is_ascii_digit()) {
        return Kind::Other;
    }
    if is_date_or_time(bare) {
        return Kind::Clock;
    }
    let digits = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = bare.strip_prefix(digits).unwrap_or_default();
    let is_suffix = matches!(suffix, "" | "st" | "nd" | "rd" | "th");
    match digits.parse::<u32>() {
        Ok(1..=31 | 1900..=2199) if is_suffix => Kind::Number,
        _ => Kind::Other,
    }
}

/// `2026-11-23`, `23.11.2026`, `11/23/26`, `10:15`, `10:15:30.5pm`, `2026-11-23T10:15:30Z` and their kin.
fn is_date_or_time(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || ":-/.+tzapm".contains(c);
    let marks = |of: &[char]| word.matches(of).count();
    word.chars().all(is_part)
        && (marks(&[':']) >= 1 || marks(&['-']) == 2 || marks(&['/']) == 2 || marks(&['.']) == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_said_says_nothing() {
        for (one, two) in [
            ("You help. It is 10:15.", "You help. It is 11:02."),
            ("Today is Monday, November 23, 2026.", "Today is Tuesday, November 24, 2026."),
            ("Now: 2026-11-23T10:15:30Z", "Now: 2026-11-24T00:00:01+02:00"),
            ("Date: 23 Nov 2026 at 9:05 AM UTC.", "Date: 1 Dec 2026 at 12:05 PM UTC."),
            ("on the 1st of May 2026", "on the 23rd of June 2026"),
        ] {
            assert_eq!(without_clock(one), without_clock(two), "{one}");
        }
    }

    #[test]
    fn everything_else_does() {
        for (one, two) in [
            ("You have 3 tries.", "You have 4 tries."),
            ("You may help.", "You help."),
            ("Version 1.2 of the manual", "Version 1.3 of the manual"),
            ("You help.", "You are brief."),
            ("Answer in 10 words", "Answer in 20 words"),
        ] {
            assert_ne!(without_clock(one), without_clock(two), "{one}");
        }
    }
}
