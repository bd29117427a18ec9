//! Gateway keys. They are created here, shown once, and stored as digests only.

use crate::clock::now;
use crate::error::StoreError;
use crate::seal::{Broken, random};
use crate::store::Store;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;
use zeroize::Zeroizing;

/// The gateway keys of a store. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct GatewayKeys {
    store: Store,
}

/// The digest of a gateway key. It recognises the key but does not reveal it.
///
/// BLAKE3 of the whole key. Keys are long and random, so a slower hash is not needed. Digests are compared in
/// constant time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

/// A new key. It cannot be shown again later.
pub struct NewKey {
    /// The secret that the caller sends.
    pub secret: Zeroizing<String>,
    /// The digest that the store keeps.
    pub hash: KeyHash,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayKey {
    /// The name of the key and of its tenant.
    pub name: String,
    /// Time of creation in Unix milliseconds.
    pub created_at: u64,
    /// True if the key is no longer valid.
    pub is_revoked: bool,
}

/// Whether a store has keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyState {
    /// No key was ever created, according to the store and its marker file.
    #[default]
    Never,
    /// Keys were created. All of them may be revoked.
    Made,
    /// Keys were created but are missing: the store was lost, emptied, or replaced by an older one.
    Lost,
}

/// A snapshot of the keys of a store.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyList {
    state: KeyState,
    /// True if the store's file was gone.
    is_displaced: bool,
    /// The store's count of key changes at that time.
    pub(crate) changes: i64,
    /// Tenants by the digests of their keys. An attacker cannot choose digests, so the time of a look-up reveals no
    /// key.
    owners: HashMap<[u8; 32], Tenant>,
}

impl KeyList {
    /// A list without keys, with this count of changes.
    #[cfg(test)]
    pub(crate) fn with_changes(changes: i64) -> Self {
        KeyList { changes, ..KeyList::default() }
    }

    /// Whether the store has keys.
    #[must_use]
    pub fn state(&self) -> KeyState {
        self.state
    }

    /// Whether the store's file was removed or replaced since the store was opened. If so, its keys are invalid.
    #[must_use]
    pub fn is_displaced(&self) -> bool {
        self.is_displaced
    }

    /// The tenants with a valid key.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.owners.values()
    }

    /// The tenant of a key, if the key is valid.
    #[must_use]
    pub fn owner(&self, presented: &str) -> Option<&Tenant> {
        if !has_form(presented) {
            return None;
        }
        self.owners.get(KeyHash::of(presented).bytes())
    }
}

/// Leaves out the digests.
impl fmt::Debug for KeyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyList")
            .field("state", &self.state)
            .field("keys", &self.owners.len())
            .finish_non_exhaustive()
    }
}

const PREFIX: &str = "tk-";
/// This many letters and digits hold 256 bits.
const LETTERS: usize = 43;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Store {
    /// The gateway keys of this store.
    #[must_use]
    pub fn gateway_keys(&self) -> GatewayKeys {
        GatewayKeys { store: self.clone() }
    }
}

impl GatewayKeys {
    /// Creates a key with this name, which is also the name of its tenant.
    ///
    /// # Errors
    /// If the name is no valid tenant name or has a valid key; if the store's marker file cannot be written.
    /// No key is valid then.
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
            // Without the marker, a lost store would admit every caller. The key was not shown, so revoke it.
            self.store.backend().revoke_key(tenant.as_str().to_owned(), now()).await?;
            return Err(error);
        }
        Ok(NewKey { secret, hash })
    }

    /// All keys in the order of their creation.
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

    /// Revokes the key of this name. All gateways refuse it within five seconds. The data of its tenant stays.
    ///
    /// # Errors
    /// When the name has no valid key.
    pub async fn revoke(&self, name: &str) -> Result<(), StoreError> {
        if self.store.backend().revoke_key(name.to_owned(), now()).await? {
            self.mark().await
        } else {
            Err(StoreError::NoKey(name.escape_debug().to_string()))
        }
    }

    /// Reads the current keys.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read(&self) -> Result<Arc<KeyList>, StoreError> {
        self.read_after(None).await
    }

    /// As [`GatewayKeys::read`], but returns `before` if the keys did not change since.
    pub(crate) async fn read_after(
        &self,
        before: Option<Arc<KeyList>>,
    ) -> Result<Arc<KeyList>, StoreError> {
        // Connections to both the old and the new file may be open now.
        if let Some(before) = before.as_ref().filter(|before| before.is_displaced) {
            return Ok(Arc::clone(before));
        }
        let known = before.as_ref().map(|before| before.state).unwrap_or_default();
        let is_displaced = self.store.is_displaced().await;
        let (changes, rows) = match (is_displaced, before) {
            // The keys of a removed file count as lost.
            (true, before) => (before.map(|before| before.changes).unwrap_or_default(), Vec::new()),
            (false, before) => {
                // Read the count first: keys that change right after it are read now, and again the next time.
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

    /// Writes the marker file of the store, which shows that keys were created.
    async fn mark(&self) -> Result<(), StoreError> {
        if !self.store.has_marker() {
            return Ok(());
        }
        let changes = self.store.backend().key_changes().await?;
        self.store.mark_keys(changes).await
    }
}

impl KeyHash {
    /// The digest of this key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        KeyHash(blake3::hash(key.as_bytes()))
    }

    /// Parses 64 hexadecimal digits.
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

/// Whether a text has the form of a key. Other texts are not looked up.
fn has_form(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|letters| {
        letters.len() == LETTERS && letters.bytes().all(|letter| letter.is_ascii_alphanumeric())
    })
}

fn secret() -> Result<Zeroizing<String>, Broken> {
    // Reserve the full capacity, so that no reallocation leaves a partial copy in memory.
    let mut secret = Zeroizing::new(String::with_capacity(PREFIX.len() + LETTERS));
    secret.push_str(PREFIX);
    while secret.len() < PREFIX.len() + LETTERS {
        let bytes = Zeroizing::new(random::<64>()?);
        // Skip bytes above the greatest multiple of 62, which would make some letters likelier.
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
