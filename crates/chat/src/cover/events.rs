//! Covers the events of an answer. Each text is covered like the whole text.

use super::Cover;
use std::collections::BTreeMap;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::{Event, Fact};
use thinkthrough_core::plane::{Masked, MaskedText};
use thinkthrough_core::problem::Problem;

/// The place of a text: the choice of the answer, and its block there.
type Place = (usize, Part);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Block(usize),
    Refusal,
    ToolPlan,
}

/// Passes the events of one answer on with their secrets covered. Text that may become a secret is held back until
/// that is decided, at the latest until its block ends.
#[derive(Debug)]
pub struct CoveredEvents {
    cover: Cover,
    texts: BTreeMap<Place, MaskedText>,
}

impl CoveredEvents {
    pub(super) fn new(cover: Cover) -> Self {
        CoveredEvents { cover, texts: BTreeMap::new() }
    }

    /// Another answer begins.
    pub fn begin(&mut self) {
        self.texts.clear();
    }

    /// Passes an event on.
    pub fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        if self.cover.0.is_none() {
            return pass(event);
        }
        match event {
            Event::Choice { index, event } => {
                self.at(index, *event, &mut |event| pass(Event::Choice { index, event: &event }));
            }
            event => self.at(0, event, pass),
        }
    }

    fn at(&mut self, choice: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        if !matches!(event, Event::Fact(_)) {
            self.end_beside(choice, pass);
        }
        let place = |block| (choice, Part::Block(block));
        match event {
            Event::ThinkingDelta { block, delta } => {
                self.push(place(block), delta, &mut |delta| {
                    pass(Event::ThinkingDelta { block, delta });
                });
            }
            Event::TextDelta { block, delta } => {
                self.push(place(block), delta, &mut |delta| {
                    pass(Event::TextDelta { block, delta });
                });
            }
            Event::ToolCallDelta { block, delta } => {
                self.push(place(block), delta, &mut |delta| {
                    pass(Event::ToolCallDelta { block, delta });
                });
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                self.end(place(block), &mut |delta| pass(Event::ThinkingDelta { block, delta }));
                let (thinking, thought) = (self.cover.thinking(thinking), self.whole(thought));
                let thought = thought.as_deref();
                pass(Event::ThinkingEnd { block, thinking: &thinking, thought });
            }
            Event::TextEnd { block, text, whole } => {
                self.end(place(block), &mut |delta| pass(Event::TextDelta { block, delta }));
                let whole = self.whole(whole);
                pass(Event::TextEnd { block, text, whole: whole.as_deref() });
            }
            Event::ToolCallEnd { block, call } => {
                self.end(place(block), &mut |delta| pass(Event::ToolCallDelta { block, delta }));
                pass(Event::ToolCallEnd { block, call: &self.cover.call(call) });
            }
            Event::ToolCallStart { block, call } => {
                pass(Event::ToolCallStart { block, call: &self.cover.call(call) });
            }
            Event::Whole { block, value } => {
                let value: Block = self.cover.block(value);
                pass(Event::Whole { block, value: &value });
            }
            Event::Problem(problem) => {
                let message = self.cover.text(&problem.message).into_owned();
                pass(Event::Problem(&Problem { message, ..problem.clone() }));
            }
            Event::Fact(fact) => self.fact(choice, fact, pass),
            other => pass(other),
        }
    }

    fn fact(&mut self, choice: usize, fact: Fact<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match fact {
            Fact::Refusal(delta) => self.push((choice, Part::Refusal), delta, &mut |delta| {
                pass(Event::Fact(Fact::Refusal(delta)));
            }),
            Fact::ToolPlan(delta) => self.push((choice, Part::ToolPlan), delta, &mut |delta| {
                pass(Event::Fact(Fact::ToolPlan(delta)));
            }),
            Fact::Beside { wire, members } => {
                let members = &self.cover.raw(members);
                pass(Event::Fact(Fact::Beside { wire, members }));
            }
            Fact::Field { wire, key, value } => {
                let value = &self.cover.raw(value);
                pass(Event::Fact(Fact::Field { wire, key, value }));
            }
            other => pass(Event::Fact(other)),
        }
    }

    fn push(&mut self, place: Place, delta: &str, pass: &mut dyn FnMut(&str)) {
        let Some(masker) = &self.cover.0 else { return pass(delta) };
        let text = self.texts.entry(place).or_insert_with(|| MaskedText::new(masker));
        say(&text.push(delta), pass);
    }

    /// Releases the rest of a text.
    fn end(&mut self, place: Place, pass: &mut dyn FnMut(&str)) {
        if let Some(mut text) = self.texts.remove(&place) {
            say(&text.end(), pass);
        }
    }

    /// Ends the texts that have no end event of their own, when another event comes.
    fn end_beside(&mut self, choice: usize, pass: &mut dyn FnMut(Event<'_>)) {
        self.end((choice, Part::Refusal), &mut |delta| pass(Event::Fact(Fact::Refusal(delta))));
        self.end((choice, Part::ToolPlan), &mut |delta| pass(Event::Fact(Fact::ToolPlan(delta))));
    }

    fn whole(&self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.cover.text(text).into_owned())
    }
}

fn say(text: &Masked<String>, pass: &mut dyn FnMut(&str)) {
    if !text.get().is_empty() {
        pass(text.get());
    }
}
