//! Whole responses, and the code that streams share with them: pieces of a message, token counts, fields, errors.

use super::ID;
use crate::content::{Block, Media, MediaSource, Text, Thinking};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::function::read_call;
use crate::wire::open::{OpenBlocks, Part};

/// The key that thoughts come in.
pub(super) const SOURCE_FIELD: &str = "thinking";

/// The members of a response that have a place of their own here.
const RESPONSE_FIELDS: &[&str] = &[
    "model",
    "created_at",
    "message",
    "response",
    "thinking",
    "tool_calls",
    "images",
    "done",
    "done_reason",
    "logprobs",
    "prompt_eval_count",
    "eval_count",
    "error",
];

/// Turns the pieces of a response into blocks. Text and thought may each come again after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) open: OpenBlocks,
    /// Members of the message that have no name here.
    message: Extra,
    logprobs: Vec<Raw>,
}

const THOUGHT: u64 = 0;
const TEXT: u64 = 1;
const CALL: u64 = 2;

impl Blocks {
    /// Takes one line of a stream, or a whole response.
    pub(super) fn take(&mut self, body: Val<'_>, sink: &mut dyn Sink) {
        if let Some(list) = body.some("logprobs") {
            self.logprobs.extend(list.items().map(Raw::from));
        }
        // The form of `/api/generate` has the pieces on the response itself.
        self.pieces(body, "response", sink);
        if let Some(message) = body.get("message").filter(|message| message.is_object()) {
            self.pieces(message, "content", sink);
            self.members(message, sink);
        }
    }

    fn pieces(&mut self, holder: Val<'_>, text: &str, sink: &mut dyn Sink) {
        self.push(THOUGHT, holder.text("thinking").unwrap_or_default().as_ref(), sink);
        self.push(TEXT, holder.text(text).unwrap_or_default().as_ref(), sink);
        for data in images(holder).iter().flatten() {
            self.open.end_all(false, sink);
            self.open.whole(&Block::Media(image(data)), sink);
        }
        for call in holder.get("tool_calls").into_iter().flat_map(Val::items) {
            self.open.end_all(false, sink);
            let (call, text) = read_call(ID, call, &[]);
            self.open.start(CALL, Part::Call { call, text: String::new() }, sink);
            self.open.push(CALL, &text, sink);
            self.open.end(CALL, sink);
        }
    }

    fn members(&mut self, message: Val<'_>, sink: &mut dyn Sink) {
        for (key, value) in message.entries() {
            let is_known = match key.as_ref() {
                "role" | "tool_calls" => true,
                "content" | "thinking" => value.is_null() || value.as_str().is_some(),
                "images" => images(message).is_some(),
                _ => value.is_null(),
            };
            if !is_known {
                if key == "content" && self.message.get(ID, &key).is_none() {
                    let message = "content that is no text was kept as it stood";
                    sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
                }
                self.message.insert(ID, &key, Raw::from(value));
            }
        }
    }

    /// More of the thought or the text; the other one ends when this one continues.
    fn push(&mut self, key: u64, more: &str, sink: &mut dyn Sink) {
        if more.is_empty() {
            return;
        }
        if !self.open.has(key) {
            self.open.end_all(false, sink);
            let part = if key == THOUGHT {
                Part::Thinking(Thinking::new("", SOURCE_FIELD))
            } else {
                Part::Text { text: Text::default(), citations: Vec::new(), wire: ID }
            };
            self.open.start(key, part, sink);
        }
        self.open.push(key, more, sink);
    }

    /// Ends all blocks and reports the members beside them.
    pub(super) fn end(&mut self, cut: bool, sink: &mut dyn Sink) {
        self.open.end_all(cut, sink);
        let message = std::mem::take(&mut self.message);
        if !message.is_empty() {
            let object = Raw::build(|w| w.object(|w| w.extra(&message, ID)));
            field("message", &object, sink);
        }
        let list = std::mem::take(&mut self.logprobs);
        if !list.is_empty() {
            let list = Raw::build(|w| w.array(|w| list.iter().for_each(|item| w.raw(item))));
            field("logprobs", &list, sink);
        }
    }
}

