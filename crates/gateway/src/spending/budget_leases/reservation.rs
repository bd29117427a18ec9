//! Reserves a part of a budget before a request goes out, and more while its answer comes.
//!
//! A budget can be short in two ways. Spent amounts do not come back, so that the request is refused at once. Amounts
//! reserved by other requests come back when their answers are over: the request waits a little, and if that was not
//! enough, its caller is asked to try again.

use super::{About, BudgetLeases, Held};
use crate::store::vault::{Ledgers, VaultError};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_limits::{Ask, BudgetRules, LEASE, OnExceed, Scope, Unit};
use thinkthrough_store::LedgerKey;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// The time that a request waits for its whole amount, before it takes less.
const SOON: Duration = Duration::from_secs(1);
/// The interval for asking the ledger meanwhile, if other gateways hold a part.
const AGAIN: Duration = Duration::from_millis(50);
/// The interval for checking whether the wait is over, if no other gateway holds a part.
const LOOK: Duration = Duration::from_millis(200);
/// The longest wait for a late store. A store that is up is never silent for so long.
const LONGEST: Duration = Duration::from_secs(7);
/// The pause after a question without an answer.
const PAUSE: Duration = Duration::from_millis(200);
/// This gateway stops spending a lease so long before others may take it.
const MARGIN: Duration = Duration::from_secs(10);

/// The demand of a request on a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The greatest amount, and the least useful one.
    pub(crate) ask: Ask,
    /// The first reservation, if the budget can cover the wanted amount. The rest is reserved while the answer comes.
    pub(crate) first: u64,
    /// The longest wait for the reservations of others.
    pub(crate) patience: Duration,
    /// The amount that the request has reserved already.
    pub(crate) own: u64,
}

/// The part of one budget that a request reserved. A dropped reservation counts as unspent.
pub(crate) struct Reservation {
    held: Option<Arc<Held>>,
    tokens: u64,
    /// The part that was used at the last increase.
    came: u64,
    pub(crate) unit: Unit,
    /// The cap that applies, if it is lower than the wanted amount.
    pub(crate) granted: Option<u64>,
    /// The action that the rules demand because the budget is spent.
    pub(crate) exceeded: Option<OnExceed>,
}

/// The reason why a request gets no part of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The unspent rest is less than the least useful amount.
    Spent { used: u64, max: u64, least: u64 },
    /// Other requests have reserved the unspent rest at this moment.
    Reserved { used: u64, max: u64 },
    /// The store is away, and this gateway's lease is used up.
    Unknown,
    /// The store answers late.
    Unasked,
}

impl Demand {
    /// Demands the whole amount at once, without waiting.
    pub(crate) fn of(ask: Ask) -> Self {
        Demand { ask, first: ask.wanted, patience: Duration::ZERO, own: 0 }
    }

    /// The amount that suffices after this wait, while others hold or have reserved a part.
    fn floor(&self, waited: Duration, has_others: bool) -> u64 {
        let least = self.ask.least.max(1);
        match waited < SOON.min(self.patience) {
            // Other gateways may hold the amounts that are missing here, and the other way round.
            true if has_others => self.ask.wanted,
            true => least.max(self.ask.wanted / 4),
            false => least,
        }
    }
}

impl BudgetLeases {
    /// Reserves tokens of a budget, up to the wanted amount.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        ledgers: &Arc<dyn Ledgers>,
        key: LedgerKey,
        (rules, about): (BudgetRules, About),
        demand: Demand,
    ) -> Result<Reservation, Denied> {
        let unit = about.unit;
        let held = self.visit(ledgers, key, rules, about);
        // From here on, dropping `visit` ends the visit of a caller that goes away or is refused.
        let mut visit = Reservation {
            held: Some(Arc::clone(&held)),
            tokens: 0,
            came: 0,
            unit,
            granted: None,
            exceeded: None,
        };
        let wanted = demand.ask.wanted;
        if wanted == 0 || rules.on_exceed == OnExceed::Warn {
            return Ok(visit);
        }
        let is_hard = rules.on_exceed == OnExceed::Block;
        let patience = if is_hard { demand.patience } else { Duration::ZERO };
        let max = rules.max.get().unwrap_or(u64::MAX);
        match self.take(&held, max, Demand { patience, ..demand }).await {
            Ok((tokens, is_less)) => {
                visit.tokens = tokens;
                // Reservations of others lower the cap only for a hard budget.
                let left = if is_hard { tokens } else { held.left(max).max(tokens) };
                visit.granted = (is_less && left < wanted).then_some(left);
            }
            Err(denied) if is_hard => return Err(denied),
            Err(Denied::Spent { .. }) => visit.exceeded = Some(rules.on_exceed),
            // Reservations of others and unknown amounts stop no request of a soft budget.
            Err(Denied::Reserved { .. } | Denied::Unasked | Denied::Unknown) => {}
        }
        Ok(visit)
    }

    /// Reserves more for an answer that goes on, up to the demanded amount.
    pub(crate) async fn grow(&self, held: &Held, demand: Demand) -> Result<u64, Denied> {
        let max = held.state().rules.max.get().unwrap_or(u64::MAX);
        self.take(held, max, demand).await.map(|(tokens, _)| tokens)
    }

    /// Takes tokens. Returns their number, and whether the budget had fewer than wanted.
    async fn take(&self, held: &Held, max: u64, demand: Demand) -> Result<(u64, bool), Denied> {
        let Ask { wanted, least } = demand.ask;
        let least = least.max(1);
        if let Some(tokens) = held.begin(max, &demand) {
            return Ok((tokens, false));
        }
        let began = Instant::now();
        loop {
            let mut settled = pin!(held.settled.notified());
            settled.as_mut().enable();
            let asking = timeout_at(began + LONGEST, self.ask(held, wanted));
            // Other requests may wait before it, each for a late answer.
            let late = || Err(VaultError("the ledger is late".to_owned()));
            let heard = asking.await.unwrap_or_else(|_| late());
            if let Some(tokens) = held.begin(max, &demand) {
                return Ok((tokens, false));
            }
            let waited = began.elapsed();
            let others = heard.as_ref().map_or(0, |given| given.others);
            let is_shared = others > 0 || held.has_reserved_beside(demand.own);
            let floor =
                if heard.is_ok() && is_shared { demand.floor(waited, others > 0) } else { least };
            let tokens = held.reserve(wanted, floor.min(wanted));
            if tokens > 0 {
                return Ok((tokens, tokens < wanted));
            }
            let Ok(given) = heard else {
                if self.is_away() {
                    return Err(Denied::Unknown);
                }
                if began.elapsed() + PAUSE >= LONGEST {
                    return Err(Denied::Unasked);
                }
                sleep(PAUSE).await;
                continue;
            };
            let left = held.left(max);
            if left.saturating_sub(demand.own) < least {
                // The ledger may not know yet what this gateway spent last.
                let used = given.used.max(max.saturating_sub(left));
                return Err(Denied::Spent { used, max, least });
            }
            if waited >= demand.patience {
                return Err(Denied::Reserved { used: given.used, max });
            }
            if others > 0 {
                self.give_back(held).await;
                drop(timeout(AGAIN, settled).await);
            } else {
                drop(timeout(LOOK, settled).await);
                held.wait(max, &demand, began).await;
            }
        }
    }
}

