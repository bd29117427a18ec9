//! Answers that are kept by their ids.

use super::{Folder, holds};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Limits, Moment, Pruned, StoreError};

on_each_database! {
    an_answer_is_kept_by_its_id_and_replaced_and_deleted,
    an_answer_is_found_while_it_is_being_written,
    answers_that_go_on_from_each_other_come_in_order,
    t_10_an_id_of_another_tenant_is_unknown,
    answers_that_go_on_from_each_other_go_together,
    an_erased_tenant_has_no_answers,
    t_10_every_tenant_learns_who_owns_a_provider_resource,
}

async fn an_answer_is_kept_by_its_id_and_replaced_and_deleted(folder: Folder) {
    let store = folder.open().await.unwrap();
    let responses = store.responses(&Tenant::local());
    assert_eq!(responses.get("resp_1").await, Ok(None));
    assert_eq!(responses.delete("resp_1").await, Ok(false));
    responses.put("resp_1", b"{\"a\": 1.50}", None).await.unwrap();
    assert_eq!(responses.get("resp_1").await, Ok(Some(b"{\"a\": 1.50}".to_vec())));
    responses.put("resp_1", b"other", None).await.unwrap();
    assert_eq!(responses.get("resp_1").await, Ok(Some(b"other".to_vec())));
    assert_eq!(responses.delete("resp_1").await, Ok(true));
    assert_eq!(
        (responses.get("resp_1").await, responses.delete("resp_1").await),
        (Ok(None), Ok(false))
    );
    responses.put("resp_1", b"", Some("resp_1")).await.unwrap();
    assert_eq!(responses.get("resp_1").await, Ok(Some(Vec::new())));
}

async fn an_answer_is_found_while_it_is_being_written(folder: Folder) {
    let store = folder.open().await.unwrap();
    let responses = store.responses(&Tenant::local());
    for number in 0..20 {
        let id = format!("resp_{number}");
        let (put, got) = tokio::join!(responses.put(&id, b"said", None), responses.get(&id));
        assert_eq!((put, got), (Ok(()), Ok(Some(b"said".to_vec()))), "{number}");
    }
}

async fn t_10_every_tenant_learns_who_owns_a_provider_resource(folder: Folder) {
    let store = folder.open().await.unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| Tenant::named(name).unwrap());
    let of = |tenant: &Tenant| store.responses(tenant);
    of(&a).put_resource("there", "r1", b"of a").await.unwrap();
    of(&a).put_resource("there", "both", b"").await.unwrap();
    of(&b).put_resource("there", "both", b"").await.unwrap();
    of(&a).put("r2", b"an answer", None).await.unwrap();
    let ids = ["r1", "both", "r2", "unknown"].map(str::to_owned);
    let owners = async |tenant: &Tenant, provider: &str| {
        let owners = of(tenant).resource_owners(provider, &ids).await.unwrap();
        owners.into_iter().map(|(id, owner)| format!("{id} {owner:?}")).collect::<Vec<_>>()
    };
    assert_eq!(owners(&a, "there").await, ["r1 Tenant", "both Tenant"]);
    assert_eq!(owners(&b, "there").await, ["r1 Other", "both Tenant"]);
    assert_eq!(owners(&c, "there").await, ["r1 Other", "both Other"], "it has no keys yet");
    assert_eq!(owners(&a, "elsewhere").await, [""; 0]);
    assert_eq!(of(&a).resource("there", "r1").await, Ok(Some(b"of a".to_vec())));
    assert_eq!(of(&b).resource("there", "r1").await, Ok(None));
    store.erase(&a).await.unwrap();
    assert_eq!(owners(&b, "there").await, ["both Tenant"]);
}

