//! Conversations as Markdown.

use super::lines::{
    DETAILS, DETAILS_END, FENCE, FENCE_END, MARK, MARK_END, SUMMARY_END, closes_fence, escape,
    heading, hide, hide_details, is_structural, quote_returns,
};
use super::{Exported, ThoughtForm, label};
use crate::counted::counts;
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Other, Parameters, Text, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::shape::{write_block, write_content, write_result};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_json::{Raw, Writer};

/// The conversation as Markdown, with thoughts in `form`.
///
/// A page is a title, a heading for each message, and its blocks: text as it is, everything else as a callout. Data
/// that Markdown cannot express (ids, signatures, origins) is in comments in front of its message or block.
#[must_use]
pub fn to_markdown(exported: &Exported, form: ThoughtForm) -> String {
    let mut page = Page { text: String::new(), form };
    if let Some(title) = &exported.title {
        page.piece(&format!("# {}", title.lines().collect::<Vec<_>>().join(" ")));
    }
    exported.contents.iter().for_each(|content| page.content(content));
    page.text
}

struct Page {
    text: String,
    form: ThoughtForm,
}

impl Page {
    /// Adds lines, after an empty one unless the page is empty.
    fn piece(&mut self, lines: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(lines);
        self.text.push('\n');
    }

    fn content(&mut self, content: &Content) {
        let bare = Content { blocks: Vec::new(), ..content.clone() };
        let mut lines = String::new();
        if bare != Content::new(content.speaker, Vec::new()) {
            lines = mark("message", |w| write_content(w, &bare));
            lines.push('\n');
        }
        lines.push_str(heading(content.speaker));
        self.piece(&lines);
        let mut follows_text = false;
        for (block, count) in content.blocks.iter().zip(counts(content)) {
            let lines = self.block((block, count), follows_text);
            self.piece(&lines);
            follows_text = matches!(block, Block::Text(_));
        }
    }

    fn block(&self, (block, count): (&Block, Option<TokenCount>), follows_text: bool) -> String {
        match block {
            Block::Text(text) => text_lines(text, follows_text),
            Block::Thinking(thinking) => self.thinking(thinking, count),
            Block::ToolCall(call) => tool_call(call),
            Block::ToolResponse(response) => tool_response(response),
            Block::Media(media) => media_lines(media),
            Block::Other(other) => other_lines(other),
        }
    }

    fn thinking(&self, thinking: &Thinking, count: Option<TokenCount>) -> String {
        let bare = Thinking { thought: String::new(), ..thinking.clone() };
        let (title, thought) = (one_line(&label(thinking, count)), thinking.thought.as_str());
        let body = match self.form {
            ThoughtForm::Callout => callout("> [!thinking]-", &title, thought),
            ThoughtForm::Details => {
                let thought = hide_details(thought);
                format!("{DETAILS}{title}{SUMMARY_END}\n\n{thought}\n\n{DETAILS_END}")
            }
            ThoughtForm::Fenced => {
                let mut body = format!("{FENCE}\n");
                for line in thought.split('\n').filter(|_| !thought.is_empty()) {
                    escape(line, closes_fence, &mut body);
                    body.push('\n');
                }
                body + FENCE_END
            }
        };
        marked(&Block::Thinking(bare), &body)
    }
}

/// Text as it is. It needs a comment if the space around it would hide where it ends.
fn text_lines(text: &Text, follows_text: bool) -> String {
    let mut body = String::with_capacity(text.text.len());
    for (at, line) in text.text.split('\n').enumerate() {
        if at > 0 {
            body.push('\n');
        }
        escape(line, is_structural, &mut body);
    }
    let has_clear_ends = text.text.trim_matches('\n').len() == text.text.len();
    let is_plain = *text == Text::new(text.text.clone());
    if is_plain && has_clear_ends && !text.text.is_empty() && !follows_text {
        return body;
    }
    marked(&Block::Text(Text { text: String::new(), ..text.clone() }), &body)
}

fn tool_call(call: &ToolCall) -> String {
    let parameters = match &call.parameters {
        Parameters::Json(_) => Parameters::default(),
        Parameters::Free(_) => Parameters::Free(String::new()),
        Parameters::Invalid(_) => Parameters::Invalid(String::new()),
    };
    let bare = Block::ToolCall(ToolCall { parameters, ..call.clone() });
    marked(&bare, &callout("> [!tool]-", &one_line(&call.name), call.parameters.as_text()))
}

fn tool_response(response: &ToolResponse) -> String {
    let raw = Raw::build(|w| write_result(w, &response.result));
    let text = raw.doc().root().as_str().map(std::borrow::Cow::into_owned);
    // A string can be shown as text only if this writer would write it the same way, so that it is read back
    // unchanged.
    let text = text.filter(|text| Raw::string(text) == raw);
    let shown = text.as_deref().unwrap_or(raw.as_str());
    let kind = if text.is_some() { Raw::string("") } else { Raw::null() };
    let bare = Block::ToolResponse(ToolResponse { result: kind.into(), ..response.clone() });
    let title = one_line(response.name.as_deref().unwrap_or("result"));
    let title = if response.is_error { format!("{title} (failed)") } else { title };
    marked(&bare, &callout("> [!result]-", &title, shown))
}

fn media_lines(media: &Media) -> String {
    let shown = match &media.source {
        MediaSource::Url(url) => one_line(url),
        MediaSource::Data(data) => format!("{} characters of base64", data.len()),
    };
    marked(
        &Block::Media(media.clone()),
        &callout("> [!media]-", &one_line(&media.media_type), &shown),
    )
}

fn other_lines(other: &Other) -> String {
    let title = one_line(&other.kind);
    marked(&Block::Other(other.clone()), &callout("> [!other]-", &title, ""))
}

/// The visible lines of a block, after a comment with its other fields.
fn marked(bare: &Block, body: &str) -> String {
    let mut lines = mark("block", |w| write_block(w, bare));
    lines.push('\n');
    lines.push_str(body);
    lines
}

fn mark(kind: &str, write: impl FnOnce(&mut Writer)) -> String {
    let mut json = Writer::new();
    write(&mut json);
    format!("{MARK}{kind} {}{MARK_END}", hide(&json.finish_line()))
}

fn callout(opening: &str, title: &str, body: &str) -> String {
    let mut lines = format!("{opening} {title}");
    for line in body.split('\n').filter(|_| !body.is_empty()) {
        lines.push_str(if line.is_empty() { "\n>" } else { "\n> " });
        quote_returns(line, &mut lines);
    }
    lines
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}
