//! What one request has taken, settled when its answer is over.

use super::came::Came;
use super::limits::{Charge, Limited, Limits, Whose};
use super::money::Bill;
use super::purse::{Purse, Reserved};
use crate::bus::Seen;
use crate::progress::Progress;
use crate::vault::Vaults;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::budget::{RateLimits, Unit};
use thinkthrough_core::usage::Usage;

/// The charges of one request: at its key, at the provider that was asked last, and to the key's budgets.
pub(crate) struct Tab {
    limits: Arc<Limits>,
    pub(super) purse: Arc<Purse>,
    pub(super) seen: Arc<Seen>,
    /// Where gateways share limits.
    vaults: Option<Arc<dyn Vaults>>,
    charges: Mutex<Charges>,
}

#[derive(Debug, Default)]
struct Charges {
    key: Option<Charge>,
    provider: Option<Charge>,
    budgets: Vec<Reserved>,
    /// What the request costs, where a budget is in money.
    bill: Option<Bill>,
    most: Most,
}

/// How many tokens may come, and then the answer is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) thought: Option<u64>,
    /// Of the whole answer.
    pub(crate) all: Option<u64>,
}

impl Tab {
    /// Nothing was taken yet.
    pub(crate) fn open(
        limits: &Arc<Limits>,
        purse: &Arc<Purse>,
        seen: &Arc<Seen>,
        vaults: Option<&Arc<dyn Vaults>>,
    ) -> Arc<Self> {
        let (limits, purse, seen) = (Arc::clone(limits), Arc::clone(purse), Arc::clone(seen));
        Arc::new(Tab { limits, purse, seen, vaults: vaults.cloned(), charges: Mutex::default() })
    }

    /// The request counts at its key.
    pub(super) async fn charge_key(
        &self,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<(), Limited> {
        let charge = self.admit("key", whose, limits, tokens).await?;
        self.change(|charges| charges.key.replace(charge));
        Ok(())
    }

    /// One more try counts at its provider; the one before it cost no tokens, for it gave no answer.
    pub(super) async fn charge_provider(
        &self,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<(), Limited> {
        drop(self.change(|charges| charges.provider.take()));
        let mut charge = self.admit("provider", whose, limits, tokens).await?;
        charge.open();
        self.change(|charges| charges.provider.replace(charge));
        Ok(())
    }

    /// The try is at its provider so much later at the latest.
    pub(super) fn arrives(&self, later: Duration) {
        self.change(|charges| {
            if let Some(charge) = &mut charges.provider {
                charge.stamp(later);
            }
        });
    }

    async fn admit(
        &self,
        by: &'static str,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<Charge, Limited> {
        let charge = self.limits.admit(whose, limits, tokens, self.vaults.as_ref()).await?;
        if charge.is_alone {
            self.seen.tell(&Progress::LetOutAlone { by });
        }
        Ok(charge)
    }

    /// The answer is over, with what it says that it cost, and what came of it.
    pub(crate) fn settle(&self, usage: Option<&Usage>, came: Came) {
        let tokens = usage.and_then(Usage::total);
        let Charges { key, provider, budgets, bill, .. } = self.change(std::mem::take);
        let thought = Usage::spent_on_reasoning(usage, || came.thought).tokens;
        for budget in budgets {
            let spent = match (budget.unit, &bill) {
                (Unit::Reasoning, _) => thought,
                (Unit::Money, Some(bill)) => bill.settled(usage, came),
                (Unit::Money, None) => 0,
            };
            budget.settle(spent);
        }
        key.into_iter().chain(provider).for_each(|charge| charge.settle(tokens));
    }

    /// What was reserved of budgets is given back.
    pub(super) fn put_back(&self) {
        drop(self.change(|charges| std::mem::take(&mut charges.budgets)));
    }

    /// This was reserved of budgets.
    pub(super) fn keep(&self, budgets: Vec<Reserved>, bill: Option<Bill>, most: Most) {
        self.change(|charges| {
            (charges.budgets, charges.bill, charges.most) = (budgets, bill, most);
        });
    }

    /// The tokens of a body that goes out, where a budget in dollars was asked for fewer.
    pub(crate) fn underpaid(&self, body: &str) -> Option<u64> {
        self.change(|charges| charges.bill)?.lacks(body)
    }

    /// How many tokens may come before the answer is cut.
    pub(crate) fn most(&self) -> Most {
        self.change(|charges| charges.most)
    }

    fn change<T>(&self, work: impl FnOnce(&mut Charges) -> T) -> T {
        work(&mut self.charges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Tab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tab").field("charges", &self.charges).finish_non_exhaustive()
    }
}
