//! Sends a stored conversation to an editor, with the same updates as when it was held.

use super::show::Show;
use crate::agent::{Called, Watch as _};
use crate::instructions::without_changes;
use crate::tools::Toolbox;
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Media, Speaker, ToolCall, ToolResponse};

/// Sends all visible parts of a conversation, with thoughts in their places.
pub(super) async fn replay(show: &mut Show<'_>, tools: &Toolbox, contents: &[Content]) {
    let mut calls = Vec::new();
    for content in contents {
        match content.speaker {
            Speaker::Human => {
                drop_all(show, &mut calls);
                content.blocks.iter().for_each(|block| asked(show, block));
            }
            Speaker::Ai => {
                drop_all(show, &mut calls);
                calls = answered(show, tools, content).await;
            }
            Speaker::Tool => gave(show, &mut calls, content),
            // Instructions are for the model only.
            Speaker::System => {}
        }
    }
    drop_all(show, &mut calls);
}

/// A call that has no result yet, and its place in its answer.
type Open = (usize, ToolCall);

fn asked(show: &mut Show<'_>, block: &Block) {
    const KIND: &str = "user_message_chunk";
    match block {
        Block::Text(text) => show.chunk(KIND, without_changes(&text.text)),
        Block::Media(media) => show.chunk(KIND, &format!("[{}]", media.media_type)),
        Block::Other(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {}
    }
}

async fn answered(show: &mut Show<'_>, tools: &Toolbox, content: &Content) -> Vec<Open> {
    show.next_round();
    let mut calls: Vec<Open> = Vec::new();
    for block in &content.blocks {
        match block {
            Block::Thinking(thinking) => {
                show.begin();
                show.end_thought(thinking, Some(&thinking.thought));
            }
            Block::Text(text) => show.chunk("agent_message_chunk", &text.text),
            Block::ToolCall(call) => {
                let (kind, title) = tools.describe(call).await;
                show.call_weighed(0, calls.len(), call, (kind, &title));
                calls.push((calls.len(), call.clone()));
            }
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }
    show.added(0, content);
    calls
}

fn gave(show: &mut Show<'_>, calls: &mut Vec<Open>, content: &Content) {
    let media = |block: &Block| match block {
        Block::Media(media) => Some(media.clone()),
        _ => None,
    };
    let media: Vec<Media> = content.blocks.iter().filter_map(media).collect();
    for block in &content.blocks {
        let Block::ToolResponse(response) = block else { continue };
        let Some((index, call)) = take(calls, response) else { continue };
        let (response, media) = (response.clone(), media.clone());
        let called =
            Called { call, response, media, change: None, is_refused: false, took: Duration::ZERO };
        show.call_finished(0, index, &called);
    }
}

/// The call that a result belongs to: the call with the same id, or else the first one.
fn take(calls: &mut Vec<Open>, response: &ToolResponse) -> Option<Open> {
    let of_id = |(_, call): &Open| call.id.is_some() && call.id == response.call_id;
    let at = calls.iter().position(of_id).unwrap_or_default();
    (at < calls.len()).then(|| calls.remove(at))
}

/// Calls that were never answered must not look as if they still ran.
fn drop_all(show: &Show<'_>, calls: &mut Vec<Open>) {
    calls.drain(..).for_each(|(index, _)| show.call_dropped(index));
}
