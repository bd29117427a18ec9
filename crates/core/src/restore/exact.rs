//! The head of a record as exact bytes.
//!
//! A byte for the version of this form, then the fields in a fixed order. Digests are written unchanged; a number is
//! in groups of seven bits, the lowest first; a text or a list has its length before it.

use super::key::{Key, Version};
use super::lasting::Run;
use super::record::{Ancestor, CallMark, Delivery, Head, Keys, Link, Seen, Thought};
use crate::content::Origin;
use crate::decision::Lasting;
use crate::plane::Exact;

/// The form that is written and read.
const FORM: u8 = 1;

const HAS_HINT: u8 = 1;
const HAS_TEXT: u8 = 1 << 1;
const HAS_COPY: u8 = 1 << 2;
const HAS_THOUGHT: u8 = 1 << 3;
const HAS_THOUGHT_TEXT: u8 = 1 << 4;
const HAS_PAYLOADS: u8 = 1 << 5;
const HAS_WORDS: u8 = 1 << 6;
const HAS_ACCOUNT: u8 = 1 << 7;

impl Exact for Head {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Out(Vec::with_capacity(512));
        let thought = self.thought.as_ref();
        let (text, payloads) = (thought.and_then(|it| it.text), thought.and_then(|it| it.payloads));
        let Seen { text: said, copy, calls, content } = &self.seen;
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        out.0.push(FORM);
        out.0.push(self.version.number());
        out.0.push(
            flag(self.hint.is_some(), HAS_HINT)
                | flag(said.is_some(), HAS_TEXT)
                | flag(copy.is_some(), HAS_COPY)
                | flag(thought.is_some(), HAS_THOUGHT)
                | flag(text.is_some(), HAS_THOUGHT_TEXT)
                | flag(payloads.is_some(), HAS_PAYLOADS)
                | flag(self.words.is_some(), HAS_WORDS)
                | flag(self.origin.account.is_some(), HAS_ACCOUNT),
        );
        out.0.push(delivery_number(self.delivery));
        out.key(&self.root);
        out.key(&self.keys.answered);
        out.key(content);
        out.key(&self.prefix);
        for key in [&self.hint, said, copy, &text, &payloads, &self.words].into_iter().flatten() {
            out.key(key);
        }
        out.keys(&self.keys.anchors);
        out.keys(self.keys.thought.as_slice());
        out.keys(&self.seals);
        out.number(calls.len() as u64);
        for call in calls {
            out.key(&call.digest);
            out.text(&call.id);
            out.text(&call.name);
        }
        out.link(&self.parent);
        out.link(&self.follows);
        out.number(self.ancestors.len() as u64);
        for ancestor in &self.ancestors {
            out.text(&ancestor.id);
            out.key(&ancestor.content);
        }
        out.number(self.at);
        out.text(&self.id);
        let Origin { provider, endpoint, model, account } = &self.origin;
        for part in [Some(provider), Some(endpoint), Some(model), account.as_ref()] {
            part.into_iter().for_each(|part| out.text(part));
        }
        // `None` differs from an empty list.
        out.number(self.earlier.as_ref().map_or(0, |runs| runs.len() as u64 + 1));
        for run in self.earlier.iter().flatten() {
            out.key(&run.before);
            out.key(&run.content);
            out.number(run.count);
            out.0.push(lasting_number(run.lasting));
        }
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Read(bytes);
        let [form, version, flags, delivery] = read.array()?;
        if form != FORM {
            return None;
        }
        let version = Version::read(version)?;
        let has = |bit: u8| flags & bit != 0;
        let (root, answered) = (read.key()?, read.key()?);
        let (content, prefix) = (read.key()?, read.key()?);
        let hint = read.key_if(has(HAS_HINT))?;
        let (said, copy) = (read.key_if(has(HAS_TEXT))?, read.key_if(has(HAS_COPY))?);
        let text = read.key_if(has(HAS_THOUGHT_TEXT))?;
        let payloads = read.key_if(has(HAS_PAYLOADS))?;
        let words = read.key_if(has(HAS_WORDS))?;
        let anchors = read.keys()?;
        let thought = match read.keys()?.as_slice() {
            [] => None,
            [ticket] => Some(*ticket),
            _ => return None,
        };
        let head = Head {
            version,
            root,
            hint,
            keys: Keys { answered, anchors, thought },
            prefix,
            seals: read.keys()?,
            seen: Seen { text: said, copy, content, calls: read.calls()? },
            parent: read.link()?,
            follows: read.link()?,
            ancestors: read.ancestors()?,
            thought: has(HAS_THOUGHT).then_some(Thought { text, payloads }),
            words,
            delivery: delivery_of(delivery)?,
            at: read.number()?,
            id: read.text()?,
            origin: read.origin(has(HAS_ACCOUNT))?,
            earlier: read.earlier()?,
        };
        read.0.is_empty().then_some(head)
    }
}

