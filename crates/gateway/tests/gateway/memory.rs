//! A vault that forgets, for tests only, and one that fails in every way a database can.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thinkthrough_core::content::Block;
use thinkthrough_core::exchange::Found;
use thinkthrough_core::plane::{Open, Place, Seal, SealError, Sealed, Tenant};
use thinkthrough_core::restore::{Delivery, Head, Kept, Key, Secret};
use thinkthrough_gateway::{Later, Looked, Lost, Vault, VaultError, Vaults};

/// How long a call takes that takes far too long.
pub(crate) const FAR_TOO_LONG: Duration = Duration::from_secs(60);

/// How the vault behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Fine,
    /// Every call fails.
    Dead,
    /// Every call takes far too long.
    Slow,
    /// Reads work, writes fail.
    Full,
    /// Writes work, reads fail.
    Blind,
}

type Row = (Tenant, Head, Sealed<Kept>);

/// Records of every tenant. Clones are handles to the same ones.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    rows: Arc<Mutex<Vec<Row>>>,
    mood: Arc<Mutex<Mood>>,
    appends: Arc<AtomicUsize>,
}

impl Memory {
    pub(crate) fn feel(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    pub(crate) fn records(&self) -> usize {
        self.rows.lock().unwrap().len()
    }

    /// How often somebody began to keep records, whether or not that came to an end.
    pub(crate) fn appends(&self) -> usize {
        self.appends.load(Ordering::Relaxed)
    }

    /// The names of the records, in the order in which they were kept.
    pub(crate) fn names(&self) -> Vec<String> {
        self.rows.lock().unwrap().iter().map(|(_, head, _)| head.id.clone()).collect()
    }

    /// The thoughts of all records.
    pub(crate) fn thoughts(&self) -> Vec<String> {
        let rows = self.rows.lock().unwrap();
        let kept = rows.iter().map(|(tenant, head, sealed)| {
            let place = Place { tenant, record: &head.id, origin: &head.origin, position: 0 };
            sealed.open(&place, &Lock).unwrap()
        });
        let thought = |block: Block| match block {
            Block::Thinking(thinking) => Some(thinking.thought),
            _ => None,
        };
        kept.flat_map(|kept| kept.blocks.into_iter().filter_map(thought)).collect()
    }

    /// How many records there are of answers that ended as they should.
    pub(crate) fn whole_records(&self) -> usize {
        let rows = self.rows.lock().unwrap();
        rows.iter().filter(|(_, head, _)| head.delivery == Delivery::Full).count()
    }

    /// Changes what is sealed in a record, as if its payloads had been altered before they were kept.
    pub(crate) fn spoil(&self, at: usize) {
        let mut rows = self.rows.lock().unwrap();
        let (tenant, head, sealed) = &mut rows[at];
        let place = Place { tenant, record: &head.id, origin: &head.origin, position: 0 };
        let mut kept = sealed.open(&place, &Lock).unwrap();
        for block in &mut kept.blocks {
            let payloads = match block {
                Block::Thinking(it) => [&mut it.signature, &mut it.encrypted_content],
                Block::ToolCall(call) => [&mut call.signature, &mut None],
                _ => continue,
            };
            for payload in payloads.into_iter().flatten() {
                let middle = payload.len() / 2;
                let other = if payload[middle..].starts_with('A') { "B" } else { "A" };
                payload.replace_range(middle..=middle, other);
            }
        }
        *sealed = Sealed::seal(kept, &place, &Lock).unwrap();
    }

    /// Forgets a record.
    pub(crate) fn lose(&self, at: usize) {
        self.rows.lock().unwrap().remove(at);
    }

    /// The tenants that have records.
    pub(crate) fn tenants(&self) -> Vec<String> {
        let rows = self.rows.lock().unwrap();
        let mut names: Vec<String> = rows.iter().map(|(it, _, _)| it.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }

    async fn mood(&self, is_write: bool) -> Result<(), VaultError> {
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Fine => Ok(()),
            Mood::Full if !is_write => Ok(()),
            Mood::Blind if is_write => Ok(()),
            Mood::Blind | Mood::Dead | Mood::Full => Err(VaultError("as it was told".to_owned())),
            Mood::Slow => {
                tokio::time::sleep(FAR_TOO_LONG).await;
                Ok(())
            }
        }
    }
}

impl Vaults for Memory {
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
        Box::pin(async move {
            let one: Arc<dyn Vault> = Arc::new(One(self.clone(), tenant.clone()));
            Ok(one)
        })
    }

    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant> {
        let mut digest = [0; 32];
        for (at, byte) in endpoint.bytes().chain(credential.bytes()).enumerate() {
            digest[at % 32] ^= byte;
        }
        Some(Tenant::digest(&digest))
    }
}

