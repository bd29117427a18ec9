//! Prefix binding: a thought of the newest models is valid only behind the same system prompt,
//! tools and visible blocks.

use serde_json::Value;

use crate::json::Keyed;
use crate::seal::{Digest, Seal};

/// A digest over a growing part of a request: system, tools and the visible blocks of messages.
pub(super) struct Prefix<'a> {
    messages: &'a [Value],
    /// Digests of the system prompt and the tools.
    digests: Seal,
    hash: Digest,
    /// The next block: index of its message, and index in the message.
    place: (usize, usize),
}

impl<'a> Prefix<'a> {
    pub(super) fn of(body: &'a Value) -> Self {
        let digests = Seal {
            system: system(body.at("system")),
            tools: tools(body.at("tools")),
            ..Seal::default()
        };
        Self {
            messages: body.at("messages").as_array().map_or(&[], Vec::as_slice),
            digests,
            hash: Digest::new("messages"),
            place: (0, 0),
        }
    }

    /// The digests of the prefix before a block. Callers ask for blocks in ascending order.
    pub(super) fn before(&mut self, message: usize, block: usize) -> Seal {
        while self.place.0 < message.min(self.messages.len()) {
            self.read(usize::MAX);
            self.place = (self.place.0 + 1, 0);
        }
        self.read(block);
        Seal { messages: self.hash.finish(), ..self.digests.clone() }
    }

    /// The digests of the whole request, to which the thought of the answer is bound.
    pub(super) fn whole(mut self) -> Seal {
        self.before(usize::MAX, 0)
    }

    /// Adds the blocks of the current message up to `end`. A plain string counts as one block.
    fn read(&mut self, end: usize) {
        let Some(message) = self.messages.get(self.place.0) else { return };
        let role = message.at("role").as_str().unwrap_or_default();
        let start = self.place.1;
        match message.at("content") {
            Value::String(text) if start == 0 && end > 0 => {
                self.hash = self.hash.text(role).text("text").text(text);
            }
            Value::Array(blocks) => {
                let blocks = blocks.iter().take(end).skip(start);
                self.hash = blocks.fold(self.hash, |hash, block| visible(hash, role, block));
            }
            Value::String(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Object(_) => {}
        }
        self.place.1 = start.max(end);
    }
}

fn visible(hash: Digest, role: &str, block: &Value) -> Digest {
    match block.at("type").as_str() {
        Some("thinking" | "redacted_thinking") => hash,
        Some("text") => {
            hash.text(role).text("text").text(block.at("text").as_str().unwrap_or_default())
        }
        Some(_) | None => hash.text(role).value(block),
    }
}

fn system(system: &Value) -> u64 {
    let hash = Digest::new("system");
    match system {
        Value::String(text) => hash.text(text).finish(),
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| block.at("text").as_str().unwrap_or_default())
            // The API removes this line of its own client from the prompt.
            .filter(|text| !text.starts_with("x-anthropic-billing-header:"))
            .fold(hash, Digest::text)
            .finish(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => hash.finish(),
    }
}

fn tools(tools: &Value) -> u64 {
    match tools {
        Value::Array(list) if !list.is_empty() => Digest::new("tools").value(tools).finish(),
        Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_) => 0,
    }
}