/// Stores contain these numbers, so they never change.
fn lasting_number(lasting: Lasting) -> u8 {
    match lasting {
        Lasting::LeftOut => 0,
        Lasting::OverLimit => 1,
        Lasting::Told => 2,
    }
}

fn delivery_number(delivery: Delivery) -> u8 {
    match delivery {
        Delivery::Cut => 0,
        Delivery::Stopped => 1,
        Delivery::Full => 2,
    }
}

fn delivery_of(number: u8) -> Option<Delivery> {
    [Delivery::Cut, Delivery::Stopped, Delivery::Full]
        .into_iter()
        .find(|delivery| delivery_number(*delivery) == number)
}

struct Out(Vec<u8>);

impl Out {
    fn key(&mut self, key: &Key) {
        self.0.extend_from_slice(key.bytes());
    }

    fn keys(&mut self, keys: &[Key]) {
        self.number(keys.len() as u64);
        keys.iter().for_each(|key| self.key(key));
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low_byte(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_byte(number));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn link(&mut self, link: &Link) {
        match link {
            Link::Root => self.0.push(0),
            Link::Unknown => self.0.push(1),
            Link::Record(id) => {
                self.0.push(2);
                self.text(id);
            }
        }
    }
}

fn low_byte(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

struct Read<'a>(&'a [u8]);

impl Read<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    fn key(&mut self) -> Option<Key> {
        self.array().map(Key::stored)
    }

