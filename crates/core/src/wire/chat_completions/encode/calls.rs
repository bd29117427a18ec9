//! Calls in a stream, in the form that they have.

use super::super::{signature, write_message};
use super::{Encoder, Kind, Open};
use crate::content::{Parameters, ToolCall};
use crate::json::Writer;

/// The form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As `function_call` of the message, which came before lists of calls.
    Alone,
    /// As the entry with this number in the list of calls.
    Entry {
        number: u64,
        /// A tool that takes any text.
        is_free: bool,
    },
}

impl Form {
    /// Writes `members` into the function of a call; `of_entry` goes beside it, if there is such a place.
    fn write(
        self,
        w: &mut Writer,
        of_entry: impl FnOnce(&mut Writer),
        members: impl FnOnce(&mut Writer),
    ) {
        match self {
            Form::Alone => {
                w.key("function_call").object(members);
            }
            Form::Entry { number, is_free } => entry(w, number, |w| {
                of_entry(w);
                w.key(if is_free { "custom" } else { "function" }).object(members);
            }),
        }
    }

    fn arguments(self) -> &'static str {
        match self {
            Form::Entry { is_free: true, .. } => "input",
            Form::Alone | Form::Entry { is_free: false, .. } => "arguments",
        }
    }
}

fn entry(w: &mut Writer, number: u64, body: impl FnOnce(&mut Writer)) {
    w.key("tool_calls").array(|w| {
        w.object(|w| {
            w.field_u64("index", number);
            body(w);
        });
    });
}

impl Encoder {
    pub(super) fn start_call(
        &mut self,
        at: usize,
        block: usize,
        call: &ToolCall,
        out: &mut Vec<u8>,
    ) {
        let is_old = write_message::is_old(call, self.form.id);
        let is_free = matches!(call.parameters, Parameters::Free(_));
        let choice = self.choice(at);
        let number = choice.n_calls;
        choice.n_calls += 1;
        // The old form has room for one call.
        let form =
            if is_old && number == 0 { Form::Alone } else { Form::Entry { number, is_free } };
        let has_id = call.id.as_deref().is_some_and(|id| !id.is_empty());
        choice.open.push(Open { block, kind: Kind::Call { form, has_id, has_arguments: false } });
        self.delta(at, out, |w| {
            let of_entry = |w: &mut Writer| {
                w.opt_str("id", call.id.as_deref());
                w.field_str("type", if is_free { "custom" } else { "function" });
            };
            form.write(w, of_entry, |w| {
                w.field_str("name", &call.name);
                w.field_str(form.arguments(), "");
            });
        });
    }

    pub(super) fn call_delta(&mut self, at: usize, block: usize, delta: &str, out: &mut Vec<u8>) {
        let open = self.choice(at).open.iter_mut().find(|open| open.block == block);
        let Some(Open { kind: Kind::Call { form, has_arguments, .. }, .. }) = open else {
            return;
        };
        *has_arguments = true;
        let form = *form;
        self.delta(at, out, |w| {
            form.write(w, |_| {}, |w| w.field_str(form.arguments(), delta));
        });
    }

    pub(super) fn end_call(&mut self, at: usize, block: usize, call: &ToolCall, out: &mut Vec<u8>) {
        let find = |open: &&mut Open| open.block == block;
        let known = match self.choice(at).open.iter_mut().find(find).map(|open| &open.kind) {
            Some(Kind::Call { form, has_id, has_arguments }) => {
                Some((*form, *has_id, *has_arguments))
            }
            Some(Kind::Entry { .. } | Kind::Field(_) | Kind::Part | Kind::Tags) | None => None,
        };
        let Some((form, has_id, has_arguments)) = known else { return };
        if !has_arguments && call.parameters != Parameters::default() {
            self.call_delta(at, block, call.parameters.as_text(), out);
        }
        let mut extra = call.extra.clone();
        extra
            .fields
            .retain(|(key, _)| !matches!(key.as_str(), "function" | "type" | "function_call"));
        // An id may come behind the first piece.
        let id = call.id.as_deref().filter(|id| !has_id && !id.is_empty());
        if id.is_none() && call.signature.is_none() && extra.of(self.form.id).is_empty() {
            return;
        }
        let wire = self.form.id;
        let members = |w: &mut Writer| signature::write(w, &extra, wire, call.signature.as_deref());
        self.delta(at, out, |w| match form {
            Form::Alone => {
                w.key("function_call").object(members);
            }
            // Clients demand the function of every entry.
            Form::Entry { number, is_free } => entry(w, number, |w| {
                w.opt_str("id", id);
                let said = |w: &mut Writer| w.field_str(form.arguments(), "");
                w.key(if is_free { "custom" } else { "function" }).object(said);
                members(w);
            }),
        });
    }
}
