//! Answers for callers: whole responses and streams.

use super::ID;
use super::response;
use crate::answer::Answer;
use crate::content::{Block, Media, MediaSource, Parameters, Thinking, ToolCall, push_thought};
use crate::event::{Event, Fact};
use crate::frame::ndjson::encode_line;
use crate::json::{Extra, Raw, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::ending::Ending;
use crate::wire::function::call_members;
use crate::wire::serial::Serial;

/// The wire's own words for why an answer ended.
const REASONS: &[&str] = &["length", "load", "stop", "unload"];

/// The place of the pieces of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In a message, as `/api/chat` has it.
    #[default]
    Message,
    /// On the response itself, as `/api/generate` has it.
    Response,
}

impl Place {
    /// Writes the pieces; `body` gets the name of the text.
    fn write(self, w: &mut Writer, body: impl FnOnce(&mut Writer, &str)) {
        match self {
            Place::Message => w.key("message").object(|w| {
                w.field_str("role", "assistant");
                body(w, "content");
            }),
            Place::Response => body(w, "response"),
        }
    }
}

/// Writes a whole response.
pub(super) fn write_response(answer: &Answer, place: Place) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        head(w, answer.model.as_deref(), &answer.extra);
        place.write(w, |w, text| {
            message(w, answer, text);
            members(w, &answer.extra, place);
        });
        let is_cut = answer.problems.iter().any(|problem| problem.code == ProblemCode::Truncated);
        w.field_bool("done", !is_cut);
        if !is_cut {
            w.field_str("done_reason", done_reason(answer.finish_reason.as_deref()));
        }
        tail(w, answer.usage.as_ref(), &answer.extra);
    });
    w.finish()
}

