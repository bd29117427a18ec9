//! The maker of a sealed thought, by the form of its payload and by its place.
//!
//! Only the maker can open a payload, but three families write theirs in a form of their own: OpenAI, Claude and Gemini. A
//! payload counts as evidence if all of its bytes parse as exactly one of these forms. Its first letters are no evidence,
//! because seals of Gemini and of Claude begin alike. A payload of another form on a text or a call is Gemini's: no
//! other family has payloads there.
//!
//! Facts: the payloads of recorded answers of 2025 and 2026.

use super::matching::Matches;
use super::question::Step;
use super::record::{Head, payloads};
use crate::content::{Block, Origin};
use crate::contract::Level;
use crate::decision::Evidence;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// Payloads above this length are not decoded.
const LONGEST: usize = 1 << 20;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The family that made all payloads in these blocks. `None` if a payload has no known form, or if two families made them.
pub(super) fn of<'b>(blocks: impl Iterator<Item = &'b Block>) -> Option<&'static str> {
    let by_place = |place| matches!(place, b'c' | b't').then_some("gemini");
    let maker = |(place, payload): (u8, Cow<'_, str>)| of_payload(&payload).or(by_place(place));
    let mut makers = blocks.flat_map(payloads).map(maker);
    let first = makers.next()??;
    makers.all(|maker| maker == Some(first)).then_some(first)
}

/// Returns whether the client sends the thought of this record: its text, its payload, or some of its payloads.
pub(crate) fn is_its(step: &Step, head: &Head) -> bool {
    let (Some(own), Some(its)) = (step.own, head.thought) else { return false };
    let is_some_of = || step.seals.iter().all(|it| head.seals.contains(it));
    (own.text.is_some() && own.text == its.text)
        || (own.payloads.is_some() && own.payloads == its.payloads)
        || (!step.seals.is_empty() && is_some_of())
}

/// Returns whether the text of the answer begins with a copy of the record's thought, word for word.
pub(crate) fn shows_copy(step: &Step, head: &Head) -> bool {
    step.visible.copy.is_some() && step.visible.copy == head.words
}

impl<'a> Matches<'a> {
    /// The makers of the thought that the client sends in this step, by the records that have its words or its payloads.
    pub(crate) fn makers_of_thoughts(&self, step: &Step) -> impl Iterator<Item = &'a Origin> {
        let heads = step.thoughts().flat_map(|key| self.with_key(&key));
        heads.filter(|(_, head)| is_its(step, head)).map(|(_, head)| &head.origin)
    }

    /// The makers of a step that has no record at this endpoint, by the records that another endpoint's rules find.
    pub(crate) fn makers(&self, step: &Step) -> impl Iterator<Item = &'a Origin> {
        self.hinted(step).map(|(_, head)| &head.origin)
    }

    /// The first of these records that the target cannot read, and whose copy the answer shows.
    pub(crate) fn foreign_copy(&self, step: &Step) -> Option<Evidence> {
        let (contract, own) = (self.ask.contract, self.ask.origin);
        let reads = |head: &Head| contract.can_read(&head.origin, own);
        let copied = || step.visible.copy.into_iter().flat_map(|words| self.with_key(&words));
        // Words that a model thought whose thoughts the target reads are no foreign ones.
        let foreign = copied().all(|(_, head)| !reads(head)).then(copied);
        let mut hinted = self.hinted(step).chain(foreign.into_iter().flatten());
        let (record, head) = hinted.find(|(_, head)| shows_copy(step, head) && !reads(head))?;
        Some(Evidence {
            id: head.id.clone(),
            record,
            level: Level::History,
            first: 0,
            calls: (0..step.visible.calls.len()).collect(),
            is_usable: false,
            is_foreign: true,
            is_anchored: false,
            shows_copy: true,
        })
    }

    fn hinted(&self, step: &Step) -> impl Iterator<Item = (usize, &'a Head)> {
        let heads = step.hints().flat_map(|key| self.with_key(&key));
        let is_it = |head: &Head| {
            let pairs = || step.visible.calls.iter().zip(&head.seen.calls);
            head.seen.calls.len() == step.visible.calls.len()
                && pairs().all(|(call, mark)| call.id == mark.id && call.name == mark.name)
        };
        heads.filter(move |(_, head)| is_it(head))
    }
}

/// The family that made a payload in the standard alphabet of base64.
fn of_payload(payload: &str) -> Option<&'static str> {
    if payload.len() > LONGEST {
        return None;
    }
    let bytes = BASE64.decode(payload).ok()?;
    if is_fernet(&bytes) {
        return Some("gpt");
    }
    let fields: Vec<Field<'_>> = Fields(&bytes).collect::<Option<_>>()?;
    match fields.as_slice() {
        [Field::Bytes(2, sealed), Field::Number(3), ..] | [Field::Bytes(2, sealed)]
            if is_claudes(sealed) =>
        {
            Some("claude")
        }
        [Field::Bytes(2, inner)] if is_geminis(inner) => Some("gemini"),
        _ if is_geminis(&bytes) => Some("gemini"),
        _ => None,
    }
}

