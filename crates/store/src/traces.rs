//! The thoughts of models for people: an audit copy, masked before it arrives here.
//!
//! Each generation has one trace, including failed and cut ones. A trace never goes back to a model: restored
//! thoughts come from the sealed [vault](crate::Vault). So traces are not sealed and can be searched. Questions, calls
//! and results beside them are sealed (`sealed_items.rs`).

use crate::error::StoreError;
use crate::row::{SessionRow, SumRow, TraceRow};
use crate::seal::random;
use crate::spool::{LostTrace, TracePlace};
use crate::spooling::INDEXED;
use crate::store::Store;
use crate::trace::{
    NewTrace, Trace, TraceFilter, TraceHits, TraceNumbers, TraceSession, TraceState, TraceSum,
    TraceText,
};
use crate::trace_items::TraceItems;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thinkthrough_core::plane::{Masked, Tenant};
use tokio::time::{sleep, timeout};

/// Rows per deletion step: at first, at least and at most.
const STEPS: [u32; 3] = [64, 8, 512];
/// The target time of a step, so that writers do not wait for long. Slower steps become smaller, faster ones larger.
const STEP_TAKES: Duration = Duration::from_millis(10);
/// How long a query of sessions waits for the newest traces to be summed up.
const SUMMING: Duration = Duration::from_secs(2);
/// How long a search waits for the index of the newest traces.
const INDEXING: Duration = Duration::from_millis(500);
/// The shortest pause between two steps.
const PAUSE: Duration = Duration::from_millis(2);

/// The traces of a store.
#[derive(Clone, Debug)]
pub struct Traces {
    store: Store,
}

impl Store {
    /// Access to the traces of the store.
    #[must_use]
    pub fn traces(&self) -> Traces {
        Traces { store: self.clone() }
    }

    /// The key of the tags in mask placeholders. All gateways of a store share it, so that a secret has the same tag
    /// everywhere, and outsiders cannot guess secrets by their tags.
    #[must_use]
    pub fn mask_key(&self) -> [u8; 32] {
        blake3::derive_key(
            "thinkthrough 2026-11 marks of masked secrets",
            self.install_key().bytes(),
        )
    }
}

impl Traces {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Stores traces in one commit. Ids that are already stored keep their trace.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn add(&self, traces: Vec<NewTrace>) -> Result<(), StoreError> {
        let (rows, _) = self.store.trace_rows(traces).await;
        let rows = rows.into_iter().map(Arc::new).collect();
        self.store.backend().add_traces(rows).await
    }

    /// Queues traces without waiting for a commit. When this returns they are in a journal, if the store has a
    /// writable one. Some milliseconds later they are in the database, where a search finds them; until then
    /// [`Traces::place`] finds them. Traces without room in the queue are dropped, and `lost` is called for them at
    /// once. It is also called for traces that the database rejects later. Returns the number of traces that lost their
    /// items, because the keys of their tenant could not be read in time.
    pub async fn hand_over(&self, traces: Vec<NewTrace>, lost: &LostTrace) -> u64 {
        let (rows, without_items) = self.store.trace_rows(traces).await;
        let refused = self.store.hand_over_traces(rows, Some(lost)).await;
        refused.iter().for_each(|row| lost(&row.tenant, &row.id));
        without_items
    }

    /// The place and the tenant of a queued trace that is not in the database yet.
    #[must_use]
    pub fn place(&self, id: &str) -> Option<(TracePlace, String)> {
        self.store.spool().place(id)
    }

