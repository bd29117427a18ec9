//! Structured reasoning beside the content: entries with a type, an index and an id, whole or in pieces.

use super::choice::Out;
use crate::content::{Block, Other, Thinking};
use crate::event::Event;
use crate::json::{Extra, Raw, Val};

/// The kind of an entry of `reasoning_details` that is no thought that we know.
pub(super) const FIELD: &str = "reasoning_details";
/// The field with the message's own form of Anthropic blocks.
pub(super) const BLOCKS: &str = "thinking_blocks";

/// One entry, with the pieces so far.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Detail {
    block: usize,
    /// Everything but the text.
    head: Thinking,
    growth: Growth,
    /// Visible content came after it: more text is another thought, a late payload still belongs to it.
    is_sealed: bool,
}

/// Whether the pieces of an entry's text are increments, or repeat the earlier text. Servers do both, and only the
/// pieces themselves show which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Growth {
    /// Each piece began with all text before it. `sum` is the text in case they were increments after all.
    Cumulative { said: String, sum: String, seen: u32 },
    /// The pieces looked cumulative for a while, but were increments: the final text.
    Corrected(String),
    /// Each piece is new text.
    Increments,
    /// Nothing came yet.
    #[default]
    None,
    /// One piece came.
    One(String),
}

/// A piece belongs to one of this many last entries; see the calls.
const REACH: usize = 256;

/// After this number of pieces in a row that repeat all text before them, the text is certainly cumulative.
const CERTAIN: u32 = 3;

/// The entries of one choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    entries: Vec<Detail>,
}

/// One entry, or a piece of one.
struct Piece<'d> {
    text: std::borrow::Cow<'d, str>,
    head: Thinking,
}

/// The names of an entry's parts, which differ between the two forms.
struct Names {
    field: &'static str,
    text: [&'static str; 3],
}

/// All members of an entry that have a name in the neutral form.
const NAMED: [&str; 9] =
    ["type", "text", "summary", "thinking", "data", "signature", "id", "format", "index"];

const DETAIL_NAMES: Names = Names { field: FIELD, text: ["text", "summary", "thinking"] };
const BLOCK_NAMES: Names = Names { field: BLOCKS, text: ["thinking", "text", "summary"] };

/// Whether any entry has readable text.
pub(super) fn have_text(entries: Val<'_>) -> bool {
    let names = DETAIL_NAMES.text;
    entries.items().any(|entry| {
        names
            .iter()
            .any(|name| entry.get(name).is_some_and(|text| !matches!(text.raw(), "\"\"" | "null")))
    })
}

/// Reads an entry that is a thought of its own; `None` when it is no thought that we know.
pub(super) fn read_entry(
    field: &'static str,
    entry: Val<'_>,
    wire: &'static str,
) -> Option<Thinking> {
    let names = if field == BLOCKS { &BLOCK_NAMES } else { &DETAIL_NAMES };
    let Piece { text, head } = read(entry, names, wire)?;
    Some(Thinking { thought: text.into_owned(), ..head })
}

impl Details {
    /// Takes the entries of a delta, or of a whole message, in which each is a block of its own.
    pub(super) fn take(
        &mut self,
        (field, entries): (&'static str, Val<'_>),
        is_message: bool,
        next: &mut usize,
        out: &mut Out<'_>,
    ) {
        let names = if field == BLOCKS { &BLOCK_NAMES } else { &DETAIL_NAMES };
        for entry in entries.items() {
            let Some(piece) = read(entry, names, out.wire) else {
                let raw = Raw::from(entry);
                let value = Block::Other(Other::new(out.wire, field, raw));
                out.event(Event::Whole { block: *next, value: &value });
                *next += 1;
                continue;
            };
            let known = if is_message { None } else { self.find(&piece) };
            match known.and_then(|at| self.entries.get_mut(at)) {
                Some(detail) => detail.add(piece, out),
                None => self.begin(piece, is_message, next, out),
            }
        }
    }

    /// Visible content came: the thoughts so far are complete.
    pub(super) fn seal(&mut self, out: &mut Out<'_>) {
        for detail in self.entries.iter_mut().filter(|detail| !detail.is_sealed) {
            detail.is_sealed = true;
            detail.end(out);
        }
    }

