//! What is in the files, and who can read it.

use super::traces::trace;
use super::{Folder, answer, holds, local, mode, question, titled};
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{
    ConversationState, KeySource, Location, LostTrace, Meta, NewTrace, Store, StoreError,
    TraceFilter, TraceText,
};

const CANARIES: [&str; 5] =
    ["question-canary", "thought-canary", "answer-canary", "title-canary", "model-canary"];

async fn with_canaries(folder: &Folder) -> thinkthrough_store::Conversations {
    let conversations = local(folder).await;
    let state =
        ConversationState { model: Some("model-canary".into()), ..ConversationState::default() };
    let meta = Meta { state, ..titled("title-canary") };
    let said = [question("question-canary"), answer("thought-canary", "answer-canary")];
    let id = conversations.begin(&meta, &said).await.unwrap();
    conversations.append(&id, &said).await.unwrap();
    let mut draft = conversations.draft(&id, None).await.unwrap();
    draft.record(&said[1].blocks).await.unwrap();
    conversations
}

#[tokio::test]
async fn nothing_that_was_said_stands_in_the_files() {
    let folder = Folder::new();
    let conversations = with_canaries(&folder).await;
    for canary in CANARIES {
        assert!(!holds(&folder.bytes(), canary.as_bytes()), "{canary}");
    }
    drop(conversations);
    for canary in CANARIES {
        assert!(!holds(&folder.bytes(), canary.as_bytes()), "{canary} after the end");
    }
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let folder = Folder::new();
    let _conversations = with_canaries(&folder).await;
    assert_eq!(mode(&folder.path), 0o700);
    let files = std::fs::read_dir(&folder.path).unwrap();
    let modes: Vec<_> =
        files.map(|entry| entry.unwrap().path()).map(|it| (mode(&it), it)).collect();
    assert!(modes.len() >= 2 && modes.iter().all(|(mode, _)| *mode == 0o600), "{modes:?}");
}

#[tokio::test]
async fn another_key_is_refused() {
    let folder = Folder::new();
    drop(with_canaries(&folder).await);
    std::fs::write(folder.key(), "0".repeat(64)).unwrap();
    assert_eq!(
        folder.open().await.unwrap_err().to_string(),
        format!(
            "the master key from the file `{}` is not the one that the store `{}` was made with; give it the right key",
            folder.key().display(),
            folder.file().display()
        )
    );
    std::fs::write(folder.key(), "not a key").unwrap();
    assert!(matches!(folder.open().await, Err(StoreError::Key { .. })));
    std::fs::remove_file(folder.key()).unwrap();
    assert!(matches!(folder.open().await, Err(StoreError::KeyMissing { .. })));
    assert!(!folder.key().exists(), "no key is made for a store that has one");
}

#[tokio::test]
async fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    drop(local(&folder).await);
    std::fs::set_permissions(folder.key(), std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = folder.open().await.unwrap_err().to_string();
    assert!(
        error.contains("others may read this key (mode 640); run `chmod 600` on it"),
        "{error}"
    );
}

/// Whoever made the file, and what of it is there already.
#[tokio::test]
async fn a_file_that_others_could_read_is_its_owners_alone_once_it_is_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    assert_eq!(store.notes(), [""; 0]);
    store.conversations(&Tenant::local()).create(&titled("t")).await.unwrap();
    let log = folder.path.join("thinkthrough.db-wal");
    for file in [folder.file(), log.clone()] {
        assert_eq!(mode(&file), 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o664)).unwrap();
    }
    let again = folder.open().await.unwrap();
    assert_eq!([mode(&folder.file()), mode(&log)], [0o600; 2]);
    let said = format!("others could get at the store `{}` (mode 664)", folder.file().display());
    let notes = again.notes();
    assert!(notes.len() == 1 && notes[0].starts_with(&said), "{notes:?}");
    assert_eq!(folder.open().await.unwrap().notes(), [""; 0]);
}

