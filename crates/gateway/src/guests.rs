//! Who may look into the viewer: whoever opens the link that `think serve` printed, once, or has a key of the gateway.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_client::Secret;

/// Nobody looks for longer than this without signing in again.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// So many may have signed in at a time; the oldest go.
const GUESTS: usize = 256;
/// So many links may be open; the oldest go.
const LINKS: usize = 8;

/// Who may look into the viewer. Clones are handles to the same door.
#[derive(Clone, Default)]
pub struct Viewer {
    inner: Arc<Mutex<Door>>,
}

/// Tokens are known by their digests, so that nothing here lets anybody in who reads it.
#[derive(Default)]
struct Door {
    links: Vec<blake3::Hash>,
    guests: HashMap<blake3::Hash, (Instant, Who)>,
}

/// How somebody came in.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// With the link: the one who started the gateway.
    Operator,
    /// With a key, which has to hold for as long as they look.
    Key(Secret),
}

impl Viewer {
    /// Nobody may look yet.
    #[must_use]
    pub fn new() -> Self {
        Viewer::default()
    }

    /// What a link carries that lets one person in, once; `None`: the system has no random numbers.
    #[must_use]
    pub fn invite(&self) -> Option<String> {
        let token = token()?;
        let mut door = self.door();
        if door.links.len() >= LINKS {
            door.links.remove(0);
        }
        door.links.push(blake3::hash(token.as_bytes()));
        Some(token)
    }

    /// Takes a link, which then is none any more.
    pub(crate) fn take(&self, link: &str) -> bool {
        let hash = blake3::hash(link.as_bytes());
        let mut door = self.door();
        let before = door.links.len();
        door.links.retain(|known| *known != hash);
        door.links.len() < before
    }

    /// Lets somebody in; what they show from now on.
    pub(crate) fn admit(&self, who: Who, now: Instant) -> Option<String> {
        let token = token()?;
        let mut door = self.door();
        door.guests.retain(|_, (since, _)| now.duration_since(*since) < DAY);
        if door.guests.len() >= GUESTS {
            let oldest = door.guests.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
                door.guests.remove(&oldest);
            }
        }
        door.guests.insert(blake3::hash(token.as_bytes()), (now, who));
        Some(token)
    }

    /// Who shows this.
    pub(crate) fn guest(&self, token: &str, now: Instant) -> Option<Who> {
        let door = self.door();
        let (since, who) = door.guests.get(&blake3::hash(token.as_bytes()))?;
        (now.duration_since(*since) < DAY).then(|| who.clone())
    }

    /// Whoever shows this goes.
    pub(crate) fn leave(&self, token: &str) {
        self.door().guests.remove(&blake3::hash(token.as_bytes()));
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer").field("guests", &self.door().guests.len()).finish_non_exhaustive()
    }
}

/// 256 bits that nobody can guess.
fn token() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_lets_one_person_in_once_and_for_a_day() {
        let (viewer, now) = (Viewer::new(), Instant::now());
        let link = viewer.invite().unwrap();
        assert!(!viewer.take("x") && !viewer.take(""));
        assert!(viewer.take(&link) && !viewer.take(&link));
        let token = viewer.admit(Who::Operator, now).unwrap();
        assert!(viewer.guest(&token, now + DAY / 2).is_some());
        assert!(viewer.guest(&token, now + DAY).is_none());
        assert!(viewer.guest(&link, now).is_none());
        viewer.leave(&token);
        assert!(viewer.guest(&token, now).is_none());
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let (viewer, now) = (Viewer::new(), Instant::now());
        let admit = |at: u64| viewer.admit(Who::Operator, now + Duration::from_secs(at)).unwrap();
        let all: Vec<String> = (0..=GUESTS as u64).map(admit).collect();
        assert!(viewer.guest(&all[0], now).is_none() && viewer.guest(&all[1], now).is_some());
        let links: Vec<String> = (0..=LINKS).map(|_| viewer.invite().unwrap()).collect();
        assert!(!viewer.take(&links[0]) && viewer.take(&links[1]));
    }
}
