//! Random names that cannot be guessed.

use std::sync::{Mutex, OnceLock, PoisonError};
use thinkthrough_core::restore::Secret;

/// The bytes of one name.
const NAME: usize = 16;
/// The number of names that are drawn at once, because one call to the system costs as much for one.
const DRAWN: usize = 64;

/// Drawn names that were not used yet.
static LEFT: Mutex<Vec<[u8; NAME]>> = Mutex::new(Vec::new());

/// The secret for session names of tenants whose own secret is unknown. It is the same for the whole process.
pub(crate) fn secret() -> Secret {
    static SECRET: OnceLock<Secret> = OnceLock::new();
    let draw = || {
        let mut bytes = [0; 32];
        // Without randomness the secret is zeros, as for names.
        getrandom::fill(&mut bytes).unwrap_or_default();
        Secret::new(bytes)
    };
    SECRET.get_or_init(draw).clone()
}

/// A name that no other request has.
pub(crate) fn random_id() -> String {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if left.is_empty() {
        let mut bytes = [0; NAME * DRAWN];
        // A system without randomness gives zeros; it could not have opened its store either.
        getrandom::fill(&mut bytes).unwrap_or_default();
        left.extend(bytes.as_chunks().0);
    }
    let nibbles = left.pop().unwrap_or_default().into_iter().flat_map(|it| [it >> 4, it & 15]);
    let mut name = String::with_capacity(2 * NAME);
    name.extend(nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)));
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_is_given_twice() {
        let names: BTreeSet<String> = (0..DRAWN * 5).map(|_| random_id()).collect();
        assert_eq!(names.len(), DRAWN * 5);
        assert!(names.iter().all(|name| name.len() == 32));
    }
}
