//! The blocks of a response that have begun and not ended, by the wire's own index.
//!
//! Wires with typed blocks (start, deltas, stop) feed this. It numbers the blocks, holds data that may only go out at
//! a block's end, and announces a block once it is certain that it is a block. A whole block is a start, its text and
//! a stop at once, so that both forms of a wire give the same events.

use crate::content::{Block, Other, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Sink};
use crate::json::{Raw, Val};

/// The open blocks of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenBlocks {
    open: Vec<Open>,
    /// How many blocks were announced.
    announced: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    key: u64,
    /// Its number in the answer, once it was announced.
    block: Option<usize>,
    part: Part,
}

/// The kind of a block, with the data that its end reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A tool call, with the `parameters` of its start.
    Call {
        /// The call.
        call: ToolCall,
        /// The arguments' text so far.
        text: String,
    },
    /// A block with no form of its own.
    Other(OpenOther),
    /// Visible text.
    Text {
        /// Everything but the text.
        text: Text,
        /// The citations so far, and the wire they are for.
        citations: Vec<Raw>,
        /// The wire whose citations they are.
        wire: &'static str,
    },
    /// A thought; its signature is empty until it arrives.
    Thinking(Thinking),
}

/// A block with no form of its own that may still grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenOther {
    /// The wire.
    pub(crate) wire: &'static str,
    /// The wire's name for it.
    pub(crate) kind: String,
    /// The members as they began.
    pub(crate) start: Raw,
    /// Whether the block on the wire is `{kind: members}` instead of the members alone.
    pub(crate) wrapped: bool,
    /// The text of its arguments, for server-side calls.
    pub(crate) input: String,
    /// Strings that grew.
    pub(crate) texts: Vec<(String, String)>,
    /// Arrays that grew.
    pub(crate) lists: Vec<(String, Vec<Raw>)>,
    /// Members that were replaced.
    pub(crate) values: Vec<(String, Raw)>,
}

impl OpenBlocks {
    /// Whether anything came.
    pub(crate) fn has_any(&self) -> bool {
        self.announced > 0 || !self.open.is_empty()
    }

    /// Whether a block is open under this index.
    pub(crate) fn has(&self, key: u64) -> bool {
        self.open.iter().any(|open| open.key == key)
    }

    /// Whether a part of the block under this index was sent already.
    pub(crate) fn is_announced(&self, key: u64) -> bool {
        self.open.iter().any(|open| open.key == key && open.block.is_some())
    }

    /// Begins a block. A block that is still open under the same index ends first.
    pub(crate) fn start(&mut self, key: u64, part: Part, sink: &mut dyn Sink) {
        self.end(key, sink);
        let mut open = Open { key, block: None, part };
        if let Part::Call { .. } = open.part {
            open.announce(&mut self.announced, sink);
        }
        self.open.push(open);
    }

    /// The block under this index, for adding to it.
    pub(crate) fn part(&mut self, key: u64) -> Option<&mut Part> {
        self.find(key).map(|open| &mut open.part)
    }

    /// More text of a thought, a text or a call's arguments. Empty text is ignored.
    pub(crate) fn push(&mut self, key: u64, delta: &str, sink: &mut dyn Sink) {
        let Some(open) = self.open.iter_mut().find(|open| open.key == key) else { return };
        if delta.is_empty() {
            return;
        }
        if let Part::Other(other) = &mut open.part {
            other.input.push_str(delta);
            return;
        }
        let block = open.announce(&mut self.announced, sink);
        match &mut open.part {
            Part::Call { text, .. } => {
                text.push_str(delta);
                sink.event(Event::ToolCallDelta { block, delta });
            }
            Part::Text { .. } => sink.event(Event::TextDelta { block, delta }),
            Part::Thinking(_) => sink.event(Event::ThinkingDelta { block, delta }),
            Part::Other(_) => {}
        }
    }

    /// A block that comes in one piece.
    pub(crate) fn whole(&mut self, value: &Block, sink: &mut dyn Sink) {
        let block = self.announced;
        self.announced += 1;
        sink.event(Event::Whole { block, value });
    }

    /// A block is complete.
    pub(crate) fn end(&mut self, key: u64, sink: &mut dyn Sink) {
        if let Some(at) = self.open.iter().position(|open| open.key == key) {
            self.open.remove(at).end(&mut self.announced, false, sink);
        }
    }

    /// Ends all open blocks; `cut` reports that the stream ended before them.
    pub(crate) fn end_all(&mut self, cut: bool, sink: &mut dyn Sink) {
        for open in std::mem::take(&mut self.open) {
            open.end(&mut self.announced, cut, sink);
        }
    }

    fn find(&mut self, key: u64) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.key == key)
    }
}