    /// The outer `None`: the key is missing although it should be there.
    fn key_if(&mut self, is_there: bool) -> Option<Option<Key>> {
        if is_there { self.key().map(Some) } else { Some(None) }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let group = u64::from(byte & 0x7f);
            // The tenth group has room for one bit.
            if shift == 63 && group > 1 {
                return None;
            }
            number |= group << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A length, at most the number of unread bytes.
    fn len(&mut self) -> Option<usize> {
        let len = usize::try_from(self.number()?).ok()?;
        (len <= self.0.len()).then_some(len)
    }

    fn text(&mut self) -> Option<String> {
        let len = self.len()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn keys(&mut self) -> Option<Vec<Key>> {
        (0..self.len()?).map(|_| self.key()).collect()
    }

    fn calls(&mut self) -> Option<Vec<CallMark>> {
        (0..self.len()?)
            .map(|_| Some(CallMark { digest: self.key()?, id: self.text()?, name: self.text()? }))
            .collect()
    }

    fn ancestors(&mut self) -> Option<Vec<Ancestor>> {
        (0..self.len()?)
            .map(|_| Some(Ancestor { id: self.text()?, content: self.key()? }))
            .collect()
    }

    fn earlier(&mut self) -> Option<Option<Vec<Run>>> {
        let Some(runs) = self.number()?.checked_sub(1) else { return Some(None) };
        (0..runs).map(|_| self.run()).collect::<Option<_>>().map(Some)
    }

    fn run(&mut self) -> Option<Run> {
        let (before, content, count) = (self.key()?, self.key()?, self.number()?);
        let [number] = self.array()?;
        let lasting = Lasting::ALL.into_iter().find(|it| lasting_number(*it) == number)?;
        Some(Run { before, content, count, lasting })
    }

    fn origin(&mut self, has_account: bool) -> Option<Origin> {
        Some(Origin {
            provider: self.text()?,
            endpoint: self.text()?,
            model: self.text()?,
            account: if has_account { Some(self.text()?) } else { None },
        })
    }

    fn link(&mut self) -> Option<Link> {
        let [kind] = self.array()?;
        match kind {
            0 => Some(Link::Root),
            1 => Some(Link::Unknown),
            2 => self.text().map(Link::Record),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::stored([byte; 32])
    }

    fn run(lasting: Lasting, count: u64) -> Run {
        Run { before: key(19), content: key(20), count, lasting }
    }

    fn full() -> Head {
        Head {
            id: "record-1".into(),
            version: Version::V1,
            origin: Origin {
                provider: "p".into(),
                endpoint: "https://p.example/v1".into(),
                model: "m".into(),
                account: Some(String::new()),
            },
            hint: Some(key(3)),
            root: key(4),
            keys: Keys { answered: key(5), anchors: vec![key(6), key(7)], thought: Some(key(16)) },
            seen: Seen {
                text: Some(key(1)),
                copy: Some(key(2)),
                calls: vec![
                    CallMark { name: "read".into(), digest: key(11), id: "call_ä".into() },
                    CallMark { name: String::new(), digest: key(12), id: String::new() },
                ],
                content: key(8),
            },
            prefix: key(9),
            parent: Link::Record("record-0".into()),
            follows: Link::Unknown,
            ancestors: vec![Ancestor { id: "record-0".into(), content: key(10) }],
            earlier: Some(vec![run(Lasting::Told, 1), run(Lasting::OverLimit, u64::MAX)]),
            thought: Some(Thought { text: Some(key(13)), payloads: Some(key(14)) }),
            words: Some(key(15)),
            seals: vec![key(17), key(18)],
            delivery: Delivery::Stopped,
            at: u64::MAX,
        }
    }

    fn least() -> Head {
        Head {
            id: String::new(),
            origin: Origin::default(),
            hint: None,
            keys: Keys { anchors: vec![], thought: None, ..full().keys },
            seen: Seen { text: None, copy: None, calls: vec![], ..full().seen },
            parent: Link::Root,
            follows: Link::Root,
            ancestors: vec![],
            earlier: None,
            thought: None,
            words: None,
            seals: vec![],
            delivery: Delivery::Full,
            at: 0,
            ..full()
        }
    }

    #[test]
    fn a_head_is_read_back_the_same() {
        let thoughts = [None, Some(key(1))];
        let mut all = vec![full(), least()];
        for text in thoughts {
            for payloads in thoughts {
                all.push(Head { thought: Some(Thought { text, payloads }), ..least() });
            }
        }
        for delivery in [Delivery::Cut, Delivery::Stopped, Delivery::Full] {
            all.push(Head { delivery, at: 1 << 40, ..full() });
        }
        for lasting in Lasting::ALL {
            all.push(Head { earlier: Some(vec![run(lasting, 7)]), ..least() });
        }
        all.push(Head { earlier: Some(vec![]), ..full() });
        for head in all {
            assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
        }
    }

    #[test]
    fn what_is_no_head_is_none() {
        let bytes = full().to_bytes();
        for end in 0..bytes.len() {
            assert_eq!(Head::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(Head::from_bytes(&[&bytes[..], &[0]].concat()), None, "with more behind it");
        // The form, and the version of the normal form.
        for at in [0, 1] {
            for number in [0, 2, 255] {
                let mut other = bytes.clone();
                other[at] = number;
                assert_eq!(Head::from_bytes(&other), None, "{number} at {at}");
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_reserve_what_is_not_there() {
        let bytes = full().to_bytes();
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut other = bytes.clone();
                other[at] = value;
                if let Some(head) = Head::from_bytes(&other) {
                    assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head), "byte {at}");
                }
            }
        }
    }

    #[test]
    fn numbers_of_all_sizes_are_read_back() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut out = Out(Vec::new());
            out.number(number);
            assert_eq!(Read(&out.0).number(), Some(number));
        }
        assert_eq!(Read(&[0xff; 10]).number(), None, "more than 64 bits");
    }
}
