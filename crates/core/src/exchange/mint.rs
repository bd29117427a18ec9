//! Tickets in place of the ids of an answer's calls, where the model's contract says that the provider's own are weak.

use crate::answer::Answer;
use crate::content::{Block, Content, ToolCall};
use crate::edit::Draft;
use crate::edit::stream::{CallAt, StreamEdit, edit_value, rename_calls};
use crate::event::Event;
use crate::frame::{DEFAULT_LIMIT, Framing};
use crate::json::Val;
use crate::restore::{Secret, ticket};

/// More choices than this are a hostile upstream's; they share the last place.
const MAX_CHOICES: usize = 128;

/// Gives the calls of one answer their tickets. Every choice is a record of its own, and so has tickets of its own.
#[derive(Clone, Debug)]
pub(super) struct Mint {
    secret: Secret,
    record: String,
    /// The calls of each choice that were given tickets, in order.
    given: Vec<Vec<Given>>,
}

/// A call that was given a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    /// What tells it from the others while the answer comes: the number of its block, or of its place in the answer.
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
    pub(super) fn new(secret: Secret, record: String) -> Self {
        Mint { secret, record, given: Vec::new() }
    }

    /// Whether the caller was given a ticket for each of these calls of a choice, and in their order.
    pub(super) fn covers(&self, choice: usize, content: &Content) -> bool {
        let given = self.given.get(choice).map(Vec::as_slice).unwrap_or_default();
        let mut given = given.iter().map(|given| given.native.as_str());
        content
            .tool_calls()
            .all(|call| given.next() == Some(call.id.as_deref().unwrap_or_default()))
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
            if let Block::ToolCall(call) = block {
                if at == self.given(choice).len() {
                    self.give(choice, None, call.id.clone().unwrap_or_default());
                }
                call.id = Some(self.ticket(choice, at));
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
        ToolCall { id: Some(self.ticket(choice, at)), ..call.clone() }
    }

    /// Says the edits of a message of the answer.
    fn edit(&mut self, message: Val<'_>, draft: &mut Draft) {
        let mut rename = |native: &str, CallAt { choice, place }: CallAt| {
            let choice = usize::try_from(choice).unwrap_or(usize::MAX);
            let is_given = |given: &Given| given.place == place && given.native == native;
            let at = match self.given(choice).iter().position(is_given) {
                Some(at) => at,
                None => self.give(choice, place, native.to_owned()),
            };
            Some(self.ticket(choice, at))
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
        let choice = choice.min(MAX_CHOICES - 1);
        if self.given.len() <= choice {
            self.given.resize_with(choice + 1, Vec::new);
        }
        #[expect(clippy::indexing_slicing, reason = "it was just made")]
        &mut self.given[choice]
    }

    fn ticket(&self, choice: usize, at: usize) -> String {
        let record = record_of(&self.record, choice.min(MAX_CHOICES - 1));
        ticket::mint(&self.secret, &record, u32::try_from(at).unwrap_or(u32::MAX))
    }
}

/// The upstream's bytes on their way to a caller on the same wire: the ids of calls become tickets, all else stays.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    mint: Mint,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Stream(StreamEdit),
    /// One value, which can be edited once it is all there.
    Whole(Vec<u8>),
    /// Nothing is edited.
    AsItIs,
}

impl Edited {
    /// Of a stream with this framing; without one, of one value.
    pub(super) fn new(mint: Mint, framing: Option<Framing>) -> Self {
        let form = match framing {
            Some(framing) => Form::Stream(StreamEdit::new(framing)),
            None => Form::Whole(Vec::new()),
        };
        Edited { mint, form }
    }

    pub(super) fn mint(&mut self) -> &mut Mint {
        &mut self.mint
    }

    /// What comes is no answer.
    pub(super) fn refused(&mut self) {
        self.form = Form::AsItIs;
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Edited { mint, form } = self;
        match form {
            Form::Stream(stream) => stream.push(bytes, &mut |it, draft| mint.edit(it, draft), out),
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

    /// The answer is over: appends what is still held.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        let Edited { mint, form } = self;
        let mut edit = |message: Val<'_>, draft: &mut Draft| mint.edit(message, draft);
        match std::mem::replace(form, Form::AsItIs) {
            Form::Stream(stream) => stream.end(&mut edit, out),
            Form::Whole(held) => edit_value(&held, &mut edit, out),
            Form::AsItIs => {}
        }
    }
}
