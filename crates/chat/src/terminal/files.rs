//! Conversations as files, and changes of the user's configuration.

use super::engine::Inbound;
use super::host::Host;
use crate::export::{self, Exported, ThoughtForm};
use crate::session::{Format, Message, Write as Change};
use crate::tools::Walk;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thinkthrough_core::content::Content;
use thinkthrough_mask::Masker;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// Changes the user's configuration in the background, one change after the other, so that the last change wins.
pub(super) struct Changer {
    changes: Option<mpsc::UnboundedSender<Change>>,
    changing: JoinHandle<()>,
}

impl Changer {
    pub(super) fn start(host: Arc<dyn Host>, inbox: mpsc::UnboundedSender<Inbound>) -> Self {
        let (changes, mut queue) = mpsc::unbounded_channel();
        let changing = spawn_blocking(move || {
            while let Some(change) = queue.blocking_recv() {
                drop(inbox.send(Inbound::Message(Message::Written(host.write(&change)))));
            }
        });
        Changer { changes: Some(changes), changing }
    }

    pub(super) fn change(&self, change: Change) {
        if let Some(changes) = &self.changes {
            drop(changes.send(change));
        }
    }

    /// Waits until everything is written.
    pub(super) async fn end(&mut self) {
        self.changes.take();
        drop(timeout(super::LAST_WRITES, &mut self.changing).await);
    }
}

/// The options of an export.
pub(super) struct Wanted {
    pub(super) format: Format,
    pub(super) thoughts: Option<ThoughtForm>,
    /// Covers secrets.
    pub(super) masker: Option<Masker>,
}

/// Writes a conversation to a new file. An existing file is not overwritten.
pub(super) fn export(
    path: &Path,
    contents: &[Content],
    title: &str,
    what: &Wanted,
) -> Result<String, String> {
    let contents = if what.thoughts.is_some() {
        contents.to_vec()
    } else {
        export::without_thoughts(contents)
    };
    let mut exported = Exported { title: Some(title.to_owned()), contents };
    if let Some(masker) = &what.masker {
        let broken = "the conversation cannot be masked; export it without `--mask`";
        exported = export::masked(&exported, masker).ok_or(broken)?;
    }
    let text = match what.format {
        Format::Markdown => export::to_markdown(&exported, what.thoughts.unwrap_or_default()),
        Format::Html => export::to_html(&exported),
        Format::Jsonl => export::to_jsonl(&exported.contents),
    };
    match create(path).and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(format!("written to `{}`", path.display())),
        Err(error) => Err(format!("`{}` cannot be written: {error}", path.display())),
    }
}

/// Creates a file that only this user may read, because it contains thoughts.
pub(super) fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Number of files that an `@` can complete.
const LISTED: usize = 20_000;

/// The files of the working folder, those of upper folders first.
pub(super) fn list() -> Vec<String> {
    let files = Walk::new(PathBuf::from(".")).take(LISTED).filter_map(|(path, _)| {
        let name = path.strip_prefix(".").unwrap_or(&path).to_str()?.to_owned();
        (!name.contains(['"', '\n']) && !name.chars().any(char::is_control)).then_some(name)
    });
    let mut files: Vec<String> = files.collect();
    files.sort_by_cached_key(|name| (name.matches('/').count(), name.clone()));
    files
}

/// Reads an exported conversation.
pub(super) fn import(path: &Path) -> Result<(String, Vec<Content>), String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    let read = match path.extension().and_then(OsStr::to_str) {
        Some("jsonl") => {
            export::from_jsonl(&text).map(|contents| Exported { title: None, contents })
        }
        _ => export::from_markdown(&text),
    };
    let Exported { title, contents } =
        read.map_err(|error| format!("`{shown}` is no exported conversation: {error}"))?;
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or("imported").to_owned();
    Ok((title.unwrap_or(name), contents))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_export_is_for_its_owner_alone_and_overwrites_nothing() {
        let name = format!("think-export-{}.md", std::process::id());
        let path = std::env::temp_dir().join(name);
        let what =
            Wanted { format: Format::Markdown, thoughts: Some(ThoughtForm::Callout), masker: None };
        export(&path, &[], "Talk", &what).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(export(&path, &[], "Talk", &what).unwrap_err().contains("cannot be written"));
        std::fs::remove_file(&path).unwrap();
    }
}
