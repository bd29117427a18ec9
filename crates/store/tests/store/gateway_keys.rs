//! Keys of the gateway.

use super::{Folder, holds};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeyHash, StoreError};

on_each_database! {
    a_key_names_its_tenant_until_it_is_revoked,
    t_5_a_revocation_holds_within_five_seconds_for_every_process,
    a_key_that_was_made_just_now_opens,
    a_name_has_one_key_at_a_time,
    of_many_who_make_the_same_name_at_once_one_does,
    names_that_stand_for_something_else_are_refused,
}

async fn a_key_names_its_tenant_until_it_is_revoked(folder: Folder) {
    let store = folder.open().await.unwrap();
    let keys = store.gateway_keys();
    let (alice, bob) = (keys.create("alice").await.unwrap(), keys.create("bob").await.unwrap());
    assert_eq!(keys.find(&alice.secret).await, Ok(Some(Tenant::named("alice").unwrap())));
    assert_eq!(keys.find(&bob.secret).await, Ok(Some(Tenant::named("bob").unwrap())));
    assert_eq!(KeyHash::of(&alice.secret), alice.hash);
    for nobody in ["", "tk-", "sk-something", &alice.secret[..45], &format!("{}x", *alice.secret)] {
        assert_eq!(keys.find(nobody).await, Ok(None), "{nobody}");
    }
    let listed = keys.list().await.unwrap();
    let names: Vec<_> = listed.iter().map(|key| (key.name.as_str(), key.is_revoked)).collect();
    assert_eq!(names, [("alice", false), ("bob", false)]);
    assert!(listed[0].created_at > 1_700_000_000_000);
    keys.revoke("alice").await.unwrap();
    assert_eq!(keys.revoke("alice").await, Err(StoreError::NoKey("alice".to_owned())));
    assert!(keys.list().await.unwrap()[0].is_revoked);
}

async fn t_5_a_revocation_holds_within_five_seconds_for_every_process(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let key = one.gateway_keys().create("alice").await.unwrap();
    let gateways = [one.gateway_keys(), two.gateway_keys()];
    for gateway in &gateways {
        assert!(gateway.find(&key.secret).await.unwrap().is_some());
    }
    two.gateway_keys().revoke("alice").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    for gateway in &gateways {
        // A store that is too busy to say opens nothing either.
        let found = gateway.find(&key.secret).await;
        assert!(!matches!(found, Ok(Some(_))), "{found:?}");
    }
}

async fn a_key_that_was_made_just_now_opens(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let first = one.gateway_keys().create("first").await.unwrap();
    assert!(two.gateway_keys().find(&first.secret).await.unwrap().is_some());
    let second = one.gateway_keys().create("second").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(two.gateway_keys().find(&second.secret).await.unwrap().is_some());
}

async fn a_name_has_one_key_at_a_time(folder: Folder) {
    let store = folder.open().await.unwrap();
    let keys = store.gateway_keys();
    let first = keys.create("alice").await.unwrap();
    let again = keys.create("alice").await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "there is a key `alice` already; revoke it first, or choose another name"
    );
    keys.revoke("alice").await.unwrap();
    let second = keys.create("alice").await.unwrap();
    assert_ne!(first.hash, second.hash);
    let revoked: Vec<bool> = keys.list().await.unwrap().iter().map(|it| it.is_revoked).collect();
    assert_eq!(revoked, [true, false]);
    let fresh = folder.open().await.unwrap().gateway_keys();
    assert_eq!(fresh.find(&first.secret).await, Ok(None));
    assert!(fresh.find(&second.secret).await.unwrap().is_some());
}

async fn of_many_who_make_the_same_name_at_once_one_does(folder: Folder) {
    let store = folder.open().await.unwrap();
    let making = (0..8).map(|_| {
        let keys = store.gateway_keys();
        tokio::spawn(async move { keys.create("alice").await.is_ok() })
    });
    let mut made = 0;
    for making in making.collect::<Vec<_>>() {
        made += usize::from(making.await.unwrap());
    }
    assert_eq!(made, 1);
}

async fn names_that_stand_for_something_else_are_refused(folder: Folder) {
    let keys = folder.open().await.unwrap().gateway_keys();
    for name in ["", "local", "credential:00", " a", "a\nb"] {
        let error = keys.create(name).await.unwrap_err();
        assert!(matches!(error, StoreError::KeyName { .. }), "{name:?}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{name:?}");
    }
    assert_eq!(keys.list().await, Ok(vec![]));
}

#[tokio::test]
async fn t_5_no_key_stands_in_the_files() {
    let folder = Folder::new();
    let keys = folder.open().await.unwrap().gateway_keys();
    let key = keys.create("alice").await.unwrap();
    assert!(keys.find(&key.secret).await.unwrap().is_some());
    for part in [key.secret.as_bytes(), &key.secret.as_bytes()[3..23], &key.secret.as_bytes()[23..]]
    {
        assert!(!holds(&folder.bytes(), part));
    }
}
