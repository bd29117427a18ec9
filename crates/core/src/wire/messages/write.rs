//! Writes requests.

use super::block::{extra, input_object, is_bare, is_verbatim, text, thinking, tool_use};
use super::request::{is_own_message, joins, message_extra};
use super::{ID, reasoning};
use crate::content::{
    Block, Content, Media, MediaSource, Speaker, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Raw, Writer};
use crate::request::{Request, Tool, ToolChoice};
use crate::wire::tool_ids::{IdRule, Nameless};
use crate::wire::tool_result::spoken;
use crate::wire::{Dialect, Written};
use std::borrow::Cow;

/// The cap on generated tokens if a request names none, because the API demands one: the greatest that every current
/// model takes. A thinking budget comes on top.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// Ids of tool calls that the API takes.
pub(super) const TOOL_IDS: IdRule = IdRule { marks: "_-", longest: 512, is_exact: false };

/// Writes a request body.
pub(super) fn write(request: &Request, dialect: &Dialect) -> Written {
    let mut said = Said {
        takes_any_id: dialect.takes_any_id,
        takes_empty: dialect.empty.is_some(),
        ..Said::default()
    };
    let reasoning = reasoning::fields(request);
    reasoning.untranslated.iter().for_each(|what| said.lost(what));
    let mut members: Vec<(&str, Raw)> = vec![("model", Raw::string(&request.model))];
    let default = DEFAULT_MAX_TOKENS.saturating_add(reasoning.budget.unwrap_or_default());
    if request.max_tokens.is_some() || request.extra.get(ID, "max_tokens").is_none() {
        let cap = request.max_tokens.unwrap_or(default);
        let name = dialect.max_tokens_field.unwrap_or("max_tokens");
        members.push((name, Raw::build(|w| w.u64(cap))));
    }
    let first = request.contents.iter().position(|content| !stands_above(content));
    let (above, messages) = request.contents.split_at(first.unwrap_or(request.contents.len()));
    if let Some(blocks) = said.sayable(above) {
        members.push(("system", Raw::build(|w| said.content(w, &blocks))));
    }
    members.push(("messages", Raw::build(|w| said.messages(w, messages))));
    said.tools(request, &mut members);
    let raws = [
        ("temperature", request.temperature.clone()),
        ("top_p", request.top_p.clone()),
        ("stop_sequences", stop(request)),
        ("stream", request.stream.then(|| Raw::build(|w| w.bool(true)))),
        ("thinking", reasoning.thinking),
        ("output_config", reasoning.config),
    ];
    members.extend(raws.into_iter().filter_map(|(key, raw)| Some((key, raw?))));
    let mut w = Writer::new();
    w.object(|w| {
        let refused = |key: &str| dialect.refuses.contains(&key);
        for (key, raw) in members.iter().filter(|(key, _)| !refused(key)) {
            w.field_raw(key, raw);
        }
        for (key, raw) in request.extra.of(ID) {
            if !refused(key) && !members.iter().any(|(name, _)| name == key) {
                w.field_raw(key, raw);
            }
        }
    });
    Written { body: w.finish(), untranslated: said.untranslated }
}

/// Instructions that go into `system`: those before all messages, unless a caller of this wire put them among
/// its messages.
fn stands_above(content: &Content) -> bool {
    content.speaker == Speaker::System && !is_own_message(content)
}

fn stop(request: &Request) -> Option<Raw> {
    let list = || Raw::build(|w| w.array(|w| request.stop.iter().for_each(|text| w.str(text))));
    (!request.stop.is_empty()).then(list)
}

/// State that is collected while a request is written.
#[derive(Debug, Default)]
struct Said {
    nameless: Nameless,
    takes_any_id: bool,
    /// An empty thought is written as a block.
    takes_empty: bool,
    untranslated: Vec<String>,
}

impl Said {
    /// Notes, once, a part that the wire cannot express.
    fn lost(&mut self, what: &str) {
        if !self.untranslated.iter().any(|known| known == what) {
            self.untranslated.push(what.to_owned());
        }
    }

