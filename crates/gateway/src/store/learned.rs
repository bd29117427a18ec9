//! Facts about models that refusals taught, each valid for a day.
//!
//! Requests read the facts that this process knows, without any wait. New facts are queued here for the store, where
//! other gateways and the next process read them (`sharing.rs`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_core::exchange::Repair;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_store::{About, FACT_AGE, Fact};
use tokio::sync::Notify;

/// The most lessons in memory, and the most that wait for the store. The oldest are dropped.
const MOST: usize = 10_000;

/// The maximum number of refused thoughts per model. The oldest are dropped.
const MOST_MARKS: usize = 1_000;

/// The key of a lesson: tenant, endpoint and model.
pub(crate) fn about(tenant: Tenant, target: &Target) -> About {
    About { tenant, endpoint: target.base_url.clone(), model: target.model.clone() }
}

/// Unix milliseconds.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The lessons that a process knows.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    state: Mutex<State>,
    /// Signals that a change waits for the store.
    pub(crate) news: Notify,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<About, Lesson>,
    /// Changes that the store has not received. An entry without a known lesson deletes the lesson in the store.
    waiting: HashMap<About, Waiting>,
    /// Marks of refused thoughts, with the time of the refusal. They are not stored.
    refused: HashMap<About, BTreeMap<String, u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Lesson {
    repair: Repair,
    since: u64,
    /// The store has it. If it disappears from the store, it is forgotten here as well.
    is_stored: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: u64,
    /// The number of failed writes.
    tries: u32,
}

/// A change to write to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) about: About,
    /// The repair that was learned; `None` deletes the lesson.
    pub(crate) repair: Option<Repair>,
    pub(crate) at: u64,
}

impl Learned {
    /// The known repair, if it is still valid.
    pub(crate) fn of(&self, about: &About, now: u64) -> Option<Repair> {
        let lesson = self.lock().known.get(about).copied();
        lesson.filter(|lesson| holds(lesson.since, now)).map(|lesson| lesson.repair)
    }

    /// All valid lessons, the latest first, with their keys and times.
    pub(crate) fn all(&self, now: u64) -> Vec<(About, Repair, u64)> {
        let state = self.lock();
        let known = state.known.iter().filter(|(_, lesson)| holds(lesson.since, now));
        let mut all: Vec<_> =
            known.map(|(about, it)| (about.clone(), it.repair, it.since)).collect();
        all.sort_unstable_by_key(|(_, _, since)| std::cmp::Reverse(*since));
        all
    }

    /// Learns that a repair helped. If the request must not be stored, only this process knows the lesson.
    pub(crate) fn add(&self, about: About, repair: Repair, now: u64, is_kept: bool) {
        let mut state = self.lock();
        let State { known, waiting, .. } = &mut *state;
        make_room(known, &about, |lesson| lesson.since);
        known.insert(about.clone(), Lesson { repair, since: now, is_stored: false });
        if is_kept {
            make_room(waiting, &about, |waiting| waiting.at);
            waiting.insert(about, Waiting { at: now, tries: 0 });
            self.news.notify_one();
        }
    }

    /// Remembers thoughts that a model refused.
    pub(crate) fn refuse(&self, about: About, marks: &BTreeSet<String>, now: u64) {
        let mut state = self.lock();
        let newest = |marks: &BTreeMap<String, u64>| marks.values().max().copied().unwrap_or(0);
        make_room(&mut state.refused, &about, newest);
        let known = state.refused.entry(about).or_default();
        known.retain(|_, since| holds(*since, now));
        known.extend(marks.iter().map(|mark| (mark.clone(), now)));
        while known.len() > MOST_MARKS {
            let oldest =
                known.iter().min_by_key(|(_, since)| **since).map(|(mark, _)| mark.clone());
            known.remove(&oldest.unwrap_or_default());
        }
    }

    /// The marks of the thoughts that a model refused.
    pub(crate) fn refused(&self, about: &About, now: u64) -> Vec<String> {
        let state = self.lock();
        let known = state.refused.get(about).into_iter().flatten();
        known.filter(|(_, since)| holds(**since, now)).map(|(mark, _)| mark.clone()).collect()
    }

    /// Forgets a lesson that is no longer valid.
    pub(crate) fn forget(&self, about: &About, now: u64) {
        let mut state = self.lock();
        if state.known.remove(about).is_some() {
            make_room(&mut state.waiting, about, |waiting| waiting.at);
            state.waiting.insert(about.clone(), Waiting { at: now, tries: 0 });
            self.news.notify_one();
        }
    }

