//! Keys of the gateway.

use super::{Folder, holds};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeyHash, KeySource, KeyState, Location, Markers, Store, StoreError};

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
    let known = keys.read().await.unwrap();
    assert_eq!(known.owner(&alice.secret), Some(&Tenant::named("alice").unwrap()));
    assert_eq!(known.owner(&bob.secret), Some(&Tenant::named("bob").unwrap()));
    assert_eq!(KeyHash::of(&alice.secret), alice.hash);
    for nobody in ["", "tk-", "sk-something", &alice.secret[..45], &format!("{}x", *alice.secret)] {
        assert_eq!(known.owner(nobody), None, "{nobody}");
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
    let mut gateways = Vec::new();
    for store in [&one, &two] {
        gateways.push(store.gateway_keys().watch().await.unwrap());
    }
    assert!(gateways.iter().all(|gateway| gateway.list().owner(&key.secret).is_some()));
    two.gateway_keys().revoke("alice").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let ends = Instant::now() + Duration::from_secs(60);
    for gateway in &gateways {
        // A store that other programs keep from answering says nothing of a revocation until it answers again.
        while !gateway.is_up() {
            assert!(Instant::now() < ends, "the list is not read anew: {gateway:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(gateway.list().owner(&key.secret).is_none(), "{gateway:?}");
    }
}

async fn a_key_that_was_made_just_now_opens(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let first = one.gateway_keys().create("first").await.unwrap();
    let gateway = two.gateway_keys().watch().await.unwrap();
    assert!(gateway.list().owner(&first.secret).is_some());
    let second = one.gateway_keys().create("second").await.unwrap();
    tokio::time::sleep(Duration::from_millis(150)).await;
    gateway.renewed().await;
    assert!(gateway.list().owner(&second.secret).is_some());
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
    let fresh = folder.open().await.unwrap().gateway_keys().read().await.unwrap();
    assert_eq!(fresh.owner(&first.secret), None);
    assert!(fresh.owner(&second.secret).is_some());
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
    assert!(keys.read().await.unwrap().owner(&key.secret).is_some());
    for part in [key.secret.as_bytes(), &key.secret.as_bytes()[3..23], &key.secret.as_bytes()[23..]]
    {
        assert!(!holds(&folder.bytes(), part));
    }
}

/// What a store in this folder says about its keys, and what it has to say.
async fn found(folder: &Folder) -> (KeyState, Vec<String>) {
    let store = folder.open().await.unwrap();
    let list = store.gateway_keys().read().await.unwrap();
    (list.state(), store.notes())
}

/// The marker of a store: in the folder of its key, named after the path of its file.
fn marker(folder: &Folder) -> PathBuf {
    let file =
        std::fs::canonicalize(&folder.path).unwrap().join(folder.file().file_name().unwrap());
    let digest = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    folder.path.join(format!("gateway-keys-{digest:.32}"))
}

/// Another place with the same master key, this file and this marker: what used the first one may still be at it.
fn beside(folder: &Folder, file: Option<&[u8]>, mark: &[u8]) -> Folder {
    let other = Folder::new();
    std::fs::create_dir_all(&other.path).unwrap();
    std::fs::copy(folder.key(), other.key()).unwrap();
    std::fs::write(marker(&other), mark).unwrap();
    if let Some(file) = file {
        std::fs::write(other.file(), file).unwrap();
        // As the file that it was.
        std::fs::set_permissions(other.file(), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    other
}

#[tokio::test]
async fn d_4_that_keys_were_made_is_known_when_the_file_is_lost() {
    let folder = Folder::new();
    assert_eq!(found(&folder).await, (KeyState::Never, vec![]));
    assert!(!marker(&folder).exists());
    let before = std::fs::read(folder.file()).unwrap();
    let store = folder.open().await.unwrap();
    store.gateway_keys().create("alice").await.unwrap();
    assert!(marker(&folder).exists(), "it is there before anybody is told the key");
    store.gateway_keys().revoke("alice").await.unwrap();
    drop(store);
    assert_eq!(found(&folder).await, (KeyState::Made, vec![]), "all are revoked");
    let mark = std::fs::read(marker(&folder)).unwrap();
    for damage in [None, Some(&b"x"[..]), Some(b"")] {
        for file in [None, Some(&before[..]), Some(b"")] {
            let other = beside(&folder, file, damage.unwrap_or(&mark));
            let (state, notes) = found(&other).await;
            assert_eq!(state, KeyState::Lost);
            assert!(notes[0].contains("think keys create") && notes[0].contains("keyless"));
        }
    }
    let folder = beside(&folder, None, &mark);
    // A key that is made now is one of this store's.
    folder.open().await.unwrap().gateway_keys().create("bob").await.unwrap();
    assert_eq!(found(&folder).await, (KeyState::Made, vec![]));
}

#[tokio::test]
async fn a_store_with_keys_that_nothing_says_so_of_gets_its_marker() {
    let folder = Folder::new();
    folder.open().await.unwrap().gateway_keys().create("alice").await.unwrap();
    let whole = std::fs::read(marker(&folder)).unwrap();
    std::fs::remove_file(marker(&folder)).unwrap();
    assert_eq!(found(&folder).await, (KeyState::Made, vec![]));
    assert_eq!(std::fs::read(marker(&folder)).unwrap(), whole);
    std::fs::write(marker(&folder), "x").unwrap();
    assert_eq!(found(&folder).await, (KeyState::Made, vec![]));
    assert_eq!(std::fs::read(marker(&folder)).unwrap(), whole);
}

#[tokio::test]
async fn t_5_a_backup_of_before_a_revocation_is_said_to_be_one() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    store.gateway_keys().create("alice").await.unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let before = std::fs::read(folder.file()).unwrap();
    folder.open().await.unwrap().gateway_keys().revoke("alice").await.unwrap();
    let other = beside(&folder, Some(&before), &std::fs::read(marker(&folder)).unwrap());
    let (state, notes) = found(&other).await;
    assert_eq!(state, KeyState::Made);
    assert!(notes[0].contains("is older than its keys"), "{notes:?}");
}

#[tokio::test]
async fn a_key_of_which_nothing_can_be_written_beside_the_store_is_not_made() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    std::fs::create_dir(marker(&folder)).unwrap();
    let error = store.gateway_keys().create("alice").await.unwrap_err();
    assert!(matches!(error, StoreError::Marker { .. }), "{error}");
    assert!(error.to_string().contains("keyless = false"), "{error}");
    assert!(store.gateway_keys().list().await.unwrap()[0].is_revoked);
    // A gateway that asks for keys in any case does without.
    let store = folder.open().await.unwrap();
    store.set_markers(Markers { folder: None, are_needed: false });
    store.gateway_keys().create("alice").await.unwrap();
    assert!(store.notes()[0].contains("cannot be written"));
}

#[tokio::test]
async fn the_marker_is_with_the_key_and_goes_with_no_file_of_the_store() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path.join("keys")).unwrap();
    let key = KeySource::File(folder.path.join("keys/master.key"));
    let location = Location::Sqlite(folder.file());
    let store = Store::open(&location, &key).await.unwrap();
    store.gateway_keys().create("alice").await.unwrap();
    drop(store);
    let name = marker(&folder).file_name().unwrap().to_owned();
    assert!(folder.path.join("keys").join(&name).exists() && !marker(&folder).exists());
    for entry in std::fs::read_dir(&folder.path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let store = Store::open(&location, &key).await.unwrap();
    assert_eq!(store.gateway_keys().read().await.unwrap().state(), KeyState::Lost);
    // Another store with the same key is another one.
    let other = Location::Sqlite(folder.path.join("other.db"));
    let store = Store::open(&other, &key).await.unwrap();
    assert_eq!(store.gateway_keys().read().await.unwrap().state(), KeyState::Never);
}

#[tokio::test]
async fn with_a_key_from_elsewhere_the_marker_is_where_it_is_said() {
    let folder = Folder::new();
    let digits = "0123456789abcdef".repeat(4);
    let key = KeySource::Command(vec!["echo".to_owned(), digits]);
    let location = Location::Sqlite(folder.file());
    let aside = folder.path.join("config");
    std::fs::create_dir_all(&aside).unwrap();
    let open = || async {
        let store = Store::open(&location, &key).await.unwrap();
        store.set_markers(Markers { folder: Some(aside.clone()), are_needed: true });
        store
    };
    open().await.gateway_keys().create("alice").await.unwrap();
    assert_eq!(std::fs::read_dir(&aside).unwrap().count(), 1);
    for name in ["thinkthrough.db", "thinkthrough.db-wal", "thinkthrough.db-shm"] {
        drop(std::fs::remove_file(folder.path.join(name)));
    }
    assert_eq!(open().await.gateway_keys().read().await.unwrap().state(), KeyState::Lost);
}
