//! Conversations from Markdown.

use super::lines::{
    CALLOUTS, DETAILS_END, FENCE, MARK, MARK_END, closes_fence, is_structural, opens_details,
    show_details, speaker, unescape, unhide, unquote_returns,
};
use super::{Exported, ImportError};
use thinkthrough_core::content::{Block, Content, Parameters, Text, Thinking};
use thinkthrough_core::shape::{ShapeError, read_block, read_content, read_result};
use thinkthrough_json::{Doc, Raw, Val};

/// Reads a conversation that [`to_markdown`](super::to_markdown) wrote, or that a person wrote in the same form.
/// Without the comments, a thought or a tool call has only its visible text.
///
/// # Errors
/// When one of our comments is damaged, or a block comes before the first message. The error has the line's number.
pub fn from_markdown(text: &str) -> Result<Exported, ImportError> {
    let mut reader = Reader { lines: split(text), at: 0, exported: Exported::default() };
    reader.title();
    while reader.at < reader.lines.len() {
        reader.next()?;
    }
    Ok(reader.exported)
}

/// The lines of a page; the line feed at its very end belongs to the last line.
fn split(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    at: usize,
    exported: Exported,
}

impl<'t> Reader<'t> {
    /// Reads the first heading, and skips other lines before the first message.
    fn title(&mut self) {
        while let Some(line) = self.peek().filter(|line| !is_structural(line)) {
            if self.exported.title.is_none() {
                self.exported.title = line.strip_prefix("# ").map(|title| title.trim().to_owned());
            }
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Result<(), ImportError> {
        let Some(line) = self.peek() else { return Ok(()) };
        if line.is_empty() {
            self.at += 1;
            return Ok(());
        }
        if let Some(speaker) = speaker(line) {
            self.at += 1;
            self.exported.contents.push(Content::new(speaker, Vec::new()));
            return Ok(());
        }
        if let Some(mark) = line.strip_prefix(MARK) {
            return self.marked(mark);
        }
        let first = self.at;
        let block = self.unmarked(line)?;
        self.add(block, first)
    }

    /// Reads one of our comments, and the message or block that it belongs to.
    fn marked(&mut self, mark: &str) -> Result<(), ImportError> {
        let first = self.at;
        let bad = |message: String| ImportError { line: first + 1, message };
        let (kind, json) = mark
            .trim_end()
            .strip_suffix(MARK_END)
            .and_then(|mark| mark.split_once(' '))
            .ok_or_else(|| bad("the comment is damaged".to_owned()))?;
        let json = unhide(json);
        let doc = Doc::parse_str(&json).map_err(|error| bad(error.to_string()))?;
        let shape = |error: ShapeError| bad(error.to_string());
        self.at += 1;
        if kind == "message" {
            let content = read_content(doc.root()).map_err(shape)?;
            if self.peek().and_then(speaker) != Some(content.speaker) {
                return Err(bad("the comment belongs to a heading that is not there".to_owned()));
            }
            self.at += 1;
            self.exported.contents.push(content);
            return Ok(());
        }
        let mut block = read_block(doc.root(), kind).map_err(shape)?;
        self.fill(&mut block, doc.root()).map_err(bad)?;
        self.add(block, first)
    }

    /// Completes a block from the visible part of the page. Its other fields came from a comment.
    fn fill(&mut self, block: &mut Block, json: Val<'_>) -> Result<(), String> {
        match block {
            Block::Text(text) => text.text = self.text(true),
            Block::Thinking(thinking) => thinking.thought = self.thought()?,
            Block::ToolCall(call) => {
                let body = self.callout()?;
                call.parameters = match call.parameters {
                    Parameters::Free(_) => Parameters::Free(body),
                    Parameters::Invalid(_) => Parameters::Invalid(body),
                    Parameters::Json(_) => Parameters::from_text(&body),
                };
            }
            Block::ToolResponse(response) => {
                let body = self.callout()?;
                response.result = if json.get("result").is_some_and(Val::is_null) {
                    let raw = Raw::parse(&body);
                    let raw = raw.map_err(|error| format!("the result is no JSON: {error}"))?;
                    read_result(raw.doc().root())
                } else {
                    Raw::string(&body).into()
                };
            }
            Block::Media(_) | Block::Other(_) => {
                self.callout()?;
            }
        }
        Ok(())
    }

    /// Reads a block without a comment.
    fn unmarked(&mut self, line: &str) -> Result<Block, ImportError> {
        let first = self.at;
        let bad = |message: String| ImportError { line: first + 1, message };
        let is_thought = line.starts_with("> [!thinking]") || opens_details(line);
        if is_thought || line.trim_end() == FENCE {
            let thought = self.thought().map_err(bad)?;
            return Ok(Block::Thinking(Thinking::new(thought, "think_tags")));
        }
        if CALLOUTS.iter().any(|callout| line.starts_with(callout)) {
            let what = "a tool call, a result or media needs its comment in front of it";
            return Err(bad(what.to_owned()));
        }
        Ok(Block::Text(Text::new(self.text(false))))
    }

    fn add(&mut self, block: Block, line: usize) -> Result<(), ImportError> {
        let content = self.exported.contents.last_mut().ok_or_else(|| ImportError {
            line: line + 1,
            message: "no heading like `## You` or `## Model` opens a message before it".to_owned(),
        })?;
        content.blocks.push(block);
        Ok(())
    }

    /// Text up to the next line of structure. `exact` keeps the line feeds at its ends, except the empty line after
    /// each block.
    fn text(&mut self, exact: bool) -> String {
        let mut lines = Vec::new();
        while let Some(line) = self.peek().filter(|line| !is_structural(line)) {
            lines.push(unescape(line, is_structural));
            self.at += 1;
        }
        if exact {
            if self.at < self.lines.len() {
                lines.pop();
            }
            return lines.join("\n");
        }
        lines.join("\n").trim_matches('\n').to_owned()
    }

    fn thought(&mut self) -> Result<String, String> {
        let Some(line) = self.peek() else { return Err("the thought is missing".to_owned()) };
        if line.trim_end() == FENCE {
            let end = |line: &str| closes_fence(line);
            let lines = self.enclosed(end, "---/thinking---")?;
            let lines = lines.into_iter().map(|line| unescape(line, closes_fence));
            return Ok(lines.collect::<Vec<_>>().join("\n"));
        }
        if opens_details(line) {
            let lines = self.enclosed(|line| line.trim_end() == DETAILS_END, DETAILS_END)?;
            let body = lines.join("\n");
            let body = body.strip_prefix('\n').unwrap_or(&body);
            return Ok(show_details(body.strip_suffix('\n').unwrap_or(body)));
        }
        self.callout()
    }

    /// The lines after the current one, up to the line that ends them.
    fn enclosed(&mut self, is_end: fn(&str) -> bool, name: &str) -> Result<Vec<&'t str>, String> {
        let from = self.at + 1;
        let rest = self.lines.get(from..).unwrap_or_default();
        let len = rest
            .iter()
            .position(|line| is_end(line))
            .ok_or_else(|| format!("the thought has no `{name}`"))?;
        self.at = from + len + 1;
        Ok(rest.get(..len).unwrap_or_default().to_vec())
    }

    fn callout(&mut self) -> Result<String, String> {
        let is_callout = |line: &str| CALLOUTS.iter().any(|callout| line.starts_with(callout));
        if !self.peek().is_some_and(is_callout) {
            return Err("the comment belongs to a block that is not there".to_owned());
        }
        self.at += 1;
        let mut lines = Vec::new();
        while let Some(line) = self.peek().and_then(|line| line.strip_prefix('>')) {
            lines.push(unquote_returns(line.strip_prefix(' ').unwrap_or(line)));
            self.at += 1;
        }
        Ok(lines.join("\n"))
    }
}
