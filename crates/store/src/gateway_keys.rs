//! Keys of the gateway: made here, shown once, and kept as digests only.

use crate::clock::now;
use crate::error::StoreError;
use crate::seal::{Broken, random};
use crate::store::Store;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
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

/// Whether keys are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyState {
    /// No key was made here, as far as store and file say.
    #[default]
    Never,
    /// Keys were made; all of them may be revoked by now.
    Made,
    /// Keys were made, and the store has none of them: it was lost, emptied, or replaced by an older one.
    Lost,
}

/// The keys of a store at one moment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyList {
    state: KeyState,
    /// The store's file was gone.
    is_displaced: bool,
    /// The store's count of changes then.
    pub(crate) changes: i64,
    /// Owners by the digest of their key. Whoever tries keys cannot choose digests, so that the time this takes says
    /// nothing about a key.
    owners: HashMap<[u8; 32], Tenant>,
}

impl KeyList {
    /// A list without keys, of a store that counts so many changes.
    #[cfg(test)]
    pub(crate) fn with_changes(changes: i64) -> Self {
        KeyList { changes, ..KeyList::default() }
    }

    /// Whether keys are there.
    #[must_use]
    pub fn state(&self) -> KeyState {
        self.state
    }

    /// Whether the store's file was removed or replaced since the store was opened. Then none of its keys holds.
    #[must_use]
    pub fn is_displaced(&self) -> bool {
        self.is_displaced
    }

    /// Who has a key that holds.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.owners.values()
    }

    /// Whose key this is, if it is one that holds.
    #[must_use]
    pub fn owner(&self, presented: &str) -> Option<&Tenant> {
        if !has_form(presented) {
            return None;
        }
        self.owners.get(KeyHash::of(presented).bytes())
    }
}

/// The digests are nobody's business.
impl fmt::Debug for KeyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyList")
            .field("state", &self.state)
            .field("keys", &self.owners.len())
            .finish_non_exhaustive()
    }
}

const PREFIX: &str = "tk-";
/// So many letters and digits hold 256 bits.
const LETTERS: usize = 43;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

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
    /// When the name can be no tenant's, or has a key that was not revoked; when it cannot be written beside the store
    /// that keys were made. No key holds then.
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
        if let Err(error) = self.mark().await {
            // Nobody is told this key, and a store that was lost would let everybody in.
            self.store.backend().revoke_key(tenant.as_str().to_owned(), now()).await?;
            return Err(error);
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
            self.mark().await
        } else {
            Err(StoreError::NoKey(name.escape_debug().to_string()))
        }
    }

    /// The keys as they are now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read(&self) -> Result<Arc<KeyList>, StoreError> {
        self.read_after(None).await
    }

    /// As [`GatewayKeys::read`]; what was read before holds if nothing changed since.
    pub(crate) async fn read_after(
        &self,
        before: Option<Arc<KeyList>>,
    ) -> Result<Arc<KeyList>, StoreError> {
        // Connections to the old file and to the new one may be open from then on.
        if let Some(before) = before.as_ref().filter(|before| before.is_displaced) {
            return Ok(Arc::clone(before));
        }
        let known = before.as_ref().map(|before| before.state).unwrap_or_default();
        let is_displaced = self.store.is_displaced().await;
        let (changes, rows) = match (is_displaced, before) {
            // The keys of a file that is gone count as those of a store that lost them.
            (true, before) => (before.map(|before| before.changes).unwrap_or_default(), Vec::new()),
            (false, before) => {
                // The count first: keys that change right behind it are read now, and once more next time.
                let changes = self.store.backend().key_changes().await?;
                if let Some(before) = before.filter(|before| before.changes == changes) {
                    return Ok(before);
                }
                (changes, self.store.backend().keys().await?)
            }
        };
        let are_there = !rows.is_empty();
        let was_made = self.store.mark_of_keys(are_there.then_some(changes)).await;
        let state = match (are_there, was_made || known != KeyState::Never) {
            (true, _) => KeyState::Made,
            (false, true) => KeyState::Lost,
            (false, false) => KeyState::Never,
        };
        let owners = rows.into_iter().filter(|row| !row.is_revoked).filter_map(|row| {
            let hash: [u8; 32] = row.hash.as_slice().try_into().ok()?;
            Some((hash, Tenant::named(&row.name).ok()?))
        });
        Ok(Arc::new(KeyList { state, is_displaced, changes, owners: owners.collect() }))
    }

    /// Writes beside the store that keys were made.
    async fn mark(&self) -> Result<(), StoreError> {
        if !self.store.has_marker() {
            return Ok(());
        }
        let changes = self.store.backend().key_changes().await?;
        self.store.mark_keys(changes).await
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

/// Whether a text has the form of a key. Nothing else is looked for.
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
