//! Whole responses, and the code that streams share with them: blocks, calls, token counts, fields, errors.

use super::ID;
use crate::content::{Text, Thinking};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::function::read_call;
use crate::wire::open::{OpenBlocks, OpenOther, Part};
use crate::wire::tool_ids::NAMELESS_ANSWER;

/// The key that thoughts come in.
pub(super) const SOURCE_FIELD: &str = "thinking";

/// The members of a response, or of the events around it, that have a place of their own here.
const RESPONSE_FIELDS: &[&str] = &[
    "id",
    "type",
    "model",
    "message",
    "delta",
    "citations",
    "logprobs",
    "finish_reason",
    "error",
    "usage",
];

/// The members of a message that have a place of their own here.
const MESSAGE_FIELDS: &[&str] = &["role", "content", "tool_calls", "tool_plan", "citations"];

/// The members beside the blocks of a message, which are reported at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// Members of the message that have no name here.
    message: Extra,
    citations: Vec<Raw>,
    logprobs: Vec<Raw>,
}

impl Beside {
    /// Takes the members of a message beside its blocks.
    pub(super) fn message(&mut self, message: Val<'_>) {
        for (key, value) in message.entries() {
            if !MESSAGE_FIELDS.contains(&key.as_ref()) && !value.is_null() {
                self.message.insert(ID, &key, Raw::from(value));
            }
        }
        self.citations(message);
    }

    /// Takes the citations of a message or an event: one, or a list.
    pub(super) fn citations(&mut self, holder: Val<'_>) {
        take(&mut self.citations, holder, "citations");
    }

    /// Takes the probabilities of the tokens.
    pub(super) fn logprobs(&mut self, holder: Val<'_>) {
        take(&mut self.logprobs, holder, "logprobs");
    }

    /// Reports all collected members, once.
    pub(super) fn say(&mut self, sink: &mut dyn Sink) {
        let beside = std::mem::take(self);
        if !beside.message.is_empty() {
            let object = Raw::build(|w| w.object(|w| w.extra(&beside.message, ID)));
            field("message", &object, sink);
        }
        for (key, list) in [("citations", beside.citations), ("logprobs", beside.logprobs)] {
            if !list.is_empty() {
                let list = Raw::build(|w| w.array(|w| list.iter().for_each(|item| w.raw(item))));
                field(key, &list, sink);
            }
        }
    }
}

fn take(list: &mut Vec<Raw>, holder: Val<'_>, key: &str) {
    match holder.some(key) {
        Some(value) if value.is_array() => list.extend(value.items().map(Raw::from)),
        Some(value) => list.push(Raw::from(value)),
        None => {}
    }
}

fn field(key: &str, value: &Raw, sink: &mut dyn Sink) {
    sink.event(Event::Fact(Fact::Field { wire: ID, key, value }));
}

/// Reads a whole response.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    if is_error(body) {
        return sink.event(Event::Problem(&error(body)));
    }
    head(body, sink);
    let mut beside = Beside::default();
    let mut open = OpenBlocks::default();
    if let Some(message) = body.some("message") {
        read_message(&mut open, message, sink);
        beside.message(message);
    }
    beside.citations(body);
    beside.logprobs(body);
    beside.say(sink);
    finish(body, None, sink);
}

/// Reports the id, the model and the other members of a response.
pub(super) fn head(body: Val<'_>, sink: &mut dyn Sink) {
    if let Some(id) = name(body, "id").filter(|id| id != NAMELESS_ANSWER) {
        sink.event(Event::Fact(Fact::ResponseId(&id)));
    }
    if let Some(model) = name(body, "model") {
        sink.event(Event::Fact(Fact::Model(&model)));
    }
    // `null` has no meaning.
    for (key, value) in body.entries() {
        if !RESPONSE_FIELDS.contains(&key.as_ref()) && !value.is_null() {
            field(&key, &Raw::from(value), sink);
        }
    }
}

/// Reports the token counts and the finish reason.
pub(super) fn finish(holder: Val<'_>, model: Option<&str>, sink: &mut dyn Sink) {
    if let Some(usage) = holder.some("usage") {
        sink.event(Event::Usage(&usage_of(&Raw::from(usage))));
    }
    let (finish_reason, own) = (name(holder, "finish_reason"), name(holder, "model"));
    let finish_reason = finish_reason.as_deref();
    if holder.some("error").is_some() || finish_reason == Some("ERROR") {
        sink.event(Event::Problem(&error(holder)));
    }
    sink.event(Event::Finish { finish_reason, model: own.as_deref().or(model) });
}

