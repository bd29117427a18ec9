//! Shares learned facts between the process and the store in one background task: sends the facts of this gateway's
//! refusals, and reads those of other gateways.
//!
//! If the store does not answer, the process keeps the facts that it has, and new facts wait.

use crate::observe::bus::Bus;
use crate::observe::progress::News;
use crate::store::learned::{Change, Learned, now};
use crate::store::vault::{Facts, VaultError, Vaults};
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::exchange::Repair;
use thinkthrough_store::Fact;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The interval between two reads of the store.
const PERIOD: Duration = Duration::from_secs(2);
/// The shortest time between two exchanges, even if many facts are learned.
const FLOOR: Duration = Duration::from_millis(100);

/// The task. Dropping this value ends it.
#[derive(Debug)]
pub(crate) struct Sharing {
    task: JoinHandle<()>,
    end: Option<oneshot::Sender<()>>,
    /// Whether the store was asked once.
    was_asked: watch::Receiver<bool>,
}

impl Sharing {
    pub(crate) fn start(learned: Arc<Learned>, vaults: Arc<dyn Vaults>, bus: Arc<Bus>) -> Self {
        let (end, ended) = oneshot::channel();
        let (asked, was_asked) = watch::channel(false);
        let task = tokio::spawn(share(learned, vaults, bus, asked, ended));
        Sharing { task, end: Some(end), was_asked }
    }

    /// Returns once the store was asked for the first time, or after `limit`.
    pub(crate) async fn asked(&self, limit: Duration) {
        let mut was_asked = self.was_asked.clone();
        // If the task is gone, waiting is of no use.
        drop(timeout(limit, was_asked.wait_for(|was_asked| *was_asked)).await);
    }

    /// Sends the remaining facts to the store, within `limit`.
    pub(crate) async fn end(mut self, limit: Duration) {
        drop(self.end.take());
        drop(timeout(limit, &mut self.task).await);
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn share(
    learned: Arc<Learned>,
    vaults: Arc<dyn Vaults>,
    bus: Arc<Bus>,
    asked: watch::Sender<bool>,
    mut ended: oneshot::Receiver<()>,
) {
    let (mut facts, mut is_over) = (None, false);
    loop {
        // The store may open late.
        facts = facts.or_else(|| vaults.facts());
        if let Some(facts) = &facts
            && exchange(&learned, &**facts).await.is_err()
        {
            bus.news(News::Unshared);
        }
        asked.send_replace(true);
        if is_over {
            return;
        }
        is_over = tokio::select! {
            _ = &mut ended => true,
            () = sleep(FLOOR) => tokio::select! {
                _ = &mut ended => true,
                () = learned.news.notified() => false,
                () = sleep(PERIOD) => false,
            },
        };
    }
}

/// Sends the new facts first, so that the facts read afterwards are complete.
async fn exchange(learned: &Learned, facts: &dyn Facts) -> Result<(), VaultError> {
    let told = tell(learned, facts).await;
    if let Some(all) = facts.read(now()).await? {
        learned.stored(all, now());
    }
    told
}

async fn tell(learned: &Learned, facts: &dyn Facts) -> Result<(), VaultError> {
    for change in learned.changes(now()) {
        match tell_one(&change, facts).await {
            Ok(is_kept) => learned.told(&change, is_kept),
            // Later changes would wait just as long.
            Err(error) => {
                learned.untold(&change);
                return Err(error);
            }
        }
    }
    Ok(())
}

async fn tell_one(change: &Change, facts: &dyn Facts) -> Result<bool, VaultError> {
    let Change { about, repair, at } = change.clone();
    match repair.and_then(Repair::fact) {
        Some(text) => facts.put(Fact { about, text, since: at }).await,
        None => facts.remove(about, at).await.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::log::Log;
    use crate::observe::spans::Traces;
    use crate::store::vault::{Later, Vault};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_store::About;

    /// A store that several gateways share. It may hang or fail.
    #[derive(Clone, Default)]
    struct Fake(Arc<Shared>);

    #[derive(Default)]
    struct Shared {
        facts: Mutex<Vec<Fact>>,
        reads: AtomicU32,
        is_open: AtomicBool,
        is_frozen: AtomicBool,
        is_broken: AtomicBool,
    }

    impl Fake {
        async fn mood(&self) -> Result<(), VaultError> {
            while self.0.is_frozen.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(10)).await;
            }
            match self.0.is_broken.load(Ordering::Relaxed) {
                true => Err(VaultError("as it was told".to_owned())),
                false => Ok(()),
            }
        }
    }

    impl Facts for Fake {
        fn put(&self, fact: Fact) -> Later<'_, bool> {
            Box::pin(async move {
                self.mood().await?;
                let mut facts = self.0.facts.lock().unwrap();
                facts.retain(|it| it.about != fact.about);
                facts.push(fact);
                Ok(true)
            })
        }

        fn remove(&self, about: About, _: u64) -> Later<'_, ()> {
            Box::pin(async move {
                self.mood().await?;
                self.0.facts.lock().unwrap().retain(|it| it.about != about);
                Ok(())
            })
        }

