//! The wording of titles, numbers and times for people.

/// A title for a conversation that begins with this text: its first line without marks of Markdown and quotes, cut at
/// a word.
#[must_use]
pub fn title(text: &str) -> Option<String> {
    const MOST: usize = 60;
    let lines = text.lines().map(|line| line.trim().trim_matches(['"', '#', '*', ' ']));
    let line = lines.into_iter().find(|line| !line.is_empty())?;
    let Some((cut, _)) = line.char_indices().nth(MOST) else { return Some(line.to_owned()) };
    let head = line.get(..cut).unwrap_or(line);
    let word = head.rfind(' ').filter(|space| *space > cut / 2).and_then(|it| head.get(..it));
    Some(format!("{}…", word.unwrap_or(head).trim_end()))
}

/// `1240` as `1,240`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A path with `~` in place of the user's home.
#[must_use]
pub fn short_path(path: &str, home: Option<&str>) -> String {
    let below = home.filter(|home| home.len() > 1).and_then(|home| path.strip_prefix(home));
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        Some(below) => format!("~{below}"),
        None => path.to_owned(),
    }
}

/// How long ago something was.
#[must_use]
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// The date in UTC of a time in seconds since 1970: `2026-11-29`.
pub(crate) fn date(seconds: u64) -> String {
    // Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". A year begins in March here, so that the
    // leap day is its last day.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::{ago, date, grouped, short_path, title};

    #[test]
    fn a_home_is_written_as_a_tilde() {
        for (path, expected) in
            [("/home/me/a", "~/a"), ("/home/me", "~"), ("/home/mean", "/home/mean"), ("/", "/")]
        {
            assert_eq!(short_path(path, Some("/home/me")), expected);
            assert_eq!(short_path(path, None), path);
        }
    }

    #[test]
    fn a_date_is_read_from_the_seconds_since_1970() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_910_400, "2026-11-29"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn a_title_is_one_line_of_bearable_length() {
        let long = "word ".repeat(20);
        let solid = "x".repeat(70);
        for (text, expected) in [
            ("", None),
            ("\n  \n hello \nthere", Some("hello".to_owned())),
            ("# \"**Hello**\"", Some("Hello".to_owned())),
            (&long, Some(format!("{}…", "word ".repeat(12).trim_end()))),
            (&solid, Some(format!("{}…", "x".repeat(60)))),
        ] {
            assert_eq!(title(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_and_times_are_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1_240, "1,240"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        for (seconds, text) in
            [(59, "just now"), (60, "1 min ago"), (7_300, "2 h ago"), (90_000, "1 d ago")]
        {
            assert_eq!(ago(seconds), text);
        }
    }
}
