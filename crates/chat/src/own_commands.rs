//! Commands of the user: files `NAME.md`, whose text `/NAME` sends.

use std::fs;
use std::path::Path;

/// A command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// Its name, without the slash.
    pub name: String,
    /// The text that it sends.
    pub text: String,
}

/// The most commands, and the most bytes of one.
const MOST: usize = 100;
const LONGEST: usize = 32 << 10;
/// The place in a text for the words behind the command.
const ARGUMENTS: &str = "$ARGUMENTS";

impl OwnCommand {
    /// The first line of the text, without marks of a heading.
    #[must_use]
    pub fn about(&self) -> &str {
        let line = self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.trim_start_matches('#').trim()
    }

    /// The text with the words behind the command: in the place of `$ARGUMENTS`, else at the end.
    #[must_use]
    pub fn with(&self, words: &str) -> String {
        if self.text.contains(ARGUMENTS) {
            self.text.replace(ARGUMENTS, words)
        } else if words.is_empty() {
            self.text.clone()
        } else {
            format!("{}\n\n{words}", self.text)
        }
    }
}

/// Reads the commands of a folder, in alphabetical order. Leaves out files that are empty, longer than 32 KiB or no text,
/// and names with other characters than letters, digits, `-` and `_`.
#[must_use]
pub fn own_commands(folder: &Path) -> Vec<OwnCommand> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<OwnCommand> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".md")?.to_owned();
            let is_word = name.starts_with(|it: char| it.is_ascii_alphabetic())
                && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'));
            let about = fs::metadata(&path).ok()?;
            let fits = about.is_file() && about.len() <= LONGEST as u64;
            if !is_word || !fits {
                return None;
            }
            let text = fs::read_to_string(&path).ok()?.trim().to_owned();
            (!text.is_empty()).then_some(OwnCommand { name, text })
        })
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests {
    use super::{OwnCommand, own_commands};

    #[test]
    fn words_stand_in_their_place_or_at_the_end() {
        let command = |text: &str| OwnCommand { name: "x".to_owned(), text: text.to_owned() };
        assert_eq!(command("Fix $ARGUMENTS now").with("it"), "Fix it now");
        assert_eq!(command("Fix it").with(""), "Fix it");
        assert_eq!(command("Fix it").with("soon"), "Fix it\n\nsoon");
        assert_eq!(command("\n# Review\n\nall").about(), "Review");
    }

    #[test]
    fn only_small_texts_with_plain_names_are_commands() {
        let folder = std::env::temp_dir().join(format!("think-own-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let long = "x".repeat(40_000);
        let files = [
            ("review.md", "Review $ARGUMENTS\n"),
            ("a-b.md", "One"),
            ("no.txt", "Two"),
            ("a b.md", "Three"),
            ("empty.md", " \n"),
            ("long.md", &long),
        ];
        files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
        let names: Vec<String> = own_commands(&folder).into_iter().map(|it| it.name).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["a-b", "review"]);
        assert!(own_commands(&folder).is_empty());
    }
}
