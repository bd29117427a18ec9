//! The forms of heads that older gateways wrote.

use super::{Read, delivery_of};
use crate::restore::key::Version;
use crate::restore::record::{Head, Keys, Prefix, Seen, Thought};

/// The first, and the one with the digests of several payloads at its end.
const FORMS: [u8; 2] = [1, 2];

const HAS_HINT: u8 = 1;
const HAS_CALLS_KEY: u8 = 1 << 1;
const HAS_ACCOUNT: u8 = 1 << 2;
const HAS_THOUGHT: u8 = 1 << 3;
const HAS_THOUGHT_TEXT: u8 = 1 << 4;
const HAS_PAYLOADS: u8 = 1 << 5;
const HAS_REQUEST_KEY: u8 = 1 << 6;
const HAS_THOUGHT_TICKET: u8 = 1 << 7;

/// A record is found by the key of its answer behind the whole conversation; what else it was found by is passed over.
pub(super) fn head(bytes: &[u8]) -> Option<Head> {
    let mut read = Read(bytes);
    let [form, version, flags, delivery] = read.array()?;
    if !FORMS.contains(&form) || version != Version::V1.number() {
        return None;
    }
    let has = |bit: u8| flags & bit != 0;
    let (system, tools, root) = (read.key()?, read.key()?, read.key()?);
    let (answered, _tail) = (read.key()?, read.key()?);
    let hint = read.key_if(has(HAS_HINT))?;
    let _calls = read.key_if(has(HAS_CALLS_KEY))?;
    let text = read.key_if(has(HAS_THOUGHT_TEXT))?;
    let payloads = read.key_if(has(HAS_PAYLOADS))?;
    let _request = read.key_if(has(HAS_REQUEST_KEY))?;
    let _ticket = read.key_if(has(HAS_THOUGHT_TICKET))?;
    let (_fragments, _tickets) = (read.keys()?, read.keys()?);
    let calls = read.calls(false)?;
    let head = Head {
        version: Version::V1,
        hint,
        root,
        keys: Keys { answered, anchors: Vec::new(), thought: None },
        seen: Seen { text: None, copy: None, calls, content: answered },
        prefix: Prefix::Head { system, tools },
        parent: read.link()?,
        follows: read.link()?,
        ancestors: Vec::new(),
        earlier: None,
        thought: has(HAS_THOUGHT).then_some(Thought { text, payloads }),
        words: None,
        delivery: delivery_of(delivery)?,
        at: read.number()?,
        id: read.text()?,
        origin: read.origin(has(HAS_ACCOUNT))?,
        seals: if form == 2 { read.keys()? } else { Vec::new() },
    };
    read.0.is_empty().then_some(head)
}
