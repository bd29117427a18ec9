//! `/status` and `/cost`.

use super::super::Session;
use crate::screen::model::Level;
use crate::wording::grouped;
use std::fmt::Write as _;
use thinkthrough_core::settings::Key;
use thinkthrough_core::usage::Usage;

pub(super) fn status(session: &mut Session, _: &str) {
    let mut text = String::new();
    for (at, (name, value)) in session.status().into_iter().enumerate() {
        let _ = writeln!(text, "| {name} | {} |", value.replace('|', "\\|"));
        // The first row is the head of the table.
        if at == 0 {
            text.push_str("| --- | --- |\n");
        }
    }
    session.show_page("Status", text);
}

pub(super) fn cost(session: &mut Session, _: &str) {
    let mut text = match session.cost.shown() {
        Some(cost) if cost.ends_with('+') => {
            format!("this conversation has cost {cost}; the price of some answers is not known")
        }
        Some(cost) => format!("this conversation has cost {cost}"),
        None => "no price is known for this conversation".to_owned(),
    };
    let contents = session.conversation().contents();
    let usages: Vec<&Usage> = contents.iter().filter_map(|it| it.usage.as_ref()).collect();
    if usages.is_empty() {
        text.push_str("; no answer has reported its tokens yet");
    } else {
        let sum = |count: fn(&Usage) -> Option<u64>| {
            grouped(usages.iter().filter_map(|usage| count(usage)).fold(0, u64::saturating_add))
        };
        let plural = if usages.len() == 1 { "" } else { "s" };
        let _ = write!(
            text,
            "; tokens of {} answer{plural}: {} in, {} of them from a cache, {} out, {} of them reasoning",
            usages.len(),
            sum(|it| it.input_tokens),
            sum(|it| it.cache_read_tokens),
            sum(|it| it.output_tokens),
            sum(|it| it.reasoning_tokens),
        );
    }
    session.notice(Level::Info, text);
}

impl Session {
    fn status(&self) -> Vec<(&'static str, String)> {
        let resolved = self.layers.resolve();
        let setting = |key: Key| {
            let (value, source) = resolved.get(key);
            format!("{value} ({})", source.as_str())
        };
        let target = &self.model.target;
        let request = match (self.count.map(|it| grouped(it.tokens)), self.model.limit()) {
            (None, _) => "not counted yet".to_owned(),
            (Some(tokens), Some(limit)) => format!("{tokens} of {} tokens", grouped(limit)),
            (Some(tokens), None) => {
                format!("{tokens} tokens; the size of the context window is not known")
            }
        };
        let conversation = self.conversation();
        let title = conversation.title.as_deref().unwrap_or("untitled");
        let held = match &conversation.id {
            Some(id) => format!("{}, `{id}`", self.cover.text(title)),
            None => "nothing is stored yet".to_owned(),
        };
        vec![
            ("model", format!("`{}`", self.model.name)),
            ("chosen", self.model.why.clone()),
            ("wire", format!("{} at `{}`", target.wire.id(), target.base_url)),
            ("thinking", setting(Key::Enabled)),
            ("effort", setting(Key::Effort)),
            ("plan mode", if self.view.status.is_planning { "on" } else { "off" }.to_owned()),
            ("thought cap", setting(Key::MaxTokens)),
            ("thoughts shown", setting(Key::Display)),
            ("next request", request),
            ("budget", self.budget_line()),
            ("cost", self.cost.shown().unwrap_or_else(|| "not known".to_owned())),
            ("conversation", held),
            ("messages", conversation.contents().len().to_string()),
            ("tools", self.tools.len().to_string()),
            ("folder", format!("`{}`", self.folder)),
            (
                "store",
                self.store.as_ref().map_or_else(|| "not kept".to_owned(), |it| format!("`{it}`")),
            ),
        ]
    }
}