impl Open {
    /// The block's number; a block without a number gets one, and is announced.
    fn announce(&mut self, announced: &mut usize, sink: &mut dyn Sink) -> usize {
        if let Some(block) = self.block {
            return block;
        }
        let block = *announced;
        *announced += 1;
        self.block = Some(block);
        match &self.part {
            Part::Call { call, .. } => sink.event(Event::ToolCallStart { block, call }),
            Part::Other(_) => {}
            Part::Text { .. } => sink.event(Event::TextStart { block }),
            Part::Thinking(thinking) => {
                let source_field = &thinking.source_field;
                sink.event(Event::ThinkingStart { block, source_field });
            }
        }
        block
    }

    fn end(mut self, announced: &mut usize, cut: bool, sink: &mut dyn Sink) {
        self.settle(cut);
        let is_real = match &self.part {
            Part::Call { .. } | Part::Other(_) => true,
            Part::Text { text, .. } => {
                self.block.is_some() || text.signature.is_some() || !text.extra.is_empty()
            }
            Part::Thinking(thinking) => self.block.is_some() || thinking.has_payload(),
        };
        if !is_real {
            return;
        }
        let block = self.announce(announced, sink);
        match self.part {
            Part::Call { call, text } => end_call(block, call, text, cut, sink),
            Part::Other(other) => {
                let value = Block::Other(other.finish());
                sink.event(Event::Whole { block, value: &value });
            }
            Part::Text { text, .. } => {
                sink.event(Event::TextEnd { block, text: &text, whole: None });
            }
            Part::Thinking(thinking) => {
                sink.event(Event::ThinkingEnd { block, thinking: &thinking, thought: None });
            }
        }
    }

    /// Gives the collected data its final form.
    fn settle(&mut self, cut: bool) {
        match &mut self.part {
            Part::Call { .. } | Part::Other(_) => {}
            Part::Text { text, citations, wire } => {
                if !citations.is_empty() {
                    let list = Raw::build(|w| w.array(|w| citations.iter().for_each(|c| w.raw(c))));
                    text.extra.insert(wire, "citations", list);
                }
            }
            Part::Thinking(thinking) => thinking.partial |= cut,
        }
    }
}

fn end_call(block: usize, mut call: ToolCall, text: String, cut: bool, sink: &mut dyn Sink) {
    let given = std::mem::take(&mut call.parameters);
    call.parameters = match (text.trim().is_empty(), cut) {
        // Arguments that were cut off may look complete by chance, so they count as broken.
        (false, true) => Parameters::Invalid(text),
        (false, false) => Parameters::from_text(&text),
        (true, _) => {
            let whole = given.as_text();
            if given != Parameters::default() {
                sink.event(Event::ToolCallDelta { block, delta: whole });
            }
            if cut { Parameters::Invalid(String::new()) } else { given }
        }
    };
    sink.event(Event::ToolCallEnd { block, call: &call });
}

impl OpenOther {
    /// A block that begins with these members.
    pub(crate) fn new(wire: &'static str, kind: impl Into<String>, start: Raw) -> Self {
        OpenOther {
            wire,
            kind: kind.into(),
            start,
            wrapped: false,
            input: String::new(),
            texts: Vec::new(),
            lists: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a member: strings and arrays grow, other values are replaced.
    pub(crate) fn add(&mut self, key: &str, value: Val<'_>) {
        if let Some(more) = value.as_str() {
            let doc = self.start.doc();
            let began = || doc.root().string(key).unwrap_or_default();
            slot(&mut self.texts, key, began).push_str(&more);
        } else if value.is_array() {
            let doc = self.start.doc();
            let began = || doc.root().get(key).map(list).unwrap_or_default();
            slot(&mut self.lists, key, began).extend(value.items().map(Raw::from));
        } else {
            let value = Raw::from(value);
            *slot(&mut self.values, key, Raw::null) = value;
        }
    }

    fn finish(mut self) -> Other {
        if !self.input.trim().is_empty() {
            // Input that is not valid JSON is kept as a string, so that no data is lost.
            let input = Raw::parse(&self.input).unwrap_or_else(|_| Raw::string(&self.input));
            self.values.push(("input".to_owned(), input));
        }
        for (key, text) in std::mem::take(&mut self.texts) {
            self.values.push((key, Raw::string(&text)));
        }
        for (key, list) in std::mem::take(&mut self.lists) {
            let list = Raw::build(|w| w.array(|w| list.iter().for_each(|item| w.raw(item))));
            self.values.push((key, list));
        }
        let members =
            if self.values.is_empty() { self.start } else { self.start.with(&self.values) };
        let raw = if self.wrapped {
            Raw::build(|w| w.object(|w| w.field_raw(&self.kind, &members)))
        } else {
            members
        };
        Other::new(self.wire, self.kind, raw)
    }
}

fn list(value: Val<'_>) -> Vec<Raw> {
    value.items().map(Raw::from).collect()
}

/// The value under `key`; creates it if it does not exist.
fn slot<'s, T>(list: &'s mut Vec<(String, T)>, key: &str, begin: impl FnOnce() -> T) -> &'s mut T {
    let at = list.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        list.push((key.to_owned(), begin()));
        list.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "`at` was found in the list or is its last place")]
    &mut list[at].1
}
