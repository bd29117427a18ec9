//! The changes of an answer since its last piece, so that storing a piece costs as much as the new part.

use thinkthrough_core::content::{Block, Content, Origin, Parameters, Speaker, Thinking, ToolCall};
use thinkthrough_core::shape::{read_block, read_content, write_block, write_content};
use thinkthrough_json::{Doc, Val, Writer};
use zeroize::Zeroizing;

/// The stored state of an answer.
#[derive(Debug, Default)]
pub(super) struct Kept {
    blocks: Vec<KeptBlock>,
    has_begun: bool,
}

#[derive(Debug)]
struct KeptBlock {
    /// The block without its text.
    rest: Block,
    /// Length of the text.
    len: usize,
    /// The last bytes of the text. They show whether the text was replaced.
    tail: Box<[u8]>,
}

const TAIL: usize = 64;

impl Kept {
    /// The changes in `blocks` as a piece. `None` if there are no changes.
    pub(super) fn grow(&mut self, blocks: &[Block], origin: Option<&Origin>) -> Option<String> {
        let mut w = Writer::new();
        let mut is_new = false;
        w.object(|w| {
            if !self.has_begun {
                let begun = Content { origin: origin.cloned(), ..empty() };
                write_content(w.key("content"), &begun);
            }
            // After a restart the number of stored blocks is unknown.
            if blocks.len() < self.blocks.len() || !self.has_begun {
                is_new = self.has_begun;
                self.blocks.truncate(blocks.len());
                w.field_u64("length", blocks.len() as u64);
            }
            w.key("changes").array(|w| {
                for (at, block) in blocks.iter().enumerate() {
                    is_new |= self.change(w, at, block);
                }
            });
        });
        self.has_begun |= is_new;
        is_new.then(|| w.finish())
    }

    /// Writes the changes of one block. Returns whether there are any.
    fn change(&mut self, w: &mut Writer, at: usize, block: &Block) -> bool {
        let text = text_of(block);
        let kept = self.blocks.get_mut(at);
        if let Some(kept) = &kept
            && is_same_but_text(&kept.rest, block)
            && let Some(more) = kept.more(text)
        {
            if more.is_empty() {
                return false;
            }
            w.object(|w| {
                w.field_u64("at", at as u64);
                w.field_str("more", more);
            });
        } else {
            w.object(|w| {
                w.field_u64("at", at as u64);
                write_block(w.key("block"), block);
            });
        }
        match kept {
            Some(kept) => kept.keep(block, text),
            None => self.blocks.push(KeptBlock::new(block, text)),
        }
        true
    }
}

impl KeptBlock {
    fn new(block: &Block, text: &str) -> Self {
        let mut rest = block.clone();
        set_text(&mut rest, String::new());
        KeptBlock { rest, len: text.len(), tail: tail(text) }
    }

    fn keep(&mut self, block: &Block, text: &str) {
        if is_same_but_text(&self.rest, block) {
            (self.len, self.tail) = (text.len(), tail(text));
        } else {
            *self = KeptBlock::new(block, text);
        }
    }

    /// The part of `text` after the stored text. `None` if `text` does not begin with the stored text.
    fn more<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (before, more) = text.split_at_checked(self.len)?;
        before.as_bytes().ends_with(&self.tail).then_some(more)
    }
}

fn tail(text: &str) -> Box<[u8]> {
    let bytes = text.as_bytes();
    bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default().into()
}

/// Joins pieces into an answer, marked partial.
pub(super) fn add_up(pieces: impl Iterator<Item = Zeroizing<Vec<u8>>>) -> Content {
    let mut content = empty();
    for piece in pieces {
        let Ok(doc) = Doc::parse(&piece) else { break };
        let begun = doc.root().get("content").and_then(|begun| read_content(begun).ok());
        if let Some(begun) = begun {
            content.origin = begun.origin;
        }
        if let Some(length) = index(doc.root(), "length") {
            content.blocks.truncate(length);
        }
        let changes = doc.root().get("changes");
        for change in changes.iter().flat_map(|changes| changes.items()) {
            apply(&mut content.blocks, change);
        }
    }
    content.blocks.retain(|block| !is_nothing(block));
    // A thought is complete if it has a signature, or if another block follows.
    if let Some(Block::Thinking(thinking)) = content.blocks.last_mut() {
        thinking.partial |= thinking.signature.is_none();
    }
    content
}

