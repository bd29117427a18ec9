//! Additions to a question: instructions for the model, and files.

use crate::failure::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use thinkthrough_core::content::{Block, Media, MediaSource};
use thinkthrough_json::Extra;

/// The options of every command that takes a question.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Attached {
    /// Instructions for the model, above the conversation
    #[arg(short, long, value_name = "SYSTEM")]
    pub(crate) system: Option<String>,
    /// Send a file with the question: text, an image or a PDF; may be given several times
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// The text files, each as a code block after its name.
    pub(crate) text: String,
    pub(crate) media: Vec<Block>,
}

impl Files {
    pub(crate) fn is_empty(&self) -> bool {
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

impl Attached {
    pub(crate) fn read(&self) -> Result<Files, Failure> {
        let mut files = Files::default();
        for path in &self.files {
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
                Failure::Failed(format!(
                    "`{}` is no UTF-8 text, no image (PNG, JPEG, GIF, WebP) and no PDF; convert it first",
                    path.display()
                ))
            })?;
            let gap = if files.text.is_empty() { "" } else { "\n\n" };
            files.text.push_str(&format!("{gap}{}", fenced(path, &text)));
        }
        Ok(files)
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |why: &str| {
        Failure::Failed(format!(
            "`{}` cannot be sent: {why}; name a file that can be read",
            path.display()
        ))
    };
    let file = File::open(path).map_err(|error| failed(&error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| failed(&error.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST {
        return Err(failed("it has more than 64 MiB"));
    }
    Ok(bytes)
}

/// A file as a code block. The fence is longer than any fence in the file.
fn fenced(path: &Path, text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let language = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    format!("`{}`:\n{fence}{language}\n{text}{end}{fence}", path.display())
}

#[cfg(test)]
mod tests {
    use super::{fenced, media_type};
    use std::path::Path;

    #[test]
    fn a_sound_is_no_picture() {
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(media_type(b"RIFF"), None);
        assert_eq!(media_type(b"%PDF-1.7"), Some("application/pdf"));
    }

    #[test]
    fn a_file_of_fences_is_still_one_block() {
        let fence = |text: &str| fenced(Path::new("a.md"), text);
        assert_eq!(fence("x\n"), "`a.md`:\n```md\nx\n```");
        assert_eq!(fence("````\ny\n````"), "`a.md`:\n`````md\n````\ny\n````\n`````");
    }
}
