//! Messages of the user before they are sent: words, the files that they name, and outputs of the user's commands.

use super::Session;
use super::message::{Effect, RunId};
use crate::attachment::{self, Files, Mentioned, begun, joined};
use crate::screen::model::{Body, EntryId, Level, Tool, ToolState};

/// A message of the user before it is sent.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    pub(super) words: String,
    pub(super) files: Files,
}

impl From<String> for Prompt {
    fn from(words: String) -> Self {
        Prompt { words, files: Files::default() }
    }
}

/// A running command of the user.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) run: RunId,
    entry: EntryId,
    command: String,
}

/// A path of the working folder that completes an `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The index of the `@` in the text.
    pub(super) from: usize,
    /// The text that replaces it and the path so far.
    pub(super) text: String,
}

/// An output with more lines is folded.
const OPEN: usize = 20;
/// Number of paths in the menu.
const PATHS: usize = 50;

/// The command for the shell in a text, if it is one. `![` begins an image in Markdown.
pub(super) fn shell_command(text: &str) -> Option<&str> {
    let command = text.strip_prefix('!')?.trim();
    (!command.is_empty() && !command.starts_with('[') && !text.trim_end().contains('\n'))
        .then_some(command)
}

impl Session {
    /// Sends what the user wrote. Files that it names are read first.
    pub(super) fn send_written(&mut self, words: String, mentions: Vec<String>) {
        if mentions.is_empty() {
            self.submit(words.into());
        } else {
            self.effect(Effect::Attach(words, mentions));
        }
    }

    pub(super) fn on_attached(&mut self, words: String, found: Result<Mentioned, String>) {
        match found {
            Ok(Mentioned { files, missing }) => {
                for path in missing {
                    let text = format!("there is no file `{path}`; `@{path}` is sent as words");
                    self.notice(Level::Warning, text);
                }
                self.submit(Prompt { words, files });
            }
            Err(why) => {
                self.composer.put(&words);
                self.notice(Level::Error, why);
            }
        }
    }

    /// The text of a message: outputs of commands, words, and files.
    pub(super) fn text_of(&mut self, words: String, files: String) -> String {
        let mut parts = std::mem::take(&mut self.outputs);
        parts.push(joined(words, files));
        parts.join("\n\n")
    }

    pub(super) fn run_shell(&mut self, command: &str) {
        if let Some(running) = &self.shell {
            let text = format!("`{}` still runs; Esc stops it", running.command);
            self.composer.put(&format!("!{command}"));
            return self.notice(Level::Error, text);
        }
        let shown = self.cover.text(command).into_owned();
        let entry = self.view.transcript.push(Body::Tool(Tool::call("!", shown)));
        self.last_run += 1;
        let run = self.last_run;
        self.shell = Some(Shell { run, entry, command: command.to_owned() });
        self.effect(Effect::Shell(run, command.to_owned()));
    }

    /// Stops the command of the user. Its output so far is kept.
    pub(super) fn stop_shell(&mut self) -> bool {
        let Some(run) = self.shell.as_ref().map(|shell| shell.run) else { return false };
        self.effect(Effect::Stop(run));
        true
    }

    pub(super) fn on_ran(&mut self, run: RunId, output: &str, is_error: bool) {
        let Some(Shell { entry, command, .. }) = self.shell.take_if(|it| it.run == run) else {
            return;
        };
        let state = if is_error { ToolState::Error } else { ToolState::Ok };
        let shown = self.cover.text(output).into_owned();
        self.view.transcript.edit(entry, |body| {
            if let Body::Tool(tool) = body {
                tool.set_result(shown, state);
                tool.choice = Some(tool.lines() <= OPEN);
            }
        });
        self.outputs.push(attachment::named(&format!("$ {command}"), "", output));
    }

    /// Explains the effect of Enter on the text, or counts the outputs for the next question.
    pub(super) fn prompt_note(&self) -> Option<String> {
        if shell_command(&self.composer.text()).is_some() {
            return Some("enter runs it in your shell".to_owned());
        }
        match self.outputs.len() {
            0 => None,
            1 => Some("1 output goes along".to_owned()),
            many => Some(format!("{many} outputs go along")),
        }
    }

    /// Lists the files of the folder when an `@` is written.
    pub(super) fn look_for_files(&mut self) {
        let text = self.composer.text();
        let before = text.get(..self.composer.cursor()).unwrap_or_default();
        if begun(before).is_some_and(|(_, path)| path.is_empty() || self.files.is_none()) {
            self.effect(Effect::ListFiles);
        }
    }

    pub(super) fn on_files(&mut self, files: Vec<String>) {
        self.files = Some(files);
        self.refresh_completions();
    }

    /// The paths that may complete the `@` at the end of a text, and the highlighted one. None is highlighted if the
    /// path is written in full, so that Enter sends.
    pub(super) fn paths(&self, text: &str) -> (Vec<Path>, Option<usize>) {
        let files = self.files.as_deref().unwrap_or_default();
        let Some((from, path)) = begun(text).filter(|_| !self.composer.is_walking()) else {
            return (Vec::new(), None);
        };
        let wanted = path.to_lowercase();
        let name = |file: &str| file.rsplit('/').next().unwrap_or_default().starts_with(&wanted);
        let rank = |file: &str| {
            let lower = file.to_lowercase();
            let ranks = [lower.starts_with(&wanted), name(&lower), lower.contains(&wanted)];
            ranks.iter().position(|it| *it)
        };
        let ranked = files.iter().filter_map(|file| Some((rank(file)?, file)));
        let mut found: Vec<(usize, &String)> = ranked.collect();
        found.sort_by_key(|(rank, _)| *rank);
        let is_whole = found.iter().any(|(_, file)| *file == path);
        let row = |(_, file): (usize, &String)| {
            let has_space = file.contains(char::is_whitespace);
            let text = if has_space { format!("@\"{file}\"") } else { format!("@{file}") };
            Path { from, text }
        };
        let rows = found.into_iter().take(PATHS).map(row).collect();
        (rows, (!is_whole).then_some(0))
    }
}
