//! Tickets in place of the ids of an answer's calls, where the model's contract says that the provider's own are weak.

use crate::answer::Answer;
use crate::content::{Block, Content, ToolCall};
use crate::edit::Draft;
use crate::edit::stream::{StreamEdit, edit_value, rename_calls};
use crate::event::Event;
use crate::frame::{DEFAULT_LIMIT, Framing};
use crate::json::Val;
use crate::restore::{Secret, ticket};

/// Gives the calls of one answer their tickets.
#[derive(Clone, Debug)]
pub(super) struct Mint {
    secret: Secret,
    record: String,
    /// The calls that were given tickets, in order.
    given: Vec<Given>,
}

/// A call that was given a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    /// What tells it from the others while the answer comes: the number of its block, or of its place in the answer.
    place: Option<u64>,
    /// The provider's own id.
    native: String,
}

impl Mint {
    pub(super) fn new(secret: Secret, record: String) -> Self {
        Mint { secret, record, given: Vec::new() }
    }

    /// Whether the caller was given a ticket for each of these calls, and in their order.
    pub(super) fn covers(&self, content: &Content) -> bool {
        let mut given = self.given.iter().map(|given| given.native.as_str());
        content
            .tool_calls()
            .all(|call| given.next() == Some(call.id.as_deref().unwrap_or_default()))
    }

    /// Passes an event on with tickets in it. Further choices keep the provider's ids, for no record knows them.
    pub(super) fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ToolCallStart { block, call } => {
                pass(Event::ToolCallStart { block, call: &self.call(block, call) });
            }
            Event::ToolCallEnd { block, call } => {
                pass(Event::ToolCallEnd { block, call: &self.call(block, call) });
            }
            Event::Whole { block, value: Block::ToolCall(call) } => {
                let value = &Block::ToolCall(self.call(block, call));
                pass(Event::Whole { block, value });
            }
            event => pass(event),
        }
    }

    /// The whole answer with tickets in it.
    pub(super) fn answer(&mut self, mut answer: Answer) -> Answer {
        let mut at = 0;
        for block in &mut answer.blocks {
            if let Block::ToolCall(call) = block {
                if at == self.given.len() {
                    self.give(None, call.id.clone().unwrap_or_default());
                }
                call.id = Some(self.ticket(at));
                at += 1;
            }
        }
        answer
    }

    fn call(&mut self, block: usize, call: &ToolCall) -> ToolCall {
        let place = u64::try_from(block).ok();
        let native = call.id.clone().unwrap_or_default();
        let at = match self.given.iter().position(|given| given.place == place) {
            Some(at) => at,
            None => self.give(place, String::new()),
        };
        if let Some(given) = self.given.get_mut(at) {
            given.native = native;
        }
        ToolCall { id: Some(self.ticket(at)), ..call.clone() }
    }

    /// Says the edits of a message of the answer.
    fn edit(&mut self, message: Val<'_>, draft: &mut Draft) {
        let mut rename = |native: &str, place: Option<u64>| {
            let is_given = |given: &Given| given.place == place && given.native == native;
            let at = match self.given.iter().position(is_given) {
                Some(at) => at,
                None => self.give(place, native.to_owned()),
            };
            Some(self.ticket(at))
        };
        rename_calls(message, &mut rename, draft);
    }

    fn give(&mut self, place: Option<u64>, native: String) -> usize {
        self.given.push(Given { place, native });
        self.given.len() - 1
    }

    fn ticket(&self, at: usize) -> String {
        ticket::mint(&self.secret, &self.record, u32::try_from(at).unwrap_or(u32::MAX))
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
