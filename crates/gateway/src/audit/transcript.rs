//! What a model thought and said, gathered as it comes.

use std::collections::BTreeMap;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::event::Event;

/// So many bytes of a text are gathered; a trace says where there was more. Traces are for people, and what goes back to a
/// model is kept whole elsewhere.
const MOST: usize = 1 << 20;

/// So many further answers to one request are gathered: more than anybody asks for.
const FURTHER: usize = 15;

/// The texts of one answer, as they came: nothing in them is masked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) thought: Gathered,
    pub(crate) answer: Gathered,
    /// The bytes of thoughts that only their provider can read.
    pub(crate) sealed: u64,
    /// The same on texts and calls, which counts where no thought is shown (Gemini's `thoughtSignature`).
    carried: u64,
    /// Where the last block begins in its text.
    begin: usize,
    /// The other answers to the same request, by their numbers, which begin with 1; together they are no longer than one.
    further: BTreeMap<usize, Transcript>,
    /// How many bytes of text these have.
    of_further: usize,
}

/// A text up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gathered {
    pub(crate) text: String,
    /// There was more, so that whoever masks it leaves out what its end may have become.
    pub(crate) is_cut: bool,
}

impl Gathered {
    fn add(&mut self, text: &str) {
        if self.is_cut {
            return;
        }
        let room = MOST.saturating_sub(self.text.len());
        let boundary = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let fits = boundary.unwrap_or_default();
        self.text.push_str(text.get(..fits).unwrap_or_default());
        self.is_cut = fits < text.len();
    }

    /// The same of another answer follows.
    fn join(&mut self, index: usize, further: &Gathered) {
        if !further.text.is_empty() {
            let line = if self.text.is_empty() { "" } else { "\n\n" };
            self.add(&format!("{line}[choice {index}]\n{}", further.text));
        }
        self.is_cut |= further.is_cut;
    }

    /// What stands from there on is this instead.
    fn replace(&mut self, begin: usize, text: &str) {
        if !self.is_cut {
            self.text.truncate(begin);
            self.add(text);
        }
    }
}

