//! Keys, and how bytes are locked with them.
//!
//! XChaCha20-Poly1305 with random nonces of 24 bytes, so that no counter has to be kept between processes.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// A symmetric key; its memory is cleared on drop.
#[derive(Clone)]
pub(crate) struct Key(Zeroizing<[u8; 32]>);

/// The system gave no random bytes, or the bytes are not what was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

const NONCE: usize = 24;

/// Fills an array with the system's random bytes.
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

    /// Nonce, ciphertext and tag.
    pub(crate) fn seal(&self, plain: &[u8], aad: &[u8]) -> Result<Vec<u8>, Broken> {
        let nonce = random::<NONCE>()?;
        let cipher = XChaCha20Poly1305::new(self.bytes().into());
        let locked = cipher.encrypt(&XNonce::from(nonce), Payload { msg: plain, aad });
        let locked = locked.map_err(|_| Broken)?;
        let mut sealed = Vec::with_capacity(NONCE + locked.len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&locked);
        Ok(sealed)
    }

    /// What [`Key::seal`] was given, if this is what it gave for the same `aad`.
    pub(crate) fn open(&self, sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>, Broken> {
        let (nonce, locked) = sealed.split_first_chunk::<NONCE>().ok_or(Broken)?;
        let cipher = XChaCha20Poly1305::new(self.bytes().into());
        let plain = cipher.decrypt(&XNonce::from(*nonce), Payload { msg: locked, aad });
        plain.map(Zeroizing::new).map_err(|_| Broken)
    }

    /// Locks another key.
    pub(crate) fn wrap(&self, key: &Key, aad: &[u8]) -> Result<Vec<u8>, Broken> {
        self.seal(key.bytes(), aad)
    }

    /// Unlocks a key that [`Key::wrap`] locked.
    pub(crate) fn unwrap(&self, wrapped: &[u8], aad: &[u8]) -> Result<Key, Broken> {
        let plain = self.open(wrapped, aad)?;
        let bytes: &[u8; 32] = plain.as_slice().try_into().map_err(|_| Broken)?;
        Ok(Key::new(*bytes))
    }
}

/// What something sealed is bound to: its kind, and the names and numbers of its place.
///
/// Each name says its length, so that two places never give the same bytes.
pub(crate) fn bind(kind: Kind, names: &[&str], numbers: &[u64]) -> Vec<u8> {
    const VERSION: u8 = 1;
    let mut aad = vec![VERSION, kind as u8];
    for number in numbers {
        aad.extend_from_slice(&number.to_le_bytes());
    }
    for name in names {
        aad.extend_from_slice(&(name.len() as u64).to_le_bytes());
        aad.extend_from_slice(name.as_bytes());
    }
    aad
}

/// Kinds of sealed things. The numbers stand in stores; they never change.
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
    /// What is known of a record without its thoughts.
    Head = 9,
    /// The thoughts of a record; the place that they are bound to follows.
    Kept = 10,
    /// An answer that is kept by its id, which follows.
    Response = 11,
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
