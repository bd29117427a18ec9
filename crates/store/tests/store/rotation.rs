//! T-13: another master key and other data keys, while everybody works and whatever ends it.

use super::talk::Talk;
use super::{Folder, holds, mode, question, titled};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeySource, Store, StoreError};

on_each_database! {
    t_13_keys_rotate_twice_under_load_and_nothing_fails,
    t_13_the_key_before_opens_nothing_any_more,
    t_13_a_process_without_the_new_key_goes_on_with_what_it_knows,
    t_13_conversations_under_a_new_data_key_are_read_by_whoever_was_there_before,
    t_13_a_rotation_that_was_interrupted_comes_to_its_end,
    t_13_of_several_rotations_at_once_none_takes_the_key_away,
}

fn keys(folder: &Folder) -> Vec<String> {
    let text = std::fs::read_to_string(folder.key()).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

fn put_keys(folder: &Folder, keys: &[&str]) {
    // As an editor does that writes a new file in the place of the old one.
    let new = folder.path.join("edited");
    std::fs::write(&new, keys.join("\n")).unwrap();
    private(&new);
    std::fs::rename(new, folder.key()).unwrap();
}

fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// What whoever looks after a server does first: it gives the new key to every machine.
fn announce(folder: &Folder) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    if folder.server.is_some() {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        put_keys(folder, &[&keys(folder)[0], &format!("{next:064x}")]);
    }
}

async fn rotate(folder: &Folder) -> Option<u64> {
    announce(folder);
    let rotation = folder.open().await.unwrap().rotate_keys(&folder.location()).await.unwrap();
    assert!(!rotation.has_old, "the key before is not in the file any more");
    rotation.tenants
}