/// A name or an id; `None` if it is empty.
pub(super) fn name(object: Val<'_>, key: &str) -> Option<String> {
    object.string(key).filter(|name| !name.is_empty())
}

/// Reads all blocks of a message.
pub(super) fn read_message(open: &mut OpenBlocks, message: Val<'_>, sink: &mut dyn Sink) {
    if let Some(plan) = name(message, "tool_plan") {
        sink.event(Event::Fact(Fact::ToolPlan(&plan)));
    }
    let content = message.some("content");
    if let Some(text) = content.and_then(Val::as_str) {
        open.start(content_key(0), text_part(Extra::default()), sink);
        open.push(content_key(0), &text, sink);
        open.end(content_key(0), sink);
    }
    for (index, block) in (0..).zip(content.into_iter().flat_map(Val::each)) {
        start_block(open, content_key(index), block, sink);
        open.end(content_key(index), sink);
    }
    let calls = message.some("tool_calls");
    for (index, call) in (0..).zip(calls.into_iter().flat_map(Val::items)) {
        start_call(open, call_key(index), call, sink);
        open.end(call_key(index), sink);
    }
}

/// Blocks of the content and calls are counted apart on the wire.
pub(super) fn content_key(index: u64) -> u64 {
    index.saturating_mul(2)
}

/// See [`content_key`].
pub(super) fn call_key(index: u64) -> u64 {
    index.saturating_mul(2).saturating_add(1)
}

/// A text to be begun.
pub(super) fn text_part(extra: Extra) -> Part {
    let text = Text { extra, ..Text::default() };
    Part::Text { text, citations: Vec::new(), wire: ID }
}

/// Begins the block that this is the start of; in a whole response it is all of it.
pub(super) fn start_block(open: &mut OpenBlocks, key: u64, block: Val<'_>, sink: &mut dyn Sink) {
    let kind = block.text("type").unwrap_or_default();
    let (member, part) = match kind.as_ref() {
        "text" => ("text", text_part(Extra::collect(ID, block, &["type", "text"]))),
        "thinking" => {
            let extra = Extra::collect(ID, block, &["type", "thinking"]);
            ("thinking", Part::Thinking(Thinking { extra, ..Thinking::new("", SOURCE_FIELD) }))
        }
        other => {
            let message = format!("a block of the unknown type `{other}` was kept as it stood");
            sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
            ("", Part::Other(OpenOther::new(ID, other, Raw::from(block))))
        }
    };
    open.start(key, part, sink);
    if let Some(text) = block.text(member) {
        open.push(key, &text, sink);
    }
}

/// Begins a call; in a whole response this is all of it.
pub(super) fn start_call(open: &mut OpenBlocks, key: u64, call: Val<'_>, sink: &mut dyn Sink) {
    let is_function = call.text("type").as_deref() == Some("function");
    let (call, text) = read_call(ID, call, if is_function { &["type"] } else { &[] });
    open.start(key, Part::Call { call, text: String::new() }, sink);
    open.push(key, &text, sink);
}

/// Token counts. The billed units beside them are another count, for bills; thoughts are not counted apart.
pub(super) fn usage_of(raw: &Raw) -> Usage {
    let doc = raw.doc();
    let tokens = |key: &str| doc.root().path(&["tokens", key]).and_then(Val::as_u64);
    Usage {
        input_tokens: tokens("input_tokens"),
        output_tokens: tokens("output_tokens"),
        cache_read_tokens: doc.root().u64("cached_tokens"),
        raw: Some(raw.clone()),
        ..Usage::default()
    }
}

/// Whether a body or an event is an error: a message in words instead of an answer.
pub(super) fn is_error(body: Val<'_>) -> bool {
    let has_words = body.get("message").is_some_and(|message| message.as_str().is_some());
    let has_error = body.some("error").is_some() && body.get("finish_reason").is_none();
    has_words || has_error
}

/// The finding for an error body or an event that reports one.
pub(super) fn error(body: Val<'_>) -> Problem {
    let inner = body.some("error").unwrap_or(body);
    let text = inner.as_str().map(Into::into).or_else(|| inner.string("message"));
    let text = text.or_else(|| body.string("message")).filter(|text| !text.is_empty());
    let text = text.unwrap_or_else(|| "the provider gave no message".to_owned());
    Problem::new(ProblemCode::UpstreamError, text)
}
