//! Keys and encryption.
//!
//! XChaCha20-Poly1305 with random nonces of 24 bytes, so that processes need no common counter. A request opens a
//! hundred heads, so the cipher is `ring`'s, which is faster than one in pure Rust.

use chacha20::{R20, hchacha};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

/// A symmetric key; its memory is cleared on drop.
#[derive(Clone)]
pub(crate) struct Key(Zeroizing<[u8; 32]>);

/// The system returned no random bytes, or the bytes were not sealed with this key for this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

const NONCE: usize = 24;

pub(crate) fn random<const N: usize>() -> Result<[u8; N], Broken> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Broken)?;
    Ok(bytes)
}

impl Key {
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Key(Zeroizing::new(bytes))
    }

    pub(crate) fn random() -> Result<Self, Broken> {
        Ok(Key::new(random()?))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns nonce, ciphertext and tag. A vector is encrypted in place, because a thought may be large.
    pub(crate) fn seal(&self, plain: impl Into<Vec<u8>>, aad: &[u8]) -> Result<Vec<u8>, Broken> {
        let nonce = random::<NONCE>()?;
        let mut sealed = plain.into();
        sealed.reserve_exact(NONCE + CHACHA20_POLY1305.tag_len());
        sealed.splice(0..0, nonce);
        let (key, rest) = self.of(&nonce)?;
        let (_, text) = sealed.split_first_chunk_mut::<NONCE>().ok_or(Broken)?;
        let tag = key.seal_in_place_separate_tag(rest, Aad::from(aad), text);
        sealed.extend_from_slice(tag.map_err(|_| Broken)?.as_ref());
        Ok(sealed)
    }

    /// Opens the output of [`Key::seal`] for the same `aad`.
    pub(crate) fn open(&self, sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>, Broken> {
        let (nonce, locked) = sealed.split_first_chunk::<NONCE>().ok_or(Broken)?;
        let (key, rest) = self.of(nonce)?;
        let mut plain = Zeroizing::new(locked.to_vec());
        let opened = key.open_in_place(rest, Aad::from(aad), &mut plain).map_err(|_| Broken)?;
        let len = opened.len();
        plain.truncate(len);
        Ok(plain)
    }

    /// Derives the cipher's key and its nonce from a nonce of 24 bytes. Source: draft-irtf-cfrg-xchacha, section 2.3.
    fn of(&self, nonce: &[u8; NONCE]) -> Result<(LessSafeKey, Nonce), Broken> {
        let (first, last) = nonce.split_first_chunk::<16>().ok_or(Broken)?;
        let last: &[u8; 8] = last.try_into().map_err(|_| Broken)?;
        let key: [u8; 32] = hchacha::<R20>(self.bytes().into(), first.into()).into();
        let key = Zeroizing::new(key);
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).map_err(|_| Broken)?;
        let mut rest = [0; 12];
        if let Some(rest) = rest.last_chunk_mut() {
            *rest = *last;
        }
        Ok((LessSafeKey::new(key), Nonce::assume_unique_for_key(rest)))
    }

    pub(crate) fn wrap(&self, key: &Key, aad: &[u8]) -> Result<Vec<u8>, Broken> {
        self.seal(key.bytes(), aad)
    }

    /// Decrypts a key that [`Key::wrap`] encrypted.
    pub(crate) fn unwrap(&self, wrapped: &[u8], aad: &[u8]) -> Result<Key, Broken> {
        let plain = self.open(wrapped, aad)?;
        let bytes: &[u8; 32] = plain.as_slice().try_into().map_err(|_| Broken)?;
        Ok(Key::new(*bytes))
    }
}

/// Associated data of a sealed row: its kind, and the names and numbers of its place.
///
/// Each name has its length in front, so that two places never give the same bytes.
pub(crate) fn bind(kind: Kind, names: &[&str], numbers: &[u64]) -> Vec<u8> {
    const VERSION: u8 = 1;
    let long: usize = names.iter().map(|name| 8 + name.len()).sum();
    let mut aad = Vec::with_capacity(2 + 8 * numbers.len() + long);
    aad.extend([VERSION, kind as u8]);
    for number in numbers {
        aad.extend_from_slice(&number.to_le_bytes());
    }
    for name in names {
        aad.extend_from_slice(&(name.len() as u64).to_le_bytes());
        aad.extend_from_slice(name.as_bytes());
    }
    aad
}

/// Kinds of sealed data. The numbers are in stores, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Proves that a master key is the right one.
    Check = 1,
    /// A tenant's data key.
    DataKey = 2,
    /// A tenant's look-up key.
    LookupKey = 3,
    /// A conversation's key.
    ConversationKey = 4,
    /// Title, model and settings of a conversation.
    Meta = 5,
    /// A content of a conversation.
    Message = 6,
    /// A piece of an answer in progress.
    Draft = 7,
    /// The key that names tenants after their credentials.
    InstallKey = 8,
    /// The head of a record: everything but its thoughts.
    Head = 9,
    /// The thoughts of a record. The place that they are bound to follows.
    Kept = 10,
    /// An answer that is stored by its id. The id follows.
    Response = 11,
    /// A fact about a model that a refusal taught. The digest of the model's name follows.
    Fact = 12,
    /// A thought of an answer in progress. The name of its file follows.
    Spilled = 13,
    /// The items of a trace.
    TraceItems = 14,
    /// The title of a trace.
    TraceTitle = 15,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_with_its_key_at_its_place_only() {
        let (key, other) = (Key::random().unwrap(), Key::random().unwrap());
        let sealed = key.seal(b"a thought", b"here").unwrap();
        assert_eq!(key.open(&sealed, b"here").as_deref(), Ok(&b"a thought".to_vec()));
        assert_eq!(key.open(&sealed, b"there"), Err(Broken));
        assert_eq!(other.open(&sealed, b"here"), Err(Broken));
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert_eq!(key.open(&altered, b"here"), Err(Broken), "byte {at}");
            assert_eq!(key.open(&sealed[..at], b"here"), Err(Broken), "cut at {at}");
        }
        assert_ne!(key.seal(b"a thought", b"here"), Ok(sealed), "each nonce is new");
    }

    /// Source: draft-irtf-cfrg-xchacha, appendix A.3.1. Every version has to open the data of a store.
    #[test]
    fn opens_what_others_sealed() {
        let hex = |text: &str| -> Vec<u8> {
            let digits = text.as_bytes().chunks(2);
            let byte = |it: &[u8]| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16);
            digits.map(|it| byte(it).unwrap()).collect()
        };
        let key: Vec<u8> = (0x80..0xA0).collect();
        let key = Key::new(key.try_into().unwrap());
        let sealed = hex(concat!(
            "404142434445464748494a4b4c4d4e4f5051525354555657",
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c670",
            "8c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9",
            "768812f615c68b13b52e",
            "c0875924c1c7987947deafd8780acf49",
        ));
        let plain = key.open(&sealed, &hex("50515253c0c1c2c3c4c5c6c7")).unwrap();
        assert!(plain.starts_with(b"Ladies and Gentlemen of the class of '99"));
    }

    #[test]
    fn places_do_not_flow_into_each_other() {
        let places = [
            bind(Kind::Message, &["ab", "c"], &[1]),
            bind(Kind::Message, &["a", "bc"], &[1]),
            bind(Kind::Message, &["ab", "c"], &[2]),
            bind(Kind::Draft, &["ab", "c"], &[1]),
        ];
        for (i, a) in places.iter().enumerate() {
            assert!(places.iter().skip(i + 1).all(|b| a != b));
        }
    }
}
