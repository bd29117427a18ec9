//! Room in bytes for texts that wait to be masked. Tenants share it as they share places.

use super::turns::Holder;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Room for so many bytes. No holder takes more of it than it leaves free for others.
#[derive(Debug)]
pub(crate) struct Room {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    each: BTreeMap<Holder, usize>,
}

impl Room {
    pub(crate) fn new(limit: usize) -> Self {
        Room { limit, taken: Mutex::default() }
    }

    /// Takes room for so many bytes, if there is enough.
    pub(crate) fn take(&self, holder: &Holder, bytes: usize) -> bool {
        let mut taken = self.taken();
        let own = taken.each.get(holder).map_or(0, |own| *own);
        let free = self.limit.saturating_sub(taken.all);
        if bytes > 0 && own.saturating_add(bytes.saturating_mul(2)) > free {
            return false;
        }
        taken.all += bytes;
        *taken.each.entry(holder.clone()).or_default() += bytes;
        true
    }

    /// Gives so many bytes back that were taken.
    pub(crate) fn give(&self, holder: &Holder, bytes: usize) {
        let mut taken = self.taken();
        taken.all -= bytes;
        if let Some(own) = taken.each.get_mut(holder) {
            *own -= bytes;
            if *own == 0 {
                taken.each.remove(holder);
            }
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_leaves_as_much_as_it_takes() {
        let room = Room::new(100);
        let tenant = |name: &str| Holder::Tenant(name.to_owned());
        assert!(room.take(&tenant("a"), 40) && !room.take(&tenant("a"), 11));
        assert!(room.take(&tenant("a"), 10));
        assert!(room.take(&tenant("b"), 25) && !room.take(&tenant("b"), 1));
        assert!(room.take(&tenant("c"), 12));
        room.give(&tenant("a"), 50);
        assert!(room.take(&tenant("b"), 19));
        room.give(&tenant("b"), 44);
        room.give(&tenant("c"), 12);
        assert_eq!(room.taken().all, 0);
        assert!(room.taken().each.is_empty());
    }
}
