//! Keys of the gateway: made here, shown once, and kept as digests only.

use crate::clock::now;
use crate::error::StoreError;
use crate::seal::{Broken, random};
use crate::store::Store;
use std::fmt;
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use zeroize::Zeroizing;

/// The keys of the gateway. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct GatewayKeys {
    store: Store,
}

/// The digest of a key: enough to know it again, and no key.
///
/// BLAKE3 of the whole key, which is drawn at random and long, so that nothing slower is needed. Two are compared in
/// constant time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

/// A key that was made now. Nobody can be told it again.
pub struct NewKey {
    /// What the caller sends.
    pub secret: Zeroizing<String>,
    /// What is kept of it.
    pub hash: KeyHash,
}

/// A key that was made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayKey {
    /// Whose it is: the name of its tenant.
    pub name: String,
    /// When it was made, in Unix milliseconds.
    pub created_at: u64,
    /// It opens nothing any more.
    pub is_revoked: bool,
}

const PREFIX: &str = "tk-";
/// So many letters and digits hold 256 bits.
const LETTERS: usize = 43;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How old what is known of the keys may be before it is asked for anew.
const FRESH: Duration = Duration::from_secs(2);
/// How old it may be when a key is not among it: the key may have been made just now.
const FRESH_FOR_NEW: Duration = Duration::from_millis(250);
/// How old it may be at most, when the store does not answer: a revocation holds by then.
const OLDEST: Duration = Duration::from_secs(5);
/// How long the store may take to say.
const PATIENCE: Duration = Duration::from_secs(2);

impl Store {
    /// The keys of the gateway.
    #[must_use]
    pub fn gateway_keys(&self) -> GatewayKeys {
        GatewayKeys { store: self.clone() }
    }
}

impl GatewayKeys {
    /// Makes a key of this name, which is the name of its tenant, too.
    ///
    /// # Errors
    /// When the name can be no tenant's, or has a key that was not revoked.
    pub async fn create(&self, name: &str) -> Result<NewKey, StoreError> {
        let tenant = Tenant::named(name).map_err(|error| StoreError::KeyName {
            name: name.escape_debug().to_string(),
            message: error.to_string(),
        })?;
        let secret = secret().map_err(|_| self.store.no_random())?;
        let hash = KeyHash::of(&secret);
        let bytes = hash.bytes().to_vec();
        if !self.store.backend().add_key(tenant.as_str().to_owned(), bytes, now()).await? {
            return Err(StoreError::KeyThere(tenant));
        }
        Ok(NewKey { secret, hash })
    }

    /// All keys, in the order in which they were made.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self) -> Result<Vec<GatewayKey>, StoreError> {
        let rows = self.store.backend().keys().await?;
        let keys = rows.into_iter().map(|row| GatewayKey {
            name: row.name,
            created_at: u64::try_from(row.created_at).unwrap_or_default(),
            is_revoked: row.is_revoked,
        });
        Ok(keys.collect())
    }

    /// Takes back the key of a name. All gateways refuse it within five seconds. What its tenant has stays.
    ///
    /// # Errors
    /// When the name has no key that could be taken back.
    pub async fn revoke(&self, name: &str) -> Result<(), StoreError> {
        if self.store.backend().revoke_key(name.to_owned(), now()).await? {
            Ok(())
        } else {
            Err(StoreError::NoKey(name.escape_debug().to_string()))
        }
    }

    /// Whose key this is, if it is one that was made here and not taken back. What has not the form of a key is
    /// nobody's, without a look into the store.
    ///
    /// # Errors
    /// When the store has not answered for five seconds: what it said before may not hold any more.
    pub async fn find(&self, presented: &str) -> Result<Option<Tenant>, StoreError> {
        if !has_form(presented) {
            return Ok(None);
        }
        let hash = KeyHash::of(presented);
        let known = self.store.known_keys();
        let seen = known.look(hash.bytes());
        if let Some((owner, age)) = &seen {
            let enough = if owner.is_some() { FRESH } else { FRESH_FOR_NEW };
            if *age < enough {
                return Ok(owner.clone());
            }
        }
        let asked = tokio::time::timeout(PATIENCE, known.refresh(self.store.backend())).await;
        match (asked, seen) {
            (Ok(Ok(())), _) => Ok(known.look(hash.bytes()).and_then(|(owner, _)| owner)),
            (_, Some((Some(owner), age))) if age < OLDEST - PATIENCE => Ok(Some(owner)),
            (Ok(Err(error)), _) => Err(error),
            (Err(_), _) => Err(StoreError::Busy(self.store.at().to_owned())),
        }
    }
}

impl KeyHash {
    /// The digest of a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        KeyHash(blake3::hash(key.as_bytes()))
    }

    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text.trim()).ok().map(KeyHash)
    }

    fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Without the secret.
impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// Whether a text has the form of a key. Nothing else goes to the store.
fn has_form(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|letters| {
        letters.len() == LETTERS && letters.bytes().all(|letter| letter.is_ascii_alphanumeric())
    })
}

fn secret() -> Result<Zeroizing<String>, Broken> {
    // Room for all, so that no copy of a part stays behind.
    let mut secret = Zeroizing::new(String::with_capacity(PREFIX.len() + LETTERS));
    secret.push_str(PREFIX);
    while secret.len() < PREFIX.len() + LETTERS {
        let bytes = Zeroizing::new(random::<64>()?);
        // What is above the greatest multiple of 62 would make some letters likelier.
        let letters = bytes.iter().filter(|byte| **byte < 248);
        let room = PREFIX.len() + LETTERS - secret.len();
        for letter in letters.take(room) {
            let letter = ALPHABET.get(usize::from(letter % 62)).copied().unwrap_or(b'0');
            secret.push(char::from(letter));
        }
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_long_random_and_of_one_form() {
        let (one, two) = (secret().unwrap(), secret().unwrap());
        assert!(has_form(&one) && has_form(&two) && one != two, "{one:?}");
        assert_eq!(one.len(), 46);
        let mut letters: Vec<u8> =
            (0..200).flat_map(|_| secret().unwrap().as_bytes()[3..].to_vec()).collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), 62, "every letter and digit is met");
    }

    #[test]
    fn t_3_what_has_not_the_form_of_a_key_is_none() {
        let good = secret().unwrap();
        let changed = |at: usize, with: &str| {
            let mut text = good.to_string();
            text.replace_range(at..=at, with);
            text
        };
        for bad in [
            String::new(),
            "tk-".to_owned(),
            good.chars().take(45).collect(),
            format!("{}a", *good),
            format!(" {}", *good),
            changed(1, "K"),
            changed(2, "_"),
            changed(10, "'"),
            changed(10, "\0"),
            changed(44, "\u{e9}"),
            "tk-' OR 1=1 --".to_owned(),
        ] {
            assert!(!has_form(&bad), "{bad:?}");
        }
    }

    #[test]
    fn a_digest_is_read_back_and_shows_no_key() {
        let key = secret().unwrap();
        let hash = KeyHash::of(&key);
        assert_eq!(KeyHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(KeyHash::parse(&format!(" {hash}\n").to_uppercase()), Some(hash));
        assert_eq!(KeyHash::parse("12"), None);
        let new = NewKey { secret: key.clone(), hash };
        assert!(!format!("{new:?} {hash:?}").contains(key.trim_start_matches(PREFIX)));
    }
}
