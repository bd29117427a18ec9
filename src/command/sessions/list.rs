//! `think sessions list`

use crate::command::asking::env;
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::masking;
use crate::printed::for_output;
use clap::Args;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::{ago, short_path};
use thinkthrough_json::Writer;
use thinkthrough_store::Summary;

/// List conversations, the latest first
#[derive(Debug, Args)]
pub(super) struct List {
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print a JSON array; `updatedAt` is in Unix milliseconds
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(&self, config: &Config, out: &mut dyn Write) -> Result<(), Failure> {
        let mut list = match super::existing(config).await? {
            Some(conversations) => conversations.list().await?,
            None => Vec::new(),
        };
        list.truncate(self.limit.unwrap_or(usize::MAX));
        let cover = masking::of_output(config)?;
        for summary in &mut list {
            let title = summary.meta.title.take();
            summary.meta.title = title.map(|title| cover.text(&title).into_owned());
        }
        if self.json {
            let mut w = Writer::new();
            w.array(|w| list.iter().for_each(|summary| write(w, summary)));
            writeln!(out, "{}", for_output(&w.finish()))?;
            return Ok(());
        }
        if list.is_empty() {
            say(format_args!("there is no conversation yet"));
        }
        let home = env("HOME");
        let here = std::env::current_dir().unwrap_or_default().display().to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for summary in &list {
            let age = ago(now.saturating_sub(summary.updated_at / 1000));
            let title = summary.meta.title.as_deref().unwrap_or("(untitled)");
            let model = summary.meta.state.model.as_deref().unwrap_or("-");
            let (title, model) = (harmless(title), harmless(model));
            let title = title.lines().next().unwrap_or_default();
            let (id, messages) = (&summary.id, summary.messages);
            let folder = summary.meta.folder.as_deref().filter(|folder| *folder != here);
            let folder = folder.map(|it| short_path(it, home.as_deref()));
            let folder = folder.map_or_else(String::new, |it| format!("  in {}", harmless(&it)));
            writeln!(out, "{id}  {age:>10}  {messages:>5} messages  {model}  {title}{folder}")?;
        }
        Ok(())
    }
}

fn write(w: &mut Writer, summary: &Summary) {
    w.object(|w| {
        w.field_str("id", summary.id.as_str());
        w.str_or_null("title", summary.meta.title.as_deref());
        w.str_or_null("model", summary.meta.state.model.as_deref());
        w.str_or_null("folder", summary.meta.folder.as_deref());
        w.field_u64("messages", summary.messages.into());
        w.field_u64("updatedAt", summary.updated_at);
    });
}
