//! `think sessions show`

use crate::command::candidates;
use crate::config::Config;
use crate::failure::Failure;
use crate::masking;
use crate::printed::for_output;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use std::io::Write;
use thinkthrough_chat::answer_start::from_first_line;
use thinkthrough_chat::counted::{tokens, withheld};
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::shape::write_content;
use thinkthrough_json::Writer;
use thinkthrough_store::Conversation;

/// Show a conversation with every thought
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The conversation
    #[arg(value_name = "ID", add = ArgValueCompleter::new(candidates::sessions))]
    id: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let mut whole = super::load(config, &self.id, shows).await?;
        let cover = masking::of_output(config)?;
        whole.contents.iter_mut().for_each(|content| *content = cover.content(content));
        whole.meta.title = whole.meta.title.map(|title| cover.text(&title).into_owned());
        if self.json {
            writeln!(out, "{}", for_output(&as_json(&whole)))?;
            return Ok(());
        }
        as_text(&whole, out)
    }
}

fn as_json(whole: &Conversation) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("id", whole.id.as_str());
        w.str_or_null("title", whole.meta.title.as_deref());
        w.str_or_null("model", whole.meta.state.model.as_deref());
        w.field_u64("updatedAt", whole.updated_at);
        if let Some(fork) = &whole.meta.fork {
            w.field_str("forkedFrom", &fork.from);
            w.field_u64("forkedAt", fork.at.into());
        }
        w.key("contents").array(|w| whole.contents.iter().for_each(|it| write_content(w, it)));
        w.key("damaged").array(|w| whole.damaged.iter().for_each(|at| w.u64((*at).into())));
    });
    w.finish()
}

fn as_text(whole: &Conversation, out: &mut dyn Write) -> Result<(), Failure> {
    let title = whole.meta.title.as_deref().unwrap_or("(untitled)");
    writeln!(out, "{} [{}]", harmless(title), whole.id)?;
    for content in &whole.contents {
        let partial = if content.partial { ", broken off" } else { "" };
        writeln!(out, "\n{}{partial}:", speaker(content))?;
        for block in &content.blocks {
            let text = in_words(block);
            let text = if content.speaker == Speaker::Ai { from_first_line(&text) } else { &text };
            writeln!(out, "{}", harmless(text.trim_end_matches('\n')))?;
        }
        if let Some(count) = withheld(content) {
            writeln!(out, "  ~ The provider withheld the text of a thought of {}.", tokens(count))?;
        }
    }
    Ok(())
}

fn speaker(content: &Content) -> String {
    match (content.speaker, &content.origin) {
        (Speaker::Ai, Some(origin)) => harmless(&format!("{}/{}", origin.provider, origin.model)),
        (Speaker::Ai, None) => "model".to_owned(),
        (Speaker::Human, _) => "you".to_owned(),
        (Speaker::System, _) => "system".to_owned(),
        (Speaker::Tool, _) => "tool".to_owned(),
    }
}

fn in_words(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::Thinking(thinking) if thinking.is_withheld() => {
            "  ~ The provider withheld the text of a thought.".to_owned()
        }
        Block::Thinking(thinking) => {
            let lines: Vec<String> =
                thinking.thought.lines().map(|line| format!("  ~ {line}")).collect();
            lines.join("\n")
        }
        Block::ToolCall(call) => format!("-> {}({})", call.name, call.parameters.as_text()),
        Block::ToolResponse(response) => {
            let text = response.result.text();
            let failed = if response.is_error { "failed: " } else { "" };
            format!("<- {failed}{text}")
        }
        Block::Media(media) => format!("[{}]", media.media_type),
        Block::Other(other) => format!("[{}] {}", other.kind, other.raw),
    }
}