    /// Number of queued traces.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.store.spool().len()
    }

    /// Creates a new unique id.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new_id(&self) -> Result<String, StoreError> {
        let bytes = random().map_err(|_| self.store.no_random())?;
        Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Reads the trace with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn get(&self, id: &str) -> Result<Option<Trace>, StoreError> {
        let mut found = self.store.backend().trace(id.to_owned()).await?.map(Trace::from);
        self.read_items(found.as_mut_slice()).await?;
        Ok(found)
    }

    /// Lists the matching traces, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, filter: TraceFilter) -> Result<Vec<Trace>, StoreError> {
        let rows = self.store.backend().traces(filter).await?;
        Ok(rows.into_iter().map(Trace::from).collect())
    }

    /// Finds matching traces with all these words, newest first. Indexes the next traces before that.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn search(
        &self,
        words: &str,
        within: TraceText,
        filter: TraceFilter,
    ) -> Result<TraceHits, StoreError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let backend = self.store.backend();
        if backend.traces_unindexed().await?.is_some() {
            // A person expects to find the newest trace. If indexing fails, the result names the gap.
            drop(timeout(INDEXING, self.index()).await);
        }
        let indexed_to = backend.traces_unindexed().await?;
        let rows = backend.search_traces(words, within, filter).await?;
        let traces = rows.into_iter().map(Trace::from).collect();
        Ok(TraceHits { traces, indexed_to: indexed_to.map(count) })
    }

    /// Sums the matching traces by time, model, provider and tenant, in buckets of `bucket` milliseconds, newest
    /// bucket first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn sums(
        &self,
        filter: TraceFilter,
        bucket: u64,
    ) -> Result<Vec<TraceSum>, StoreError> {
        let rows = self.store.backend().trace_sums(filter, millis(bucket.max(1))).await?;
        Ok(rows.into_iter().map(TraceSum::from).collect())
    }

    /// Lists the sessions of matching traces, with the newest trace first. To go on, `after` names the newest trace
    /// of the last session returned.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn sessions(&self, filter: TraceFilter) -> Result<Vec<TraceSession>, StoreError> {
        // Sums are made with the index of words. If traces arrive faster than that, the newest ones are missing.
        let began = Instant::now();
        while self.store.backend().traces_unindexed().await?.is_some()
            && self.index().await? > 0
            && began.elapsed() < SUMMING
        {}
        let rows = self.store.backend().trace_sessions(filter.clone()).await?;
        let first = |row: &SessionRow| row.texts.last().cloned().unwrap_or_default();
        let firsts = rows.iter().map(first).collect();
        let mut found = self.titles_of(filter.tenant, firsts).await?;
        let sessions = rows.into_iter().map(|row| {
            let (title, client) = found.remove(&first(&row)).unwrap_or_default();
            TraceSession { title, client, ..TraceSession::from(row) }
        });
        Ok(sessions.collect())
    }

    /// Erases everything of a tenant, as [`Store::erase`] does.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn erase_tenant(&self, tenant: &Tenant) -> Result<Option<u64>, StoreError> {
        self.store.erase(tenant).await
    }

    /// Indexes the next traces for search. Returns their number; call it again until it returns 0.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn index(&self) -> Result<u64, StoreError> {
        self.store.backend().index_traces(INDEXED).await
    }

    /// Deletes traces older than this time (Unix milliseconds) in small steps. Returns their number.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn prune_older_than(&self, before: u64) -> Result<u64, StoreError> {
        let before = millis(before);
        self.in_steps(u64::MAX, |limit| self.store.backend().prune_traces(before, limit)).await
    }

    /// Deletes the oldest traces of each tenant with more than `most`, in small steps. Returns their number.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn prune_to(&self, most: u64) -> Result<u64, StoreError> {
        let most = millis(most);
        let mut gone = 0;
        for (tenant, has) in self.store.backend().tenants_with_many_traces(most).await? {
            let step = |limit| self.store.backend().prune_traces_of(tenant.clone(), limit);
            gone += self.in_steps(count(has - most), step).await?;
        }
        Ok(gone)
    }

    /// Calls `take` in steps until it deletes no more rows, or `most` in all.
    async fn in_steps<S>(&self, most: u64, take: impl Fn(u32) -> S) -> Result<u64, StoreError>
    where
        S: Future<Output = Result<u64, StoreError>>,
    {
        let mut gone = 0;
        let [mut limit, least, largest] = STEPS;
        loop {
            let began = Instant::now();
            let left = u32::try_from(most - gone).unwrap_or(u32::MAX);
            let step = if left == 0 { 0 } else { take(limit.min(left)).await? };
            let took = began.elapsed();
            gone += step;
            if step == 0 {
                self.give_back_words().await?;
                return Ok(gone);
            }
            limit = if took > STEP_TAKES { limit / 2 } else { limit + limit / 4 };
            limit = limit.clamp(least, largest);
            // Leaves half of the time to writers and to the checkpoint of a file.
            sleep(took.max(PAUSE)).await;
        }
    }

    /// Deletes the words of erased traces from a file in steps. The index keeps them until it is merged.
    pub(crate) async fn forget_words(&self) -> Result<(), StoreError> {
        loop {
            let began = Instant::now();
            if !self.store.backend().forget_words().await? {
                return Ok(());
            }
            sleep(began.elapsed().max(PAUSE)).await;
        }
    }

    /// Frees the space of word indexes that lost all their traces, in steps as well.
    async fn give_back_words(&self) -> Result<(), StoreError> {
        loop {
            let began = Instant::now();
            if !self.store.backend().give_back_words().await? {
                return Ok(());
            }
            sleep(began.elapsed().max(PAUSE)).await;
        }
    }

    /// Number of traces older than this time, in Unix milliseconds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn older_than(&self, before: u64) -> Result<u64, StoreError> {
        self.store.backend().older_traces(millis(before)).await
    }
}

