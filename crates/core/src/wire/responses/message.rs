//! The content of messages: parts as blocks.

use super::{BARE, ID, MESSAGE, MORE, PART};
use crate::content::{Block, Media, MediaSource, Other, Text};
use crate::json::{Extra, Raw, Val};

/// Fields that belong to a text part, to be kept apart from those of its message.
pub(super) const PART_FIELDS: [&str; 2] = ["annotations", "logprobs"];

/// The fields of a message apart from its role and content.
fn message_fields(item: Val<'_>) -> Extra {
    let is_plain = item.text("role").is_none_or(|role| role == "assistant");
    let known: &[&str] = if is_plain { &["role", "content"] } else { &["content"] };
    let mut extra = Extra::collect(ID, item, known);
    // A message with an id or a status is of this type anyway; it is written back with it.
    let says_type = extra.get(ID, "id").is_some();
    if says_type {
        extra.fields.retain(|(key, _)| key != "type");
    }
    extra
}

/// The blocks of a message of the model. The first one carries the fields of the message.
pub(super) fn blocks(item: Val<'_>) -> Vec<Block> {
    let mut fields = message_fields(item);
    let Some(content) = item.get("content") else { return whole(item) };
    if let Some(text) = content.as_str() {
        fields.note(ID, BARE, flag());
        return vec![Block::Text(Text { text: text.into_owned(), signature: None, extra: fields })];
    }
    let mut blocks = Vec::new();
    for part in content.each() {
        let message = blocks.is_empty().then_some(&fields);
        blocks.push(match part.text("text").filter(|_| is_text(part)) {
            Some(text) => Block::Text(Text {
                text: text.into_owned(),
                signature: None,
                extra: text_fields(part, message),
            }),
            None => Block::Other(part_of_message(part, message)),
        });
    }
    if blocks.is_empty() { whole(item) } else { blocks }
}

/// A message without content is kept unchanged, because a caller may need its id.
fn whole(item: Val<'_>) -> Vec<Block> {
    vec![Block::Other(Other::new(ID, "message", Raw::from(item)))]
}

fn is_text(part: Val<'_>) -> bool {
    part.text("type").is_none_or(|kind| matches!(&*kind, "output_text" | "text" | "input_text"))
}

/// The extra fields of a text part: those of its message, if it is the first, and its own.
fn text_fields(part: Val<'_>, message: Option<&Extra>) -> Extra {
    let mut extra = message.cloned().unwrap_or_default();
    let mut rest = Extra::default();
    for (key, value) in part.entries() {
        match &*key {
            "text" => {}
            "type" if value.as_str().as_deref() == Some("output_text") => {}
            key if PART_FIELDS.contains(&key) => extra.insert(ID, key, Raw::from(value)),
            key => rest.insert(ID, key, Raw::from(value)),
        }
    }
    if message.is_none() {
        extra.note(ID, MORE, flag());
    }
    if !rest.is_empty() {
        extra.note(ID, PART, Raw::build(|w| w.object(|w| w.extra(&rest, ID))));
    }
    extra
}

/// A part with no form of its own (a refusal or an unknown part) with the fields of its message.
fn part_of_message(part: Val<'_>, message: Option<&Extra>) -> Other {
    let kind = part.string("type").unwrap_or_else(|| "part".to_owned());
    let has_fields = message.is_none_or(|fields| !fields.is_empty());
    let is_noted = has_fields || kind != "refusal";
    let mut other = Other::new(ID, kind, Raw::from(part));
    if is_noted {
        let fields = match message {
            Some(fields) => Raw::build(|w| w.object(|w| w.extra(fields, ID))),
            None => Raw::null(),
        };
        other.notes.note(ID, MESSAGE, fields);
    }
    other
}

/// A value for extra fields that only have to be there.
pub(super) fn flag() -> Raw {
    Raw::build(|w| w.bool(true))
}

/// The blocks of a message of the person, the system or the developer, and whether it was a bare string.
pub(super) fn input_blocks(content: Val<'_>) -> (Vec<Block>, bool) {
    match content.as_str() {
        Some(text) => (vec![Block::text(text)], true),
        None => (content.items().map(input_part).collect(), false),
    }
}

fn input_part(part: Val<'_>) -> Block {
    match part.text("type").as_deref() {
        Some("input_text") if part.text("text").is_some() => Block::Text(Text {
            text: part.string("text").unwrap_or_default(),
            signature: None,
            extra: Extra::collect(ID, part, &["type", "text"]),
        }),
        Some("text" | "output_text") if part.text("text").is_some() => Block::Text(Text {
            text: part.string("text").unwrap_or_default(),
            signature: None,
            extra: Extra::collect(ID, part, &["text"]),
        }),
        Some("input_image") => media(part, "image_url", false),
        Some("input_file") if part.text("file_data").is_some() => media(part, "file_data", true),
        Some("input_file") => media(part, "file_url", true),
        _ => other_part(part),
    }
}

fn other_part(part: Val<'_>) -> Block {
    let kind = part.string("type").unwrap_or_else(|| "part".to_owned());
    Block::Other(Other::new(ID, kind, Raw::from(part)))
}

/// An image or a file with its bytes under `key`; a file that only an id names stays as it is.
fn media(part: Val<'_>, key: &str, is_file: bool) -> Block {
    let Some(text) = part.text(key) else { return other_part(part) };
    let known: &[&str] = if is_file { &[key] } else { &["type", key] };
    let extra = Extra::collect(ID, part, known);
    let (media_type, source) = match data_url(&text) {
        Some((media_type, data)) => (media_type.to_owned(), MediaSource::Data(data.to_owned())),
        None if key == "file_data" => (String::new(), MediaSource::Data(text.into_owned())),
        None => {
            let media_type = if is_file { "" } else { "image/*" };
            (media_type.to_owned(), MediaSource::Url(text.into_owned()))
        }
    };
    Block::Media(Media { media_type, source, extra })
}

/// The MIME type and the base64 text of a data URL.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    (!media_type.is_empty() && !media_type.contains(',')).then_some((media_type, data))
}
