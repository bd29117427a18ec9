//! Writes requests.

use super::request;
use super::write_item::{Items, Place};
use super::{BARE_INPUT, CONTENT, ID, INSTRUCTIONS, NOT_SAID};
use crate::content::{Block, Content, Speaker};
use crate::json::{Extra, Raw, Writer};
use crate::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
use crate::settings::Effort;
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
        let rest = instructions(w, &request.contents, refused("instructions"));
        lost.extend(input(w, rest, dialect));
        options(w, request, dialect, &mut lost);
        if !request.tools.is_empty() {
            w.key("tools").array(|w| request.tools.iter().for_each(|t| tool(w, t, &mut lost)));
        }
        tool_choice(w, request.tool_choice.as_ref(), &mut lost);
        if !refused("reasoning") {
            reasoning(w, &request.reasoning, &mut lost);
        }
        text(w, request, &mut lost);
        if request.stream {
            w.field_bool("stream", true);
        }
        if wants_blobs(request) && !refused("include") {
            w.key("include").array(|w| w.str("reasoning.encrypted_content"));
        }
        for (key, value) in request.extra.of(ID) {
            let is_written = key == "text" || (key == "stream" && request.stream);
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
    if !request.stop.is_empty() {
        lost.push("stop".to_owned());
    }
    lost
}

/// Writes `instructions`: the caller's own, or a leading system message from another wire. Gives the messages that
/// are left for the input.
fn instructions<'c>(w: &mut Writer, contents: &'c [Content], refused: bool) -> &'c [Content] {
    let Some((first, rest)) = contents.split_first() else { return contents };
    let is_own = first.extra.noted(ID, INSTRUCTIONS).is_some();
    let is_foreign = first.extra.wire != Some(ID);
    let is_text = first.blocks.iter().all(|block| matches!(block, Block::Text(_)));
    let is_plain = is_own || is_foreign;
    if first.speaker != Speaker::System || !is_plain || !is_text || refused {
        return contents;
    }
    let texts: Vec<&str> = first
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    w.field_str("instructions", &texts.join("\n"));
    rest
}

fn input(w: &mut Writer, contents: &[Content], dialect: &Dialect) -> Vec<String> {
    if let [only] = contents
        && only.extra.noted(ID, BARE_INPUT).is_some()
        && let [Block::Text(text)] = only.blocks.as_slice()
    {
        w.field_str("input", &text.text);
        return Vec::new();
    }
    let field = dialect.field.as_deref().unwrap_or(CONTENT);
    let mut items = Items::new(Place::Request(field)).spoken(dialect);
    w.key("input").array(|w| contents.iter().for_each(|content| items.content(w, content)));
    items.lost
}

fn options(w: &mut Writer, request: &Request, dialect: &Dialect, lost: &mut Vec<String>) {
    let mut sampling = |w: &mut Writer, key: &str, value: Option<&Raw>| match value {
        Some(_) if dialect.refuses.contains(&key) => lost.push(key.to_owned()),
        Some(value) => w.field_raw(key, value),
        None => {}
    };
    sampling(w, "temperature", request.temperature.as_ref());
    sampling(w, "top_p", request.top_p.as_ref());
    let cap = request.max_tokens.map(|tokens| Raw::build(|w| w.u64(tokens)));
    sampling(w, dialect.max_tokens_field.unwrap_or("max_output_tokens"), cap.as_ref());
    let parallel = request.parallel_tool_calls.map(|parallel| Raw::build(|w| w.bool(parallel)));
    sampling(w, "parallel_tool_calls", parallel.as_ref());
}

fn tool(w: &mut Writer, tool: &Tool, lost: &mut Vec<String>) {
    match tool {
        Tool::Function { name, description, parameters, extra } => w.object(|w| {
            w.field_str("type", "function");
            w.field_str("name", name);
            w.opt_str("description", description.as_deref());
            match parameters {
                Some(parameters) => w.field_raw("parameters", parameters),
                None if extra.wire == Some(ID) => {}
                None => w.key("parameters").object(|w| {
                    w.field_str("type", "object");
                    w.key("properties").object(|_| {});
                }),
            }
            // On this wire a tool is strict by default; on the other wires it is not.
            if extra.get(ID, "strict").is_none() && extra.noted(ID, NOT_SAID).is_none() {
                w.field_bool("strict", false);
            }
            w.extra(extra, ID);
        }),
        Tool::Other { wire, raw } if *wire == ID => w.raw(raw),
        Tool::Other { .. } => lost.push("tools".to_owned()),
    }
}

