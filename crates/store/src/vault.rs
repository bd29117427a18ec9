//! The vault: thoughts that are kept so that they can be restored when a client drops them.
//!
//! A record has a head, by which restoration decides, and its thoughts. Both are sealed, each for its own place. If
//! one is moved or altered, it does not open and counts as missing. Records are found by keys, which are digests
//! under the tenant's own secret. The index has only eight bytes of each key, so look-ups compare the whole keys in
//! the head.

use crate::clock::now;
use crate::error::StoreError;
use crate::journal::Journal;
use crate::keys::TenantKeys;
use crate::recent::Read;
use crate::row::{Hit, NewRecord, RecordRow};
use crate::seal::{Broken, Kind, bind};
use crate::store::Store;
use crate::taking::HandedOver;
use crate::unwritten::Held;
use crate::waiting::{Answer, Lost};
use std::fmt;
use std::sync::Arc;
use thinkthrough_core::exchange::Found;
use thinkthrough_core::plane::{Exact as _, Open, Place, SealError, Sealed, Tenant};
use thinkthrough_core::restore::{Head, Kept, Key, Link, Secret};

/// The vault of one tenant. Clones share it.
#[derive(Clone, Debug)]
pub struct Vault {
    store: Store,
    tenant: Tenant,
}

/// The result of a look-up.
pub struct Looked {
    /// The records with any of the keys.
    pub found: Vec<Found>,
    /// The number of records that cannot be opened: altered, damaged, or of another version.
    pub damaged: usize,
    /// Opens the thoughts without a database query.
    pub opener: Opener,
}

/// Opens the thoughts of one tenant. Only restoration gets this capability.
#[derive(Clone)]
pub struct Opener(Option<Arc<TenantKeys>>);

/// Records that look-ups of this process find, but that are not committed yet.
#[derive(Debug)]
pub struct Commit {
    vault: Vault,
    records: Held,
}

/// Larger answers bypass the journal: two writes would take longer than the commit. In bytes.
const LARGE: usize = 1 << 20;

impl Commit {
    /// Commits the records. Afterwards, look-ups of every process find them.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased while the answers were on their way.
    pub async fn done(self) -> Result<(), StoreError> {
        let Commit { vault: Vault { store, tenant }, records } = self;
        // Earlier records are committed first, because these records may refer to them.
        if store.journal().is_some() && !store.waiting().is_empty() {
            store.flush().await;
        }
        let kept = store.add_records(records.records.clone()).await?;
        if kept.iter().all(|is_kept| *is_kept) {
            return Ok(());
        }
        // The keys of these records are digests under a deleted secret, so no look-up would find them.
        store.forget(&tenant);
        Err(StoreError::Erased(tenant))
    }
}

impl Store {
    /// The vault of a tenant.
    #[must_use]
    pub fn vault(&self, tenant: &Tenant) -> Vault {
        Vault { store: self.clone(), tenant: tenant.clone() }
    }
}

impl Vault {
    pub(crate) fn parts(&self) -> (Store, Tenant) {
        (self.store.clone(), self.tenant.clone())
    }