        fn read(&self, _: u64) -> Later<'_, Option<Vec<Fact>>> {
            Box::pin(async move {
                self.0.reads.fetch_add(1, Ordering::Relaxed);
                self.mood().await?;
                Ok(Some(self.0.facts.lock().unwrap().clone()))
            })
        }
    }

    impl Vaults for Fake {
        fn of<'a>(&'a self, _: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
            Box::pin(async { Err(VaultError("nobody asks".to_owned())) })
        }

        fn pass_through(&self, _: &str, _: &str) -> Option<Tenant> {
            None
        }

        fn facts(&self) -> Option<Arc<dyn Facts>> {
            self.0.is_open.load(Ordering::Relaxed).then(|| Arc::new(self.clone()) as _)
        }
    }

    fn start(fake: &Fake) -> (Arc<Learned>, Arc<Bus>, Sharing) {
        let learned = Arc::<Learned>::default();
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        let vaults = Arc::new(fake.clone());
        let sharing = Sharing::start(Arc::clone(&learned), vaults, Arc::clone(&bus));
        (learned, bus, sharing)
    }

    fn model(name: &str) -> About {
        let (endpoint, model) = ("https://e".to_owned(), name.to_owned());
        About { tenant: Tenant::local(), endpoint, model }
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_learns_the_other_knows_and_what_one_forgets_too() {
        let fake = Fake::default();
        fake.0.is_open.store(true, Ordering::Relaxed);
        let ((one, ..), (two, ..)) = (&start(&fake), &start(&fake));
        one.add(model("m"), Repair::Sign, now(), true);
        one.add(model("own"), Repair::Sign, now(), false);
        sleep(PERIOD * 2).await;
        assert_eq!(two.of(&model("m"), now()), Some(Repair::Sign));
        assert_eq!(two.of(&model("own"), now()), None);
        two.forget(&model("m"), now());
        sleep(PERIOD * 2).await;
        assert_eq!(one.of(&model("m"), now()), None);
        assert_eq!(one.of(&model("own"), now()), Some(Repair::Sign));
    }

    #[tokio::test(start_paused = true)]
    async fn p_1_a_store_that_is_away_or_stands_still_holds_up_nobody_and_loses_nothing() {
        let fake = Fake::default();
        let (learned, bus, sharing) = start(&fake);
        learned.add(model("early"), Repair::Sign, now(), true);
        sharing.asked(Duration::from_secs(1)).await;
        fake.0.is_open.store(true, Ordering::Relaxed);
        fake.0.is_frozen.store(true, Ordering::Relaxed);
        sleep(PERIOD * 2).await;
        // None of these calls blocks.
        for n in 0..1_000 {
            learned.add(model(&n.to_string()), Repair::Sign, now(), true);
            assert_eq!(learned.of(&model("early"), now()), Some(Repair::Sign));
        }
        sleep(PERIOD * 20).await;
        assert_eq!(fake.0.facts.lock().unwrap().len(), 0);
        fake.0.is_broken.store(true, Ordering::Relaxed);
        fake.0.is_frozen.store(false, Ordering::Relaxed);
        sleep(PERIOD * 20).await;
        let reads = fake.0.reads.load(Ordering::Relaxed);
        assert!((15..25).contains(&reads), "{reads}");
        let metrics = bus.metrics.text(false);
        let failed =
            metrics.lines().find_map(|it| it.strip_prefix("thinkthrough_facts_failed_total "));
        assert_eq!(failed.and_then(|it| it.parse().ok()), Some(reads), "{metrics}");
        assert_eq!(learned.of(&model("999"), now()), Some(Repair::Sign));
        fake.0.is_broken.store(false, Ordering::Relaxed);
        sleep(PERIOD * 2).await;
        assert_eq!(fake.0.facts.lock().unwrap().len(), 1_001);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_takes_along_what_was_just_learned_and_waits_for_no_store_for_long() {
        let fake = Fake::default();
        fake.0.is_open.store(true, Ordering::Relaxed);
        let (learned, _, sharing) = start(&fake);
        sharing.asked(Duration::from_secs(1)).await;
        learned.add(model("m"), Repair::Sign, now(), true);
        sharing.end(Duration::from_secs(1)).await;
        assert_eq!(fake.0.facts.lock().unwrap().len(), 1);
        let (_, _, sharing) = start(&fake);
        fake.0.is_frozen.store(true, Ordering::Relaxed);
        let began = tokio::time::Instant::now();
        sharing.asked(Duration::from_secs(1)).await;
        sharing.end(Duration::from_secs(1)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(2));
    }
}
