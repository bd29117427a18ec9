//! `think split`: splits a model's text into the visible part and the thought.

use std::io::Write;

use clap::Args;
use thinkthrough_core::tags::{Reasoning, Split as Halves, SplitOptions, Start, TagSpec, split};

use crate::failure::{Failure, say};
use crate::input::Input;
use crate::known;
use crate::printed::for_output;

/// Split a text into what is visible and what was thought between tags
///
/// Without tags it looks for the first `<REASONING>` block. Prints one line of JSON: `visible`, and `reasoning` with its
/// text and an estimate of its tokens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think split answer.txt
  echo '<think>2 + 2</think>4' | think split --tags qwen3
  think split --open '[[' --close ']]' answer.txt")]
pub(crate) struct Split {
    /// The tag family [default: reasoning]
    #[arg(long, value_name = "FAMILY", value_parser = known::families(), hide_possible_values = true, conflicts_with_all = ["open", "close"])]
    tags: Option<TagSpec>,
    /// Any other tag that opens a thought
    #[arg(long, value_name = "TAG", requires = "close")]
    open: Option<String>,
    /// The tag that closes it
    #[arg(long, value_name = "TAG", requires = "open")]
    close: Option<String>,
    /// The prompt's template already opened the thought
    #[arg(long)]
    starts_open: bool,
    /// The request had thinking switched off: nothing is taken for a thought
    #[arg(long)]
    thinking_off: bool,
    /// Give every top-level block by itself
    #[arg(long)]
    staged: bool,
    /// Do as the first parser of the `<REASONING>` convention did: the first closing tag wins
    #[arg(long)]
    compat: bool,
    #[command(flatten)]
    input: Input,
}

/// Tag families to suggest if the text has no `<REASONING>` block. Families whose thought begins without a tag would
/// match any text.
const NAMED: [&str; 5] = ["think", "thinking", "thought", "harmony", "gemma4"];

fn has_thought(halves: &Halves) -> bool {
    match &halves.reasoning {
        Reasoning::One(thought) => thought.is_some(),
        Reasoning::Staged(thoughts) => !thoughts.is_empty(),
    }
}

impl Split {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let options = SplitOptions {
            start: if self.starts_open { Start::Thought } else { Start::Family },
            thinking_off: self.thinking_off,
            staged: self.staged,
            compat: self.compat,
            ..SplitOptions::new(self.tags()?)
        };
        let text = self.input.all()?;
        let text = String::from_utf8_lossy(&text);
        let halves = split(&text, &options);
        if self.is_usual() && !has_thought(&halves) {
            self.tell_other_tags(&text, &options);
        }
        writeln!(out, "{}", for_output(&halves.to_json()))?;
        Ok(())
    }

    /// Returns true if no option names the tags or says where a thought begins.
    fn is_usual(&self) -> bool {
        self.tags.is_none() && self.open.is_none() && !self.thinking_off && !self.starts_open
    }

    /// Suggests the first family whose tags the text has.
    fn tell_other_tags(&self, text: &str, options: &SplitOptions) {
        let has = |name: &&str| {
            let tags = TagSpec::named(name);
            tags.is_some_and(|tags| {
                has_thought(&split(text, &SplitOptions { tags, ..options.clone() }))
            })
        };
        if let Some(family) = NAMED.iter().find(|name| has(name)) {
            say(format_args!(
                "note: the text has no `<REASONING>` block, but tags of the family `{family}`; `--tags {family}` splits by them"
            ));
        }
    }

    fn tags(&self) -> Result<TagSpec, Failure> {
        if let (Some(open), Some(close)) = (&self.open, &self.close) {
            return TagSpec::custom(open, close).map_err(|error| {
                Failure::Usage(format!("{error}; give `--open` and `--close` some characters each"))
            });
        }
        self.tags.clone().or_else(|| TagSpec::named("reasoning")).ok_or_else(|| {
            Failure::Usage("there is no tag family `reasoning`; name one with `--tags`".to_owned())
        })
    }
}
