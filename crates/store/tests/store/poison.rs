//! Records that a provider refused.

use super::Folder;
use super::talk::Talk;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Limits, Moment};

on_each_database! {
    u_20_a_poisoned_record_is_found_by_nobody_of_its_tenant_and_no_other_is_touched,
    u_20_what_is_poisoned_still_goes_with_its_conversation,
}

async fn u_20_a_poisoned_record_is_found_by_nobody_of_its_tenant_and_no_other_is_touched(
    folder: Folder,
) {
    let store = folder.open().await.unwrap();
    let [alice, bob] = ["alice", "bob"].map(|name| Tenant::named(name).unwrap());
    let (mut hers, mut his) = (Talk::new(&store, &alice, "talk"), Talk::new(&store, &bob, "talk"));
    for talk in [&mut hers, &mut his] {
        for n in 0..3 {
            talk.turn(&format!("{n}?"), &format!("thought {n}"), &format!("{n}.")).await;
        }
    }
    // The second answer of hers; both tenants have a record of this name.
    let ids = || vec!["talk-3".to_owned(), "nobody's".to_owned()];
    assert_eq!(hers.vault.poison(ids()).await, Ok(1));
    assert_eq!(hers.vault.poison(ids()).await, Ok(0), "it is marked already");
    // Also another process that had it in its hands.
    for vault in [&hers.vault, &folder.open().await.unwrap().vault(&alice)] {
        let mut found: Vec<String> = vault
            .lookup(&hers.keys().await)
            .await
            .unwrap()
            .found
            .into_iter()
            .map(|found| found.head.id.clone())
            .collect();
        found.sort();
        assert_eq!(found, ["talk-1", "talk-5"]);
    }
    assert_eq!((hers.restored().await, his.restored().await), (2, 3));
    // The conversation goes on behind it.
    hers.turn("3?", "thought 3", "3.").await;
    assert_eq!(hers.restored().await, 3);
    // Nobody's records are poisoned for somebody who is not known.
    let carol = store.vault(&Tenant::named("carol").unwrap());
    assert_eq!(carol.poison(ids()).await, Ok(0));
}

async fn u_20_what_is_poisoned_still_goes_with_its_conversation(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "talk");
    talk.turn("0?", "thought", "0.").await;
    talk.turn("1?", "thought", "1.").await;
    assert_eq!(talk.vault.poison(vec!["talk-1".to_owned(), "talk-3".to_owned()]).await, Ok(2));
    assert!(talk.looks().await.unwrap().found.is_empty());
    let all = Limits { records: 0, ..Limits::default() };
    assert_eq!(store.prune(&all, Moment::now()).await.unwrap().conversations, 1);
    assert_eq!(store.prune(&all, Moment::now()).await.unwrap().conversations, 0);
}