    /// The blocks that the wire can express; `None` if there is no content, or if no block remains.
    fn sayable<'c>(&mut self, contents: &'c [Content]) -> Option<Vec<&'c Block>> {
        let all = || contents.iter().flat_map(|content| &content.blocks);
        // Leaving out white space beside signed thoughts would change the signed content.
        let is_signed = all().any(|block| {
            matches!(block, Block::Thinking(t) if t.signature.is_some() || t.redacted_data.is_some())
        });
        let blocks: Vec<_> = all().filter(|block| self.is_sayable(block, is_signed)).collect();
        let is_nothing = contents.is_empty() || blocks.is_empty() && all().next().is_some();
        (!is_nothing).then_some(blocks)
    }

    /// Writes the messages: contents of one speaker are one message each, except that results of tools and other
    /// blocks of the user are joined.
    fn messages(&mut self, w: &mut Writer, contents: &[Content]) {
        w.array(|w| {
            for message in
                contents.chunk_by(|before, next| joins(before, next) && !is_own_message(next))
            {
                self.message(w, message);
            }
        });
    }

    fn message(&mut self, w: &mut Writer, message: &[Content]) {
        let Some(first) = message.first() else { return };
        let role = match first.speaker {
            Speaker::Ai => "assistant",
            Speaker::Human | Speaker::Tool => "user",
            Speaker::System if is_own_message(first) => "system",
            // Only some models take system messages among the others; as the user's words all do.
            Speaker::System => {
                self.lost("speaker");
                "user"
            }
        };
        let blocks = match (self.sayable(message), first.blocks.as_slice()) {
            (Some(blocks), _) => blocks,
            // Only the API can report the fault of a question without words.
            (None, [text @ Block::Text(_)]) if first.speaker == Speaker::Human => vec![text],
            (None, _) => return,
        };
        w.object(|w| {
            w.field_str("role", role);
            w.key("content");
            self.content(w, &blocks);
            for (key, raw) in message.iter().flat_map(message_extra) {
                w.field_raw(key, raw);
            }
        });
    }

    /// Whether the wire can express a block; a meaningful block that it cannot express is noted.
    fn is_sayable(&mut self, block: &Block, is_signed: bool) -> bool {
        let lost = match block {
            // The API refuses blank texts.
            Block::Text(text) => {
                let is_kept = is_signed && !text.text.is_empty() || !text.text.trim().is_empty();
                return is_kept || is_verbatim(&text.extra);
            }
            Block::Thinking(thinking) => {
                let is_said = !thinking.thought.is_empty()
                    || thinking.signature.is_some()
                    || thinking.redacted_data.is_some()
                    || is_verbatim(&thinking.extra);
                if is_said || thinking.is_nothing() {
                    return is_said || self.takes_empty;
                }
                "thinking"
            }
            Block::ToolCall(_) | Block::ToolResponse(_) => return true,
            Block::Media(media) if media_kind(media).is_some() => return true,
            Block::Media(_) => "media",
            Block::Other(other) if other.wire == ID => return true,
            Block::Other(other) => other.kind.as_str(),
        };
        self.lost(lost);
        false
    }

    /// Writes a message's content: a plain text as a string, everything else as blocks.
    fn content(&mut self, w: &mut Writer, blocks: &[&Block]) {
        if let [Block::Text(text)] = blocks
            && is_bare(text)
        {
            return w.str(&text.text);
        }
        self.blocks(w, blocks);
    }

    fn blocks(&mut self, w: &mut Writer, blocks: &[&Block]) {
        w.array(|w| {
            for block in blocks {
                match block {
                    Block::Text(said) => text(w, said),
                    Block::Thinking(thought) => thinking(w, thought),
                    Block::ToolCall(call) => self.call(w, call),
                    Block::ToolResponse(response) => self.response(w, response),
                    Block::Media(said) => media(w, said),
                    Block::Other(other) => w.raw(&other.raw),
                }
            }
        });
    }

    fn call(&mut self, w: &mut Writer, call: &ToolCall) {
        let id = match &call.id {
            Some(id) => self.id(id, is_verbatim(&call.extra)).into_owned(),
            None => self.nameless.call(&call.name),
        };
        tool_use(w, &id, call, &input_object(&call.parameters));
    }

    /// An id that the API takes: unchanged if it came from this wire, or if the API takes any.
    fn id<'i>(&self, id: &'i str, is_verbatim: bool) -> Cow<'i, str> {
        if is_verbatim || self.takes_any_id { Cow::Borrowed(id) } else { TOOL_IDS.plain(id) }
    }

    fn response(&mut self, w: &mut Writer, response: &ToolResponse) {
        let is_verbatim = is_verbatim(&response.extra);
        let id = match &response.call_id {
            None if is_verbatim => None,
            None => Some(self.nameless.result(response.name.as_deref())),
            Some(id) => Some(self.id(id, is_verbatim).into_owned()),
        };
        w.object(|w| {
            w.field_str("type", "tool_result");
            w.opt_str("tool_use_id", id.as_deref());
            self.result(w, &response.result, is_verbatim);
            if response.is_error {
                w.field_bool("is_error", true);
            }
            extra(w, response.extra.of(ID));
        });
    }

    /// Writes the content of a result, if it has any.
    fn result(&mut self, w: &mut Writer, result: &ToolResult, is_verbatim: bool) {
        let value = match result {
            ToolResult::Blocks(_) => {
                let blocks = spoken(result);
                let blocks: Vec<_> =
                    blocks.iter().filter(|block| self.is_sayable(block, false)).collect();
                if !blocks.is_empty() || result.blocks().is_empty() {
                    w.key("content");
                    self.blocks(w, &blocks);
                }
                return;
            }
            ToolResult::Value(value) => value,
        };
        let doc = value.doc();
        match doc.root().as_str() {
            _ if is_verbatim && !doc.root().is_null() => w.field_raw("content", value),
            None if doc.root().is_null() => {}
            None => w.field_str("content", value.as_str()),
            Some(text) if text.trim().is_empty() => {}
            Some(_) => w.field_raw("content", value),
        }
    }

    fn tools<'r>(&mut self, request: &'r Request, members: &mut Vec<(&'r str, Raw)>) {
        let tools: Vec<_> = request.tools.iter().filter_map(|tool| self.tool(tool)).collect();
        if !tools.is_empty() {
            let list = Raw::build(|w| w.array(|w| tools.iter().for_each(|tool| w.raw(tool))));
            members.push(("tools", list));
        }
        let parallel = request.parallel_tool_calls;
        let choice = match &request.tool_choice {
            Some(ToolChoice::Auto) => simple_choice("auto", None, parallel),
            // This form takes no further members.
            Some(ToolChoice::None) => simple_choice("none", None, None),
            Some(ToolChoice::Required) => simple_choice("any", None, parallel),
            Some(ToolChoice::Tool(name)) => simple_choice("tool", Some(name), parallel),
            Some(ToolChoice::Other { wire, raw }) if *wire == ID => raw.clone(),
            Some(ToolChoice::Other { .. }) => return self.lost("tool_choice"),
            None if parallel == Some(false) && !tools.is_empty() => {
                simple_choice("auto", None, parallel)
            }
            None => return,
        };
        members.push(("tool_choice", choice));
    }

    fn tool(&mut self, tool: &Tool) -> Option<Raw> {
        match tool {
            Tool::Function { name, description, parameters, extra } => Some(Raw::build(|w| {
                w.object(|w| {
                    w.field_str("name", name);
                    w.opt_str("description", description.as_deref());
                    w.key("input_schema");
                    match parameters {
                        Some(schema) if schema.doc().root().entries().next().is_some() => {
                            w.raw(schema);
                        }
                        // The API demands a schema of an object.
                        Some(_) | None => w.raw_str(r#"{"type":"object","properties":{}}"#),
                    }
                    w.extra(extra, ID);
                });
            })),
            Tool::Other { wire, raw } if *wire == ID => Some(raw.clone()),
            Tool::Other { .. } => {
                self.lost("tools");
                None
            }
        }
    }
}

fn simple_choice(kind: &str, name: Option<&str>, parallel: Option<bool>) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", kind);
            w.opt_str("name", name);
            if let Some(parallel) = parallel {
                w.field_bool("disable_parallel_tool_use", !parallel);
            }
        });
    })
}

/// The block that media goes in, if the API takes it. Addresses without a type are taken for images.
pub(super) fn media_kind(media: &Media) -> Option<&'static str> {
    let kind = media.media_type.as_str();
    match media.source {
        _ if kind.starts_with("image/") => Some("image"),
        _ if kind == "application/pdf" => Some("document"),
        MediaSource::Url(_) if kind.is_empty() => Some("image"),
        MediaSource::Data(_) | MediaSource::Url(_) => None,
    }
}

fn media(w: &mut Writer, media: &Media) {
    w.object(|w| {
        w.field_str("type", media_kind(media).unwrap_or("image"));
        w.key("source").object(|w| match &media.source {
            MediaSource::Data(data) => {
                w.field_str("type", "base64");
                w.field_str("media_type", &media.media_type);
                w.field_str("data", data);
            }
            MediaSource::Url(url) => {
                w.field_str("type", "url");
                w.field_str("url", url);
            }
        });
        extra(w, media.extra.of(ID));
    });
}
