//! Sign-ins to the viewer. The operator signs in by a link that admits one browser, a caller with its gateway key.

use crate::load::{FairPool, Holder, Place};
use crate::rejection::{Rejection, rejection};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_client::Secret;

/// The longest time that a sign-in lasts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The lifetime of an invitation link.
const LINK: Duration = Duration::from_secs(10 * 60);

/// The invitation link and the sign-ins of the viewer. Clones are handles to the same state.
#[derive(Clone, Default)]
pub struct Viewer {
    inner: Arc<Mutex<State>>,
}

/// Tokens are stored as digests, so that a copy of this state lets no reader in.
#[derive(Default)]
struct State {
    /// The newest link, until it is used.
    link: Option<(Instant, blake3::Hash)>,
    sign_ins: HashMap<blake3::Hash, SignIn>,
}

/// A person who signed in.
struct SignIn {
    since: Instant,
    who: Who,
    /// The holder of `place`.
    holder: Holder,
    place: Place,
}

/// The way in which a person signed in.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// By the link, which only the person who started the gateway has.
    Operator,
    /// By a gateway key. The sign-in ends when the key is revoked.
    Key(Secret),
}

impl Viewer {
    /// A viewer without sign-ins.
    #[must_use]
    pub fn new() -> Self {
        Viewer::default()
    }

    /// Makes a link token, which admits one browser within ten minutes, and cancels the previous link.
    /// `None`: the system has no random numbers.
    #[must_use]
    pub fn invite(&self, now: Instant) -> Option<String> {
        let token = token()?;
        self.state().link = Some((now, blake3::hash(token.as_bytes())));
        Some(token)
    }

    /// Uses a link, and returns whether it was valid.
    pub(crate) fn take(&self, link: &str, now: Instant) -> bool {
        let hash = blake3::hash(link.as_bytes());
        let is_it = |(since, known): &mut (Instant, blake3::Hash)| {
            *known == hash && now.duration_since(*since) < LINK
        };
        self.state().link.take_if(is_it).is_some()
    }

    /// Signs a person in, and returns the session's token. If the holder has no place left, its own oldest sign-in
    /// ends.
    pub(crate) fn admit(
        &self,
        who: Who,
        (pool, holder): (&FairPool, Holder),
        now: Instant,
    ) -> Result<String, Rejection> {
        let token = token().ok_or_else(|| {
            rejection(503, "no_random_numbers", "the system has no random numbers; try again later")
        })?;
        let mut state = self.state();
        state.sign_ins.retain(|_, sign_in| now.duration_since(sign_in.since) < DAY);
        let place = match pool.take(&holder) {
            Ok(place) => place,
            Err(denied) => state.own_place(&holder).ok_or_else(|| denied.rejection())?,
        };
        let sign_in = SignIn { since: now, who, holder, place };
        state.sign_ins.insert(blake3::hash(token.as_bytes()), sign_in);
        Ok(token)
    }

    /// The person whose session has this token.
    pub(crate) fn signed_in(&self, token: &str, now: Instant) -> Option<Who> {
        let state = self.state();
        let sign_in = state.sign_ins.get(&blake3::hash(token.as_bytes()))?;
        (now.duration_since(sign_in.since) < DAY).then(|| sign_in.who.clone())
    }

    /// Ends the session with this token.
    pub(crate) fn leave(&self, token: &str) {
        self.state().sign_ins.remove(&blake3::hash(token.as_bytes()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the holder's oldest sign-in, and returns its place.
    fn own_place(&mut self, holder: &Holder) -> Option<Place> {
        let own = self.sign_ins.iter().filter(|(_, sign_in)| sign_in.holder == *holder);
        let oldest = *own.min_by_key(|(_, sign_in)| sign_in.since)?.0;
        self.sign_ins.remove(&oldest).map(|sign_in| sign_in.place)
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer")
            .field("sign_ins", &self.state().sign_ins.len())
            .finish_non_exhaustive()
    }
}

/// A random token of 256 bits.
fn token() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{GUESTS, Gauges, Pools};

    #[test]
    fn a_link_lets_one_person_in_once_and_for_a_day() {
        let (viewer, now) = (Viewer::new(), Instant::now());
        let link = viewer.invite(now).unwrap();
        assert!(!viewer.take("x", now) && !viewer.take("", now));
        assert!(viewer.take(&link, now) && !viewer.take(&link, now));
        let pools = Pools::new(&Gauges::default());
        let pool = (&pools.sign_ins, Holder::Operator);
        let token = viewer.admit(Who::Operator, pool, now).unwrap();
        assert!(viewer.signed_in(&token, now + DAY / 2).is_some());
        assert!(viewer.signed_in(&token, now + DAY).is_none());
        assert!(viewer.signed_in(&link, now).is_none());
        viewer.leave(&token);
        assert!(viewer.signed_in(&token, now).is_none());
    }

    #[test]
    fn a_link_expires_and_ends_the_one_before_it() {
        let (viewer, now) = (Viewer::new(), Instant::now());
        let links = [viewer.invite(now).unwrap(), viewer.invite(now).unwrap()];
        assert!(!viewer.take(&links[0], now) && viewer.take(&links[1], now));
        let link = viewer.invite(now).unwrap();
        assert!(!viewer.take(&link, now + LINK));
        assert!(viewer.take(&link, now + LINK - Duration::from_millis(1)));
    }

    #[test]
    fn many_sign_ins_of_one_tenant_end_its_own_oldest_and_nobody_elses() {
        let (viewer, now) = (Viewer::new(), Instant::now());
        let pools = Pools::new(&Gauges::default());
        let admit = |name: Option<&str>, at: u64| {
            let holder = name.map_or(Holder::Operator, |name| Holder::Tenant(name.to_owned()));
            let at = now + Duration::from_secs(at);
            viewer.admit(Who::Key(Secret::new("k")), (&pools.sign_ins, holder), at).unwrap()
        };
        let is_in = |token: &str| viewer.signed_in(token, now).is_some();
        let (operator, alice) = (admit(None, 0), admit(Some("alice"), 1));
        let all: Vec<String> =
            (2..3 * GUESTS as u64).map(|at| admit(Some("mallory"), at)).collect();
        assert!(is_in(&operator) && is_in(&alice) && is_in(all.last().unwrap()));
        assert!(!is_in(&all[0]), "her own oldest goes");
        let still_in = all.iter().filter(|token| is_in(token)).count();
        assert!(still_in > GUESTS / 3 && still_in < GUESTS / 2 + 1, "{still_in}");
        let others = (0..20).map(|number| admit(Some(&format!("t{number}")), 9_999));
        assert!(others.collect::<Vec<_>>().iter().all(|token| is_in(token)));
        assert!(is_in(&operator) && is_in(&alice));
    }
}
