//! The laws of a fair pool, under random schedules.

use super::turns::Turns;
use super::{Bounds, Denied, FairPool, Holder, PoolGauges};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Random numbers (xorshift), the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides).unwrap()
    }
}

fn tenant(number: usize) -> Holder {
    Holder::Tenant(format!("t{number}"))
}

fn holder(dice: &mut Dice) -> Holder {
    match dice.roll(6) {
        0 => Holder::Operator,
        number => tenant(number),
    }
}

/// An item as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    holder: Holder,
    bytes: usize,
    is_new: bool,
    /// New items of each tenant that started while this one waited with a free place before it.
    passed: BTreeMap<Holder, usize>,
}

/// Plays one random schedule, and checks all laws after each step.
struct Play {
    bounds: Bounds,
    turns: Turns,
    dice: Dice,
    ids: u64,
    waiting: BTreeMap<u64, Known>,
    running: BTreeMap<u64, Known>,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed * 0x9e37_79b9 + 1);
        let bounds = Bounds {
            places: 2 + dice.roll(4),
            operator: dice.roll(2),
            long: 50,
            bytes: 400 + dice.roll(400),
        };
        let (waiting, running) = (BTreeMap::new(), BTreeMap::new());
        Play { bounds, turns: Turns::new(bounds), dice, ids: 0, waiting, running }
    }

    fn step(&mut self) {
        let any = |dice: &mut Dice, of: &BTreeMap<u64, Known>| {
            let at = dice.roll(of.len().max(1) as u64);
            of.keys().nth(at).copied()
        };
        match self.dice.roll(8) {
            0..=3 => {
                let (holder, bytes) = (holder(&mut self.dice), self.dice.roll(100));
                self.join(holder, bytes, true);
            }
            4 => {
                if let Some(id) = any(&mut self.dice, &self.waiting) {
                    let known = self.waiting.remove(&id).unwrap();
                    assert!(self.turns.cancel(&known.holder, id));
                    assert!(!self.turns.cancel(&known.holder, id), "it left its queue");
                }
            }
            _ => {
                if let Some(id) = any(&mut self.dice, &self.running) {
                    let known = self.running.remove(&id).unwrap();
                    self.turns.leave(&known.holder, known.bytes);
                    if self.dice.roll(3) == 0 {
                        self.join(known.holder, known.bytes, false);
                    }
                }
            }
        }
        self.advance();
        self.check();
    }

    fn join(&mut self, holder: Holder, bytes: usize, is_new: bool) {
        self.ids += 1;
        self.turns.join(&holder, (self.ids, bytes), is_new);
        self.waiting.insert(self.ids, Known { holder, bytes, is_new, passed: BTreeMap::new() });
    }

    fn advance(&mut self) {
        loop {
            let could = self.could_start();
            let Some((holder, item)) = self.turns.start_next() else {
                assert!(could.is_empty(), "a place stays free although {could:?} wait");
                break;
            };
            let known = self.waiting.remove(&item.id).unwrap();
            assert!(could.contains(&item.id) && known.holder == holder, "{item:?}");
            if known.is_new && holder != Holder::Operator {
                self.pass(&holder, &could);
            }
            self.running.insert(item.id, known);
        }
        while let Some(id) = self.turns.overflow() {
            let known = self.waiting.remove(&id).unwrap();
            assert!(known.is_new, "an item that has begun is never refused");
            let others = self.waiting_bytes();
            let most = others.values().copied().max().unwrap_or(0);
            let its = others.get(&known.holder).copied().unwrap_or(0) + known.bytes;
            assert!(its >= most, "the longest queue loses its newest item");
        }
    }

    /// A new item of a tenant starts while these others could, too.
    fn pass(&mut self, holder: &Holder, could: &BTreeSet<u64>) {
        for (id, other) in &mut self.waiting {
            if could.contains(id) && other.holder != *holder {
                let times = other.passed.entry(holder.clone()).or_default();
                *times += 1;
                assert!(*times <= 1, "{holder:?} goes before {other:?} twice");
            }
        }
    }

    fn held(&self, is_it: impl Fn(&Known) -> bool) -> usize {
        self.running.values().filter(|known| is_it(known)).count()
    }

    /// The first items of all queues for which there is a place, found by the letter of the rules.
    fn could_start(&self) -> BTreeSet<u64> {
        let mut first: BTreeMap<(&Holder, bool), u64> = BTreeMap::new();
        for (id, known) in &self.waiting {
            first.entry((&known.holder, known.is_new)).or_insert(*id);
        }
        let Bounds { places, operator, long, .. } = self.bounds;
        let of_operator = self.held(|it| it.holder == Holder::Operator);
        let kept = operator.saturating_sub(of_operator);
        let free = places + operator - self.running.len();
        let may = |id: &u64| {
            let known = self.waiting.get(id).unwrap();
            let held = self.held(|it| it.holder == known.holder);
            match known.holder {
                Holder::Operator if kept > 0 => true,
                Holder::Operator => held - operator < free,
                Holder::Tenant(_) => {
                    let is_long = known.bytes > long;
                    let longs = self.held(|it| it.bytes > long);
                    held < free - kept && (!is_long || longs < places - 1)
                }
            }
        };
        first.into_values().filter(may).collect()
    }

    fn waiting_bytes(&self) -> BTreeMap<Holder, usize> {
        let mut all = BTreeMap::new();
        for known in self.waiting.values().filter(|known| known.is_new) {
            *all.entry(known.holder.clone()).or_default() += known.bytes;
        }
        all
    }

    fn check(&self) {
        let Bounds { places, operator, long, bytes } = self.bounds;
        assert_eq!(self.turns.held(), self.running.len());
        assert!(self.running.len() <= places + operator);
        let tenants = self.held(|it| it.holder != Holder::Operator);
        assert!(tenants <= places, "the operator's place is its own");
        assert!(self.held(|it| it.holder != Holder::Operator && it.bytes > long) < places);
        let waiting: usize = self.waiting_bytes().values().sum();
        assert!(waiting <= bytes, "{waiting} bytes wait");
        let operator_waits =
            self.waiting.values().any(|known| known.holder == Holder::Operator && known.is_new);
        let held = self.held(|it| it.holder == Holder::Operator);
        assert!(held >= operator || !operator_waits, "the operator waits before a free place");
    }
}

