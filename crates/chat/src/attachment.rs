//! Files and outputs of commands in a message.
//!
//! A text file and the output of a command become a named block: the name in backticks and a colon, then a fence.
//! An image or a PDF becomes a media block.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use thinkthrough_core::content::{Block, Media, MediaSource};
use thinkthrough_json::Extra;

/// The content of files that go with a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The text files, each as a named block.
    pub text: String,
    /// The images and PDFs.
    pub media: Vec<Block>,
}

impl Files {
    /// Returns true without any file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.media.is_empty()
    }
}

/// More than any model accepts in one file.
const MOST: u64 = 64 << 20;

/// The first bytes of the binary formats that models read.
const FORMATS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
];

/// The media type of a binary format that models read.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let known = FORMATS.iter().find(|(head, _)| bytes.starts_with(head)).map(|(_, it)| *it);
    known.or_else(|| is_webp.then_some("image/webp"))
}

/// Reads files.
///
/// # Errors
/// If a file cannot be read, is too large, or is no text, image or PDF. The sentence names the file.
pub fn read(paths: &[PathBuf]) -> Result<Files, String> {
    let mut files = Files::default();
    for path in paths {
        let bytes = bytes(path)?;
        if let Some(media_type) = media_type(&bytes) {
            files.media.push(Block::Media(Media {
                media_type: media_type.to_owned(),
                source: MediaSource::Data(STANDARD.encode(&bytes)),
                extra: Extra::default(),
            }));
            continue;
        }
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| {
            format!(
                "`{}` is no UTF-8 text, no image (PNG, JPEG, GIF, WebP) and no PDF; convert it first",
                path.display()
            )
        })?;
        let language = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let gap = if files.text.is_empty() { "" } else { "\n\n" };
        let block = named(&path.display().to_string(), language, &text);
        files.text.push_str(&format!("{gap}{block}"));
    }
    Ok(files)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: &str| {
        format!("`{}` cannot be sent: {why}; name a file that can be read", path.display())
    };
    let file = File::open(path).map_err(|error| failed(&error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| failed(&error.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST {
        return Err(failed("it has more than 64 MiB"));
    }
    Ok(bytes)
}

/// A named block. Its fence is longer than any fence in the text.
pub(crate) fn named(name: &str, language: &str, text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("`{name}`:\n{fence}{language}\n{text}{end}{fence}")
}

/// Joins a question with text that follows it, by a blank line. Text of white space alone is left out.
#[must_use]
pub fn joined(said: String, more: String) -> String {
    match (said.trim().is_empty(), more.trim().is_empty()) {
        (_, true) => said,
        (true, false) => more,
        (false, false) => format!("{said}\n\n{more}"),
    }
}

/// The start of the path that the user writes at the end of a text, after its `@`, and the path so far.
pub(crate) fn begun(text: &str) -> Option<(usize, &str)> {
    let (at, _) = text
        .char_indices()
        .rev()
        .find(|(at, char)| *char == '@' && text.get(..*at).is_some_and(may_begin))?;
    let path = text.get(at + 1..)?;
    let is_open = match path.strip_prefix('"') {
        Some(quoted) => !quoted.contains(['"', '\n']),
        None => !path.contains(char::is_whitespace),
    };
    is_open.then(|| (at, path.trim_start_matches('"')))
}

/// The paths that a text names with `@`, as written. A path with spaces is in quotation marks.
pub(crate) fn mentions(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(at) = text.get(rest..).and_then(|it| it.find('@')).map(|at| rest + at) {
        rest = at + 1;
        let (before, path) = text.split_at(rest);
        if !may_begin(before.strip_suffix('@').unwrap_or_default()) {
            continue;
        }
        let end = match path.strip_prefix('"') {
            Some(quoted) => quoted.find(['"', '\n']).map_or(0, |end| end + 1),
            None => path.find(char::is_whitespace).unwrap_or(path.len()),
        };
        let name = path.get(..end).unwrap_or_default().trim_start_matches('"');
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
        rest += end;
    }
    found
}

/// Returns true if an `@` behind this text may begin a path. In `me@example.org` it does not.
fn may_begin(before: &str) -> bool {
    before.chars().next_back().is_none_or(|char| char.is_whitespace() || "([{'\"".contains(char))
}

/// The files that paths of a message name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mentioned {
    /// Their content.
    pub files: Files,
    /// The paths without a file that look like one. The message has them as words.
    pub missing: Vec<String>,
}

/// Reads the files that these paths name. A folder is not read, and the message has only its path.
///
/// # Errors
/// If a file is there and cannot be sent.
pub(crate) fn mentioned(names: &[String], home: Option<&Path>) -> Result<Mentioned, String> {
    let (mut paths, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match found(name, home) {
            Some((path, true)) if !paths.contains(&path) => paths.push(path),
            Some(_) => {}
            None if name.contains(['/', '.']) => missing.push(name.clone()),
            None => {}
        }
    }
    Ok(Mentioned { files: read(&paths)?, missing })
}

/// The path of a name, and whether a file is there. Punctuation behind a path belongs to the sentence.
fn found(name: &str, home: Option<&Path>) -> Option<(PathBuf, bool)> {
    let sentence = name.trim_end_matches(|char| ".,;:!?)]}'\"".contains(char));
    [name, sentence].into_iter().filter(|name| !name.is_empty()).find_map(|name| {
        let path = match (name.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(name),
        };
        let kind = fs::metadata(&path).ok()?;
        Some((path, kind.is_file()))
    })
}

/// More lines of a named block than these are folded on the screen.
const SHOWN: usize = 10;

/// A part of a message.
enum Part<'t> {
    Said(&'t str),
    Named { name: &'t str, whole: &'t str, lines: usize },
}

/// Finds the named blocks of a message.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut said, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match block(rest) {
            Some((name, length, lines)) => {
                parts.extend(text.get(said..at).filter(|it| !it.is_empty()).map(Part::Said));
                let whole = rest.get(..length).unwrap_or_default();
                parts.push(Part::Named { name, whole, lines });
                at += length;
                said = at;
            }
            None => at += rest.find('\n').map_or(rest.len(), |end| end + 1),
        }
    }
    parts.extend(text.get(said..).filter(|it| !it.is_empty()).map(Part::Said));
    parts
}

