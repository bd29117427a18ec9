//! Tool calls, whole or in pieces.

use super::choice::Out;
use super::signature;
use crate::content::{Parameters, ToolCall};
use crate::event::Event;
use crate::json::{Extra, Raw, Val};

/// Fields of a call that have a name in the neutral form.
const KNOWN: [&str; 5] = ["index", "id", "type", "function", "custom"];

/// A piece belongs to one of this many last calls; a stream of a million calls must not take a million looks each.
const REACH: usize = 256;

/// One call, with the pieces so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Call {
    /// Its number, given when it starts: that is when its name is known.
    block: usize,
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// The length of `arguments` that deltas have reported.
    said: usize,
    /// A tool that takes any text.
    is_free: bool,
    signature: Option<String>,
    extra: Extra,
    is_started: bool,
    /// The end was reported, and no piece came since.
    is_ended: bool,
}

/// The calls of one choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

/// One piece of a call.
struct Piece<'d> {
    object: Val<'d>,
    index: Option<u64>,
    id: Option<std::borrow::Cow<'d, str>>,
    name: Option<std::borrow::Cow<'d, str>>,
    arguments: Option<Val<'d>>,
    is_free: bool,
}

impl<'d> Piece<'d> {
    fn read(object: Val<'d>) -> Self {
        let said =
            |inner: &Val<'d>| inner.entries().any(|(_, value)| value.as_str() != Some("".into()));
        let function = object.some("function").filter(|function| function.is_object());
        let custom = object.some("custom").filter(said);
        let is_free = custom.is_some() && !function.as_ref().is_some_and(said);
        let inner = if is_free { custom } else { function };
        let arguments =
            inner.and_then(|inner| inner.get(if is_free { "input" } else { "arguments" }));
        Piece {
            object,
            index: object.u64("index"),
            id: object.text("id"),
            name: inner.and_then(|inner| inner.text("name")),
            arguments: arguments.filter(|arguments| !arguments.is_null()),
            is_free,
        }
    }
}

impl Calls {
    /// Takes the `tool_calls` of a delta, or of a whole message, in which each entry is a call of its own.
    pub(super) fn take(
        &mut self,
        calls: Val<'_>,
        is_message: bool,
        next: &mut usize,
        out: &mut Out<'_>,
    ) {
        for (nth, object) in calls.items().filter(|call| call.is_object()).enumerate() {
            let piece = Piece::read(object);
            let known = if is_message { None } else { self.find(&piece, nth > 0) };
            let at = known.unwrap_or_else(|| self.begin(&piece, next, out));
            if let Some(call) = self.calls.get_mut(at) {
                call.take(&piece, next, out);
            }
        }
    }