fn tool_choice(w: &mut Writer, choice: Option<&ToolChoice>, lost: &mut Vec<String>) {
    match choice {
        Some(ToolChoice::Auto) => w.field_str("tool_choice", "auto"),
        Some(ToolChoice::None) => w.field_str("tool_choice", "none"),
        Some(ToolChoice::Required) => w.field_str("tool_choice", "required"),
        Some(ToolChoice::Tool(name)) => w.key("tool_choice").object(|w| {
            w.field_str("type", "function");
            w.field_str("name", name);
        }),
        Some(ToolChoice::Other { wire, raw }) if *wire == ID => w.field_raw("tool_choice", raw),
        Some(ToolChoice::Other { .. }) => lost.push("tool_choice".to_owned()),
        None => {}
    }
}

/// Writes `reasoning`: the object that came, with the values that changed since.
fn reasoning(w: &mut Writer, ask: &ReasoningAsk, lost: &mut Vec<String>) {
    let came = ask.fields.get(ID, "reasoning");
    let said = came.map(|raw| request::reasoning(raw.doc().root())).unwrap_or_default();
    let mut members = came.map(|raw| Extra::collect(ID, raw.doc().root(), &[])).unwrap_or_default();
    let effort = match (ask.effort, ask.enabled) {
        (_, Some(false)) => Some(Effort::None),
        (effort, _) => effort,
    };
    let said_effort = if said.enabled == Some(false) { Some(Effort::None) } else { said.effort };
    if effort != said_effort {
        replace(&mut members, "effort", effort.map(Effort::as_str));
    }
    if ask.show != said.show {
        let summary =
            members.get(ID, "summary").and_then(|raw| raw.doc().root().as_str().map(String::from));
        let summary = ask.show.unwrap_or_default().then(|| summary.unwrap_or("auto".to_owned()));
        replace(&mut members, "summary", summary.as_deref());
    }
    if ask.max_tokens != said.max_tokens {
        members.fields.retain(|(key, _)| key != "max_tokens");
        if ask.max_tokens.is_some() {
            lost.push("reasoning.max_tokens".to_owned());
        }
    }
    if came.is_some() || !members.fields.is_empty() {
        w.key("reasoning").object(|w| w.extra(&members, ID));
    }
}

fn replace(members: &mut Extra, key: &str, value: Option<&str>) {
    match value {
        Some(value) => members.insert(ID, key, Raw::string(value)),
        None => members.fields.retain(|(name, _)| name != key),
    }
}

/// Writes `text`: the object that came, with the format that is wanted now.
fn text(w: &mut Writer, request: &Request, lost: &mut Vec<String>) {
    let came = request.extra.get(ID, "text");
    let said = came.and_then(|raw| raw.doc().root().some("format").and_then(request::format));
    if said == request.format {
        if let Some(came) = came {
            w.field_raw("text", came);
        }
        return;
    }
    let mut members = Extra::default();
    if let Some(came) = came {
        members = Extra::collect(ID, came.doc().root(), &["format"]);
    }
    match &request.format {
        Some(AnswerFormat::Other { wire, .. }) if *wire != ID => lost.push("format".to_owned()),
        Some(format) => members.insert(ID, "format", format_raw(format)),
        None => {}
    }
    if !members.is_empty() {
        w.key("text").object(|w| w.extra(&members, ID));
    }
}

fn format_raw(format: &AnswerFormat) -> Raw {
    Raw::build(|w| match format {
        AnswerFormat::Json => w.object(|w| w.field_str("type", "json_object")),
        AnswerFormat::Schema { name, schema, strict } => w.object(|w| {
            w.field_str("type", "json_schema");
            w.field_str("name", name.as_deref().unwrap_or("answer"));
            w.field_raw("schema", schema);
            if let Some(strict) = strict {
                w.field_bool("strict", *strict);
            }
        }),
        AnswerFormat::Other { raw, .. } => w.raw(raw),
    })
}

/// Whether encrypted reasoning has to be asked for: a request from another wire that wants reasoning, or that
/// sends some back, cannot have asked for it itself.
fn wants_blobs(request: &Request) -> bool {
    let is_own = request.extra.wire == Some(ID);
    let wants = match (request.reasoning.enabled, request.reasoning.effort) {
        (Some(false), _) | (_, Some(Effort::None)) => false,
        (enabled, effort) => enabled == Some(true) || effort.is_some(),
    };
    let mut thoughts = request.contents.iter().flat_map(Content::thoughts);
    let mut sends = || thoughts.any(|thought| thought.encrypted_content.is_some());
    !is_own && (wants || sends())
}