async fn t_13_keys_rotate_twice_under_load_and_nothing_fails(folder: Folder) {
    let store = folder.open().await.unwrap();
    let before = keys(&folder);
    let is_enough = Arc::new(AtomicBool::new(false));
    let working = {
        let (store, is_enough) = (store.clone(), Arc::clone(&is_enough));
        tokio::spawn(async move {
            let mut talks: Vec<Talk> = Vec::new();
            let mut rounds = 0;
            // Until somebody says that it is enough: old tenants go on, and new ones come all the time.
            while !is_enough.load(Ordering::Acquire) || rounds < 4 {
                let tenant = Tenant::named(&format!("tenant {rounds}")).unwrap();
                talks.push(Talk::new(&store, &tenant, "r"));
                for talk in &mut talks {
                    talk.turn(&format!("{rounds}"), "hm", "yes").await;
                }
                rounds += 1;
                tokio::task::yield_now().await;
            }
            for talk in &talks {
                assert_eq!(talk.restored().await * 2, talk.said.len(), "{}", talk.tenant);
            }
            talks
        })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    let first = rotate(&folder).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = rotate(&folder).await.unwrap();
    is_enough.store(true, Ordering::Release);
    let talks = working.await.unwrap();
    assert!(second >= first && talks.len() as u64 >= second, "{first} {second}");
    let after = keys(&folder);
    assert!(after.len() == 1 && after != before && mode(&folder.key()) == 0o600);

    let fresh = folder.open().await.unwrap();
    for talk in talks {
        let mut again = Talk::new(&fresh, &talk.tenant, "s");
        again.said = talk.said;
        assert_eq!(again.restored().await * 2, again.said.len(), "{}", again.tenant);
    }
}

async fn t_13_the_key_before_opens_nothing_any_more(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    let before = keys(&folder);
    let credential = store.pass_through_tenant("https://p.example", "sk-proj-4f9aB2c81d");
    assert_eq!(rotate(&folder).await, Some(1));
    let after = keys(&folder);
    put_keys(&folder, &[&before[0]]);
    assert!(matches!(folder.open().await, Err(StoreError::WrongKey { .. })));
    put_keys(&folder, &[&after[0]]);
    let fresh = folder.open().await.unwrap();
    let same = fresh.pass_through_tenant("https://p.example", "sk-proj-4f9aB2c81d");
    assert_eq!(same, credential, "callers are the same tenants as before");
    let mut again = Talk::new(&fresh, &Tenant::local(), "a");
    again.said.clone_from(&talk.said);
    assert_eq!(again.restored().await, 1);
    let copy = folder.path.join("copy.key");
    fresh.backup_key(&copy).unwrap();
    assert_eq!(std::fs::read_to_string(copy).unwrap().trim(), after[0]);
}

async fn t_13_a_process_without_the_new_key_goes_on_with_what_it_knows(folder: Folder) {
    let command = |key: &str| KeySource::Command(vec!["/bin/echo".into(), key.to_owned()]);
    drop(folder.open().await.unwrap());
    let before = keys(&folder);
    // Its source gives the old key for ever.
    let stuck = Store::open(&folder.location(), &command(&before[0])).await.unwrap();
    let mut known = Talk::new(&stuck, &Tenant::local(), "a");
    known.turn("one", "hm", "first").await;
    rotate(&folder).await.unwrap();
    known.turn("two", "well", "second").await;
    assert_eq!(known.restored().await, 2);
    let new = stuck.conversations(&Tenant::named("bob").unwrap());
    for _ in 0..2 {
        let refused = new.create(&titled("t")).await.unwrap_err();
        assert!(matches!(refused, StoreError::Rotated { .. }), "{refused}");
    }
    let fresh = folder.open().await.unwrap();
    let bob = Tenant::named("bob").unwrap();
    assert_eq!(fresh.erase(&bob).await, Ok(None), "nothing was locked with the key before");
    let mut again = Talk::new(&fresh, &Tenant::local(), "a");
    again.said.clone_from(&known.said);
    assert_eq!(again.restored().await, 2);
}

async fn t_13_conversations_under_a_new_data_key_are_read_by_whoever_was_there_before(
    folder: Folder,
) {
    let old = folder.open().await.unwrap().conversations(&Tenant::local());
    let first = old.begin(&titled("first"), &[question("one")]).await.unwrap();
    rotate(&folder).await.unwrap();
    let new = folder.open().await.unwrap().conversations(&Tenant::local());
    let second = new.begin(&titled("second"), &[question("two")]).await.unwrap();
    assert_eq!(old.load(&second).await.unwrap().contents, [question("two")]);
    assert_eq!(new.load(&first).await.unwrap().contents, [question("one")]);
    rotate(&folder).await.unwrap();
    let third = new.begin(&titled("third"), &[]).await.unwrap();
    assert_eq!(old.latest().await.unwrap().unwrap().id, third);
    let titles: Vec<_> = old.list().await.unwrap().into_iter().map(|it| it.meta.title).collect();
    assert_eq!(titles.len(), 3);
}

async fn t_13_a_rotation_that_was_interrupted_comes_to_its_end(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    let old = keys(&folder);
    let new = "5a".repeat(32);
    // Before anything was locked with the new key.
    put_keys(&folder, &[&old[0], &new]);
    assert!(folder.open().await.is_ok(), "either key opens it");
    let rotation = folder.open().await.unwrap().rotate_keys(&folder.location()).await.unwrap();
    assert_eq!((rotation.tenants, keys(&folder)), (Some(1), vec![new.clone()]), "goes on with it");
    // When everything was, and the old key was still there.
    put_keys(&folder, &[&old[0], &new]);
    let opened = folder.open().await.unwrap();
    let mut again = Talk::new(&opened, &Tenant::local(), "a");
    again.said.clone_from(&talk.said);
    assert_eq!(again.restored().await, 1);
    let rotation = opened.rotate_keys(&folder.location()).await.unwrap();
    assert_eq!((rotation.tenants, keys(&folder)), (None, vec![new.clone()]));
    let junk = format!("{new} {new} {new}");
    put_keys(&folder, &[&junk]);
    assert!(matches!(folder.open().await, Err(StoreError::Key { .. })), "three keys are too many");
}

async fn t_13_of_several_rotations_at_once_none_takes_the_key_away(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    for _ in 0..5 {
        announce(&folder);
        let once = async || folder.open().await?.rotate_keys(&folder.location()).await;
        let (a, b, c, d) = tokio::join!(once(), once(), once(), once());
        let done = [a, b, c, d];
        assert!(done.iter().any(Result::is_ok), "{done:?}");
        for refused in done.iter().filter_map(|done| done.as_ref().err()) {
            assert!(matches!(refused, StoreError::NotRotated { .. }), "{refused}");
        }
        let opened = folder.open().await.unwrap();
        let mut again = Talk::new(&opened, &Tenant::local(), "a");
        again.said.clone_from(&talk.said);
        assert_eq!(again.restored().await, 1);
    }
}

#[tokio::test]
async fn t_13_a_key_that_we_do_not_look_after_is_given_first() {
    let folder = Folder::new();
    let (old, new) = ("0a".repeat(32), "0b".repeat(32));
    let source = |keys: &str| KeySource::Command(vec!["/bin/echo".into(), keys.to_owned()]);
    let open = async |keys: &str| Store::open(&folder.location(), &source(keys)).await;
    let store = open(&old).await.unwrap();
    let refused = store.rotate_keys(&folder.location()).await.unwrap_err().to_string();
    assert!(refused.contains("openssl rand -hex 32") && refused.contains("/bin/echo"), "{refused}");
    let both = format!("{old} {new}");
    let rotation = open(&both).await.unwrap().rotate_keys(&folder.location()).await.unwrap();
    assert!(rotation.has_old && rotation.tenants == Some(0), "{rotation:?}");
    let refused = open(&both).await.unwrap().rotate_keys(&folder.location()).await.unwrap_err();
    assert!(refused.to_string().contains("take the first one out"), "{refused}");
    assert!(open(&new).await.is_ok());
    assert!(matches!(open(&old).await, Err(StoreError::WrongKey { .. })));
    if let Some(server) = Folder::on_server().await {
        let store = server.open().await.unwrap();
        let refused = store.rotate_keys(&server.location()).await.unwrap_err().to_string();
        assert!(refused.contains("for every gateway"), "no machine makes a key alone: {refused}");
    }
}

#[tokio::test]
async fn t_13_what_was_locked_before_stands_nowhere_in_the_file() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    let sql = "SELECT wrapped FROM data_key UNION ALL SELECT lookup_key FROM tenant \
               UNION ALL SELECT install_key FROM install UNION ALL SELECT key_check FROM install";
    let before = super::secrecy::rows(&folder, sql);
    assert!(before.len() == 4 && before.iter().all(|key| holds(&folder.bytes(), key)));
    rotate(&folder).await.unwrap();
    assert!(before.iter().all(|key| !holds(&folder.bytes(), key)));
    assert_eq!(super::secrecy::rows(&folder, sql).len(), 5, "a new data key beside the old one");
}

