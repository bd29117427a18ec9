//! Writes requests.

use super::config::{self, Config};
use super::write_step::Steps;
use super::{BARE_INPUT, ID};
use crate::content::{Block, Content, Speaker};
use crate::json::{Doc, Raw, Writer};
use crate::request::{Request, Tool};
use crate::wire::{Dialect, Written};

/// Writes a request body.
pub(super) fn request(request: &Request, dialect: &Dialect) -> Written {
    let refused = |key: &str| dialect.refuses.contains(&key);
    let mut lost = lost_fields(request);
    let mut w = Writer::new();
    w.object(|w| {
        if !request.model.is_empty() {
            w.field_str("model", &request.model);
        }
        instructions(w, &request.contents);
        lost.extend(input(w, &request.contents));
        if !request.tools.is_empty() {
            w.key("tools").array(|w| request.tools.iter().for_each(|t| tool(w, t, &mut lost)));
        }
        let came = request.extra.get(ID, "generation_config");
        let config = Config::of(request).write(came, &mut lost);
        if came.is_some() || !config.is_empty() {
            w.key("generation_config").object(|w| w.extra(&config, ID));
        }
        format(w, request, &mut lost);
        if request.stream {
            w.field_bool("stream", true);
        }
        for (key, value) in request.extra.of(ID) {
            let is_written = matches!(key.as_str(), "generation_config" | "response_format")
                || (key == "stream" && request.stream);
            if !is_written && !refused(key) {
                w.field_raw(key, value);
            }
        }
    });
    Written { body: w.finish(), untranslated: lost }
}

/// The names of fields that this wire has no place for.
fn lost_fields(request: &Request) -> Vec<String> {
    let mut lost = Vec::new();
    if request.parallel_tool_calls.is_some() {
        lost.push("parallel_tool_calls".to_owned());
    }
    if request.reasoning.max_tokens.is_some() {
        lost.push("reasoning.max_tokens".to_owned());
    }
    lost
}

/// Writes the system messages: this wire has one place for them, above all messages.
fn instructions(w: &mut Writer, contents: &[Content]) {
    let texts: Vec<String> = contents
        .iter()
        .filter(|content| content.speaker == Speaker::System)
        .map(Content::visible_text)
        .collect();
    if !texts.is_empty() {
        w.field_str("system_instruction", &texts.join("\n\n"));
    }
}

fn input(w: &mut Writer, contents: &[Content]) -> Vec<String> {
    let said: Vec<&Content> =
        contents.iter().filter(|content| content.speaker != Speaker::System).collect();
    let mut steps = Steps::default();
    match said.as_slice() {
        [only] if only.extra.noted(ID, BARE_INPUT).is_some() => match only.blocks.as_slice() {
            [Block::Text(text)] if only.extra.fields.is_empty() && only.extra.notes.len() == 1 => {
                w.field_str("input", &text.text);
            }
            _ => steps.content(w.key("input"), only),
        },
        _ => w.key("input").array(|w| {
            said.iter().for_each(|content| steps.content(w, content));
            steps.media_behind(w);
        }),
    }
    steps.lost
}

fn tool(w: &mut Writer, tool: &Tool, lost: &mut Vec<String>) {
    match tool {
        Tool::Function { name, description, parameters, extra } => w.object(|w| {
            w.field_str("type", "function");
            w.field_str("name", name);
            w.opt_str("description", description.as_deref());
            if let Some(parameters) = parameters {
                w.field_raw("parameters", parameters);
            }
            w.extra(extra, ID);
        }),
        Tool::Other { wire, raw } if *wire == ID => w.raw(raw),
        Tool::Other { .. } => lost.push("tools".to_owned()),
    }
}

/// Writes the form of the answer: the object that came, unless its meaning has changed.
fn format(w: &mut Writer, request: &Request, lost: &mut Vec<String>) {
    let came = request.extra.get(ID, "response_format");
    let doc = came.map(Raw::doc);
    let said = doc.as_ref().map(Doc::root).filter(|value| !value.is_null()).map(config::format);
    let wanted = request.format.as_ref();
    let raw = match wanted {
        _ if said.as_ref() == wanted => came.cloned(),
        Some(wanted) => config::format_raw(wanted, lost),
        None => None,
    };
    if let Some(raw) = raw {
        w.field_raw("response_format", &raw);
    }
}
