//! What refusals taught about models.

use super::{Folder, holds};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{About, FACT_AGE, Fact, Facts, Limits, Moment};

on_each_database! {
    a_fact_is_read_by_every_process_and_replaced_and_taken_out,
    a_fact_holds_for_a_day_and_then_goes,
    a_tenant_keeps_its_latest_facts,
    t_10_a_fact_goes_with_its_tenant_and_with_nobody_else,
    t_13_facts_are_read_under_new_keys,
}

fn now() -> u64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn day() -> u64 {
    u64::try_from(FACT_AGE.as_millis()).unwrap()
}

fn tenant(name: &str) -> Tenant {
    Tenant::named(name).unwrap()
}

fn fact(name: &str, model: &str, text: &str, since: u64) -> Fact {
    let about = About { tenant: tenant(name), endpoint: "https://e".into(), model: model.into() };
    Fact { about, text: text.to_owned(), since }
}

/// Tenant, model and fact of all that is new, in order.
async fn read(facts: &Facts, now: u64) -> Option<Vec<[String; 3]>> {
    let mut all: Vec<_> = facts
        .read(now)
        .await
        .unwrap()?
        .into_iter()
        .map(|it| [it.about.tenant.to_string(), it.about.model, it.text])
        .collect();
    all.sort();
    Some(all)
}

fn some(facts: &[[&str; 3]]) -> Option<Vec<[String; 3]>> {
    Some(facts.iter().map(|it| it.map(str::to_owned)).collect())
}

async fn a_fact_is_read_by_every_process_and_replaced_and_taken_out(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap().facts(), folder.open().await.unwrap().facts());
    let now = now();
    assert_eq!(read(&two, now).await, some(&[]));
    assert_eq!(read(&two, now).await, None, "nothing changed");
    let sign = fact("alice", "m", "sign", now);
    assert_eq!(one.put(&sign).await, Ok(true));
    assert_eq!(two.read(now).await, Ok(Some(vec![sign.clone()])));
    assert_eq!(read(&two, now).await, None);
    // The one that was learned later holds, whoever is the last to say so.
    assert_eq!(two.put(&fact("alice", "m", "forbid", now + 2)).await, Ok(true));
    assert_eq!(one.put(&fact("alice", "m", "return", now + 1)).await, Ok(true));
    assert_eq!(read(&two, now).await, some(&[["alice", "m", "forbid"]]));
    assert_eq!(one.put(&fact("alice", "other", "return", now)).await, Ok(true));
    assert_eq!(one.put(&fact("bob", "m", "return", now)).await, Ok(true));
    let all = [["alice", "m", "forbid"], ["alice", "other", "return"], ["bob", "m", "return"]];
    assert_eq!(read(&two, now).await, some(&all));
    // What was learned since stays.
    two.remove(&sign.about, now + 1).await.unwrap();
    assert_eq!(read(&two, now).await, None);
    two.remove(&sign.about, now + 2).await.unwrap();
    assert_eq!(read(&one, now).await, some(&all[1..]));
    // The tenant has no such fact, or is none.
    two.remove(&sign.about, now).await.unwrap();
    two.remove(&fact("carol", "m", "", now).about, now).await.unwrap();
}

async fn a_fact_holds_for_a_day_and_then_goes(folder: Folder) {
    let store = folder.open().await.unwrap();
    let now = now();
    store.facts().put(&fact("alice", "m", "sign", now)).await.unwrap();
    for (at, holds) in
        [(now, true), (now + day() - 1, true), (now + day(), false), (now - day(), false)]
    {
        let expected: &[_] = if holds { &[["alice", "m", "sign"]] } else { &[] };
        assert_eq!(read(&store.facts(), at).await, some(expected), "{at}");
    }
    let steady = Moment::now();
    let at = |after: u64| Moment {
        wall: UNIX_EPOCH + Duration::from_millis(now + after),
        steady: steady.steady + Duration::from_millis(after),
    };
    store.prune(&Limits::default(), at(day() - 1)).await.unwrap();
    assert_eq!(read(&store.facts(), now).await, some(&[["alice", "m", "sign"]]));
    store.prune(&Limits::default(), at(day())).await.unwrap();
    assert_eq!(read(&store.facts(), now).await, some(&[]));
}

