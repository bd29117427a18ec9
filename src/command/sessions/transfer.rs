//! `think sessions export` and `think sessions import`

use crate::command::candidates;
use crate::command::explain_wire;
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::masking::{self, tiers};
use crate::stored;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use thinkthrough_chat::export::{
    Exported, ThoughtForm, from_jsonl, from_markdown, masked, to_html, to_jsonl, to_markdown,
};
use thinkthrough_chat::title;
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_json::Doc;
use thinkthrough_store::{ConversationState, Meta};

/// Write a conversation to standard output
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The conversation
    #[arg(value_name = "ID", add = ArgValueCompleter::new(candidates::sessions))]
    id: String,
    /// `jsonl` has everything, `md` too and can be edited, `html` is for reading
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// How thoughts look in Markdown, or `off` to leave them out of any format
    #[arg(long, value_enum, default_value_t = Thoughts::Callout)]
    thoughts: Thoughts,
    /// Put placeholders in place of secrets, for a conversation that others may read; see `think mask --help`
    #[arg(long)]
    mask: bool,
}

/// Read an exported conversation, keep it, and print its new ID
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the file is; seen from its name when left out
    #[arg(long, value_enum)]
    format: Option<ReadFormat>,
    /// The title, in place of the file's own
    #[arg(long)]
    title: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Jsonl,
    Md,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReadFormat {
    Jsonl,
    Md,
    /// A request or an array of messages, as APIs of models take them
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Thoughts {
    Callout,
    Details,
    Fenced,
    Off,
}

impl Export {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let is_wanted = self.thoughts != Thoughts::Off;
        let whole = super::load(config, &self.id, shows && is_wanted).await?;
        if !shows && is_wanted {
            say(format_args!(
                "thoughts are left out, because `reasoning.includeInResponse` is false"
            ));
        }
        let form = match self.thoughts {
            Thoughts::Callout | Thoughts::Off => ThoughtForm::Callout,
            Thoughts::Details => ThoughtForm::Details,
            Thoughts::Fenced => ThoughtForm::Fenced,
        };
        let mut exported = Exported { title: whole.meta.title, contents: whole.contents };
        if self.mask {
            let masker = masking::of_process(config, tiers(config))?;
            let broken = "the conversation cannot be masked; export it without `--mask`";
            exported =
                masked(&exported, &masker).ok_or_else(|| Failure::Failed(broken.to_owned()))?;
        }
        let text = match self.format {
            Format::Jsonl => to_jsonl(&exported.contents),
            Format::Md => to_markdown(&exported, form),
            Format::Html => to_html(&exported),
        };
        out.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Import {
    pub(super) async fn run(&self, config: &Config, out: &mut dyn Write) -> Result<(), Failure> {
        let name = self.file.display().to_string();
        let text = self.read().map_err(|error| {
            Failure::Failed(format!("`{name}` cannot be read: {error}; give a file of text"))
        })?;
        let format = match self.format {
            Some(format) => format,
            None => seen(&self.file, &text)?,
        };
        let read = match format {
            ReadFormat::Jsonl => {
                let read = from_jsonl(&text).map_err(|error| error.to_string());
                read.map(|contents| Exported { title: None, contents })
            }
            ReadFormat::Md => from_markdown(&text).map_err(|error| error.to_string()),
            ReadFormat::Json => {
                from_messages(&text).map(|contents| Exported { title: None, contents })
            }
        };
        let Exported { title, contents } = read.map_err(|error| {
            Failure::Failed(format!("`{name}` is no exported conversation: {error}"))
        })?;
        if contents.is_empty() {
            return Err(Failure::Failed(format!("`{name}` holds no message; give another file")));
        }
        let title = self.title.clone().or(title).or_else(|| title_of(&contents));
        let state =
            ConversationState { model: model_of(&contents), ..ConversationState::default() };
        let meta = Meta { title, state, ..Meta::default() };
        let new_store = stored::introduction(config);
        let id = stored::local(config).await?.begin(&meta, &contents).await?;
        new_store.iter().for_each(|new| say(format_args!("{new}")));
        writeln!(out, "{id}")?;
        Ok(())
    }

    fn read(&self) -> std::io::Result<String> {
        if self.file.as_os_str() != "-" {
            return std::fs::read_to_string(&self.file);
        }
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Detects the format of a file from its name and content.
fn seen(file: &Path, text: &str) -> Result<ReadFormat, Failure> {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let begin = text.trim_start();
    let is_page = begin.starts_with('<');
    match ending {
        Some("md" | "markdown") => Ok(ReadFormat::Md),
        Some("html" | "htm") if is_page => Err(Failure::Failed(format!(
            "`{}` is a page for reading and cannot be imported; export the conversation with `--format jsonl` or `--format md`",
            file.display()
        ))),
        _ if begin.starts_with('[') || is_request(begin) => Ok(ReadFormat::Json),
        _ => Ok(ReadFormat::Jsonl),
    }
}

/// Returns true if the text is a JSON object with the messages of a request.
fn is_request(text: &str) -> bool {
    let members = ["messages", "input", "contents"];
    let doc = Doc::parse_str(text);
    doc.is_ok_and(|doc| members.iter().any(|name| doc.root().some(name).is_some()))
}

/// Reads the messages of a request body, or an array of messages in the form of OpenAI's API.
fn from_messages(text: &str) -> Result<Vec<Content>, String> {
    let body = match text.trim_start().starts_with('[') {
        true => format!("{{\"model\":\"\",\"messages\":{text}}}"),
        false => text.to_owned(),
    };
    let wire = explain_wire::of(body.as_bytes()).map_err(|failure| failure.to_string())?;
    let doc = Doc::parse_str(&body).map_err(|error| error.to_string())?;
    let request = wire.read_request(doc.root()).map_err(|error| error.to_string())?;
    Ok(request.contents)
}

fn title_of(contents: &[Content]) -> Option<String> {
    let first = contents.iter().find(|content| content.speaker == Speaker::Human)?;
    title(&first.visible_text())
}

fn model_of(contents: &[Content]) -> Option<String> {
    let origin = contents.iter().rev().find_map(|content| content.origin.as_ref())?;
    Some(format!("{}/{}", origin.provider, origin.model))
}
