//! Tickets in place of the ids of an answer's calls, if the model's contract calls the provider's own ids weak, and
//! in place of the signature of its thoughts, if the caller's wire wants one and the model's has none.

use crate::answer::Answer;
use crate::content::{Block, Content, Thinking, ToolCall};
use crate::edit::Draft;
use crate::edit::stream::{CallAt, StreamEdit, edit_value, rename_calls, rename_model};
use crate::event::Event;
use crate::frame::DEFAULT_LIMIT;
use crate::json::Val;
use crate::restore::{Secret, ticket};
use crate::wire::Wire;

/// A hostile upstream may send more choices; they share the last place.
const MAX_CHOICES: usize = 128;

/// Gives the parts of one answer their tickets. Every choice is a record of its own, and so has tickets of its own.
#[derive(Clone, Debug)]
pub(super) struct Mint {
    secret: Secret,
    record: String,
    of: Of,
    /// The ids and tickets that each choice got.
    choices: Vec<Choice>,
}

/// The parts of an answer that get tickets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of {
    /// Calls, in this form.
    pub(super) calls: Option<ticket::Form>,
    /// Thoughts without a signature.
    pub(super) thoughts: bool,
}

#[derive(Clone, Debug, Default)]
struct Choice {
    /// The calls that were given tickets, in order.
    calls: Vec<Given>,
    /// The thought that is coming has text.
    is_said: bool,
    /// A thought was given a ticket.
    is_signed: bool,
}

/// A call that was given a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    /// The number of its block, or of its place in the answer; it distinguishes the calls while the answer comes.
    place: Option<u64>,
    /// The provider's own id.
    native: String,
}

/// The id of the record of one choice of an answer: its own for the first.
pub(super) fn record_of(record: &str, choice: usize) -> String {
    match choice {
        0 => record.to_owned(),
        _ => format!("{record}-{choice}"),
    }
}

impl Mint {
    pub(super) fn new(secret: Secret, record: String, of: Of) -> Self {
        Mint { secret, record, of, choices: Vec::new() }
    }

    /// Whether the caller was given a ticket in the place of the signature of a choice's thoughts.
    pub(super) fn signed(&self, choice: usize) -> bool {
        self.choices.get(choice).is_some_and(|choice| choice.is_signed)
    }

    /// The form of the tickets, if the caller was given one for each of these calls of a choice, and in their order.
    pub(super) fn covers(&self, choice: usize, content: &Content) -> Option<ticket::Form> {
        let given = self.choices.get(choice).map(|it| it.calls.as_slice()).unwrap_or_default();
        let mut given = given.iter().map(|given| given.native.as_str());
        let is_given =
            |call: &ToolCall| given.next() == Some(call.id.as_deref().unwrap_or_default());
        self.of.calls.filter(|_| content.tool_calls().all(is_given))
    }

    /// Passes an event on with tickets in it.
    pub(super) fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::Choice { index, event } => {
                self.one(index, *event, &mut |event| pass(Event::Choice { index, event: &event }));
            }
            event => self.one(0, event, pass),
        }
    }

    fn one(&mut self, choice: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ThinkingDelta { .. }
            | Event::ThinkingEnd { .. }
            | Event::Whole { value: Block::Thinking(_), .. }
                if self.of.thoughts =>
            {
                self.thoughts(choice, event, pass);
            }
            event if self.of.calls.is_some() => self.calls(choice, event, pass),
            event => pass(event),
        }
    }

    fn calls(&mut self, choice: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ToolCallStart { block, call } => {
                pass(Event::ToolCallStart { block, call: &self.call(choice, block, call) });
            }
            Event::ToolCallEnd { block, call } => {
                pass(Event::ToolCallEnd { block, call: &self.call(choice, block, call) });
            }
            Event::Whole { block, value: Block::ToolCall(call) } => {
                let value = &Block::ToolCall(self.call(choice, block, call));
                pass(Event::Whole { block, value });
            }
            event => pass(event),
        }
    }

    /// The whole answer with tickets in it.
    pub(super) fn answer(&mut self, mut answer: Answer) -> Answer {
        self.blocks(0, &mut answer.blocks);
        for (choice, further) in (1..).zip(&mut answer.choices) {
            self.blocks(choice, &mut further.blocks);
        }
        answer
    }

    fn blocks(&mut self, choice: usize, blocks: &mut [Block]) {
        let mut at = 0;
        for block in blocks {
            if let Block::Thinking(thinking) = block
                && self.of.thoughts
            {
                let is_said = !thinking.thought.is_empty();
                self.sign(choice, is_said, thinking);
            }
            if let Block::ToolCall(call) = block
                && self.of.calls.is_some()
            {
                if at == self.given(choice).len() {
                    self.give(choice, None, call.id.clone().unwrap_or_default());
                }
                call.id = self.ticket(choice, at);
                at += 1;
            }
        }
    }

    fn call(&mut self, choice: usize, block: usize, call: &ToolCall) -> ToolCall {
        let place = u64::try_from(block).ok();
        let native = call.id.clone().unwrap_or_default();
        let at = match self.given(choice).iter().position(|given| given.place == place) {
            Some(at) => at,
            None => self.give(choice, place, String::new()),
        };
        if let Some(given) = self.given(choice).get_mut(at) {
            given.native = native;
        }
        ToolCall { id: self.ticket(choice, at), ..call.clone() }
    }

    /// Adds the edits of one message of the answer to `draft`.
    fn edit(&mut self, message: Val<'_>, draft: &mut Draft) {
        let mut rename = |native: &str, CallAt { choice, place }: CallAt| {
            let choice = usize::try_from(choice).unwrap_or(usize::MAX);
            let is_given = |given: &Given| given.place == place && given.native == native;
            // A call without an id occurs in one message only.
            let known = self.given(choice).iter().position(is_given).filter(|_| !native.is_empty());
            let at = known.unwrap_or_else(|| self.give(choice, place, native.to_owned()));
            self.ticket(choice, at)
        };
        rename_calls(message, &mut rename, draft);
    }

    fn give(&mut self, choice: usize, place: Option<u64>, native: String) -> usize {
        let given = self.given(choice);
        given.push(Given { place, native });
        given.len() - 1
    }

    /// The calls of a choice.
    fn given(&mut self, choice: usize) -> &mut Vec<Given> {
        &mut self.choice(choice).calls
    }

    fn choice(&mut self, choice: usize) -> &mut Choice {
        let choice = choice.min(MAX_CHOICES - 1);
        if self.choices.len() <= choice {
            self.choices.resize_with(choice + 1, Choice::default);
        }
        #[expect(clippy::indexing_slicing, reason = "it was just made")]
        &mut self.choices[choice]
    }

    fn ticket(&self, choice: usize, at: usize) -> Option<String> {
        let record = record_of(&self.record, choice.min(MAX_CHOICES - 1));
        let call = u32::try_from(at).unwrap_or(u32::MAX);
        Some(ticket::mint(&self.secret, &record, call, self.of.calls?))
    }

    /// Passes an event on, with a ticket if it ends a thought that has content and no signature.
    fn thoughts(&mut self, choice: usize, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ThinkingDelta { delta, .. } => {
                self.choice(choice).is_said |= !delta.is_empty();
                pass(event);
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                let was_said = std::mem::take(&mut self.choice(choice).is_said);
                let is_said = was_said || thought.is_some_and(|thought| !thought.is_empty());
                let mut signed = thinking.clone();
                self.sign(choice, is_said, &mut signed);
                pass(Event::ThinkingEnd { block, thinking: &signed, thought });
            }
            Event::Whole { block, value: Block::Thinking(thinking) } => {
                let mut signed = thinking.clone();
                self.sign(choice, !thinking.thought.is_empty(), &mut signed);
                pass(Event::Whole { block, value: &Block::Thinking(signed) });
            }
            event => pass(event),
        }
    }

    /// Gives a thought its ticket, if it has content that may come back, and no signature.
    fn sign(&mut self, choice: usize, is_said: bool, thinking: &mut Thinking) {
        let has_place = thinking.signature.is_none() && thinking.redacted_data.is_none();
        if has_place && (is_said || thinking.encrypted_content.is_some()) {
            let record = record_of(&self.record, choice.min(MAX_CHOICES - 1));
            thinking.signature = Some(ticket::of_thought(&self.secret, &record));
            self.choice(choice).is_signed = true;
        }
    }
}

