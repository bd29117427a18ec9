//! Seals the items of traces for their place, and opens them.
//!
//! They are sealed before they reach a journal, with the tenant's data key. A trace whose tenant has no key in time is
//! stored without its items: no trace waits for a store that does not answer.

use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::row::{ItemsRow, SealedItems, TraceRow};
use crate::seal::{Kind, bind};
use crate::store::Store;
use crate::trace::{NewTrace, Trace, TraceState};
use crate::trace_items::TraceItems;
use crate::traces::Traces;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_json::{Raw, Writer};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// The longest wait of one batch of traces for the keys of a tenant. All tenants wait at the same time.
const PATIENCE: Duration = Duration::from_millis(250);
/// The bytes in which the sealed title of a trace ends: a title has at most 121 letters.
const TITLE: i32 = 1024;

impl Store {
    /// The rows of these traces, with sealed items, and the number of traces that lost their items.
    pub(crate) async fn trace_rows(&self, traces: Vec<NewTrace>) -> (Vec<TraceRow>, u64) {
        let keys = self.keys_for_items(&traces).await;
        let mut lost = 0;
        let rows = traces.into_iter().map(|trace| {
            let keys = keys.get(trace.tenant.as_str());
            let items = keys.zip(items(&trace)).and_then(|(keys, items)| seal(keys, &trace, items));
            lost += u64::from(items.is_none() && trace.has_items() && is_proven(&trace));
            TraceRow { items, ..TraceRow::from(trace) }
        });
        (rows.collect(), lost)
    }

    /// The keys of the tenants of these traces, by name. Slow or damaged keys of one tenant leave the others alone.
    async fn keys_for_items(&self, traces: &[NewTrace]) -> HashMap<String, Arc<TenantKeys>> {
        let mut tenants: HashMap<&str, (&Tenant, bool)> = HashMap::new();
        for trace in traces.iter().filter(|trace| items(trace).is_some()) {
            let entry = tenants.entry(trace.tenant.as_str());
            entry.or_insert((&trace.tenant, false)).1 |= is_proven(trace);
        }
        let (mut found, mut reads) = (HashMap::new(), JoinSet::new());
        for (name, (tenant, is_proven)) in tenants {
            if let Some(keys) = self.at_hand(tenant) {
                found.insert(name.to_owned(), keys);
                continue;
            }
            let (store, tenant) = (self.clone(), tenant.clone());
            reads.spawn(async move {
                let keys = async {
                    match is_proven {
                        true => store.keys_or_new(&tenant).await.ok(),
                        false => store.keys(&tenant).await.ok().flatten(),
                    }
                };
                let keys = timeout(PATIENCE, keys).await.ok().flatten();
                keys.map(|keys| (tenant.as_str().to_owned(), keys))
            });
        }
        while let Some(read) = reads.join_next().await {
            found.extend(read.ok().flatten());
        }
        found
    }

    /// Opens a part of a row. Returns `None` if the tenant was erased, or if the row is not the one that was sealed.
    async fn open_part(
        &self,
        row: &ItemsRow,
        kind: Kind,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let (Ok(tenant), Some(items)) = (Tenant::stored(&row.tenant), &row.items) else {
            return Ok(None);
        };
        let Some((title, rest)) = parts(&items.sealed) else { return Ok(None) };
        let sealed = if kind == Kind::TraceTitle { title } else { rest };
        let keys = match self.keys(&tenant).await {
            Err(StoreError::Damaged { .. }) => None,
            keys => keys?,
        };
        let Some(keys) = keys else { return Ok(None) };
        let keys = self.keys_with(keys, &tenant, std::iter::once(items.key_id)).await?;
        let key = keys.data(items.key_id);
        Ok(key.and_then(|key| key.open(sealed, &place(kind, &tenant, &row.trace)).ok()))
    }
}

impl Traces {
    /// Reads the items of these traces.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read_items(&self, traces: &mut [Trace]) -> Result<(), StoreError> {
        let first = traces.first().map(|trace| trace.tenant.clone());
        let tenant = first.filter(|first| traces.iter().all(|trace| trace.tenant == *first));
        let ids = traces.iter().map(|trace| trace.id.clone()).collect();
        let (store, mut found) = (self.store(), HashMap::new());
        for row in store.backend().trace_items(tenant, ids, i32::MAX).await? {
            // The keys of one tenant may be damaged or slow. All other rows are still readable.
            let plain = store.open_part(&row, Kind::TraceItems).await.ok().flatten();
            found.insert(row.trace, plain.and_then(|plain| TraceItems::read(&plain)));
        }
        for trace in traces {
            trace.items = found.remove(&trace.id).flatten().unwrap_or_default();
        }
        Ok(())
    }

    /// The titles of the traces with these ids, and the client's program. `tenant` is the owner of all of them. Reads
    /// only the titles, because the items of a trace may have half a megabyte.
    pub(crate) async fn titles_of(
        &self,
        tenant: Option<String>,
        ids: Vec<String>,
    ) -> Result<HashMap<String, (Option<String>, Option<String>)>, StoreError> {
        let (store, mut found) = (self.store(), HashMap::new());
        for row in store.backend().trace_items(tenant, ids, TITLE).await? {
            let title = store.open_part(&row, Kind::TraceTitle).await.ok().flatten();
            let title = title.and_then(|it| std::str::from_utf8(&it).ok().map(str::to_owned));
            let client = Raw::parse(&row.metadata).ok();
            let client = client.and_then(|raw| raw.doc().root().string("client"));
            found.insert(row.trace, (title.filter(|title| !title.is_empty()), client));
        }
        Ok(found)
    }
}

impl NewTrace {
    /// Whether it has items to store.
    #[must_use]
    pub fn has_items(&self) -> bool {
        items(self).is_some()
    }
}

/// Anyone can make up a credential. Only an answer proves that the provider accepts it.
fn is_proven(trace: &NewTrace) -> bool {
    !trace.tenant.is_credential() || trace.state != TraceState::Failed
}

/// The items of a trace, if it has any.
fn items(trace: &NewTrace) -> Option<&Masked<TraceItems>> {
    trace.items.as_ref().filter(|items| !items.get().is_empty())
}

fn seal(keys: &TenantKeys, trace: &NewTrace, items: &Masked<TraceItems>) -> Option<SealedItems> {
    let (key_id, key) = keys.current()?;
    let mut w = Writer::new();
    items.get().write(&mut w);
    let place = |kind| place(kind, &trace.tenant, &trace.id);
    let title = items.get().title().unwrap_or_default();
    let title = key.seal(title, &place(Kind::TraceTitle)).ok()?;
    let mut sealed = u16::try_from(title.len()).ok()?.to_le_bytes().to_vec();
    sealed.extend(title);
    sealed.extend(key.seal(w.finish(), &place(Kind::TraceItems)).ok()?);
    Some(SealedItems { key_id, sealed })
}

/// The sealed title and the sealed items. The length of the title, in two bytes, precedes it.
fn parts(sealed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = sealed.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_le_bytes(*len).into())
}

/// The rows of traces without their items, for a journal that is written before the store is open.
pub(crate) fn bare_rows(traces: Vec<NewTrace>) -> Vec<Arc<TraceRow>> {
    traces.into_iter().map(|trace| Arc::new(TraceRow::from(trace))).collect()
}

fn place(kind: Kind, tenant: &Tenant, trace: &str) -> Vec<u8> {
    bind(kind, &[tenant.as_str(), trace], &[])
}