async fn answers_that_go_on_from_each_other_come_in_order(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let (one, two) = (one.responses(&Tenant::local()), two.responses(&Tenant::local()));
    let mut previous = None;
    for n in 0..12 {
        let id = format!("resp_{n}");
        let by = if n % 2 == 0 { &one } else { &two };
        by.put(&id, id.as_bytes(), previous.as_deref()).await.unwrap();
        previous = Some(id);
    }
    let names = |from: usize, to: usize| -> Vec<Vec<u8>> {
        (from..=to).map(|n| format!("resp_{n}").into_bytes()).collect()
    };
    assert_eq!(one.chain("resp_11").await, Ok(names(0, 11)));
    assert_eq!(two.chain("resp_3").await, Ok(names(0, 3)));
    assert_eq!(one.chain("resp_12").await, Ok(Vec::new()));
    assert_eq!(one.delete("resp_4").await, Ok(true));
    assert_eq!(two.chain("resp_11").await, Ok(names(5, 11)), "from where it is known on");
}

async fn t_10_an_id_of_another_tenant_is_unknown(folder: Folder) {
    let store = folder.open().await.unwrap();
    let tenants: Vec<Tenant> =
        (0..20).map(|n| Tenant::named(&format!("tenant {n}")).unwrap()).collect();
    for tenant in &tenants {
        let responses = store.responses(tenant);
        responses.put(&format!("of {tenant}"), tenant.as_str().as_bytes(), None).await.unwrap();
        responses.put("same", tenant.as_str().as_bytes(), None).await.unwrap();
    }
    for tenant in &tenants {
        let responses = store.responses(tenant);
        let own = Ok(Some(tenant.as_str().as_bytes().to_vec()));
        assert_eq!(responses.get("same").await, own);
        for other in &tenants {
            let id = format!("of {other}");
            let expected = if other == tenant { own.clone() } else { Ok(None) };
            assert_eq!(responses.get(&id).await, expected, "{tenant} asks for {id}");
            if other != tenant {
                assert_eq!(responses.delete(&id).await, Ok(false));
            }
        }
    }
}

async fn answers_that_go_on_from_each_other_go_together(folder: Folder) {
    let store = folder.open().await.unwrap();
    let responses = store.responses(&Tenant::local());
    for (id, previous) in [("a1", None), ("a2", Some("a1")), ("b1", None), ("a3", Some("a2"))] {
        responses.put(id, &[b'x'; 500], previous).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let limits = Limits { records: 3, ..Limits::default() };
    let pruned = store.prune(&limits, Moment::now()).await;
    assert_eq!(pruned, Ok(Pruned { conversations: 1, held_back: 0 }));
    assert_eq!(responses.get("b1").await, Ok(None), "the one that was used before the others");
    assert_eq!(responses.chain("a3").await.map(|chain| chain.len()), Ok(3));
    let limits = Limits { bytes: 1_000, ..Limits::default() };
    let pruned = store.prune(&limits, Moment::now()).await;
    assert_eq!(pruned, Ok(Pruned { conversations: 1, held_back: 0 }));
    assert_eq!(responses.get("a1").await, Ok(None));
}

async fn an_erased_tenant_has_no_answers(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let alice = Tenant::named("alice").unwrap();
    one.responses(&alice).put("resp", b"hers", None).await.unwrap();
    two.erase(&alice).await.unwrap();
    assert_eq!(one.responses(&alice).get("resp").await, Ok(None));
    one.responses(&alice).put("resp", b"new", None).await.unwrap();
    assert_eq!(two.responses(&alice).get("resp").await, Ok(Some(b"new".to_vec())));
}

#[tokio::test]
async fn t_13_answers_stay_shut_elsewhere_and_stand_nowhere_in_the_clear() {
    let folder = Folder::new();
    let responses = folder.open().await.unwrap().responses(&Tenant::local());
    responses.put("resp_canary", b"body-canary", None).await.unwrap();
    responses.put("other", b"other", Some("resp_canary")).await.unwrap();
    for canary in ["resp_canary", "body-canary"] {
        assert!(!holds(&folder.bytes(), canary.as_bytes()), "{canary}");
    }
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let sql =
        "UPDATE response SET sealed = (SELECT sealed FROM response WHERE nr = 1) WHERE nr = 2";
    connection.execute_batch(sql).unwrap();
    assert!(matches!(responses.get("other").await, Err(StoreError::Damaged { .. })));
    assert!(responses.get("resp_canary").await.unwrap().is_some());
}
