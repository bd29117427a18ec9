//! Gemini's `generateContent` and `streamGenerateContent`, as AI Studio and Vertex speak it.
//!
//! A message is a list of parts. A part is text, a thought (`thought: true`), a call, media or a part without a
//! neutral form; any of them may carry a `thoughtSignature`, which goes back on the very same part. Consecutive parts
//! of one kind in a response are one block, and a signature ends it. The parts of a request are blocks one by one.
//! Requests may spell their fields in camel case or in snake case; both are read.
//!
//! Some facts about the original form are kept as notes beside the fields; these are never written to the wire.

mod asked;
mod chunks;
mod config;
mod encode;
mod error;
mod names;
mod part;
mod partial_args;
mod request;
mod resources;
mod response;
mod schema;
mod stream;
mod thinking;
mod write;
mod write_part;

pub use asked::asked;

use super::headers::Headers;
use super::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::Val;
use crate::request::Request;
use std::ops::Range;

/// The `generateContent` wire.
#[derive(Clone, Copy, Debug)]
pub struct GenerateContent;

/// The public name, which also marks the extra fields of this wire.
const ID: &str = "generate-content";

/// The name under which thoughts come.
const THOUGHT: &str = "thought";

/// Note on a call: the value in place of its arguments, if it was not an object.
const ARGS: &str = "args";
/// Note on an answer: the other fields of its candidate.
const CANDIDATE: &str = "candidate";
/// Note: the other fields of the object inside the part.
const INNER: &str = "inner";
/// Note: the part had no text, not even an empty one.
const NO_TEXT: &str = "no_text";
/// Note on a thought: the sizes in bytes of the parts that were in one list and are one thought here.
const PARTS: &str = "parts";
/// Note: the original role, if it is not the usual one; `null` if there was none.
const ROLE: &str = "role";
/// Note: the declaration's field for its schema.
const SCHEMA: &str = "schema";
/// Note: a new entry of `tools` begins here; its value are the other fields of the entry.
const TOOL: &str = "tool";

impl Wire for GenerateContent {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn joins_results(&self) -> bool {
        true
    }

    fn before_translation(&self, request: &mut Request) {
        chunks::join(&mut request.contents);
    }

    fn respelled(&self, message: Val<'_>) -> Vec<(Range<usize>, String)> {
        names::named(message)
    }

    fn has_forms(&self) -> bool {
        true
    }

    fn path(&self, model: &str, stream: bool) -> String {
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("/v1beta/{}:{method}", place(model))
    }

    fn caps(&self) -> &'static [&'static str] {
        &[
            "generationConfig.maxOutputTokens",
            "generationConfig.max_output_tokens",
            "generation_config.max_output_tokens",
            "generation_config.maxOutputTokens",
        ]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::request(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["candidates", "promptFeedback", "usageMetadata"]
    }

    /// A stream that was asked for without events comes as an array of its chunks.
    fn is_answer(&self, body: Val<'_>) -> bool {
        body.each().any(|chunk| super::has_any(chunk, self.answer_members()))
    }

    fn read_response(&self, body: Val<'_>, _dialect: &Dialect, sink: &mut dyn Sink) {
        stream::read_whole(body, sink);
    }

    fn decoder(&self, _dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::default())
    }

    fn write_response(&self, answer: &Answer) -> String {
        response::write(answer)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(encode::Encoder::default())
    }

    fn is_thought(&self, other: &Other) -> bool {
        // For example an image that is a draft of the final one.
        other.raw.doc().root().bool(THOUGHT) == Some(true)
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        error::write_body(error)
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }

    fn headers(&self) -> Headers {
        Headers {
            forwarded: &["x-goog-api-client", "x-goog-upload-*", "x-server-timeout"],
            account: &["x-goog-request-params", "x-goog-user-project"],
        }
    }
}

/// The resources that have models, from Google's two APIs; `*` is a name.
const PLACES: [&[&str]; 8] = [
    &["dynamic", "*"],
    &["endpoints", "*"],
    &["models", "*"],
    &["tunedModels", "*"],
    &["publishers", "*", "models", "*"],
    &["projects", "*", "locations", "*", "models", "*"],
    &["projects", "*", "locations", "*", "endpoints", "*"],
    &["projects", "*", "locations", "*", "publishers", "*", "models", "*"],
];

/// The path of a model. Only the full name of a resource has several parts; every other name is one part, with all
/// its characters.
fn place(model: &str) -> String {
    let parts: Vec<&str> = model.split('/').collect();
    let is_full = |place: &&[&str]| {
        place.len() == parts.len()
            && place.iter().zip(&parts).all(|(known, part)| *known == "*" || known == part)
    };
    match PLACES.iter().any(is_full) {
        true => parts.into_iter().map(escaped).collect::<Vec<_>>().join("/"),
        false => format!("models/{}", escaped(model)),
    }
}

/// A model's name as one part of a path.
fn escaped(model: &str) -> String {
    let mut out = String::with_capacity(model.len());
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The member of this name, in camel case as given or in snake case.
fn either<'d>(object: Val<'d>, camel: &str) -> Option<Val<'d>> {
    object.get(camel).or_else(|| object.get(&snake(camel)))
}

/// The snake-case spelling of a name in camel case.
fn snake(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
