//! Questions at the terminal. They are on standard error, so that the output has the result alone.

use super::offer::Offer;
use crate::failure::{Failure, say};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

/// Whether a user can be asked.
pub(super) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a provider, by its number in the list or its id. Enter takes the first one.
pub(super) fn provider(offers: &[Offer]) -> Result<String, Failure> {
    let numbered = || (1..).zip(offers);
    for (number, offer) in numbered().filter(|(_, offer)| offer.is_ready) {
        say(format_args!("{number:>3}  {:<12} {}", offer.provider.id, offer.detail));
    }
    let others = numbered().filter(|(_, offer)| !offer.is_ready);
    let others = others.map(|(number, offer)| format!("{number} {}", offer.provider.id));
    paragraph("needing a key:", &others.collect::<Vec<_>>());
    let first = offers.first().map_or("", |it| it.provider.id);
    let said = line(&format!("Provider, by number or name [{first}]: "))?;
    let said = said.trim();
    let number = said.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    Ok(match number {
        _ if said.is_empty() => first.to_owned(),
        Some(number) => match offers.get(number) {
            Some(offer) => offer.provider.id.to_owned(),
            None => {
                let last = offers.len();
                let message = format!("`{said}` is no number of the list; it ends with {last}");
                return Err(Failure::Failed(message));
            }
        },
        None => said.to_owned(),
    })
}

/// Prints words in rows that fit on a small terminal.
fn paragraph(head: &str, words: &[String]) {
    const WIDTH: usize = 58;
    let mut row = head.to_owned();
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "" };
        if row.len() + word.len() + 2 > WIDTH {
            say(format_args!("{row}"));
            row = " ".to_owned();
        }
        row = format!("{row} {word}{comma}");
    }
    if !words.is_empty() {
        say(format_args!("{row}"));
    }
}

/// Asks for a line of text.
pub(super) fn line(prompt: &str) -> Result<String, Failure> {
    ask(prompt);
    let mut text = String::new();
    match io::stdin().lock().read_line(&mut text) {
        Ok(1..) => Ok(text),
        Ok(0) | Err(_) => {
            say(format_args!(""));
            Err(nothing())
        }
    }
}

fn ask(prompt: &str) {
    let mut err = io::stderr().lock();
    drop(write!(err, "{prompt}"));
    drop(err.flush());
}

fn nothing() -> Failure {
    Failure::Failed("nothing was answered, and nothing was changed".to_owned())
}

/// Asks for a yes.
pub(super) fn confirmed(question: &str) -> bool {
    let answer = line(&format!("{question} [y/N] ")).unwrap_or_default();
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Asks for a line that the terminal does not show. Ctrl-C arrives as a key, so that the modes of the terminal are
/// restored.
#[cfg(unix)]
pub(super) fn hidden(prompt: &str) -> Result<String, Failure> {
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// Restores the modes of the terminal.
    struct Restored(Termios);

    impl Drop for Restored {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    let restored = tcgetattr(io::stdin()).ok().map(Restored);
    if let Some(Restored(modes)) = &restored {
        let mut silent = modes.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
    }
    ask(prompt);
    let said = keys(&mut io::stdin().lock().bytes());
    say(format_args!(""));
    said
}

/// Reads keys up to the end of a line, with the usual keys for corrections.
#[cfg(unix)]
fn keys(bytes: &mut dyn Iterator<Item = io::Result<u8>>) -> Result<String, Failure> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const BACKSPACE: u8 = 8;
    const CTRL_U: u8 = 21;
    const DELETE: u8 = 127;
    let mut text = Vec::new();
    loop {
        match bytes.next().and_then(Result::ok) {
            Some(b'\n' | b'\r') => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Some(CTRL_C) => return Err(Failure::Interrupted),
            Some(CTRL_U) => text.clear(),
            Some(BACKSPACE | DELETE) => {
                let end = String::from_utf8_lossy(&text).char_indices().last().map(|it| it.0);
                text.truncate(end.unwrap_or_default());
            }
            None | Some(CTRL_D) if text.is_empty() => return Err(nothing()),
            None => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Some(CTRL_D) => {}
            Some(byte) => text.push(byte),
        }
    }
}

#[cfg(not(unix))]
pub(super) fn hidden(prompt: &str) -> Result<String, Failure> {
    line(prompt)
}

#[cfg(all(test, unix))]
mod tests {
    use super::keys;
    use crate::failure::Failure;

    #[test]
    fn a_hidden_line_can_be_corrected_and_left() {
        let read = |text: &str| keys(&mut text.bytes().map(Ok));
        for (typed, said) in [
            ("secret\n", "secret"),
            ("secrex\u{7f}t\r", "secret"),
            ("w\u{f6}\u{8}rong\u{15}right\n", "right"),
            ("end", "end"),
        ] {
            assert_eq!(read(typed).ok().as_deref(), Some(said), "{typed:?}");
        }
        assert!(matches!(read("half\u{3}"), Err(Failure::Interrupted)));
        assert!(matches!(read("\u{4}"), Err(Failure::Failed(_))));
    }
}
