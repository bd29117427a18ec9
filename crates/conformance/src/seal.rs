//! Opaque payloads (signatures, encrypted content) that the simulators recognise without any
//! memory.
//!
//! A payload has digests of all data that it is bound to, and a check value over them. After a
//! restart a simulator still tells its own payloads from foreign and changed ones. The digests are
//! fast hashes without a secret: they must only detect a change.

use serde_json::Value;

/// A hash over a sequence of fields. Other field boundaries give another hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digest {
    low: u64,
    high: u64,
}

impl Digest {
    pub(crate) fn new(topic: &str) -> Self {
        Self { low: 0xcbf2_9ce4_8422_2325, high: 0x6c62_272e_07bb_0142 }.text(topic)
    }

    /// Adds a text.
    #[must_use]
    pub(crate) fn text(self, field: &str) -> Self {
        self.bytes(field.as_bytes())
    }

    /// Adds bytes.
    #[must_use]
    pub(crate) fn bytes(mut self, field: &[u8]) -> Self {
        for byte in (field.len() as u64).to_le_bytes().iter().chain(field) {
            self.low = (self.low ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            self.high = mix(self.high ^ self.low).wrapping_add(u64::from(*byte));
        }
        self
    }

    /// Adds a number.
    #[must_use]
    pub(crate) fn number(self, field: u64) -> Self {
        self.bytes(&field.to_le_bytes())
    }

    /// Adds a JSON value. The order of object keys does not matter, and `cache_control` is ignored.
    #[must_use]
    pub(crate) fn value(self, value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.text(&value.to_string()),
            Value::String(text) => self.text("s").text(text),
            Value::Array(items) => {
                items.iter().fold(self.text("a").number(items.len() as u64), Self::value)
            }
            Value::Object(map) => {
                let mut keys: Vec<_> =
                    map.iter().filter(|(key, _)| *key != "cache_control").collect();
                keys.sort_by(|a, b| a.0.cmp(b.0));
                let start = self.text("o").number(keys.len() as u64);
                keys.into_iter().fold(start, |hash, (key, value)| hash.text(key).value(value))
            }
        }
    }

    pub(crate) fn finish(self) -> u64 {
        mix(self.low ^ mix(self.high))
    }

    /// Makes a word of `length` characters of the alphabet, seeded by the hash.
    pub(crate) fn word(self, alphabet: &[u8], length: usize) -> String {
        let mut state = self.finish();
        let count = (alphabet.len() as u64).max(1);
        (0..length)
            .map(|_| {
                state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
                let place = usize::try_from(state % count).unwrap_or(0);
                alphabet.get(place).copied().map_or('x', char::from)
            })
            .collect()
    }
}

/// Letters and digits, for ids.
pub(crate) const ALNUM: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// Hexadecimal digits, for ids.
pub(crate) const HEX: &[u8] = b"0123456789abcdef";

fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The bindings of an opaque payload. A 0 means "not bound".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Digest of the text or call that carries the payload. In a compaction item, the mark of
    /// compaction.
    pub(crate) text: u64,
    /// Digest of the model's name.
    pub(crate) model: u64,
    /// Digest of the credential.
    pub(crate) account: u64,
    /// Digest of the system prompt.
    pub(crate) system: u64,
    /// Digest of the tool definitions.
    pub(crate) tools: u64,
    /// Digest of the visible part of all earlier messages.
    pub(crate) messages: u64,
    /// Digest of the payload of the previous thought.
    pub(crate) previous: u64,
    /// Place of the thought in its answer, or a digest of the answer's seed.
    pub(crate) place: u64,
    /// Hidden text inside the payload, such as the thought.
    pub(crate) body: String,
}

/// The form of a payload: first bytes and alphabet of the real provider's payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Standard base64 that begins with `Eq`, as in Anthropic's signatures.
    Anthropic,
    /// URL-safe base64 that begins with `gAAAAA`, as in OpenAI's encrypted content.
    Fernet,
    /// Standard base64 that begins with `Cp`, as in Gemini's thought signatures.
    Gemini,
}

impl Look {
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Anthropic => &[0x12, 0xa4, 0x02],
            Self::Fernet => &[0x80, 0, 0, 0, 0],
            Self::Gemini => &[0x0a, 0x9c, 0x01],
        }
    }

    fn alphabet(self) -> &'static [u8; 64] {
        match self {
            Self::Anthropic | Self::Gemini => STANDARD,
            Self::Fernet => URL_SAFE,
        }
    }
}

impl Seal {
    fn numbers(&self) -> [u64; 8] {
        [
            self.text,
            self.model,
            self.account,
            self.system,
            self.tools,
            self.messages,
            self.previous,
            self.place,
        ]
    }