    /// A call in the form that came before `tool_calls`.
    pub(super) fn take_old(&mut self, call: Val<'_>, next: &mut usize, out: &mut Out<'_>) {
        let piece = Piece {
            object: call,
            index: None,
            id: None,
            name: call.text("name"),
            arguments: call.some("arguments"),
            is_free: false,
        };
        if self.calls.is_empty() {
            self.begin(&piece, next, out);
        }
        if let Some(open) = self.calls.last_mut() {
            open.extra.insert(out.wire, "function_call", Raw::null());
            open.take(&piece, next, out);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Ends all calls. The calls of a cut stream count as invalid, because the missing part is unknown.
    pub(super) fn end(&mut self, is_cut: bool, next: &mut usize, out: &mut Out<'_>) {
        for call in self.calls.iter_mut().filter(|call| !call.is_ended) {
            call.start(true, next, out);
            call.end(is_cut, out);
        }
    }

    /// The call that a piece belongs to.
    ///
    /// Indices can be missing, or the same for all calls; ids can be missing, empty, repeated or made anew for
    /// each piece; names can be repeated. A piece begins a new call when its index is new, or when it names an
    /// id or a tool while the call that it would go on with is whole already. Pieces without an index that come
    /// together are different calls.
    fn find(&self, piece: &Piece<'_>, has_sibling: bool) -> Option<usize> {
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let same_id = |call: &Call| id.is_some() && call.id.as_deref() == id;
        let at = match piece.index {
            Some(_) => self.last(|call| call.index == piece.index)?,
            None => match self.last(same_id) {
                Some(at) => at,
                None if id.is_some() || has_sibling => return None,
                None => self.calls.len().checked_sub(1)?,
            },
        };
        let call = self.calls.get(at)?;
        let other_id =
            id.is_some() && call.id.as_deref().is_some_and(|own| !own.is_empty() && !same_id(call));
        let name = piece.name.as_deref().filter(|name| !name.is_empty());
        let other_name = name.is_some_and(|name| name != call.name);
        let more = piece
            .arguments
            .is_some_and(|arguments| arguments.as_str().is_none_or(|text| !text.trim().is_empty()));
        let is_new = !same_id(call) && name.is_some() && {
            let whole = call.is_whole();
            (other_id && (whole || (call.arguments.is_empty() && other_name))) || (whole && more)
        };
        (!is_new).then_some(at)
    }

    /// The last of the calls within reach that `fits`.
    fn last(&self, fits: impl Fn(&Call) -> bool) -> Option<usize> {
        let from = self.calls.len().saturating_sub(REACH);
        Some(from + self.calls.get(from..)?.iter().rposition(fits)?)
    }

    /// Starts the calls whose names are complete, because another block begins.
    pub(super) fn start_named(&mut self, next: &mut usize, out: &mut Out<'_>) {
        let near = self.calls.iter_mut().rev().take(REACH);
        near.rev()
            .filter(|call| !call.name.is_empty())
            .for_each(|call| call.start(true, next, out));
    }

    fn begin(&mut self, piece: &Piece<'_>, next: &mut usize, out: &mut Out<'_>) -> usize {
        // Calls usually come one after the other, so a whole call can be handed on at once.
        let near = self.calls.iter_mut().rev().take(REACH);
        for call in near.rev().filter(|call| !call.is_ended && call.is_whole()) {
            call.start(true, next, out);
            call.end(false, out);
        }
        self.start_named(next, out);
        self.calls.push(Call { index: piece.index, is_free: piece.is_free, ..Call::default() });
        self.calls.len() - 1
    }
}

impl Call {
    /// Whether the arguments are complete JSON. Very long ones are not looked at, for they might come in a million
    /// pieces.
    fn is_whole(&self) -> bool {
        (1..=65_536).contains(&self.arguments.len())
            && matches!(Parameters::from_text(&self.arguments), Parameters::Json(_))
    }

    fn take(&mut self, piece: &Piece<'_>, next: &mut usize, out: &mut Out<'_>) {
        self.is_ended = false;
        if let Some(id) = piece.id.as_deref()
            && self.id.as_deref().is_none_or(str::is_empty)
        {
            self.id = Some(id.to_owned());
        }
        if let Some(name) = piece.name.as_deref() {
            self.take_name(name);
        }
        match piece.arguments.map(|arguments| (arguments, arguments.as_str())) {
            Some((_, Some(text))) => self.arguments.push_str(&text),
            Some((value, None)) => self.arguments.push_str(value.raw()),
            None => {}
        }
        if let Some(signature) = signature::find(piece.object) {
            self.signature = Some(signature);
        }
        if !self.extra.fields.iter().any(|(key, _)| key == "function_call") {
            let mut extra = Extra::collect(out.wire, piece.object, &KNOWN);
            signature::take_out(&mut extra, out.wire);
            for (key, value) in extra.fields {
                self.extra.insert(out.wire, &key, value);
            }
        }
        self.start(false, next, out);
        self.say(out);
    }

    /// Names come once, with every piece, or in pieces. A name does not change after the start event.
    fn take_name(&mut self, name: &str) {
        if self.is_started {
            return;
        }
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if self.arguments.is_empty() && self.name != name {
            self.name.push_str(name);
        }
    }

    /// Starts the call once its name is complete, which its arguments show; or in any case after the last piece.
    fn start(&mut self, is_last: bool, next: &mut usize, out: &mut Out<'_>) {
        let is_early = self.name.is_empty() || self.arguments.is_empty();
        if self.is_started || (is_early && !is_last) {
            return;
        }
        self.is_started = true;
        self.block = *next;
        *next += 1;
        let mut call = ToolCall::new(self.id.as_deref(), &self.name);
        if self.is_free {
            call.parameters = Parameters::Free(String::new());
        }
        call.extra.clone_from(&self.extra);
        out.event(Event::ToolCallStart { block: self.block, call: &call });
        self.say(out);
    }

    fn say(&mut self, out: &mut Out<'_>) {
        let delta = self.arguments.get(self.said..).unwrap_or_default();
        if self.is_started && !delta.is_empty() {
            out.event(Event::ToolCallDelta { block: self.block, delta });
            self.said = self.arguments.len();
        }
    }

    fn end(&mut self, is_cut: bool, out: &mut Out<'_>) {
        self.is_ended = true;
        let parameters = match (is_cut, self.is_free) {
            (true, _) => Parameters::Invalid(self.arguments.clone()),
            (false, true) => Parameters::Free(self.arguments.clone()),
            (false, false) => Parameters::from_text(&self.arguments),
        };
        let call = ToolCall {
            id: self.id.clone(),
            name: self.name.clone(),
            parameters,
            signature: self.signature.clone(),
            extra: self.extra.clone(),
        };
        out.event(Event::ToolCallEnd { block: self.block, call: &call });
    }
}
