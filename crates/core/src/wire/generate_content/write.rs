//! Writes requests.

use super::request::usual_role;
use super::write_part::{Parts, own_fields};
use super::{ID, ROLE, SCHEMA, TOOL, config, schema};
use crate::content::{Block, Content, Speaker};
use crate::json::{Doc, Extra, Raw, Val, Writer};
use crate::request::{Request, Tool};
use crate::wire::{Dialect, Written};

/// Writes a request body. The model and the choice of streaming are part of the path.
pub(super) fn request(request: &Request, dialect: &Dialect) -> Written {
    let refused = |key: &str| dialect.refuses.contains(&key);
    let mut lost = lost_fields(request);
    let mut parts = Parts::new(dialect);
    let mut w = Writer::new();
    w.object(|w| {
        instruction(w, &request.contents, &mut parts);
        w.key("contents").array(|w| {
            let said = request.contents.iter().filter(|said| said.speaker != Speaker::System);
            let said: Vec<&Content> = said.collect();
            said.chunk_by(|a, b| joins(a, b)).for_each(|turn| content(w, turn, &mut parts));
        });
        if !request.tools.is_empty() {
            w.key("tools").array(|w| tools(w, &request.tools, &mut lost));
        }
        let came = request.extra.get(ID, "toolConfig");
        if let Some(config) = config::write_tools(request, came, &mut lost) {
            w.field_raw("toolConfig", &config);
        }
        generation_config(w, request, &mut lost);
        for (key, value) in request.extra.of(ID) {
            let is_written = matches!(key.as_str(), "generationConfig" | "toolConfig");
            if !is_written && !refused(key) {
                w.field_raw(key, value);
            }
        }
    });
    lost.extend(parts.lost);
    Written { body: w.finish(), untranslated: lost }
}

fn generation_config(w: &mut Writer, request: &Request, lost: &mut Vec<String>) {
    let came = request.extra.get(ID, "generationConfig");
    let doc = came.map(Raw::doc);
    let config = config::write(request, doc.as_ref().map(Doc::root), lost);
    match came {
        _ if !config.is_empty() => w.key("generationConfig").object(|w| w.extra(&config, ID)),
        // The configuration was empty, and its form is kept.
        Some(came) if came.doc().root().entries().count() == 0 => {
            w.field_raw("generationConfig", came);
        }
        Some(_) | None => {}
    }
}

/// The names of fields that this wire has no place for.
fn lost_fields(request: &Request) -> Vec<String> {
    let mut lost = Vec::new();
    // Several calls may always come at once.
    if request.parallel_tool_calls == Some(false) {
        lost.push("parallel_tool_calls".to_owned());
    }
    lost
}

/// Writes the system messages: this wire has one place for them, above all messages.
fn instruction(w: &mut Writer, contents: &[Content], parts: &mut Parts<'_>) {
    let mut said = contents.iter().filter(|content| content.speaker == Speaker::System).peekable();
    let Some(first) = said.peek().copied() else { return };
    w.key("systemInstruction").object(|w| {
        if let Some(role) = first.extra.noted(ID, ROLE) {
            w.field_raw("role", role);
        }
        w.key("parts").array(|w| {
            said.flat_map(|content| &content.blocks).for_each(|block| parts.block(w, block));
        });
        own_fields(w, &first.extra);
    });
}

/// The results of parallel calls go into one content; other wires have a message for each.
fn joins(first: &Content, next: &Content) -> bool {
    let is_foreign = |content: &Content| {
        content.speaker == Speaker::Tool
            && content.extra.wire != Some(ID)
            && content.blocks.iter().all(|block| match block {
                Block::ToolResponse(result) => result.extra.wire != Some(ID),
                Block::Media(_)
                | Block::Other(_)
                | Block::Text(_)
                | Block::Thinking(_)
                | Block::ToolCall(_) => true,
            })
    };
    is_foreign(first) && is_foreign(next)
}

/// Writes messages as one content. The API refuses a content without parts, so an empty content is left out.
fn content(w: &mut Writer, turn: &[&Content], parts: &mut Parts<'_>) {
    let Some(first) = turn.first() else { return };
    let said = Raw::build(|w| {
        w.array(|w| {
            turn.iter().flat_map(|content| &content.blocks).for_each(|block| parts.block(w, block));
            parts.media_behind(w);
        });
    });
    if said.as_str() == "[]" && first.extra.wire != Some(ID) {
        return;
    }
    w.object(|w| {
        match first.extra.noted(ID, ROLE) {
            Some(role) if role.as_str() == "null" => {}
            Some(role) => w.field_raw("role", role),
            None => w.field_str("role", usual_role(first.speaker)),
        }
        w.field_raw("parts", &said);
        own_fields(w, &first.extra);
    });
}

/// Writes the entries of `tools`. Functions that follow each other share one.
fn tools(w: &mut Writer, tools: &[Tool], lost: &mut Vec<String>) {
    let mut rest = tools;
    while let Some((first, tail)) = rest.split_first() {
        let Tool::Function { extra, .. } = first else {
            match first {
                Tool::Other { wire, raw } if *wire == ID => w.raw(raw),
                Tool::Other { .. } | Tool::Function { .. } => lost.push("tools".to_owned()),
            }
            rest = tail;
            continue;
        };
        let more = tail.iter().take_while(|tool| match tool {
            Tool::Function { extra, .. } => extra.noted(ID, TOOL).is_none(),
            Tool::Other { .. } => false,
        });
        let (entry, after) = rest.split_at_checked(1 + more.count()).unwrap_or((rest, &[]));
        w.object(|w| {
            w.key("functionDeclarations").array(|w| entry.iter().for_each(|t| function(w, t)));
            if let Some(others) = extra.noted(ID, TOOL) {
                let doc = others.doc();
                doc.root().entries().for_each(|(key, value): (_, Val<'_>)| {
                    w.key(&key).raw_str(value.raw());
                });
            }
        });
        rest = after;
    }
}

fn function(w: &mut Writer, tool: &Tool) {
    let Tool::Function { name, description, parameters, extra } = tool else { return };
    w.object(|w| {
        w.field_str("name", name);
        w.opt_str("description", description.as_deref());
        if let Some(schema) = parameters
            && extra.get(ID, "parameters").is_none()
        {
            w.field_raw(&schema_field(extra, schema), schema);
        }
        own_fields(w, extra);
    });
}

/// The field for a schema: the field that it came in, or a field that can express the whole schema.
fn schema_field(extra: &Extra, schema: &Raw) -> String {
    let came =
        extra.noted(ID, SCHEMA).and_then(|key| Some(key.doc().root().as_str()?.into_owned()));
    came.unwrap_or_else(|| {
        let is_own = schema::is_own(schema.doc().root());
        if is_own { "parameters" } else { "parametersJsonSchema" }.to_owned()
    })
}