    /// Encodes the payload in the provider's form.
    pub(crate) fn encode(&self, simulator: &str, look: Look) -> String {
        let mut bytes = look.magic().to_vec();
        for number in self.numbers() {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend(masked(self.body.as_bytes(), self.text ^ self.messages));
        let check = check(simulator, &bytes);
        bytes.extend_from_slice(&check);
        encode64(&bytes, look.alphabet())
    }

    /// Decodes a payload. `None` if another simulator made it, or if a byte of it changed.
    pub(crate) fn decode(simulator: &str, look: Look, payload: &str) -> Option<Self> {
        let bytes = decode64(payload)?;
        let (content, mac) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
        if check(simulator, content) != mac {
            return None;
        }
        let mut rest = content.strip_prefix(look.magic())?;
        let mut next = || {
            let (head, tail) = rest.split_first_chunk::<8>()?;
            rest = tail;
            Some(u64::from_be_bytes(*head))
        };
        let mut seal = Self {
            text: next()?,
            model: next()?,
            account: next()?,
            system: next()?,
            tools: next()?,
            messages: next()?,
            previous: next()?,
            place: next()?,
            body: String::new(),
        };
        seal.body = String::from_utf8(masked(rest, seal.text ^ seal.messages)).ok()?;
        Some(seal)
    }
}

fn check(simulator: &str, bytes: &[u8]) -> [u8; 16] {
    let first = Digest::new("seal").text(simulator).bytes(bytes);
    let second = first.text("again");
    let mut out = [0; 16];
    let values = first.finish().to_be_bytes().into_iter().chain(second.finish().to_be_bytes());
    for (slot, byte) in out.iter_mut().zip(values) {
        *slot = byte;
    }
    out
}

fn masked(bytes: &[u8], key: u64) -> Vec<u8> {
    let mut state = key;
    let mut stream = std::iter::repeat_with(move || {
        state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        state.to_le_bytes()
    })
    .flatten();
    bytes.iter().map(|byte| byte ^ stream.next().unwrap_or(0)).collect()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut word = 0_u32;
        for place in 0..3 {
            word = (word << 8) | u32::from(group.get(place).copied().unwrap_or(0));
        }
        for place in 0..4 {
            if place <= group.len() {
                let index = (word >> (18 - 6 * place)) & 63;
                let letter = usize::try_from(index).ok().and_then(|index| alphabet.get(index));
                out.push(letter.copied().map_or('=', char::from));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Decodes both base64 alphabets, as real decoders do. Padding is optional.
pub(crate) fn decode64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        word = ((word << 6) | u32::from(value)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((word >> bits) & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_recognised_and_any_change_is_noticed() {
        for look in [Look::Anthropic, Look::Fernet, Look::Gemini] {
            let seal =
                Seal { text: 7, place: 3, body: "a thought ü".to_owned(), ..Seal::default() };
            let payload = seal.encode("kimi-k2", look);
            assert_eq!(Seal::decode("kimi-k2", look, &payload), Some(seal));
            assert_eq!(Seal::decode("other", look, &payload), None);
            for place in 0..payload.trim_end_matches('=').len() - 1 {
                let mut bytes = payload.clone().into_bytes();
                bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(bytes).unwrap();
                assert_eq!(Seal::decode("kimi-k2", look, &changed), None, "byte {place}");
            }
            for cut in 0..payload.len() - 4 {
                assert_eq!(Seal::decode("kimi-k2", look, payload.get(..cut).unwrap()), None);
            }
        }
    }

    #[test]
    fn payloads_look_like_the_providers() {
        assert!(Seal::default().encode("x", Look::Fernet).starts_with("gAAAAA"));
        assert!(Seal::default().encode("x", Look::Anthropic).starts_with("Eq"));
        assert!(Seal::default().encode("x", Look::Gemini).starts_with("Cp"));
    }

    #[test]
    fn base64_agrees_with_the_known_vectors() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode64(plain.as_bytes(), STANDARD), coded);
            assert_eq!(decode64(coded).unwrap(), plain.as_bytes());
        }
        assert_eq!(decode64("not base64!"), None);
    }

    #[test]
    fn the_order_of_keys_and_cache_marks_do_not_change_a_digest() {
        let a = serde_json::json!({"a": 1, "b": [true], "cache_control": {"type": "ephemeral"}});
        let b = serde_json::json!({"b": [true], "a": 1});
        assert_eq!(Digest::new("t").value(&a).finish(), Digest::new("t").value(&b).finish());
        let c = serde_json::json!({"b": [true], "a": 2});
        assert_ne!(Digest::new("t").value(&c).finish(), Digest::new("t").value(&b).finish());
    }
}