    /// Ends all open entries.
    pub(super) fn end(&mut self, is_cut: bool, out: &mut Out<'_>) {
        for detail in self.entries.iter_mut().filter(|detail| !detail.is_sealed) {
            let head = &mut detail.head;
            // A payload is the last of a thought that comes.
            head.partial = is_cut && head.signature.is_none() && head.encrypted_content.is_none();
        }
        self.seal(out);
    }

    pub(super) fn is_open(&self) -> bool {
        self.entries.iter().any(|detail| !detail.is_sealed)
    }

    /// The text of the only one of `entries`, and the block that it goes on with, if its pieces are increments.
    pub(super) fn target<'d>(&self, entries: Val<'d>) -> Option<(Val<'d>, usize)> {
        let mut list = entries.items();
        let entry = list.next().filter(|entry| entry.is_object())?;
        if list.next().is_some() {
            return None;
        }
        let piece = read(entry, &DETAIL_NAMES, "")?;
        let mut texts =
            entry.entries().filter(|(key, _)| DETAIL_NAMES.text.contains(&key.as_ref()));
        let (_, text) = texts.next()?;
        let detail = self.entries.get(self.find(&piece)?)?;
        let is_plain = texts.next().is_none()
            && text.as_str().is_some_and(|text| !text.is_empty())
            && !detail.is_sealed
            && detail.growth == Growth::Increments;
        is_plain.then_some((text, detail.block))
    }

    /// The entry that a piece continues: same type, index and id; a missing id fits any.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let fits = |detail: &Detail| {
            let (own, new) = (&detail.head, &piece.head);
            own.detail_type == new.detail_type
                && own.index == new.index
                && (own.id == new.id || own.id.is_none() || new.id.is_none())
                && (!detail.is_sealed || piece.text.is_empty())
                // A second payload of a kind is another thought, unless it is the same one again.
                && fits_payload(own.encrypted_content.as_ref(), new.encrypted_content.as_ref())
                && fits_payload(own.redacted_data.as_ref(), new.redacted_data.as_ref())
                && fits_payload(own.signature.as_ref(), new.signature.as_ref())
                // A signature ends the text that it signs.
                && (own.signature.is_none() || new.signature.is_some() || piece.text.is_empty())
        };
        let from = self.entries.len().saturating_sub(REACH);
        Some(from + self.entries.get(from..)?.iter().rposition(fits)?)
    }

    fn begin(&mut self, piece: Piece<'_>, is_message: bool, next: &mut usize, out: &mut Out<'_>) {
        if piece.text.is_empty() && !piece.head.has_payload() {
            return;
        }
        let block = *next;
        *next += 1;
        out.event(Event::ThinkingStart { block, source_field: &piece.head.source_field });
        let growth = if is_message { Growth::Increments } else { Growth::None };
        let extra = if is_message { piece.head.extra.clone() } else { Extra::default() };
        let head = Thinking { extra, ..piece.head.clone() };
        let mut detail = Detail { block, head, growth, is_sealed: false };
        detail.add(piece, out);
        self.entries.push(detail);
    }
}

fn fits_payload(own: Option<&String>, new: Option<&String>) -> bool {
    own.is_none() || new.is_none() || own == new
}

