//! Records that are at hand: they are not read again, and are found only as long as the database finds them.

use super::talk::Talk;
use super::{Folder, server};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::Store;

on_each_database! {
    a_request_that_goes_on_reads_only_what_is_new,
    what_others_refuse_add_or_erase_is_so_at_once,
    another_record_under_a_number_that_is_known_is_read,
}

/// Changes the rows behind the back of all stores.
async fn change(folder: &Folder, sql: &str) {
    match &folder.server {
        Some(server) => {
            server::connect(&server.url).await.unwrap().batch_execute(sql).await.unwrap();
        }
        None => {
            rusqlite::Connection::open(folder.file()).unwrap().execute_batch(sql).unwrap();
        }
    }
}

/// A conversation of three answers; the first two were looked up.
async fn talk(store: &Store) -> Talk {
    let mut talk = Talk::new(store, &Tenant::named("alice").unwrap(), "talk");
    for n in 0..3 {
        talk.turn(&format!("{n}?"), &format!("thought {n}"), &format!("{n}.")).await;
    }
    talk
}

async fn a_request_that_goes_on_reads_only_what_is_new(folder: Folder) {
    let (store, other) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let talk = talk(&store).await;
    change(&folder, "UPDATE record SET head = kept").await;
    let looked = talk.looks().await.unwrap();
    let thoughts: Vec<_> = talk.thoughts(&looked).into_iter().flatten().collect();
    assert_eq!((thoughts, looked.damaged), (vec!["thought 0".into(), "thought 1".into()], 1));
    // Who has none of them at hand reads them all.
    let cold = other.vault(&talk.tenant).lookup(&talk.keys().await).await.unwrap();
    assert_eq!((cold.found.len(), cold.damaged), (0, 3));
}

async fn what_others_refuse_add_or_erase_is_so_at_once(folder: Folder) {
    let (store, other) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let mine = talk(&store).await;
    assert_eq!(mine.looks().await.unwrap().found.len(), 3);
    let theirs = other.vault(&mine.tenant);
    // The same question, answered alike with another thought.
    let mut twin = Talk::new(&other, &mine.tenant, "twin");
    twin.turn("0?", "another thought", "0.").await;
    assert_eq!(mine.looks().await.unwrap().found.len(), 4);
    assert_eq!(theirs.poison(vec!["talk-1".to_owned()]).await, Ok(1));
    assert_eq!(mine.looks().await.unwrap().found.len(), 3);
    assert_eq!(other.erase(&mine.tenant).await, Ok(Some(0)));
    assert!(mine.looks().await.unwrap().found.is_empty());
}

/// A server that fails over to a copy without the last rows may give their numbers again.
async fn another_record_under_a_number_that_is_known_is_read(folder: Folder) {
    if folder.server.is_none() {
        return;
    }
    let store = folder.open().await.unwrap();
    let talk = talk(&store).await;
    change(&folder, "UPDATE record SET id = 'other-' || id").await;
    let looked = talk.looks().await.unwrap();
    assert_eq!((looked.found.len(), looked.damaged), (0, 3), "their heads are of other records");
}
