//! The budgets of keys: the lease that this gateway holds of each, and its requests to the ledger.
//!
//! A request reserves in this gateway's lease of a budget, without a way to the store. If the lease is too small, the
//! request asks the ledger, and other gateways give back their unused parts. Spent amounts are reported in the
//! background, many at a time.

mod reservation;

pub(crate) use reservation::{Demand, Denied, Reservation};

use super::silence::{AWAY, Silence};
use crate::names::random_id;
use crate::observe::bus::Bus;
use crate::observe::progress::BudgetReached;
use crate::observe::summary::now;
use crate::store::vault::{Later, Ledgers, VaultError, Vaults};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{BudgetRules, Given, KEPT, Ledger, Report, Scope, Share, Unheard, Unit};
use thinkthrough_store::LedgerKey;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// The interval for reporting spent amounts and giving back idle ones.
const REPORT: Duration = Duration::from_millis(300);
/// The interval for renewing a lease that is only reserved.
const ALIVE: Duration = Duration::from_secs(15);

/// All budgets of which this gateway holds a part.
pub(crate) struct BudgetLeases {
    held: Mutex<HashMap<LedgerKey, Arc<Held>>>,
    /// The ledgers of a gateway that has no store.
    own: Arc<Own>,
    /// Tells by the answers of the store whether it is away.
    silence: Mutex<Silence>,
    bus: Arc<Bus>,
}

/// One budget.
pub(crate) struct Held {
    key: LedgerKey,
    /// The holder's name in the ledger. Reports are numbered from one, so that a new start needs a new name.
    /// Otherwise the ledger would take its first reports for repetitions.
    holder: String,
    state: Mutex<State>,
    ledgers: Arc<dyn Ledgers>,
    /// The amount that is noted in case this process ends before the ledger knows it.
    noted: tokio::sync::Mutex<Option<Unheard>>,
    /// Allows one request to the ledger at a time.
    asking: tokio::sync::Mutex<()>,
    /// A call was settled, so that a report is due.
    news: Notify,
    /// Wakes the requests that wait for the reservations of others.
    settled: Notify,
}

struct State {
    share: Share,
    rules: BudgetRules,
    about: About,
    /// The time of the ledger's last answer.
    heard: Option<Instant>,
    /// The ledger did not answer the last request.
    is_silent: bool,
    /// Other gateways need the idle part of this lease.
    is_wanted: bool,
    /// The time of the last estimate of the amount that is needed soon.
    beat: Instant,
    /// The number of requests that hold or want a part of it.
    visitors: usize,
}

/// Names the budget for listeners that learn that it is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) tenant: Tenant,
    pub(crate) scope: Scope,
    pub(crate) unit: Unit,
    pub(crate) session: String,
    pub(crate) run: String,
}