    /// The changes for the store. Changes that it failed to take before come last.
    pub(crate) fn changes(&self, now: u64) -> Vec<Change> {
        let mut state = self.lock();
        let State { known, waiting, .. } = &mut *state;
        // The store deletes outdated facts by itself.
        waiting.retain(|_, waiting| holds(waiting.at, now));
        let mut all: Vec<_> = waiting.iter().collect();
        all.sort_unstable_by_key(|(_, waiting)| (waiting.tries, waiting.at));
        let changes = all.into_iter().map(|(about, waiting)| {
            let repair = known.get(about).map(|lesson| lesson.repair);
            Change { about: about.clone(), repair, at: waiting.at }
        });
        changes.collect()
    }

    /// Notes that the store received a change. `is_kept` is false if the tenant was erased, and then the lesson is
    /// forgotten.
    pub(crate) fn told(&self, change: &Change, is_kept: bool) {
        let mut state = self.lock();
        let State { known, waiting, .. } = &mut *state;
        if waiting.get(&change.about).is_some_and(|it| it.at == change.at) {
            waiting.remove(&change.about);
        }
        match known.get_mut(&change.about).filter(|lesson| lesson.since == change.at) {
            Some(lesson) if is_kept => lesson.is_stored = true,
            Some(_) => drop(known.remove(&change.about)),
            None => {}
        }
    }

    /// Notes a failed write. The change is tried again after the others.
    pub(crate) fn untold(&self, change: &Change) {
        if let Some(waiting) = self.lock().waiting.get_mut(&change.about) {
            waiting.tries = waiting.tries.saturating_add(1);
        }
    }