impl Transcript {
    /// Something of the answer came, or of one of several answers to one request.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ThinkingStart { .. } => self.begin_thought(),
            Event::ThinkingDelta { delta, .. } => self.thought.add(delta),
            Event::ThinkingEnd { thinking, thought, .. } => {
                if let Some(whole) = thought {
                    self.thought.replace(self.begin, whole);
                }
                self.seal(thinking);
            }
            Event::TextStart { .. } => self.begin = self.answer.text.len(),
            Event::TextDelta { delta, .. } => self.answer.add(delta),
            Event::TextEnd { text, whole, .. } => {
                whole.into_iter().for_each(|whole| self.answer.replace(self.begin, whole));
                self.carry(text.signature.as_ref());
            }
            Event::ToolCallEnd { call, .. } => self.carry(call.signature.as_ref()),
            Event::Whole { value: Block::Thinking(thinking), .. } => {
                self.begin_thought();
                self.thought.add(&thinking.thought);
                self.seal(thinking);
            }
            Event::Whole { value: Block::Text(text), .. } => {
                self.answer.add(&text.text);
                self.carry(text.signature.as_ref());
            }
            Event::Whole { value: Block::ToolCall(call), .. } => {
                self.carry(call.signature.as_ref());
            }
            Event::Choice { index, event } if index <= FURTHER => self.further(index, *event),
            _ => {}
        }
    }

    fn further(&mut self, index: usize, event: Event<'_>) {
        let further = self.further.entry(index).or_default();
        if self.of_further > MOST {
            further.answer.is_cut = true;
            return;
        }
        let before = further.len();
        further.event(event);
        self.of_further = (self.of_further + further.len()).saturating_sub(before);
    }

    fn len(&self) -> usize {
        self.thought.text.len() + self.answer.text.len()
    }

    /// The bytes of all texts.
    pub(crate) fn size(&self) -> usize {
        self.len() + self.of_further
    }

    fn carry(&mut self, payload: Option<&String>) {
        self.carried += payload.map_or(0, |it| it.len() as u64);
    }

    /// All answers as one, each further one behind a line with its number.
    pub(crate) fn joined(mut self) -> Self {
        if self.thought.text.is_empty() {
            self.sealed += std::mem::take(&mut self.carried);
        }
        for (index, further) in std::mem::take(&mut self.further) {
            self.thought.join(index, &further.thought);
            self.answer.join(index, &further.answer);
            self.sealed += further.joined().sealed;
        }
        self
    }

    /// An empty line stands between two thoughts.
    fn begin_thought(&mut self) {
        if !self.thought.text.is_empty() {
            self.thought.add("\n\n");
        }
        self.begin = self.thought.text.len();
    }

    /// A thought is complete. A signature alone is one whose text was withheld.
    fn seal(&mut self, thinking: &Thinking) {
        let is_empty = self.thought.text.len() == self.begin && thinking.thought.is_empty();
        let signature = thinking.signature.as_ref().filter(|_| is_empty);
        let sealed =
            [signature, thinking.redacted_data.as_ref(), thinking.encrypted_content.as_ref()];
        self.sealed += sealed.into_iter().flatten().map(|it| it.len() as u64).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::content::{Text, ToolCall};

    fn thought(transcript: &mut Transcript, delta: &str, whole: Option<&str>, end: &Thinking) {
        transcript.event(Event::ThinkingStart { block: 0, source_field: "thinking" });
        transcript.event(Event::ThinkingDelta { block: 0, delta });
        transcript.event(Event::ThinkingEnd { block: 0, thinking: end, thought: whole });
    }

    #[test]
    fn thoughts_stand_apart_and_the_last_word_counts() {
        let mut transcript = Transcript::default();
        let end = Thinking { signature: Some("abc".into()), ..Thinking::new("", "thinking") };
        thought(&mut transcript, "one", None, &end);
        thought(&mut transcript, "draft", Some("two"), &end);
        assert_eq!((transcript.thought.text.as_str(), transcript.sealed), ("one\n\ntwo", 0));
        transcript.event(Event::TextStart { block: 1 });
        transcript.event(Event::TextDelta { block: 1, delta: "dra" });
        let text = Text::new("");
        transcript.event(Event::TextEnd { block: 1, text: &text, whole: Some("said") });
        assert_eq!(transcript.answer.text, "said");
    }

    #[test]
    fn what_only_the_provider_reads_is_counted() {
        let mut transcript = Transcript::default();
        let signed = Thinking { signature: Some("abc".into()), ..Thinking::new("", "thinking") };
        thought(&mut transcript, "", None, &signed);
        let sealed =
            Thinking { encrypted_content: Some("12345".into()), ..Thinking::new("", "summary") };
        transcript.event(Event::Whole { block: 1, value: &Block::Thinking(sealed) });
        assert_eq!((transcript.thought.text.as_str(), transcript.sealed), ("", 8));
    }

    #[test]
    fn a_call_may_carry_a_thought_that_is_shown_nowhere() {
        let mut transcript = Transcript::default();
        let call = ToolCall { signature: Some("123".into()), ..ToolCall::new(None, "f") };
        transcript.event(Event::ToolCallEnd { block: 0, call: &call });
        assert_eq!(transcript.clone().joined().sealed, 3);
        thought(&mut transcript, "shown", None, &Thinking::new("", "thought"));
        assert_eq!(transcript.joined().sealed, 0);
    }

    #[test]
    fn further_answers_stand_behind_the_first() {
        let mut transcript = Transcript::default();
        let mut said = |index: usize, delta: &'static str| {
            let text = Event::TextDelta { block: 0, delta };
            let further = Event::Choice { index, event: &text };
            transcript.event(if index == 0 { text } else { further });
        };
        said(1, "sec");
        said(0, "first");
        said(1, "ond");
        said(3, "fourth");
        let end = Thinking { signature: Some("abc".into()), ..Thinking::new("", "thinking") };
        let thought = Event::Whole { block: 0, value: &Block::Thinking(end) };
        transcript.event(Event::Choice { index: 2, event: &thought });
        let joined = transcript.joined();
        assert_eq!(joined.answer.text, "first\n\n[choice 1]\nsecond\n\n[choice 3]\nfourth");
        assert_eq!((joined.thought.text.as_str(), joined.sealed), ("", 3));
    }

    #[test]
    fn all_further_answers_take_no_more_room_than_one() {
        let (mut transcript, piece) = (Transcript::default(), "word ".repeat(1 << 14));
        for at in 0..200 {
            let text = Event::TextDelta { block: 0, delta: &piece };
            transcript.event(Event::Choice { index: 1 + at % FURTHER, event: &text });
        }
        let all: usize = transcript.further.values().map(Transcript::len).sum();
        assert!(all > MOST && all <= MOST + piece.len(), "{all}");
        assert!(transcript.joined().answer.is_cut);
    }

    #[test]
    fn a_text_has_an_end() {
        let mut gathered = Gathered::default();
        for _ in 0..3 {
            gathered.add(&"ä".repeat(MOST / 4 + 1));
        }
        assert!(gathered.is_cut && gathered.text.len() <= MOST && gathered.text.len() > MOST - 2);
        gathered.add("more");
        assert!(!gathered.text.ends_with("more"));
    }
}
