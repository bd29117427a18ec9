//! `/export` and `/import`.

use super::super::Session;
use super::super::format::{Format, THOUGHTS};
use super::super::message::Effect;
use super::Word;
use super::talk::is_busy;
use crate::export::ThoughtForm;
use crate::screen::model::Level;
use std::path::PathBuf;
use std::sync::Arc;

/// The words of the command.
struct Wanted {
    path: PathBuf,
    format: Format,
    thoughts: Option<ThoughtForm>,
    is_masked: bool,
}

pub(super) fn export(session: &mut Session, rest: &str) {
    let wanted = match Wanted::parse(rest) {
        Ok(wanted) => wanted,
        Err(why) => return session.notice(Level::Error, why),
    };
    let shows = session.layers.resolve().include_in_response.value;
    let contents = Arc::clone(session.conversation().contents());
    session.effect(Effect::Export {
        path: wanted.path,
        format: wanted.format,
        contents,
        title: session.conversation().title.clone().unwrap_or_else(|| "untitled".to_owned()),
        thoughts: wanted.thoughts.filter(|_| shows),
        is_masked: wanted.is_masked,
    });
}

impl Wanted {
    fn parse(rest: &str) -> Result<Self, String> {
        let (mut format, mut thoughts, mut is_masked) = (None, Some(ThoughtForm::Callout), false);
        let mut path = Vec::new();
        let mut words = rest.split(' ');
        while let Some(word) = words.next() {
            match word {
                "--mask" => is_masked = true,
                "--format" => {
                    let name = words.next().unwrap_or_default();
                    let known = || Format::ALL.map(|(name, ..)| name).join(", ");
                    format =
                        Some(Format::parse(name).ok_or_else(|| refused(word, name, &known()))?);
                }
                "--thoughts" => {
                    let name = words.next().unwrap_or_default();
                    let known = || THOUGHTS.map(|(name, ..)| name).join(", ");
                    let found = THOUGHTS.into_iter().find(|(known, ..)| *known == name);
                    thoughts = found.ok_or_else(|| refused(word, name, &known()))?.1;
                }
                _ if word.starts_with("--") => {
                    return Err(format!(
                        "`/export` has no option `{word}`; it has `--format`, `--thoughts` and `--mask`"
                    ));
                }
                _ => path.push(word),
            }
        }
        // A name may have spaces.
        let path = path.join(" ").trim().to_owned();
        if path.is_empty() {
            return Err("`/export` needs a file, like `/export talk.md`".to_owned());
        }
        let path = PathBuf::from(path);
        let format = format.or_else(|| Format::of(&path)).ok_or_else(|| {
            format!(
                "the name `{}` says no format; end it with `.md`, `.html` or `.jsonl`, or add `--format FORMAT`",
                path.display()
            )
        })?;
        Ok(Wanted { path, format, thoughts, is_masked })
    }
}

fn refused(option: &str, value: &str, known: &str) -> String {
    format!("`{option}` cannot be `{value}`; allowed: {known}")
}

pub(super) fn words(_: &Session, before: &[&str]) -> Vec<Word> {
    let word = |text: &str, about: &str, goes_on| Word {
        text: text.to_owned(),
        about: about.to_owned(),
        goes_on,
    };
    match before.last() {
        Some(&"--format") => {
            Format::ALL.iter().map(|(name, _, about)| word(name, about, false)).collect()
        }
        Some(&"--thoughts") => {
            THOUGHTS.iter().map(|(name, _, about)| word(name, about, false)).collect()
        }
        Some(_) => {
            let known = [
                ("--format", "another one than the name says", true),
                ("--mask", "with placeholders in place of secrets", false),
                ("--thoughts", "how thoughts look, or `off`", true),
            ];
            let left = known.into_iter().filter(|(text, ..)| !before.contains(text));
            left.map(|(text, about, goes_on)| word(text, about, goes_on)).collect()
        }
        None => Vec::new(),
    }
}

pub(super) fn import(session: &mut Session, rest: &str) {
    if rest.is_empty() {
        return session.notice(Level::Error, "`/import` needs a file, like `/import talk.md`");
    }
    if !is_busy(session) {
        session.effect(Effect::Import(PathBuf::from(rest)));
    }
}
