//! The thought and the answer of a model as its trace shows them.

use super::labels::opening;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_store::TraceItems;

/// The most bytes of a text. The trace says if there were more. Traces are for people; the thoughts for models are
/// stored whole elsewhere.
const MOST: usize = 1 << 20;

/// The texts of one answer, not masked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) thought: Bounded,
    pub(crate) answer: Bounded,
    /// The bytes of thoughts that only their provider can read.
    pub(crate) sealed: u64,
    /// Its calls, and the error that it ended with.
    pub(crate) items: TraceItems,
    /// The beginning of the first choice, which names the session of a conversation that begins.
    pub(crate) opening: Option<String>,
}

/// A text up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounded {
    pub(crate) text: String,
    /// There was more text. The masker then leaves out a possible secret at the cut end.
    pub(crate) is_cut: bool,
}

impl Bounded {
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

    /// Appends a further text after an empty line.
    fn add_apart(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.add("\n\n");
        }
        self.add(text);
    }

    /// Appends the text of another choice.
    fn join(&mut self, index: usize, further: &Bounded) {
        if !further.text.is_empty() {
            self.add_apart(&format!("[choice {index}]\n"));
            self.add(&further.text);
        }
        self.is_cut |= further.is_cut;
    }
}

impl Transcript {
    /// The texts of an answer, and its items if `keeps_items`. Further choices follow, each after a line with its number.
    pub(crate) fn of(answer: &Answer, keeps_items: bool) -> Self {
        let mut all = Self::first(&answer.blocks);
        all.opening = opening(&answer.blocks);
        let errors = answer.problems.iter().filter(|it| it.code == ProblemCode::UpstreamError);
        if keeps_items {
            all.items.add_calls(&answer.blocks);
            answer.choices.iter().for_each(|further| all.items.add_calls(&further.blocks));
            errors.for_each(|error| all.items.add_refusal(&error.message));
        }
        for (index, further) in (1..).zip(&answer.choices) {
            let further = Self::first(&further.blocks);
            all.thought.join(index, &further.thought);
            all.answer.join(index, &further.answer);
            all.sealed += further.sealed;
        }
        all
    }

    fn first(blocks: &[Block]) -> Self {
        let mut all = Self::default();
        // If an answer shows no thought, payloads of its texts and calls hold the thought (Gemini's
        // `thoughtSignature`).
        let mut carried = 0;
        for block in blocks {
            let payload = match block {
                Block::Thinking(thinking) => {
                    all.thought.add_apart(&thinking.thought);
                    all.sealed += sealed(thinking);
                    None
                }
                Block::Text(text) => {
                    all.answer.add(&text.text);
                    text.signature.as_ref()
                }
                Block::ToolCall(call) => call.signature.as_ref(),
                Block::ToolResponse(_) | Block::Media(_) | Block::Other(_) => None,
            };
            carried += payload.map_or(0, |it| it.len() as u64);
        }
        if all.thought.text.is_empty() {
            all.sealed += carried;
        }
        all
    }

    /// The bytes of its texts.
    pub(crate) fn size(&self) -> usize {
        self.thought.text.len() + self.answer.text.len() + self.items.size()
    }
}

/// The bytes of a thought's payloads that only its provider can read. A signature counts only if the thought has no
/// text.
fn sealed(thinking: &Thinking) -> u64 {
    let signature = thinking.signature.as_ref().filter(|_| thinking.thought.is_empty());
    let payloads =
        [signature, thinking.redacted_data.as_ref(), thinking.encrypted_content.as_ref()];
    payloads.into_iter().flatten().map(|it| it.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::content::{Text, ToolCall};

    fn thought(text: &str, signature: Option<&str>) -> Block {
        let signature = signature.map(str::to_owned);
        Block::Thinking(Thinking { signature, ..Thinking::new(text, "thinking") })
    }

    fn said(blocks: impl Into<Vec<Block>>) -> Answer {
        Answer { blocks: blocks.into(), ..Answer::default() }
    }

    #[test]
    fn thoughts_stand_apart_and_texts_do_not() {
        let blocks = [
            thought("one", Some("abc")),
            Block::text("sa"),
            thought("two", None),
            Block::text("id"),
        ];
        let transcript = Transcript::of(&said(blocks), true);
        assert_eq!((transcript.thought.text.as_str(), transcript.sealed), ("one\n\ntwo", 0));
        assert_eq!(transcript.answer.text, "said");
    }

    #[test]
    fn what_only_the_provider_reads_is_counted() {
        let sealed =
            Thinking { encrypted_content: Some("12345".into()), ..Thinking::new("", "summary") };
        let blocks = [thought("", Some("abc")), Block::Thinking(sealed)];
        let transcript = Transcript::of(&said(blocks), true);
        assert_eq!((transcript.thought.text.as_str(), transcript.sealed), ("", 8));
    }

    #[test]
    fn a_call_or_a_text_may_carry_a_thought_that_is_shown_nowhere() {
        let signature = Some("123".to_owned());
        let call = ToolCall { signature: signature.clone(), ..ToolCall::new(None, "f") };
        let blocks = [Block::ToolCall(call), Block::Text(Text { signature, ..Text::new("") })];
        assert_eq!(Transcript::of(&said(blocks.clone()), true).sealed, 6);
        let [call, text] = blocks;
        assert_eq!(Transcript::of(&said([thought("shown", None), call, text]), true).sealed, 0);
    }

    #[test]
    fn further_choices_stand_behind_the_first() {
        let choices = vec![
            said([Block::text("second")]),
            said([thought("", Some("abc"))]),
            said([Block::text("last")]),
        ];
        let transcript = Transcript::of(&Answer { choices, ..said([Block::text("first")]) }, true);
        assert_eq!(transcript.answer.text, "first\n\n[choice 1]\nsecond\n\n[choice 3]\nlast");
        assert_eq!((transcript.thought.text.as_str(), transcript.sealed), ("", 3));
    }

    #[test]
    fn all_texts_have_an_end() {
        let long = || said([Block::text("ä".repeat(MOST / 4 + 1))]);
        let transcript = Transcript::of(&Answer { choices: vec![long(), long()], ..long() }, true);
        let Bounded { text, is_cut } = &transcript.answer;
        assert!(*is_cut && text.len() <= MOST && text.len() > MOST - 2);
        assert_eq!(transcript.size(), text.len());
    }
}
