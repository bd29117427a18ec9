//! Images, sounds and files as parts of the content.

use super::form::Form;
use super::request::keep_inner;
use crate::content::{Media, MediaSource};
use crate::json::{Extra, Raw, Val, Writer};

/// A document by its address, a data URL included.
const DOCUMENT: &str = "document_url";
const PDF: &str = "application/pdf";

/// Reads a part; `None` when it is no medium that has a form in the neutral content.
pub(super) fn read(form: &'static Form, kind: &str, part: Val<'_>) -> Option<Media> {
    let mut extra = Extra::collect(form.id, part, &["type", kind]);
    let inner = part.get(kind)?;
    let (media_type, source) = match kind {
        "image_url" | "video_url" => {
            let url = inner.as_str().or_else(|| inner.text("url"))?;
            let (media_type, source) = source(&url);
            let guess = if kind == "image_url" { "image/*" } else { "video/*" };
            (media_type.unwrap_or_else(|| guess.to_owned()), source)
        }
        "input_audio" => {
            let format = inner.text("format")?;
            (format!("audio/{format}"), MediaSource::Data(inner.string("data")?))
        }
        DOCUMENT => {
            let (media_type, source) = source(&inner.as_str()?);
            (media_type.unwrap_or_else(|| PDF.to_owned()), source)
        }
        "file" => {
            let (media_type, source) = source(&inner.text("file_data")?);
            (media_type?, source)
        }
        _ => return None,
    };
    if inner.is_object() {
        let known: &[&str] = match kind {
            "input_audio" => &["format", "data"],
            "file" => &["file_data"],
            _ => &["url"],
        };
        keep_inner(&mut extra, form, kind, &Extra::collect(form.id, inner, known));
        if matches!(kind, "video_url" | "file") && extra.get(form.id, kind).is_none() {
            extra.insert(form.id, kind, Raw::build(|w| w.object(|_| {})));
        }
    } else {
        // The address was the value itself.
        extra.insert(form.id, kind, Raw::string(""));
    }
    Some(Media { media_type, source, extra })
}

/// Takes a data URL apart, if it has the usual form.
fn source(url: &str) -> (Option<String>, MediaSource) {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media_type, data)) if !media_type.is_empty() => {
            (Some(media_type.to_owned()), MediaSource::Data(data.to_owned()))
        }
        _ => (None, MediaSource::Url(url.to_owned())),
    }
}

/// The part for a medium; `None` when this wire has no form for it.
pub(super) fn part(media: &Media, form: &Form) -> Option<Raw> {
    let kept = |kind: &str| media.extra.get(form.id, kind);
    let url = match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Data(data) => format!("data:{};base64,{data}", media.media_type),
    };
    let is_inline = matches!(media.source, MediaSource::Data(_));
    let is_pdf = media.media_type == PDF;
    let kind = if kept(DOCUMENT).is_some() || is_pdf && form.media_in_results {
        DOCUMENT
    } else if kept("video_url").is_some() {
        "video_url"
    } else if kept("image_url").is_some() || media.media_type.starts_with("image/") {
        "image_url"
    } else if media.media_type.starts_with("audio/") && is_inline {
        "input_audio"
    } else if is_inline {
        "file"
    } else {
        return None;
    };
    let write = |w: &mut Writer| {
        w.field_str("type", kind);
        if kind == DOCUMENT || kept(kind).is_some_and(|kept| kept.as_str() == "\"\"") {
            w.field_str(kind, &url);
        } else {
            w.key(kind).object(|w| {
                match (kind, &media.source) {
                    ("input_audio", MediaSource::Data(data)) => {
                        w.field_str("data", data);
                        w.field_str("format", media.media_type.trim_start_matches("audio/"));
                    }
                    ("file", _) => {
                        if kept(kind).is_none() {
                            w.field_str("filename", "file");
                        }
                        w.field_str("file_data", &url);
                    }
                    _ => w.field_str("url", &url),
                }
                rest(w, kept(kind));
            });
        }
        for (key, value) in media.extra.of(form.id).iter().filter(|(key, _)| key != kind) {
            w.field_raw(key, value);
        }
    };
    Some(Raw::build(|w| w.object(write)))
}

/// Writes the members of an object that was kept, inside an open one.
pub(super) fn rest(w: &mut Writer, kept: Option<&Raw>) {
    let Some(kept) = kept else { return };
    for (key, value) in kept.doc().root().entries() {
        w.key(&key).raw_str(value.raw());
    }
}
