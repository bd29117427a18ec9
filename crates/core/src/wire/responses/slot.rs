//! The output items of one stream: their blocks in the answer, and the streamed text of each.
//!
//! The last word about an item is its `output_item.done`. Until then its deltas are passed on as they come, and
//! differing parts of the final item replace them.

use super::ID;
use super::item::{self, ItemKind};
use super::message;
use crate::content::{Block, Other, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};

/// One output item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its place in the output, if the event named it.
    pub(super) index: Option<u64>,
    /// Its first id; some relatives send another id in every event.
    pub(super) id: Option<String>,
    pub(super) kind: ItemKind,
    /// The id of the call that it is.
    pub(super) call_id: Option<String>,
    /// The item as it began, until its last word.
    begun: Option<Raw>,
    opens: Vec<Open>,
    /// Text of a part that is only reported as a whole: a refusal, or arguments of a call whose name is not known
    /// yet.
    silent: String,
    pub(super) done: bool,
}

/// One block of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    block: usize,
    form: Form,
    /// The part of the item that the text belongs to.
    part: Part,
    /// The offset in `text` at which that part begins.
    part_at: usize,
    /// The text that was passed on.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Call,
    Other,
    Text,
    Thinking,
}

/// The part of an item that a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The arguments, or a part that arrives as a whole.
    Only,
    /// A content part.
    Content(u64),
    /// A summary part.
    Summary(u64),
}

/// Numbers the blocks of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    next: usize,
}

impl Numbers {
    fn take(&mut self) -> usize {
        let number = self.next;
        self.next += 1;
        number
    }
}

impl Slot {
    pub(super) fn new(index: Option<u64>, id: Option<String>, kind: ItemKind) -> Self {
        Slot {
            index,
            id,
            kind,
            call_id: None,
            begun: None,
            opens: Vec::new(),
            silent: String::new(),
            done: false,
        }
    }

    /// The item has begun. A call is announced at once.
    pub(super) fn begin(&mut self, item: Val<'_>, numbers: &mut Numbers, sink: &mut dyn Sink) {
        self.kind = ItemKind::of_item(item);
        self.begun = Some(Raw::from(item));
        self.call_id = item.string("call_id");
        let is_call = matches!(self.kind, ItemKind::Function | ItemKind::Custom);
        if is_call && self.opens.is_empty() && item.text("name").is_some() {
            self.open_call(item, numbers, sink);
            let said = std::mem::take(&mut self.silent);
            self.push_call(&said, sink);
        }
    }

    fn open_call(&mut self, item: Val<'_>, numbers: &mut Numbers, sink: &mut dyn Sink) {
        let block = numbers.take();
        let id = item.text("call_id");
        let name = item.text("name").unwrap_or_default();
        let mut call = ToolCall::new(id.as_deref(), &name);
        if self.kind == ItemKind::Custom {
            call.parameters = Parameters::Free(String::new());
        }
        sink.event(Event::ToolCallStart { block, call: &call });
        self.opens.push(Open::new(block, Form::Call, Part::Only));
    }

    /// Takes a number for this item before another item takes one, so that blocks are in the items' order.
    pub(super) fn claim(&mut self, numbers: &mut Numbers, sink: &mut dyn Sink) {
        if self.done || !self.opens.is_empty() {
            return;
        }
        match self.kind {
            ItemKind::Reasoning if self.id.is_some() => {
                self.open_thinking("summary", Part::Only, numbers, sink);
            }
            ItemKind::Other => {
                if let Some(begun) = &self.begun {
                    let value = Block::Other(item::other(begun.doc().root()));
                    let block = numbers.take();
                    sink.event(Event::Whole { block, value: &value });
                    self.opens.push(Open::new(block, Form::Other, Part::Only));
                }
            }
            // A message is only known by its parts, and calls were announced when they began.
            ItemKind::Reasoning | ItemKind::Message | ItemKind::Function | ItemKind::Custom => {}
        }
    }

    fn open_thinking(
        &mut self,
        source_field: &str,
        part: Part,
        numbers: &mut Numbers,
        sink: &mut dyn Sink,
    ) {
        let block = numbers.take();
        sink.event(Event::ThinkingStart { block, source_field });
        self.opens.push(Open::new(block, Form::Thinking, part));
    }

