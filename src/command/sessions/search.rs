//! `think sessions search`

use crate::command::candidates;
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::masking;
use crate::printed::printed;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use std::io::{self, IsTerminal as _, Write};
use thinkthrough_chat::Cover;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::search;
use thinkthrough_core::content::Speaker;
use thinkthrough_json::Writer;
use thinkthrough_store::{Found, Hit, Search as Wanted, Within};

/// Find text in conversations and thoughts
///
/// Every message is opened, looked at, and forgotten: nothing about it stands anywhere unsealed. The first place in
/// each block is shown.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// The text; capitals count as small letters
    #[arg(value_name = "TEXT")]
    text: String,
    /// Where to look
    #[arg(long = "in", value_enum, value_name = "WHERE", default_value_t = Where::All)]
    within: Where,
    /// Look in this conversation only
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(candidates::sessions))]
    session: Option<String>,
    /// Stop after this many places
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print a JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    /// What models thought
    Thoughts,
    /// What models answered
    Answers,
    /// Everything that was said, and what tools were given and gave
    All,
}

impl Search {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.text.is_empty() {
            return Err(Failure::Usage("there is nothing to look for; write a text".to_owned()));
        }
        let within = match self.within {
            Where::Thoughts => Within::Thoughts,
            Where::Answers => Within::Answers,
            Where::All => Within::All,
        };
        search::may_look(within, shows).map_err(|why| Failure::Failed(why.to_owned()))?;
        let Some(conversations) = super::existing(config).await? else { return Ok(()) };
        let only = match &self.session {
            Some(id) => Some(conversations.resolve(id).await?),
            None => None,
        };
        let wanted = Wanted { text: self.text.clone(), within, only };
        let cover = masking::of_output(config)?;
        let mut printer = Printer::new(self, cover.clone(), out);
        let shown = (shows, &cover);
        search::search(&conversations, &wanted, shown, |found| printer.take(found)).await?;
        let found_any = printer.found_any;
        printer.end()?;
        if !found_any && !self.json {
            say(format_args!("nothing was found"));
        }
        Ok(())
    }
}

/// Prints hits while the search goes on.
struct Printer<'a> {
    out: &'a mut dyn Write,
    cover: Cover,
    json: bool,
    left: usize,
    /// Standard error is a terminal, and shows how far the search is.
    tells: bool,
    is_told: bool,
    found_any: bool,
    failure: Option<Failure>,
}

impl<'a> Printer<'a> {
    fn new(search: &Search, cover: Cover, out: &'a mut dyn Write) -> Self {
        Printer {
            out,
            cover,
            json: search.json,
            left: search.limit.unwrap_or(usize::MAX),
            tells: io::stderr().is_terminal(),
            is_told: false,
            found_any: false,
            failure: None,
        }
    }

    /// Says whether to go on.
    fn take(&mut self, found: Found) -> bool {
        match found {
            Found::Progress { done, of } => {
                if self.tells && done < of {
                    self.is_told = true;
                    tell(&format!("\rsearching session {} of {of} ", done + 1));
                }
                true
            }
            Found::Hit(hit) => {
                self.wipe();
                self.found_any = true;
                let printed = self.print(&hit).and_then(|()| Ok(self.out.flush()?));
                self.failure = printed.err();
                self.left = self.left.saturating_sub(1);
                self.failure.is_none() && self.left > 0
            }
        }
    }

    fn print(&mut self, hit: &Hit) -> Result<(), Failure> {
        if self.json {
            return Ok(writeln!(self.out, "{}", printed(&self.cover.json(&as_json(hit))))?);
        }
        let title = self.cover.text(hit.title.as_deref().unwrap_or("(untitled)"));
        let title = harmless(&title);
        let title = title.lines().next().unwrap_or_default();
        let excerpt = harmless(&hit.excerpt);
        let (id, message) = (&hit.id, hit.message);
        Ok(writeln!(self.out, "{id}  {title}  message {message}, {}: {excerpt}", role(hit))?)
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.is_told) {
            tell("\r\u{1b}[K");
        }
    }

    fn end(mut self) -> Result<(), Failure> {
        self.wipe();
        self.failure.map_or(Ok(()), Err)
    }
}

fn as_json(hit: &Hit) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("id", hit.id.as_str());
        w.str_or_null("title", hit.title.as_deref());
        w.field_u64("message", hit.message.into());
        w.field_u64("block", hit.block as u64);
        w.field_str("in", role(hit));
        w.field_str("excerpt", &hit.excerpt);
    });
    w.finish()
}

/// Returns the part of the conversation that the hit belongs to.
fn role(hit: &Hit) -> &'static str {
    match hit.speaker {
        _ if hit.is_thought => "thought",
        Speaker::Ai => "answer",
        Speaker::Human => "question",
        Speaker::System => "system",
        Speaker::Tool => "tool",
    }
}

/// Prints progress on standard error, and ignores a failure of that.
fn tell(text: &str) {
    drop(io::stderr().lock().write_all(text.as_bytes()));
}
