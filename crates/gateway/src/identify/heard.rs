//! Credentials that callers sent, so that traces and logs can mask them later.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use thinkthrough_client::Secret;
use thinkthrough_mask::Masker;

/// The most credentials that are remembered. Each costs a masker about ten places to look at, and a gateway that
/// passes credentials through may see any number of them.
const MOST: usize = 256;

/// The newest credentials of admitted callers.
#[derive(Debug, Default)]
pub struct Heard {
    hasher: RandomState,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    known: HashSet<u64>,
    secrets: VecDeque<Secret>,
    /// The number of credentials that were ever added.
    count: u64,
    /// The number of times that old credentials were dropped. A masker cannot forget a secret, so it is then built
    /// anew.
    forgot: u64,
}

impl Heard {
    /// Registers the credential of an admitted caller.
    pub fn hear(&self, credential: &str) {
        let hash = self.hasher.hash_one(credential);
        if self.read().known.contains(&hash) {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if !state.known.insert(hash) {
            return;
        }
        if state.secrets.len() >= MOST {
            state.secrets.drain(..MOST / 2);
            state.known =
                state.secrets.iter().map(|it| self.hasher.hash_one(it.expose())).collect();
            state.known.insert(hash);
            state.forgot += 1;
        }
        state.secrets.push_back(Secret::new(credential));
        state.count += 1;
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds maskers that know the callers' credentials as well as the configured secrets.
#[derive(Debug)]
pub struct Covering {
    heard: Arc<Heard>,
    made: Mutex<Option<Made>>,
}

/// The last masker that was built, with the state that it was built from.
#[derive(Debug)]
struct Made {
    masker: Masker,
    is_last: bool,
    count: u64,
    forgot: u64,
}

impl Covering {
    /// Covers the credentials that `heard` collects.
    #[must_use]
    pub fn new(heard: Arc<Heard>) -> Self {
        Covering { heard, made: Mutex::default() }
    }

    /// The current masker. `base` makes the masker of the configured secrets. `is_last` says that this base will not
    /// change any more; a masker that was built from an earlier base is then discarded.
    pub fn masker(&self, is_last: bool, base: impl FnOnce() -> Masker) -> Masker {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.heard.read();
        let usable = |made: &Made| made.is_last == is_last && made.forgot == state.forgot;
        let (mut masker, done) = match made.take().filter(usable) {
            Some(made) => (made.masker, made.count),
            None => (base(), 0),
        };
        let new = usize::try_from(state.count - done).unwrap_or(MOST);
        state.secrets.iter().rev().take(new).for_each(|secret| {
            masker.register(secret.expose());
        });
        let (count, forgot) = (state.count, state.forgot);
        *made = Some(Made { masker: masker.clone(), is_last, count, forgot });
        masker
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_mask::Tiers;

    fn base() -> Masker {
        Masker::new(Tiers::ALL, &[7; 32])
    }

    #[test]
    fn what_was_heard_is_covered_from_then_on_and_by_the_masker_that_stays() {
        let heard = Arc::new(Heard::default());
        let covering = Covering::new(Arc::clone(&heard));
        let text = "it said odd one 77 and other two 88";
        assert_eq!(covering.masker(false, base).mask_text(text), text);
        heard.hear("odd one 77");
        heard.hear("odd one 77");
        let masked = covering.masker(false, base).mask_text(text);
        assert!(masked.starts_with("it said [masked:registered:"), "{masked}");
        assert!(masked.ends_with("] and other two 88"), "{masked}");
        heard.hear("other two 88");
        let stays = || Masker::new(Tiers::ALL, &[8; 32]);
        let masked = covering.masker(true, stays).mask_text(text);
        assert_eq!(masked.matches("[masked:registered:").count(), 2, "{masked}");
        // The masker is reused, not built again.
        let again = covering.masker(true, || Masker::new(Tiers::ALL, &[9; 32]));
        assert_eq!(again.mask_text(text), masked);
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let heard = Arc::new(Heard::default());
        let covering = Covering::new(Arc::clone(&heard));
        for at in 0..MOST + 3 {
            heard.hear(&format!("credential number {at:05}"));
            covering.masker(true, base);
        }
        let covers = |at: usize| {
            let text = format!("credential number {at:05}");
            covering.masker(true, base).mask_text(&text) != text
        };
        assert!(covers(MOST + 2) && covers(MOST / 2 + 1) && !covers(0));
        assert!(heard.read().secrets.len() <= MOST);
    }
}
