//! Writes requests.

use super::ID;
use super::encode::{image_data, write_call, write_images};
use super::request::{IMAGES, NO_CONTENT, meaning};
use crate::content::{Block, Content, Parameters, Speaker, ToolCall, ToolResponse, push_thought};
use crate::json::{Extra, Raw, Writer};
use crate::request::{AnswerFormat, ReasoningAsk, Request, ToolChoice};
use crate::settings::Effort;
use crate::wire::function::tools;
use crate::wire::tool_result::{Parted, heading};
use crate::wire::{Dialect, Written};

/// Writes a request body.
pub(super) fn write(request: &Request, dialect: &Dialect) -> Written {
    let mut said =
        Said { dialect, calls: Vec::new(), behind: Default::default(), untranslated: Vec::new() };
    let messages = Raw::build(|w| {
        w.array(|w| {
            request.contents.iter().for_each(|content| said.content(w, content));
            said.images_behind(w);
        });
    });
    said.tool_choice(request);
    let members: Vec<(&str, Option<Raw>)> = vec![
        ("model", Some(Raw::string(&request.model))),
        ("messages", Some(messages)),
        ("tools", tools(ID, &request.tools, &mut || said.lost("tools"))),
        ("stream", stream(request)),
        ("think", said.think(&request.reasoning)),
        ("format", said.format(request)),
        ("options", options(request, dialect)),
    ];
    let mut w = Writer::new();
    w.object(|w| {
        let refused = |key: &str| dialect.refuses.contains(&key);
        for (key, raw) in &members {
            if let Some(raw) = raw.as_ref().filter(|_| !refused(key)) {
                w.field_raw(key, raw);
            }
        }
        for (key, raw) in request.extra.of(ID) {
            let is_written = members.iter().any(|(name, raw)| name == key && raw.is_some());
            if !refused(key) && !is_written && key != "stream" {
                w.field_raw(key, raw);
            }
        }
    });
    Written { body: w.finish(), untranslated: said.untranslated }
}

/// The member `stream`. It is always written, because a request without it asks for a stream; only a caller of this
/// wire that left it out keeps that form.
fn stream(request: &Request) -> Option<Raw> {
    let was_silent = request.extra.get(ID, "stream").is_some_and(|raw| raw.as_str() == "null");
    let is_said = !(was_silent && request.stream);
    is_said.then(|| Raw::build(|w| w.bool(request.stream)))
}

/// The options, those included that have no name here.
fn options(request: &Request, dialect: &Dialect) -> Option<Raw> {
    let list = || Raw::build(|w| w.array(|w| request.stop.iter().for_each(|text| w.str(text))));
    let cap = dialect.max_tokens_field.unwrap_or("num_predict");
    let named: Vec<(String, Raw)> = [
        (cap, request.max_tokens.map(|tokens| Raw::build(|w| w.u64(tokens)))),
        ("temperature", request.temperature.clone()),
        ("top_p", request.top_p.clone()),
        ("stop", (!request.stop.is_empty()).then(list)),
    ]
    .into_iter()
    .filter_map(|(key, raw)| Some((key.to_owned(), raw?)))
    .collect();
    match request.extra.get(ID, "options") {
        Some(rest) if named.is_empty() => Some(rest.clone()),
        Some(rest) => Some(rest.with(&named)),
        None if named.is_empty() => None,
        None => Some(Raw::build(|w| w.object(|_| {})).with(&named)),
    }
}

/// State that is collected while a request is written.
struct Said<'r> {
    dialect: &'r Dialect,
    /// The id and the name of each call so far.
    calls: Vec<(String, String)>,
    /// The images of results, to be written behind them, and the words before them.
    behind: (Vec<String>, Vec<String>),
    untranslated: Vec<String>,
}

