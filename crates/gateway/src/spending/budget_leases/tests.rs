use super::*;
use crate::observe::log::Log;
use crate::observe::spans::Traces;
use std::sync::atomic::{AtomicUsize, Ordering};
use thinkthrough_limits::{Ask, Limit, OnExceed};

/// A demand that waits for the reservations of others.
fn patient(ask: Ask) -> Demand {
    Demand { patience: Duration::from_secs(5), ..Demand::of(ask) }
}

/// A ledger that counts the requests for more.
#[derive(Default)]
struct Counting(Own, AtomicUsize);

impl Ledgers for Counting {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        self.1.fetch_add(usize::from(report.wants > 0), Ordering::Relaxed);
        self.0.report(key, rules, holder, report, now)
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        self.0.used(key)
    }
}

#[tokio::test(start_paused = true)]
async fn req_budget_of_a_key_that_asks_again_and_again_is_seldom_asked_of_its_ledger() {
    let budget_leases =
        Arc::new(BudgetLeases::new(&Arc::new(Bus::new(Log::off(), Traces::off(), None, None))));
    let counting = Arc::new(Counting::default());
    let ledgers: Arc<dyn Ledgers> = Arc::clone(&counting) as _;
    let tenant = Tenant::named("alice").unwrap();
    let key = LedgerKey::new(&tenant, "key", "");
    let max = Limit::from_config(1_000_000);
    let rules = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
    for _ in 0..400 {
        let (session, run) = (String::new(), String::new());
        let unit = Unit::Reasoning;
        let about = About { tenant: tenant.clone(), scope: Scope::Key, unit, session, run };
        let asking =
            budget_leases.reserve(&ledgers, key.clone(), (rules, about), patient(Ask::up_to(64)));
        let reserved = asking.await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        reserved.settle(5);
        // It is reported before the next one comes.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asked = counting.1.load(Ordering::Relaxed);
    assert!(asked < 20, "{asked} of 400 requests asked");
    // Without requests, the whole lease is given back within a second.
    tokio::time::sleep(REPORT * 4).await;
    let held = budget_leases.held.lock().unwrap().get(&key).map(|held| held.state().share.idle());
    assert_eq!(held.unwrap_or_default(), 0);
    assert_eq!(ledgers.used(&key).await.unwrap(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn req_budget_that_only_warns_books_each_of_requests_that_are_far_apart() {
    let budget_leases =
        Arc::new(BudgetLeases::new(&Arc::new(Bus::new(Log::off(), Traces::off(), None, None))));
    let (ledgers, tenant) = (budget_leases.ledgers(None), Tenant::named("alice").unwrap());
    let key = LedgerKey::new(&tenant, "key", "");
    let rules = |on_exceed| {
        let max = Limit::from_config(100);
        BudgetRules { max, on_exceed, ..BudgetRules::DEFAULT }
    };
    let reserve = async |on_exceed, ask| {
        let (session, run) = (String::new(), String::new());
        let about = About {
            tenant: tenant.clone(),
            scope: Scope::Key,
            unit: Unit::Reasoning,
            session,
            run,
        };
        budget_leases.reserve(&ledgers, key.clone(), (rules(on_exceed), about), patient(ask)).await
    };
    for _ in 0..3 {
        let reserved = reserve(OnExceed::Warn, Ask::up_to(50)).await;
        reserved.unwrap().settle(40);
        tokio::time::sleep(REPORT * 5).await;
    }
    let denied = reserve(OnExceed::Block, Ask::up_to(1)).await.unwrap_err();
    assert_eq!(denied, Denied::Spent { used: 120, max: 100, least: 1 });
}

/// Each of two gateways has a part of the amount that one request needs.
#[tokio::test(start_paused = true)]
async fn req_budget_that_lies_about_in_pieces_is_enough_for_whoever_needs_all_of_it() {
    let purses = [0, 1].map(|_| {
        Arc::new(BudgetLeases::new(&Arc::new(Bus::new(Log::off(), Traces::off(), None, None))))
    });
    let ledgers: Arc<dyn Ledgers> = Arc::new(Own::default());
    let tenant = Tenant::named("alice").unwrap();
    let key = LedgerKey::new(&tenant, "key", "");
    let reserve = async |one: usize, tokens| {
        let max = Limit::from_config(1_000);
        let rules = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
        let (session, run) = (String::new(), String::new());
        let about = About {
            tenant: tenant.clone(),
            scope: Scope::Key,
            unit: Unit::Reasoning,
            session,
            run,
        };
        let ask = Ask { wanted: tokens, least: tokens };
        purses[one].reserve(&ledgers, key.clone(), (rules, about), patient(ask)).await
    };
    let (one, other) = (reserve(0, 600).await.unwrap(), reserve(1, 400).await.unwrap());
    one.settle(0);
    other.settle(0);
    let began = Instant::now();
    let one = async { (reserve(0, 1_000).await, began.elapsed()) };
    let other = async { (reserve(1, 1_000).await, began.elapsed()) };
    let both: [_; 2] = tokio::join!(one, other).into();
    let [took] = both.iter().filter(|it| it.0.is_ok()).map(|it| it.1).collect::<Vec<_>>()[..]
    else {
        panic!("{both:?}")
    };
    // It does not wait for the other's next report.
    assert!(took < REPORT / 2, "{took:?}");
}

/// Leases of a budget of this key, with a function that reserves in it.
struct Alice {
    budget_leases: Arc<BudgetLeases>,
    ledgers: Arc<dyn Ledgers>,
    max: u64,
    on_exceed: OnExceed,
}

impl Alice {
    fn new(max: u64, on_exceed: OnExceed) -> Self {
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        let budget_leases = Arc::new(BudgetLeases::new(&bus));
        let ledgers = budget_leases.ledgers(None);
        Alice { budget_leases, ledgers, max, on_exceed }
    }

    fn key(&self) -> LedgerKey {
        LedgerKey::new(&Tenant::named("alice").unwrap(), "key", "")
    }

    async fn reserve(&self, demand: Demand) -> Result<Reservation, Denied> {
        let (max, on_exceed) = (Limit::from_config(self.max), self.on_exceed);
        let rules = BudgetRules { max, on_exceed, ..BudgetRules::DEFAULT };
        let (tenant, unit) = (Tenant::named("alice").unwrap(), Unit::Reasoning);
        let (session, run) = (String::new(), String::new());
        let about = About { tenant, scope: Scope::Key, unit, session, run };
        self.budget_leases.reserve(&self.ledgers, self.key(), (rules, about), demand).await
    }

    async fn grow(&self, reservation: &mut Reservation, wanted: u64) -> Result<u64, Denied> {
        let held = Arc::clone(reservation.held().unwrap());
        let demand = Demand { own: reservation.tokens(), ..Demand::of(Ask::up_to(wanted)) };
        let tokens = self.budget_leases.grow(&held, demand).await?;
        reservation.add(tokens);
        Ok(tokens)
    }
}

#[tokio::test(start_paused = true)]
async fn req_budget_many_at_once_that_may_take_much_and_take_little_are_all_let_in() {
    let own = Alice::new(500_000, OnExceed::Block);
    let ask = Ask { wanted: 32_768, least: 1 };
    let demand = Demand { first: 4_096, ..patient(ask) };
    let mut all = Vec::new();
    for _ in 0..50 {
        let reserved = own.reserve(demand).await.unwrap();
        assert_eq!((reserved.tokens(), reserved.granted), (4_096, None));
        all.push(reserved);
    }
    // An answer that exceeds its reservation reserves more, as long as there is more.
    let first = all.first_mut().unwrap();
    assert_eq!(own.grow(first, 100_000).await, Ok(100_000));
    assert_eq!(own.grow(first, 1_000_000).await, Ok(500_000 - 100_000 - 50 * 4_096));
    let denied = Denied::Reserved { used: 0, max: 500_000 };
    assert_eq!(own.grow(first, 1).await, Err(denied));
}

#[tokio::test(start_paused = true)]
async fn req_budget_that_is_reserved_is_waited_for_and_one_that_is_spent_is_not() {
    let own = Alice::new(100, OnExceed::Block);
    let first = own.reserve(patient(Ask::up_to(100))).await.unwrap();
    let began = Instant::now();
    let denied = own.reserve(patient(Ask::up_to(100))).await.unwrap_err();
    assert_eq!(denied, Denied::Reserved { used: 0, max: 100 });
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    let began = Instant::now();
    let settling = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        first.settle(30);
    };
    let (second, ()) = tokio::join!(own.reserve(patient(Ask::up_to(100))), settling);
    let second = second.unwrap();
    assert_eq!((second.tokens(), second.granted), (70, Some(70)));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    second.settle(70);
    let began = Instant::now();
    let denied = own.reserve(patient(Ask::up_to(100))).await.unwrap_err();
    assert_eq!(denied, Denied::Spent { used: 100, max: 100, least: 1 });
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn req_budget_asks_for_less_thought_only_once_it_is_spent() {
    let own = Alice::new(100, OnExceed::DisableReasoning);
    let first = own.reserve(patient(Ask::up_to(100))).await.unwrap();
    let second = own.reserve(patient(Ask::up_to(100))).await.unwrap();
    assert_eq!((second.tokens(), second.granted, second.exceeded), (0, None, None));
    first.settle(100);
    second.settle(0);
    let third = own.reserve(patient(Ask::up_to(100))).await.unwrap();
    assert_eq!(third.exceeded, Some(OnExceed::DisableReasoning));
}

#[tokio::test(start_paused = true)]
async fn req_budget_of_a_gateway_that_ends_in_good_order_is_held_by_nobody() {
    let own = Alice::new(1_000, OnExceed::Block);
    for _ in 0..5 {
        own.reserve(patient(Ask::up_to(100))).await.unwrap().settle(50);
    }
    own.budget_leases.close().await;
    let held = own
        .budget_leases
        .held
        .lock()
        .unwrap()
        .get(&own.key())
        .map(|held| held.state().share.idle());
    assert_eq!(held.unwrap_or_default(), 0);
    assert_eq!(own.ledgers.used(&own.key()).await.unwrap(), 250);
}

/// A ledger that takes so long for each answer.
struct Late(Own, Duration);

impl Ledgers for Late {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        Box::pin(async move {
            tokio::time::sleep(self.1).await;
            self.0.report(key, rules, holder, report, now).await
        })
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        self.0.used(key)
    }
}

#[tokio::test(start_paused = true)]
async fn req_budget_waits_for_a_ledger_that_is_late_and_not_for_one_that_is_away() {
    for (takes, waits, is_given) in [(1_300, 1, true), (3_900, 3, true), (90_000, 4, false)] {
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        let budget_leases = Arc::new(BudgetLeases::new(&bus));
        let late = Late(Own::default(), Duration::from_millis(takes));
        let ledgers: Arc<dyn Ledgers> = Arc::new(late);
        let tenant = Tenant::named("alice").unwrap();
        let key = LedgerKey::new(&tenant, "key", "");
        let max = Limit::from_config(1_000);
        let rules = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
        let (session, run) = (String::new(), String::new());
        let about = About { tenant, scope: Scope::Key, unit: Unit::Reasoning, session, run };
        let began = Instant::now();
        let asking = budget_leases.reserve(&ledgers, key, (rules, about), patient(Ask::up_to(64)));
        let reserved = asking.await.map(|reserved| reserved.tokens());
        let expected = if is_given { Ok(64) } else { Err(Denied::Unknown) };
        assert_eq!((reserved, began.elapsed().as_secs()), (expected, waits), "{takes}");
    }
}
