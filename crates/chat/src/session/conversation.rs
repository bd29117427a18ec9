//! The conversation of a session: all messages, and the part of them for requests.

use super::message::{Compression, Stored};
use crate::counted;
use std::sync::Arc;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::tokens::estimate_conservative;

/// A conversation. Its messages never change; a compression only replaces some of them in requests.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The id in the store, if the conversation is stored.
    pub id: Option<String>,
    /// The title.
    pub title: Option<String>,
    contents: Arc<Vec<Content>>,
    compressions: Vec<Compression>,
}

/// The effect of a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The index of the first message that is not summarised.
    pub upto: usize,
    /// The number of messages that the summary replaces. An earlier summary replaces more.
    pub summarised: usize,
    /// The number of messages that stay.
    pub stays: usize,
    /// Estimated tokens of the summarised messages.
    pub tokens: u64,
}

impl Conversation {
    /// A conversation from the store.
    #[must_use]
    pub fn stored(stored: Stored) -> Self {
        let Stored { id, title, contents, mut compressions, .. } = stored;
        compressions.retain(|it| it.upto <= it.made_at && it.made_at <= contents.len());
        let id = Some(id).filter(|id| !id.is_empty());
        Conversation { id, title, contents: Arc::new(contents), compressions }
    }

    /// All messages.
    #[must_use]
    pub fn contents(&self) -> &Arc<Vec<Content>> {
        &self.contents
    }

    /// Adds a message.
    pub fn push(&mut self, content: Content) {
        Arc::make_mut(&mut self.contents).push(content);
    }

    /// Removes all messages after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        Arc::make_mut(&mut self.contents).truncate(len);
        self.compressions.retain(|it| it.made_at <= len);
    }

    /// The compression in effect.
    #[must_use]
    pub fn compression(&self) -> Option<&Compression> {
        self.compressions.last()
    }

    /// Replaces the messages before `upto` by a summary in further requests.
    pub fn compress(&mut self, upto: usize, summary: String) -> Compression {
        let compression = Compression { upto, made_at: self.contents.len(), summary };
        self.compressions.push(compression.clone());
        compression
    }

    /// Removes the last compression, if there is one.
    pub fn decompress(&mut self) -> bool {
        self.compressions.pop().is_some()
    }

    /// The number of system messages at the start. A summary never replaces them.
    fn instructions(&self) -> usize {
        self.contents.iter().take_while(|it| it.speaker == Speaker::System).count()
    }

    /// Index of the first message that is neither an instruction nor summarised.
    fn start(&self) -> usize {
        self.compression().map_or(0, |it| it.upto).max(self.instructions())
    }

    /// The messages for a request: the instructions, the summary if there is one, and the messages after it.
    ///
    /// A thought that is bound to all messages before it is invalid behind a summary. If the contract binds thoughts,
    /// all thoughts from before the compression are left out, so that no thought is missing between two sent ones.
    #[must_use]
    pub fn sent(&self, contract: &Contract) -> Vec<Content> {
        let Some(compression) = self.compression() else { return self.contents.to_vec() };
        let Compression { made_at, summary, .. } = compression;
        let text = format!("A summary of the conversation until here:\n\n{summary}");
        let mut sent: Vec<Content> =
            self.contents.iter().take(self.instructions()).cloned().collect();
        sent.push(Content::text(Speaker::System, text));
        for (index, content) in self.contents.iter().enumerate().skip(self.start()) {
            let mut content = content.clone();
            if contract.bound && index < *made_at {
                unbind(&mut content);
            }
            sent.push(content);
        }
        sent
    }

    /// Plans a compression. The last turn stays, and as many turns before it as fit into `room` tokens. Returns
    /// `None` if there is no turn to summarise.
    #[must_use]
    pub fn plan(&self, room: u64) -> Option<Plan> {
        let start = self.start();
        let mut upto = None;
        let (mut kept, mut tokens) = (0_u64, 0_u64);
        for (index, content) in self.contents.iter().enumerate().skip(start).rev() {
            let cost = estimate(content);
            tokens = tokens.saturating_add(cost);
            let fits = upto.is_none() || tokens <= room;
            if content.speaker == Speaker::Human && fits && index > start {
                upto = Some(index);
                kept = tokens;
            }
        }
        let upto = upto?;
        Some(Plan {
            upto,
            summarised: upto - start,
            stays: self.contents.len() - upto,
            tokens: tokens.saturating_sub(kept),
        })
    }

    /// The prompt for the utility model: the visible text before `upto`, and an earlier summary.
    #[must_use]
    pub fn to_summarise(&self, upto: usize) -> String {
        let mut text = String::from(
            "Summarise this conversation so that it can go on without its text. Keep facts, decisions, names, paths, \
             open questions and what the user wants, and leave out everything else.\n",
        );
        let start = self.start();
        if let Some(compression) = self.compression() {
            text.push_str(&format!("\n[summary of what came before]\n{}\n", compression.summary));
        }
        for content in self.contents.iter().take(upto).skip(start) {
            say(content, &mut text);
        }
        text
    }

    /// Reasoning tokens of the conversation, with estimates for answers without a reported count.
    #[must_use]
    pub fn reasoning_tokens(&self) -> u64 {
        counted::sum(self.contents.iter().map(counted::of)).tokens
    }
}

fn estimate(content: &Content) -> u64 {
    let tokens = |block: &Block| match block {
        Block::Text(text) => estimate_conservative(&text.text),
        Block::Thinking(thinking) => estimate_conservative(&thinking.thought),
        Block::ToolCall(call) => estimate_conservative(call.parameters.as_text()),
        Block::ToolResponse(response) => estimate_conservative(&response.result.text()),
        Block::Other(other) => estimate_conservative(other.raw.as_str()),
        Block::Media(_) => 0,
    };
    content.blocks.iter().map(tokens).fold(4, u64::saturating_add)
}

fn unbind(content: &mut Content) {
    content.blocks.retain_mut(|block| {
        match block {
            Block::Thinking(_) => return false,
            Block::Text(text) => text.signature = None,
            Block::ToolCall(call) => call.signature = None,
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
        }
        true
    });
}

fn say(content: &Content, text: &mut String) {
    let who = match content.speaker {
        Speaker::Ai => "assistant",
        Speaker::Human => "user",
        Speaker::System => "system",
        Speaker::Tool => "tool",
    };
    for block in &content.blocks {
        let said = match block {
            Block::Text(said) => said.text.clone(),
            Block::ToolCall(call) => format!("calls {} {}", call.name, call.parameters.as_text()),
            Block::ToolResponse(response) => response.result.text(),
            Block::Media(_) | Block::Other(_) | Block::Thinking(_) => continue,
        };
        text.push_str(&format!("\n[{who}]\n{said}\n"));
    }
}
