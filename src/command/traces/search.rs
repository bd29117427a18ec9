//! `think traces search`

use super::{Part, Wanted};
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::printed::printed;
use clap::Args;
use std::io::Write;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_json::Writer;
use thinkthrough_store::{Trace, TraceHits, TraceText};

/// The default number of hits.
const USUAL: u32 = 20;
/// The number of letters before and after a found word.
const AROUND: usize = 60;

/// Find traces that hold all these words, the latest first
///
/// Words are whole words; capitals count as small letters.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// The words
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Where to look
    #[arg(long = "in", value_enum, value_name = "WHERE", default_value_t = Part::All)]
    within: Part,
    #[command(flatten)]
    wanted: Wanted,
    /// Print a JSON object a line
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let words = self.words.join(" ");
        // Signs stand between words, and no word is made of them alone.
        if words.chars().all(|sign| sign.is_whitespace() || sign.is_ascii_punctuation()) {
            return Err(Failure::Usage("there is nothing to look for; write a word".to_owned()));
        }
        let within = match self.within {
            // A text that must not be shown must not be found either.
            Part::All if !shows => TraceText::Answers,
            Part::All => TraceText::All,
            Part::Answers => TraceText::Answers,
            Part::Thoughts if !shows => {
                let why = "thoughts are not shown, because `reasoning.includeInResponse` is false; \
                           look with `--in answers`";
                return Err(Failure::Failed(why.to_owned()));
            }
            Part::Thoughts => TraceText::Thoughts,
        };
        let hits = match super::existing(config).await? {
            Some(traces) => traces.search(&words, within, self.wanted.filter(USUAL)).await?,
            None => TraceHits::default(),
        };
        if let Some(time) = hits.indexed_to {
            let seconds = super::time::Time::now().saturating_sub(time) / 1000;
            say(format_args!(
                "traces of the last {seconds} s are not searched yet; ask again soon"
            ));
        }
        if hits.traces.is_empty() && !self.json {
            say(format_args!("{}", super::NONE));
        }
        for trace in &hits.traces {
            if self.json {
                let mut w = Writer::new();
                trace.write(&mut w, shows);
                writeln!(out, "{}", printed(&w.finish()))?;
                continue;
            }
            let (id, model) = (harmless(&trace.id), harmless(&trace.model));
            let (place, text) = place(trace, &words, within);
            writeln!(out, "{id}  {model}  {place}: {}", harmless(&text))?;
        }
        Ok(())
    }
}

/// The words around the first place in the text that is searched.
fn place(trace: &Trace, words: &str, within: TraceText) -> (&'static str, String) {
    let thought = ("thought", &trace.thought);
    let answer = ("answer", &trace.answer);
    let texts = match within {
        TraceText::All => vec![thought, answer],
        TraceText::Answers => vec![answer],
        TraceText::Thoughts => vec![thought],
    };
    let first = words.split_whitespace().next().unwrap_or_default().to_lowercase();
    let (mut name, mut text, mut at) = ("thought", "", 0);
    for (its_name, its_text) in texts {
        (name, text) = (its_name, its_text);
        if let Some(place) = its_text.to_lowercase().find(&first) {
            at = its_text.char_indices().take_while(|(at, _)| *at < place).count();
            break;
        }
    }
    let from = at.saturating_sub(AROUND);
    let letters = text.chars().skip(from).take(2 * AROUND);
    let around: String = letters.map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    (name, around.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_store::{TraceItems, TraceNumbers, TraceState};

    #[test]
    fn the_place_is_the_first_that_holds_the_word() {
        let trace = Trace {
            id: "t".into(),
            tenant: "local".into(),
            session: String::new(),
            run: String::new(),
            model: "m".into(),
            provider: "p".into(),
            thought: format!("{}\nthe Word itself", "ä".repeat(200)),
            answer: "no such thing".into(),
            metadata: "{}".into(),
            why: String::new(),
            items: TraceItems::default(),
            numbers: TraceNumbers::default(),
            state: TraceState::Whole,
        };
        let (place_name, text) = place(&trace, "word", TraceText::All);
        assert_eq!(place_name, "thought");
        assert!(text.ends_with("the Word itself") && text.starts_with('ä'), "{text}");
        assert_eq!(place(&trace, "thing", TraceText::All), ("answer", "no such thing".into()));
        assert_eq!(place(&trace, "İ", TraceText::Answers).0, "answer");
    }
}