impl Held {
    /// Reserves the first amount, if it is here and the budget can cover the wanted amount.
    fn begin(&self, max: u64, demand: &Demand) -> Option<u64> {
        let Demand { ask, first, .. } = *demand;
        let first = first.clamp(ask.least.min(ask.wanted), ask.wanted);
        let has_all = first == ask.wanted || self.state().share.free(max) >= ask.wanted;
        let tokens = if has_all { self.reserve(first, first) } else { 0 };
        Some(tokens).filter(|tokens| *tokens > 0)
    }

    /// Reserves up to `wanted`, or 0 if fewer than `least` are here. Returns the reserved number.
    pub(crate) fn reserve(&self, wanted: u64, least: u64) -> u64 {
        let mut state = self.state();
        // Another gateway may have taken over a lease that was not confirmed for so long.
        let is_ours = state.heard.is_some_and(|heard| heard.elapsed() + MARGIN < LEASE);
        let tokens = state.share.idle().min(wanted);
        if is_ours && tokens >= least && state.share.reserve(tokens) { tokens } else { 0 }
    }

    /// The scope of the budget.
    pub(crate) fn scope(&self) -> Scope {
        self.state().about.scope
    }

    /// Gives back a part of the reservation.
    pub(crate) fn release(&self, tokens: u64) {
        self.state().share.settle(tokens, 0);
        self.settled.notify_waiters();
    }

    /// The unspent rest of the budget, as far as this gateway knows.
    fn left(&self, max: u64) -> u64 {
        self.state().share.left(max)
    }

    /// Whether requests of this gateway have reserved more than `own`.
    fn has_reserved_beside(&self, own: u64) -> bool {
        self.state().share.reserved() > own
    }

    /// Waits until requests of this gateway have settled enough, or until the patience of the demand is over. No
    /// other gateway holds a part, so that the ledger need not be asked.
    async fn wait(&self, max: u64, demand: &Demand, began: Instant) {
        loop {
            let mut settled = pin!(self.settled.notified());
            settled.as_mut().enable();
            let waited = began.elapsed();
            let (free, left) = {
                let state = self.state();
                (state.share.free(max), state.share.left(max))
            };
            let is_over = waited >= demand.patience
                || left.saturating_sub(demand.own) < demand.ask.least.max(1);
            if is_over || free >= demand.floor(waited, false) {
                return;
            }
            drop(timeout(LOOK, settled).await);
        }
    }
}

impl Reservation {
    /// The reserved tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The scope of the budget.
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.held.as_ref().map(|held| held.scope())
    }

    /// The budget, in which more can be reserved.
    pub(crate) fn held(&self) -> Option<&Arc<Held>> {
        self.held.as_ref()
    }

    /// Adds tokens to the reservation because the answer has used the earlier ones.
    pub(crate) fn add(&mut self, tokens: u64) {
        let Some(held) = self.held.as_ref().filter(|_| tokens > 0) else { return };
        held.state().share.comes(self.tokens.saturating_sub(self.came));
        (self.came, self.tokens) = (self.tokens, self.tokens.saturating_add(tokens));
        held.note_soon();
    }

    /// Settles the reservation with the spent amount at the end of the request.
    pub(crate) fn settle(mut self, spent: u64) {
        let Some(held) = self.held.take() else { return };
        held.leave(&self, spent);
        held.news.notify_one();
        if spent > 0 {
            held.note_soon();
        }
    }
}

impl Held {
    /// Notes unreported amounts in a task of its own, because the reporting task may be waiting for the store.
    fn note_soon(self: &Arc<Self>) {
        if let Ok(runtime) = Handle::try_current() {
            let held = Arc::clone(self);
            runtime.spawn(async move { held.note(false).await });
        }
    }

    /// Ends the visit of a request with this reservation.
    fn leave(&self, reservation: &Reservation, spent: u64) {
        let mut state = self.state();
        state.share.goes(reservation.came);
        state.share.settle(reservation.tokens, spent);
        state.visitors -= 1;
        drop(state);
        self.settled.notify_waiters();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.leave(self, 0);
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}