fn apply(blocks: &mut Vec<Block>, change: Val<'_>) {
    let Some(at) = index(change, "at") else { return };
    let block = change.get("block").and_then(|block| read_block(block, "block").ok());
    match (blocks.get_mut(at), block) {
        (Some(there), Some(block)) => *there = block,
        (None, Some(block)) => blocks.push(block),
        (Some(there), None) => {
            if let Some(more) = change.text("more") {
                let text = format!("{}{more}", text_of(there));
                set_text(there, text);
            }
        }
        (None, None) => {}
    }
}

fn index(value: Val<'_>, key: &str) -> Option<usize> {
    value.u64(key).and_then(|at| usize::try_from(at).ok())
}

/// An answer without blocks.
fn empty() -> Content {
    Content { partial: true, ..Content::new(Speaker::Ai, Vec::new()) }
}

/// Whether a block was announced but not begun.
fn is_nothing(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.text.is_empty() && text.signature.is_none(),
        Block::Thinking(thinking) => thinking.is_nothing(),
        Block::Media(_) | Block::Other(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    }
}

/// The text that grows while a block arrives.
fn text_of(block: &Block) -> &str {
    match block {
        Block::Text(text) => &text.text,
        Block::Thinking(thinking) => &thinking.thought,
        Block::ToolCall(call) => match &call.parameters {
            Parameters::Free(text) | Parameters::Invalid(text) => text,
            Parameters::Json(_) => "",
        },
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => "",
    }
}

fn set_text(block: &mut Block, new: String) {
    match block {
        Block::Text(text) => text.text = new,
        Block::Thinking(thinking) => thinking.thought = new,
        Block::ToolCall(call) => match &mut call.parameters {
            Parameters::Free(text) | Parameters::Invalid(text) => *text = new,
            Parameters::Json(_) => {}
        },
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
    }
}

/// Whether two blocks are equal except for the growing text, which is not compared.
fn is_same_but_text(kept: &Block, now: &Block) -> bool {
    match (kept, now) {
        (Block::Text(kept), Block::Text(now)) => {
            kept.signature == now.signature && kept.extra == now.extra
        }
        (Block::Thinking(kept), Block::Thinking(now)) => is_same_thought_but_text(kept, now),
        (Block::ToolCall(kept), Block::ToolCall(now)) => is_same_call_but_text(kept, now),
        (kept, now) => kept == now,
    }
}

fn is_same_thought_but_text(kept: &Thinking, now: &Thinking) -> bool {
    // All fields are named, so that a new field must be added here.
    let Thinking {
        thought: _,
        source_field,
        is_hidden,
        signature,
        redacted_data,
        encrypted_content,
        id,
        summary,
        content,
        format,
        detail_type,
        index,
        partial,
        duration_ms,
        effort,
        extra,
    } = now;
    kept.source_field == *source_field
        && kept.is_hidden == *is_hidden
        && kept.signature == *signature
        && kept.redacted_data == *redacted_data
        && kept.encrypted_content == *encrypted_content
        && kept.id == *id
        && kept.summary == *summary
        && kept.content == *content
        && kept.format == *format
        && kept.detail_type == *detail_type
        && kept.index == *index
        && kept.partial == *partial
        && kept.duration_ms == *duration_ms
        && kept.effort == *effort
        && kept.extra == *extra
}

fn is_same_call_but_text(kept: &ToolCall, now: &ToolCall) -> bool {
    let is_same_kind = match (&kept.parameters, &now.parameters) {
        (Parameters::Free(_), Parameters::Free(_))
        | (Parameters::Invalid(_), Parameters::Invalid(_)) => true,
        (kept, now) => kept == now,
    };
    is_same_kind
        && kept.id == now.id
        && kept.name == now.name
        && kept.signature == now.signature
        && kept.extra == now.extra
}