    /// The tenant's secret for look-ups. A new tenant gets its keys. A tenant behind a credential is stored only with
    /// its first record.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn secret(&self) -> Result<Secret, StoreError> {
        self.store.be_seen().await;
        let key = self.store.lookup_key(&self.tenant).await?;
        Ok(Secret::new(*key.bytes()))
    }

    /// Like [`Vault::secret`], but does not create a tenant. `None` if the store does not know it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn known_secret(&self) -> Result<Option<Secret>, StoreError> {
        let keys = self.store.keys(&self.tenant).await?;
        Ok(keys.map(|keys| Secret::new(*keys.lookup.bytes())))
    }

    /// All records with any of these keys, in one round trip. A damaged record is left out and counted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn lookup(&self, keys: &[Key]) -> Result<Looked, StoreError> {
        let Some(opens) = self.store.keys(&self.tenant).await?.filter(|_| !keys.is_empty()) else {
            return Ok(Looked::nothing());
        };
        let short: Vec<i64> = keys.iter().map(in_index).collect();
        // Pending records come first: a record that is committed in between is then found in the database.
        let unwritten = self.store.unwritten().with_keys(opens.nr, &short);
        let at_hand = self.store.recent().with_keys(opens.nr, &short);
        let known = at_hand.iter().map(|it| it.known()).collect();
        let (hits, unreadable) = self.store.backend().records(opens.nr, short, known).await?;
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        for hit in hits {
            match hit {
                Hit::Read(row) => rows.push(row),
                Hit::Known(number) => {
                    let place = at_hand.binary_search_by_key(&number, |it| it.number);
                    found.extend(place.ok().and_then(|place| at_hand.get(place)));
                }
            }
        }
        self.store.touch(found.iter().map(|it| it.thread));
        let found = found.into_iter().map(|it| it.found.clone()).collect();
        let mut looked = self.opened(opens, (rows, unreadable), found, unwritten).await?;
        let mut asked = keys.to_vec();
        asked.sort_unstable();
        let is_asked = |key| asked.binary_search(&key).is_ok();
        looked.found.retain(|found| found.head.all_keys().any(is_asked));
        Ok(looked)
    }

    /// The records with these ids. Refused and damaged records are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn records(&self, ids: Vec<String>) -> Result<Looked, StoreError> {
        let Some(opens) = self.store.keys(&self.tenant).await?.filter(|_| !ids.is_empty()) else {
            return Ok(Looked::nothing());
        };
        let unwritten = self.store.unwritten().named(opens.nr, &ids);
        let rows = self.store.backend().records_named(opens.nr, ids).await?;
        self.opened(opens, rows, Vec::new(), unwritten).await
    }

    /// Opens rows and pending records, and adds them to `found`, which were open already.
    async fn opened(
        &self,
        opens: Arc<TenantKeys>,
        (rows, unreadable): (Vec<RecordRow>, usize),
        mut found: Vec<Found>,
        mut unwritten: Vec<Arc<NewRecord>>,
    ) -> Result<Looked, StoreError> {
        self.store.touch(rows.iter().map(|row| row.thread));
        let is_there = |id: &str| {
            rows.iter().any(|row| row.id == id) || found.iter().any(|it| it.head.id == id)
        };
        unwritten.retain(|record| !is_there(&record.id));
        let ids = rows.iter().map(|row| row.key_id).chain(unwritten.iter().map(|it| it.key_id));
        let ids = ids.chain(found.iter().map(|it| it.kept.key()));
        let opens = self.store.keys_with(opens, &self.tenant, ids).await?;
        let all = found.len() + rows.len() + unwritten.len();
        for row in rows {
            let (number, thread) = (row.number, row.thread);
            let Some(opened) = self.open(&opens, row) else { continue };
            found.push(opened.clone());
            let keys = found_by(&opened.head);
            let read = Read { tenant: opens.nr, number, thread, keys, found: opened };
            self.store.recent().keep(&Arc::new(read));
        }
        let rows = unwritten.iter().map(|record| record.row());
        found.extend(rows.filter_map(|row| self.open(&opens, row)));
        let damaged = unreadable + all - found.len();
        Ok(Looked { found, damaged, opener: Opener(Some(opens)) })
    }

    /// Stores records. Once this returns, look-ups of every process find them, and they survive the end of this
    /// process. A record with a known id stays as it is.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased while the answers were on their way.
    pub async fn append(&self, records: Vec<(Head, Kept)>) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let (vault, records) = (self.clone(), self.sealed(records).await?);
        Commit { vault, records }.done().await
    }

    /// Accepts the records of one answer. If this returns `None`, look-ups of this process find them from now on.
    /// They are in a journal that survives a crash, and the database commits them some milliseconds later, or `lost`
    /// is called.
    ///
    /// If this returns a [`Commit`], the caller has to run it. That is the case on a server; in a file while other
    /// processes look for records, because the next request may go to them; and if the journal cannot take the
    /// records.
    ///
    /// # Errors
    /// When the tenant is new and the store cannot be written.
    pub async fn hand_over(
        &self,
        records: Vec<(Head, Kept)>,
        lost: Lost,
    ) -> Result<Option<Commit>, StoreError> {
        if records.is_empty() {
            return Ok(None);
        }
        let (store, records) = (self.store.clone(), self.sealed(records).await?);
        let size = records.records.iter().map(|record| record.size()).sum::<i64>();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let to_commit = |records| Ok(Some(Commit { vault: self.clone(), records }));
        let journal = store.journal().filter(|_| size <= LARGE);
        let falls_back = || store.journal().into_iter().for_each(Journal::falls_back);
        let Some(room) = store.waiting().room(size) else {
            falls_back();
            return to_commit(records);
        };
        let tenant = Some(self.tenant.clone());
        let answer = Answer { records, tenant, lost, spot: None, _room: room };
        match journal {
            Some(journal) => {
                match journal.append(HandedOver { store: store.clone(), answer }).await {
                    Ok(()) => Ok(None),
                    Err(HandedOver { answer, .. }) => {
                        journal.said().into_iter().for_each(|said| store.note(said));
                        to_commit(answer.records)
                    }
                }
            }
            None => {
                falls_back();
                to_commit(answer.records)
            }
        }
    }

    /// Marks records as poisoned: a provider refused them, so that look-ups of this tenant skip them. They keep their
    /// places in their conversations. Returns how many were newly marked.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn poison(&self, records: Vec<String>) -> Result<u64, StoreError> {
        match self.store.keys(&self.tenant).await? {
            Some(keys) if !records.is_empty() => {
                self.store.flush().await;
                self.store.backend().poison(keys.nr, records).await
            }
            _ => Ok(0),
        }
    }

    /// Seals records. Look-ups of this process find them from now on.
    async fn sealed(&self, records: Vec<(Head, Kept)>) -> Result<Held, StoreError> {
        let keys = self.store.keys_or_new(&self.tenant).await?;
        let now = now();
        let sealed = records.into_iter().map(|(head, kept)| self.seal(&keys, &head, kept, now));
        let sealed = sealed.collect::<Result<_, _>>().map_err(|_| self.store.no_random())?;
        Ok(self.store.unwritten().hold(sealed))
    }

    /// Opens the head of a record. Returns `None` if it was altered or damaged, or if another version wrote it.
    fn open(&self, keys: &TenantKeys, row: RecordRow) -> Option<Found> {
        let key = keys.data(row.key_id)?;
        let plain = key.open(&row.head, &head_place(&self.tenant, &row.id)).ok()?;
        let Some(head) = Head::from_bytes(&plain) else {
            // The seal is valid, so another version wrote these bytes.
            self.store.note_unread();
            return None;
        };
        Some(Found { head: head.into(), kept: Sealed::stored(row.key_id, row.kept).into() })
    }

    fn seal(
        &self,
        keys: &TenantKeys,
        head: &Head,
        kept: Kept,
        now: i64,
    ) -> Result<NewRecord, SealError> {
        let place =
            Place { tenant: &self.tenant, record: &head.id, origin: &head.origin, position: 0 };
        let kept = Sealed::seal(kept, &place, keys)?;
        let key = keys.data(kept.key()).ok_or(SealError::Unavailable)?;
        let place = head_place(&self.tenant, &head.id);
        let sealed = key.seal(head.to_bytes(), &place).map_err(|Broken| SealError::Unavailable)?;
        Ok(NewRecord {
            tenant: keys.nr,
            id: head.id.clone(),
            parent: match &head.parent {
                Link::Record(parent) => Some(parent.clone()),
                Link::Root | Link::Unknown => None,
            },
            thread: thread(head),
            key_id: kept.key(),
            keys: found_by(head),
            head: sealed,
            kept: kept.into_bytes(),
            now,
        })
    }
}