#[test]
fn turns_are_fair_and_bounds_hold_in_every_schedule() {
    for seed in 0..100 {
        let mut play = Play::new(seed);
        (0..400).for_each(|_| play.step());
        // Every item gets its turn in the end.
        while let Some(id) = play.running.keys().next().copied() {
            let known = play.running.remove(&id).unwrap();
            play.turns.leave(&known.holder, known.bytes);
            play.advance();
        }
        assert!(play.waiting.is_empty(), "{seed}: {:?}", play.waiting);
    }
}

fn pool(places: usize, bytes: usize) -> FairPool {
    let bounds = Bounds { places, operator: 1, long: 1_000, bytes };
    FairPool::new(bounds, Duration::from_secs(10), PoolGauges::default())
}

#[tokio::test(start_paused = true)]
async fn a_short_item_of_another_tenant_waits_for_none_of_four_long_ones() {
    let pool = pool(2, 1 << 20);
    let long = pool.enter(&tenant(1), 30_000).await.unwrap();
    let others: Vec<_> = (2..=4)
        .map(|number| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.enter(&tenant(number), 30_000).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(pool.enter(&tenant(9), 400).await.is_ok());
    assert!(others.iter().all(|other| !other.is_finished()));
    drop(long);
    tokio::task::yield_now().await;
    assert_eq!(others.iter().filter(|other| other.is_finished()).count(), 1);
    others.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_leaves_the_queue_and_whoever_waits_too_long_is_refused() {
    let pool = pool(1, 1 << 20);
    let held = pool.enter(&tenant(1), 1).await.unwrap();
    let gives_up = pool.clone();
    let gives_up = tokio::spawn(async move { gives_up.enter(&tenant(2), 1).await });
    tokio::task::yield_now().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    assert_eq!(pool.enter(&tenant(3), 1).await.unwrap_err(), Denied::Late);
    assert!(pool.take(&Holder::Operator).is_ok(), "the operator's place is free");
    drop(held);
    assert!(pool.take(&tenant(4)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_tenant_with_the_longest_queue_is_refused_first() {
    let pool = pool(1, 100);
    let held = pool.enter(&tenant(1), 1).await.unwrap();
    let enter = |number: usize, bytes: usize| {
        let pool = pool.clone();
        tokio::spawn(async move { pool.enter(&tenant(number), bytes).await.map(drop) })
    };
    let greedy: Vec<_> = (0..3).map(|_| enter(2, 30)).collect();
    tokio::task::yield_now().await;
    let modest = enter(3, 30);
    tokio::task::yield_now().await;
    drop(held);
    let mut came = Vec::new();
    for one in greedy {
        came.push(one.await.unwrap());
    }
    assert_eq!(came, [Ok(()), Ok(()), Err(Denied::Full)]);
    assert_eq!(modest.await.unwrap(), Ok(()));
}

#[test]
fn one_tenant_never_takes_all_places_and_the_operator_has_one() {
    let pool = pool(127, 0);
    let mut all = Vec::new();
    let mut take = |number: usize| {
        let before = all.len();
        while let Ok(place) = pool.take(&tenant(number)) {
            all.push(place);
        }
        all.len() - before
    };
    assert_eq!([take(1), take(2), take(3)], [64, 32, 16]);
    assert!(pool.take(&Holder::Operator).is_ok());
}
