//! Questions at the terminal. They are on standard error, so that the output has the result alone.

use super::offer::Offer;
use crate::failure::{Failure, say};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

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
    let mut err = io::stderr().lock();
    drop(write!(err, "{prompt}"));
    drop(err.flush());
    drop(err);
    let mut text = String::new();
    match io::stdin().lock().read_line(&mut text) {
        Ok(1..) => Ok(text),
        Ok(0) | Err(_) => {
            say(format_args!(""));
            Err(Failure::Failed("nothing was answered, and nothing was changed".to_owned()))
        }
    }
}

/// Asks for a yes.
pub(super) fn confirmed(question: &str) -> bool {
    let answer = line(&format!("{question} [y/N] ")).unwrap_or_default();
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Asks for a line that the terminal does not show.
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
        silent.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
    }
    let said = line(prompt);
    say(format_args!(""));
    said
}

#[cfg(not(unix))]
pub(super) fn hidden(prompt: &str) -> Result<String, Failure> {
    line(prompt)
}
