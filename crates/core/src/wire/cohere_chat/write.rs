//! Writes requests.

use super::ID;
use super::encode::{call, text, thinking};
use super::request::{IN_LIST, meaning};
use crate::content::{Block, Content, Media, MediaSource, Speaker, Text, ToolCall, ToolResponse};
use crate::json::{Extra, Raw, Val, Writer};
use crate::request::{AnswerFormat, ReasoningAsk, Request, ToolChoice};
use crate::settings::Effort;
use crate::wire::function::tools;
use crate::wire::tool_ids::Nameless;
use crate::wire::tool_result::{Parted, heading, names};
use crate::wire::{Dialect, Written};
use std::collections::BTreeMap;

/// Writes a request body.
pub(super) fn write(request: &Request, dialect: &Dialect) -> Written {
    let mut said = Said {
        nameless: Nameless::default(),
        names: names(&request.contents),
        behind: Vec::new(),
        refuses: &dialect.refuses,
        untranslated: Vec::new(),
    };
    let messages = Raw::build(|w| {
        w.array(|w| {
            request.contents.iter().for_each(|content| said.content(w, content));
            said.media_behind(w);
        });
    });
    let list = || Raw::build(|w| w.array(|w| request.stop.iter().for_each(|text| w.str(text))));
    let cap = dialect.max_tokens_field.unwrap_or("max_tokens");
    let members: Vec<(&str, Option<Raw>)> = vec![
        ("model", Some(Raw::string(&request.model))),
        ("messages", Some(messages)),
        ("tools", tools(ID, &request.tools, &mut || said.lost("tools"))),
        ("tool_choice", said.tool_choice(request)),
        ("stream", request.stream.then(|| Raw::build(|w| w.bool(true)))),
        (cap, request.max_tokens.map(|tokens| Raw::build(|w| w.u64(tokens)))),
        ("temperature", request.temperature.clone()),
        ("p", request.top_p.clone()),
        ("stop_sequences", (!request.stop.is_empty()).then(list)),
        ("response_format", said.format(request)),
        ("thinking", said.thinking(&request.reasoning)),
    ];
    let mut w = Writer::new();
    w.object(|w| {
        let refused = |key: &str| dialect.refuses.contains(&key);
        let written = |key: &str| members.iter().any(|(name, raw)| *name == key && raw.is_some());
        for (key, raw) in &members {
            if let Some(raw) = raw.as_ref().filter(|_| !refused(key)) {
                w.field_raw(key, raw);
            }
        }
        for (key, raw) in request.extra.of(ID) {
            if !refused(key) && !written(key) {
                w.field_raw(key, raw);
            }
        }
    });
    Written { body: w.finish(), untranslated: said.untranslated }
}

