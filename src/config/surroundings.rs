//! `[chat] surroundings`: facts for a model besides the user's own instructions.

use super::table::Section;
use toml::Value;

/// The parts of the instructions that do not come from the user's own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) user: bool,
    pub(crate) project: bool,
    pub(crate) folder: bool,
    pub(crate) date: bool,
}

impl Surroundings {
    pub(crate) const ALL: Self =
        Surroundings { user: true, project: true, folder: true, date: true };
    pub(crate) const NONE: Self =
        Surroundings { user: false, project: false, folder: false, date: false };
    /// The accepted words.
    pub(crate) const WORDS: &str = "`user`, `project`, `folder`, `date`, or `all` or `none` alone";

    /// Reads words between commas.
    pub(crate) fn parse(words: &str) -> Option<Self> {
        match words.trim() {
            "all" => return Some(Self::ALL),
            "none" => return Some(Self::NONE),
            _ => {}
        }
        let mut read = Self::NONE;
        for word in words.split(',') {
            let part = match word.trim() {
                "user" => &mut read.user,
                "project" => &mut read.project,
                "folder" => &mut read.folder,
                "date" => &mut read.date,
                _ => return None,
            };
            *part = true;
        }
        Some(read)
    }
}

/// `[chat] surroundings`: a word or a list of words.
pub(super) fn surroundings(section: Section<'_>) -> Result<Surroundings, String> {
    let words = match section.table.get("surroundings") {
        None => return Ok(Surroundings::ALL),
        Some(Value::String(word)) => Some(word.clone()),
        Some(value) => value.as_array().and_then(|list| {
            let words = list.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(if words.is_empty() { "none".to_owned() } else { words.join(",") })
        }),
    };
    let read = words.and_then(|words| Surroundings::parse(&words));
    read.ok_or_else(|| section.wrong("surroundings", &format!("a list of {}", Surroundings::WORDS)))
}

#[cfg(test)]
mod tests {
    use super::Surroundings;
    use crate::config::{Config, of_text};
    use std::path::Path;

    fn config(text: &str) -> Result<Config, String> {
        of_text(text, &|_| None, Path::new("/etc/think"))
    }

    #[test]
    fn the_table_of_conversations_is_read() {
        assert_eq!(config("").unwrap().surroundings, Surroundings::ALL);
        let read = |text: &str| config(&format!("[chat]\nsurroundings = {text}\n"));
        for none in ["\"none\"", "[]"] {
            assert_eq!(read(none).unwrap().surroundings, Surroundings::NONE);
        }
        let two = Surroundings { project: true, date: true, ..Surroundings::NONE };
        assert_eq!(read("[\"project\", \"date\"]").unwrap().surroundings, two);
        for wrong in ["[\"files\"]", "[1]", "true", "\"some\""] {
            let said = read(wrong).unwrap_err();
            assert!(said.contains("`chat.surroundings` must be a list of `user`"), "{said}");
        }
        let off = config("[chat]\nmouse = false\n").unwrap();
        assert!(config("").unwrap().mouse && !off.mouse);
        let both = config("[chat]\nsystem = \"a\"\n[profiles.p]\nsystem = \"b\"\n").unwrap();
        assert_eq!(both.system.as_deref(), Some("a"));
        assert_eq!(both.profiles[0].system.as_deref(), Some("b"));
    }

    #[test]
    fn surroundings_are_words_between_commas() {
        let two = Surroundings { project: true, date: true, ..Surroundings::NONE };
        for (words, expected) in [
            ("all", Some(Surroundings::ALL)),
            (" none ", Some(Surroundings::NONE)),
            ("project, date", Some(two)),
            ("user,project,folder,date", Some(Surroundings::ALL)),
            ("all,date", None),
            ("", None),
            ("files", None),
        ] {
            assert_eq!(Surroundings::parse(words), expected, "{words}");
        }
    }
}
