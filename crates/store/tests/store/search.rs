//! Search through sealed logs.

use super::{Folder, answer, local, question, titled};
use thinkthrough_core::content::Speaker;
use thinkthrough_store::{Conversations, Found, Hit, Search, Within};

on_each_database! {
    thoughts_answers_and_everything_are_looked_through,
    a_search_ends_when_enough_is_found_and_says_how_far_it_is,
    searching_five_thousand_messages_costs_what_reading_them_costs,
}

async fn hits(conversations: &Conversations, search: &Search) -> Vec<Hit> {
    let mut hits = Vec::new();
    let found = |found| {
        if let Found::Hit(hit) = found {
            hits.push(hit);
        }
        true
    };
    conversations.search(search, found).await.unwrap();
    hits
}

fn search(text: &str, within: Within) -> Search {
    Search { text: text.into(), within, only: None }
}

async fn thoughts_answers_and_everything_are_looked_through(folder: Folder) {
    let conversations = local(&folder).await;
    assert_eq!(hits(&conversations, &search("sky", Within::All)).await, []);
    let said =
        [question("Why is the SKY blue?"), answer("the sky scatters", "Because, the sky...")];
    let id = conversations.begin(&titled("Skies"), &said).await.unwrap();
    conversations.begin(&titled("Other"), &[question("nothing here")]).await.unwrap();
    let places = async |text, within| -> Vec<(u32, usize, Speaker, bool)> {
        let hits = hits(&conversations, &search(text, within)).await;
        hits.iter().map(|hit| (hit.message, hit.block, hit.speaker, hit.is_thought)).collect()
    };
    let (q, t, a) =
        ((0, 0, Speaker::Human, false), (1, 0, Speaker::Ai, true), (1, 1, Speaker::Ai, false));
    assert_eq!(places("sky", Within::All).await, [q, t, a]);
    assert_eq!(places("sky", Within::Thoughts).await, [t]);
    assert_eq!(places("sKy", Within::Answers).await, [a]);
    assert_eq!(places("", Within::All).await, []);
    let only = Search { only: Some(id.clone()), ..search("nothing", Within::All) };
    assert_eq!(hits(&conversations, &only).await, []);
    let hit = hits(&conversations, &search("scatters", Within::All)).await.pop().unwrap();
    assert_eq!((hit.id, hit.title.as_deref()), (id, Some("Skies")));
    assert_eq!((hit.excerpt.as_str(), &hit.excerpt[hit.at]), ("the sky scatters", "scatters"));
}

async fn a_search_ends_when_enough_is_found_and_says_how_far_it_is(folder: Folder) {
    let conversations = local(&folder).await;
    for _ in 0..3 {
        conversations.begin(&titled("t"), &[question("x"), question("x")]).await.unwrap();
    }
    let mut found = Vec::new();
    let some = search("x", Within::All);
    let take = |it: Found| {
        found.push(matches!(it, Found::Hit(_)));
        found.iter().filter(|is_hit| **is_hit).count() < 3
    };
    conversations.search(&some, take).await.unwrap();
    assert_eq!(found, [false, true, true, false, true]);
    let mut progress = Vec::new();
    let take = |it: Found| {
        if let Found::Progress { done, of } = it {
            progress.push((done, of));
        }
        true
    };
    conversations.search(&search("y", Within::All), take).await.unwrap();
    assert_eq!(progress, [(0, 3), (1, 3), (2, 3), (3, 3)]);
}

async fn searching_five_thousand_messages_costs_what_reading_them_costs(folder: Folder) {
    let conversations = local(&folder).await;
    let long = "some words that a model thinks before it answers, ".repeat(4);
    let said: Vec<_> = (0..5000).map(|n| answer(&long, &format!("answer {n}"))).collect();
    let id = conversations.begin(&titled("t"), &said).await.unwrap();
    let start = std::time::Instant::now();
    assert_eq!(conversations.load(&id).await.unwrap().contents.len(), 5000);
    let read = start.elapsed();
    let start = std::time::Instant::now();
    let found = hits(&conversations, &search("answer 4999", Within::All)).await;
    let searched = start.elapsed();
    assert_eq!(found.len(), 1);
    println!("5,000 messages: read in {read:?}, searched in {searched:?}");
    // Opening all of them again for each of them would take minutes; a machine that does other things takes seconds.
    assert!(searched < read * 10 + std::time::Duration::from_secs(30), "{searched:?}");
}