async fn a_tenant_keeps_its_latest_facts(folder: Folder) {
    let facts = folder.open().await.unwrap().facts();
    let now = now();
    facts.put(&fact("bob", "m", "sign", now - 10_000)).await.unwrap();
    for n in 0..1_004 {
        facts.put(&fact("alice", &format!("m{n}"), "sign", now - 5_000 + n)).await.unwrap();
    }
    let all = read(&facts, now).await.unwrap();
    assert_eq!(all.len(), 1_001);
    let has = |name: &str, model: &str| all.iter().any(|it| it[0] == name && it[1] == model);
    assert!(has("bob", "m") && has("alice", "m1003") && has("alice", "m4"));
    assert!(!has("alice", "m3"));
}

async fn t_10_a_fact_goes_with_its_tenant_and_with_nobody_else(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let (facts, there, now) = (one.facts(), folder.open().await.unwrap().facts(), now());
    for name in ["alice", "bob"] {
        facts.put(&fact(name, "m", "sign", now)).await.unwrap();
    }
    for facts in [&facts, &there] {
        assert_eq!(read(facts, now).await.unwrap().len(), 2);
    }
    assert_eq!(two.erase(&tenant("alice")).await, Ok(Some(0)));
    assert_eq!(read(&facts, now).await, some(&[["bob", "m", "sign"]]));
    // Whoever does not know yet that the tenant was erased brings nothing of it back.
    assert_eq!(facts.put(&fact("alice", "m", "sign", now)).await, Ok(false));
    assert_eq!(read(&facts, now).await, None);
    assert_eq!(facts.put(&fact("alice", "m", "forbid", now)).await, Ok(true));
    let both = some(&[["alice", "m", "forbid"], ["bob", "m", "sign"]]);
    for facts in [&two.facts(), &there] {
        assert_eq!(read(facts, now).await, both, "under the keys that the tenant has now");
    }
}

async fn t_13_facts_are_read_under_new_keys(folder: Folder) {
    let (store, there) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let (facts, now) = (there.facts(), now());
    store.facts().put(&fact("alice", "old", "sign", now)).await.unwrap();
    assert_eq!(read(&facts, now).await, some(&[["alice", "old", "sign"]]));
    if folder.server.is_some() {
        let old = std::fs::read_to_string(folder.key()).unwrap();
        std::fs::write(folder.key(), format!("{old} {}", "0e".repeat(32))).unwrap();
    }
    store.rotate_keys(&folder.location()).await.unwrap();
    store.facts().put(&fact("alice", "new", "sign", now)).await.unwrap();
    let both = some(&[["alice", "new", "sign"], ["alice", "old", "sign"]]);
    assert_eq!(read(&facts, now).await, both, "by whoever was there before");
    assert_eq!(read(&folder.open().await.unwrap().facts(), now).await, both);
}

#[tokio::test]
async fn t_13_facts_stay_shut_elsewhere_and_stand_nowhere_in_the_clear() {
    let folder = Folder::new();
    let (facts, now) = (folder.open().await.unwrap().facts(), now());
    let mut canary = fact("alice", "model-canary", "fact-canary", now);
    canary.about.endpoint = "https://endpoint-canary".to_owned();
    facts.put(&canary).await.unwrap();
    facts.put(&fact("alice", "other", "sign", now)).await.unwrap();
    facts.put(&fact("bob", "m", "sign", now)).await.unwrap();
    for canary in ["model-canary", "fact-canary", "endpoint-canary"] {
        assert!(!holds(&folder.bytes(), canary.as_bytes()), "{canary}");
    }
    let sql = "UPDATE fact SET sealed = (SELECT sealed FROM fact WHERE nr = 1) WHERE nr > 1;
               UPDATE fact SET tenant = (SELECT tenant FROM fact WHERE nr = 3) WHERE nr = 2;";
    rusqlite::Connection::open(folder.file()).unwrap().execute_batch(sql).unwrap();
    let left = folder.open().await.unwrap().facts().read(now).await.unwrap();
    assert_eq!(left, Some(vec![canary]));
}