/// Edits the upstream's bytes on their way to a caller on the same wire: ids of calls become tickets, the model gets the
/// name that was asked for, and values the wire's own spelling. All else stays.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    changes: Changes,
    form: Form,
}

#[derive(Clone, Debug)]
struct Changes {
    mint: Option<Mint>,
    /// The name of the requested model, if it has an alias.
    alias: Option<String>,
    wire: &'static dyn Wire,
}

impl Changes {
    /// Adds the edits of one message of the answer to `draft`.
    fn edit(&mut self, message: Val<'_>, draft: &mut Draft) {
        self.mint.iter_mut().for_each(|mint| mint.edit(message, draft));
        self.alias.iter().for_each(|alias| rename_model(message, alias, draft));
        for (span, text) in self.wire.respelled(message) {
            draft.replace(span, text);
        }
    }
}

#[derive(Clone, Debug)]
enum Form {
    Stream(StreamEdit),
    /// One value, which can be edited once it is all there.
    Whole(Vec<u8>),
    /// The answer is not edited.
    AsItIs,
}

impl Edited {
    /// An editor of a stream of the wire, or of one value.
    pub(super) fn new(
        mint: Option<Mint>,
        alias: Option<String>,
        wire: &'static dyn Wire,
        is_stream: bool,
    ) -> Self {
        let form = match is_stream {
            true => Form::Stream(StreamEdit::new(wire.framing())),
            false => Form::Whole(Vec::new()),
        };
        Edited { changes: Changes { mint, alias, wire }, form }
    }

    pub(super) fn mint(&mut self) -> Option<&mut Mint> {
        self.changes.mint.as_mut()
    }

    pub(super) fn into_mint(self) -> Option<Mint> {
        self.changes.mint
    }

    /// The response is not an answer.
    pub(super) fn refused(&mut self) {
        self.form = Form::AsItIs;
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Edited { changes, form } = self;
        match form {
            Form::Stream(stream) => {
                stream.push(bytes, &mut |it, draft| changes.edit(it, draft), out);
            }
            // No honest answer is this long.
            Form::Whole(held) if held.len() + bytes.len() > DEFAULT_LIMIT => {
                out.append(held);
                out.extend_from_slice(bytes);
                *form = Form::AsItIs;
            }
            Form::Whole(held) => held.extend_from_slice(bytes),
            Form::AsItIs => out.extend_from_slice(bytes),
        }
    }

    /// Ends the answer: appends the held bytes.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        let Edited { changes, form } = self;
        let mut edit = |message: Val<'_>, draft: &mut Draft| changes.edit(message, draft);
        match std::mem::replace(form, Form::AsItIs) {
            Form::Stream(stream) => stream.end(&mut edit, out),
            Form::Whole(held) => edit_value(&held, &mut edit, out),
            Form::AsItIs => {}
        }
    }
}