impl Looked {
    fn nothing() -> Self {
        Looked { found: Vec::new(), damaged: 0, opener: Opener(None) }
    }
}

impl Open for Opener {
    fn open(&self, key: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
        self.0.as_ref().ok_or(SealError::KeyGone(key))?.open(key, sealed, aad)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener(..)")
    }
}

impl fmt::Debug for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looked")
            .field("found", &self.found.len())
            .field("damaged", &self.damaged)
            .finish_non_exhaustive()
    }
}

/// The eight bytes of a key in the index. Different keys rarely share them, and the head has the whole keys.
fn in_index(key: &Key) -> i64 {
    key.bytes().first_chunk().map_or(0, |first| i64::from_le_bytes(*first))
}

/// The index entries of a record, each once.
fn found_by(head: &Head) -> Vec<i64> {
    let mut keys: Vec<i64> = head.all_keys().map(|key| in_index(&key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The conversation name of a record, used if the answer before it is not known: the session, else the first message.
/// `None` for a first answer, because many conversations begin with the same question.
fn thread(head: &Head) -> Option<Vec<u8>> {
    match head.parent {
        Link::Root => None,
        Link::Record(_) | Link::Unknown => Some(head.hint.unwrap_or(head.root).bytes().to_vec()),
    }
}

fn head_place(tenant: &Tenant, id: &str) -> Vec<u8> {
    bind(Kind::Head, &[tenant.as_str(), id], &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;
    use crate::master::KeySource;

    #[tokio::test]
    async fn a_record_of_another_version_is_left_out_and_said_once() {
        let folder = std::env::temp_dir().join(format!("think-unread-{}", std::process::id()));
        let key = KeySource::File(folder.join("kept.key"));
        let store = Store::open(&Location::Sqlite(folder.join("kept.db")), &key).await.unwrap();
        let vault = store.vault(&Tenant::local());
        let keys = store.keys_or_new(&vault.tenant).await.unwrap();
        let (key_id, key) = keys.current().unwrap();
        let place = head_place(&vault.tenant, "record");
        for _ in 0..2 {
            let head = key.seal(vec![1, 99, 0, 2], &place).unwrap();
            let (id, kept) = ("record".to_owned(), Vec::new());
            let row = RecordRow { number: 1, thread: 1, id, key_id, head, kept };
            assert!(vault.open(&keys, row).is_none());
        }
        let notes = store.notes();
        assert!(notes.len() == 1 && notes[0].contains("use a newer `think`"), "{notes:?}");
        drop((vault, store));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
