//! What an answer grew by since it was last looked at, so that keeping it costs what is new and not what there is.

use thinkthrough_core::content::{Block, Content, Origin, Parameters, Speaker, Thinking, ToolCall};
use thinkthrough_core::shape::{read_block, read_content, write_block, write_content};
use thinkthrough_json::{Doc, Val, Writer};
use zeroize::Zeroizing;

/// What was kept of an answer already.
#[derive(Debug, Default)]
pub(super) struct Kept {
    blocks: Vec<KeptBlock>,
    has_begun: bool,
}

#[derive(Debug)]
struct KeptBlock {
    /// Everything but its text.
    rest: Block,
    /// How long its text is.
    len: usize,
    /// The last bytes of its text, by which a text that was replaced is known.
    tail: Box<[u8]>,
}

const TAIL: usize = 64;

impl Kept {
    /// What is new in `blocks`, as a piece; `None` when nothing is.
    pub(super) fn grow(&mut self, blocks: &[Block], origin: Option<&Origin>) -> Option<String> {
        let mut w = Writer::new();
        let mut is_new = false;
        w.object(|w| {
            if !self.has_begun {
                let begun = Content { origin: origin.cloned(), ..empty() };
                write_content(w.key("content"), &begun);
            }
            // Whoever starts anew does not know how many blocks were kept before.
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

    /// Writes what is new in one block; says whether anything is.
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

    /// What `text` has beyond the kept text; `None` when it does not begin with it.
    fn more<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (before, more) = text.split_at_checked(self.len)?;
        before.as_bytes().ends_with(&self.tail).then_some(more)
    }
}

fn tail(text: &str) -> Box<[u8]> {
    let bytes = text.as_bytes();
    bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default().into()
}

/// The answer that pieces add up to, marked partial.
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
    // A thought that has its proof, or that something follows, is complete.
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

/// An answer that says nothing yet.
fn empty() -> Content {
    Content { partial: true, ..Content::new(Speaker::Ai, Vec::new()) }
}

/// Announced, but never begun.
fn is_nothing(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.text.is_empty() && text.signature.is_none(),
        Block::Thinking(thinking) => thinking.is_nothing(),
        Block::Media(_) | Block::Other(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    }
}

/// The text that grows while a block comes in.
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

/// Whether two blocks differ in nothing but the text that grows. Looks at no text that does.
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
    // Every field is named, so that a new one is thought of here.
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
