//! Records that a provider refused: once the request without them was taken, nobody is sent them again.

use crate::bus::Seen;
use crate::sending::{Outcome, Refused, names_history};
use crate::vault::Vault;
use bytes::Bytes;
use std::sync::Arc;
use thinkthrough_client::ClientError;
use thinkthrough_core::exchange::{Named, PutBack, RefusalCause, Repair};
use thinkthrough_core::provider::Target;

/// Whether another model may do better: nothing came, the upstream is in trouble, or it does not take the gateway's own
/// key. What is wrong with the request itself is wrong everywhere.
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

/// Whether a changed request may succeed: the provider refused its content.
pub(crate) fn may_be_repaired(refused: &Refused) -> bool {
    match refused.status.as_u16() {
        400 | 404 | 409 | 413 | 422 => true,
        500.. => names_history(&refused.body),
        _ => false,
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

/// Records that a refusal is about, until it is known whether the request goes through without them.
#[derive(Clone)]
pub(crate) struct AtFault {
    cause: RefusalCause,
    records: Vec<String>,
    vault: Arc<dyn Vault>,
}

impl Restored {
    /// The repair that a refusal asks for.
    pub(crate) fn repair(&self, refusal: &str, target: &Target) -> Option<Repair> {
        self.put_back.repair(refusal, &self.body, target)
    }

    /// The thoughts that the refusal names, and their records.
    pub(crate) fn named(&self, refusal: &str) -> (Named, Vec<String>) {
        (Named::of(refusal, &self.body), self.put_back.at_fault(refusal, &self.body))
    }

    /// The records that this refusal is about, if it says so.
    pub(crate) fn at_fault(&self, refusal: &str) -> Option<AtFault> {
        let cause = RefusalCause::of(refusal)?;
        let records = self.put_back.at_fault(refusal, &self.body);
        let vault = self.vault.clone()?;
        (!records.is_empty()).then_some(AtFault { cause, records, vault })
    }
}

impl AtFault {
    /// The request went through without them. Nobody waits until that is written down: at worst they are refused once
    /// more.
    pub(crate) fn mark(self, seen: &Arc<Seen>) {
        let seen = Arc::clone(seen);
        tokio::spawn(async move {
            if let Ok(marked) = self.vault.poison(self.records).await {
                seen.poisoned(self.cause, marked);
            }
        });
    }
}