/// A Fernet token: version, time, initial vector, blocks of 16 bytes, and the authentication code.
fn is_fernet(bytes: &[u8]) -> bool {
    const AROUND: usize = 1 + 8 + 16 + 32;
    /// 2020 to 2100.
    const TIMES: std::ops::Range<u64> = 1_577_836_800..4_102_444_800;
    let time = bytes.get(1..9).and_then(|time| time.try_into().ok()).map(u64::from_be_bytes);
    let sealed = bytes.len().checked_sub(AROUND).filter(|len| *len > 0);
    bytes.first() == Some(&0x80)
        && time.is_some_and(|time| TIMES.contains(&time))
        && sealed.is_some_and(|len| len.is_multiple_of(16))
}

/// Claude's form: a header, two parts of 12 bytes, one of 48 bytes, and the ciphertext. The header begins with a number;
/// seals of early 2025 have no version behind them.
fn is_claudes(sealed: &[u8]) -> bool {
    let fields: Option<Vec<Field<'_>>> = Fields(sealed).collect();
    let header =
        |bytes| Fields(bytes).next().is_some_and(|it| matches!(it, Some(Field::Number(_))));
    matches!(
        fields.as_deref(),
        Some([Field::Bytes(1, head), Field::Bytes(2, one), Field::Bytes(3, two), Field::Bytes(4, three), Field::Bytes(5, _)])
            if header(head) && one.len() == 12 && two.len() == 12 && three.len() == 48
    )
}

/// Gemini's form: only parts with the field number 1.
fn is_geminis(bytes: &[u8]) -> bool {
    /// A short run of bytes can have this form by chance.
    const SHORTEST: usize = 24;
    bytes.len() >= SHORTEST && Fields(bytes).all(|it| matches!(it, Some(Field::Bytes(1, _))))
}

/// One field of a message in the wire format of protocol buffers.
enum Field<'a> {
    Bytes(u64, &'a [u8]),
    Number(u64),
}

/// Iterates over the fields of a message. Gives `None` once, and ends, if the bytes are no message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn field(&mut self) -> Option<Field<'a>> {
        let tag = self.number()?;
        let number = Some(tag >> 3).filter(|number| *number > 0)?;
        let length = match tag & 7 {
            0 => {
                self.number()?;
                return Some(Field::Number(number));
            }
            2 => usize::try_from(self.number()?).ok()?,
            _ => return None,
        };
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Field::Bytes(number, bytes))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut len = bytes.len();
        while len > 0x7f {
            out.push(u8::try_from(len & 0x7f).unwrap() | 0x80);
            len >>= 7;
        }
        out.push(u8::try_from(len).unwrap());
        out.extend(bytes);
        out
    }

    fn claudes(rest: usize) -> Vec<u8> {
        let header = [&[0x08, 11, 0x18, 2][..], &field(5, &[7; 64])].concat();
        let parts = [field(1, &header), field(2, &[1; 12]), field(3, &[2; 12]), field(4, &[3; 48])];
        let sealed = [parts.concat(), field(5, &vec![9; rest])].concat();
        [field(2, &sealed), vec![0x18, 1]].concat()
    }

    fn fernet(blocks: usize) -> Vec<u8> {
        [vec![0x80], 1_790_000_000_u64.to_be_bytes().to_vec(), vec![5; 48 + 16 * blocks]].concat()
    }

    #[test]
    fn a_form_counts_where_it_is_whole() {
        let geminis = field(2, &field(1, &[0x5a; 200]));
        let step = [field(1, &[1; 34]), field(1, &[2; 300])].concat();
        let maker = |bytes: &[u8]| of_payload(&BASE64.encode(bytes));
        assert_eq!(maker(&claudes(300)), Some("claude"));
        assert_eq!(maker(&claudes(17)), Some("claude"));
        assert_eq!(maker(&geminis), Some("gemini"));
        assert_eq!(maker(&step), Some("gemini"));
        assert_eq!(maker(&fernet(1)), Some("gpt"));
        // The same first letter, another maker.
        assert!(BASE64.encode(&geminis).starts_with('E'));
        assert!(BASE64.encode(claudes(300)).starts_with('E'));
        // The older form ends where the version of the newer one begins.
        let whole = claudes(60).len() - 2;
        for cut in (1..claudes(60).len()).filter(|cut| *cut != whole) {
            assert_eq!(maker(&claudes(60)[..cut]), None, "{cut}");
        }
        assert_eq!(maker(&claudes(60)[..whole]), Some("claude"));
        assert_eq!(maker(&fernet(2)[..80]), None);
        assert_eq!(maker(&[0x0a, 2, 1, 1]), None);
        let old = "EqoBCkgIARABGAIiQL2UoU0b1OHYi+yCHpBY7U6FQW8/FcoLewocJQPa2HnmLM+NECy50y44F/kD4SULFXi57buI9fAvyBwtyjlOiO0SDE3+r3spdg6PLOo9PBoMma2ku5OTAoR46j9VIjDRlvNmBvff7YW4WI9oU8XagaOBSxLPxElrhyuxppEn7m6bfT40dqBSTDrfiw4FYB4qEPETTI6TA6wtjGAAqmFqKTo=";
        assert_eq!(of_payload(old), Some("claude"));
        assert_eq!(of_payload("EqQBCgIYAhIMaB3/aB3/aB3/aB3/aB3/aB3/"), None);
        assert_eq!(of_payload("no base64"), None);
    }
}
