//! Records: finished answers as the vault keeps them.

use super::key::{Key, Of, Version};
use super::lasting::Run;
use super::normal::Normal;
use super::order::MEDIA;
use super::ticket::is_ticket;
use crate::content::{Block, Origin, Other, Parameters, Text, Thinking, ToolCall, push_thought};
use crate::contract::is_filler;
use crate::json::{Doc, Extra, Raw, Writer};
use crate::plane::{Exact, Sealed};
use crate::shape::{read_block, write_block};
use std::borrow::Cow;
use std::sync::Arc;

/// The readable part of a record: digests, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The record's id, drawn by the storing code.
    pub id: String,
    /// The version of the normal form of its keys.
    pub version: Version,
    /// The origin of the thought.
    pub origin: Origin,
    /// The digest of the session hint of its request.
    pub hint: Option<Key>,
    /// The digest of the first message of its conversation.
    pub root: Key,
    /// Its look-up keys.
    pub keys: Keys,
    /// The visible parts.
    pub seen: Seen,
    /// The digest of all messages before it.
    pub prefix: Key,
    /// The answer before it in its request.
    pub parent: Link,
    /// The last answer before it whose thought was in its request.
    pub follows: Link,
    /// The answers right before it that no id names: the nearest first, up to an answer with such an id.
    pub ancestors: Vec<Ancestor>,
    /// The lasting decisions about earlier answers; `None` if its request knew too little.
    pub earlier: Option<Vec<Run>>,
    /// The digest of its reasoning; `None` if it certainly had none.
    pub thought: Option<Thought>,
    /// The words of its reasoning, for recognising a client's copy.
    pub words: Option<Key>,
    /// The digests of the payloads of its reasoning, if there are several: a client may send back some of them.
    pub seals: Vec<Key>,
    /// How it ended.
    pub delivery: Delivery,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
}

impl Head {
    /// All look-up keys of the record: the keys of its answer, and the keys of its thought, which name its maker.
    pub fn all_keys(&self) -> impl Iterator<Item = Key> {
        let thought = self.thought.into_iter().flat_map(Thought::keys).chain(self.words);
        self.keys.all().chain(thought).chain(self.seals.iter().copied())
    }
}

/// A record as the vault keeps it. Clones share it.
#[derive(Clone)]
pub struct Found {
    /// The part that is readable without opening.
    pub head: Arc<Head>,
    /// Its thoughts.
    pub kept: Arc<Sealed<Kept>>,
}

/// The look-up keys of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The answer behind its history.
    pub answered: Key,
    /// The ids of its calls that no other answer has.
    pub anchors: Vec<Key>,
    /// The ticket that the caller was given in the place of its thoughts' signature.
    pub thought: Option<Key>,
}

impl Keys {
    /// All of them.
    fn all(&self) -> impl Iterator<Item = Key> {
        self.anchors.iter().copied().chain(self.thought).chain([self.answered])
    }
}

/// The visible parts of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its text, without a copy of a thought at its head.
    pub text: Option<Key>,
    /// The words of that copy.
    pub copy: Option<Key>,
    /// Its calls, in order.
    pub calls: Vec<CallMark>,
    /// The digest of text and calls.
    pub content: Key,
}

/// One call of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMark {
    /// Its name.
    pub name: String,
    /// The digest of its name and arguments.
    pub digest: Key,
    /// The caller's id, in the part that clients leave alone.
    pub id: String,
}

/// An earlier answer that only the next answer names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// The id of its record.
    pub id: String,
    /// The digest of its visible parts.
    pub content: Key,
}

/// The predecessor of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// There was nothing.
    Root,
    /// The record with this id.
    Record(String),
    /// A predecessor without a record.
    Unknown,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// The upstream broke off, so that no part of it is certainly complete.
    Cut,
    /// The caller broke off: the parts that were complete by then are complete.
    Stopped,
    /// As it should.
    Full,
}

/// The digest of reasoning: two answers with the same one were thought the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thought {
    pub(crate) text: Option<Key>,
    pub(crate) payloads: Option<Key>,
}

impl Thought {
    /// Its words, and its payloads.
    pub(super) fn keys(self) -> impl Iterator<Item = Key> {
        self.text.into_iter().chain(self.payloads)
    }

    /// The digest of the thoughts in `blocks`; `None` if there are no thoughts. White space alone is a filler, no
    /// thought, and so is a placeholder for a signature.
    pub(super) fn of<'b>(
        normal: &Normal<'_>,
        blocks: impl Iterator<Item = &'b Block> + Clone,
    ) -> Option<Self> {
        let (mut digest, mut has_payload) = (normal.digest(Of::Thought), false);
        for block in blocks.clone() {
            for (place, payload) in payloads(block) {
                digest.tag(place).part(payload.as_bytes());
                has_payload = true;
            }
        }
        let payloads = has_payload.then(|| digest.finish());
        let text = normal.answer(&readable(blocks));
        (text.is_some() || payloads.is_some()).then_some(Thought { text, payloads })
    }
}