/// Reads an entry; `None` when it is no thought that we know.
fn read<'d>(entry: Val<'d>, names: &Names, wire: &'static str) -> Option<Piece<'d>> {
    let detail_type = entry.text("type");
    let known = |kind: &str| {
        matches!(
            kind,
            "reasoning.text"
                | "reasoning.summary"
                | "reasoning.encrypted"
                | "thinking"
                | "redacted_thinking"
        )
    };
    let [text, ..] = names.text.map(|name| (name, entry.text(name)));
    let text = if text.1.is_some() {
        text
    } else {
        let other = names.text.iter().find_map(|name| Some((*name, Some(entry.text(name)?))));
        other.unwrap_or(text)
    };
    if !entry.is_object() || !(detail_type.as_deref().is_some_and(known) || text.1.is_some()) {
        return None;
    }
    let is_redacted = detail_type.as_deref() == Some("redacted_thinking");
    let payload = |name: &str| entry.string(name).filter(|payload| !payload.is_empty());
    let data = payload("data");
    let mut head = Thinking {
        source_field: names.field.to_owned(),
        signature: payload("signature"),
        id: entry.string("id"),
        format: entry.string("format"),
        index: entry.u64("index"),
        ..Thinking::default()
    };
    if is_redacted {
        head.redacted_data = data;
    } else {
        head.encrypted_content = data;
    }
    let spoken = [
        ("type", detail_type.is_some()),
        (text.0, text.1.as_deref().is_some_and(|text| !text.is_empty())),
        ("data", head.encrypted_content.is_some() || head.redacted_data.is_some()),
        ("signature", head.signature.is_some()),
        ("id", head.id.is_some()),
        ("format", head.format.is_some()),
        ("index", head.index.is_some()),
    ];
    head.extra =
        Extra::collect(wire, entry, &spoken.map(|(name, is_said)| if is_said { name } else { "" }));
    head.detail_type = detail_type.map(std::borrow::Cow::into_owned);
    Some(Piece { text: text.1.unwrap_or_default(), head })
}

impl Detail {
    fn add(&mut self, piece: Piece<'_>, out: &mut Out<'_>) {
        let Piece { text, head: new } = piece;
        if !text.is_empty() {
            self.growth.take(&text, self.block, out);
        }
        let head = &mut self.head;
        let before = (head.signature.is_some(), head.encrypted_content.is_some());
        head.signature = head.signature.take().or(new.signature);
        head.encrypted_content = head.encrypted_content.take().or(new.encrypted_content);
        head.redacted_data = head.redacted_data.take().or(new.redacted_data);
        head.id = head.id.take().or(new.id);
        head.format = head.format.take().or(new.format);
        // An empty or absent value in one piece does not affect the whole.
        let unknown = |key: &str| !NAMED.contains(&key);
        for (key, value) in new.extra.fields.into_iter().filter(|(key, _)| unknown(key)) {
            head.extra.insert(out.wire, &key, value);
        }
        if self.is_sealed
            && before != (self.head.signature.is_some(), self.head.encrypted_content.is_some())
        {
            // A payload that comes after the visible content has begun is reported by a second end.
            self.end(out);
        }
    }

    fn end(&self, out: &mut Out<'_>) {
        let thought = match &self.growth {
            Growth::Corrected(text) => Some(text.as_str()),
            Growth::Cumulative { .. } | Growth::Increments | Growth::None | Growth::One(_) => None,
        };
        out.event(Event::ThinkingEnd { block: self.block, thinking: &self.head, thought });
    }
}

impl Growth {
    fn take(&mut self, text: &str, block: usize, out: &mut Out<'_>) {
        let (now, delta) = match std::mem::take(self) {
            Growth::None => (Growth::One(text.to_owned()), text),
            Growth::One(said) => {
                match text.strip_prefix(said.as_str()).filter(|rest| !rest.is_empty()) {
                    Some(rest) => {
                        let sum = said + text;
                        (Growth::Cumulative { said: text.to_owned(), sum, seen: 1 }, rest)
                    }
                    None => (Growth::Increments, text),
                }
            }
            Growth::Cumulative { said, sum, seen } => match text.strip_prefix(said.as_str()) {
                Some(rest) => {
                    let seen = seen.saturating_add(1);
                    let sum = if seen < CERTAIN { sum + text } else { String::new() };
                    (Growth::Cumulative { said: text.to_owned(), sum, seen }, rest)
                }
                None if seen < CERTAIN => (Growth::Corrected(sum + text), text),
                None => (Growth::Cumulative { said: said + text, sum, seen }, text),
            },
            Growth::Corrected(sum) => (Growth::Corrected(sum + text), text),
            Growth::Increments => (Growth::Increments, text),
        };
        *self = now;
        if !delta.is_empty() {
            out.event(Event::ThinkingDelta { block, delta });
        }
    }
}
