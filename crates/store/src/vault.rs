//! The vault: what was thought, kept so that it can be put back where a client drops it.
//!
//! A record has a head, by which restoration decides, and its thoughts. Both are sealed, each for its own place: what
//! is moved or altered stays shut, and counts as not there. The keys by which a record is found are digests under the
//! tenant's own secret, of which the index keeps eight bytes; a record that only looks alike there is left out.

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

/// The vault of one tenant. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Vault {
    store: Store,
    tenant: Tenant,
}

/// What a look-up found.
pub struct Looked {
    /// The records with any of the keys.
    pub found: Vec<Found>,
    /// The number of records that cannot be opened: altered, damaged, or of another version.
    pub damaged: usize,
    /// Opens their thoughts, without asking the database again.
    pub opener: Opener,
}

/// Opens the thoughts of one tenant: the capability that only restoration is given.
#[derive(Clone)]
pub struct Opener(Option<Arc<TenantKeys>>);

/// Records that are found by this process, and are to be committed.
#[derive(Debug)]
pub struct Commit {
    vault: Vault,
    records: Held,
}

/// More bytes than these do not go through the journal: to write them twice would take longer than the commit.
const LARGE: usize = 1 << 20;

impl Commit {
    /// Comes back when a look-up by any process finds them.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased while the answers were on their way.
    pub async fn done(self) -> Result<(), StoreError> {
        let Commit { vault: Vault { store, tenant }, records } = self;
        // What they go on from comes before them.
        if store.journal().is_some() && !store.waiting().is_empty() {
            store.flush().await;
        }
        let kept = store.add_records(records.records.clone()).await?;
        if kept.iter().all(|is_kept| *is_kept) {
            return Ok(());
        }
        // The keys of these records are digests under a secret that is gone, so nothing would ever find them.
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
    /// Its store and its tenant.
    pub(crate) fn parts(&self) -> (Store, Tenant) {
        (self.store.clone(), self.tenant.clone())
    }

    /// The tenant's secret for look-ups; a tenant that is new gets its keys. One that a credential stands for is written
    /// down only with the first record that is kept for it.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn secret(&self) -> Result<Secret, StoreError> {
        self.store.be_seen().await;
        let key = self.store.lookup_key(&self.tenant).await?;
        Ok(Secret::new(*key.bytes()))
    }

    /// As [`Vault::secret`], for whoever only looks: `None` where the store knows no such tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn known_secret(&self) -> Result<Option<Secret>, StoreError> {
        let keys = self.store.keys(&self.tenant).await?;
        Ok(keys.map(|keys| Secret::new(*keys.lookup.bytes())))
    }

    /// All records with any of these keys, in one round trip. One that is damaged is left out and counted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn lookup(&self, keys: &[Key]) -> Result<Looked, StoreError> {
        let Some(opens) = self.store.keys(&self.tenant).await?.filter(|_| !keys.is_empty()) else {
            return Ok(Looked::nothing());
        };
        let short: Vec<i64> = keys.iter().map(in_index).collect();
        // These first: what is written in between is found in the database then.
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

    /// The records with these ids. One that a provider refused is left out, and so is one that is damaged.
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

    /// Opens what was read, beside what was `found` open.
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

    /// Keeps records. Once this returns, a look-up by any process finds them, and the end of this process loses
    /// nothing. A record whose id is there already stays as it is.
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

    /// Takes records that belong to one answer. Where this gives nothing back they are found by this process from now
    /// on, and in the database some milliseconds later; where the store is a file, the end of this process loses none of
    /// them. `lost` is told if the database does not take them after all.
    ///
    /// What it gives back commits them: on a server, and in a file while other processes look for records there, because
    /// these may be asked next; and where the journal of a file has no room for them.
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

    /// Marks records as poisoned: a provider refused them, so that no look-up by anybody of this tenant finds them any
    /// more. They keep their places in their conversations. Gives how many were marked now.
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

    /// Seals them; this process finds them from now on.
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
            // The seal holds, so these are the bytes that were written.
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

/// What the index keeps of a key: two different ones are almost never the same here, and the head has them whole.
fn in_index(key: &Key) -> i64 {
    key.bytes().first_chunk().map_or(0, |first| i64::from_le_bytes(*first))
}

/// What the index keeps of a record's keys, each once.
fn found_by(head: &Head) -> Vec<i64> {
    let mut keys: Vec<i64> = head.all_keys().map(|key| in_index(&key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The name of the conversation that a record belongs to where the answer before it is not known: the session, else the
/// first message. One that begins here is found by its answers only: many begin with the same question.
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