    /// Replaces the stored lessons by these facts. Ignores facts that only a newer version understands.
    pub(crate) fn stored(&self, mut facts: Vec<Fact>, now: u64) {
        facts.sort_unstable_by_key(|fact| std::cmp::Reverse(fact.since));
        let mut state = self.lock();
        let State { known, waiting, .. } = &mut *state;
        known.retain(|_, lesson| !lesson.is_stored && holds(lesson.since, now));
        for Fact { about, text, since } in facts {
            let is_older = waiting.contains_key(&about) || known.contains_key(&about);
            let repair = Repair::taught(&text).filter(|_| !is_older && known.len() < MOST);
            if let Some(repair) = repair {
                known.insert(about, Lesson { repair, since, is_stored: true });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Also rejects lessons whose time is a day or more in the future, because that clock is wrong.
fn holds(since: u64, now: u64) -> bool {
    u128::from(now.abs_diff(since)) < FACT_AGE.as_millis()
}

/// Removes the oldest entry if there is no room for a new one.
fn make_room<T>(all: &mut HashMap<About, T>, new: &About, at: impl Fn(&T) -> u64) {
    if all.len() < MOST || all.contains_key(new) {
        return;
    }
    let oldest = all.iter().min_by_key(|(_, it)| at(it)).map(|(about, _)| about.clone());
    oldest.iter().for_each(|oldest| drop(all.remove(oldest)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;
    const NOW: u64 = 1_800_000_000_000;

    fn of(tenant: &str, model: &str) -> About {
        let (endpoint, model) = ("e".to_owned(), model.to_owned());
        About { tenant: Tenant::named(tenant).unwrap(), endpoint, model }
    }

    fn fact(tenant: &str, text: &str, since: u64) -> Fact {
        Fact { about: of(tenant, "m"), text: text.to_owned(), since }
    }

    #[test]
    fn a_refused_thought_is_remembered_for_a_day_and_for_whom_it_was_refused() {
        let learned = Learned::default();
        let marks = |all: &[&str]| all.iter().map(|mark| (*mark).to_owned()).collect();
        learned.refuse(of("a", "m"), &marks(&["one"]), NOW);
        learned.refuse(of("a", "m"), &marks(&["two"]), NOW + 1);
        assert_eq!(learned.refused(&of("a", "m"), NOW + 1), ["one", "two"]);
        assert_eq!(learned.refused(&of("a", "m"), NOW + DAY), ["two"]);
        assert!(learned.refused(&of("a", "other"), NOW).is_empty());
        assert!(learned.refused(&of("b", "m"), NOW).is_empty());
        let many = (0..=MOST_MARKS).map(|at| at.to_string()).collect();
        learned.refuse(of("a", "m"), &many, NOW + DAY);
        assert_eq!(learned.refused(&of("a", "m"), NOW + DAY).len(), MOST_MARKS);
    }

    #[test]
    fn a_lesson_holds_for_a_day_and_for_whom_it_was_learned() {
        let learned = Learned::default();
        learned.add(of("a", "m"), Repair::Sign, NOW, true);
        assert_eq!(learned.of(&of("a", "m"), NOW + DAY - 1), Some(Repair::Sign));
        assert_eq!(learned.of(&of("a", "m"), NOW + DAY), None);
        assert_eq!(learned.of(&of("a", "m"), NOW - DAY), None, "the clock was wrong");
        assert_eq!(learned.of(&of("b", "m"), NOW), None);
        assert_eq!(learned.of(&of("a", "n"), NOW), None);
        learned.forget(&of("a", "m"), NOW);
        assert_eq!(learned.of(&of("a", "m"), NOW), None);
    }

    #[test]
    fn the_store_is_told_what_was_learned_and_forgotten_until_it_takes_it() {
        let learned = Learned::default();
        learned.add(of("a", "m"), Repair::Sign, NOW, true);
        learned.add(of("b", "m"), Repair::Forbid, NOW + 1, true);
        learned.add(of("c", "m"), Repair::Sign, NOW + 2, false);
        let change = |tenant: &str, repair, at| Change { about: of(tenant, "m"), repair, at };
        let (sign, forbid) =
            (change("a", Some(Repair::Sign), NOW), change("b", Some(Repair::Forbid), NOW + 1));
        assert_eq!(learned.changes(NOW), [sign.clone(), forbid.clone()]);
        learned.untold(&sign);
        assert_eq!(learned.changes(NOW), [forbid.clone(), sign.clone()]);
        learned.told(&forbid, true);
        // It was forgotten during the write to the store.
        learned.forget(&of("a", "m"), NOW + 3);
        learned.told(&sign, true);
        assert_eq!(learned.changes(NOW), [change("a", None, NOW + 3)]);
        learned.told(&change("a", None, NOW + 3), true);
        // The store does not keep lessons of an erased tenant.
        learned.add(of("d", "m"), Repair::Sign, NOW, true);
        learned.told(&change("d", Some(Repair::Sign), NOW), false);
        assert_eq!((learned.changes(NOW), learned.of(&of("d", "m"), NOW)), (vec![], None));
        learned.forget(&of("nobody", "m"), NOW);
        assert_eq!(learned.changes(NOW), []);
        learned.add(of("a", "m"), Repair::Sign, NOW, true);
        assert_eq!(learned.changes(NOW + DAY), [], "nobody wants to know that any more");
    }

    #[test]
    fn what_stands_in_the_store_is_known_beside_what_it_was_not_told_yet() {
        let learned = Learned::default();
        learned.add(of("a", "m"), Repair::Sign, NOW, true);
        learned.add(of("b", "m"), Repair::Sign, NOW, false);
        let facts = |names: &[&str]| -> Vec<Fact> {
            names.iter().map(|name| fact(name, "forbid", NOW)).collect()
        };
        let known =
            |learned: &Learned| ["a", "b", "c", "d"].map(|name| learned.of(&of(name, "m"), NOW));
        let (sign, forbid) = (Some(Repair::Sign), Some(Repair::Forbid));
        learned.stored(facts(&["a", "b", "c"]), NOW);
        assert_eq!(known(&learned), [sign, sign, forbid, None]);
        // A pending change overrides the store, even if it deletes the lesson.
        learned.forget(&of("c", "m"), NOW);
        learned.stored(facts(&["c", "d"]), NOW);
        assert_eq!(known(&learned), [sign, sign, None, forbid]);
        learned.changes(NOW).iter().for_each(|change| learned.told(change, true));
        // Lessons that disappeared from the store are forgotten.
        learned.stored(facts(&[]), NOW);
        assert_eq!(known(&learned), [None, sign, None, None]);
        let newer = fact("a", "return thoughts of a newer version", NOW);
        learned.stored(vec![newer, fact("c", "return reasoning_content=", NOW)], NOW);
        let returns = Some(Repair::Return(Some(("reasoning_content", ""))));
        assert_eq!(known(&learned), [None, sign, returns, None]);
    }

    #[test]
    fn of_too_many_the_oldest_go() {
        let learned = Learned::default();
        let more = |beginning: &str, at: u64| {
            for n in 0..6_000 {
                learned.add(of("a", &format!("{beginning}{n}")), Repair::Sign, at + n, true);
            }
        };
        more("old", NOW - 10_000);
        more("new", NOW);
        assert_eq!(learned.of(&of("a", "old1999"), NOW), None);
        assert_eq!(learned.of(&of("a", "old2000"), NOW), Some(Repair::Sign));
        let changes = learned.changes(NOW);
        assert_eq!((changes.len(), changes[0].about.model.as_str()), (MOST, "old2000"));
        changes.iter().for_each(|change| learned.told(change, true));
        let facts = (0..MOST as u64 + 1).map(|n| Fact {
            about: of("b", &n.to_string()),
            text: "sign".to_owned(),
            since: NOW + n,
        });
        learned.stored(facts.collect(), NOW);
        assert_eq!(learned.lock().known.len(), MOST);
        assert_eq!(learned.of(&of("b", "0"), NOW), None);
    }
}
