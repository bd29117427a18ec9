//! The windows of all keys and providers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::budget::{RateLimiter, RateLimits, RatePermit, RateRefusal};
use tokio::time::Instant;

pub(super) use thinkthrough_core::budget::RateRefusal as Limited;

/// What was asked within the last minute, for as long as the process lives; a configuration that is read again changes
/// what may be asked and not what was.
#[derive(Debug)]
pub(crate) struct Limits {
    began: Instant,
    windows: Mutex<HashMap<Whose, RateLimiter>>,
}

/// Whose window it is: names of the configuration, so that there are few.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    Key(String),
    Provider(String),
}

impl Default for Limits {
    fn default() -> Self {
        Limits { began: Instant::now(), windows: Mutex::default() }
    }
}

impl Limits {
    pub(super) fn admit(
        self: &Arc<Self>,
        whose: Whose,
        limits: &RateLimits,
        tokens: u64,
    ) -> Result<Charge, RateRefusal> {
        let permit = self.with(&whose, |window, now| window.admit(limits, tokens, now))?;
        Ok(Charge { limits: Arc::clone(self), held: Some((whose, permit)) })
    }

    fn with<T>(&self, whose: &Whose, work: impl FnOnce(&mut RateLimiter, Duration) -> T) -> T {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no later call has an earlier time.
        let now = self.began.elapsed();
        if !windows.contains_key(whose) {
            windows.insert(whose.clone(), RateLimiter::new());
        }
        match windows.get_mut(whose) {
            Some(window) => work(window, now),
            None => work(&mut RateLimiter::new(), now),
        }
    }
}

/// A request that counts in a window, and the tokens that it has reserved there. One that is given up has cost none.
#[derive(Debug)]
pub(super) struct Charge {
    limits: Arc<Limits>,
    held: Option<(Whose, RatePermit)>,
}

impl Charge {
    /// The answer is over and cost so much. Where nobody says how much, what was reserved is the best that is known.
    pub(super) fn settle(mut self, tokens: Option<u64>) {
        let Some((whose, permit)) = self.held.take() else { return };
        if let Some(tokens) = tokens {
            self.limits.with(&whose, |window, now| window.settle(permit, tokens, now));
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((whose, permit)) = self.held.take() {
            self.limits.with(&whose, |window, now| window.settle(permit, 0, now));
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
        let whose = || Whose::Key("alice".to_owned());
        let limits = limits(0, 100);
        let first = windows.admit(whose(), &limits, 80).unwrap();
        assert_eq!(windows.admit(whose(), &limits, 30).unwrap_err().limit, 100);
        first.settle(Some(70));
        let second = windows.admit(whose(), &limits, 30).unwrap();
        assert!(windows.admit(whose(), &limits, 1).is_err());
        // It was given up before it cost anything.
        drop(second);
        windows.admit(whose(), &limits, 30).unwrap().settle(None);
        assert!(windows.admit(whose(), &limits, 1).is_err());
        // Another one has a window of its own.
        assert!(windows.admit(Whose::Provider("alice".to_owned()), &limits, 100).is_ok());
    }
}