fn message(w: &mut Writer, answer: &Answer, text: &str) {
    let mut content = String::new();
    let (mut thoughts, mut images, mut calls) = (String::new(), Vec::new(), Vec::new());
    let mut plan = answer.tool_plan.as_deref();
    for block in &answer.blocks {
        match block {
            Block::Text(said) => content.push_str(&said.text),
            Block::Thinking(thought) => push_thought(&mut thoughts, &thought.thought),
            Block::ToolCall(call) => {
                // Words of the model before its calls are text here.
                content.push_str(plan.take().unwrap_or_default());
                calls.push(call);
            }
            Block::Media(media) => images.extend(image_data(media)),
            Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }
    content.push_str(plan.unwrap_or_default());
    content.push_str(answer.refusal.as_deref().unwrap_or_default());
    w.field_str(text, &content);
    if !thoughts.is_empty() {
        w.field_str("thinking", &thoughts);
    }
    write_images(w, &images);
    if !calls.is_empty() {
        w.key("tool_calls").array(|w| calls.iter().for_each(|said| call(w, said)));
    }
}

/// Writes the images of a message, if there are any.
pub(super) fn write_images(w: &mut Writer, images: &[&str]) {
    if !images.is_empty() {
        w.key("images").array(|w| images.iter().for_each(|image| w.str(image)));
    }
}

/// The inline bytes of an image.
pub(super) fn image_data(media: &Media) -> Option<&str> {
    match &media.source {
        MediaSource::Data(data) if media.media_type.starts_with("image/") => Some(data),
        MediaSource::Data(data) if media.media_type.is_empty() => Some(data),
        MediaSource::Data(_) | MediaSource::Url(_) => None,
    }
}

/// Writes a call. Arguments are JSON here; text that is not JSON is written as a string, so that it stays
/// recognisable.
fn call(w: &mut Writer, call: &ToolCall) {
    let text;
    let arguments = match &call.parameters {
        Parameters::Json(raw) => raw,
        Parameters::Free(said) | Parameters::Invalid(said) => {
            text = Raw::string(said);
            &text
        }
    };
    write_call(w, call, arguments);
}

/// Writes a call with these arguments.
pub(super) fn write_call(w: &mut Writer, call: &ToolCall, arguments: &Raw) {
    w.object(|w| {
        w.opt_str("id", call.id.as_deref());
        call_members(w, ID, call, Some(arguments));
    });
}

fn head(w: &mut Writer, model: Option<&str>, fields: &Extra) {
    w.field_str("model", model.unwrap_or_default());
    if let Some(time) = fields.get(ID, "created_at") {
        w.field_raw("created_at", time);
    }
}

/// Members of the message that have no name here.
fn members(w: &mut Writer, fields: &Extra, place: Place) {
    let kept = fields.get(ID, "message").filter(|_| place == Place::Message);
    let doc = kept.map(Raw::doc);
    for (key, value) in doc.iter().flat_map(|doc| doc.root().entries()) {
        w.key(&key).raw_str(value.raw());
    }
}

/// The members at the end of an answer: the unknown ones, and the token counts.
fn tail(w: &mut Writer, usage: Option<&Usage>, fields: &Extra) {
    for (key, value) in fields.of(ID) {
        if key != "created_at" && key != "message" {
            w.field_raw(key, value);
        }
    }
    let Some(usage) = usage else { return };
    let stood = usage.raw.as_ref().map(Raw::doc);
    let stood = stood.as_ref().map(|doc| doc.root());
    if let Some(stood) = stood.filter(|stood| response::usage(*stood).as_ref() == Some(usage)) {
        for (key, value) in stood.entries() {
            w.key(&key).raw_str(value.raw());
        }
        return;
    }
    let input = usage.input_tokens_with_cached();
    let output = usage.output_tokens_with_reasoning();
    for (key, count) in [("prompt_eval_count", input), ("eval_count", output)] {
        if let Some(count) = count {
            w.field_u64(key, count);
        }
    }
}

/// The wire's word for why an answer ended. It has no word for calls: such an answer ends with `stop`.
fn done_reason(word: Option<&str>) -> &str {
    match (word, Ending::of_answer(word, false)) {
        (Some(own), _) if REASONS.contains(&own) => own,
        (_, Some(Ending::ContextFull | Ending::Failed | Ending::Length)) => "length",
        (_, Some(Ending::Complete | Ending::Pause | Ending::StopSequence | Ending::ToolUse)) => {
            "stop"
        }
        (word, Some(Ending::Refused) | None) => word.unwrap_or("stop"),
    }
}

/// Encodes one stream.
#[derive(Debug)]
pub(super) struct Encoder {
    serial: Serial,
    stream: Stream,
}

impl Encoder {
    /// An encoder that writes the pieces there.
    pub(super) fn new(place: Place) -> Self {
        Encoder { serial: Serial::default(), stream: Stream { place, ..Stream::default() } }
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let Encoder { serial, stream } = self;
        serial.event(event, &mut |event| stream.event(event, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Encoder { serial, stream } = self;
        serial.end(&mut |event| stream.event(event, out));
        stream.end(out);
    }
}

/// The stream behind the order of its blocks.
#[derive(Debug, Default)]
struct Stream {
    place: Place,
    model: Option<String>,
    usage: Option<Usage>,
    fields: Extra,
    /// Some of the open block's text was written.
    said: bool,
    /// Text that goes before tool calls.
    plan: String,
    refusal: String,
    /// The answer ended as it should.
    finish: Option<Option<String>>,
    /// An error was written, so all further events are ignored.
    failed: bool,
}

impl Stream {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        if self.failed {
            return;
        }
        match event {
            Event::ThinkingStart { .. } | Event::TextStart { .. } | Event::ToolCallStart { .. } => {
                self.said = false;
            }
            Event::ThinkingDelta { delta, .. } => self.thought(delta, out),
            Event::TextDelta { delta, .. } => self.text(delta, out),
            Event::ThinkingEnd { thought, .. } => {
                if let Some(thought) = thought.filter(|_| !self.said) {
                    self.thought(thought, out);
                }
            }
            Event::TextEnd { whole, .. } => {
                if let Some(whole) = whole.filter(|_| !self.said) {
                    self.text(whole, out);
                }
            }
            // Calls come in one piece on this wire.
            Event::ToolCallDelta { .. } => {}
            Event::ToolCallEnd { call, .. } => self.call(call, out),
            Event::Whole { value, .. } => self.whole(value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => {
                self.finish = Some(finish_reason.map(str::to_owned));
                self.model = self.model.take().or(model.map(str::to_owned));
            }
            Event::Fact(fact) => self.fact(fact),
            Event::Problem(problem) => self.problem(problem, out),
            // The wire has one choice.
            Event::Choice { .. } => {}
        }
    }

    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Field { wire, key, value } if wire == ID => {
                self.fields.insert(ID, key, value.clone());
            }
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::ResponseId(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_) => {}
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::Refusal(more) => self.refusal.push_str(more),
            Fact::ToolPlan(more) => self.plan.push_str(more),
        }
    }

    fn thought(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.said = true;
        self.line(out, "", |w| w.field_str("thinking", delta));
    }

    fn text(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.said = true;
        self.line(out, delta, |_| {});
    }

    fn call(&mut self, said: &ToolCall, out: &mut Vec<u8>) {
        let plan = std::mem::take(&mut self.plan);
        if !plan.is_empty() {
            self.text(&plan, out);
        }
        self.line(out, "", |w| w.key("tool_calls").array(|w| call(w, said)));
    }

    fn whole(&mut self, block: &Block, out: &mut Vec<u8>) {
        match block {
            Block::Text(text) => self.text(&text.text, out),
            Block::Thinking(Thinking { thought, .. }) if thought.is_empty() => {}
            Block::Thinking(thinking) => self.thought(&thinking.thought, out),
            Block::ToolCall(call) => self.call(call, out),
            Block::Media(media) => {
                if let Some(data) = image_data(media) {
                    self.line(out, "", |w| write_images(w, &[data]));
                }
            }
            Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Writes a line with a piece of the message.
    fn line(&self, out: &mut Vec<u8>, content: &str, rest: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            head(w, self.model.as_deref(), &self.fields);
            self.place.write(w, |w, text| {
                w.field_str(text, content);
                rest(w);
            });
            w.field_bool("done", false);
        });
        encode_line(&w.finish(), out);
    }

    /// Errors and cuts become the wire's error line, so that no client takes the rest for the whole.
    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        match problem.code {
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached => {
                self.failed = true;
                let mut w = Writer::new();
                w.object(|w| w.field_str("error", &problem.message));
                encode_line(&w.finish(), out);
            }
            ProblemCode::Fallback | ProblemCode::Malformed | ProblemCode::Unknown => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Some(finish) = self.finish.take().filter(|_| !self.failed) else { return };
        let rest = std::mem::take(&mut self.plan) + &std::mem::take(&mut self.refusal);
        if !rest.is_empty() {
            self.text(&rest, out);
        }
        let mut w = Writer::new();
        w.object(|w| {
            head(w, self.model.as_deref(), &self.fields);
            self.place.write(w, |w, text| {
                w.field_str(text, "");
                members(w, &self.fields, self.place);
            });
            w.field_bool("done", true);
            w.field_str("done_reason", done_reason(finish.as_deref()));
            tail(w, self.usage.as_ref(), &self.fields);
        });
        encode_line(&w.finish(), out);
    }
}
