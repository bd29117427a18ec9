//! Reads the input that was typed before the terminal was in raw mode.
//!
//! Until then the terminal edits lines and sends Enter as a line feed, which in raw mode means Ctrl-J. So this input
//! is read separately, as soon as raw mode begins.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Reads the keys that were typed ahead. To be called once, right after the terminal was taken.
#[cfg(unix)]
pub(super) fn typed() -> Vec<Event> {
    let stdin = std::io::stdin();
    let waiting = rustix::io::ioctl_fionread(&stdin).unwrap_or_default();
    let Ok(waiting @ 1..) = usize::try_from(waiting) else { return Vec::new() };
    let mut bytes = vec![0; waiting];
    let read = rustix::io::read(&stdin, &mut bytes).unwrap_or_default();
    bytes.truncate(read);
    keys(&String::from_utf8_lossy(&bytes))
}

/// Reads no keys, because only terminals of Unix edit lines.
#[cfg(not(unix))]
pub(super) fn typed() -> Vec<Event> {
    Vec::new()
}

/// The keys behind a text that was edited by the terminal.
#[cfg_attr(not(unix), expect(dead_code, reason = "only terminals of Unix edit lines"))]
fn keys(text: &str) -> Vec<Event> {
    let mut keys = Vec::new();
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let key = match char {
            '\n' | '\r' => plain(KeyCode::Enter),
            '\t' => plain(KeyCode::Tab),
            '\u{8}' | '\u{7f}' => plain(KeyCode::Backspace),
            '\u{1b}' => match sequence(&mut rest) {
                Some(code) => plain(code),
                None => continue,
            },
            '\u{1}'..='\u{1a}' => {
                let letter = u8::try_from(char).map_or('@', |byte| char::from(byte + 0x60));
                KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
            }
            char if char.is_control() => continue,
            char if char.is_uppercase() => KeyEvent::new(KeyCode::Char(char), KeyModifiers::SHIFT),
            char => plain(KeyCode::Char(char)),
        };
        keys.push(Event::Key(key));
    }
    keys
}

/// The key of an escape sequence, if it is a key that moves the cursor. Other sequences are ignored.
fn sequence(rest: &mut std::str::Chars<'_>) -> Option<KeyCode> {
    if !rest.as_str().starts_with(['[', 'O']) {
        return Some(KeyCode::Esc);
    }
    rest.next();
    let last = rest.find(|char| ('@'..='~').contains(char))?;
    match last {
        'A' => Some(KeyCode::Up),
        'B' => Some(KeyCode::Down),
        'C' => Some(KeyCode::Right),
        'D' => Some(KeyCode::Left),
        'F' => Some(KeyCode::End),
        'H' => Some(KeyCode::Home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::keys;
    use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

    #[test]
    fn lines_that_were_typed_ahead_end_with_enter() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let plain = |code| key(code, KeyModifiers::NONE);
        assert_eq!(
            keys("aß\nH\u{7f}\u{1b}[D\u{14}\u{1b}[1;5x\u{1b}"),
            [
                plain(KeyCode::Char('a')),
                plain(KeyCode::Char('ß')),
                plain(KeyCode::Enter),
                key(KeyCode::Char('H'), KeyModifiers::SHIFT),
                plain(KeyCode::Backspace),
                plain(KeyCode::Left),
                key(KeyCode::Char('t'), KeyModifiers::CONTROL),
                plain(KeyCode::Esc),
            ]
        );
    }
}