impl BudgetLeases {
    pub(crate) fn new(bus: &Arc<Bus>) -> Self {
        let (held, own, silence) = (Mutex::default(), Arc::default(), Mutex::default());
        BudgetLeases { held, own, silence, bus: Arc::clone(bus) }
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store is away, not only late.
    fn is_away(&self) -> bool {
        self.silence().is_away()
    }

    /// The ledgers that store the budgets.
    pub(crate) fn ledgers(&self, vaults: Option<&Arc<dyn Vaults>>) -> Arc<dyn Ledgers> {
        let kept = vaults.and_then(|vaults| vaults.ledgers());
        kept.unwrap_or_else(|| Arc::clone(&self.own) as Arc<dyn Ledgers>)
    }

    /// Finds or opens the budget. A new one starts a task that reports its changes.
    fn visit(
        self: &Arc<Self>,
        ledgers: &Arc<dyn Ledgers>,
        key: LedgerKey,
        rules: BudgetRules,
        about: About,
    ) -> Arc<Held> {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = all.get(&key) {
            let mut state = held.state();
            state.visitors += 1;
            (state.rules, state.about) = (rules, about);
            drop(state);
            return Arc::clone(held);
        }
        let state = State {
            share: Share::default(),
            rules,
            about,
            heard: None,
            is_silent: false,
            is_wanted: false,
            beat: Instant::now(),
            visitors: 1,
        };
        let held = Arc::new(Held {
            key: key.clone(),
            holder: random_id(),
            state: Mutex::new(state),
            ledgers: Arc::clone(ledgers),
            noted: tokio::sync::Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            news: Notify::new(),
            settled: Notify::new(),
        });
        all.insert(key, Arc::clone(&held));
        let (budget_leases, reporting) = (Arc::clone(self), Arc::clone(&held));
        tokio::spawn(budget_leases.report(reporting));
        held
    }

    /// Reports spent amounts and gives back idle ones, until this gateway holds no part of the budget.
    async fn report(self: Arc<Self>, held: Arc<Held>) {
        loop {
            drop(timeout(REPORT, held.news.notified()).await);
            let (is_over, is_due) = {
                // Locks the list first, in the same order as `visit`.
                let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                let state = held.state();
                let is_over = state.visitors == 0 && state.share.is_empty();
                if is_over {
                    all.remove(&held.key);
                }
                let is_old = !state.share.is_empty()
                    && state.heard.is_none_or(|heard| heard.elapsed() >= ALIVE);
                (is_over, state.share.has_news() || state.share.idle() > 0 || is_old)
            };
            if is_over {
                return held.forget().await;
            }
            if !is_due {
                continue;
            }
            match self.ask(&held, 0).await {
                Ok(given) if given.is_wanted => self.give_back(&held).await,
                Ok(_) => {}
                Err(_) => tokio::time::sleep(REPORT).await,
            }
        }
    }

    /// Gives back all idle amounts because another gateway needs them.
    async fn give_back(&self, held: &Held) {
        let is_idle = {
            let mut state = held.state();
            state.is_wanted = true;
            state.share.idle() > 0
        };
        if is_idle {
            // If this fails, the next report repeats it.
            drop(self.ask(held, 0).await);
        }
    }

    /// Reports the spent amount to the ledger and asks for `wanted` in all. Keeps the amount that is likely to be
    /// needed soon.
    async fn ask(&self, held: &Held, wanted: u64) -> Result<Given, VaultError> {
        let _one = held.asking.lock().await;
        if wanted > 0 && self.is_away() {
            // The reporting task finds out when the store is back.
            return Err(VaultError("the store is away".to_owned()));
        }
        let since = Instant::now();
        let (report, rules) = {
            let mut state = held.state();
            if since.duration_since(state.beat) >= REPORT {
                state.share.beat();
                state.beat = since;
            }
            let (is_silent, is_wanted) = (state.is_silent, state.is_wanted);
            let (rules, share) = (state.rules, &mut state.share);
            // A busy budget gets some more, so that the next requests need not ask.
            let most = if is_wanted { 0 } else { rules.max.get().unwrap_or(u64::MAX) / 8 };
            let soon = share.taken().min(most);
            let idle = share.idle();
            let (wants, spare) = match wanted {
                // The ledger would not learn of amounts given back, and gives out no others.
                0 if is_silent => (0, idle),
                0 => (0, soon),
                _ => (wanted.saturating_sub(idle).saturating_add(soon), idle),
            };
            (share.begin(wants, spare), rules)
        };
        if report.keeps > 0 || report.wants > 0 {
            held.note(true).await;
        }
        let asked = held.ledgers.report(&held.key, &rules, &held.holder, report, now());
        let given = timeout(AWAY, asked)
            .await
            .unwrap_or_else(|_| Err(VaultError("the ledger does not answer".to_owned())));
        match &given {
            Ok(_) => self.silence().answered(Instant::now()),
            Err(_) => self.silence().unanswered(since, Instant::now()),
        }
        let (given, about) = {
            let mut state = held.state();
            state.is_silent = given.is_err();
            let given = given?;
            state.share.heard(report, &given);
            (state.heard, state.is_wanted) = (Some(since), given.is_wanted);
            (given, state.about.clone())
        };
        held.note(false).await;
        for event in &given.events {
            let About { tenant, scope, unit, session, run } = &about;
            let (unit, scope) = (*unit, scope.as_str());
            self.bus.budget(&BudgetReached { tenant, scope, unit, session, run, event });
        }
        Ok(given)
    }

    /// Gives back all leases, and reports the spent amounts.
    pub(crate) async fn close(&self) {
        let all: Vec<Arc<Held>> = {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.values().cloned().collect()
        };
        for held in all {
            // Otherwise the report keeps the amount that its own requests are likely to need soon.
            held.state().is_wanted = true;
            // Twice: the first call may only deliver the answer to an earlier report.
            for _ in 0..2 {
                drop(self.ask(&held, 0).await);
                held.state().is_wanted = true;
            }
            let is_over = held.state().share.is_empty();
            if is_over {
                held.forget().await;
            }
        }
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the amount that the ledger may not know, in case this process ends before the ledger does. With
    /// `is_holder` it also notes that this gateway holds a lease from now on.
    async fn note(&self, is_holder: bool) {
        let mut noted = self.noted.lock().await;
        let unheard = self.state().share.unheard();
        let is_news = match *noted {
            None => is_holder || !unheard.is_nothing(),
            Some(before) if before.is_nothing() => !unheard.is_nothing(),
            Some(before) => before != unheard,
        };
        if is_news {
            self.ledgers.note(&self.key, &self.holder, unheard).await;
            *noted = Some(unheard);
        }
    }

    /// Removes the note because this gateway holds no part of the budget any more.
    async fn forget(&self) {
        let mut noted = self.noted.lock().await;
        *noted = None;
        self.ledgers.forget(&self.holder).await;
    }
}

impl fmt::Debug for BudgetLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetLeases").finish_non_exhaustive()
    }
}

/// Ledgers in memory.
#[derive(Default)]
struct Own(Mutex<HashMap<LedgerKey, Ledger>>);

impl Ledgers for Own {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = all.entry(key.clone()).or_default();
        let given = ledger.report(rules, holder, report, KEPT, now);
        Box::pin(std::future::ready(Ok(given)))
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.get(key).map_or(0, |ledger| ledger.state().used);
        Box::pin(std::future::ready(Ok(used)))
    }
}

#[cfg(test)]
mod tests;
