//! Finds members that only the caller's wire has: they cannot be translated, and each dropped member is reported.

use crate::answer::Answer;
use crate::content::{Block, Content};
use crate::json::{Extra, Raw};
use crate::request::{Request, Tool};

/// Fields without a meaning of their own: a wire's spelling of a member of the neutral form.
const SPELLING: [&str; 38] = [
    "allowedFunctionNames",
    "budget_tokens",
    "content",
    "effort",
    "enabled",
    "format",
    "function",
    "functionCallingConfig",
    "id",
    "image_url",
    "include",
    "includeThoughts",
    "index",
    "maxOutputTokens",
    "max_completion_tokens",
    "max_tokens",
    "object",
    "parameters",
    "responseJsonSchema",
    "responseMimeType",
    "responseSchema",
    "response_format",
    "role",
    "status",
    "stop",
    "stopSequences",
    "stream",
    "stream_options",
    "systemInstruction",
    "temperature",
    "text",
    "thinkingConfig",
    "thought",
    "tool_calls",
    "tool_choice",
    "tools",
    "topP",
    "type",
];
/// Fields of requests whose members each have a meaning of their own.
const HOLDERS: [&str; 7] =
    ["generationConfig", "options", "output_config", "reasoning", "text", "thinking", "toolConfig"];
/// Fields beside a text that carry more than its spelling.
const BESIDE: [&str; 3] = ["annotations", "citations", "logprobs"];

/// The names of the parameters of `request` that belong to another wire than `target`, each once.
pub(crate) fn of_request(request: &Request, target: &str) -> Vec<String> {
    let mut names = Names { target, all: Vec::new() };
    names.request(&request.extra);
    for tool in &request.tools {
        if let Tool::Function { extra, .. } = tool {
            names.tool(extra);
        }
    }
    for content in &request.contents {
        names.content(content);
    }
    names.all
}

/// The names of the members beside the texts of an answer, one entry for each occurrence.
pub(crate) fn of_answer(answer: &Answer) -> Vec<String> {
    let extras = answer.blocks.iter().filter_map(extra).chain([&answer.extra]);
    let fields = extras.flat_map(|extra| &extra.fields).filter(|(_, value)| !is_nothing(value));
    let names = fields.map(|(key, _)| key.as_str()).filter(|key| BESIDE.contains(key));
    names.map(str::to_owned).collect()
}

/// Whether a member has nothing in it that could be lost.
fn is_nothing(value: &Raw) -> bool {
    matches!(value.as_str(), "null" | "[]")
}

fn extra(block: &Block) -> Option<&Extra> {
    match block {
        Block::Media(it) => Some(&it.extra),
        Block::Text(it) => Some(&it.extra),
        Block::Thinking(it) => Some(&it.extra),
        Block::ToolCall(it) => Some(&it.extra),
        Block::ToolResponse(it) => Some(&it.extra),
        Block::Other(_) => None,
    }
}

struct Names<'t> {
    target: &'t str,
    all: Vec<String>,
}

impl Names<'_> {
    fn content(&mut self, content: &Content) {
        self.extra(&content.extra);
        for extra in content.blocks.iter().filter_map(extra) {
            self.extra(extra);
        }
    }

    fn request(&mut self, extra: &Extra) {
        if extra.wire == Some(self.target) {
            return;
        }
        for (key, value) in &extra.fields {
            if HOLDERS.contains(&key.as_str()) {
                let doc = value.doc();
                doc.root().entries().for_each(|(key, _)| self.name(&key));
            } else {
                self.name(key);
            }
        }
    }

    /// Chat keeps unknown members of a function in an object of its own.
    fn tool(&mut self, extra: &Extra) {
        self.extra(extra);
        let function = extra.fields.iter().find(|(key, _)| key == "function");
        if let Some((_, function)) = function.filter(|_| extra.wire != Some(self.target)) {
            let doc = function.doc();
            doc.root().entries().for_each(|(key, _)| self.name(&key));
        }
    }

    fn extra(&mut self, extra: &Extra) {
        if extra.wire != Some(self.target) {
            let said = extra.fields.iter().filter(|(_, value)| !is_nothing(value));
            said.for_each(|(key, _)| self.name(key));
        }
    }

    fn name(&mut self, name: &str) {
        if !SPELLING.contains(&name) && !self.all.iter().any(|known| known == name) {
            self.all.push(name.to_owned());
        }
    }
}
