//! Exact bytes under lock.

use super::Tenant;
use crate::content::Origin;
use std::fmt;
use std::marker::PhantomData;

/// A value that is written as exact bytes and read back the same.
pub trait Exact: Sized {
    /// The bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// The value of these bytes, if they are one's.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Locks bytes. Implemented by the holder of the keys; this crate knows no cryptography.
pub trait Seal {
    /// Encrypts `plain`, bound to `aad` (it can only be opened with the same), under the key that is current. Gives
    /// the key's id, and everything but key and `aad` that opening needs (nonce, ciphertext, tag).
    ///
    /// # Errors
    /// When no key is available.
    fn seal(&self, plain: Vec<u8>, aad: &[u8]) -> Result<(u32, Vec<u8>), SealError>;
}

/// Unlocks bytes: the capability that only restoration is given. Implemented by the holder of the keys.
pub trait Open {
    /// Decrypts the bytes of [`Seal::seal`] under the key of this id and the same `aad`.
    ///
    /// # Errors
    /// When the key is gone, or the bytes were not sealed for this place.
    fn open(&self, key: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError>;
}

/// Errors of sealing and opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The key of this id is not there: it was erased, or never was.
    KeyGone(u32),
    /// The bytes were not sealed for this place: altered, moved, or under another key.
    Altered,
    /// They were opened, and are not a value of the wanted kind.
    Malformed,
    /// The keys cannot be reached now.
    Unavailable,
}

/// The place that a sealed value is bound to: it cannot be opened for any other place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The owner.
    pub tenant: &'a Tenant,
    /// The record's id.
    pub record: &'a str,
    /// The origin of the thought.
    pub origin: &'a Origin,
    /// The index among the record's sealed values.
    pub position: u32,
}

impl Place<'_> {
    /// The place as bytes; two places never give the same bytes, because each part has its length before it.
    #[must_use]
    pub fn aad(&self) -> Vec<u8> {
        const VERSION: u8 = 1;
        let Origin { provider, endpoint, model, account } = self.origin;
        let is_bound = u8::from(account.is_some());
        let account = account.as_deref().unwrap_or_default();
        let parts = [self.tenant.as_str(), self.record, provider, endpoint, model, account];
        let mut aad =
            Vec::with_capacity(6 + parts.map(|part| 8 + part.len()).iter().sum::<usize>());
        aad.extend([VERSION, is_bound]);
        aad.extend_from_slice(&self.position.to_le_bytes());
        for part in parts {
            aad.extend_from_slice(&(part.len() as u64).to_le_bytes());
            aad.extend_from_slice(part.as_bytes());
        }
        aad
    }
}

/// A value that only its key opens. Copies of it are copies of the ciphertext.
///
/// It cannot be printed:
///
/// ```compile_fail,E0277
/// fn log(thought: thinkthrough_core::plane::Sealed<String>) {
///     println!("{thought:?}");
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn log(thought: thinkthrough_core::plane::Sealed<String>) {
///     println!("{thought}");
/// }
/// ```
///
/// Views do not take it:
///
/// ```compile_fail,E0308
/// use thinkthrough_core::plane::{Masked, Sealed};
/// fn show(_: Masked<String>) {}
/// fn view(thought: Sealed<String>) {
///     show(thought);
/// }
/// ```
///
/// It cannot be opened without the capability:
///
/// ```compile_fail,E0061
/// use thinkthrough_core::plane::{Place, Sealed};
/// fn peek(thought: &Sealed<String>, place: &Place<'_>) -> String {
///     thought.open(place).unwrap()
/// }
/// ```
pub struct Sealed<T> {
    key: u32,
    bytes: Box<[u8]>,
    value: PhantomData<fn() -> T>,
}

impl<T> Sealed<T> {
    /// A value from a store: the id of the key, and the bytes.
    #[must_use]
    pub fn stored(key: u32, bytes: impl Into<Box<[u8]>>) -> Self {
        Sealed { key, bytes: bytes.into(), value: PhantomData }
    }

    /// The id of the key.
    #[must_use]
    pub fn key(&self) -> u32 {
        self.key
    }

    /// The ciphertext, for storing.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T: Exact> Sealed<T> {
    /// Locks a value for its place.
    ///
    /// # Errors
    /// When no key is available.
    pub fn seal(value: T, place: &Place<'_>, with: &dyn Seal) -> Result<Self, SealError> {
        let plain = value.to_bytes();
        // A thought may be large: it is not held beside its bytes.
        drop(value);
        let (key, bytes) = with.seal(plain, &place.aad())?;
        Ok(Sealed::stored(key, bytes))
    }

    /// Unlocks the value of this place.
    ///
    /// # Errors
    /// When the key is gone, or the bytes were not sealed for this place.
    pub fn open(&self, place: &Place<'_>, with: &dyn Open) -> Result<T, SealError> {
        let plain = with.open(self.key, &self.bytes, &place.aad())?;
        T::from_bytes(&plain).ok_or(SealError::Malformed)
    }
}

impl<T> Sealed<T> {
    /// The locked bytes, which are not copied.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_vec()
    }
}

