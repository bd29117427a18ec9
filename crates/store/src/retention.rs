//! How long the vault keeps what, and how much of it.
//!
//! Conversations stay or go as a whole: a thought that is missing in the middle of one is worth less than none.

use crate::clock::Moment;
use crate::error::StoreError;
use crate::row::{ThreadRow, Usage};
use crate::store::Store;
use crate::trace::TRACE_AGE;
use std::time::{Duration, UNIX_EPOCH};
use thinkthrough_core::plane::Tenant;

/// How long the vault keeps what, and how much of it, and how long traces stay. Conversations of the terminal client are not counted, and stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a conversation stays that is not used.
    pub age: Duration,
    /// How many bytes a tenant may have.
    pub bytes: u64,
    /// How many records a tenant may have.
    pub records: u64,
    /// How long traces stay; `None`: for ever.
    pub traces: Option<Duration>,
    /// How many traces a tenant may have; the oldest go first.
    pub tenant_traces: u64,
    /// How many budgets of sessions, tasks and times a tenant may have; the longest unused go first.
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

/// What pruning came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many conversations went.
    pub conversations: u64,
    /// How many records are old and stay for now, because they are many and the clock jumped, or has not been watched
    /// for an hour.
    pub held_back: u64,
}

/// What a tenant has in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Conversations of the terminal client.
    pub conversations: u64,
    /// Answers whose thoughts the vault keeps for clients of the gateway.
    pub records: u64,
}

/// How many conversations, and about how many records, are taken out in one step, so that writers do not wait long.
const STEP: (u32, i64) = (64, 500);

impl Store {
    /// What a tenant has; `None` where the store knows no such tenant.
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

    /// Takes out of the vault what was not used for too long, what tenants have too much of, the longest unused first,
    /// what is left of erased tenants, and facts that do not hold any more. A gateway calls this every minute or so.
    ///
    /// A clock that jumped does not empty the vault: more than a fifth goes for its age only after an hour in which
    /// both clocks of `now` went alike.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn prune(&self, limits: &Limits, now: Moment) -> Result<Pruned, StoreError> {
        // Of a gateway that was killed, and did not come back.
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
        // Where whoever erased them was stopped in between.
        self.traces().forget_words().await?;
        pruned.held_back += self.prune_traces(limits, now, is_steady).await?;
        self.traces().prune_to(limits.tenant_traces).await?;
        // Where the clock jumped they are learned anew.
        let today = now.wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let today = i64::try_from(today).unwrap_or(i64::MAX);
        self.prune_facts(today).await?;
        if is_steady {
            self.prune_ledgers(limits.budgets, today).await?;
        }
        Ok(pruned)
    }

    /// Takes out old traces; gives how many are held back, because they are many and the clock may have jumped.
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
        // Where there is nothing to do nobody is waited for who writes.
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
                // Nothing is left, or what is left is in use.
                break;
            }
            removed += taken;
        }
        Ok(removed)
    }
}