/// The name, the length and the lines of the named block that a text begins with.
pub(crate) fn block(text: &str) -> Option<(&str, usize, usize)> {
    let (head, rest) = text.split_once('\n')?;
    let name = head.strip_prefix('`')?.strip_suffix("`:")?;
    let (fence, body) = rest.split_once('\n')?;
    let fence = fence.get(..fence.len() - fence.trim_start_matches('`').len())?;
    if fence.len() < 3 {
        return None;
    }
    let mut length = text.len() - body.len();
    for (lines, line) in body.split_inclusive('\n').enumerate() {
        if line.trim_end_matches('\n') == fence {
            return Some((name, length + fence.len(), lines));
        }
        length += line.len();
    }
    None
}

/// A message as the screen shows it: one line in place of each long file and output.
pub(crate) fn shown(text: &str) -> String {
    let part = |part: Part<'_>| match part {
        Part::Named { name, lines, .. } if lines > SHOWN => format!("`{name}`: [{lines} lines]"),
        Part::Named { whole, .. } => whole.to_owned(),
        Part::Said(said) => said.to_owned(),
    };
    parts(text).into_iter().map(part).collect()
}

/// The words of a message without the outputs before them and the files after them; the message itself if there are
/// no words.
pub(crate) fn words(text: &str) -> &str {
    let parts = parts(text);
    let said = |part: &Part<'_>| matches!(part, Part::Said(said) if !said.trim().is_empty());
    let (Some(first), Some(last)) = (parts.iter().position(said), parts.iter().rposition(said))
    else {
        return text;
    };
    let length = |part: &Part<'_>| match part {
        Part::Said(said) => said.len(),
        Part::Named { whole, .. } => whole.len(),
    };
    let start: usize = parts.iter().take(first).map(length).sum();
    let end: usize = parts.iter().take(last + 1).map(length).sum();
    text.get(start..end).unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::{begun, joined, media_type, mentioned, mentions, named, shown, words};

    #[test]
    fn a_sound_is_no_picture() {
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(media_type(b"RIFF"), None);
        assert_eq!(media_type(b"%PDF-1.7"), Some("application/pdf"));
    }

    #[test]
    fn a_file_of_fences_is_still_one_block() {
        let fence = |text: &str| named("a.md", "md", text);
        assert_eq!(fence("x\n"), "`a.md`:\n```md\nx\n```");
        assert_eq!(fence("````\ny\n````"), "`a.md`:\n`````md\n````\ny\n````\n`````");
    }

    #[test]
    fn what_is_piped_in_stands_behind_the_words() {
        for (said, piped, expected) in [
            ("Sum up:", "text\n", "Sum up:\n\ntext\n"),
            ("Sum up:", "", "Sum up:"),
            ("Sum up:", " \n", "Sum up:"),
            ("", "text\n", "text\n"),
            ("", "", ""),
        ] {
            assert_eq!(joined(said.to_owned(), piped.to_owned()), expected, "{said} {piped}");
        }
    }

    #[test]
    fn a_path_begins_with_an_at_sign_that_begins_a_word() {
        for (text, names) in [
            ("look at @src/a.rs and @b", &["src/a.rs", "b"][..]),
            ("@\"two words.md\" (@c)", &["two words.md", "c)"]),
            ("me@example.org, @ alone, @\"open", &[]),
            ("@a @a\n@b", &["a", "b"]),
        ] {
            assert_eq!(mentions(text), names, "{text}");
        }
        for (text, path) in [
            ("see @", Some((4, ""))),
            ("see @sr", Some((4, "sr"))),
            ("@\"two wo", Some((0, "two wo"))),
            ("see @src/a.rs ", None),
            ("me@exam", None),
            ("@\"a b\"", None),
        ] {
            assert_eq!(begun(text), path, "{text}");
        }
    }

    #[test]
    fn a_path_without_a_file_stays_a_word() {
        let folder = std::env::temp_dir().join(format!("think-mentioned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.txt"), "text\n").unwrap();
        std::fs::write(folder.join("b.bin"), [0, 159, 1]).unwrap();
        let names =
            |names: &[&str]| -> Vec<String> { names.iter().map(|it| (*it).to_owned()).collect() };
        let found = mentioned(&names(&["~/a.txt,", "~/a.txt", "bob", "no.rs"]), Some(&folder));
        let found = found.unwrap();
        let path = folder.join("a.txt");
        assert_eq!(found.files.text, format!("`{}`:\n```txt\ntext\n```", path.display()));
        assert_eq!(found.missing, ["no.rs"]);
        let whole = folder.display().to_string();
        assert!(mentioned(&[whole], None).unwrap().files.is_empty(), "a folder is a word");
        let refused = mentioned(&names(&["~/b.bin"]), Some(&folder)).unwrap_err();
        assert!(refused.contains("is no UTF-8 text"), "{refused}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn long_blocks_are_folded_on_the_screen_and_words_are_what_was_typed() {
        let long = named("a.rs", "rs", &"line\n".repeat(11));
        let short = named("$ ls", "", "a\n");
        let text = format!("{short}\n\nlook at @a.rs\n\n{long}");
        assert_eq!(shown(&text), format!("{short}\n\nlook at @a.rs\n\n`a.rs`: [11 lines]"));
        assert_eq!(words(&text), "look at @a.rs");
        assert_eq!(words(&short), short);
        for plain in ["", "a\n\n`b`:\n\n```\nc\n```\n", "`a`:\n```\nopen\n", "`x`: y\n"] {
            assert_eq!(shown(plain), plain);
            assert_eq!(words(plain), plain.trim());
        }
    }
}
