//! `think connect`: sets up other clients for the gateway, and takes that back.

mod client;
mod gateway;
mod json;
mod printed;
mod record;
mod settings;
mod toml;

use super::asking::env;
use crate::config;
use crate::config::edit::replace;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use client::Plan;
use gateway::Gateway;
use record::Record;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Set up a client for the gateway: Claude Code, Codex, opencode, or a program of your own
///
/// Writes the gateway's address into the client's own settings, and changes nothing else in them. `python` and `env` print
/// what to copy.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think connect claude-code
  think connect codex --key \"$KEY\"
  think connect opencode --gateway http://think.example:4114
  think connect claude-code --undo
  eval \"$(think connect env)\"")]
pub(crate) struct Connect {
    /// The client
    client: Client,
    /// Take the settings of `think connect` out again
    #[arg(long, conflicts_with_all = ["key", "gateway"])]
    undo: bool,
    /// The client's key of the gateway, from `think keys create`
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The gateway's address, in place of the configuration's
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Client {
    /// Its `settings.json`
    ClaudeCode,
    /// Its `config.toml`
    Codex,
    /// Its `opencode.json`
    Opencode,
    /// A program for the OpenAI SDK, printed
    Python,
    /// Variables for a shell, printed
    Env,
}

impl Client {
    fn word(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Opencode => "opencode",
            Client::Python => "python",
            Client::Env => "env",
        }
    }

    /// The place of the record of its settings.
    fn record(self) -> Result<PathBuf, Failure> {
        let folder = config::data_folder(&env).ok_or_else(|| {
            Failure::Failed("there is no place to note the change; set `HOME`".to_owned())
        })?;
        Ok(folder.join("connect").join(format!("{}.json", self.word())))
    }
}

impl Connect {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.undo {
            return self.take_back(out);
        }
        let gateway = Gateway::reach(self.gateway.as_deref(), self.key.clone())?;
        let plan = match self.client {
            Client::Python => return printed::python(&gateway, out),
            Client::Env => return printed::variables(&gateway, out),
            Client::ClaudeCode => client::claude_code(&gateway, &env)?,
            Client::Codex => client::codex(&gateway, &env)?,
            Client::Opencode => client::opencode(&gateway, &env)?,
        };
        self.connect(&plan, out)?;
        writeln!(out, "{}", plan.note)?;
        Ok(writeln!(out, "`think connect {} --undo` takes it back", self.client.word())?)
    }

    fn connect(&self, plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
        let noted = self.client.record()?;
        let old = Record::read(&noted).map_err(Failure::Failed)?;
        if let Some(old) = old.as_ref().filter(|old| old.file != plan.file) {
            return Err(Failure::Failed(format!(
                "`think connect` has already changed `{}`; take that back first with `think connect {} --undo`",
                old.file.display(),
                self.client.word()
            )));
        }
        let now = read(&plan.file)?;
        let before = match (&old, &now) {
            (Some(old), Some(now)) => old.undone(now, plan.form).text,
            _ => now.clone(),
        };
        let after = plan.applied(before.as_deref()).map_err(Failure::Failed)?;
        if now.as_ref() != Some(&after) {
            let folders = match old {
                Some(old) => old.folders,
                None => missing(&plan.file),
            };
            let paths = plan.changes.iter().map(|change| change.path.clone()).collect();
            let record = Record { file: plan.file.clone(), before, after, paths, folders };
            // A crash between the two leaves a record of a change that was not made, which is harmless.
            let written = record.write(&noted).and_then(|()| replace(&record.file, &record.after));
            written.map_err(|error| unwritable(&record.file, &error))?;
        }
        for change in &plan.changes {
            writeln!(out, "{}: {change}", plan.file.display())?;
        }
        Ok(())
    }

    fn take_back(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let word = self.client.word();
        let form = match self.client {
            Client::Codex => settings::Form::Toml,
            Client::ClaudeCode | Client::Opencode => settings::Form::Json,
            Client::Python | Client::Env => {
                return Err(Failure::Usage(format!(
                    "`think connect {word}` changes nothing, so there is nothing to take back"
                )));
            }
        };
        let noted = self.client.record()?;
        let Some(record) = Record::read(&noted).map_err(Failure::Failed)? else {
            return Ok(writeln!(out, "`think connect {word}` has changed nothing here")?);
        };
        let shown = record.file.display();
        if let Some(now) = read(&record.file)? {
            let undone = record.undone(&now, form);
            let failed = |error| unwritable(&record.file, &error);
            match &undone.text {
                Some(text) => replace(&record.file, text).map_err(failed)?,
                None => fs::remove_file(&record.file).map_err(failed)?,
            }
            for path in undone.changed_since {
                writeln!(out, "{shown}: `{path}` was changed since, and stays")?;
            }
        }
        // Folders that others use by now stay.
        record.folders.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        fs::remove_file(&noted).map_err(|error| unwritable(&noted, &error))?;
        noted.parent().map(fs::remove_dir);
        Ok(writeln!(out, "{shown}: the settings of `think connect {word}` are gone")?)
    }
}

/// The text of a file, if it is there.
fn read(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Failed(format!(
            "`{}` cannot be read: {error}; mend it, or move it away",
            file.display()
        ))),
    }
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!(
        "`{}` cannot be changed: {error}; make it writable and try again",
        file.display()
    ))
}

/// The folders of a file that do not exist yet, the innermost first.
fn missing(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}
