//! Conversations as files, and changes of the user's configuration.

use super::engine::Inbound;
use super::host::Host;
use crate::export::{self, Exported};
use crate::session::{Form, Message, Write as Change};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use thinkthrough_core::content::Content;
use thinkthrough_mask::Masker;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// Changes the user's configuration beside everything else, one change after the other: the last one is what stays.
pub(super) struct Changer {
    changes: mpsc::UnboundedSender<Change>,
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
        Changer { changes, changing }
    }

    pub(super) fn change(&self, change: Change) {
        drop(self.changes.send(change));
    }

    /// Waits until everything is written.
    pub(super) async fn end(self) {
        drop(self.changes);
        drop(timeout(super::LAST_WRITES, self.changing).await);
    }
}

/// What an export is to be.
pub(super) struct Wanted {
    pub(super) form: Form,
    pub(super) with_thoughts: bool,
    /// Covers secrets.
    pub(super) masker: Option<Masker>,
}

/// Writes a conversation; never over another file.
pub(super) fn export(
    path: &Path,
    contents: &[Content],
    title: &str,
    what: &Wanted,
) -> Result<String, String> {
    let contents =
        if what.with_thoughts { contents.to_vec() } else { export::without_thoughts(contents) };
    let mut exported = Exported { title: Some(title.to_owned()), contents };
    if let Some(masker) = &what.masker {
        let broken = "the conversation cannot be masked; export it without `--mask`";
        exported = export::masked(&exported, masker).ok_or(broken)?;
    }
    let text = match what.form {
        Form::Markdown(thoughts) => export::to_markdown(&exported, thoughts),
        Form::Html => export::to_html(&exported),
        Form::Jsonl => export::to_jsonl(&exported.contents),
    };
    match create(path).and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(format!("written to `{}`", path.display())),
        Err(error) => Err(format!("`{}` cannot be written: {error}", path.display())),
    }
}

/// A new file that nobody else on the machine may read: thoughts are in it.
fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
        let what = Wanted {
            form: Form::Markdown(export::ThoughtForm::Callout),
            with_thoughts: true,
            masker: None,
        };
        export(&path, &[], "Talk", &what).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(export(&path, &[], "Talk", &what).unwrap_err().contains("cannot be written"));
        std::fs::remove_file(&path).unwrap();
    }
}
