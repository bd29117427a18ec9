//! The log of a store in a file: a change in it is said and nothing of it is lost, and a clean end leaves nothing in it.

use super::{Folder, answer, local, titled};
use std::collections::BTreeSet;
use std::path::PathBuf;
use thinkthrough_core::content::Content;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{ConversationId, StoreError};

fn said() -> Vec<Content> {
    (0..8).map(|n| answer("hm", &format!("answer {n}"))).collect()
}

fn log(folder: &Folder) -> PathBuf {
    folder.path.join("thinkthrough.db-wal")
}

/// Another place with the same master key, a copy of the file, and this log.
fn beside(folder: &Folder, log_of_it: Option<&[u8]>) -> Folder {
    let other = Folder::new();
    std::fs::create_dir_all(&other.path).unwrap();
    std::fs::copy(folder.key(), other.key()).unwrap();
    std::fs::copy(folder.file(), other.file()).unwrap();
    if let Some(bytes) = log_of_it {
        std::fs::write(log(&other), bytes).unwrap();
    }
    other
}

/// What a store in this folder has of the conversation, and what it has to say.
async fn found(folder: &Folder, id: &ConversationId) -> (Vec<Content>, Vec<String>) {
    let store = folder.open().await.unwrap();
    let contents = match store.conversations(&Tenant::local()).load(id).await {
        Err(StoreError::NoConversation(_)) => Vec::new(),
        whole => whole.unwrap().contents,
    };
    (contents, store.notes())
}

/// The logs that were put aside.
fn aside(folder: &Folder) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().path());
    let aside = files.filter(|path| path.to_string_lossy().contains(".db-wal.aside-"));
    aside.map(|path| std::fs::read(path).unwrap()).collect()
}

#[tokio::test]
async fn d_4_a_changed_bit_in_the_log_is_said_and_all_of_the_log_is_put_aside() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    for content in &said() {
        conversations.append(&id, std::slice::from_ref(content)).await.unwrap();
    }
    let whole = std::fs::read(log(&folder)).unwrap();
    assert!(whole.len() > 10_000, "everything is in the log still: {}", whole.len());
    let mut lengths = BTreeSet::new();
    for at in (100..whole.len()).step_by(whole.len() / 12) {
        let mut broken = whole.clone();
        broken[at] ^= 1;
        let copy = beside(&folder, Some(&broken));
        let (contents, notes) = found(&copy, &id).await;
        let is_said = |note: &String| note.contains("is not whole from byte");
        assert!(notes.len() == 1 && notes.iter().all(is_said), "byte {at}: {notes:?}");
        assert_eq!(contents, said()[..contents.len()], "byte {at}: what stands before is kept");
        lengths.insert(contents.len());
        assert!(aside(&copy) == [broken], "byte {at}: a copy of it as it was");
        // It is not met again, and the copy stays.
        assert_eq!(found(&copy, &id).await, (contents, vec![]), "byte {at}");
        assert_eq!(aside(&copy).len(), 1, "byte {at}");
    }
    assert!(lengths.len() >= 3, "some of it was before the change: {lengths:?}");
}

#[tokio::test]
async fn after_a_clean_end_a_copy_of_the_file_alone_is_whole() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let conversations = store.conversations(&Tenant::local());
    let id = conversations.begin(&titled("t"), &said()).await.unwrap();
    let (before, _) = found(&beside(&folder, None), &id).await;
    assert!(before.is_empty(), "it is in the log until then");
    store.close().await;
    // The file is still open: SQLite itself moves the log when the last one lets go of it.
    assert_eq!(found(&beside(&folder, None), &id).await, (said(), vec![]));
    drop(store);
}