    /// More text of a thought.
    pub(super) fn push_thought(
        &mut self,
        part: Part,
        delta: &str,
        numbers: &mut Numbers,
        sink: &mut dyn Sink,
    ) {
        if delta.is_empty() {
            return;
        }
        if self.opens.is_empty() {
            let field = if matches!(part, Part::Content(_)) { "content" } else { "summary" };
            self.open_thinking(field, part, numbers, sink);
        }
        let Some(open) = self.opens.first_mut() else { return };
        if open.part != part {
            let joins = matches!((open.part, part), (Part::Content(_), Part::Content(_)));
            if !open.text.is_empty() && !joins {
                open.push("\n\n", sink);
            }
            open.part = part;
            open.part_at = open.text.len();
        }
        open.push(delta, sink);
    }

    /// More visible text.
    pub(super) fn push_text(
        &mut self,
        part: Part,
        delta: &str,
        numbers: &mut Numbers,
        sink: &mut dyn Sink,
    ) {
        if delta.is_empty() {
            return;
        }
        if self.open_of(Form::Text, part).is_none() {
            let block = numbers.take();
            sink.event(Event::TextStart { block });
            self.opens.push(Open::new(block, Form::Text, part));
        }
        if let Some(open) = self.open_of(Form::Text, part) {
            open.push(delta, sink);
        }
    }

    /// More of a call's arguments.
    pub(super) fn push_call(&mut self, delta: &str, sink: &mut dyn Sink) {
        match self.open_of(Form::Call, Part::Only) {
            Some(open) if !delta.is_empty() => open.push(delta, sink),
            Some(_) => {}
            None => self.silent.push_str(delta),
        }
    }

    /// More text of a refusal, which is reported as a whole at its end.
    pub(super) fn push_refusal(&mut self, delta: &str) {
        self.silent.push_str(delta);
    }

    /// The end of `whole` that was not passed on for this part; empty if `whole` differs from the streamed text.
    pub(super) fn rest<'t>(&self, part: Part, whole: &'t str) -> &'t str {
        let said = self.opens.iter().find(|open| open.part == part).and_then(Open::part_text);
        match said {
            Some(said) => whole.strip_prefix(said).unwrap_or_default(),
            None if part == Part::Only => {
                whole.strip_prefix(self.silent.as_str()).unwrap_or_default()
            }
            None => whole,
        }
    }

    /// The last word about the item.
    pub(super) fn finish(&mut self, item: Val<'_>, numbers: &mut Numbers, sink: &mut dyn Sink) {
        let opens = std::mem::take(&mut self.opens);
        let mut left = opens.into_iter();
        for block in item::blocks(item) {
            let form = Form::of(&block);
            let open = match left.as_slice().first() {
                Some(open) if open.form == form => left.next(),
                _ => None,
            };
            self.opens.push(end_with(open, &block, form, numbers, sink));
        }
        for open in left {
            // The final item lacks a streamed part; the part is kept.
            self.end_open(&open, false, sink);
            self.opens.push(Open { text: String::new(), ..open });
        }
        if let Some(id) = item.string("id") {
            self.id = Some(id);
        }
        self.call_id = item.string("call_id");
        self.begun = None;
        self.silent = String::new();
        self.done = true;
    }

    /// The item got no `output_item.done`. Its streamed content is kept; `is_cut` marks it as incomplete.
    pub(super) fn close(&mut self, is_cut: bool, numbers: &mut Numbers, sink: &mut dyn Sink) {
        if self.done {
            return;
        }
        self.claim(numbers, sink);
        for open in &self.opens {
            self.end_open(open, is_cut, sink);
        }
        if !self.silent.is_empty() && self.kind == ItemKind::Message {
            let raw = Raw::build(|w| {
                w.object(|w| {
                    w.field_str("type", "refusal");
                    w.field_str("refusal", &self.silent);
                });
            });
            let value = Block::Other(Other::new(ID, "refusal", raw));
            sink.event(Event::Fact(Fact::Refusal(&self.silent)));
            sink.event(Event::Whole { block: numbers.take(), value: &value });
        }
        self.done = true;
    }

    fn end_open(&self, open: &Open, is_cut: bool, sink: &mut dyn Sink) {
        let block = open.block;
        match open.form {
            Form::Thinking => {
                // An encrypted payload that began is not one yet, so only the id is kept.
                let thinking =
                    Thinking { id: self.id.clone(), partial: is_cut, ..Thinking::default() };
                sink.event(Event::ThinkingEnd { block, thinking: &thinking, thought: None });
            }
            Form::Text => {
                let text = Text { extra: self.fields(&["id", "phase"]), ..Text::default() };
                sink.event(Event::TextEnd { block, text: &text, whole: None });
            }
            Form::Call => {
                if let Some(begun) = &self.begun {
                    let begun = begun.doc();
                    let mut call = item::function(begun.root());
                    call.parameters = match (is_cut, self.kind) {
                        // Arguments that were cut off may look complete by chance, so they count as broken.
                        (true, _) => Parameters::Invalid(open.text.clone()),
                        (false, ItemKind::Custom) => Parameters::Free(open.text.clone()),
                        (false, _) => Parameters::from_text(&open.text),
                    };
                    call.extra = self.fields(&["id", "namespace"]);
                    sink.event(Event::ToolCallEnd { block, call: &call });
                }
            }
            Form::Other => {}
        }
    }

    /// Some fields of the item as it began.
    fn fields(&self, keys: &[&str]) -> Extra {
        let mut extra = Extra::default();
        if let Some(begun) = &self.begun {
            let begun = begun.doc();
            for key in keys {
                if let Some(value) = begun.root().some(key) {
                    extra.insert(ID, key, Raw::from(value));
                }
            }
        }
        extra
    }

    fn open_of(&mut self, form: Form, part: Part) -> Option<&mut Open> {
        self.opens.iter_mut().find(|open| open.form == form && open.part == part)
    }
}