impl From<NewTrace> for TraceRow {
    fn from(new: NewTrace) -> Self {
        let NewTrace {
            id,
            tenant,
            session,
            run,
            model,
            provider,
            thought,
            answer,
            metadata,
            why,
            ..
        } = new;
        let numbers = new.numbers.bounded();
        TraceRow {
            id,
            tenant: tenant.as_str().to_owned(),
            session,
            run,
            model,
            provider,
            thought: without_nul(&thought),
            answer: without_nul(&answer),
            metadata: without_nul(&metadata),
            why: without_nul(&why),
            state: new.state.as_str().to_owned(),
            created_at: millis(numbers.created_at),
            reasoning_tokens: millis(numbers.reasoning_tokens),
            total_tokens: millis(numbers.total_tokens),
            duration: millis(numbers.duration),
            sealed_bytes: millis(numbers.sealed_bytes),
            input_tokens: numbers.input_tokens.map(millis),
            output_tokens: numbers.output_tokens.map(millis),
            cached_tokens: numbers.cached_tokens.map(millis),
            cost: numbers.cost.map(millis),
            items: None,
        }
    }
}

impl From<TraceRow> for Trace {
    fn from(row: TraceRow) -> Self {
        Trace {
            id: row.id,
            tenant: row.tenant,
            session: row.session,
            run: row.run,
            model: row.model,
            provider: row.provider,
            thought: row.thought,
            answer: row.answer,
            metadata: row.metadata,
            why: row.why,
            items: TraceItems::default(),
            numbers: TraceNumbers {
                reasoning_tokens: count(row.reasoning_tokens),
                total_tokens: count(row.total_tokens),
                input_tokens: row.input_tokens.map(count),
                output_tokens: row.output_tokens.map(count),
                cached_tokens: row.cached_tokens.map(count),
                cost: row.cost.map(count),
                duration: count(row.duration),
                sealed_bytes: count(row.sealed_bytes),
                created_at: count(row.created_at),
            },
            state: TraceState::read(&row.state),
        }
    }
}

impl From<SumRow> for TraceSum {
    fn from(row: SumRow) -> Self {
        let [at, requests, failed, reasoning, total, input, cached, duration, outcomes @ ..] =
            row.numbers.map(count);
        let [restored, missed, ambiguous, dropped, cost, costed, cached_restored] = outcomes;
        let [model, provider, tenant, client] = row.names;
        TraceSum {
            at,
            model,
            provider,
            tenant,
            client,
            requests,
            failed,
            reasoning_tokens: reasoning,
            total_tokens: total,
            input_tokens: input,
            cached_tokens: cached,
            duration,
            restored,
            missed,
            ambiguous,
            dropped,
            cost,
            costed,
            cached_restored,
        }
    }
}

impl From<SessionRow> for TraceSession {
    fn from(row: SessionRow) -> Self {
        let [session, tenant, last_id, models, _first] = row.texts;
        let [last, first, requests, reasoning_tokens, total_tokens, duration] =
            row.numbers.map(count);
        let models = models.split(',').map(str::to_owned).collect();
        TraceSession {
            session,
            tenant,
            last_id,
            last,
            first,
            models,
            requests,
            reasoning_tokens,
            total_tokens,
            duration,
            title: None,
            client: None,
        }
    }
}

/// Replaces zero characters, which PostgreSQL's text type does not allow.
fn without_nul(text: &Masked<String>) -> String {
    text.get().replace('\0', "\u{fffd}")
}

fn millis(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
