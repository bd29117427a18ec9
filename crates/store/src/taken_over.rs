//! Traces that stood in a table of another program. Nobody masked them, so they are kept apart, and become traces of this
//! machine's user one step after the other, as somebody with a masker comes.

use crate::backend::Backend;
use crate::draft::TraceDraft;
use crate::error::StoreError;
use crate::old_trace::OldTrace;
use crate::row::TraceRow;
use crate::store::Store;
use crate::trace::{DraftText, TraceNumbers, TraceState};
use std::sync::Arc;
use thinkthrough_core::json::Raw;
use thinkthrough_core::mask::Masker;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::why::Why;

/// How many are masked in one step.
const STEP: u32 = 64;

impl Store {
    /// Masks the next traces that stood in a table of another program, and keeps them as traces of this machine's user;
    /// says whether there may be more. Once there are none, nothing of the table is left in a file or its log. Whoever
    /// is stopped in between, or shares the store with others, goes on where that was.
    ///
    /// # Errors
    /// When the store cannot be read or written, and [`StoreError::Unmasked`] while another process reads, so that the
    /// log of a file cannot be emptied: then all are masked.
    pub async fn mask_taken_over(&self, masker: &Masker) -> Result<bool, StoreError> {
        let old = self.backend().unmasked_traces(STEP).await?;
        if old.is_empty() {
            self.backend().end_taking_over().await?;
            return Ok(false);
        }
        let marks = old.iter().map(|old| old.mark.clone()).collect();
        let masker = masker.clone();
        let mask = move || old.into_iter().map(|old| Arc::new(old.masked(&masker))).collect();
        let masked = tokio::task::spawn_blocking(mask).await.map_err(|_| StoreError::Closed)?;
        // One that is there already stays, so that it does no harm to be stopped between the two.
        self.backend().add_traces(masked).await?;
        self.backend().forget_unmasked(marks).await?;
        Ok(true)
    }

    /// Takes out what was not masked yet, where this is its tenant.
    pub(crate) async fn erase_taken_over(&self, tenant: &Tenant) -> Result<(), StoreError> {
        if *tenant != Tenant::local() {
            return Ok(());
        }
        loop {
            let old = self.backend().unmasked_traces(STEP).await?;
            if old.is_empty() {
                return Ok(());
            }
            self.backend().forget_unmasked(old.into_iter().map(|old| old.mark).collect()).await?;
        }
    }
}

impl OldTrace {
    fn masked(self, masker: &Masker) -> TraceRow {
        let OldTrace { row: old, .. } = self;
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        let draft = TraceDraft {
            id: old.id,
            tenant: Tenant::local(),
            session: old.session,
            run: masker.mask_text(&old.run),
            model: old.model,
            provider: masker.mask_text(&old.provider),
            // However long it is: nothing of it is lost.
            thought: DraftText { text: old.thought, is_cut: false },
            answer: DraftText::default(),
            metadata: Raw::parse(&old.metadata)
                .unwrap_or_else(|_| Raw::build(|w| w.str(&old.metadata))),
            why: Why::default(),
            numbers: TraceNumbers {
                reasoning_tokens: number(old.reasoning_tokens),
                total_tokens: number(old.total_tokens),
                duration: number(old.duration),
                created_at: number(old.created_at),
                ..TraceNumbers::default()
            },
            state: TraceState::Whole,
        };
        TraceRow::from(draft.masked(masker))
    }
}

impl Backend {
    async fn unmasked_traces(&self, limit: u32) -> Result<Vec<OldTrace>, StoreError> {
        match self {
            Backend::Postgres(database) => Box::pin(database.unmasked_traces(limit)).await,
            Backend::Sqlite(database) => database.unmasked_traces(limit).await,
        }
    }

    async fn end_taking_over(&self) -> Result<(), StoreError> {
        match self {
            // The server overwrites what was there before when it gets to it.
            Backend::Postgres(_) => Ok(()),
            Backend::Sqlite(database) => database.end_taking_over().await,
        }
    }

    async fn forget_unmasked(&self, marks: Vec<String>) -> Result<(), StoreError> {
        match self {
            Backend::Postgres(database) => Box::pin(database.forget_unmasked(marks)).await,
            Backend::Sqlite(database) => database.forget_unmasked(marks).await,
        }
    }
}
