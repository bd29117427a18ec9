//! The windows of all keys and providers.
//!
//! Gateways that share a store share their limits: each holds some places of a limit, and takes those without a way
//! to the store. If too few are left, the request asks the ledger, and other gateways give back their unused places.
//! While the store is late, requests wait for it; while it is away, each gateway goes on with its own window.

use super::silence::Silence;
use super::window::{Asked, Window};
use crate::names::random_id;
use crate::store::vault::{SharedPlaces, Vaults};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{RateLimits, RatePermit, RateRefusal};
use thinkthrough_store::LedgerKey;
use tokio::time::{Instant, sleep, timeout_at};

/// The time that a request waits for unused places of other gateways, from the first answer on.
const PATIENCE: Duration = Duration::from_secs(1);
/// A store that takes longer for an answer is late.
const USUAL: Duration = Duration::from_secs(1);
/// The longest wait in all. A store that is up is never silent for so long.
const LONGEST: Duration = Duration::from_secs(7);
/// The interval for asking meanwhile.
const AGAIN: Duration = Duration::from_millis(50);
/// The pause after a question without an answer.
const PAUSE: Duration = Duration::from_millis(200);
/// The interval for giving back idle places, and for asking whether an absent store is back.
const REPORT: Duration = Duration::from_millis(300);

/// The requests and tokens of the last minute, for as long as the process lives. A changed configuration changes the
/// limits, not the counts.
#[derive(Debug)]
pub(crate) struct Limits {
    holder: String,
    windows: Mutex<HashMap<Whose, Arc<Window>>>,
    silence: Arc<Mutex<Silence>>,
}

/// The reason why a request is held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limited {
    /// The limit is reached.
    Reached(RateRefusal),
    /// Another gateway holds the remaining places and did not give them back in time.
    Elsewhere(RateRefusal),
    /// Unknown, because the store was late.
    Unasked,
}

impl Limited {
    /// Chooses the reason. `may_get`: places may still come free; `was_late`: the store was late.
    fn of(refusal: RateRefusal, may_get: bool, was_late: bool) -> Self {
        match (may_get, was_late) {
            (false, _) => Limited::Reached(refusal),
            (true, false) => Limited::Elsewhere(refusal),
            (true, true) => Limited::Unasked,
        }
    }
}

/// The owner of a window, by names of the configuration, so that there are few windows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    Key(Tenant),
    Provider(String),
}

impl Whose {
    fn ledger(&self) -> LedgerKey {
        match self {
            Whose::Key(tenant) => LedgerKey::new(tenant, "limit", ""),
            Whose::Provider(name) => LedgerKey::of_provider(name),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let (windows, silence) = (Mutex::default(), Arc::default());
        Limits { holder: random_id(), windows, silence }
    }
}

impl Limits {
    pub(super) async fn admit(
        self: &Arc<Self>,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
        vaults: Option<&Arc<dyn Vaults>>,
    ) -> Result<Charge, Limited> {
        let window = self.window(whose);
        let Some(places) = vaults.and_then(|vaults| vaults.places()) else {
            return Charge::alone(&window, limits, tokens, false);
        };
        window.set(limits);
        if let Some(permit) = window.take(limits, tokens) {
            return Ok(Charge::of(&window, permit, false));
        }
        if let Some(refusal) = window.would_refuse(limits, tokens) {
            return Err(Limited::Reached(refusal));
        }
        self.keep_reporting(&window, &places);
        self.ask(&window, (limits, tokens), &places).await
    }

