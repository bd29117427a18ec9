//! What is spent of budgets, by several processes at once.

use super::Folder;
use thinkthrough_core::budget::{BudgetRules, Given, Limit, OnExceed, Report, Share};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{LedgerKey, Ledgers};

on_each_database! {
    req_budget_processes_that_ask_at_once_hold_the_budget_together_and_no_more,
    adr_budget_what_was_spent_is_there_for_the_next_process_and_goes_with_its_tenant,
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
