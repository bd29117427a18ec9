//! Messages as entries of the transcript.

use crate::attachment::shown;
use crate::counted::{counts, withheld};
use crate::screen::model::{
    Body, EntryId, Level, Thought, ThoughtState, Tool, ToolState, Transcript,
};
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Speaker, Thinking, ToolCall, ToolResponse};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_json::Val;

/// Adds earlier messages to the transcript.
pub(super) fn show(contents: &[Content], transcript: &mut Transcript) {
    let mut calls: Vec<(Option<String>, EntryId)> = Vec::new();
    for content in contents {
        if content.speaker == Speaker::Ai {
            calls.clear();
        }
        for (block, count) in content.blocks.iter().zip(counts(content)) {
            show_block(content, (block, count), &mut calls, transcript);
        }
        show_without_thought(content, transcript);
        if content.partial {
            let text = "this answer was not finished; what came is kept".to_owned();
            transcript.push(Body::Notice(Level::Info, text));
        }
    }
    // A call without a result at this point will never get one.
    for (_, id) in calls {
        transcript.edit(id, |body| {
            if let Body::Tool(tool) = body
                && tool.state == ToolState::Running
            {
                tool.set_result("it was not run", ToolState::Denied);
            }
        });
    }
}

/// Shows the effort behind an answer without a thought. If the provider withheld a thought, the head has its number of
/// tokens, too.
pub(super) fn show_without_thought(content: &Content, transcript: &mut Transcript) {
    let tokens = withheld(content);
    let has_effort = content.effort.is_some() && !content.visible_text().is_empty();
    if tokens.is_none() && !has_effort {
        return;
    }
    let state = if tokens.is_some() { ThoughtState::Withheld } else { ThoughtState::Absent };
    let mut thought = Thought::stored(String::new(), state, None);
    (thought.tokens, thought.effort) = (tokens, content.effort.clone());
    transcript.push(Body::Thought(thought));
}

fn show_block(
    content: &Content,
    (block, count): (&Block, Option<TokenCount>),
    calls: &mut Vec<(Option<String>, EntryId)>,
    transcript: &mut Transcript,
) {
    match block {
        Block::Text(text) if text.text.is_empty() => {}
        Block::Text(text) => {
            let text = text.text.clone();
            transcript.push(match content.speaker {
                Speaker::Ai | Speaker::Tool => Body::Answer(text),
                Speaker::Human => Body::User(shown(&text)),
                Speaker::System => Body::Notice(Level::Info, shown(&text)),
            });
        }
        Block::Thinking(thinking) => {
            transcript.push(Body::Thought(thought(thinking, count)));
        }
        Block::ToolCall(call) => {
            let id = transcript.push(Body::Tool(tool(call)));
            calls.push((call.id.clone(), id));
        }
        Block::ToolResponse(response) => {
            let at = calls.iter().position(|(id, _)| *id == response.call_id);
            if let Some(at) = at {
                let (_, id) = calls.remove(at);
                let state = if response.is_error { ToolState::Error } else { ToolState::Ok };
                give(transcript, id, response, state);
            }
        }
        Block::Media(media) => {
            transcript.push(Body::Notice(Level::Info, format!("[{}]", media.media_type)));
        }
        Block::Other(other) => {
            transcript.push(Body::Notice(Level::Info, format!("[{}]", other.kind)));
        }
    }
}

fn thought(thinking: &Thinking, tokens: Option<TokenCount>) -> Thought {
    let state = if thinking.partial {
        ThoughtState::Partial
    } else if thinking.is_withheld() {
        ThoughtState::Withheld
    } else {
        ThoughtState::Done
    };
    let spent = thinking.duration_ms.map(Duration::from_millis);
    let mut thought = Thought::stored(thinking.thought.clone(), state, spent);
    thought.effort.clone_from(&thinking.effort);
    thought.tokens = tokens;
    thought
}

/// A running call.
pub(super) fn tool(call: &ToolCall) -> Tool {
    let mut tool = Tool::call(call.name.clone(), summary(call));
    call.parameters.as_text().clone_into(&mut tool.arguments);
    tool
}

/// Adds a result to its call.
pub(super) fn give(
    transcript: &mut Transcript,
    id: EntryId,
    response: &ToolResponse,
    state: ToolState,
) {
    let text = text_of(response);
    let is_diff = text.lines().any(|line| line.starts_with("@@ "));
    transcript.edit(id, |body| {
        if let Body::Tool(tool) = body {
            if is_diff {
                "diff".clone_into(&mut tool.language);
            }
            tool.set_result(text, state);
        }
    });
}

fn text_of(response: &ToolResponse) -> String {
    response.result.text()
}

/// The first argument that is a text: a path, a pattern, a command.
fn summary(call: &ToolCall) -> String {
    use thinkthrough_core::content::Parameters;
    match &call.parameters {
        Parameters::Json(raw) => {
            let doc = raw.doc();
            let word = |(_, value): (_, Val<'_>)| value.as_str().map(std::borrow::Cow::into_owned);
            let first = doc.root().entries().find_map(word);
            first.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
        }
        Parameters::Free(text) | Parameters::Invalid(text) => {
            text.lines().next().unwrap_or_default().to_owned()
        }
    }
}
