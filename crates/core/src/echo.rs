//! Names from outside in our messages: short, on one line, and without terminal control sequences.

use crate::invisible::is_invisible;

/// The number of characters that identifies a name.
const LONGEST: usize = 100;

/// A name as a message may repeat it.
#[must_use]
pub fn short(name: &str) -> String {
    let mut shown = name.chars().filter(|c| !is_hidden(*c));
    let mut out: String = shown.by_ref().take(LONGEST).collect();
    if shown.next().is_some() {
        out.push('…');
    }
    out
}

/// Characters that are invisible, or that change how others are shown.
fn is_hidden(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_on_one_line() {
        for (name, shown) in [
            ("kimi-k2", "kimi-k2".to_owned()),
            ("a\r\nb\u{1b}[2Jc\u{202e}d\u{e0041}", "ab[2Jcd".to_owned()),
            ("k\u{fe00}i\u{e0100}m\u{3164}i\u{ad}", "kimi".to_owned()),
            ("модель", "модель".to_owned()),
            (&"x".repeat(100), "x".repeat(100)),
            (&"x".repeat(1 << 20), format!("{}…", "x".repeat(100))),
        ] {
            assert_eq!(short(name), shown);
        }
    }
}
