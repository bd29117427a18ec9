use super::*;
use crate::store::vault::{Later, Vault, VaultError};
use std::sync::atomic::{AtomicUsize, Ordering};
use thinkthrough_limits::{Limit, RateGiven, RateLedger, RateReport};

fn limits(requests: u64, tokens: u64) -> RateLimits {
    RateLimits {
        requests_per_minute: Limit::from_config(requests),
        tokens_per_minute: Limit::from_config(tokens),
    }
}

#[tokio::test(start_paused = true)]
async fn req_limits_what_a_request_reserved_is_free_once_it_is_known_to_have_cost_less() {
    let windows = Arc::new(Limits::default());
    let limits = limits(0, 100);
    let admit = |tokens| windows.admit(alice(), &limits, tokens, None);
    let first = admit(80).await.unwrap();
    let refused = admit(30).await.unwrap_err();
    assert!(matches!(refused, Limited::Reached(RateRefusal { limit: 100, .. })), "{refused:?}");
    first.settle(Some(70));
    let second = admit(30).await.unwrap();
    assert!(admit(1).await.is_err());
    // It was dropped before it cost any tokens.
    drop(second);
    admit(30).await.unwrap().settle(None);
    assert!(admit(1).await.is_err());
    // Another provider has a window of its own.
    let other = Whose::Provider("alice".to_owned());
    assert!(windows.admit(other, &limits, 100, None).await.is_ok());
}

/// A store with one ledger, and the delay of its answer to each question; `None` if no answer comes.
struct Slow {
    ledger: Mutex<RateLedger>,
    began: Instant,
    asked: AtomicUsize,
    takes: fn(usize) -> Option<Duration>,
}

impl Slow {
    fn store(takes: fn(usize) -> Option<Duration>) -> Arc<dyn Vaults> {
        let (ledger, asked) = (Mutex::default(), AtomicUsize::new(0));
        Arc::new(Store(Arc::new(Slow { ledger, began: Instant::now(), asked, takes })))
    }
}

impl SharedPlaces for Slow {
    fn report<'a>(
        &'a self,
        _: &'a LedgerKey,
        limits: &'a RateLimits,
        holder: &'a str,
        report: RateReport,
    ) -> Later<'a, RateGiven> {
        Box::pin(async move {
            let Some(takes) = (self.takes)(self.asked.fetch_add(1, Ordering::Relaxed)) else {
                return std::future::pending().await;
            };
            sleep(takes / 2).await;
            let now = u64::try_from(self.began.elapsed().as_millis()).unwrap();
            let given = self.ledger.lock().unwrap().report(limits, holder, report, now + 1);
            sleep(takes / 2).await;
            Ok(given)
        })
    }
}

struct Store(Arc<Slow>);

impl Vaults for Store {
    fn of<'a>(&'a self, _: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
        Box::pin(async { Err(VaultError("it has places only".to_owned())) })
    }

    fn pass_through(&self, _: &str, _: &str) -> Option<Tenant> {
        None
    }

    fn places(&self) -> Option<Arc<dyn SharedPlaces>> {
        Some(Arc::clone(&self.0) as Arc<dyn SharedPlaces>)
    }
}

fn alice() -> Whose {
    Whose::Key(Tenant::named("alice").unwrap())
}

/// A store that takes 1.3 s for some of its answers.
fn late_now_and_then(asked: usize) -> Option<Duration> {
    let is_late = asked % 7 == 2 || asked % 11 < 2;
    Some(Duration::from_millis(if is_late { 1_300 } else { 3 }))
}

#[tokio::test(start_paused = true)]
async fn req_limits_no_minute_has_more_than_the_limit_while_a_store_is_late_now_and_then() {
    let (store, limits) = (Slow::store(late_now_and_then), limits(60, 0));
    let gateways = [0, 1].map(|_| Arc::new(Limits::default()));
    let mut asking = Vec::new();
    for one in 0..1_500 {
        let (gateway, store) = (Arc::clone(&gateways[one % 2]), Arc::clone(&store));
        asking.push(tokio::spawn(async move {
            let charge = gateway.admit(alice(), &limits, 0, Some(&store)).await;
            let at = Instant::now();
            charge.map(|charge| {
                assert!(!charge.is_alone);
                charge.settle(None);
                at
            })
        }));
        sleep(Duration::from_millis(100)).await;
    }
    let mut let_out = Vec::new();
    for one in asking {
        let_out.extend(one.await.unwrap());
    }
    let_out.sort_unstable();
    for (one, other) in let_out.iter().zip(let_out.iter().skip(60)) {
        assert!(*other - *one >= Duration::from_secs(60), "{:?}", *other - *one);
    }
    // The full limit in the first minute, and again in the next one.
    assert!(let_out.len() >= 120, "{}", let_out.len());
}

#[tokio::test(start_paused = true)]
async fn req_limits_a_store_that_answers_nothing_is_waited_for_and_then_away() {
    let (store, limits) = (Slow::store(|_| None), limits(2, 0));
    let gateway = Arc::new(Limits::default());
    let mut said = Vec::new();
    for _ in 0..3 {
        let began = Instant::now();
        let charge = gateway.admit(alice(), &limits, 0, Some(&store)).await;
        let is_alone = charge.map(|charge| {
            let is_alone = charge.is_alone;
            charge.settle(None);
            is_alone
        });
        said.push((is_alone.ok(), began.elapsed().as_secs()));
    }
    assert_eq!(said, [(Some(true), 4), (Some(true), 0), (None, 0)]);
}

#[tokio::test(start_paused = true)]
async fn req_limits_a_request_is_told_that_its_limit_could_not_be_asked_for() {
    // The first gateway takes all places and gives none back, and the second one learns of it late.
    let store = Slow::store(|asked| Some(Duration::from_millis(if asked < 1 { 1 } else { 3_500 })));
    let limits = limits(16, 0);
    let [first, second] = [0, 1].map(|_| Arc::new(Limits::default()));
    first.admit(alice(), &limits, 0, Some(&store)).await.unwrap().settle(None);
    let began = Instant::now();
    let all = (0..40).map(|_| {
        let (second, store) = (Arc::clone(&second), Arc::clone(&store));
        tokio::spawn(async move {
            second.admit(alice(), &limits, 0, Some(&store)).await.map(|charge| {
                assert!(!charge.is_alone);
                charge.settle(None);
            })
        })
    });
    let all: Vec<_> = all.collect();
    let mut let_out = 0;
    for one in all {
        match one.await.unwrap() {
            Ok(()) => let_out += 1,
            Err(Limited::Unasked) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(began.elapsed() <= Duration::from_millis(7_100), "{:?}", began.elapsed());
    assert!((1..=15).contains(&let_out), "{let_out}");
}
