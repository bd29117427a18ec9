//! Formats traces for export: a line of JSON, or a part of a page, for each trace.
//!
//! The words of a model can neither control a terminal nor leave their place: in Markdown every line of them is
//! quoted, so that an opened fence or comment ends with the quote.

use super::export::Format;
use super::items;
use super::time::shown;
use crate::failure::Failure;
use crate::printed::printed;
use std::io::Write;
use thinkthrough_chat::export::{html_closing, html_message, html_opening};
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_json::Writer;
use thinkthrough_store::{Trace, TraceState};

const TITLE: &str = "Traces";

/// How traces are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) form: Format,
    pub(super) with_thoughts: bool,
}

impl Pages {
    /// Writes the text before the first trace.
    pub(super) fn begin(self, out: &mut dyn Write) -> Result<(), Failure> {
        match self.form {
            Format::Jsonl => {}
            Format::Md => writeln!(out, "# {TITLE}")?,
            Format::Html => out.write_all(html_opening(TITLE).as_bytes())?,
        }
        Ok(())
    }

    pub(super) fn trace(
        self,
        number: usize,
        trace: &Trace,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let text = match self.form {
            Format::Jsonl => {
                let mut w = Writer::new();
                trace.write(&mut w, self.with_thoughts);
                printed(&w.finish()) + "\n"
            }
            Format::Md => self.markdown(trace),
            Format::Html => self.html(number, trace),
        };
        Ok(out.write_all(text.as_bytes())?)
    }

    /// Writes the text after the last trace.
    pub(super) fn end(self, out: &mut dyn Write) -> Result<(), Failure> {
        match self.form {
            Format::Jsonl | Format::Md => {}
            Format::Html => out.write_all(html_closing().as_bytes())?,
        }
        Ok(())
    }

    fn markdown(self, trace: &Trace) -> String {
        let mut page = format!("\n## Trace `{}`\n\n", code(&trace.id));
        for (name, value) in facts(trace).iter().skip(1) {
            page.push_str(&format!("- {name}: `{}`\n", code(value)));
        }
        let [before, behind] = items::parts(trace);
        let item = |part: &items::Part<'_>| {
            quoted(&format!("note] {}", one_line(&part.heading)), &harmless(part.text))
        };
        page.extend(before.iter().map(item));
        if let Some(thought) = self.thought(trace) {
            page.push_str(&quoted("thinking]- Thought", &thought));
        }
        if !trace.answer.is_empty() {
            page.push_str(&quoted("quote] Answer", &harmless(&trace.answer)));
        }
        page.extend(behind.iter().map(item));
        page
    }

    fn html(self, number: usize, trace: &Trace) -> String {
        let [before, behind] = items::parts(trace);
        let item = |part: &items::Part<'_>| {
            Block::text(format!("{}:\n{}", harmless(&part.heading), harmless(part.text)))
        };
        let mut blocks: Vec<Block> = before.iter().map(item).collect();
        if let Some(thought) = self.thought(trace) {
            blocks.push(match trace.thought.is_empty() {
                true => Block::Text(Text::new(thought)),
                false => Block::Thinking(Thinking::new(thought, "trace")),
            });
        }
        blocks.push(Block::Text(Text::new(harmless(&trace.answer))));
        blocks.extend(behind.iter().map(item));
        let mut content = Content::new(Speaker::Ai, blocks);
        content.partial = trace.state == TraceState::Cut;
        let count = TokenCount::reported(trace.numbers.reasoning_tokens);
        html_message(number, &facts(trace), &content, Some(count))
    }

    /// Returns the thought, or a note about a thought that only its provider can read.
    fn thought(self, trace: &Trace) -> Option<String> {
        let sealed = trace.numbers.sealed_bytes;
        match trace.thought.as_str() {
            _ if !self.with_thoughts => None,
            "" if sealed > 0 => {
                Some(harmless(&format!("[sealed, {sealed} bytes, by {}]", trace.provider)))
            }
            "" => None,
            thought => Some(harmless(thought)),
        }
    }
}

