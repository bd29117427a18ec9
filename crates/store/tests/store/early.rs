//! Traces of a time before their store was open: whoever opens it has them.

use super::Folder;
use super::spool::until_taken;
use super::traces::{ids, trace};
use thinkthrough_store::{EarlyTraces, KeySource, TraceFilter};

on_each_database! {
    what_was_kept_before_a_store_was_open_is_in_it_afterwards,
}

async fn what_was_kept_before_a_store_was_open_is_in_it_afterwards(folder: Folder) {
    // The store is there, and has its key.
    drop(folder.open().await.unwrap());
    let spool = folder.path.join("spool");
    let spool = folder.server.as_ref().map(|_| spool.as_path());
    let (location, key) = (folder.location(), KeySource::File(folder.key()));
    let before = || EarlyTraces::before(&location, &key, spool);
    let early = before().await.unwrap().unwrap();
    assert!(early.keep(vec![trace("a", 1, "hm", ""), trace("b", 1, "", "")]).await);
    assert_eq!((early.waiting(), early.tenant("a").as_deref()), (2, Some("local")));
    // Another process has its own, which is none of this one's business as long as it lives.
    let other = before().await.unwrap().unwrap();
    assert!(other.keep(vec![trace("c", 1, "", "")]).await);
    let store = folder.open().await.unwrap();
    early.close().await;
    assert!(!early.keep(vec![trace("d", 1, "", "")]).await, "it is closed");
    let all = || async {
        store.take_early_traces(&location, spool).await;
        until_taken(&store.traces()).await;
        let mut all = store.traces().list(TraceFilter::default()).await.unwrap();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        ids(&all).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(all().await, ["a", "b"]);
    drop(other);
    assert_eq!(all().await, ["a", "b", "c"]);
    assert_eq!(all().await, ["a", "b", "c"], "each once");
    if folder.server.is_some() {
        assert!(EarlyTraces::before(&location, &key, None).await.unwrap().is_none());
    }
}
