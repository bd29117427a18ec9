//! The terminal while the client has it: set up once, and given back as it was, however the client ends.

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableMouseCapture, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use std::io::{self, Write as _};
use std::panic;
use std::sync::Once;

/// Holds the terminal; gives it back when it goes.
#[derive(Debug)]
pub(super) struct Guard(());

impl Guard {
    /// Takes the terminal: the whole screen, keys one by one, pastes whole, the mouse.
    pub(super) fn take() -> io::Result<Self> {
        static PANIC: Once = Once::new();
        PANIC.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let guard = Guard(());
        take()?;
        Ok(guard)
    }
}

/// Takes the terminal, for the first time or again.
pub(super) fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableMouseCapture,
        // Terminals that do not know it ignore it; the others tell Shift-Enter from Enter.
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
    )
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back as it was.
pub(super) fn give_back() {
    let mut out = io::stdout();
    // A failed write means that the terminal is gone, and needs no handling.
    drop(execute!(
        out,
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show,
    ));
    drop(disable_raw_mode());
    drop(out.flush());
}