/// The images of a message in base64; `None` if they have another form.
pub(super) fn images(message: Val<'_>) -> Option<Vec<String>> {
    let images = message.some("images").filter(|images| images.is_array())?;
    images.items().map(|image| Some(image.as_str()?.into_owned())).collect()
}

/// An image. The wire does not name its type; the first bytes show it.
pub(super) fn image(data: &str) -> Media {
    let kinds = [
        ("iVBOR", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    let kind = kinds.iter().find(|(start, _)| data.starts_with(start));
    Media {
        media_type: kind.map_or("image/*", |(_, kind)| kind).to_owned(),
        source: MediaSource::Data(data.to_owned()),
        extra: Extra::default(),
    }
}

/// Reads a whole response.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    if body.some("error").is_some() {
        return sink.event(Event::Problem(&error(body)));
    }
    head(body, sink);
    let mut blocks = Blocks::default();
    blocks.take(body, sink);
    fields(body, sink);
    let is_cut = body.bool("done") == Some(false);
    blocks.end(is_cut, sink);
    if is_cut {
        let message = "the response says itself that it is not `done`";
        return sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
    }
    finish(body, sink);
}

/// Reports the model and the time of the answer.
pub(super) fn head(body: Val<'_>, sink: &mut dyn Sink) {
    if let Some(model) = name(body, "model") {
        sink.event(Event::Fact(Fact::Model(&model)));
    }
    if let Some(time) = body.some("created_at") {
        field("created_at", &Raw::from(time), sink);
    }
}

/// Reports the unknown members of a response. `null` has no meaning.
pub(super) fn fields(body: Val<'_>, sink: &mut dyn Sink) {
    for (key, value) in body.entries() {
        if !RESPONSE_FIELDS.contains(&key.as_ref()) && !value.is_null() {
            field(&key, &Raw::from(value), sink);
        }
    }
}

fn field(key: &str, value: &Raw, sink: &mut dyn Sink) {
    sink.event(Event::Fact(Fact::Field { wire: ID, key, value }));
}

/// Reports the token counts and the finish reason.
pub(super) fn finish(body: Val<'_>, sink: &mut dyn Sink) {
    if let Some(usage) = usage(body) {
        sink.event(Event::Usage(&usage));
    }
    let (finish_reason, model) = (name(body, "done_reason"), name(body, "model"));
    sink.event(Event::Finish { finish_reason: finish_reason.as_deref(), model: model.as_deref() });
}

/// A name; `None` if it is empty.
fn name(object: Val<'_>, key: &str) -> Option<String> {
    object.string(key).filter(|name| !name.is_empty())
}

/// Token counts. They are among the other members; thoughts are in `eval_count`.
pub(super) fn usage(body: Val<'_>) -> Option<Usage> {
    let counts = ["prompt_eval_count", "eval_count"].map(|key| (key, body.some(key)));
    counts.iter().any(|(_, count)| count.is_some()).then(|| Usage {
        input_tokens: body.u64("prompt_eval_count"),
        output_tokens: body.u64("eval_count"),
        raw: Some(Raw::build(|w| {
            w.object(|w| {
                for (key, count) in counts {
                    if let Some(count) = count {
                        w.key(key).raw_str(count.raw());
                    }
                }
            });
        })),
        ..Usage::default()
    })
}

/// The finding for an error body or line.
pub(super) fn error(body: Val<'_>) -> Problem {
    let error = body.some("error").unwrap_or(body);
    let text = error.as_str().map(Into::into).or_else(|| error.string("message"));
    let text = text.filter(|text: &String| !text.is_empty());
    let text = text.unwrap_or_else(|| "the provider gave no message".to_owned());
    Problem::new(ProblemCode::UpstreamError, text)
}