    /// Takes places from the ledger.
    async fn ask(
        &self,
        window: &Arc<Window>,
        (limits, tokens): (&RateLimits, u64),
        places: &Arc<dyn SharedPlaces>,
    ) -> Result<Charge, Limited> {
        let (_waiting, began) = (window.wait_for(limits.one(tokens)), Instant::now());
        let (mut first, mut was_late) = (None, false);
        loop {
            let since = Instant::now();
            let asking = window.ask_for_all(&self.holder, &**places);
            // Other requests may wait before it, each for a late answer.
            let asked = timeout_at(began + LONGEST, asking).await.unwrap_or(Asked::Silent);
            was_late |= since.elapsed() > USUAL;
            if let Some(permit) = window.take(limits, tokens) {
                return Ok(Charge::of(window, permit, false));
            }
            let pause = match asked {
                Asked::Away => return Charge::alone(window, limits, tokens, true),
                Asked::Silent => {
                    was_late = true;
                    PAUSE
                }
                Asked::Heard(given) => {
                    let may_get = window.may_get(limits, tokens, &given);
                    let is_over = first.get_or_insert_with(Instant::now).elapsed() >= PATIENCE;
                    if !may_get || is_over {
                        let refusal = window.refusal(limits, tokens, &given);
                        return Err(Limited::of(refusal, may_get, was_late));
                    }
                    AGAIN
                }
            };
            if began.elapsed() + pause >= LONGEST {
                return Err(Limited::Unasked);
            }
            sleep(pause).await;
        }
    }

    fn window(&self, whose: Whose) -> Arc<Window> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(whose);
        let new = |whose: &Whose| Arc::new(Window::new(whose.ledger(), &self.silence));
        let window = window.or_insert_with_key(new);
        Arc::clone(window)
    }

    /// Starts a task that gives back idle places, until this gateway holds none.
    fn keep_reporting(self: &Arc<Self>, window: &Arc<Window>, places: &Arc<dyn SharedPlaces>) {
        if !window.begins_reporting() {
            return;
        }
        let (limits, window, places) = (Arc::clone(self), Arc::clone(window), Arc::clone(places));
        tokio::spawn(async move {
            while !window.ends_reporting() {
                if window.has_news() {
                    drop(window.report(&limits.holder, &*places).await);
                }
                sleep(REPORT).await;
            }
        });
    }

    /// Gives back all unused places.
    pub(crate) async fn close(&self, vaults: Option<&Arc<dyn Vaults>>) {
        let Some(places) = vaults.and_then(|vaults| vaults.places()) else { return };
        let all: Vec<Arc<Window>> = {
            let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
            windows.values().cloned().collect()
        };
        for window in all {
            // Twice: the first report keeps recently taken places for the next requests.
            for _ in 0..2 {
                if window.has_news() {
                    drop(window.report(&self.holder, &*places).await);
                }
            }
        }
    }
}

/// A request that counts in a window, with the tokens that it reserved there. If it is dropped, it cost no tokens.
#[derive(Debug)]
pub(super) struct Charge {
    held: Option<(Arc<Window>, RatePermit)>,
    /// It was let out without the other gateways, because the store was away.
    pub(super) is_alone: bool,
}

impl Charge {
    fn of(window: &Arc<Window>, permit: RatePermit, is_alone: bool) -> Self {
        Charge { held: Some((Arc::clone(window), permit)), is_alone }
    }

    /// Takes from this gateway's window, whatever other gateways do.
    fn alone(
        window: &Arc<Window>,
        limits: &RateLimits,
        tokens: u64,
        is_alone: bool,
    ) -> Result<Self, Limited> {
        let permit = window.take_alone(limits, tokens).map_err(Limited::Reached)?;
        Ok(Charge::of(window, permit, is_alone))
    }

    /// Marks the request as under way. It counts until [`Charge::stamp`] sets its time, and a minute longer.
    pub(super) fn open(&mut self) {
        if let Some((window, permit)) = &mut self.held {
            window.open(permit);
        }
    }

    /// Sets the latest time at which the request reaches its destination.
    pub(super) fn stamp(&mut self, later: Duration) {
        if let Some((window, permit)) = &mut self.held {
            window.stamp(permit, later);
        }
    }

    /// Settles the request with its tokens. Without a reported count, the reservation is the best estimate.
    pub(super) fn settle(mut self, tokens: Option<u64>) {
        let Some((window, mut permit)) = self.held.take() else { return };
        match tokens {
            Some(tokens) => window.settle(permit, tokens),
            None => window.close(&mut permit),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((window, permit)) = self.held.take() {
            window.settle(permit, 0);
        }
    }
}

#[cfg(test)]
mod tests;
