//! The terminal while the client uses it: set up once, and restored however the client ends.

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

/// Owns the terminal, and restores it when dropped.
#[derive(Debug)]
pub(super) struct Guard(());

impl Guard {
    /// Takes the terminal: the whole screen, raw mode, bracketed pastes, and perhaps the mouse.
    pub(super) fn take(with_mouse: bool) -> io::Result<Self> {
        static PANIC: Once = Once::new();
        PANIC.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let guard = Guard(());
        take(with_mouse)?;
        Ok(guard)
    }
}

/// Takes the terminal, for the first time or again.
pub(super) fn take(with_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    if with_mouse {
        take_mouse(true)?;
    }
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        // Terminals without this protocol ignore it. Others then distinguish Shift-Enter from Enter.
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
    )
}

/// Takes the mouse, or leaves it to the terminal, which selects text with it.
pub(super) fn take_mouse(is_taken: bool) -> io::Result<()> {
    if is_taken {
        execute!(io::stdout(), EnableMouseCapture)
    } else {
        execute!(io::stdout(), DisableMouseCapture)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal.
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
