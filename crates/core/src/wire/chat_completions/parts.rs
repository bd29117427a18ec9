//! Content that is a list of typed parts.

use super::choice::{Choice, Mode, Out, appended};
use crate::content::{Other, Thinking};
use crate::event::{Event, Fact};
use crate::json::{Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use std::borrow::Cow;

/// The type of a part with reasoning, and the key of its text.
pub(super) const THINKING: &str = "thinking";

/// Whether a part of this type is reasoning.
pub(super) fn is_thinking(kind: &str) -> bool {
    matches!(kind, THINKING | "reasoning")
}

/// Takes one part of an answer's content.
pub(super) fn take(choice: &mut Choice, part: Val<'_>, mode: Mode, out: &mut Out<'_>) {
    if let Some(text) = part.as_str() {
        return take_text(choice, &text, None, mode, out);
    }
    match part.text("type").as_deref() {
        Some(kind) if is_thinking(kind) => take_thinking(choice, part, mode, out),
        None | Some("text" | "output_text")
            if part.get("text").is_some_and(|text| text.as_str().is_some()) =>
        {
            let text = part.text("text").unwrap_or_default();
            take_text(choice, &text, Some(part), mode, out);
        }
        Some("refusal") if part.text("refusal").is_some() => {
            out.event(Event::Fact(Fact::Refusal(&part.text("refusal").unwrap_or_default())));
        }
        kind => {
            if kind.is_none() {
                let message = "content without a type was kept as it stood";
                out.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
            }
            choice.end_thoughts(out);
            choice.end_text(out);
            choice.whole_block(kind.unwrap_or("content"), Raw::from(part), out);
        }
    }
}

fn take_text(
    choice: &mut Choice,
    text: &str,
    part: Option<Val<'_>>,
    mode: Mode,
    out: &mut Out<'_>,
) {
    if part.is_some() && !text.is_empty() {
        // A list gives the order; a text ends the thought before it.
        choice.end_thoughts(out);
    }
    choice.say(text, out);
    let extra = part.map(|part| Extra::collect(out.wire, part, &["type", "text"]));
    if let Some(extra) = extra.filter(|extra| !extra.is_empty()) {
        let open = choice.open_text(out);
        for (key, value) in extra.fields {
            open.extra.insert(out.wire, &key, value);
        }
    }
    if mode == Mode::Message && part.is_some() {
        choice.end_text(out);
    }
}

/// In a stream, consecutive parts are pieces of one thought; in a message each is a thought of its own.
fn take_thinking(choice: &mut Choice, part: Val<'_>, mode: Mode, out: &mut Out<'_>) {
    let Some(read) = read_thinking(part, out.wire) else {
        return choice.whole_block(THINKING, Raw::from(part), out);
    };
    let (pieces, signature, mut extra) = (read.thought, read.signature, read.extra);
    let references = extra.get(out.wire, THINKING).and_then(without_texts);
    if mode == Mode::Delta {
        // The form of one piece does not apply to the whole.
        extra.fields.retain(|(key, _)| !matches!(key.as_str(), THINKING | "text" | "reasoning"));
    }
    let has_text = !pieces.is_empty();
    let is_open = choice.thoughts.iter().any(|thought| thought.field == THINKING);
    if !has_text && signature.is_none() && !is_open {
        return;
    }
    if has_text && !is_open {
        choice.end_text(out);
    }
    choice.think(Cow::Borrowed(THINKING), &pieces, out);
    let thought = choice.thought(Cow::Borrowed(THINKING), out);
    thought.signature = signature.or(thought.signature.take());
    // The references of a stream come piece by piece; the whole list goes behind the other members.
    let at = thought.extra.fields.iter().position(|(key, _)| key == THINKING);
    let before = at.map(|at| thought.extra.fields.remove(at).1);
    for (key, value) in extra.fields {
        thought.extra.insert(out.wire, &key, value);
    }
    let all = match references.filter(|_| mode == Mode::Delta) {
        Some(more) => Some(appended(before.as_ref(), more.doc().root())),
        None => before,
    };
    if let Some(all) = all {
        thought.extra.insert(out.wire, THINKING, all);
    }
    if mode == Mode::Message {
        choice.end_thoughts(out);
    }
}

/// Reads a part that is a thought of its own.
pub(super) fn read_thinking(part: Val<'_>, wire: &'static str) -> Option<Thinking> {
    let key = [THINKING, "text", "reasoning"].into_iter().find(|key| part.some(key).is_some())?;
    let inner = part.get(key)?;
    let signature = part.string("signature").filter(|signature| !signature.is_empty());
    let known = ["type", key, if signature.is_some() { "signature" } else { "" }];
    let mut extra = Extra::collect(wire, part, &known);
    let is_list = inner.is_array() && key == THINKING;
    let (first, others) = (inner.items().next(), inner.items().skip(1));
    if !is_list || !first.is_some_and(is_plain) || others.clone().any(is_text) {
        // A string, another key, or several texts: the part goes back in the form that it had.
        extra.insert(wire, key, if is_list { Raw::from(inner) } else { Raw::string("") });
    } else if others.clone().next().is_some() {
        // References behind the text are kept alone: so they come in streams, too.
        extra.insert(
            wire,
            key,
            Raw::build(|w| w.array(|w| others.for_each(|it| w.raw_str(it.raw())))),
        );
    }
    if part.text("type").as_deref() != Some(THINKING) {
        extra.insert(wire, "type", part.get("type").map_or_else(Raw::null, Raw::from));
    }
    Some(Thinking { signature, extra, ..Thinking::new(text_of(inner), THINKING) })
}

/// The other items in a list of pieces, without texts; `None` if there are no others.
fn without_texts(list: &Raw) -> Option<Raw> {
    let doc = list.doc();
    let others = doc.root().items().filter(|piece| !is_text(*piece));
    others.clone().next()?;
    Some(Raw::build(|w| w.array(|w| others.for_each(|piece| w.raw_str(piece.raw())))))
}

/// The thought without its text, which was reported before.
pub(super) fn without_text(thinking: &Thinking, wire: &'static str) -> Thinking {
    let mut rest = Thinking { thought: String::new(), ..thinking.clone() };
    if let Some(references) = rest.extra.get(wire, THINKING).and_then(without_texts) {
        rest.extra.insert(wire, THINKING, references);
    }
    rest
}

fn is_text(piece: Val<'_>) -> bool {
    piece.as_str().is_some() || piece.text("text").is_some()
}

/// A piece with only a text.
fn is_plain(piece: Val<'_>) -> bool {
    piece.text("type").as_deref() == Some("text")
        && piece.get("text").is_some_and(|text| text.as_str().is_some())
        && piece.entries().count() == 2
}

/// The text of a thinking part: a string, or concatenated pieces of text.
pub(super) fn text_of(inner: Val<'_>) -> Cow<'_, str> {
    if let Some(text) = inner.as_str() {
        return text;
    }
    let mut pieces =
        inner.items().filter_map(|piece| piece.as_str().or_else(|| piece.text("text")));
    let first = pieces.next().unwrap_or_default();
    pieces.fold(first, |text, piece| text + piece)
}

/// Whether a block was a part of the content, not a field beside it.
pub(super) fn is_part(other: &Other) -> bool {
    other.kind == super::form::CONTENT
        || other.raw.doc().root().text("type").is_some_and(|kind| kind == other.kind.as_str())
}

/// Writes a thought as a part, in the form that it had.
pub(super) fn write_thinking(thinking: &Thinking, wire: &str) -> Raw {
    let kept = |key: &str| thinking.extra.get(wire, key).map(Raw::as_str);
    let key = [THINKING, "text", "reasoning"].into_iter().find(|key| kept(key).is_some());
    let key = key.unwrap_or(THINKING);
    let doc = thinking.extra.get(wire, key).map(Raw::doc);
    let list = doc.as_ref().map(crate::json::Doc::root).filter(|list| list.is_array());
    let is_same = |list: &Val<'_>| text_of(*list) == thinking.thought.as_str();
    let references = list.filter(|list| !list.items().any(is_text));
    Raw::build(|w| {
        w.object(|w| {
            w.key("type").raw_str(kept("type").unwrap_or("\"thinking\""));
            if let Some(list) = list.filter(is_same) {
                w.key(key).raw_str(list.raw());
            } else if kept(key) == Some("\"\"") {
                w.field_str(key, &thinking.thought);
            } else {
                w.key(THINKING).array(|w| {
                    if !thinking.thought.is_empty() {
                        w.object(|w| {
                            w.field_str("type", "text");
                            w.field_str("text", &thinking.thought);
                        });
                    }
                    let references = references.iter().flat_map(|list| list.items());
                    references.for_each(|piece| w.raw_str(piece.raw()));
                });
            }
            w.opt_str("signature", thinking.signature.as_deref());
            for (name, value) in
                thinking.extra.of(wire).iter().filter(|(name, _)| name != key && name != "type")
            {
                w.field_raw(name, value);
            }
        });
    })
}