#[derive(Clone)]
struct One(Memory, Tenant);

impl Vault for One {
    fn secret(&self) -> Secret {
        let mut bytes = [7; 32];
        for (at, byte) in self.1.as_str().bytes().enumerate() {
            bytes[at % 32] ^= byte;
        }
        Secret::new(bytes)
    }

    fn lookup(&self, keys: Vec<Key>) -> Later<'_, Looked> {
        Box::pin(async move {
            self.0.mood(false).await?;
            let rows = self.0.rows.lock().unwrap();
            let hits = rows.iter().filter(|(tenant, head, _)| {
                *tenant == self.1 && head.all_keys().any(|key| keys.contains(&key))
            });
            let found = hits.map(|(_, head, kept)| Found {
                head: head.clone().into(),
                kept: kept.clone().into(),
            });
            Ok(Looked { found: found.collect(), open: Arc::new(Lock) })
        })
    }

    fn records(&self, ids: Vec<String>) -> Later<'_, Looked> {
        Box::pin(async move {
            self.0.mood(false).await?;
            let rows = self.0.rows.lock().unwrap();
            let hits =
                rows.iter().filter(|(tenant, head, _)| *tenant == self.1 && ids.contains(&head.id));
            let found = hits.map(|(_, head, kept)| Found {
                head: head.clone().into(),
                kept: kept.clone().into(),
            });
            Ok(Looked { found: found.collect(), open: Arc::new(Lock) })
        })
    }

    fn hand_over(
        &self,
        records: Vec<(Head, Kept)>,
        _: Lost,
    ) -> Later<'_, Option<Later<'static, ()>>> {
        let One(memory, tenant) = self.clone();
        let commit: Later<'static, ()> = Box::pin(async move {
            memory.appends.fetch_add(1, Ordering::Relaxed);
            memory.mood(true).await?;
            for (head, kept) in records {
                let (record, origin) = (head.id.as_str(), &head.origin);
                let place = Place { tenant: &tenant, record, origin, position: 0 };
                let sealed = Sealed::seal(kept, &place, &Lock).unwrap();
                memory.rows.lock().unwrap().push((tenant.clone(), head, sealed));
            }
            Ok(())
        });
        Box::pin(async move { Ok(Some(commit)) })
    }

    fn poison(&self, records: Vec<String>) -> Later<'_, u64> {
        Box::pin(async move {
            self.0.mood(true).await?;
            let mut rows = self.0.rows.lock().unwrap();
            let before = rows.len();
            rows.retain(|(tenant, head, _)| *tenant != self.1 || !records.contains(&head.id));
            Ok((before - rows.len()) as u64)
        })
    }
}

/// Keeps the place beside the bytes, and so opens at it only.
struct Lock;

impl Seal for Lock {
    fn seal(&self, plain: Vec<u8>, aad: &[u8]) -> Result<(u32, Vec<u8>), SealError> {
        Ok((1, [aad, &plain].concat()))
    }
}

impl Open for Lock {
    fn open(&self, _: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
        sealed.strip_prefix(aad).map(<[u8]>::to_vec).ok_or(SealError::Altered)
    }
}