impl<T> Clone for Sealed<T> {
    fn clone(&self) -> Self {
        Sealed::stored(self.key, self.bytes.clone())
    }
}

/// Compares ciphertexts, without opening them.
impl<T> PartialEq for Sealed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.bytes == other.bytes
    }
}

impl<T> Eq for Sealed<T> {}

impl Exact for Vec<u8> {
    fn to_bytes(&self) -> Vec<u8> {
        self.clone()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl Exact for String {
    fn to_bytes(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        String::from_utf8(bytes.to_vec()).ok()
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealError::KeyGone(id) => write!(f, "the key {id} that this was sealed with is gone"),
            SealError::Altered => f.write_str("this is not what was sealed for this place"),
            SealError::Malformed => f.write_str("what was sealed is not of the wanted kind"),
            SealError::Unavailable => f.write_str("the keys cannot be reached"),
        }
    }
}

impl std::error::Error for SealError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the place beside the bytes, so that it can be seen that it is asked for.
    struct Box1;

    impl Seal for Box1 {
        fn seal(&self, plain: Vec<u8>, aad: &[u8]) -> Result<(u32, Vec<u8>), SealError> {
            Ok((1, [aad, &plain].concat()))
        }
    }

    impl Open for Box1 {
        fn open(&self, key: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
            if key != 1 {
                return Err(SealError::KeyGone(key));
            }
            sealed.strip_prefix(aad).map(<[u8]>::to_vec).ok_or(SealError::Altered)
        }
    }

    #[test]
    fn opens_at_its_own_place_only() {
        let (alice, bob) = (Tenant::named("alice").unwrap(), Tenant::named("bob").unwrap());
        let origin = Origin { provider: "p".into(), ..Origin::default() };
        let other = Origin { account: Some(String::new()), ..origin.clone() };
        let place = Place { tenant: &alice, record: "r1", origin: &origin, position: 0 };
        let sealed = Sealed::seal("thought".to_owned(), &place, &Box1).unwrap();
        let stored = Sealed::<String>::stored(sealed.key(), sealed.bytes());
        assert_eq!(stored.open(&place, &Box1).as_deref(), Ok("thought"));
        for wrong in [
            Place { tenant: &bob, ..place },
            Place { record: "r2", ..place },
            Place { origin: &other, ..place },
            Place { position: 1, ..place },
        ] {
            assert_eq!(stored.open(&wrong, &Box1), Err(SealError::Altered), "{wrong:?}");
        }
        let lost = Sealed::<String>::stored(7, stored.bytes());
        assert_eq!(lost.open(&place, &Box1), Err(SealError::KeyGone(7)));
    }

    #[test]
    fn parts_of_a_place_cannot_flow_into_each_other() {
        let alice = Tenant::named("alice").unwrap();
        let origin = |provider: &str, endpoint: &str| Origin {
            provider: provider.into(),
            endpoint: endpoint.into(),
            ..Origin::default()
        };
        let (one, two) = (origin("ab", "c"), origin("a", "bc"));
        let place = |origin| Place { tenant: &alice, record: "r", origin, position: 0 }.aad();
        assert_ne!(place(&one), place(&two));
    }
}