#[tokio::test]
async fn t_13_a_damaged_key_is_named_and_nothing_is_changed() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    for name in ["alice", "bob"] {
        let tenant = Tenant::named(name).unwrap();
        store.conversations(&tenant).begin(&titled("t"), &[question("q")]).await.unwrap();
    }
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let sql = "UPDATE tenant SET lookup_key = zeroblob(72) WHERE name = 'bob'";
    assert_eq!(connection.execute(sql, []), Ok(1));
    let error = store.rotate_keys(&folder.location()).await.unwrap_err();
    assert!(error.to_string().contains("a key of the tenant `bob`"), "{error}");
    let alice = Tenant::named("alice").unwrap();
    let fresh = folder.open().await.unwrap();
    assert_eq!(fresh.conversations(&alice).list().await.unwrap().len(), 1);
    assert_eq!(fresh.erase(&Tenant::named("bob").unwrap()).await, Ok(Some(1)));
    assert_eq!(rotate(&folder).await, Some(1), "without what was damaged it goes on");
}

/// The folder that the process to be killed works in; set in that process only.
const FOLDER: &str = "THINK_STORE_TEST_ROTATION";

/// Runs in the process to be killed: rotates for ever.
#[tokio::test]
async fn rotates_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        // Without a folder this is the test that keys can be rotated at all, which the killed process does.
        let folder = Folder::new();
        drop(folder.open().await.unwrap());
        assert_eq!(rotate(&folder).await, Some(0));
        return;
    };
    let folder = Folder::at(folder.into());
    loop {
        println!("begins");
        rotate(&folder).await;
    }
}

#[tokio::test]
async fn t_13_sixty_kills_leave_a_key_that_opens_the_store() {
    let folder = Folder::new();
    let mut said = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    drop(folder.open().await.unwrap());
    // How long a rotation takes here and now, so that kills fall all over it.
    let began = std::time::Instant::now();
    for _ in 0..3 {
        rotate(&folder).await;
    }
    let one = began.elapsed() / 3;
    for round in 0..60_u32 {
        let opened = folder.open().await.unwrap_or_else(|error| panic!("round {round}: {error}"));
        let mut talk = Talk::new(&opened, &Tenant::local(), &round.to_string());
        talk.said.clone_from(&said);
        assert_eq!(talk.restored().await * 2, said.len(), "round {round}");
        talk.turn(&format!("{round}"), "hm", "yes").await;
        said.clone_from(&talk.said);
        drop((talk, opened));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "rotation::rotates_until_it_is_killed", "--nocapture"])
            .env(FOLDER, &folder.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut lines = std::io::BufRead::lines(out).map(Result::unwrap);
        // The first rotation of a process takes longer.
        for _ in 0..2 {
            assert!(lines.any(|line| line.contains("begins")));
        }
        std::thread::sleep(one * (round * 7 % 30) / 15);
        child.kill().unwrap();
        child.wait().unwrap();
        seen.insert(keys(&folder).len());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2], "killed between steps, and not");
    rotate(&folder).await;
    let names = std::fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains(".new")).collect();
    assert!(left.is_empty(), "no file with keys is left: {left:?}");
}
