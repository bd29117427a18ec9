//! The charges of one request, settled when its answer is over.

use super::allow::Room;
use super::budget_leases::{BudgetLeases, Demand, Denied, Held, Reservation};
use super::came::Came;
use super::limits::{Charge, Limited, Limits, Whose};
use super::money::Bill;
use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use crate::store::vault::Vaults;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::settled::Settled;
use thinkthrough_core::tokens::TokenSource;
use thinkthrough_limits::{Ask, RateLimits, Scope, Unit};

/// The charges of one request: at its key, at the provider that was asked last, and to the key's budgets.
pub(crate) struct RequestCharges {
    limits: Arc<Limits>,
    pub(super) budget_leases: Arc<BudgetLeases>,
    pub(super) reporter: Arc<Reporter>,
    /// The store in which gateways share limits.
    vaults: Option<Arc<dyn Vaults>>,
    charges: Mutex<Charges>,
}

#[derive(Debug, Default)]
struct Charges {
    key: Option<Charge>,
    provider: Option<Charge>,
    paid: Paid,
    /// A try may be billed although no part of its answer came.
    is_lost: bool,
}

/// The reservations of one request in its key's budgets.
#[derive(Debug, Default)]
pub(super) struct Paid {
    pub(super) budgets: Vec<Reservation>,
    /// The price of the request, if a budget is in money.
    pub(super) bill: Option<Bill>,
    /// The answer is cut if no more can be reserved.
    pub(super) is_cut: bool,
}

/// The tokens that may come before more must be reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) thought: Option<u64>,
    /// For the whole answer.
    pub(crate) all: Option<u64>,
}