impl Open {
    fn new(block: usize, form: Form, part: Part) -> Self {
        Open { block, form, part, part_at: 0, text: String::new() }
    }

    fn part_text(&self) -> Option<&str> {
        self.text.get(self.part_at..)
    }

    fn push(&mut self, delta: &str, sink: &mut dyn Sink) {
        let block = self.block;
        self.text.push_str(delta);
        match self.form {
            Form::Call => sink.event(Event::ToolCallDelta { block, delta }),
            Form::Text => sink.event(Event::TextDelta { block, delta }),
            Form::Thinking => sink.event(Event::ThinkingDelta { block, delta }),
            Form::Other => {}
        }
    }
}

impl Form {
    fn of(block: &Block) -> Self {
        match block {
            Block::Text(_) => Form::Text,
            Block::Thinking(_) => Form::Thinking,
            Block::ToolCall(_) => Form::Call,
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => Form::Other,
        }
    }
}

/// Ends an open block, or reports the block as a whole.
fn end_with(
    open: Option<Open>,
    block: &Block,
    form: Form,
    numbers: &mut Numbers,
    sink: &mut dyn Sink,
) -> Open {
    let is_new = open.is_none();
    let mut open = open.unwrap_or_else(|| Open::new(numbers.take(), form, Part::Only));
    let at = open.block;
    match block {
        Block::Thinking(thinking) => {
            if is_new {
                let source_field = &thinking.source_field;
                sink.event(Event::ThinkingStart { block: at, source_field });
                say(&mut open, &thinking.thought, sink);
            }
            let thought = (thinking.thought != open.text).then_some(thinking.thought.as_str());
            let rest = Thinking { thought: String::new(), ..thinking.clone() };
            sink.event(Event::ThinkingEnd { block: at, thinking: &rest, thought });
        }
        Block::Text(text) => {
            if is_new {
                sink.event(Event::TextStart { block: at });
                say(&mut open, &text.text, sink);
            }
            let whole = (text.text != open.text).then_some(text.text.as_str());
            let rest = Text { text: String::new(), ..text.clone() };
            sink.event(Event::TextEnd { block: at, text: &rest, whole });
        }
        Block::ToolCall(call) => {
            if is_new {
                sink.event(Event::ToolCallStart { block: at, call });
                say(&mut open, call.parameters.as_text(), sink);
            }
            sink.event(Event::ToolCallEnd { block: at, call });
        }
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {
            sink.event(Event::Whole { block: at, value: block });
        }
    }
    open.text = String::new();
    open
}

fn say(open: &mut Open, text: &str, sink: &mut dyn Sink) {
    if !text.is_empty() {
        open.push(text, sink);
    }
}

/// The text of a refusal block, if this is one.
pub(super) fn refusal(item: Val<'_>) -> Option<String> {
    let texts: Vec<String> = message::blocks(item)
        .iter()
        .filter_map(|block| match block {
            Block::Other(other) if other.kind == "refusal" => {
                other.raw.doc().root().string("refusal")
            }
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}
