//! Writes requests.

use super::block::{extra, input_object, is_unsayable, is_verbatim, text, thinking, tool_use};
use super::request::joins;
use super::{ID, media, reasoning};
use crate::content::{Block, Content, Speaker, Text, ToolResponse, ToolResult};
use crate::json::{Raw, Writer};
use crate::request::{AnswerFormat, Request, Tool, ToolChoice};
use crate::wire::tool_ids::{IdRule, Nameless};
use crate::wire::{Dialect, Written};
use std::borrow::Cow;

/// Room for the answer beside a thinking budget, if a request names no cap.
const ROOM_BESIDE_BUDGET: u64 = 32_000;

/// Ids of tool calls that the API takes.
pub(super) const TOOL_IDS: IdRule = IdRule { marks: "_-", longest: 64, is_exact: false };

/// Writes a request body. The model is part of the path.
pub(super) fn write(request: &Request, dialect: &Dialect) -> Written {
    let mut said = Said::default();
    let reasoning = reasoning::fields(request);
    if reasoning.is_lost {
        said.lost("reasoning.maxTokens");
    }
    let cap = request.max_tokens.or(reasoning.budget.map(|budget| budget + ROOM_BESIDE_BUDGET));
    let mut members: Vec<(&str, Raw)> = Vec::new();
    let first = request.contents.iter().position(|content| content.speaker != Speaker::System);
    let (above, messages) = request.contents.split_at(first.unwrap_or(request.contents.len()));
    if let Some(blocks) = said.sayable(above) {
        members.push(("system", Raw::build(|w| said.blocks(w, &blocks))));
    }
    members.push(("messages", Raw::build(|w| said.messages(w, messages))));
    let tools = said.tools(request);
    let effort = reasoning.effort.map(|effort| ("effort".to_owned(), effort));
    let format = said.format(request).map(|format| ("textFormat".to_owned(), format));
    let output: Vec<_> = effort.into_iter().chain(format).collect();
    let optional = [
        ("inferenceConfig", inference(request, cap, dialect)),
        ("toolConfig", config(request, "toolConfig", &tools)),
        ("outputConfig", config(request, "outputConfig", &output)),
        (reasoning::FIELD, reasoning.raw),
    ];
    members.extend(optional.into_iter().filter_map(|(key, raw)| Some((key, raw?))));
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

fn inference(request: &Request, cap: Option<u64>, dialect: &Dialect) -> Option<Raw> {
    let stop = || Raw::build(|w| w.array(|w| request.stop.iter().for_each(|text| w.str(text))));
    let members = [
        ("maxTokens", cap.map(|cap| Raw::build(|w| w.u64(cap)))),
        ("temperature", request.temperature.clone()),
        ("topP", request.top_p.clone()),
        ("stopSequences", (!request.stop.is_empty()).then(stop)),
    ];
    let members = members.into_iter().filter(|(key, _)| !dialect.refuses.contains(key));
    let members: Vec<_> = members.filter_map(|(key, raw)| Some((key.to_owned(), raw?))).collect();
    config(request, "inferenceConfig", &members)
}

/// A configuration object of these members and of the unknown members that came in it.
fn config(request: &Request, key: &str, members: &[(String, Raw)]) -> Option<Raw> {
    let left = request.extra.get(ID, key);
    match left {
        // A value that is not an object was kept because it could not be parsed.
        Some(left) if left.doc().root().is_object() || !members.is_empty() => {
            Some(left.with(members))
        }
        Some(left) => Some(left.clone()),
        None => (!members.is_empty()).then(|| Raw::build(|w| w.object(|_| {})).with(members)),
    }
}

/// The text beside documents that came without one.
const BESIDE: &str = "The document is attached.";

/// Whether documents are without a text: the API demands one beside them.
fn needs_text(blocks: &[&Block]) -> bool {
    let is_document = |block: &&Block| matches!(block, Block::Media(it) if media::is_document(it));
    let is_text = |block: &&Block| matches!(block, Block::Text(_));
    blocks.iter().any(is_document) && !blocks.iter().any(is_text)
}

/// State that is collected while a request is written.
#[derive(Debug, Default)]
struct Said {
    /// The documents that have a name of the writer.
    documents: usize,
    nameless: Nameless,
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

    /// Whether the wire can express a block; a meaningful block that it cannot express is noted.
    fn is_sayable(&mut self, block: &Block, is_signed: bool) -> bool {
        let lost = match block {
            // The API refuses blank texts.
            Block::Text(text) => {
                let is_kept = is_signed && !text.text.is_empty() || !text.text.trim().is_empty();
                return is_kept || is_verbatim(&text.extra);
            }
            Block::Thinking(thinking)
                if !is_unsayable(thinking) || is_verbatim(&thinking.extra) =>
            {
                return true;
            }
            Block::Thinking(thinking) if thinking.is_nothing() => return false,
            Block::Thinking(_) => "thinking",
            Block::ToolCall(_) | Block::ToolResponse(_) => return true,
            Block::Media(said) if media::is_sayable(said) => return true,
            Block::Media(_) => "media",
            Block::Other(other) if other.wire == ID => return true,
            Block::Other(other) => other.kind.as_str(),
        };
        self.lost(lost);
        false
    }

    /// Writes the messages. The wire has two roles, which must alternate.
    fn messages(&mut self, w: &mut Writer, contents: &[Content]) {
        w.array(|w| {
            for message in contents.chunk_by(joins) {
                self.message(w, message);
            }
        });
    }

    fn message(&mut self, w: &mut Writer, message: &[Content]) {
        let Some(first) = message.first() else { return };
        // Instructions must be above the messages; among them they become words of the user.
        if message.iter().any(|content| content.speaker == Speaker::System) {
            self.lost("speaker");
        }
        let blocks = match (self.sayable(message), first.blocks.as_slice()) {
            (Some(blocks), _) => blocks,
            // Only the API can report the fault of a question without words.
            (None, [text @ Block::Text(_)]) if first.speaker == Speaker::Human => vec![text],
            (None, _) => return,
        };
        w.object(|w| {
            let is_ai = first.speaker == Speaker::Ai;
            w.field_str("role", if is_ai { "assistant" } else { "user" });
            w.key("content");
            let beside = needs_text(&blocks).then(|| Block::text(BESIDE.to_owned()));
            let blocks: Vec<&Block> = blocks.into_iter().chain(&beside).collect();
            self.blocks(w, &blocks);
            message.iter().for_each(|content| extra(w, &content.extra));
        });
    }

    fn blocks(&mut self, w: &mut Writer, blocks: &[&Block]) {
        w.array(|w| blocks.iter().for_each(|block| self.block(w, block)));
    }

    fn block(&mut self, w: &mut Writer, block: &Block) {
        match block {
            Block::Text(said) => text(w, said),
            Block::Thinking(thought) => thinking(w, thought),
            Block::ToolCall(call) => {
                let id = match &call.id {
                    Some(id) if is_verbatim(&call.extra) => Cow::Borrowed(id.as_str()),
                    Some(id) => TOOL_IDS.plain(id),
                    None => Cow::Owned(self.nameless.call(&call.name)),
                };
                tool_use(w, &id, call, &input_object(&call.parameters));
            }
            Block::ToolResponse(response) => self.response(w, response),
            Block::Media(said) => media::write(w, said, &mut self.documents),
            Block::Other(other) => w.raw(&other.raw),
        }
    }

    fn response(&mut self, w: &mut Writer, response: &ToolResponse) {
        let id = match &response.call_id {
            Some(id) if is_verbatim(&response.extra) => id.clone(),
            Some(id) => TOOL_IDS.plain(id).into_owned(),
            None => self.nameless.result(response.name.as_deref()),
        };
        w.object(|w| {
            w.key("toolResult").object(|w| {
                w.field_str("toolUseId", &id);
                w.key("content");
                self.result(w, &response.result);
                if response.is_error {
                    w.field_str("status", "error");
                }
                extra(w, &response.extra);
            });
        });
    }

    /// Writes the content of a result: objects as `json`; the API refuses blank texts.
    fn result(&mut self, w: &mut Writer, result: &ToolResult) {
        let blocks = result.blocks();
        w.array(|w| {
            for block in blocks.iter() {
                match block {
                    Block::Other(other)
                        if other.is_data() && other.raw.doc().root().is_object() =>
                    {
                        w.object(|w| w.field_raw("json", &other.raw));
                    }
                    Block::Other(other) if other.is_data() => {
                        text(w, &Text::new(other.raw.as_str()));
                    }
                    block if self.is_sayable(block, false) => self.block(w, block),
                    _ => {}
                }
            }
        });
    }

    /// The members of `toolConfig`.
    fn tools(&mut self, request: &Request) -> Vec<(String, Raw)> {
        let mut members = Vec::new();
        let has_calls = request.contents.iter().flat_map(|content| &content.blocks);
        let has_calls = has_calls
            .clone()
            .any(|block| matches!(block, Block::ToolCall(_) | Block::ToolResponse(_)));
        if request.tool_choice == Some(ToolChoice::None) && !has_calls {
            // No choice here forbids tools, but tools that are not there cannot be called.
            return members;
        }
        let tools: Vec<_> = request.tools.iter().filter_map(|tool| self.tool(tool)).collect();
        if !tools.is_empty() {
            let list = Raw::build(|w| w.array(|w| tools.iter().for_each(|tool| w.raw(tool))));
            members.push(("tools".to_owned(), list));
        }
        if request.parallel_tool_calls == Some(false) {
            self.lost("parallel_tool_calls");
        }
        let choice = match &request.tool_choice {
            Some(ToolChoice::Auto) => r#"{"auto":{}}"#.to_owned(),
            Some(ToolChoice::Required) => r#"{"any":{}}"#.to_owned(),
            Some(ToolChoice::Tool(name)) => {
                let name = Raw::string(name);
                format!(r#"{{"tool":{{"name":{name}}}}}"#)
            }
            Some(ToolChoice::Other { wire, raw }) if *wire == ID => raw.as_str().to_owned(),
            Some(ToolChoice::None | ToolChoice::Other { .. }) => {
                self.lost("tool_choice");
                return members;
            }
            None => return members,
        };
        members.push(("toolChoice".to_owned(), Raw::build(|w| w.raw_str(&choice))));
        members
    }

    fn tool(&mut self, tool: &Tool) -> Option<Raw> {
        match tool {
            Tool::Function { name, description, parameters, extra } => Some(Raw::build(|w| {
                w.object(|w| {
                    w.key("toolSpec").object(|w| {
                        w.field_str("name", name);
                        w.opt_str("description", description.as_deref());
                        w.key("inputSchema").object(|w| match parameters {
                            Some(schema) if schema.doc().root().entries().next().is_some() => {
                                w.field_raw("json", schema);
                            }
                            // The API demands a schema of an object.
                            Some(_) | None => {
                                w.key("json").raw_str(r#"{"type":"object","properties":{}}"#);
                            }
                        });
                        w.extra(extra, ID);
                    });
                });
            })),
            Tool::Other { wire, raw } if *wire == ID => Some(raw.clone()),
            Tool::Other { .. } => {
                self.lost("tools");
                None
            }
        }
    }

    fn format(&mut self, request: &Request) -> Option<Raw> {
        match request.format.as_ref()? {
            AnswerFormat::Schema { name, schema, .. } => Some(Raw::build(|w| {
                w.object(|w| {
                    w.field_str("type", "json_schema");
                    w.key("structure").object(|w| {
                        w.key("jsonSchema").object(|w| {
                            w.field_str("schema", schema.as_str());
                            w.opt_str("name", name.as_deref());
                        });
                    });
                });
            })),
            AnswerFormat::Other { wire, raw } if *wire == ID => Some(raw.clone()),
            AnswerFormat::Json | AnswerFormat::Other { .. } => {
                self.lost("format");
                None
            }
        }
    }
}
