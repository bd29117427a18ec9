//! What one request has taken, settled when its answer is over.

use super::limits::{Charge, Limited, Limits, Whose};
use crate::bus::Seen;
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_core::budget::RateLimits;
use thinkthrough_core::usage::Usage;

/// The charges of one request: at its key, and at the provider that was asked last.
#[derive(Debug)]
pub(crate) struct Tab {
    limits: Arc<Limits>,
    pub(super) seen: Arc<Seen>,
    charges: Mutex<Charges>,
}

#[derive(Debug, Default)]
struct Charges {
    key: Option<Charge>,
    provider: Option<Charge>,
}

impl Tab {
    /// Nothing was taken yet.
    pub(crate) fn open(limits: &Arc<Limits>, seen: &Arc<Seen>) -> Arc<Self> {
        let (limits, seen) = (Arc::clone(limits), Arc::clone(seen));
        Arc::new(Tab { limits, seen, charges: Mutex::default() })
    }

    /// The request counts at its key.
    pub(super) fn charge_key(
        &self,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<(), Limited> {
        let charge = self.limits.admit(whose, limits, tokens)?;
        self.change(|charges| charges.key.replace(charge));
        Ok(())
    }

    /// One more try counts at its provider; the one before it cost no tokens, for it gave no answer.
    pub(super) fn charge_provider(
        &self,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<(), Limited> {
        drop(self.change(|charges| charges.provider.take()));
        let charge = self.limits.admit(whose, limits, tokens)?;
        self.change(|charges| charges.provider.replace(charge));
        Ok(())
    }

    /// The answer is over, with what it says that it cost.
    pub(crate) fn settle(&self, usage: Option<&Usage>) {
        let tokens = usage.and_then(Usage::total);
        let Charges { key, provider } = self.change(std::mem::take);
        key.into_iter().chain(provider).for_each(|charge| charge.settle(tokens));
    }

    fn change<T>(&self, work: impl FnOnce(&mut Charges) -> T) -> T {
        work(&mut self.charges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
