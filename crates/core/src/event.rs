//! The events that decoders emit during a response, and the fold that turns them into an [`Answer`].

use crate::answer::{Answer, BESIDE};
use crate::content::{Block, Parameters, Text, Thinking, ToolCall};
use crate::json::{Gathered, Raw};
use crate::problem::Problem;
use crate::usage::Usage;

/// One finding of a decoder. Text borrows from the input.
///
/// `block` is the index of the block in the finished answer. The events of a block come in order, and blocks may
/// interleave. A decoder announces a block only when it is certain; an empty thought without a payload is not a block.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A thought begins.
    ThinkingStart {
        /// Its index.
        block: usize,
        /// The wire's own key for it.
        source_field: &'a str,
    },
    /// More text of a thought.
    ThinkingDelta {
        /// Its index.
        block: usize,
        /// The new text.
        delta: &'a str,
    },
    /// A thought is complete.
    ThinkingEnd {
        /// Its index.
        block: usize,
        /// The thought without its text, which came in deltas: `thought` in it is empty.
        thinking: &'a Thinking,
        /// The wire's final text, if it differs from the deltas. It replaces them.
        thought: Option<&'a str>,
    },
    /// Visible text begins.
    TextStart {
        /// Its index.
        block: usize,
    },
    /// More visible text.
    TextDelta {
        /// Its index.
        block: usize,
        /// The new text.
        delta: &'a str,
    },
    /// A block of visible text is complete.
    TextEnd {
        /// Its index.
        block: usize,
        /// The block without its text, which came in deltas: `text` in it is empty.
        text: &'a Text,
        /// The wire's final text, if it differs from the deltas. It replaces them.
        whole: Option<&'a str>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Its index.
        block: usize,
        /// The call as known so far: its id, its name, and its form on the wire. Only the kind of its arguments counts.
        call: &'a ToolCall,
    },
    /// More of the arguments' text.
    ToolCallDelta {
        /// Its index.
        block: usize,
        /// The new text.
        delta: &'a str,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// Its index.
        block: usize,
        /// The whole call.
        call: &'a ToolCall,
    },
    /// A block that comes in one piece.
    Whole {
        /// Its index.
        block: usize,
        /// The block.
        value: &'a Block,
    },
    /// Token counts. Later counts replace earlier ones.
    Usage(&'a Usage),
    /// The proper end of the answer.
    Finish {
        /// The provider's word for the reason.
        finish_reason: Option<&'a str>,
        /// The model that answered.
        model: Option<&'a str>,
    },
    /// A fact about the whole response.
    Fact(Fact<'a>),
    /// A finding.
    Problem(&'a Problem),
    /// An event of a further choice, whose blocks count from 0 again.
    Choice {
        /// 1 for the second choice.
        index: usize,
        /// Its event.
        event: &'a Event<'a>,
    },
}

/// A fact about the whole response.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact<'a> {
    /// Unknown members beside the message of a choice, or beside the response in an event. Later members are merged
    /// into earlier ones.
    Beside {
        /// The wire whose members these are.
        wire: &'static str,
        /// An object with the members.
        members: &'a Raw,
    },
    /// A field of the response that the neutral form does not have.
    Field {
        /// The wire whose field it is.
        wire: &'static str,
        /// The field's name.
        key: &'a str,
        /// Its value.
        value: &'a Raw,
    },
    /// An opaque payload on the message.
    MessageSignature(&'a str),
    /// The model that answers, as soon as it is known.
    Model(&'a str),
    /// More text of a refusal that is beside the content.
    Refusal(&'a str),
    /// A note about the form of the response. It is never written as a member.
    Note {
        /// The wire whose note it is.
        wire: &'static str,
        /// The note's name.
        name: &'static str,
        /// The noted value.
        value: &'a Raw,
    },
    /// The response's own id.
    ResponseId(&'a str),
    /// The number of the last event in a broken stream with numbered events. The events that end the stream for the
    /// caller continue from it. Not a part of the answer.
    Sequence(u64),
    /// The stop sequence that ended the answer.
    StopSequence(&'a str),
    /// More text that goes before tool calls.
    ToolPlan(&'a str),
}

/// Receives events.
pub trait Sink {
    /// Receives one event. Borrowed data is valid only during the call.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// Passes each event to two sinks.
pub struct Tee<'a>(pub &'a mut dyn Sink, pub &'a mut dyn Sink);

impl Sink for Tee<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }
}

/// Folds events into an answer. Only appends, so that a stream costs no more than its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    answer: Answer,
    /// The thoughts that have begun and not ended.
    open: Vec<usize>,
    choices: Vec<Fold>,
    /// The members beside the message, and their wire.
    beside: Option<(&'static str, Gathered)>,
    /// Counts blocks and stores no contents.
    is_thin: bool,
    /// The places of thoughts that were taken out.
    vacancies: Vec<Vacancy>,
    taken: usize,
}

/// The place of a thought that was taken out of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacancy {
    choice: usize,
    block: usize,
    /// Distinguishes it from an earlier vacancy of the same block.
    number: usize,
}

/// Only a hostile upstream sends more choices. They share the last slot.
const MAX_CHOICES: usize = 128;

impl Fold {
    /// An empty fold.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The answer so far, without its further choices and without the members beside its message.
    #[must_use]
    pub fn so_far(&self) -> &Answer {
        &self.answer
    }

    /// Drops the contents of all blocks, of later ones too. Facts about the whole answer stay.
    pub fn forget_contents(&mut self) {
        self.is_thin = true;
        self.vacancies.clear();
        self.answer.blocks.iter_mut().for_each(|block| *block = Block::text(""));
        self.answer.blocks.shrink_to_fit();
        self.choices.iter_mut().for_each(Fold::forget_contents);
    }

    /// Takes out an ended thought for which `is_large` is true, if there is one. Its place stays empty until the
    /// thought is put back.
    pub fn take_thought(
        &mut self,
        is_large: &dyn Fn(&Thinking) -> bool,
    ) -> Option<(Vacancy, Thinking)> {
        for (block, slot) in self.answer.blocks.iter_mut().enumerate() {
            let Block::Thinking(thinking) = slot else { continue };
            if self.open.contains(&block) || !is_large(thinking) {
                continue;
            }
            self.taken += 1;
            let vacancy = Vacancy { choice: 0, block, number: self.taken };
            self.vacancies.push(vacancy);
            return Some((vacancy, std::mem::take(thinking)));
        }
        (1..).zip(&mut self.choices).find_map(|(choice, fold)| {
            let (vacancy, thinking) = fold.take_thought(is_large)?;
            Some((Vacancy { choice, ..vacancy }, thinking))
        })
    }

    /// Puts a thought back into its place. Has no effect if the place has another block by now.
    pub fn put_back(&mut self, vacancy: Vacancy, thinking: Thinking) {
        if let Some(choice) = vacancy.choice.checked_sub(1) {
            if let Some(fold) = self.choices.get_mut(choice) {
                fold.put_back(Vacancy { choice: 0, ..vacancy }, thinking);
            }
            return;
        }
        let Some(at) = self.vacancies.iter().position(|it| *it == vacancy) else { return };
        self.vacancies.swap_remove(at);
        if let Some(slot) = self.answer.blocks.get_mut(vacancy.block) {
            *slot = Block::Thinking(thinking);
        }
    }

    /// Skips the contents of an event. Returns `false` for an event that a thin fold also stores.
    fn skim(&mut self, event: Event<'_>) -> bool {
        match event {
            Event::ThinkingDelta { .. }
            | Event::ThinkingEnd { .. }
            | Event::TextDelta { .. }
            | Event::TextEnd { .. }
            | Event::ToolCallDelta { .. }
            | Event::ToolCallEnd { .. } => true,
            Event::ThinkingStart { block, .. }
            | Event::ToolCallStart { block, .. }
            | Event::Whole { block, .. } => {
                self.put(block, Block::text(""));
                true
            }
            Event::Fact(fact) => !matches!(
                fact,
                Fact::Model(_) | Fact::ResponseId(_) | Fact::Sequence(_) | Fact::StopSequence(_)
            ),
            Event::TextStart { .. }
            | Event::Usage(_)
            | Event::Finish { .. }
            | Event::Problem(_)
            | Event::Choice { .. } => false,
        }
    }

    /// Returns the answer. Thoughts without an end are marked partial.
    #[must_use]
    pub fn finish(mut self) -> Answer {
        for block in self.open {
            if let Some(Block::Thinking(thinking)) = self.answer.blocks.get_mut(block) {
                thinking.partial = true;
            }
        }
        let is_whole = self.answer.is_complete();
        // Without a later count, the early counts of the answer are only placeholders.
        if let Some(usage) = self.answer.usage.as_mut().filter(|it| it.is_early && is_whole) {
            usage.forget_answer();
        }
        if let Some((wire, beside)) = &self.beside {
            self.answer.extra.note(wire, BESIDE, beside.raw());
        }
        self.answer.choices = self.choices.into_iter().map(Fold::finish).collect();
        self.answer
    }

    fn put(&mut self, at: usize, block: Block) {
        self.vacancies.retain(|vacancy| vacancy.block != at);
        // Decoders number blocks without gaps. If a decoder ever does not, the block is still kept.
        match self.answer.blocks.get_mut(at) {
            Some(slot) => *slot = block,
            None => self.answer.blocks.push(block),
        }
    }

    fn choice(&mut self, index: usize, event: &Event<'_>) {
        let Some(slot) = index.checked_sub(1) else { return self.event(*event) };
        let slot = slot.min(MAX_CHOICES - 1);
        while self.choices.len() <= slot {
            self.choices.push(Fold { is_thin: self.is_thin, ..Fold::default() });
        }
        if let Some(fold) = self.choices.get_mut(slot) {
            fold.event(*event);
        }
    }

    fn fact(&mut self, fact: Fact<'_>) {
        let answer = &mut self.answer;
        match fact {
            Fact::Beside { wire, members } => {
                let (_, beside) = self.beside.get_or_insert_with(|| (wire, Gathered::default()));
                beside.add(members.doc().root());
            }
            Fact::Field { wire, key, value } => answer.extra.insert(wire, key, value.clone()),
            Fact::Note { wire, name, value } => answer.extra.note(wire, name, value.clone()),
            Fact::MessageSignature(text) => answer.message_signature = Some(text.to_owned()),
            Fact::Model(text) => answer.model = Some(text.to_owned()),
            Fact::Refusal(text) => answer.refusal.get_or_insert_default().push_str(text),
            Fact::ResponseId(text) => answer.response_id = Some(text.to_owned()),
            Fact::Sequence(_) => {}
            Fact::StopSequence(text) => answer.stop_sequence = Some(text.to_owned()),
            Fact::ToolPlan(text) => answer.tool_plan.get_or_insert_default().push_str(text),
        }
    }

    fn end_thinking(&mut self, block: usize, end: &Thinking, thought: Option<&str>) {
        self.open.retain(|open| *open != block);
        if let Some(Block::Thinking(thinking)) = self.answer.blocks.get_mut(block) {
            let text = match thought {
                Some(text) => text.to_owned(),
                None => std::mem::take(&mut thinking.thought),
            };
            let field = std::mem::take(&mut thinking.source_field);
            *thinking = Thinking { thought: text, ..end.clone() };
            if thinking.source_field.is_empty() {
                thinking.source_field = field;
            }
        }
    }

    fn end_text(&mut self, block: usize, end: &Text, whole: Option<&str>) {
        if let Some(Block::Text(text)) = self.answer.blocks.get_mut(block) {
            let said = match whole {
                Some(whole) => whole.to_owned(),
                None => std::mem::take(&mut text.text),
            };
            *text = Text { text: said, ..end.clone() };
        }
    }

    fn call_delta(&mut self, block: usize, delta: &str) {
        if let Some(Block::ToolCall(call)) = self.answer.blocks.get_mut(block)
            && let Parameters::Invalid(text) = &mut call.parameters
        {
            text.push_str(delta);
        }
    }
}

/// A call with incomplete arguments. Until its end they count as cut off.
fn open_call(call: &ToolCall) -> ToolCall {
    let parameters = Parameters::Invalid(String::new());
    ToolCall { parameters, ..ToolCall::new(call.id.as_deref(), &call.name) }
}

impl Sink for Fold {
    fn event(&mut self, event: Event<'_>) {
        if self.is_thin && self.skim(event) {
            return;
        }
        match event {
            Event::ThinkingStart { block, source_field } => {
                self.open.push(block);
                self.put(block, Block::Thinking(Thinking::new("", source_field)));
            }
            Event::ThinkingDelta { block, delta } => {
                if let Some(Block::Thinking(thinking)) = self.answer.blocks.get_mut(block) {
                    thinking.thought.push_str(delta);
                }
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                self.end_thinking(block, thinking, thought);
            }
            Event::TextStart { block } => self.put(block, Block::text("")),
            Event::TextDelta { block, delta } => {
                if let Some(Block::Text(text)) = self.answer.blocks.get_mut(block) {
                    text.text.push_str(delta);
                }
            }
            Event::TextEnd { block, text, whole } => self.end_text(block, text, whole),
            Event::ToolCallStart { block, call } => {
                self.put(block, Block::ToolCall(open_call(call)));
            }
            Event::ToolCallDelta { block, delta } => self.call_delta(block, delta),
            Event::ToolCallEnd { block, call } => self.put(block, Block::ToolCall(call.clone())),
            Event::Whole { block, value } => self.put(block, value.clone()),
            Event::Usage(usage) => self.answer.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => {
                self.answer.finish_reason = finish_reason.map(str::to_owned);
                if let Some(model) = model {
                    self.answer.model = Some(model.to_owned());
                }
            }
            Event::Fact(fact) => self.fact(fact),
            Event::Problem(problem) => self.answer.problems.push(problem.clone()),
            Event::Choice { index, event } => self.choice(index, event),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn think(fold: &mut Fold, block: usize, text: &str) {
        fold.event(Event::ThinkingStart { block, source_field: "thinking" });
        fold.event(Event::ThinkingDelta { block, delta: text });
    }

    fn end(fold: &mut Fold, block: usize, signature: &str) {
        let thinking = Thinking { signature: Some(signature.into()), ..Thinking::default() };
        fold.event(Event::ThinkingEnd { block, thinking: &thinking, thought: None });
    }

    /// Two ended thoughts, one of them in a further choice, and an open one.
    fn fold() -> Fold {
        let mut fold = Fold::new();
        think(&mut fold, 0, "first");
        end(&mut fold, 0, "s0");
        think(&mut fold, 1, "open");
        for event in [
            Event::ThinkingStart { block: 0, source_field: "thinking" },
            Event::ThinkingDelta { block: 0, delta: "other choice" },
            Event::ThinkingEnd { block: 0, thinking: &Thinking::default(), thought: None },
        ] {
            fold.event(Event::Choice { index: 1, event: &event });
        }
        fold
    }

    #[test]
    fn thoughts_that_were_taken_out_stand_where_they_stood() {
        let mut whole = fold();
        end(&mut whole, 1, "s1");
        let mut parted = fold();
        let is_large = |thinking: &Thinking| !thinking.thought.is_empty();
        let taken: Vec<_> = std::iter::from_fn(|| parted.take_thought(&is_large)).collect();
        let texts: Vec<_> = taken.iter().map(|(_, it)| it.thought.as_str()).collect();
        assert_eq!(texts, ["first", "other choice"], "the open one stays");
        end(&mut parted, 1, "s1");
        taken.into_iter().rev().for_each(|(vacancy, it)| parted.put_back(vacancy, it));
        assert_eq!(parted.finish(), whole.finish());
    }

    #[test]
    fn a_block_that_began_anew_is_not_replaced() {
        let mut fold = fold();
        let (vacancy, first) = fold.take_thought(&|_| true).unwrap();
        think(&mut fold, 0, "anew");
        end(&mut fold, 0, "s2");
        let (_, anew) = fold.take_thought(&|_| true).unwrap();
        assert_eq!(anew.thought, "anew");
        fold.put_back(vacancy, first);
        let block = fold.so_far().blocks.first();
        assert_eq!(block, Some(&Block::Thinking(Thinking::default())));
    }
}
