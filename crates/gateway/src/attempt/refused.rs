//! Marks records that a provider refused, once the request succeeds without them, so that they are never sent again.

use crate::attempt::sending::{Outcome, names_history};
use crate::observe::bus::Reporter;
use crate::store::vault::Vault;
use bytes::Bytes;
use std::sync::Arc;
use thinkthrough_client::ClientError;
use thinkthrough_core::exchange::{PutBack, RefusalCause};

/// Whether another model may do better: there was no answer, the upstream is in trouble, or it refuses the gateway's
/// own key. An error in the request itself would fail at every model.
pub(crate) fn is_no_answer(has_own_key: bool, outcome: &Result<Outcome, ClientError>) -> bool {
    match outcome {
        Ok(Outcome::Answer { .. }) => false,
        Ok(Outcome::Refused(refused)) => match refused.status.as_u16() {
            500.. if names_history(&refused.body) => false,
            408 | 429 | 500.. => true,
            401..=403 => has_own_key,
            _ => false,
        },
        Err(ClientError::Request(_) | ClientError::Config(_)) => false,
        Err(_) => true,
    }
}

/// A request that the gateway sent.
#[derive(Clone)]
pub(crate) struct Restored {
    /// The client's thoughts and the vault's.
    pub(crate) put_back: PutBack,
    pub(crate) body: Bytes,
    pub(crate) vault: Option<Arc<dyn Vault>>,
}

/// Marks records that a provider refused, now that the request succeeded without them. Runs in the background,
/// because a lost mark only leads to one more refusal.
pub(crate) fn mark(
    vault: Arc<dyn Vault>,
    cause: RefusalCause,
    records: Vec<String>,
    reporter: &Arc<Reporter>,
) {
    let reporter = Arc::clone(reporter);
    tokio::spawn(async move {
        if let Ok(marked) = vault.poison(records).await {
            reporter.poisoned(cause, marked);
        }
    });
}
