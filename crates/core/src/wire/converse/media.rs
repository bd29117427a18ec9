//! Images, documents and other media: the wire names them by kind and format, the neutral form by MIME type.

use super::ID;
use super::block::extra;
use crate::content::{Media, MediaSource};
use crate::json::{Extra, Val, Writer};

/// Kind, format and MIME type. If a MIME type has two formats, the first one is written.
const FORMATS: &[(&str, &str, &str)] = &[
    ("image", "png", "image/png"),
    ("image", "jpeg", "image/jpeg"),
    ("image", "gif", "image/gif"),
    ("image", "webp", "image/webp"),
    ("document", "pdf", "application/pdf"),
    ("document", "csv", "text/csv"),
    ("document", "doc", "application/msword"),
    ("document", "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("document", "xls", "application/vnd.ms-excel"),
    ("document", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("document", "html", "text/html"),
    ("document", "txt", "text/plain"),
    ("document", "md", "text/markdown"),
    ("video", "mp4", "video/mp4"),
    ("video", "mov", "video/quicktime"),
    ("video", "mkv", "video/x-matroska"),
    ("video", "webm", "video/webm"),
    ("video", "flv", "video/x-flv"),
    ("video", "mpeg", "video/mpeg"),
    ("video", "wmv", "video/x-ms-wmv"),
    ("video", "three_gp", "video/3gpp"),
    ("audio", "mp3", "audio/mpeg"),
    ("audio", "wav", "audio/wav"),
    ("audio", "ogg", "audio/ogg"),
    ("audio", "flac", "audio/flac"),
    ("audio", "aac", "audio/aac"),
    ("audio", "opus", "audio/opus"),
    ("audio", "m4a", "audio/mp4"),
];

/// Kind and format for a MIME type.
fn format_of(media_type: &str) -> Option<(&'static str, &'static str)> {
    let known = FORMATS.iter().find(|(_, _, known)| known.eq_ignore_ascii_case(media_type));
    known.map(|(kind, format, _)| (*kind, *format))
}

/// Reads a medium with its bytes inline or in S3; other media have no neutral form.
pub(super) fn read(kind: &str, medium: Val<'_>) -> Option<Media> {
    let format = medium.text("format")?;
    let (_, _, media_type) =
        FORMATS.iter().find(|(known, name, _)| *known == kind && *name == format)?;
    let source = medium.get("source")?;
    let source = match source.string("bytes") {
        Some(bytes) if is_alone(source) => MediaSource::Data(bytes),
        Some(_) => return None,
        None => {
            let place =
                source.get("s3Location").filter(|place| is_alone(source) && is_alone(*place))?;
            MediaSource::Url(place.string("uri")?)
        }
    };
    let extra = Extra::collect(ID, medium, &["format", "source"]);
    let media = Media { media_type: (*media_type).to_owned(), source, extra };
    is_sayable(&media).then_some(media)
}

/// Whether an object has one member.
fn is_alone(object: Val<'_>) -> bool {
    object.entries().count() == 1
}

/// Whether the wire takes this: a known format, inline or in S3.
pub(super) fn is_sayable(media: &Media) -> bool {
    let is_reachable = match &media.source {
        MediaSource::Data(_) => true,
        MediaSource::Url(url) => url.starts_with("s3://"),
    };
    is_reachable && format_of(&media.media_type).is_some()
}

/// Whether a medium becomes a document that gets its name here.
pub(super) fn is_document(media: &Media) -> bool {
    let is_one = format_of(&media.media_type).is_some_and(|(kind, _)| kind == "document");
    is_one && media.extra.get(ID, "name").is_none()
}

/// Writes a medium that [`is_sayable`]. `documents` counts the documents that got their name here.
pub(super) fn write(w: &mut Writer, media: &Media, documents: &mut usize) {
    let (kind, format) = format_of(&media.media_type).unwrap_or(("image", "png"));
    w.object(|w| {
        w.key(kind).object(|w| {
            w.field_str("format", format);
            if is_document(media) {
                // The API demands a name, another one for each document.
                *documents += 1;
                match *documents {
                    1 => w.field_str("name", "document"),
                    count => w.field_str("name", &format!("document-{count}")),
                }
            }
            w.key("source").object(|w| match &media.source {
                MediaSource::Data(data) => w.field_str("bytes", data),
                MediaSource::Url(url) => w.key("s3Location").object(|w| w.field_str("uri", url)),
            });
            extra(w, &media.extra);
        });
    });
}
