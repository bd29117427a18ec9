//! What is spent of budgets, by several processes at once.

use super::Folder;
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{BudgetRules, Given, Limit, OnExceed, Report, Share, Unheard};
use thinkthrough_store::{LedgerKey, Ledgers};

on_each_database! {
    req_budget_processes_that_ask_at_once_hold_the_budget_together_and_no_more,
    adr_budget_what_was_spent_is_there_for_the_next_process_and_goes_with_its_tenant,
    req_budget_what_a_process_left_that_was_killed_is_ended_by_the_next_one,
    req_budget_what_is_written_down_of_a_process_stays_short,
}

fn rules(max: u64) -> BudgetRules {
    BudgetRules { max: Limit::from_config(max), on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT }
}

fn key(tenant: &str) -> LedgerKey {
    LedgerKey::new(&Tenant::named(tenant).unwrap(), "session", "s")
}

async fn report(ledgers: &Ledgers, holder: &str, report: Report) -> Given {
    ledgers.report(&key("alice"), &rules(60), holder, report, 1_000).await.unwrap()
}

async fn req_budget_processes_that_ask_at_once_hold_the_budget_together_and_no_more(
    folder: Folder,
) {
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(folder.open().await.unwrap().ledgers());
    }
    let mut tasks = Vec::new();
    for (one, ledgers) in all.into_iter().enumerate() {
        tasks.push(tokio::spawn(async move {
            let (mut share, mut taken) = (Share::default(), 0);
            for _ in 0..30 {
                let asked = share.begin(1, share.idle());
                let given = report(&ledgers, &one.to_string(), asked).await;
                share.heard(asked, &given);
                if share.reserve(1) {
                    taken += 1;
                }
            }
            taken
        }));
    }
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, 60);
}

async fn adr_budget_what_was_spent_is_there_for_the_next_process_and_goes_with_its_tenant(
    folder: Folder,
) {
    let spent = |number, spent| Report { number, spent, keeps: 0, wants: 0 };
    let store = folder.open().await.unwrap();
    assert_eq!(report(&store.ledgers(), "a", spent(1, 50)).await.used, 50);
    drop(store);
    let store = folder.open().await.unwrap();
    let given = report(&store.ledgers(), "b", spent(1, 10)).await;
    assert_eq!((given.used, given.events.len()), (60, 1), "the warning was told before");
    let (ledgers, bob, rules) = (store.ledgers(), key("bob"), rules(60));
    let other = ledgers.report(&bob, &rules, "b", spent(1, 1), 1_000).await.unwrap();
    assert_eq!(other.used, 1);
    store.erase(&Tenant::named("alice").unwrap()).await.unwrap();
    assert_eq!(report(&store.ledgers(), "b", spent(2, 1)).await.used, 1);
}

/// What is in the journals of slices, in bytes.
fn journals(folder: &Folder) -> u64 {
    let all = std::fs::read_dir(&folder.path).unwrap().map(Result::unwrap);
    let all = all.filter(|file| file.file_name().to_string_lossy().contains(".slices-"));
    all.map(|file| file.metadata().unwrap().len()).sum()
}

/// Waits until so much is spent and nobody else holds anything.
async fn until(ledgers: &Ledgers, used: u64) {
    let began = Instant::now();
    for number in 1.. {
        let given =
            report(ledgers, "who looks", Report { number, spent: 0, keeps: 0, wants: 0 }).await;
        if (given.used, given.others) == (used, 0) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{given:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn req_budget_what_a_process_left_that_was_killed_is_ended_by_the_next_one(folder: Folder) {
    let store = folder.open_with_spool().await;
    let ledgers = store.ledgers();
    ledgers.note(&key("alice"), "a", Unheard::default()).await;
    let first = Report { number: 1, spent: 0, keeps: 0, wants: 40 };
    assert_eq!(report(&ledgers, "a", first).await.holds, 40);
    let unheard = |number, reported, spent| Unheard { number, reported, spent };
    ledgers.note(&key("alice"), "a", unheard(1, 0, 3)).await;
    ledgers.note(&key("alice"), "a", unheard(2, 3, 4)).await;
    // The ledger heard this, and nobody wrote that down.
    report(&ledgers, "a", Report { number: 2, spent: 3, keeps: 37, wants: 0 }).await;
    // One that is over is not ended again.
    report(&ledgers, "b", Report { number: 1, spent: 5, keeps: 0, wants: 0 }).await;
    ledgers.note(&key("alice"), "b", unheard(0, 0, 5)).await;
    ledgers.forget("b").await;
    drop((ledgers, store));
    for _ in 0..2 {
        let store = folder.open_with_spool().await;
        until(&store.ledgers(), 3 + 4 + 5).await;
    }
}

async fn req_budget_what_is_written_down_of_a_process_stays_short(folder: Folder) {
    let store = folder.open_with_spool().await;
    let ledgers = store.ledgers();
    // One that is there all the time, and many that come and go.
    ledgers.note(&key("alice"), "a", Unheard { number: 0, reported: 0, spent: 7 }).await;
    for spent in 0..20_000 {
        let holder = format!("b{}", spent / 10);
        let is_last = spent % 10 == 9;
        let spent = if is_last { 0 } else { spent };
        ledgers.note(&key("alice"), &holder, Unheard { number: 0, reported: 0, spent }).await;
        if is_last {
            ledgers.forget(&holder).await;
        }
    }
    ledgers.note(&key("alice"), "c", Unheard { number: 0, reported: 0, spent: 8 }).await;
    let there = journals(&folder);
    assert!(there > 0 && there < 1 << 20, "{there}");
    drop((ledgers, store));
    let store = folder.open_with_spool().await;
    until(&store.ledgers(), 7 + 8).await;
    store.close().await;
    assert_eq!(journals(&folder), 0);
}
