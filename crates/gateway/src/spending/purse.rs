//! The budgets of keys: what this gateway holds of each, and what it asks its ledger for.
//!
//! A request reserves in this gateway's slice of a budget, without a way to the store. Where the slice is too small, the
//! ledger is asked within the request, and other gateways give back what they do not use. What was spent is reported
//! behind the answers, many at a time.

use crate::bus::Bus;
use crate::names::random_id;
use crate::progress::BudgetReached;
use crate::story::now;
use crate::vault::{Ledgers, VaultError, Vaults};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::budget::{Ask, BudgetRules, Given, LEASE, Ledger, OnExceed, Share, Unit};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::LedgerKey;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// How long a request waits until other gateways gave back what they do not use.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it asks meanwhile.
const AGAIN: Duration = Duration::from_millis(50);
/// How long one question to the ledger may take.
const ANSWER: Duration = Duration::from_secs(1);
/// How often what was spent is reported, and what is idle given back.
const REPORT: Duration = Duration::from_millis(300);
/// How often a slice is kept alive that is only reserved.
const ALIVE: Duration = Duration::from_secs(15);
/// So long before others may take a slice, this gateway stops spending it.
const MARGIN: Duration = Duration::from_secs(10);

/// All budgets of which this gateway holds something.
pub(crate) struct Purse {
    held: Mutex<HashMap<LedgerKey, Arc<Held>>>,
    /// The ledgers of a gateway that has no store.
    own: Arc<Own>,
    bus: Arc<Bus>,
}

/// One budget.
struct Held {
    key: LedgerKey,
    /// Who holds it, to the ledger. Reports are counted from one on, so that whoever begins anew is another one: else its
    /// first ones would be taken for those that were heard already.
    holder: String,
    state: Mutex<State>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
    news: Notify,
}

struct State {
    share: Share,
    rules: BudgetRules,
    about: About,
    /// When the ledger was last heard.
    heard: Option<Instant>,
    /// It did not answer the last question.
    is_away: bool,
    /// Other gateways need what is idle here.
    is_wanted: bool,
    /// When what is likely to be needed soon was last reckoned anew.
    beat: Instant,
    /// So many requests have something of it, or ask for it.
    visitors: usize,
}

/// What a budget is of, for those who hear that it is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) tenant: Tenant,
    pub(crate) scope: &'static str,
    pub(crate) unit: Unit,
    pub(crate) session: String,
    pub(crate) run: String,
}

/// What a request took of one budget. One that is given up spent nothing.
pub(crate) struct Reserved {
    held: Option<Arc<Held>>,
    tokens: u64,
    pub(crate) unit: Unit,
    /// The cap that holds for it, if that is less than it wanted.
    pub(crate) granted: Option<u64>,
    /// What the rules demand of it because the budget is spent.
    pub(crate) exceeded: Option<OnExceed>,
}

/// Why a request gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Spent {
        used: u64,
        max: u64,
    },
    /// The ledger cannot be asked, and what is held of the budget is used up.
    Unknown,
}

impl Purse {
    pub(crate) fn new(bus: &Arc<Bus>) -> Self {
        let (held, own) = (Mutex::default(), Arc::default());
        Purse { held, own, bus: Arc::clone(bus) }
    }

    /// Where the budgets are kept.
    pub(crate) fn ledgers(&self, vaults: Option<&Arc<dyn Vaults>>) -> Arc<dyn Ledgers> {
        let kept = vaults.and_then(|vaults| vaults.ledgers());
        kept.unwrap_or_else(|| Arc::clone(&self.own) as Arc<dyn Ledgers>)
    }

