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

#[cfg(test)]
mod tests {
    use super::{ago, grouped, title};

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
