//! What a request reserves of a budget before it goes out, and what more it reserves while its answer comes.
//!
//! Two things may be missing. What is spent does not come back: the request is refused at once. What others have reserved
//! comes back when their answers are over: the request waits a little, and is told to ask again if that was not enough.

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

/// So long a request waits for all that it wants, before it takes less.
const SOON: Duration = Duration::from_secs(1);
/// How often it asks the ledger meanwhile, where other gateways hold something.
const AGAIN: Duration = Duration::from_millis(50);
/// How often it looks whether it waited long enough, where nobody else holds anything.
const LOOK: Duration = Duration::from_millis(200);
/// How long it waits in all for a store that is late, which is longer than one is silent that is there.
const LONGEST: Duration = Duration::from_secs(7);
/// How long nothing is asked after a question that got no answer.
const PAUSE: Duration = Duration::from_millis(200);
/// So long before others may take a slice, this gateway stops spending it.
const MARGIN: Duration = Duration::from_secs(10);

/// What a request demands of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The most that it may take, and what is of no use below.
    pub(crate) ask: Ask,
    /// What is reserved at first, if the budget has all that is wanted: the rest is reserved while the answer comes.
    pub(crate) first: u64,
    /// How long it waits for what others have reserved.
    pub(crate) patience: Duration,
    /// What it has reserved already.
    pub(crate) own: u64,
}

/// What a request reserved of one budget. One that is given up spent nothing.
pub(crate) struct Reservation {
    held: Option<Arc<Held>>,
    tokens: u64,
    /// So much of that was used when more was reserved last.
    came: u64,
    pub(crate) unit: Unit,
    /// The cap that holds for it, if that is less than it wanted.
    pub(crate) granted: Option<u64>,
    /// What the rules demand of it because the budget is spent.
    pub(crate) exceeded: Option<OnExceed>,
}

/// Why a request gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// What is not spent is less than the least that is of use.
    Spent { used: u64, max: u64, least: u64 },
    /// What is not spent is reserved by others at this moment.
    Reserved { used: u64, max: u64 },
    /// The store is away, and what is held of the budget is used up.
    Unknown,
    /// The store answers late.
    Unasked,
}

impl Demand {
    /// All of it at once, without waiting.
    pub(crate) fn of(ask: Ask) -> Self {
        Demand { ask, first: ask.wanted, patience: Duration::ZERO, own: 0 }
    }

    /// What is enough after so long a wait, while others hold or have reserved something.
    fn floor(&self, waited: Duration, has_others: bool) -> u64 {
        let least = self.ask.least.max(1);
        match waited < SOON.min(self.patience) {
            // Too little of it here may be what is missing elsewhere, and the other way round.
            true if has_others => self.ask.wanted,
            true => least.max(self.ask.wanted / 4),
            false => least,
        }
    }
}

impl BudgetLeases {
    /// Reserves tokens of a budget, as many as there are and are wanted.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        ledgers: &Arc<dyn Ledgers>,
        key: LedgerKey,
        (rules, about): (BudgetRules, About),
        demand: Demand,
    ) -> Result<Reservation, Denied> {
        let unit = about.unit;
        let held = self.visit(ledgers, key, rules, about);
        // From here on a caller that goes away, or is refused, is no visitor any more.
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
                // Nobody is told less for what others have reserved, unless the budget is a hard one.
                let left = if is_hard { tokens } else { held.left(max).max(tokens) };
                visit.granted = (is_less && left < wanted).then_some(left);
            }
            Err(denied) if is_hard => return Err(denied),
            Err(Denied::Spent { .. }) => visit.exceeded = Some(rules.on_exceed),
            // Nobody is stopped for what others have reserved, or for what nobody knows.
            Err(Denied::Reserved { .. } | Denied::Unasked | Denied::Unknown) => {}
        }
        Ok(visit)
    }

    /// Reserves more for an answer that goes on, or as much of it as there is.
    pub(crate) async fn grow(&self, held: &Held, demand: Demand) -> Result<u64, Denied> {
        let max = held.state().rules.max.get().unwrap_or(u64::MAX);
        self.take(held, max, demand).await.map(|(tokens, _)| tokens)
    }

    /// Takes tokens; gives how many, and whether that is less than was wanted because there are no more.
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
            // Others may wait before it, each for an answer that is late.
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
                // The ledger may not have heard yet of what was spent here last.
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
    /// Reserves what is taken at first, if that is here and the budget has all that is wanted.
    fn begin(&self, max: u64, demand: &Demand) -> Option<u64> {
        let Demand { ask, first, .. } = *demand;
        let first = first.clamp(ask.least.min(ask.wanted), ask.wanted);
        let has_all = first == ask.wanted || self.state().share.free(max) >= ask.wanted;
        let tokens = if has_all { self.reserve(first, first) } else { 0 };
        Some(tokens).filter(|tokens| *tokens > 0)
    }

    /// Reserves as many as there are, up to `wanted` and no fewer than `least`; gives how many.
    pub(crate) fn reserve(&self, wanted: u64, least: u64) -> u64 {
        let mut state = self.state();
        // What was not heard of for so long may be another one's already.
        let is_ours = state.heard.is_some_and(|heard| heard.elapsed() + MARGIN < LEASE);
        let tokens = state.share.idle().min(wanted);
        if is_ours && tokens >= least && state.share.reserve(tokens) { tokens } else { 0 }
    }

    /// What it is of.
    pub(crate) fn scope(&self) -> Scope {
        self.state().about.scope
    }

    /// Gives back what was reserved and is not needed.
    pub(crate) fn release(&self, tokens: u64) {
        self.state().share.settle(tokens, 0);
        self.settled.notify_waiters();
    }

    /// What is not spent of the budget, as far as it is known here.
    fn left(&self, max: u64) -> u64 {
        self.state().share.left(max)
    }

    /// Whether requests of this gateway have reserved more than so much.
    fn has_reserved_beside(&self, own: u64) -> bool {
        self.state().share.reserved() > own
    }

    /// Waits until requests of this gateway settled enough, or for as long as the demand waits at most. Only this gateway
    /// holds anything, so that its ledger need not be asked.
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
    /// What it may spend.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// What it is of.
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.held.as_ref().map(|held| held.scope())
    }

    /// Where more of it can be had.
    pub(crate) fn held(&self) -> Option<&Arc<Held>> {
        self.held.as_ref()
    }

    /// So much more was reserved for it, because it has used what it had.
    pub(crate) fn add(&mut self, tokens: u64) {
        let Some(held) = self.held.as_ref().filter(|_| tokens > 0) else { return };
        held.state().share.comes(self.tokens.saturating_sub(self.came));
        (self.came, self.tokens) = (self.tokens, self.tokens.saturating_add(tokens));
        held.note_soon();
    }

    /// The request is over and spent so much.
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
    /// Writes down what there is to write down, without waiting for whoever reports, who may be waiting for the store.
    fn note_soon(self: &Arc<Self>) {
        if let Ok(runtime) = Handle::try_current() {
            let held = Arc::clone(self);
            runtime.spawn(async move { held.note(false).await });
        }
    }

    /// The request with this reservation is over.
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
