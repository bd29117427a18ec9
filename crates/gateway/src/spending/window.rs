//! One limit: the places that this gateway holds, and the requests that wait for more.

use super::silence::{AWAY, Silence};
use crate::store::vault::{SharedPlaces, VaultError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_limits::{Places, RateGiven, RateLimits, RatePermit, RateRefusal, RateShare};
use thinkthrough_store::LedgerKey;
use tokio::time::{Instant, timeout};

/// The window of a key or a provider.
#[derive(Debug)]
pub(super) struct Window {
    key: LedgerKey,
    began: Instant,
    state: Mutex<State>,
    /// Tells by the answers to all windows whether the store is away.
    silence: Arc<Mutex<Silence>>,
    /// Allows one request to the ledger at a time.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    share: RateShare,
    limits: RateLimits,
    /// The needs of the requests that wait for the ledger.
    waiting: BTreeMap<u64, Places>,
    next: u64,
    /// The number of requests to the ledger that were begun. `over` has the number of the last finished one, and its
    /// answer if there was one.
    begun: u64,
    over: (u64, Option<RateGiven>),
    is_reported: bool,
}

/// A waiting request. It stops waiting on drop.
pub(super) struct Waiter {
    window: Arc<Window>,
    number: u64,
}

/// The outcome of a request to the ledger.
pub(super) enum Asked {
    /// The ledger's answer.
    Heard(RateGiven),
    /// No answer came, but the store may be up all the same.
    Silent,
    /// The store is away.
    Away,
}

impl Window {
    pub(super) fn new(key: LedgerKey, silence: &Arc<Mutex<Silence>>) -> Self {
        let state = State {
            share: RateShare::default(),
            limits: RateLimits::UNLIMITED,
            waiting: BTreeMap::new(),
            next: 0,
            begun: 0,
            over: (0, None),
            is_reported: false,
        };
        let (state, asking) = (Mutex::new(state), tokio::sync::Mutex::default());
        Window { key, began: Instant::now(), state, silence: Arc::clone(silence), asking }
    }

    /// Works on the state, with a time that never goes back between calls.
    fn with<T>(&self, work: impl FnOnce(&mut State, Duration) -> T) -> T {
        let mut state = self.state();
        let now = self.began.elapsed();
        work(&mut state, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limits that apply from now on.
    pub(super) fn set(&self, limits: &RateLimits) {
        self.state().limits = *limits;
    }

    pub(super) fn take(&self, limits: &RateLimits, tokens: u64) -> Option<RatePermit> {
        self.with(|state, now| state.share.take(limits, tokens, now))
    }

    pub(super) fn take_alone(
        &self,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<RatePermit, RateRefusal> {
        self.with(|state, now| state.share.take_alone(limits, tokens, now))
    }

    pub(super) fn would_refuse(&self, limits: &RateLimits, tokens: u64) -> Option<RateRefusal> {
        self.with(|state, now| state.share.would_refuse(limits, tokens, now))
    }

    pub(super) fn may_get(&self, limits: &RateLimits, tokens: u64, given: &RateGiven) -> bool {
        self.with(|state, now| state.share.may_get(limits, tokens, given, now))
    }

    pub(super) fn refusal(
        &self,
        limits: &RateLimits,
        tokens: u64,
        given: &RateGiven,
    ) -> RateRefusal {
        self.with(|state, now| state.share.refusal(limits, tokens, given, now))
    }

    /// Marks the call as under way, with its time still unknown.
    pub(super) fn open(&self, permit: &mut RatePermit) {
        self.with(|state, now| state.share.open(permit, now));
    }

    /// Sets the latest time at which the call arrives.
    pub(super) fn stamp(&self, permit: &mut RatePermit, later: Duration) {
        self.with(|state, now| state.share.stamp(permit, now.saturating_add(later), now));
    }

    pub(super) fn close(&self, permit: &mut RatePermit) {
        self.with(|state, now| state.share.close(permit, now));
    }

    pub(super) fn settle(&self, permit: RatePermit, tokens: u64) {
        self.with(|state, now| state.share.settle(permit, tokens, now));
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a waiting request with its needs.
    pub(super) fn wait_for(self: &Arc<Self>, needs: Places) -> Waiter {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.waiting.insert(number, needs);
        Waiter { window: Arc::clone(self), number }
    }

    /// Asks the ledger on behalf of every waiting request, unless another request did meanwhile.
    pub(super) async fn ask_for_all(&self, holder: &str, places: &dyn SharedPlaces) -> Asked {
        if self.silence().is_away() {
            return Asked::Away;
        }
        let begun = self.state().begun;
        let _one = self.asking.lock().await;
        let over = self.state().over;
        // A question that another request began meanwhile has asked for this request as well.
        let given = match over.0 > begun {
            true => over.1,
            false if self.silence().is_away() => None,
            false => self.ask(holder, places).await.ok(),
        };
        match given {
            Some(given) => Asked::Heard(given),
            None if self.silence().is_away() => Asked::Away,
            None => Asked::Silent,
        }
    }

    /// Reports the held places to the ledger, and asks for the waiting requests.
    pub(super) async fn report(
        &self,
        holder: &str,
        places: &dyn SharedPlaces,
    ) -> Result<(), VaultError> {
        let _one = self.asking.lock().await;
        self.ask(holder, places).await.map(|_| ())
    }

    /// Sends one question. The caller holds the lock `asking`.
    async fn ask(&self, holder: &str, places: &dyn SharedPlaces) -> Result<RateGiven, VaultError> {
        let since = Instant::now();
        let (number, limits, report, begun) = self.with(|state, now| {
            state.begun += 1;
            let needs = state.waiting.values().fold(Places::NONE, |sum, needs| sum.plus(*needs));
            let least = state.waiting.values().copied().reduce(Places::least).unwrap_or_default();
            let report = state.share.begin(&state.limits, (needs, least), now);
            (state.begun, state.limits, report, now)
        });
        let asked = places.report(&self.key, &limits, holder, report);
        let given = timeout(AWAY, asked)
            .await
            .unwrap_or_else(|_| Err(VaultError("the ledger does not answer".to_owned())));
        let now = Instant::now();
        match &given {
            Ok(_) => self.silence().answered(now),
            Err(_) => self.silence().unanswered(since, now),
        }
        self.with(|state, _| {
            if let Ok(given) = &given {
                state.share.heard(report, given, begun);
            }
            state.over = (number, given.as_ref().ok().copied());
        });
        given
    }

    /// Whether there is something to report, or a silent store to be asked.
    pub(super) fn has_news(&self) -> bool {
        let is_silent = self.silence().is_silent();
        self.with(|state, now| is_silent || state.share.has_news(&state.limits, now))
    }

    /// Whether the caller has to start the reporting task, because none runs.
    pub(super) fn begins_reporting(&self) -> bool {
        let mut state = self.state();
        !std::mem::replace(&mut state.is_reported, true)
    }

    /// Whether the reporting task can end. A later request starts a new one.
    pub(super) fn ends_reporting(&self) -> bool {
        let is_silent = self.silence().is_silent();
        self.with(|state, now| {
            let is_idle = state.waiting.is_empty() && !is_silent;
            let is_over = is_idle && state.share.is_empty(&state.limits, now);
            state.is_reported = !is_over;
            is_over
        })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.window.state().waiting.remove(&self.number);
    }
}
