//! Gives the terminal to the user's editor, or to the shell, and takes it back.

use super::events::{Ending, Keys};
use super::{App, files, guard};
use crate::session::Message;
use rustix::process::{Signal, kill_current_process_group};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// The program that gets the terminal.
#[derive(Debug)]
pub(super) enum Away {
    /// The user's editor, with this text.
    Editor(String),
    /// The user's shell.
    Shell,
}

/// A program that is not stopped within this time has no shell that could continue it.
const STOPS_WITHIN: Duration = Duration::from_millis(500);

impl App {
    /// Waits until the terminal is free again.
    pub(super) async fn go_away(
        &mut self,
        away: Away,
        keys: &Keys,
        ended: &mut Ending,
    ) -> io::Result<()> {
        let message = match away {
            Away::Editor(text) => {
                let is_paused = keys.pause();
                guard::give_back();
                let edited = if is_paused {
                    edit(&text, self.env).await
                } else {
                    Err("the keyboard is still read here; try again".to_owned())
                };
                guard::take(self.session.takes_mouse())?;
                keys.go_on();
                // Ctrl-C in the editor was for the editor.
                ended.forget_interrupts()?;
                Some(Message::Edited(edited))
            }
            Away::Shell => {
                guard::give_back();
                let was_stopped = suspend().await?;
                guard::take(self.session.takes_mouse())?;
                let text = "no shell could continue this program, so it goes on".to_owned();
                (!was_stopped).then_some(Message::Warned(text))
            }
        };
        (self.is_dirty, self.is_stale) = (true, true);
        if let Some(message) = message {
            self.update(message);
        }
        Ok(())
    }
}

/// Stops the process group. Returns false if the kernel did not stop it, because no shell watches it.
async fn suspend() -> io::Result<bool> {
    let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    kill_current_process_group(Signal::TSTP)?;
    Ok(timeout(STOPS_WITHIN, continued.recv()).await.is_ok())
}

/// Lets the user edit a text.
async fn edit(text: &str, env: fn(&str) -> Option<String>) -> Result<String, String> {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(env);
    let editor = named.filter(|it| !it.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    let path = std::env::temp_dir().join(format!("think-{}.md", std::process::id()));
    let edited = edit_file(&editor, &path, text).await;
    drop(std::fs::remove_file(&path));
    edited
}

async fn edit_file(editor: &str, path: &Path, text: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("`{}` cannot be used: {error}", path.display());
    // A file of an earlier process with the same id.
    drop(std::fs::remove_file(path));
    files::create(path).and_then(|mut it| it.write_all(text.as_bytes())).map_err(failed)?;
    // The variable may hold options too.
    let run = format!("{editor} \"$1\"");
    let status = Command::new("/bin/sh").args(["-c", &run, "sh"]).arg(path).status().await;
    match status {
        Ok(status) if status.success() => {
            let text = std::fs::read_to_string(path).map_err(failed)?;
            Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        }
        Ok(status) => Err(format!("`{editor}` failed ({status}); set `EDITOR` to another editor")),
        Err(error) => Err(format!("`{editor}` cannot be started: {error}")),
    }
}