impl Said<'_> {
    /// Notes, once, a part that the wire cannot express.
    fn lost(&mut self, what: &str) {
        if !self.untranslated.iter().any(|known| known == what) {
            self.untranslated.push(what.to_owned());
        }
    }

    /// Writes a content: results of tools are messages of their own.
    fn content(&mut self, w: &mut Writer, content: &Content) {
        let mut message = Message::default();
        let mut is_result = false;
        for block in &content.blocks {
            match block {
                Block::ToolResponse(response) => {
                    is_result = true;
                    self.result(w, response);
                }
                Block::Text(text) => message.content.get_or_insert_default().push_str(&text.text),
                Block::Thinking(thought) if thought.thought.is_empty() => {
                    message.has_empty_thought |= thought.is_nothing();
                    if thought.is_withheld() {
                        self.lost("thinking");
                    }
                }
                Block::Thinking(thought) => push_thought(&mut message.thoughts, &thought.thought),
                Block::ToolCall(call) => message.calls.push(call),
                Block::Media(media) => match image_data(media) {
                    Some(data) => message.images.push(data),
                    None => self.lost("media"),
                },
                Block::Other(other) => self.lost(&other.kind),
            }
        }
        let is_own = content.extra.wire == Some(ID);
        let is_husk = message.is_nothing()
            && (is_result || !is_own && !message.has_empty_thought && !content.blocks.is_empty());
        if !is_husk {
            self.images_behind(w);
            self.message(w, content, &message);
        }
    }

    fn message(&mut self, w: &mut Writer, content: &Content, message: &Message<'_>) {
        let role = match content.speaker {
            Speaker::Ai => "assistant",
            Speaker::Human | Speaker::Tool => "user",
            Speaker::System => "system",
        };
        let dialect = self.dialect;
        let refused = |key: &str| dialect.refuses.contains(&key);
        let kept = content.extra.get(ID, "content");
        let has_thinking = !message.thoughts.is_empty() && !refused("thinking");
        w.object(|w| {
            w.field_str("role", role);
            match (&message.content, kept) {
                (Some(text), _) => w.field_str("content", text),
                (None, Some(mark)) if mark.as_str() == NO_CONTENT => {}
                (None, Some(kept)) => w.field_raw("content", kept),
                // Templates expect a content, be it empty.
                (None, None) => w.field_str("content", ""),
            }
            if has_thinking {
                w.field_str("thinking", &message.thoughts);
            } else if let Some(empty) =
                dialect.empty.as_deref().filter(|_| message.has_empty_thought)
            {
                w.field_str("thinking", empty);
            }
            write_images(w, &message.images);
            if !message.calls.is_empty() {
                w.key("tool_calls")
                    .array(|w| message.calls.iter().for_each(|call| self.call(w, call)));
            }
            for (key, raw) in content.extra.of(ID) {
                let is_written = match key.as_str() {
                    "role" | "content" => true,
                    "thinking" => !message.thoughts.is_empty() || message.has_empty_thought,
                    "images" => !message.images.is_empty(),
                    "tool_calls" => !message.calls.is_empty(),
                    _ => false,
                };
                if !is_written && !refused(key) {
                    w.field_raw(key, raw);
                }
            }
        });
    }

    /// Writes a call. The wire wants an object; text that is not JSON goes into its member `input`.
    fn call(&mut self, w: &mut Writer, call: &ToolCall) {
        if let Some(id) = &call.id {
            self.calls.push((id.clone(), call.name.clone()));
        }
        match &call.parameters {
            Parameters::Json(raw) => write_call(w, call, raw),
            Parameters::Free(text) | Parameters::Invalid(text) => {
                let object = Raw::build(|w| w.object(|w| w.field_str("input", text)));
                write_call(w, call, &object);
            }
        }
    }

    fn result(&mut self, w: &mut Writer, response: &ToolResponse) {
        if response.is_error {
            self.lost("isError");
        }
        let id = response.call_id.as_deref();
        let called = self.calls.iter().rfind(|(call, _)| Some(call.as_str()) == id);
        let name = response.name.clone().or_else(|| called.map(|(_, name)| name.clone()));
        let name = name.as_deref();
        w.object(|w| {
            w.field_str("role", "tool");
            self.said(w, response, name);
            w.opt_str("tool_name", name);
            w.opt_str("tool_call_id", id);
            for (key, raw) in response.extra.of(ID) {
                if !(key == "tool_name" && name.is_some()) {
                    w.field_raw(key, raw);
                }
            }
        });
    }

    /// Writes the text of a result. Its images go into a message behind, unless they were in its own.
    fn said(&mut self, w: &mut Writer, response: &ToolResponse, name: Option<&str>) {
        let blocks = response.result.blocks();
        let parted = Parted::of(&blocks);
        parted.others.iter().for_each(|kind| self.lost(kind));
        let images: Vec<&str> = parted.media.iter().filter_map(|media| image_data(media)).collect();
        if images.len() < parted.media.len() {
            self.lost("media");
        }
        if response.extra.noted(ID, IMAGES).is_some() {
            w.field_str("content", &parted.text());
            return write_images(w, &images);
        }
        if images.is_empty() {
            return w.field_str("content", &parted.text());
        }
        w.field_str("content", &parted.text_before_media());
        let (headings, behind) = &mut self.behind;
        headings.push(heading(response, name));
        behind.extend(images.into_iter().map(str::to_owned));
    }

    /// Writes the images of the results before as the user's.
    fn images_behind(&mut self, w: &mut Writer) {
        let (headings, images) = std::mem::take(&mut self.behind);
        if !images.is_empty() {
            w.object(|w| {
                w.field_str("role", "user");
                w.field_str("content", &headings.join("\n"));
                w.key("images").array(|w| images.iter().for_each(|image| w.str(image)));
            });
        }
    }

    /// The wire has no choice of tools: the model decides.
    fn tool_choice(&mut self, request: &Request) {
        match &request.tool_choice {
            None | Some(ToolChoice::Auto) => {}
            Some(
                ToolChoice::None
                | ToolChoice::Required
                | ToolChoice::Tool(_)
                | ToolChoice::Other { .. },
            ) => self.lost("tool_choice"),
        }
        if request.parallel_tool_calls == Some(false) {
            self.lost("parallel_tool_calls");
        }
    }

    fn format(&mut self, request: &Request) -> Option<Raw> {
        match request.format.as_ref()? {
            AnswerFormat::Json => Some(Raw::string("json")),
            AnswerFormat::Schema { schema, .. } => Some(schema.clone()),
            AnswerFormat::Other { wire, raw } if *wire == ID => Some(raw.clone()),
            AnswerFormat::Other { .. } => {
                self.lost("format");
                None
            }
        }
    }

    /// `think`: the caller's own while its meaning is unchanged; else a level, on or off.
    fn think(&mut self, ask: &ReasoningAsk) -> Option<Raw> {
        let stood = ask.fields.get(ID, "think");
        let doc = stood.map(Raw::doc);
        let was = doc.as_ref().map(|doc| meaning(doc.root())).unwrap_or_default();
        if was == (ReasoningAsk { fields: Extra::default(), ..ask.clone() }) {
            return stood.cloned();
        }
        if ask.enabled == Some(false) || ask.effort == Some(Effort::None) {
            return Some(Raw::build(|w| w.bool(false)));
        }
        if ask.max_tokens.is_some() {
            self.lost("reasoning.maxTokens");
        }
        let is_on = ask.enabled == Some(true) || ask.max_tokens.is_some();
        match ask.effort {
            Some(Effort::None | Effort::Minimal | Effort::Low) => Some(Raw::string("low")),
            Some(Effort::Medium) => Some(Raw::string("medium")),
            // The ladder ends here; words that a model does not know mean its default.
            Some(Effort::High | Effort::Xhigh | Effort::Max) => Some(Raw::string("high")),
            None => is_on.then(|| Raw::build(|w| w.bool(true))),
        }
    }
}

/// The parts of a message.
#[derive(Debug, Default)]
struct Message<'c> {
    content: Option<String>,
    thoughts: String,
    has_empty_thought: bool,
    images: Vec<&'c str>,
    calls: Vec<&'c ToolCall>,
}

impl Message<'_> {
    fn is_nothing(&self) -> bool {
        self.content.is_none()
            && self.thoughts.is_empty()
            && self.images.is_empty()
            && self.calls.is_empty()
    }
}
