//! Parts as blocks.

use super::{ARGS, ID, INNER, NO_TEXT, THOUGHT, either, snake};
use crate::content::{
    Block, Media, MediaSource, Other, Parameters, Text, Thinking, ToolCall, ToolResponse,
    ToolResult,
};
use crate::json::{Extra, Raw, Val};
use std::iter;

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Call,
    Media,
    Other,
    Response,
    Text,
    Thought,
}

/// Fields that parts of every kind may have.
const BESIDE: [&str; 6] = [
    "mediaResolution",
    "partMetadata",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "videoMetadata",
];

impl PartKind {
    /// The kind of this part.
    pub(super) fn of(part: Val<'_>) -> Self {
        let is_thought = part.bool(THOUGHT) == Some(true);
        let plain = if is_thought { PartKind::Thought } else { PartKind::Text };
        match name(part).as_deref() {
            None => plain,
            Some("text") if part.text("text").is_some() => plain,
            Some("functionCall" | "function_call") => PartKind::Call,
            Some("functionResponse" | "function_response") => PartKind::Response,
            // An image on the way to the answer is no part of the answer.
            Some("inlineData" | "inline_data" | "fileData" | "file_data") if !is_thought => {
                PartKind::Media
            }
            Some(_) => PartKind::Other,
        }
    }
}

/// The field that shows the kind of a part.
fn name(part: Val<'_>) -> Option<String> {
    let mut named = part.entries().filter(|(key, value)| {
        let is_beside =
            BESIDE.iter().any(|beside| *beside == key.as_ref() || snake(beside) == *key);
        !value.is_null() && !is_beside
    });
    named.next().map(|(key, _)| key.into_owned())
}

/// The signature on a part; `None` if it is empty.
pub(super) fn signature(part: Val<'_>) -> Option<String> {
    either(part, "thoughtSignature")?
        .as_str()
        .filter(|signature| !signature.is_empty())
        .map(std::borrow::Cow::into_owned)
}

/// The other fields of a part, without those in its neutral form.
fn rest(part: Val<'_>, known: &[&str]) -> Extra {
    let mut known = known.to_vec();
    if signature(part).is_some() {
        known.extend(["thoughtSignature", "thought_signature"]);
    }
    Extra::collect(ID, part, &known)
}

/// The fields of a text or a thought that comes in a response, without its text and signature.
pub(super) fn fields(part: Val<'_>) -> Extra {
    rest(part, &["text", "thought", "thoughtSignature", "thought_signature"])
}

/// A function call, without arguments that come in pieces.
pub(super) fn call(part: Val<'_>) -> ToolCall {
    let call = either(part, "functionCall").unwrap_or(part);
    let args = call.get("args");
    let mut known = vec!["name", "args", "partialArgs", "willContinue"];
    let id = call.string("id");
    if id.is_some() {
        known.push("id");
    }
    ToolCall {
        id,
        name: call.string("name").unwrap_or_default(),
        parameters: args
            .filter(|args| !args.is_null())
            .map_or_else(Parameters::default, |args| Parameters::Json(Raw::from(args))),
        signature: signature(part),
        extra: with_inner(
            rest(part, &["functionCall", "function_call"]),
            &Extra::collect(ID, call, &known),
        ),
    }
}

/// Adds the fields of the object inside a part.
fn with_inner(mut extra: Extra, inner: &Extra) -> Extra {
    if !inner.is_empty() {
        extra.note(ID, INNER, Raw::build(|w| w.object(|w| w.extra(inner, ID))));
    }
    extra
}

