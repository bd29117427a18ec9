//! Records of older gateways get the keys that the ids of their calls give.

use super::talk::origin;
use super::{Folder, question};
use thinkthrough_core::content::{Block, Content, Speaker, Thinking, ToolCall};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::{
    About, Answered, Delivery, Head, Kept, Key, Keys, Prefix, Question, Seen, Version, capture,
};
use thinkthrough_store::{Store, Vault};

on_each_database! {
    old_records_are_found_by_ids_once_they_have_the_keys,
    one_that_a_provider_refused_gets_no_keys,
}

/// More than one step takes.
const RECORDS: usize = 70;

fn call(n: usize) -> Block {
    Block::ToolCall(ToolCall::new(Some(&format!("call_00_JG24PqzrCg0jEw7J{n:04}")), "read"))
}

/// A record as the last gateway of version 1 wrote it: it names no call, and has no key but that of the conversation.
async fn old(vault: &Vault, n: usize) -> (Head, Kept) {
    let secret = vault.secret().await.unwrap();
    let asked = [question(&format!("{n}?"))];
    let question = Question::read(&asked, About::default(), &secret, Version::CURRENT);
    let thinking = Block::Thinking(Thinking::new(format!("thought {n}"), "reasoning_content"));
    let origin = origin();
    let answered = Answered {
        record: &format!("record-{n}"),
        content: Content::new(Speaker::Ai, vec![thinking, call(n)]),
        origin: &origin,
        delivery: Delivery::Full,
        at: 1,
        tickets: None,
        has_thought_ticket: false,
    };
    let (head, kept) = capture(&question, &[], answered, &secret).unwrap();
    let key = Key::stored([u8::try_from(n).unwrap(); 32]);
    let mut seen = Seen { text: None, copy: None, content: key, ..head.seen };
    seen.calls.iter_mut().for_each(|it| it.name = None);
    let head = Head {
        version: Version::V1,
        keys: Keys { answered: key, anchors: Vec::new(), thought: None },
        prefix: Prefix::Head { system: key, tools: key },
        seen,
        ..head
    };
    (head, kept)
}

/// How many records are found by the id of this call.
async fn found(vault: &Vault, n: usize) -> usize {
    let secret = vault.secret().await.unwrap();
    // Nothing of what stood before it is left.
    let said = [question("summary"), Content::new(Speaker::Ai, vec![call(n)]), question("on")];
    let keys = Question::read(&said, About::default(), &secret, Version::CURRENT).keys();
    vault.lookup(&keys).await.unwrap().found.len()
}

/// The store of an older gateway with so many records, opened by this one.
async fn older(folder: &Folder) -> Store {
    let store = folder.open().await.unwrap();
    let vault = store.vault(&Tenant::local());
    for n in 0..RECORDS {
        vault.append(vec![old(&vault, n).await]).await.unwrap();
    }
    drop(store);
    let sql = "INSERT INTO old_record (up_to) SELECT max(nr) FROM record";
    match &folder.server {
        Some(server) => server.execute(&[sql]).await,
        None => rusqlite::Connection::open(folder.file()).unwrap().execute_batch(sql).unwrap(),
    }
    folder.open().await.unwrap()
}

async fn old_records_are_found_by_ids_once_they_have_the_keys(folder: Folder) {
    let store = older(&folder).await;
    let vault = store.vault(&Tenant::local());
    assert_eq!((found(&vault, 0).await, found(&vault, RECORDS - 1).await), (0, 0));
    assert!(store.anchor_old_records().await.unwrap());
    assert_eq!((found(&vault, 0).await, found(&vault, RECORDS - 1).await), (1, 0));
    // Another process goes on where this one was.
    let other = folder.open().await.unwrap();
    assert!(other.anchor_old_records().await.unwrap());
    assert_eq!((found(&vault, 0).await, found(&vault, RECORDS - 1).await), (1, 1));
    assert!(!store.anchor_old_records().await.unwrap());
    // A gateway that is opened later has nothing to do.
    assert!(!folder.open().await.unwrap().anchor_old_records().await.unwrap());
}

async fn one_that_a_provider_refused_gets_no_keys(folder: Folder) {
    let store = older(&folder).await;
    let vault = store.vault(&Tenant::local());
    assert_eq!(vault.poison(vec!["record-3".to_owned()]).await.unwrap(), 1);
    while store.anchor_old_records().await.unwrap() {}
    assert_eq!((found(&vault, 3).await, found(&vault, 4).await), (0, 1));
    assert_eq!(vault.poison(vec!["record-4".to_owned()]).await.unwrap(), 1);
    assert_eq!(found(&vault, 4).await, 0, "its new keys go with the old ones");
}