#[tokio::test]
async fn a_key_may_be_what_a_program_prints() {
    let folder = Folder::new();
    let at = Location::Sqlite(folder.file());
    let printing = |text: &str| {
        KeySource::Command(vec!["/bin/sh".into(), "-c".into(), format!("printf '%s\\n' {text}")])
    };
    let key = "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff";
    let store = Store::open(&at, &printing(key)).await.unwrap();
    let conversations = store.conversations(&Tenant::local());
    conversations.create(&titled("t")).await.unwrap();
    assert!(Store::open(&at, &printing(&key.to_lowercase())).await.is_ok());
    let failing = KeySource::Command(vec!["/bin/false".into()]);
    let error = Store::open(&at, &failing).await.unwrap_err().to_string();
    assert!(error.contains("the command `/bin/false`"), "{error}");
    let unset = KeySource::Env("THINK_STORE_TEST_UNSET".into());
    let error = Store::open(&at, &unset).await.unwrap_err().to_string();
    assert!(error.contains("`THINK_STORE_TEST_UNSET` cannot be used: it is not set"), "{error}");
}

#[tokio::test]
async fn what_is_no_store_of_ours_is_left_alone() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    std::fs::write(folder.file(), "dear diary, this is no database at all".repeat(100)).unwrap();
    let before = folder.bytes();
    assert!(matches!(folder.open().await, Err(StoreError::Damaged { .. })));
    assert_eq!(folder.bytes(), before);
}

#[tokio::test]
async fn what_is_deleted_leaves_neither_key_nor_row() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let kept = conversations.begin(&titled("kept"), &[question("kept")]).await.unwrap();
    let id =
        conversations.begin(&titled("t"), &[answer("hm", &"long ".repeat(9000))]).await.unwrap();
    conversations.append(&id, &[question("more")]).await.unwrap();
    let rows = rows(
        &folder,
        "SELECT wrapped_key FROM conversation WHERE nr = 2 UNION ALL \
                              SELECT substr(sealed, 1, 64) FROM message WHERE conversation = 2",
    );
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| holds(&folder.bytes(), row)));
    conversations.delete(&id).await.unwrap();
    for row in &rows {
        assert!(!holds(&folder.bytes(), row), "neither in the file nor in its log");
    }
    assert_eq!(conversations.load(&kept).await.unwrap().contents, [question("kept")]);
}

#[tokio::test]
async fn an_erased_tenant_leaves_no_key() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let alice = Tenant::named("alice").unwrap();
    let conversations = store.conversations(&alice);
    conversations.begin(&titled("t"), &[question("q")]).await.unwrap();
    let keys = rows(
        &folder,
        "SELECT wrapped FROM data_key UNION ALL SELECT lookup_key FROM tenant \
                              UNION ALL SELECT wrapped_key FROM conversation",
    );
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| holds(&folder.bytes(), key)));
    assert_eq!(store.erase(&alice).await, Ok(Some(1)));
    assert!(keys.iter().all(|key| !holds(&folder.bytes(), key)));
}

#[tokio::test]
async fn the_words_of_a_deleted_conversations_traces_are_nowhere() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let conversations = store.conversations(&Tenant::local());
    let id = conversations.create(&titled("t")).await.unwrap();
    let traces = store.traces();
    for at in 0..40 {
        let thought = format!("quagmire {at}");
        let other = trace(&format!("kept-{at}"), at, &thought, "");
        let session = id.as_str().to_owned();
        let its = trace(&format!("its-{at}"), at, &format!("xylophone {at}"), "");
        traces.add(vec![other, NewTrace { session, ..its }]).await.unwrap();
        while traces.index().await.unwrap() > 0 {}
    }
    // One that waits in the journal, as a gateway has it.
    let session = id.as_str().to_owned();
    let waits = NewTrace { session, ..trace("waits", 99, "xylophone of late", "") };
    traces.hand_over(vec![waits], &(Arc::new(|_: &str, _: &str| {}) as LostTrace)).await;
    assert!(holds(&folder.bytes(), b"xylophone"));
    conversations.delete(&id).await.unwrap();
    assert!(!holds(&folder.bytes(), b"xylophone"), "neither file, index, log nor journal");
    let found = traces.search("quagmire", TraceText::All, TraceFilter::default()).await.unwrap();
    assert_eq!(found.traces.len(), 40);
}

pub(super) fn rows(folder: &Folder, sql: &str) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let mut rows = connection.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}