/// The readable text of the thoughts in `blocks`. A single one is not copied: it may be large.
pub(super) fn readable<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Cow<'b, str> {
    let mut readable = Cow::Borrowed("");
    for block in blocks {
        let Block::Thinking(thinking) = block else { continue };
        match readable.is_empty() {
            true => readable = Cow::Borrowed(&thinking.thought),
            false => push_thought(readable.to_mut(), &thinking.thought),
        }
    }
    readable
}

/// The digest of each payload in `blocks`, if there are several; the digest of a single payload is in [`Thought`].
pub(super) fn seals<'b>(normal: &Normal<'_>, blocks: impl Iterator<Item = &'b Block>) -> Vec<Key> {
    let digest = |(place, payload): (u8, Cow<'_, str>)| {
        normal.digest(Of::Thought).tag(place).part(payload.as_bytes()).finish()
    };
    let all: Vec<Key> = blocks.flat_map(payloads).map(digest).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// The payloads of a block, each with a byte for the kind of its place.
pub(super) fn payloads(block: &Block) -> impl Iterator<Item = (u8, Cow<'_, str>)> {
    let places = match block {
        Block::Thinking(it) => [
            (b's', it.signature.as_deref()),
            (b'r', it.redacted_data.as_deref()),
            (b'e', it.encrypted_content.as_deref()),
        ],
        Block::Text(text) => [(b't', text.signature.as_deref()), (b't', None), (b't', None)],
        Block::ToolCall(call) => [(b'c', call.signature.as_deref()), (b'c', None), (b'c', None)],
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => [(0, None); 3],
    };
    places.into_iter().filter_map(|(place, payload)| {
        // A ticket is no payload: it names the record that has one.
        let is_none = |it: &str| it.is_empty() || is_filler(it) || is_ticket(it);
        let payload = payload.filter(|it| !is_none(it))?;
        Some((place, in_one_alphabet(payload)))
    })
}

/// A payload as it is most often written. Clients that read its bytes write them anew in the other alphabet of base64, or
/// without the padding.
fn in_one_alphabet(payload: &str) -> Cow<'_, str> {
    let missing = payload.len().next_multiple_of(4) - payload.len();
    if missing == 0 && !payload.contains(['-', '_']) {
        return Cow::Borrowed(payload);
    }
    let mut payload = payload.replace('-', "+").replace('_', "/");
    payload.extend(std::iter::repeat_n('=', missing));
    Cow::Owned(payload)
}

/// The sealed part of a record: the exact reasoning at its places among the visible parts, and the provider's own
/// ids. The visible parts themselves are the caller's to send, so only their outline is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The answer's blocks in order. A text is its length in bytes, a call its id, name and payload, any other block its
    /// kind.
    pub blocks: Vec<Block>,
}

impl Kept {
    /// The outline of an answer. Thoughts that were cut off are left out: they can never be sent.
    #[must_use]
    pub fn of(blocks: Vec<Block>) -> Self {
        let outline = |block: Block| match block {
            Block::Thinking(thinking) => (!thinking.partial).then_some(Block::Thinking(Thinking {
                duration_ms: None,
                effort: None,
                is_hidden: false,
                ..thinking
            })),
            Block::Text(text) => {
                let is_blank = text.text.trim().is_empty();
                let length = if is_blank { String::new() } else { text.text.len().to_string() };
                Some(Block::Text(Text { signature: text.signature, ..Text::new(length) }))
            }
            Block::ToolCall(call) => Some(Block::ToolCall(ToolCall {
                parameters: Parameters::default(),
                extra: Extra::default(),
                ..call
            })),
            Block::Media(_) => Some(Block::Other(Other::new("", MEDIA, Raw::null()))),
            Block::Other(other) => {
                Some(Block::Other(Other::new(other.wire, other.kind, Raw::null())))
            }
            Block::ToolResponse(_) => None,
        };
        Kept { blocks: blocks.into_iter().filter_map(outline).collect() }
    }
}

impl Kept {
    /// Its thoughts, in order.
    pub fn thoughts(&self) -> impl Iterator<Item = &Thinking> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Thinking(thinking) => Some(thinking),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => None,
        })
    }
}

/// A JSON array of blocks in the public shape.
impl Exact for Kept {
    fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.array(|w| self.blocks.iter().for_each(|block| write_block(w, block)));
        w.finish().into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let doc = Doc::parse(bytes).ok()?;
        let blocks = doc.root().is_array().then(|| doc.root().items())?;
        let blocks: Result<_, _> =
            blocks.map(|block| read_block(block, "blocks")).collect::<Result<Vec<_>, _>>();
        Some(Kept { blocks: blocks.ok()? })
    }
}