/// State that is collected while a request is written.
struct Said<'d> {
    nameless: Nameless,
    /// The tools of the calls, by id.
    names: BTreeMap<String, String>,
    /// Media of results, to be written behind them.
    behind: Vec<Raw>,
    /// Fields that the provider refuses.
    refuses: &'d [&'static str],
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
        let mut rest = Vec::new();
        for block in &content.blocks {
            match block {
                Block::ToolResponse(response) => self.result(w, response),
                Block::Media(_)
                | Block::Other(_)
                | Block::Text(_)
                | Block::Thinking(_)
                | Block::ToolCall(_) => rest.push(block),
            }
        }
        let has_results = rest.len() < content.blocks.len();
        if !has_results || !rest.is_empty() {
            self.media_behind(w);
            self.message(w, content, &rest);
        }
    }

    fn message(&mut self, w: &mut Writer, content: &Content, blocks: &[&Block]) {
        let role = match content.speaker {
            Speaker::Ai => "assistant",
            Speaker::Human | Speaker::Tool => "user",
            Speaker::System if content.extra.get(ID, "role").is_some() => "developer",
            Speaker::System => "system",
        };
        let (mut said, mut calls) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::ToolCall(call) => calls.push(call),
                Block::Media(_)
                | Block::Other(_)
                | Block::Text(_)
                | Block::Thinking(_)
                | Block::ToolResponse(_) => said.extend(self.block(block)),
            }
        }
        let extra = content.extra.of(ID);
        let is_nothing = said.is_empty() && calls.is_empty();
        if is_nothing && !extra.iter().any(|(key, _)| key == "content") {
            return;
        }
        let refused = self.refuses;
        w.object(|w| {
            w.field_str("role", role);
            match blocks.first() {
                Some(Block::Text(text)) if said.len() == 1 && is_bare(text) => {
                    w.field_str("content", &text.text);
                }
                _ if said.is_empty() => {}
                _ => w.key("content").array(|w| said.iter().for_each(|block| w.raw(block))),
            }
            if !calls.is_empty() {
                w.key("tool_calls").array(|w| calls.iter().for_each(|call| self.call(w, call)));
            }
            for (key, raw) in extra {
                let is_written = match key.as_str() {
                    "content" => !said.is_empty(),
                    "tool_calls" => !calls.is_empty(),
                    key => key == "role" || refused.contains(&key),
                };
                if !is_written {
                    w.field_raw(key, raw);
                }
            }
        });
    }

    /// A block of the content; a meaningful block that the wire cannot express is noted.
    fn block(&mut self, block: &Block) -> Option<Raw> {
        let lost = match block {
            Block::Text(said) => return Some(Raw::build(|w| text(w, said))),
            Block::Thinking(thought) if !thought.thought.is_empty() => {
                return Some(Raw::build(|w| thinking(w, thought)));
            }
            Block::Thinking(thought) if thought.is_nothing() => return None,
            Block::Thinking(_) => "thinking",
            Block::Media(media)
                if media.media_type.starts_with("image/") || media.media_type.is_empty() =>
            {
                return Some(Raw::build(|w| image(w, media)));
            }
            Block::Media(_) => "media",
            Block::Other(other) if other.wire == ID => return Some(other.raw.clone()),
            Block::Other(other) => other.kind.as_str(),
            Block::ToolCall(_) | Block::ToolResponse(_) => return None,
        };
        self.lost(lost);
        None
    }

    fn call(&mut self, w: &mut Writer, said: &ToolCall) {
        let id = said.id.clone().unwrap_or_else(|| self.nameless.call(&said.name));
        let arguments = said.parameters.as_text();
        call(w, &ToolCall { id: Some(id), ..said.clone() }, arguments);
    }

    fn result(&mut self, w: &mut Writer, response: &ToolResponse) {
        if response.is_error {
            self.lost("isError");
        }
        let id = response.call_id.clone();
        let id = id.unwrap_or_else(|| self.nameless.result(response.name.as_deref()));
        w.object(|w| {
            w.field_str("role", "tool");
            w.field_str("tool_call_id", &id);
            w.key("content");
            self.content_of(w, response);
            for (key, raw) in response.extra.of(ID) {
                if !matches!(key.as_str(), "tool_call_id" | "content") {
                    w.field_raw(key, raw);
                }
            }
        });
    }

    /// Writes the content of a result: a text, or on this wire's own word a list. Media go into a message behind.
    fn content_of(&mut self, w: &mut Writer, response: &ToolResponse) {
        let blocks = response.result.blocks();
        if response.extra.noted(ID, IN_LIST).is_some() {
            let blocks: Vec<_> = blocks.iter().filter_map(|block| self.block(block)).collect();
            return w.array(|w| blocks.iter().for_each(|block| w.raw(block)));
        }
        let parted = Parted::of(&blocks);
        parted.others.iter().for_each(|kind| self.lost(kind));
        let media = parted.media.iter().map(|media| Block::Media((*media).clone()));
        let images: Vec<Raw> = media.filter_map(|media| self.block(&media)).collect();
        if images.is_empty() {
            return w.str(&parted.text());
        }
        w.str(&parted.text_before_media());
        let name = response.call_id.as_deref().and_then(|id| self.names.get(id));
        let heading = Text::new(heading(response, name.map(String::as_str)));
        self.behind.push(Raw::build(|w| text(w, &heading)));
        self.behind.extend(images);
    }

    /// Writes the media of the results before as the user's.
    fn media_behind(&mut self, w: &mut Writer) {
        let behind = std::mem::take(&mut self.behind);
        if !behind.is_empty() {
            w.object(|w| {
                w.field_str("role", "user");
                w.key("content").array(|w| behind.iter().for_each(|part| w.raw(part)));
            });
        }
    }

    fn tool_choice(&mut self, request: &Request) -> Option<Raw> {
        if request.parallel_tool_calls == Some(false) {
            self.lost("parallel_tool_calls");
        }
        match request.tool_choice.as_ref()? {
            // The default without a choice.
            ToolChoice::Auto => None,
            ToolChoice::None => Some(Raw::string("NONE")),
            ToolChoice::Required => Some(Raw::string("REQUIRED")),
            ToolChoice::Tool(_) => {
                // The only tool needs no name.
                if request.tools.len() != 1 {
                    self.lost("tool_choice");
                }
                Some(Raw::string("REQUIRED"))
            }
            ToolChoice::Other { wire, raw } if *wire == ID => Some(raw.clone()),
            ToolChoice::Other { .. } => {
                self.lost("tool_choice");
                None
            }
        }
    }

    fn format(&mut self, request: &Request) -> Option<Raw> {
        let schema = match request.format.as_ref()? {
            AnswerFormat::Json => None,
            AnswerFormat::Schema { schema, .. } => Some(schema),
            AnswerFormat::Other { wire, raw } if *wire == ID => return Some(raw.clone()),
            AnswerFormat::Other { .. } => {
                self.lost("format");
                return None;
            }
        };
        Some(Raw::build(|w| {
            w.object(|w| {
                w.field_str("type", "json_object");
                if let Some(schema) = schema {
                    w.field_raw("json_schema", schema);
                }
            });
        }))
    }

    /// The object `thinking`: the caller's own if its meaning has not changed, else a new object with the unknown
    /// members kept.
    fn thinking(&mut self, ask: &ReasoningAsk) -> Option<Raw> {
        let stood = ask.fields.get(ID, "thinking");
        let doc = stood.map(Raw::doc);
        let old = doc.as_ref().map(|doc| doc.root());
        if old.map(meaning).unwrap_or_default()
            == (ReasoningAsk { fields: Extra::default(), ..ask.clone() })
        {
            return stood.cloned();
        }
        let is_off = ask.enabled == Some(false)
            || ask.effort == Some(Effort::None)
            || ask.max_tokens == Some(0);
        let is_on = ask.enabled == Some(true) || ask.effort.is_some() || ask.max_tokens.is_some();
        if !is_off && ask.effort.is_some() && ask.max_tokens.is_none() {
            self.lost("reasoning.effort");
        }
        (is_off || is_on).then(|| {
            Raw::build(|w| {
                w.object(|w| {
                    w.field_str("type", if is_off { "disabled" } else { "enabled" });
                    if let Some(budget) = ask.max_tokens.filter(|_| !is_off) {
                        w.field_u64("token_budget", budget);
                    }
                    for (key, value) in old.into_iter().flat_map(Val::entries) {
                        if key != "type" && key != "token_budget" {
                            w.key(&key).raw_str(value.raw());
                        }
                    }
                });
            })
        })
    }
}

/// Whether a text has no other members on this wire, so that it may be written as a string.
fn is_bare(text: &Text) -> bool {
    text.extra.of(ID).is_empty()
}

fn image(w: &mut Writer, media: &Media) {
    let url = match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Data(data) if media.media_type.is_empty() => {
            format!("data:image/png;base64,{data}")
        }
        MediaSource::Data(data) => format!("data:{};base64,{data}", media.media_type),
    };
    w.object(|w| {
        w.field_str("type", "image_url");
        w.key("image_url").object(|w| {
            w.field_str("url", &url);
            let beside = media.extra.get(ID, "image_url").map(Raw::doc);
            for (key, value) in beside.iter().flat_map(|doc| doc.root().entries()) {
                w.key(&key).raw_str(value.raw());
            }
        });
        for (key, raw) in media.extra.of(ID).iter().filter(|(key, _)| key != "image_url") {
            w.field_raw(key, raw);
        }
    });
}
