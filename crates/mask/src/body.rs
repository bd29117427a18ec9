//! Masks the strings of a JSON document and leaves the rest unchanged.

use super::Masker;
use std::ops::Range;
use thinkthrough_json::{Doc, JsonError, Kind, Val, write_escaped};

/// The members of JSON that are never masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// Signatures, sealed content, media and ids: values that must come back byte for byte.
    Kept,
    /// These and the addresses of media, which a provider fetches.
    Sent,
    /// No members, for copies that are never verified.
    Masked,
}

/// Members with values that a provider sealed, or with ids that other places refer to.
const OPAQUE: [&str; 27] = [
    "signature",
    "thoughtSignature",
    "thought_signature",
    "messageSignature",
    "encrypted_content",
    "encryptedContent",
    "redactedData",
    "redactedContent",
    "reasoning_opaque",
    "id",
    "call_id",
    "callId",
    "tool_call_id",
    "toolCallId",
    "tool_use_id",
    "toolUseId",
    "item_id",
    "itemId",
    "response_id",
    "responseId",
    "previous_response_id",
    "prompt_cache_key",
    "type",
    "role",
    "model",
    "name",
    "fileData",
];

/// Members with the addresses of media, and with a provider's cache settings of a prompt.
const FETCHED: [&str; 8] =
    ["url", "image_url", "file_url", "file_uri", "fileUri", "uri", "s3Location", "cache_control"];

/// Members that are opaque if the same object has one of these members.
const MEDIA: [&str; 6] = ["media_type", "mediaType", "mimeType", "mime_type", "format", "detail"];

/// Masks every string value, guided by the name of its member. Names, numbers and the bytes of strings without
/// secrets stay as they are. Returns `None` if no secret was found.
///
/// # Errors
/// Fails if the bytes are not JSON.
pub fn mask_json(
    masker: &Masker,
    body: &[u8],
    opaque: Opaque,
) -> Result<Option<Vec<u8>>, JsonError> {
    let doc = Doc::parse(body)?;
    let mut edits = Edits::new();
    walk(masker, doc.root(), "", opaque, &mut edits);
    Ok(written(body, edits))
}

/// Byte ranges and their replacements, in order.
pub(super) type Edits = Vec<(Range<usize>, String)>;

/// Applies edits to a body; `None` without edits.
pub(super) fn written(body: &[u8], edits: Edits) -> Option<Vec<u8>> {
    if edits.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(body.len() + edits.len() * 32);
    let mut done = 0;
    for (span, text) in edits {
        out.extend_from_slice(body.get(done..span.start).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        done = span.end;
    }
    out.extend_from_slice(body.get(done..).unwrap_or_default());
    Some(out)
}

pub(super) fn walk(masker: &Masker, value: Val<'_>, name: &str, opaque: Opaque, edits: &mut Edits) {
    match value.kind() {
        Kind::String => {
            let Some(text) = value.as_str() else { return };
            let masked = masker.mask_named(name, &text);
            if masked != text {
                let mut written = String::new();
                write_escaped(&masked, &mut written);
                edits.push((value.span(), written));
            }
        }
        Kind::Array => value.items().for_each(|item| walk(masker, item, name, opaque, edits)),
        Kind::Object => {
            let is_text = value.text("type").as_deref() == Some("text");
            let is_media = !is_text && MEDIA.iter().any(|name| value.get(name).is_some());
            let seals = value
                .text("type")
                .is_some_and(|kind| kind.contains("redacted") || kind.contains("encrypted"));
            for (key, member) in value.members() {
                let Some(key) = key.as_str() else { continue };
                let is_sealed = OPAQUE.contains(&&*key)
                    || (key == "data" && (is_media || seals))
                    || (key == "url" && is_data_address(member));
                if opaque == Opaque::Sent && FETCHED.contains(&&*key) {
                    continue;
                }
                if opaque == Opaque::Masked || !is_sealed || member.is_object() || member.is_array()
                {
                    walk(masker, member, &key, opaque, edits);
                }
            }
        }
        _ => {}
    }
}

/// Whether it is an image or the like inside of its own address.
fn is_data_address(value: Val<'_>) -> bool {
    value.as_str().is_some_and(|text| text.starts_with("data:"))
}
