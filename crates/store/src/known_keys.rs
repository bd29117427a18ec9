//! A list of the gateway keys that a task keeps fresh, so that requests do not read the store.

use crate::error::StoreError;
use crate::gateway_keys::{GatewayKeys, KeyList};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// The interval of reads. A revoked key stays valid for at most this long plus the duration of a read.
const PERIOD: Duration = Duration::from_secs(1);
/// The shortest time between two reads, even if many callers send unknown keys.
const FLOOR: Duration = Duration::from_millis(100);
/// A store that was not read for this long counts as down.
const LATE: Duration = Duration::from_secs(3);

/// The list of keys. A task reads it every second, and when a caller sends an unknown key. While the store is down,
/// the last list stays valid. The task ends when this is dropped.
#[derive(Debug)]
pub struct KeyWatch {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    latest: watch::Sender<Latest>,
    /// Notified when a caller sends an unknown key.
    wanted: Notify,
}

#[derive(Debug)]
struct Latest {
    list: Arc<KeyList>,
    /// The start of the read that gave the list.
    asked_at: Instant,
}

impl GatewayKeys {
    /// Reads the keys and keeps them up to date.
    ///
    /// # Errors
    /// When the first read fails.
    pub async fn watch(&self) -> Result<KeyWatch, StoreError> {
        let keys = self.clone();
        KeyWatch::start(move |before| {
            let keys = keys.clone();
            async move { keys.read_after(before).await }
        })
        .await
    }
}

impl KeyWatch {
    async fn start<R, F>(read: R) -> Result<Self, StoreError>
    where
        R: Fn(Option<Arc<KeyList>>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Arc<KeyList>, StoreError>> + Send + 'static,
    {
        let asked_at = Instant::now();
        let list = read(None).await?;
        let latest = watch::Sender::new(Latest { list, asked_at });
        let shared = Arc::new(Shared { latest, wanted: Notify::new() });
        let task = tokio::spawn(keep_fresh(Arc::clone(&shared), read));
        Ok(KeyWatch { shared, task })
    }

    /// The list of the last read.
    #[must_use]
    pub fn list(&self) -> Arc<KeyList> {
        Arc::clone(&self.shared.latest.borrow().list)
    }

    /// Whether the store answers and its file is still the opened one.
    #[must_use]
    pub fn is_up(&self) -> bool {
        let latest = self.shared.latest.borrow();
        latest.asked_at.elapsed() < LATE && !latest.list.is_displaced()
    }

    /// Waits until the list is new enough to contain a key that was just created. A list of the last tenth of a
    /// second is. The store may never answer, so callers need a timeout.
    pub async fn renewed(&self) {
        let mut latest = self.shared.latest.subscribe();
        if latest.borrow().asked_at.elapsed() < FLOOR {
            return;
        }
        let called_at = Instant::now();
        self.shared.wanted.notify_one();
        // This cannot fail, because the sender still exists.
        drop(latest.wait_for(|latest| latest.asked_at >= called_at).await);
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep_fresh<R, F>(shared: Arc<Shared>, read: R)
where
    R: Fn(Option<Arc<KeyList>>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Arc<KeyList>, StoreError>> + Send + 'static,
{
    let mut asked_at = Instant::now();
    loop {
        if timeout(PERIOD, shared.wanted.notified()).await.is_ok() {
            sleep_until(asked_at + FLOOR).await;
        }
        asked_at = Instant::now();
        let before = Arc::clone(&shared.latest.borrow().list);
        // A failed read is repeated after a second. Until then the last list stays valid.
        if let Ok(list) = read(Some(before)).await {
            shared.latest.send_replace(Latest { list, asked_at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use tokio::time::sleep;

    /// A store that counts its reads, and may stop answering.
    #[derive(Default)]
    struct Fake {
        reads: AtomicU32,
        is_frozen: AtomicBool,
    }

    async fn watch(fake: &Arc<Fake>) -> KeyWatch {
        let fake = Arc::clone(fake);
        let read = move |_| {
            let fake = Arc::clone(&fake);
            async move {
                let changes = fake.reads.fetch_add(1, Ordering::Relaxed).into();
                while fake.is_frozen.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(10)).await;
                }
                Ok(Arc::new(KeyList::with_changes(changes)))
            }
        };
        KeyWatch::start(read).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_list_is_read_every_second_and_holds_while_the_store_does_not_answer() {
        let fake = Arc::new(Fake::default());
        let keys = watch(&fake).await;
        sleep(Duration::from_millis(5_500)).await;
        assert_eq!(fake.reads.load(Ordering::Relaxed), 6);
        assert!(keys.is_up());
        let held = keys.list();
        fake.is_frozen.store(true, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert!(!keys.is_up());
        assert_eq!(keys.list(), held);
        fake.is_frozen.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
        assert!(keys.is_up());
        assert_ne!(keys.list(), held);
    }

    #[tokio::test(start_paused = true)]
    async fn t_3_keys_that_nobody_knows_make_ten_reads_a_second_at_most() {
        let fake = Arc::new(Fake::default());
        let keys = Arc::new(watch(&fake).await);
        sleep(FLOOR).await;
        let before = fake.reads.load(Ordering::Relaxed);
        let ends = Instant::now() + Duration::from_secs(10);
        let mut callers = Vec::new();
        for caller in 0..200_u64 {
            let keys = Arc::clone(&keys);
            callers.push(tokio::spawn(async move {
                while Instant::now() < ends {
                    keys.renewed().await;
                    sleep(Duration::from_millis(1 + caller % 7)).await;
                }
            }));
        }
        for caller in callers {
            caller.await.unwrap();
        }
        let reads = fake.reads.load(Ordering::Relaxed) - before;
        assert!((10..=101).contains(&reads), "{reads}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_brings_a_new_key_waits_for_a_read_that_began_after_it_came() {
        let fake = Arc::new(Fake::default());
        let keys = watch(&fake).await;
        sleep(Duration::from_millis(500)).await;
        keys.renewed().await;
        assert_eq!(keys.list().changes, 1);
        // The list is new, so there is no further read.
        keys.renewed().await;
        assert_eq!(keys.list().changes, 1);
    }
}
