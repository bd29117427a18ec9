//! The windows of all keys and providers.
//!
//! Gateways that share a store share their limits: each holds some places of one, and takes those without a way to the
//! store. Where too few are left, the ledger is asked within the request, and other gateways give back what they do not
//! use. While the store is away, each goes on with its own window.

use super::window::{Asked, Window};
use crate::names::random_id;
use crate::vault::{SharedPlaces, Vaults};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::budget::{RateLimits, RatePermit, RateRefusal};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::LedgerKey;
use tokio::time::{Instant, sleep};

pub(super) use thinkthrough_core::budget::RateRefusal as Limited;

/// How long a request waits until other gateways gave back what they do not use.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it asks meanwhile.
const AGAIN: Duration = Duration::from_millis(50);
/// How often what is idle is given back, and a store that is away asked again.
const REPORT: Duration = Duration::from_millis(300);

/// What was asked within the last minute, for as long as the process lives; a configuration that is read again changes
/// what may be asked and not what was.
#[derive(Debug)]
pub(crate) struct Limits {
    holder: String,
    windows: Mutex<HashMap<Whose, Arc<Window>>>,
}

/// Whose window it is: names of the configuration, so that there are few.
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
        Limits { holder: random_id(), windows: Mutex::default() }
    }
}

impl Limits {
    pub(super) async fn admit(
        self: &Arc<Self>,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
        vaults: Option<&Arc<dyn Vaults>>,
    ) -> Result<Charge, RateRefusal> {
        let window = self.window(whose);
        let Some(places) = vaults.and_then(|vaults| vaults.places()) else {
            return Ok(Charge::of(&window, window.take_alone(limits, tokens)?, false));
        };
        window.set(limits);
        if let Some(permit) = window.take(limits, tokens) {
            return Ok(Charge::of(&window, permit, false));
        }
        if let Some(refusal) = window.would_refuse(limits, tokens) {
            return Err(refusal);
        }
        self.keep_reporting(&window, &places);
        self.ask(&window, (limits, tokens), &places).await
    }

    /// Takes what the ledger gives.
    async fn ask(
        &self,
        window: &Arc<Window>,
        (limits, tokens): (&RateLimits, u64),
        places: &Arc<dyn SharedPlaces>,
    ) -> Result<Charge, RateRefusal> {
        let (_waiting, until) = (window.wait_for(limits.one(tokens)), Instant::now() + PATIENCE);
        loop {
            let asked = match window.is_away() {
                true => Asked::Away,
                false => window.ask_for_all(&self.holder, &**places).await,
            };
            if let Some(permit) = window.take(limits, tokens) {
                return Ok(Charge::of(window, permit, false));
            }
            let given = match asked {
                Asked::Away => {
                    return Ok(Charge::of(window, window.take_alone(limits, tokens)?, true));
                }
                Asked::Heard(given) => given,
            };
            if !window.may_get(limits, tokens, &given) || Instant::now() >= until {
                return Err(window.refusal(limits, tokens, &given));
            }
            sleep(AGAIN).await;
        }
    }

    fn window(&self, whose: Whose) -> Arc<Window> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(whose);
        let window = window.or_insert_with_key(|whose| Arc::new(Window::new(whose.ledger())));
        Arc::clone(window)
    }

    /// Somebody gives back what is idle, until nothing of it is held any more.
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

    /// Gives back what is held and was not taken.
    pub(crate) async fn close(&self, vaults: Option<&Arc<dyn Vaults>>) {
        let Some(places) = vaults.and_then(|vaults| vaults.places()) else { return };
        let all: Vec<Arc<Window>> = {
            let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
            windows.values().cloned().collect()
        };
        for window in all {
            // Twice: what was taken a moment ago is kept for the next ones at first.
            for _ in 0..2 {
                if window.has_news() {
                    drop(window.report(&self.holder, &*places).await);
                }
            }
        }
    }
}

/// A request that counts in a window, and the tokens that it has reserved there. One that is given up has cost none.
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

    /// It is about to go out: it counts until it was said when that was, and a minute longer.
    pub(super) fn open(&mut self) {
        if let Some((window, permit)) = &mut self.held {
            window.open(permit);
        }
    }

    /// It is where it goes to so much later at the latest.
    pub(super) fn stamp(&mut self, later: Duration) {
        if let Some((window, permit)) = &mut self.held {
            window.stamp(permit, later);
        }
    }

    /// The answer is over and cost so much. Where nobody says how much, what was reserved is the best that is known.
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
mod tests {
    use super::*;
    use thinkthrough_core::budget::Limit;

    fn limits(requests: u64, tokens: u64) -> RateLimits {
        RateLimits {
            requests_per_minute: Limit::from_config(requests),
            tokens_per_minute: Limit::from_config(tokens),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn req_limits_what_a_request_reserved_is_free_once_it_is_known_to_have_cost_less() {
        let windows = Arc::new(Limits::default());
        let alice = || Whose::Key(Tenant::named("alice").unwrap());
        let limits = limits(0, 100);
        let admit = |tokens| windows.admit(alice(), &limits, tokens, None);
        let first = admit(80).await.unwrap();
        assert_eq!(admit(30).await.unwrap_err().limit, 100);
        first.settle(Some(70));
        let second = admit(30).await.unwrap();
        assert!(admit(1).await.is_err());
        // It was given up before it cost anything.
        drop(second);
        admit(30).await.unwrap().settle(None);
        assert!(admit(1).await.is_err());
        // Another one has a window of its own.
        let other = Whose::Provider("alice".to_owned());
        assert!(windows.admit(other, &limits, 100, None).await.is_ok());
    }
}
