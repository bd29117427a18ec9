//! Blocks as items, in requests and in answers.

use super::message::PART_FIELDS;
use super::{BARE, ID, LIST, MESSAGE, MORE, PART};
use crate::content::{
    Block, Content, Media, MediaSource, Other, Parameters, Speaker, Text, Thinking, ToolCall,
    ToolResponse, ToolResult,
};
use crate::json::{Extra, Writer};
use crate::wire::Dialect;
use crate::wire::tool_result::{Parted, spoken};

/// The destination of written items.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// An answer, in which items have ids; new ids begin with this prefix.
    Answer(&'a str),
    /// In a request; plain thoughts go into this field of the reasoning item.
    Request(&'a str),
}

/// Writes items into an open array.
#[derive(Debug)]
pub(super) struct Items<'a> {
    place: Place<'a>,
    /// Fields of items that are not written.
    refuses: &'a [&'a str],
    /// The text of an empty thought, if the provider wants an item for it.
    empty: Option<&'a str>,
    /// How many items were written.
    pub(super) count: usize,
    /// How many calls and results without an id were written; they are paired in order.
    calls: usize,
    results: usize,
    /// Blocks that the wire cannot express.
    pub(super) lost: Vec<String>,
}

impl<'a> Items<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Items { place, refuses: &[], empty: None, count: 0, calls: 0, results: 0, lost: Vec::new() }
    }

    /// The same in a provider's dialect.
    pub(super) fn spoken(mut self, dialect: &'a Dialect) -> Self {
        self.refuses = &dialect.refuses;
        self.empty = dialect.empty.as_deref();
        self
    }

    /// Writes all items of a message.
    pub(super) fn content(&mut self, w: &mut Writer, content: &Content) {
        if content.speaker == Speaker::Ai {
            return self.answer(w, &content.blocks);
        }
        let mut rest = content.blocks.as_slice();
        let mut fields = &content.extra;
        let none = Extra::default();
        while let Some((first, tail)) = rest.split_first() {
            let is_part = |block: &Block| self.is_input_part(content.speaker, block);
            if is_part(first) {
                let len = rest.iter().position(|block| !is_part(block)).unwrap_or(rest.len());
                let (parts, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                self.input_message(w, content.speaker, parts, fields);
                fields = &none;
                rest = tail;
            } else {
                self.item(w, first);
                rest = tail;
            }
        }
    }

    /// Writes the items of an answer: each message is a text or part with its continuations.
    pub(super) fn answer(&mut self, w: &mut Writer, blocks: &[Block]) {
        let mut rest = blocks;
        let is_request = matches!(self.place, Place::Request(_));
        let is_husk = |block: &Block| is_request && is_husk(block);
        let says_more = blocks.iter().any(|it| !matches!(it, Block::Thinking(_)) && !is_husk(it));
        while let Some((first, tail)) = rest.split_first() {
            if says_more && is_husk(first) {
                rest = tail;
            } else if is_part(first) {
                let len = 1 + tail.iter().take_while(|block| continues(block)).count();
                let (parts, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                self.output_message(w, parts);
                rest = tail;
            } else {
                self.item(w, first);
                rest = tail;
            }
        }
    }

    /// Writes a block that is an item of its own.
    fn item(&mut self, w: &mut Writer, block: &Block) {
        match block {
            Block::Thinking(thinking) => self.reasoning(w, thinking),
            Block::ToolCall(call) => self.call(w, call),
            Block::ToolResponse(result) => self.result(w, result),
            Block::Other(other) if other.wire == ID => {
                w.raw(&other.raw);
                self.count += 1;
            }
            Block::Other(other) => self.lose(&other.kind),
            Block::Media(_) => self.lose("media"),
            Block::Text(_) => self.output_message(w, std::slice::from_ref(block)),
        }
    }

    fn lose(&mut self, what: &str) {
        if !self.lost.iter().any(|lost| lost == what) {
            self.lost.push(what.to_owned());
        }
    }

    /// A new id for an item without one, if the place needs it.
    fn new_id(&self, kind: &str) -> Option<String> {
        match self.place {
            Place::Answer(prefix) => Some(format!("{kind}_{}_{prefix}", self.count)),
            Place::Request(_) => None,
        }
    }

    /// A reasoning item.
    pub(super) fn reasoning(&mut self, w: &mut Writer, thinking: &Thinking) {
        let Some(form) = self.reasoning_form(thinking) else {
            return self.lose("thinking");
        };
        let is_its_own = match self.place {
            // Ids of other wires may come again in every answer.
            Place::Answer(_) => thinking.is_item(),
            Place::Request(_) => !self.refuses.contains(&"id"),
        };
        let id = thinking.id.clone().filter(|_| is_its_own);
        let id = id.or_else(|| self.new_id("rs"));
        w.object(|w| {
            w.field_str("type", "reasoning");
            w.opt_str("id", id.as_deref());
            if thinking.extra.get(ID, "summary").is_none() {
                w.key("summary").array(|w| form.0.iter().for_each(|t| part(w, "summary_text", t)));
            }
            if let Some(content) = &form.1 {
                w.key("content")
                    .array(|w| content.iter().for_each(|t| part(w, "reasoning_text", t)));
            }
            w.opt_str("encrypted_content", thinking.encrypted_content.as_deref());
            fields(w, &thinking.extra, self.refuses);
        });
        self.count += 1;
    }

    /// The summary and the content parts of a reasoning item; `None` if both would be empty.
    fn reasoning_form(&self, thinking: &Thinking) -> Option<(Vec<String>, Option<Vec<String>>)> {
        let is_raw = |key: &str| thinking.extra.get(ID, key).is_some();
        let has_parts = thinking.summary.is_some() || thinking.content.is_some();
        if has_parts || is_raw("summary") || is_raw("content") {
            let content = thinking.content.clone();
            let content = content.filter(|parts| !parts.is_empty() && !is_raw("content"));
            return Some((thinking.summary.clone().unwrap_or_default(), content));
        }
        if let Some(empty) = self.empty.filter(|_| thinking.is_nothing() && thinking.id.is_none()) {
            return Some((Vec::new(), Some(vec![empty.to_owned()])));
        }
        if thinking.thought.is_empty() {
            // In an answer every block is an item, for it was announced as one.
            let is_real = thinking.id.is_some()
                || thinking.encrypted_content.is_some()
                || matches!(self.place, Place::Answer(_));
            return is_real.then(|| (Vec::new(), None));
        }
        let text = vec![thinking.thought.clone()];
        let is_summary = match self.place {
            Place::Answer(_) => thinking.source_field != "content",
            Place::Request(field) => field == "summary" || thinking.source_field == "summary",
        };
        Some(if is_summary { (text, None) } else { (Vec::new(), Some(text)) })
    }

    /// A function call or a call with free text.
    pub(super) fn call(&mut self, w: &mut Writer, call: &ToolCall) {
        let id = call.id.clone().or_else(|| self.new_id("call")).unwrap_or_else(|| {
            self.calls += 1;
            format!("call_{}", self.calls - 1)
        });
        let is_free = matches!(call.parameters, Parameters::Free(_));
        let (kind, key, prefix) = if is_free {
            ("custom_tool_call", "input", "ctc")
        } else {
            ("function_call", "arguments", "fc")
        };
        w.object(|w| {
            w.field_str("type", kind);
            if call.extra.get(ID, "call_id").is_none() {
                w.field_str("call_id", &id);
            }
            if call.extra.get(ID, "name").is_none() {
                w.field_str("name", &call.name);
            }
            if call.extra.get(ID, key).is_none() {
                w.field_str(key, call.parameters.as_text());
            }
            if call.extra.wire != Some(ID)
                && let Some(id) = self.new_id(prefix)
            {
                w.field_str("id", &id);
                w.field_str("status", "completed");
            }
            fields(w, &call.extra, self.refuses);
        });
        self.count += 1;
    }

    /// Writes the result of a tool.
    fn result(&mut self, w: &mut Writer, result: &ToolResponse) {
        let id = result.call_id.clone().unwrap_or_else(|| {
            self.results += 1;
            format!("call_{}", self.results - 1)
        });
        if result.is_error {
            self.lose("is_error");
        }
        w.object(|w| {
            if result.extra.get(ID, "type").is_none() {
                w.field_str("type", "function_call_output");
            }
            w.field_str("call_id", &id);
            self.output(w.key("output"), result);
            fields(w, &result.extra, self.refuses);
        });
        self.count += 1;
    }

    /// Writes the output of a tool: a string, or a list of parts if it came as a list or holds media.
    fn output(&mut self, w: &mut Writer, result: &ToolResponse) {
        if let ToolResult::Value(value) = &result.result
            && (value.doc().root().as_str().is_some() || value.doc().root().is_null())
        {
            return if value.doc().root().is_null() { w.str("") } else { w.raw(value) };
        }
        let blocks = spoken(&result.result);
        let parted = Parted::of(&blocks);
        let is_own = result.extra.noted(ID, LIST).is_some();
        if !is_own {
            parted.others.iter().for_each(|kind| self.lose(kind));
        }
        if !is_own && !parted.media.iter().any(|media| has_part(media)) {
            if !parted.media.is_empty() {
                self.lose("media");
            }
            return w.str(&parted.text());
        }
        w.array(|w| {
            for block in &blocks {
                match block {
                    Block::Media(media) if !has_part(media) => self.lose("media"),
                    Block::Other(other) if other.wire != ID => {}
                    block => input_part(w, block),
                }
            }
        });
    }

    /// A message of the model.
    pub(super) fn output_message(&mut self, w: &mut Writer, parts: &[Block]) {
        let Some(first) = parts.first() else { return };
        let (mut known, is_bare, is_foreign) = match first {
            Block::Text(text) => (
                own_fields(&text.extra),
                text.extra.noted(ID, BARE).is_some(),
                text.extra.wire != Some(ID),
            ),
            Block::Other(other) => (message_of(other), false, false),
            _ => (Extra::default(), false, true),
        };
        known.fields.retain(|(key, _)| !self.refuses.contains(&key.as_str()));
        let new_id = self.new_id("msg").filter(|_| known.get(ID, "id").is_none());
        let has_type = known.get(ID, "type").is_some();
        let needs_type = !has_type && (known.get(ID, "id").is_some() || new_id.is_some());
        let is_answer = matches!(self.place, Place::Answer(_));
        w.object(|w| {
            if needs_type {
                w.field_str("type", "message");
            }
            w.opt_str("id", new_id.as_deref());
            if known.get(ID, "role").is_none() {
                w.field_str("role", "assistant");
            }
            if is_answer && is_foreign {
                w.field_str("status", "completed");
            }
            w.extra(&known, ID);
            match parts {
                [Block::Text(text)] if is_bare => w.field_str("content", &text.text),
                _ => w.key("content").array(|w| {
                    parts.iter().for_each(|part| output_part(w, part, is_answer));
                }),
            }
        });
        self.count += 1;
    }

    fn is_input_part(&self, speaker: Speaker, block: &Block) -> bool {
        match block {
            Block::Text(_) | Block::Media(_) => true,
            // Parts of messages; with a tool they are items.
            Block::Other(other) => other.wire == ID && speaker != Speaker::Tool,
            Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
        }
    }

    /// A message of the person or the system.
    fn input_message(&mut self, w: &mut Writer, who: Speaker, parts: &[Block], known: &Extra) {
        let role = if who == Speaker::System { "system" } else { "user" };
        let is_list = known.noted(ID, LIST).is_some();
        w.object(|w| {
            if known.get(ID, "role").is_none() {
                w.field_str("role", role);
            }
            fields(w, known, self.refuses);
            match parts {
                [Block::Text(text)] if !is_list && text.extra.of(ID).is_empty() => {
                    w.field_str("content", &text.text);
                }
                _ => w.key("content").array(|w| parts.iter().for_each(|part| input_part(w, part))),
            }
        });
        self.count += 1;
    }
}

/// Whether a block of an answer is a part of a message.
pub(super) fn is_part(block: &Block) -> bool {
    match block {
        Block::Text(_) => true,
        Block::Other(other) => {
            other.wire == ID
                && (other.kind == "refusal" || other.notes.noted(ID, MESSAGE).is_some())
        }
        Block::Media(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    }
}

/// Whether a block is the empty text that clients of other wires send beside calls.
fn is_husk(block: &Block) -> bool {
    match block {
        Block::Text(text) => {
            text.text.is_empty() && text.signature.is_none() && text.extra.wire != Some(ID)
        }
        Block::Media(_)
        | Block::Other(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => false,
    }
}

/// Whether a part goes on with the message before it.
pub(super) fn continues(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.extra.noted(ID, MORE).is_some(),
        Block::Other(other) => {
            other.notes.noted(ID, MESSAGE).is_some_and(|fields| fields.as_str() == "null")
        }
        Block::Media(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    }
}

/// Writes the fields that came on this wire, without our own marks and those in `not`.
fn fields(w: &mut Writer, extra: &Extra, not: &[&str]) {
    for (key, value) in extra.of(ID) {
        if !not.contains(&key.as_str()) {
            w.field_raw(key, value);
        }
    }
}

/// The fields of a message that its first text carries.
fn own_fields(extra: &Extra) -> Extra {
    let is_own = |key: &str| !PART_FIELDS.contains(&key);
    let list = extra.of(ID).iter().filter(|(key, _)| is_own(key)).cloned().collect();
    Extra { wire: Some(ID), fields: list, notes: Vec::new() }
}

/// The fields of a message that its first part carries, if that part has no form of its own.
fn message_of(other: &Other) -> Extra {
    let fields = other.notes.noted(ID, MESSAGE);
    fields.map(|fields| Extra::collect(ID, fields.doc().root(), &[])).unwrap_or_default()
}

/// A part of a message of the model.
pub(super) fn output_part(w: &mut Writer, block: &Block, is_answer: bool) {
    match block {
        Block::Text(text) => text_part(w, text, is_answer),
        Block::Other(other) => w.raw(&other.raw),
        Block::Media(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {}
    }
}

fn text_part(w: &mut Writer, text: &Text, is_answer: bool) {
    let rest = text.extra.noted(ID, PART).map(|rest| Extra::collect(ID, rest.doc().root(), &[]));
    let rest = rest.unwrap_or_default();
    w.object(|w| {
        if rest.get(ID, "type").is_none() {
            w.field_str("type", "output_text");
        }
        w.field_str("text", &text.text);
        for (key, value) in text.extra.of(ID) {
            if PART_FIELDS.contains(&key.as_str()) {
                w.field_raw(key, value);
            }
        }
        if is_answer && text.extra.wire != Some(ID) {
            w.key("annotations").array(|_| {});
        }
        w.extra(&rest, ID);
    });
}

/// A part of a message of the person or the system.
fn input_part(w: &mut Writer, block: &Block) {
    match block {
        Block::Text(text) => w.object(|w| {
            if text.extra.get(ID, "type").is_none() {
                w.field_str("type", "input_text");
            }
            w.field_str("text", &text.text);
            fields(w, &text.extra, &[]);
        }),
        Block::Media(media) => media_part(w, media),
        Block::Other(other) => w.raw(&other.raw),
        Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {}
    }
}

/// Whether a result has a part for this: images and documents.
fn has_part(media: &Media) -> bool {
    let kind = media.media_type.as_str();
    let is_sound = kind.starts_with("audio/") || kind.starts_with("video/");
    media.extra.wire == Some(ID) || !is_sound
}

fn media_part(w: &mut Writer, media: &Media) {
    let is_file = media.extra.get(ID, "type").is_some()
        || !(media.media_type.is_empty() || media.media_type.starts_with("image/"));
    w.object(|w| {
        if media.extra.get(ID, "type").is_none() {
            w.field_str("type", if is_file { "input_file" } else { "input_image" });
        }
        match &media.source {
            MediaSource::Data(data) => {
                let key = if is_file { "file_data" } else { "image_url" };
                if media.media_type.is_empty() {
                    w.field_str(key, data);
                } else {
                    w.field_str(key, &format!("data:{};base64,{data}", media.media_type));
                }
                if is_file && media.extra.wire != Some(ID) {
                    w.field_str("filename", "file");
                }
            }
            MediaSource::Url(url) => {
                w.field_str(if is_file { "file_url" } else { "image_url" }, url);
            }
        }
        fields(w, &media.extra, &[]);
    });
}

/// A text part of a reasoning item.
pub(super) fn part(w: &mut Writer, kind: &str, text: &str) {
    w.object(|w| {
        w.field_str("type", kind);
        w.field_str("text", text);
    });
}