    /// Reserves tokens of a budget, as many as there are and are wanted.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        ledgers: &Arc<dyn Ledgers>,
        key: LedgerKey,
        (rules, about): (BudgetRules, About),
        ask: Ask,
    ) -> Result<Reserved, Denied> {
        let unit = about.unit;
        let held = self.visit(ledgers, key, rules, about);
        // From here on a caller that goes away, or is refused, is no visitor any more.
        let visit = Reserved {
            held: Some(Arc::clone(&held)),
            tokens: 0,
            unit,
            granted: None,
            exceeded: None,
        };
        let (tokens, granted, exceeded) = match rules.on_exceed {
            _ if ask.wanted == 0 => (0, None, None),
            OnExceed::Warn => (0, None, None),
            OnExceed::Block | OnExceed::DisableReasoning | OnExceed::LowerEffort => {
                self.take(ledgers, &held, &rules, ask).await?
            }
        };
        Ok(visit.of(tokens, granted, exceeded))
    }

    async fn take(
        &self,
        ledgers: &Arc<dyn Ledgers>,
        held: &Held,
        rules: &BudgetRules,
        ask: Ask,
    ) -> Result<(u64, Option<u64>, Option<OnExceed>), Denied> {
        let (least, until) = (ask.least.max(1), Instant::now() + PATIENCE);
        if held.reserve(ask.wanted, ask.wanted) == ask.wanted {
            return Ok((ask.wanted, None, None));
        }
        loop {
            let heard = self.ask(ledgers, held, ask.wanted).await;
            let may_wait = match &heard {
                Ok(given) => given.others > 0 && Instant::now() < until,
                Err(_) => false,
            };
            let floor = if may_wait { ask.wanted } else { least };
            let taken = held.reserve(ask.wanted, floor);
            if taken > 0 {
                let cap = (taken < ask.wanted).then_some(taken);
                return Ok((taken, cap, None));
            }
            match (heard, rules.on_exceed) {
                (Ok(_), _) if may_wait => {
                    // Too little of it here may be what is missing elsewhere, and the other way round.
                    self.give_back(ledgers, held).await;
                    tokio::time::sleep(AGAIN).await;
                }
                (Ok(given), OnExceed::Block) => {
                    let max = rules.max.get().unwrap_or(u64::MAX);
                    return Err(Denied::Spent { used: given.used, max });
                }
                (Err(_), OnExceed::Block) => return Err(Denied::Unknown),
                // Nobody knows whether anything is left, and nobody is stopped for that.
                (Err(_), _) => return Ok((0, None, None)),
                (Ok(_), on_exceed) => return Ok((0, None, Some(on_exceed))),
            }
        }
    }

    /// The budget, and somebody who reports what becomes of it.
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
            is_away: false,
            is_wanted: false,
            beat: Instant::now(),
            visitors: 1,
        };
        let state = Mutex::new(state);
        let (asking, news) = (tokio::sync::Mutex::default(), Notify::new());
        let held = Arc::new(Held { key: key.clone(), holder: random_id(), state, asking, news });
        all.insert(key, Arc::clone(&held));
        let (purse, reporting) = (Arc::clone(self), Arc::clone(&held));
        tokio::spawn(purse.report(Arc::clone(ledgers), reporting));
        held
    }

    /// Reports what is spent and gives back what is idle, until nothing of the budget is held any more.
    async fn report(self: Arc<Self>, ledgers: Arc<dyn Ledgers>, held: Arc<Held>) {
        loop {
            drop(timeout(REPORT, held.news.notified()).await);
            let (is_over, is_due) = {
                // The list first, as whoever looks for a budget does.
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
                return;
            }
            if !is_due {
                continue;
            }
            match self.ask(&ledgers, &held, 0).await {
                Ok(given) if given.is_wanted => self.give_back(&ledgers, &held).await,
                Ok(_) => {}
                Err(_) => tokio::time::sleep(REPORT).await,
            }
        }
    }

    /// Gives back all that is idle, because somebody needs it.
    async fn give_back(&self, ledgers: &Arc<dyn Ledgers>, held: &Held) {
        let is_idle = {
            let mut state = held.state();
            state.is_wanted = true;
            state.share.idle() > 0
        };
        if is_idle {
            // Where that fails it is told with the next report.
            drop(self.ask(ledgers, held, 0).await);
        }
    }

    /// Asks the ledger: tells what was spent, keeps what is likely to be needed soon, and wants so much in all.
    async fn ask(
        &self,
        ledgers: &Arc<dyn Ledgers>,
        held: &Held,
        wanted: u64,
    ) -> Result<Given, VaultError> {
        let _one = held.asking.lock().await;
        let since = Instant::now();
        let (report, rules) = {
            let mut state = held.state();
            if since.duration_since(state.beat) >= REPORT {
                state.share.beat();
                state.beat = since;
            }
            let (is_away, is_wanted) = (state.is_away, state.is_wanted);
            let (rules, share) = (state.rules, &mut state.share);
            // Whoever asks often gets some more, so that the next ones need not ask.
            let most = if is_wanted { 0 } else { rules.max.get().unwrap_or(u64::MAX) / 8 };
            let soon = share.taken().min(most);
            let idle = share.idle();
            let (wants, spare) = match wanted {
                // Nobody would hear that it is given back, and nothing else comes.
                0 if is_away => (0, idle),
                0 => (0, soon),
                _ => (wanted.saturating_sub(idle).saturating_add(soon), idle),
            };
            (share.begin(wants, spare), rules)
        };
        let asked = ledgers.report(&held.key, &rules, &held.holder, report, now());
        let given = timeout(ANSWER, asked)
            .await
            .unwrap_or_else(|_| Err(VaultError("the ledger does not answer".to_owned())));
        let (given, about) = {
            let mut state = held.state();
            state.is_away = given.is_err();
            let given = given?;
            state.share.heard(report, &given);
            (state.heard, state.is_wanted) = (Some(since), given.is_wanted);
            (given, state.about.clone())
        };
        for event in &given.events {
            let About { tenant, scope, unit, session, run } = &about;
            let unit = *unit;
            self.bus.budget(&BudgetReached { tenant, scope, unit, session, run, event });
        }
        Ok(given)
    }

    /// Gives back all that is held, and reports what was spent.
    pub(crate) async fn close(&self, vaults: Option<&Arc<dyn Vaults>>) {
        let ledgers = self.ledgers(vaults);
        let all: Vec<Arc<Held>> = {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.values().cloned().collect()
        };
        for held in all {
            // Twice: the first one may only hear what was said before.
            for _ in 0..2 {
                drop(self.ask(&ledgers, &held, 0).await);
            }
        }
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves as many as there are, up to `wanted` and no fewer than `least`; gives how many.
    fn reserve(&self, wanted: u64, least: u64) -> u64 {
        let mut state = self.state();
        // What was not heard of for so long may be another one's already.
        let is_ours = state.heard.is_some_and(|heard| heard.elapsed() + MARGIN < LEASE);
        let tokens = state.share.idle().min(wanted);
        if is_ours && tokens >= least && state.share.reserve(tokens) { tokens } else { 0 }
    }
}

impl Reserved {
    fn of(mut self, tokens: u64, granted: Option<u64>, exceeded: Option<OnExceed>) -> Self {
        (self.tokens, self.granted, self.exceeded) = (tokens, granted, exceeded);
        self
    }

    /// What it may spend.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The request is over and spent so much.
    pub(crate) fn settle(mut self, spent: u64) {
        if let Some(held) = self.held.take() {
            let mut state = held.state();
            state.share.settle(self.tokens, spent);
            state.visitors -= 1;
            drop(state);
            held.news.notify_one();
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let mut state = held.state();
            state.share.settle(self.tokens, 0);
            state.visitors -= 1;
        }
    }
}

impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse").finish_non_exhaustive()
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
        report: thinkthrough_core::budget::Report,
        now: u64,
    ) -> crate::vault::Later<'a, Given> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let given = all.entry(key.clone()).or_default().report(rules, holder, report, now);
        Box::pin(std::future::ready(Ok(given)))
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> crate::vault::Later<'a, u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.get(key).map_or(0, |ledger| ledger.state().used);
        Box::pin(std::future::ready(Ok(used)))
    }
}

#[cfg(test)]
mod tests;
