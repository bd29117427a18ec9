//! Thoughts of an answer in progress, in a file beside the store.

use super::{Folder, holds, mode};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Kept;
use thinkthrough_json::{Extra, Raw};
use thinkthrough_store::{Spill, Store};

/// A thought with a value in nearly every field.
fn thought(text: &str) -> Kept {
    let mut extra = Extra::default();
    extra.insert("messages", "more", Raw::string("what has no name"));
    extra.note("messages", "form", Raw::string("noted"));
    let some = || Some(format!("{text}, sealed"));
    Kept {
        blocks: vec![Block::Thinking(Thinking {
            thought: format!("{text} \u{1F9E0} \"\\\n"),
            source_field: "thinking".into(),
            signature: some(),
            redacted_data: some(),
            encrypted_content: some(),
            id: some(),
            summary: Some(vec![text.into(), String::new()]),
            content: Some(Vec::new()),
            format: some(),
            detail_type: some(),
            index: Some(7),
            is_hidden: true,
            partial: false,
            duration_ms: Some(3),
            effort: some(),
            extra,
        })],
    }
}

async fn store(folder: &Folder) -> Store {
    folder.open().await.unwrap()
}

fn spill(store: &Store, tenant: &str) -> Option<Spill> {
    store.vault(&Tenant::stored(tenant).unwrap()).spill()
}

fn files(folder: &Folder) -> Vec<PathBuf> {
    let all = std::fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_str().unwrap().contains(".spill-")).collect()
}

async fn until_gone(folder: &Folder) {
    let began = Instant::now();
    while !files(folder).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "the file stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn thoughts_come_back_as_they_were_and_the_file_goes_with_its_answer() {
    let folder = Folder::new();
    let store = store(&folder).await;
    let spill = spill(&store, "ana").unwrap();
    assert!(files(&folder).is_empty(), "a file is made with the first thought");
    let all = ["canary-one", "canary-two", "canary-three"].map(thought);
    let mut places = Vec::new();
    for kept in &all {
        places.push(spill.write(kept.clone()).await.unwrap());
    }
    let [file] = files(&folder).try_into().unwrap();
    assert_eq!(mode(&file), 0o600);
    assert!(!holds(&std::fs::read(&file).unwrap(), b"canary"));
    assert_eq!(spill.read(vec![places[2]]).await, Some(vec![all[2].clone()]));
    assert_eq!(spill.read(places.clone()).await, Some(all.to_vec()));
    drop(spill.clone());
    assert_eq!(files(&folder).len(), 1, "another handle needs it");
    drop(spill);
    until_gone(&folder).await;
}

#[tokio::test]
async fn t_13_a_thought_of_another_place_stays_shut() {
    let folder = Folder::new();
    let store = store(&folder).await;
    let (ana, ben) = (spill(&store, "ana").unwrap(), spill(&store, "ben").unwrap());
    let at_ana = [
        ana.write(thought("the first of ana")).await.unwrap(),
        ana.write(thought("another of ana!!")).await.unwrap(),
    ];
    let at_ben = ben.write(thought("the first of ben")).await.unwrap();
    let [one, two] = files(&folder).try_into().unwrap();
    let (first, second) = (std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    let (long, short) = if first.len() > second.len() { (one, two) } else { (two, one) };
    // Bytes of one tenant at the place of another tenant.
    let of_ana = std::fs::read(&long).unwrap();
    std::fs::write(&short, &of_ana[..of_ana.len() / 2]).unwrap();
    assert_eq!(ben.read(vec![at_ben]).await, None);
    // Two thoughts of the same file change places.
    let half = (of_ana.len() - 32) / 2;
    let swapped = [&of_ana[..32], &of_ana[32 + half..], &of_ana[32..32 + half]].concat();
    std::fs::write(&long, swapped).unwrap();
    assert_eq!(ana.read(at_ana.to_vec()).await, None);
}

#[tokio::test]
async fn a_file_of_a_process_that_ended_is_deleted_and_one_in_use_stays() {
    let folder = Folder::new();
    let first = store(&folder).await;
    let used = spill(&first, "ana").unwrap();
    let place = used.write(thought("in use")).await.unwrap();
    let left = folder.file().with_file_name("thinkthrough.db.spill-00000000000000000000");
    std::fs::write(&left, "of no use").unwrap();
    let second = store(&folder).await;
    assert!(!left.exists(), "nobody needs it");
    assert_eq!(used.read(vec![place]).await, Some(vec![thought("in use")]));
    assert_eq!(second.notes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_thought_that_cannot_be_written_is_given_back() {
    // File systems accept names of at most 255 bytes.
    let mut folder = Folder::new();
    folder.name = format!("{}.db", "s".repeat(226));
    let store = store(&folder).await;
    let spill = spill(&store, "ana").unwrap();
    assert_eq!(spill.write(thought("whole")).await.unwrap_err(), thought("whole"));
}

#[tokio::test]
async fn a_store_on_a_server_has_no_files() {
    if let Some(folder) = Folder::on_server().await {
        assert!(spill(&store(&folder).await, "ana").is_none());
    }
}
