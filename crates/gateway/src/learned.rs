//! What refusals have taught about models, for as long as it can be trusted.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_core::exchange::Repair;
use thinkthrough_core::provider::Target;

/// How long a lesson holds; then the model is asked as if nothing were known, for providers change.
const HOLDS: Duration = Duration::from_secs(24 * 60 * 60);
/// More lessons than this are not kept at a time.
const MOST: usize = 10_000;

/// Whose lesson it is, and about which model where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(crate) tenant: String,
    pub(crate) endpoint: String,
    pub(crate) model: String,
}

impl Scope {
    /// A model where it is asked.
    pub(crate) fn of(tenant: String, target: &Target) -> Self {
        Scope { tenant, endpoint: target.base_url.clone(), model: target.model.clone() }
    }
}

/// The lessons of a process.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<HashMap<Scope, (Repair, Instant)>>);

impl Learned {
    /// What is known.
    pub(crate) fn of(&self, scope: &Scope, now: Instant) -> Option<Repair> {
        self.lock().get(scope).filter(|(_, since)| holds(*since, now)).map(|(repair, _)| *repair)
    }

    /// A repair helped.
    pub(crate) fn add(&self, scope: Scope, repair: Repair, now: Instant) {
        let mut all = self.lock();
        if all.len() >= MOST {
            all.retain(|_, (_, since)| holds(*since, now));
        }
        if all.len() < MOST || all.contains_key(&scope) {
            all.insert(scope, (repair, now));
        }
    }

    /// A lesson does not hold any more.
    pub(crate) fn forget(&self, scope: &Scope) {
        self.lock().remove(scope);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, (Repair, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn holds(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < HOLDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_holds_for_a_day_and_for_whom_it_was_learned() {
        let scope = |tenant: &str| Scope {
            tenant: tenant.to_owned(),
            endpoint: "e".to_owned(),
            model: "m".to_owned(),
        };
        let (learned, now) = (Learned::default(), Instant::now());
        learned.add(scope("a"), Repair::Sign, now);
        let day = Duration::from_secs(86_400);
        let just = Duration::from_secs(1);
        assert_eq!(learned.of(&scope("a"), now + day - just), Some(Repair::Sign));
        assert_eq!(learned.of(&scope("a"), now + day), None);
        assert_eq!(learned.of(&scope("b"), now), None);
        learned.forget(&scope("a"));
        assert_eq!(learned.of(&scope("a"), now), None);
    }
}
