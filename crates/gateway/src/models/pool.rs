//! Several keys of one provider that take turns.

use crate::credential::exposed;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_client::Auth;

/// How long a rate-limited key rests if the provider names no time.
const REST: Duration = Duration::from_secs(30);
/// The longest rest that an upstream can ask for.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The number of sessions that are remembered because they had to leave their first key.
const MOVED: usize = 10_000;
/// How long a key rests that the provider refuses. It may become valid again.
const REFUSED: Duration = Duration::from_secs(10 * 60);

/// The keys, in the order of the configuration.
///
/// A session stays with its key as long as that key works, because a provider cannot read for one account what it
/// sealed for another.
#[derive(Debug)]
pub struct Pool {
    keys: Vec<Auth>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time at which each key may be used again.
    rests: Vec<Option<Instant>>,
    /// Sessions that had to leave their first key, with their current key.
    moved: HashMap<u64, usize>,
}

/// A key that was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    pub(crate) at: usize,
    pub(crate) auth: Auth,
}

impl Pool {
    /// Makes a pool. Without keys it never picks one.
    #[must_use]
    pub fn new(keys: Vec<Auth>) -> Self {
        let state = State { rests: vec![None; keys.len()], moved: HashMap::new() };
        Pool { keys, state: Mutex::new(state) }
    }

    /// The session's key, or the first later key that does not rest. If all rest, the key whose rest ends first.
    pub(crate) fn pick(&self, session: &str, not: &[usize]) -> Option<Picked> {
        let count = self.keys.len();
        let session = digest(&[b"session", session.as_bytes()]);
        let home = usize::try_from(session % u64::try_from(count.max(1)).ok()?).ok()?;
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.moved.get(&session).copied().unwrap_or(home);
        let rest = |at: usize| state.rests.get(at).copied().flatten().filter(|until| *until > now);
        let order: Vec<usize> =
            (0..count).map(|step| (first + step) % count).filter(|at| !not.contains(at)).collect();
        let awake = order.iter().copied().find(|at| rest(*at).is_none());
        let at = awake.or_else(|| order.into_iter().min_by_key(|at| rest(*at)))?;
        if at != first {
            if state.moved.len() >= MOVED {
                state.moved.clear();
            }
            state.moved.insert(session, at);
        }
        let auth = self.keys.get(at)?.clone();
        Some(Picked { at, auth })
    }

    /// Whether there is a key besides these.
    pub(crate) fn has_other(&self, than: &[usize]) -> bool {
        (0..self.keys.len()).any(|at| !than.contains(&at))
    }

    /// Notes that the provider refused a key with this status. Returns whether another key may help.
    pub(crate) fn refused(&self, at: usize, status: u16, after: Option<Duration>) -> bool {
        let rest = match status {
            429 => after.unwrap_or(REST).min(LONGEST),
            401 => REFUSED,
            _ => return false,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = state.rests.get_mut(at) {
            *slot = Instant::now().checked_add(rest);
        }
        true
    }
}

/// A digest that is the same in every process, so that gateways agree on a session's key and on an account's name.
fn digest(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut head = [0; 8];
    hasher.finalize_xof().fill(&mut head);
    u64::from_le_bytes(head)
}

/// A name for the account of a credential that does not reveal the credential.
pub(crate) fn account_of(auth: &Auth) -> Option<String> {
    let secret = match auth {
        // The public part of the credential.
        Auth::Aws(keys) => keys.who(),
        Auth::Token(tokens) => tokens.who(),
        Auth::Bearer(_) | Auth::Header { .. } | Auth::None | Auth::Query { .. } => exposed(auth)?,
    };
    Some(format!("{:016x}", digest(&[b"account", secret.as_bytes()])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_client::Secret;

    fn pool(count: usize) -> Pool {
        Pool::new((0..count).map(|at| Auth::Bearer(Secret::new(format!("k{at}")))).collect())
    }

    #[test]
    fn a_session_stays_with_its_key_and_sessions_spread_over_all() {
        let pool = pool(3);
        let mut used = [0; 3];
        for session in 0..60 {
            let session = format!("s{session}");
            let at = pool.pick(&session, &[]).unwrap().at;
            assert_eq!(pool.pick(&session, &[]).unwrap().at, at);
            used[at] += 1;
        }
        assert!(used.iter().all(|count| *count > 5), "{used:?}");
    }

    #[test]
    fn a_refused_key_rests_and_the_session_goes_on_with_another() {
        let pool = pool(2);
        let first = pool.pick("s", &[]).unwrap().at;
        for (status, helps) in [(429, true), (401, true), (400, false), (500, false)] {
            assert_eq!(pool.refused(first, status, None), helps, "{status}");
        }
        let second = pool.pick("s", &[]).unwrap().at;
        assert_ne!(first, second);
        // If all keys rest, the key whose rest ends first is picked.
        assert!(pool.refused(second, 429, Some(Duration::from_secs(3_000))));
        assert!(pool.refused(first, 429, Some(Duration::from_secs(1))));
        assert_eq!(pool.pick("s", &[]).unwrap().at, first);
        assert_eq!(pool.pick("s", &[first]).unwrap().at, second);
        assert!(pool.pick("s", &[first, second]).is_none());
    }

    #[test]
    fn a_session_that_moved_stays_where_it_is_now() {
        let pool = pool(3);
        let first = pool.pick("s", &[]).unwrap();
        assert!(pool.refused(first.at, 429, None));
        let second = pool.pick("s", &[]).unwrap();
        assert_ne!(first.at, second.at);
        // Ends the rest of the first key.
        pool.state.lock().unwrap().rests[first.at] = None;
        assert_eq!(pool.pick("s", &[]).unwrap().at, second.at);
    }
}