/// The rows that identify a trace and its result.
fn facts(trace: &Trace) -> [(&'static str, String); 8] {
    let numbers = &trace.numbers;
    let tokens =
        format!("{} of thoughts, {} in all", numbers.reasoning_tokens, numbers.total_tokens);
    [
        ("trace", trace.id.clone()),
        ("session", trace.session.clone()),
        ("run", trace.run.clone()),
        ("model", trace.model.clone()),
        ("provider", trace.provider.clone()),
        ("time", shown(numbers.created_at)),
        ("tokens", tokens),
        ("ended", trace.state.as_str().to_owned()),
    ]
    .map(|(name, value)| (name, one_line(&value)))
}

fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// A name in a code span, which a grave accent would end.
fn code(text: &str) -> String {
    text.replace('`', "'")
}

/// Returns a callout: every line of it begins with `>`. HTML tags are escaped, so that a tag can neither end the
/// quote nor hide the following text. A block of code keeps its bytes, because tags have no effect in it.
fn quoted(heading: &str, body: &str) -> String {
    let mut page = format!("\n> [!{heading}\n");
    let mut fence: Option<&str> = None;
    for line in body.split('\n') {
        page.push_str(if line.is_empty() { ">" } else { "> " });
        match fence {
            Some(_) => page.push_str(line),
            None => page.push_str(&line.replace('<', "&lt;")),
        }
        page.push('\n');
        fence = match (fence, marks(line)) {
            (None, Some((marks, rest))) if !rest.contains(['`', '<']) => Some(marks),
            (Some(open), Some((marks, rest)))
                if marks.starts_with(open) && rest.trim().is_empty() =>
            {
                None
            }
            _ => fence,
        };
    }
    page
}

/// Returns the marks that begin or end a top-level block of code, and the rest of the line.
fn marks(line: &str) -> Option<(&str, &str)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let end = line.find(|c| c != mark).unwrap_or(line.len());
    line.split_at_checked(end).filter(|(marks, _)| marks.len() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_store::{TraceItems, TraceNumbers};

    fn trace(thought: &str, answer: &str) -> Trace {
        Trace {
            id: "56f068".into(),
            tenant: "local".into(),
            session: "night`ly\n## no".into(),
            run: "r".into(),
            model: "m".into(),
            provider: "p".into(),
            thought: thought.into(),
            answer: answer.into(),
            metadata: "{}".into(),
            why: String::new(),
            items: TraceItems::default(),
            numbers: TraceNumbers {
                reasoning_tokens: 5,
                total_tokens: 17,
                created_at: 1_795_422_600_000,
                ..TraceNumbers::default()
            },
            state: TraceState::Cut,
        }
    }

    fn written(form: Format, trace: &Trace) -> String {
        let pages = Pages { form, with_thoughts: true };
        let mut out = Vec::new();
        pages.begin(&mut out).unwrap();
        pages.trace(0, trace, &mut out).unwrap();
        pages.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_page_names_each_trace_and_says_how_it_ended() {
        let trace = trace("one\n\ntwo", "said");
        assert_eq!(
            written(Format::Md, &trace),
            "# Traces\n\n## Trace `56f068`\n\n- session: `night'ly ## no`\n- run: `r`\n- model: `m`\n\
             - provider: `p`\n- time: `2026-11-23T08:30:00Z`\n- tokens: `5 of thoughts, 17 in all`\n\
             - ended: `cut`\n\n> [!thinking]- Thought\n> one\n>\n> two\n\n> [!quote] Answer\n> said\n"
        );
        let page = written(Format::Html, &trace);
        assert!(page.contains("Thought · 5 tokens"), "the count of the trace: {page}");
        for fact in ["trace: 56f068", "model: m", "time: 2026-11-23T08:30:00Z", "ended: cut"] {
            assert!(page.contains(fact), "{fact}: {page}");
        }
    }

    #[test]
    fn tags_are_shown_and_code_keeps_its_bytes() {
        let body = "a <b>\n```rust\nVec<u8>\n~~~\n</b>\n````\n<c>\n``` <d>\n<e>\n- ```\n<f>";
        assert_eq!(
            quoted("x", body),
            "\n> [!x\n> a &lt;b>\n> ```rust\n> Vec<u8>\n> ~~~\n> </b>\n> ````\n> &lt;c>\n> ``` &lt;d>\n> &lt;e>\n\
             > - ```\n> &lt;f>\n"
        );
    }

    #[test]
    fn what_a_model_said_steers_no_terminal_and_stays_in_its_place() {
        let hostile = "x\r## Heading\n```\n<!--\u{1b}]52;c;aGk=\u{7}\u{9b}2J\u{202e}";
        let trace = trace(hostile, hostile);
        for form in [Format::Jsonl, Format::Md, Format::Html] {
            let out = written(form, &trace);
            let steers = ['\r', '\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'];
            assert!(!out.contains(steers), "{form:?}: {out:?}");
        }
        let page = written(Format::Md, &trace);
        let (_, quoted) = page.split_once("\n> ").unwrap();
        assert!(quoted.lines().skip(1).all(|it| it.is_empty() || it.starts_with('>')), "{page}");
        let line = written(Format::Jsonl, &trace);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["reasoning_text"], hostile, "the value stays");
    }
}
