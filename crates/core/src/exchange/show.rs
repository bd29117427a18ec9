//! Moves thoughts to the place that the caller wants, or removes them.

use super::handling::View;
use crate::answer::Answer;
use crate::content::{Block, Thinking};
use crate::event::Event;

/// Changes events on their way to the caller's wire.
#[derive(Clone, Debug)]
pub(super) struct Show {
    view: View,
    /// For each choice, the numbers of its blocks without the hidden ones.
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    numbers: Vec<Option<usize>>,
    next: usize,
}

impl Lane {
    /// The number of a block that begins.
    fn begin(&mut self, block: usize, is_hidden: bool) -> Option<usize> {
        if self.numbers.len() <= block {
            // Blocks are numbered without holes, so this adds one.
            self.numbers.resize(block + 1, None);
        }
        let number = (!is_hidden).then_some(self.next);
        self.next += usize::from(!is_hidden);
        if let Some(slot) = self.numbers.get_mut(block) {
            *slot = number;
        }
        number
    }

    fn of(&self, block: usize) -> Option<usize> {
        self.numbers.get(block).copied().flatten()
    }
}

impl Show {
    pub(super) fn new(view: View) -> Self {
        Show { view, lanes: Vec::new() }
    }

    /// Passes an event on in the caller's view, or drops it.
    pub(super) fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::Choice { index, event } => {
                self.one(index, *event, &mut |event| pass(Event::Choice { index, event: &event }));
            }
            event => self.one(0, event, pass),
        }
    }

    fn one(&mut self, lane: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match self.view.field() {
            Some(field) => moved(event, field, pass),
            None if self.view == View::Hidden => self.hidden(lane, event, pass),
            None => pass(event),
        }
    }

    fn hidden(&mut self, lane: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        if self.lanes.len() <= lane {
            self.lanes.resize(lane + 1, Lane::default());
        }
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        let (block, begins) = match event {
            Event::ThinkingStart { block, .. }
            | Event::Whole { block, value: Block::Thinking(_) } => {
                lane.begin(block, true);
                return;
            }
            Event::ThinkingDelta { .. } | Event::ThinkingEnd { .. } => return,
            Event::TextStart { block }
            | Event::ToolCallStart { block, .. }
            | Event::Whole { block, .. } => (block, true),
            Event::TextDelta { block, .. }
            | Event::TextEnd { block, .. }
            | Event::ToolCallDelta { block, .. }
            | Event::ToolCallEnd { block, .. } => (block, false),
            Event::Usage(_)
            | Event::Finish { .. }
            | Event::Fact(_)
            | Event::Problem(_)
            | Event::Choice { .. } => return pass(event),
        };
        let number = if begins { lane.begin(block, false) } else { lane.of(block) };
        if let Some(number) = number {
            pass(numbered(event, number));
        }
    }

    /// The whole answer in the caller's view.
    pub(super) fn answer(&self, answer: &Answer) -> Answer {
        let mut shown = answer.clone();
        shown.choices = answer.choices.iter().map(|choice| self.answer(choice)).collect();
        match self.view.field() {
            Some(field) => shown.blocks.iter_mut().for_each(|block| {
                if let Block::Thinking(thinking) = block {
                    field.clone_into(&mut thinking.source_field);
                }
            }),
            None if self.view == View::Hidden => {
                shown.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
            }
            None => {}
        }
        shown
    }
}

/// A thought's event, as if it had come in `field`.
fn moved(event: Event<'_>, field: &str, pass: &mut dyn FnMut(Event<'_>)) {
    let moved =
        |thinking: &Thinking| Thinking { source_field: field.to_owned(), ..thinking.clone() };
    match event {
        Event::ThinkingStart { block, .. } => {
            pass(Event::ThinkingStart { block, source_field: field });
        }
        Event::ThinkingEnd { block, thinking, thought } => {
            pass(Event::ThinkingEnd { block, thinking: &moved(thinking), thought });
        }
        Event::Whole { block, value: Block::Thinking(thinking) } => {
            pass(Event::Whole { block, value: &Block::Thinking(moved(thinking)) });
        }
        event => pass(event),
    }
}

/// The same event of the block with another number.
fn numbered(event: Event<'_>, block: usize) -> Event<'_> {
    match event {
        Event::TextStart { .. } => Event::TextStart { block },
        Event::TextDelta { delta, .. } => Event::TextDelta { block, delta },
        Event::TextEnd { text, whole, .. } => Event::TextEnd { block, text, whole },
        Event::ToolCallStart { call, .. } => Event::ToolCallStart { block, call },
        Event::ToolCallDelta { delta, .. } => Event::ToolCallDelta { block, delta },
        Event::ToolCallEnd { call, .. } => Event::ToolCallEnd { block, call },
        Event::Whole { value, .. } => Event::Whole { block, value },
        event => event,
    }
}