impl RequestCharges {
    /// Begins without charges.
    pub(crate) fn open(
        limits: &Arc<Limits>,
        budget_leases: &Arc<BudgetLeases>,
        reporter: &Arc<Reporter>,
        vaults: Option<&Arc<dyn Vaults>>,
    ) -> Arc<Self> {
        let (limits, budget_leases, reporter) =
            (Arc::clone(limits), Arc::clone(budget_leases), Arc::clone(reporter));
        Arc::new(RequestCharges {
            limits,
            budget_leases,
            reporter,
            vaults: vaults.cloned(),
            charges: Mutex::default(),
        })
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

    /// One more try counts at its provider. The try before it cost no tokens, because it gave no answer.
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

    /// Sets the latest time at which the try reaches its provider.
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
            self.reporter.tell(&Progress::LetOutAlone { by });
        }
        Ok(charge)
    }

    /// Settles all charges at the end of the answer, with its reported counts and the gateway's own estimate.
    pub(crate) fn settle(&self, settled: &Settled, came: Came) {
        let Charges { key, provider, paid, .. } = self.change(std::mem::take);
        let Paid { budgets, bill, .. } = paid;
        for budget in budgets {
            let spent = match (budget.unit, &bill) {
                (Unit::Reasoning, _) => settled.reasoning.tokens,
                (Unit::Money, Some(bill)) => {
                    let least = if settled.usage.is_priced_apart { budget.tokens() } else { 0 };
                    bill.settled(&settled.usage, came).max(least)
                }
                (Unit::Money, None) => 0,
            };
            budget.settle(spent);
        }
        // If the provider reports no count, the reservation stays taken.
        let total = Some(settled.total).filter(|total| total.source == TokenSource::Reported);
        let tokens = total.map(|total| total.tokens);
        key.into_iter().chain(provider).for_each(|charge| charge.settle(tokens));
    }

    /// The upstream was lost, and may bill the try all the same.
    pub(crate) fn lose(&self) {
        self.change(|charges| charges.is_lost = true);
    }

    /// Whether a try was lost in that way.
    pub(crate) fn has_lost(&self) -> bool {
        self.change(|charges| charges.is_lost)
    }

    /// Books the whole reservation of an answer whose count will never come.
    pub(crate) fn forfeit(&self) {
        let Charges { key, provider, paid, .. } = self.change(std::mem::take);
        for budget in paid.budgets {
            let tokens = budget.tokens();
            budget.settle(tokens);
        }
        key.into_iter().chain(provider).for_each(|charge| charge.settle(None));
    }

    /// Gives back the reservations in budgets.
    pub(super) fn put_back(&self) {
        drop(self.change(|charges| std::mem::take(&mut charges.paid)));
    }

    /// Takes over reservations in budgets.
    pub(super) fn keep(&self, paid: Paid) {
        self.change(|charges| charges.paid = paid);
    }

    /// The tokens that may come before more must be reserved.
    pub(crate) fn most(&self) -> Most {
        self.change(|charges| charges.paid.most())
    }

    /// Reserves more for an answer of this size from this gateway's leases. Returns whether that suffices.
    pub(super) fn grow_here(&self, to: Room) -> bool {
        self.change(|Charges { paid, .. }| {
            let lacks = paid.lacks(to);
            paid.budgets.iter_mut().zip(lacks).fold(true, |is_all, (budget, lacks)| {
                let tokens = budget.held().map_or(0, |held| held.reserve(lacks, lacks));
                budget.add(tokens);
                is_all && tokens == lacks
            })
        })
    }

    /// Reserves more for an answer of this size from the ledgers. Fails if one of them has no more.
    pub(super) async fn grow(
        self: Arc<Self>,
        to: Room,
        patience: Duration,
    ) -> Result<(), (Denied, Scope)> {
        let lacking: Vec<(Arc<Held>, Demand)> = self.change(|Charges { paid, .. }| {
            let all = paid.budgets.iter().zip(paid.lacks(to));
            let all = all.filter(|(_, lacks)| *lacks > 0);
            let demand = |own: u64, lacks: u64| {
                let ask = Ask::up_to(lacks);
                Demand { patience, own, ..Demand::of(ask) }
            };
            let all = all.filter_map(|(budget, lacks)| {
                Some((Arc::clone(budget.held()?), demand(budget.tokens(), lacks)))
            });
            all.collect()
        });
        for (held, demand) in lacking {
            let grown = self.budget_leases.grow(&held, demand).await;
            let tokens = grown.map_err(|denied| (denied, held.scope()))?;
            let is_kept = self.change(|Charges { paid, .. }| {
                let is_it =
                    |it: &&mut Reservation| it.held().is_some_and(|it| Arc::ptr_eq(it, &held));
                let budget = paid.budgets.iter_mut().find(is_it);
                budget.map(|budget| budget.add(tokens)).is_some()
            });
            // The answer was over before that.
            if !is_kept {
                held.release(tokens);
            }
        }
        Ok(())
    }

    fn change<T>(&self, work: impl FnOnce(&mut Charges) -> T) -> T {
        work(&mut self.charges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Paid {
    fn most(&self) -> Most {
        let of = |unit| {
            let all = self.budgets.iter().filter(move |one| one.unit == unit && self.is_cut);
            all.map(Reservation::tokens).min()
        };
        let paid_for = |micro| Some(self.bill?.answer_for(micro));
        Most { thought: of(Unit::Reasoning), all: of(Unit::Money).and_then(paid_for) }
    }

    /// The missing amount of each budget for an answer of this size.
    fn lacks(&self, to: Room) -> Vec<u64> {
        let lacks = |one: &Reservation| {
            let wanted = match (one.unit, &self.bill) {
                (Unit::Reasoning, _) => to.thought,
                (Unit::Money, Some(bill)) => bill.ask(to.all, 0).wanted,
                (Unit::Money, None) => 0,
            };
            wanted.saturating_sub(one.tokens())
        };
        self.budgets.iter().map(lacks).collect()
    }
}

impl fmt::Debug for RequestCharges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestCharges").field("charges", &self.charges).finish_non_exhaustive()
    }
}
