//! A watch that covers secrets in all events.

use super::{Cover, CoveredEvents};
use crate::agent::{Called, Watch};
use crate::tools::ToolKind;
use std::collections::BTreeMap;
use thinkthrough_core::content::{Content, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::plane::MaskedText;

/// Passes events to a watch with their secrets covered, for a watch that shows them. A watch that stores events must
/// stand before this one.
pub struct Covered<'w> {
    cover: Cover,
    events: CoveredEvents,
    /// The output of running calls, by the index of the call.
    outputs: BTreeMap<usize, MaskedText>,
    watch: &'w mut (dyn Watch + Send),
}

impl<'w> Covered<'w> {
    /// Passes events on to `watch`.
    #[must_use]
    pub fn new(cover: &Cover, watch: &'w mut (dyn Watch + Send)) -> Self {
        let (cover, events) = (cover.clone(), cover.events());
        Covered { cover, events, outputs: BTreeMap::new(), watch }
    }
}

impl Watch for Covered<'_> {
    fn behind(&mut self) -> Option<&mut (dyn Watch + Send)> {
        Some(self.watch)
    }

    fn event(&mut self, round: usize, event: Event<'_>) {
        let watch = &mut *self.watch;
        self.events.event(event, &mut |event| watch.event(round, event));
    }

    fn outgoing(&mut self, round: usize, request: &Outgoing) {
        self.events.begin();
        self.outputs.clear();
        self.watch.outgoing(round, request);
    }

    fn call_weighed(
        &mut self,
        round: usize,
        index: usize,
        call: &ToolCall,
        (kind, title): (ToolKind, &str),
    ) {
        let (call, title) = (self.cover.call(call), self.cover.text(title));
        self.watch.call_weighed(round, index, &call, (kind, &title));
    }

    fn call_started(&mut self, round: usize, index: usize, call: &ToolCall) {
        self.watch.call_started(round, index, &self.cover.call(call));
    }

    fn call_output(&mut self, round: usize, index: usize, text: &str) {
        let Some(masker) = &self.cover.0 else {
            return self.watch.call_output(round, index, text);
        };
        let output = self.outputs.entry(index).or_insert_with(|| MaskedText::new(masker));
        let text = output.push(text).into_inner();
        if !text.is_empty() {
            self.watch.call_output(round, index, &text);
        }
    }

    fn call_finished(&mut self, round: usize, index: usize, called: &Called) {
        if let Some(mut output) = self.outputs.remove(&index) {
            let rest = output.end().into_inner();
            if !rest.is_empty() {
                self.watch.call_output(round, index, &rest);
            }
        }
        self.watch.call_finished(round, index, &self.cover.called(called));
    }

    fn tool_response(&mut self, round: usize, response: &ToolResponse) {
        self.watch.tool_response(round, &self.cover.response(response));
    }

    fn added(&mut self, round: usize, content: &Content) {
        self.watch.added(round, &self.cover.content(content));
    }
}