/// Media, inline or by address; other parts unchanged.
pub(super) fn media(part: Val<'_>) -> Block {
    let (key, inner) = match (either(part, "inlineData"), either(part, "fileData")) {
        (Some(inner), None) => ("data", inner),
        (None, Some(inner)) => ("fileUri", inner),
        _ => return other(part),
    };
    let bytes = either(inner, key).and_then(Val::as_str).map(std::borrow::Cow::into_owned);
    let media_type = either(inner, "mimeType").map(Val::as_str);
    let (Some(bytes), None | Some(Some(_))) = (bytes, &media_type) else { return other(part) };
    let named = ["data", "fileUri", "file_uri", "mimeType", "mime_type"];
    let source = if key == "data" { MediaSource::Data(bytes) } else { MediaSource::Url(bytes) };
    let names = ["inlineData", "inline_data", "fileData", "file_data"];
    Block::Media(Media {
        media_type: media_type.flatten().unwrap_or_default().into_owned(),
        source,
        // The signature has no field of its own here, so it stays among the others.
        extra: with_inner(Extra::collect(ID, part, &names), &Extra::collect(ID, inner, &named)),
    })
}

/// A part in its original form, under the wire's name for it.
pub(super) fn other(part: Val<'_>) -> Block {
    let kind = name(part).unwrap_or_else(|| "part".to_owned());
    Block::Other(Other::new(ID, kind, Raw::from(part)))
}

/// A part of a request: always one block, so that it goes back as it came.
pub(super) fn block(part: Val<'_>) -> Block {
    match PartKind::of(part) {
        PartKind::Call => request_call(part),
        PartKind::Media => media(part),
        PartKind::Other => other(part),
        PartKind::Response => result(part),
        PartKind::Text => text(part),
        PartKind::Thought => thought(part),
    }
}

fn text(part: Val<'_>) -> Block {
    let mut extra = rest(part, &["text"]);
    let text = mark_no_text(part, &mut extra);
    Block::Text(Text { text, signature: signature(part), extra })
}

fn thought(part: Val<'_>) -> Block {
    let mut extra = rest(part, &["text", "thought"]);
    let thought = mark_no_text(part, &mut extra);
    let signature = signature(part);
    if thought.is_empty() && signature.is_none() {
        return other(part);
    }
    Block::Thinking(Thinking { signature, extra, ..Thinking::new(thought, THOUGHT) })
}

fn mark_no_text(part: Val<'_>, extra: &mut Extra) -> String {
    part.string("text").unwrap_or_else(|| {
        let was = part.get("text").map_or_else(|| Raw::build(|w| w.bool(true)), Raw::from);
        extra.note(ID, NO_TEXT, was);
        String::new()
    })
}

fn request_call(part: Val<'_>) -> Block {
    let Some(inner) = either(part, "functionCall").filter(|call| call.text("name").is_some())
    else {
        return other(part);
    };
    if inner.get("partialArgs").is_some() || inner.get("willContinue").is_some() {
        return other(part);
    }
    let mut call = call(part);
    if !inner.get("args").is_some_and(Val::is_object) {
        let was = inner.get("args").map_or_else(|| Raw::build(|w| w.bool(true)), Raw::from);
        call.extra.note(ID, ARGS, was);
    }
    Block::ToolCall(call)
}

fn result(part: Val<'_>) -> Block {
    let Some(inner) = either(part, "functionResponse") else { return other(part) };
    let Some(response) = inner.get("response").filter(|response| response.is_object()) else {
        return other(part);
    };
    let call_id = inner.string("id");
    let name = inner.string("name");
    let mut known = vec!["response"];
    if call_id.is_some() {
        known.push("id");
    }
    if name.is_some() {
        known.push("name");
    }
    if inner.get("parts").is_some_and(|parts| parts.items().next().is_some()) {
        known.push("parts");
    }
    let mut extra = with_inner(
        rest(part, &["functionResponse", "function_response"]),
        &Extra::collect(ID, inner, &known),
    );
    if let Some(signature) = signature(part) {
        extra.insert(ID, "thoughtSignature", Raw::string(&signature));
    }
    // Even without such fields it came on this wire.
    extra.wire = Some(ID);
    let is_error = response.entries().count() == 1 && response.get("error").is_some();
    let parts = inner.get("parts").filter(|parts| parts.items().next().is_some());
    let result = match parts {
        Some(parts) => {
            let blocks = parts.items().map(media);
            ToolResult::Blocks(iter::once(Block::data(Raw::from(response))).chain(blocks).collect())
        }
        None => Raw::from(response).into(),
    };
    Block::ToolResponse(ToolResponse { call_id, name, result, is_error, extra })
}
