//! The age and the amount of data that the vault keeps.
//!
//! Conversations are kept or deleted as a whole: one with a missing thought in its middle is worth less than none.

use crate::clock::Moment;
use crate::error::StoreError;
use crate::row::{ThreadRow, Usage};
use crate::store::Store;
use crate::trace::TRACE_AGE;
use std::time::{Duration, UNIX_EPOCH};
use thinkthrough_core::plane::Tenant;

/// Age and amount of data in the vault, and the age of traces. Conversations of the terminal client are not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The age at which an unused conversation is deleted.
    pub age: Duration,
    /// The most bytes of a tenant.
    pub bytes: u64,
    /// The most records of a tenant.
    pub records: u64,
    /// The age at which traces are deleted. `None` keeps them for ever.
    pub traces: Option<Duration>,
    /// The most traces of a tenant. The oldest are deleted first.
    pub tenant_traces: u64,
    /// The most budgets of sessions, tasks and times of a tenant. The longest unused are deleted first.
    pub budgets: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            age: Duration::from_secs(30 * 24 * 60 * 60),
            bytes: 1 << 30,
            records: 1_000_000,
            traces: Some(TRACE_AGE),
            tenant_traces: 1_000_000,
            budgets: 100_000,
        }
    }
}

/// The result of pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Number of deleted conversations.
    pub conversations: u64,
    /// Number of old records and traces that stay for now, because they are many and the clock jumped or was watched
    /// for less than an hour.
    pub held_back: u64,
}

/// The amount of a tenant's data in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Conversations of the terminal client.
    pub conversations: u64,
    /// Records in the vault for clients of the gateway.
    pub records: u64,
}

/// The most conversations, and the approximate number of records, per deletion step, so that writers do not wait
/// long.
const STEP: (u32, i64) = (64, 500);

impl Store {
    /// Counts the data of a tenant. Returns `None` if the store does not know the tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn holding(&self, tenant: &Tenant) -> Result<Option<Holding>, StoreError> {
        let Some(row) = self.backend().tenant(tenant.as_str().to_owned()).await? else {
            return Ok(None);
        };
        self.flush().await;
        let conversations = self.backend().conversations(row.nr).await?.len();
        let usage = self.backend().usage(i64::MIN).await?;
        let records = usage.iter().find(|usage| usage.tenant == row.nr).map_or(0, |it| it.records);
        Ok(Some(Holding {
            conversations: u64::try_from(conversations).unwrap_or(u64::MAX),
            records: u64::try_from(records).unwrap_or_default(),
        }))
    }

    /// Deletes data from the vault: conversations that were unused for too long, the longest unused ones of a tenant
    /// above its limits, the rest of erased tenants, and expired facts. A gateway calls this about once a minute.
    ///
    /// A clock that jumped does not empty the vault: more than a fifth is deleted for its age only after an hour in
    /// which both clocks of `now` agreed.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn prune(&self, limits: &Limits, now: Moment) -> Result<Pruned, StoreError> {
        // Take over the journals of gateways that were killed and did not restart.
        self.take_over().await;
        let before = now.wall.checked_sub(limits.age).unwrap_or(UNIX_EPOCH);
        let before = before.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let is_steady = self.clock().is_steady(now);
        let usage = self.backend().usage(before).await?;
        let all: i64 = usage.iter().map(|usage| usage.records).sum();
        let stale: i64 = usage.iter().filter(|it| it.has_keys).map(|usage| usage.stale).sum();
        let is_held = !is_steady && stale > all / 5;
        let mut pruned = Pruned::default();
        if is_held {
            pruned.held_back = u64::try_from(stale).unwrap_or_default();
        }
        let before = if is_held { i64::MIN } else { before };
        for usage in usage {
            pruned.conversations += self.prune_one(usage, limits, before).await?;
        }
        // Finish erasures that were interrupted.
        self.traces().forget_words().await?;
        pruned.held_back += self.prune_traces(limits, now, is_steady).await?;
        self.traces().prune_to(limits.tenant_traces).await?;
        // If the clock jumped, facts are simply learned again.
        let today = now.wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let today = i64::try_from(today).unwrap_or(i64::MAX);
        self.prune_facts(today).await?;
        if is_steady {
            self.prune_ledgers(limits.budgets, today).await?;
        }
        Ok(pruned)
    }

    /// Deletes old traces. Returns the number held back, because they are many and the clock may have jumped.
    async fn prune_traces(
        &self,
        limits: &Limits,
        now: Moment,
        is_steady: bool,
    ) -> Result<u64, StoreError> {
        let Some(before) = limits.traces.and_then(|age| now.wall.checked_sub(age)) else {
            return Ok(0);
        };
        let before = before.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let (traces, before) = (self.traces(), u64::try_from(before).unwrap_or(u64::MAX));
        let old = traces.older_than(before).await?;
        // Without old traces, do not wait for the writer.
        if old == 0 {
            return Ok(0);
        }
        if !is_steady && old > traces.older_than(u64::MAX).await? / 5 {
            return Ok(old);
        }
        traces.prune_older_than(before).await.map(|_| 0)
    }

    async fn prune_one(
        &self,
        mut usage: Usage,
        limits: &Limits,
        before: i64,
    ) -> Result<u64, StoreError> {
        let most = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
        let (bytes, records) = (most(limits.bytes), most(limits.records));
        let is_within = |usage: &Usage| usage.bytes <= bytes && usage.records <= records;
        let mut removed = 0;
        while !usage.has_keys || usage.stale > 0 || !is_within(&usage) {
            let mut step: Vec<ThreadRow> = Vec::new();
            let mut in_step = 0;
            for thread in self.backend().oldest(usage.tenant, STEP.0).await? {
                let goes = !usage.has_keys || thread.used_at < before || !is_within(&usage);
                if !goes || in_step >= STEP.1 {
                    break;
                }
                in_step += thread.records;
                usage.bytes -= thread.bytes;
                usage.records -= thread.records;
                step.push(thread);
            }
            let taken =
                if step.is_empty() { 0 } else { self.backend().remove_threads(step).await? };
            if taken == 0 {
                // All remaining records are gone or in use.
                break;
            }
            removed += taken;
        }
        Ok(removed)
    }
}
