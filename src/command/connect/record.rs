//! Records of settings files from before `think connect` changed them.

use super::settings::Form;
use crate::config::edit::replace;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thinkthrough_json::{Doc, Val, Writer};

/// A change of a settings file, until it is taken back.
pub(super) struct Record {
    pub(super) file: PathBuf,
    /// The text before; `None` if there was no file.
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// The members that got a value.
    pub(super) paths: Vec<Vec<String>>,
    /// The folders that were made for the file, the innermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// A settings file without the changes.
pub(super) struct Undone {
    /// `None` if the file shall go.
    pub(super) text: Option<String>,
    /// The members that were changed since by others; they stay.
    pub(super) changed_since: Vec<String>,
}

impl Record {
    /// The record in this file, if there is one.
    pub(super) fn read(noted: &Path) -> Result<Option<Self>, String> {
        let broken = |why: &str| {
            format!("`{}` cannot be read: {why}; move it away and try again", noted.display())
        };
        let text = match fs::read_to_string(noted) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(&error.to_string())),
        };
        let doc = Doc::parse_str(&text).map_err(|error| broken(&error.to_string()))?;
        let root = doc.root();
        let list = |key: &str| root.get(key).into_iter().flat_map(Val::items);
        let (Some(file), Some(after)) = (root.string("file"), root.string("after")) else {
            return Err(broken("it is no record"));
        };
        let texts = |value: Val<'_>| -> Vec<String> {
            value.items().filter_map(|it| Some(it.as_str()?.into_owned())).collect()
        };
        Ok(Some(Record {
            file: PathBuf::from(file),
            before: root.string("before"),
            after,
            paths: list("paths").map(texts).collect(),
            folders: root
                .get("folders")
                .map(texts)
                .unwrap_or_default()
                .into_iter()
                .map(PathBuf::from)
                .collect(),
        }))
    }

    /// Writes the record, for its user alone: the text before may hold keys.
    pub(super) fn write(&self, noted: &Path) -> io::Result<()> {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("file", &self.file.to_string_lossy());
            if let Some(before) = &self.before {
                w.field_str("before", before);
            }
            w.field_str("after", &self.after);
            w.key("paths").array(|w| {
                for path in &self.paths {
                    w.array(|w| path.iter().for_each(|key| w.str(key)));
                }
            });
            w.key("folders").array(|w| {
                self.folders.iter().for_each(|folder| w.str(&folder.to_string_lossy()));
            });
        });
        replace(noted, &w.finish_line())
    }

    /// Removes the changes from the file's present text. Members that were changed since by others stay.
    pub(super) fn undone(&self, now: &str, form: Form) -> Undone {
        if now == self.after {
            return Undone { text: self.before.clone(), changed_since: Vec::new() };
        }
        let before = self.before.as_deref().unwrap_or_default();
        let mut text = now.to_owned();
        let mut changed_since = Vec::new();
        for path in self.paths.iter().rev() {
            let is_own = match (form.value(&text, path), form.value(&self.after, path)) {
                (Ok(None), _) => continue,
                (Ok(here), Ok(own)) => here == own,
                (Err(_), _) | (_, Err(_)) => false,
            };
            match form.copy(&text, path, before) {
                Ok(undone) if is_own => text = undone,
                _ => changed_since.push(path.join(".")),
            }
        }
        let is_gone = self.before.is_none() && form.is_blank(&text);
        Undone { text: (!is_gone).then_some(text), changed_since }
    }
}
