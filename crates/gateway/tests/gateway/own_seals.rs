//! Seals that a client sends itself: whether they hold only the provider can say.

use crate::naive::Naive;
use crate::poisoned::{after, asked};
use crate::town::{Said, Town};
use serde_json::{Value, json};

const MODEL: &str = "gemini-3";

/// The next request of a client, with this seal on its first call.
async fn sealed(town: &Town, client: &Naive, seal: &str) -> Said {
    let (path, mut body) = client.request();
    body["contents"][1]["parts"][0]["thoughtSignature"] = json!(seal);
    town.post(&town.gateway, &path, &[], &body.to_string()).await
}

/// The seal of the first call in an answer, if it has one.
fn seal_of(said: &Said) -> String {
    let answer: Value = serde_json::from_str(&said.text()).unwrap();
    let parts = answer["candidates"][0]["content"]["parts"].as_array().unwrap();
    parts.iter().find_map(|part| part["thoughtSignature"].as_str()).unwrap().to_owned()
}

#[tokio::test]
async fn a_seal_that_is_refused_gives_way_to_the_kept_one() {
    let town = Town::new().await;
    let client = after(&town, "generate-content", MODEL, 1).await;
    let said = sealed(&town, &client, "CpwBAAAA").await;
    assert_eq!((said.status, asked(&town)), (200, (2, 1)), "{}", said.text());
    let header = &said.headers["x-thinkthrough"];
    assert!(said.count("restored") == 1 && header.ends_with("; repaired=replace"), "{header}");
    // Where the kept one does not hold either, the request goes without any.
    town.memory.spoil(0);
    let said = sealed(&town, &client, "CpwBAAAA").await;
    assert_eq!((said.status, asked(&town)), (200, (3, 2)), "{}", said.text());
    let header = &said.headers["x-thinkthrough"];
    assert!(header.contains("bypassed=1; repaired=omit"), "{header}");
}

#[tokio::test]
async fn what_only_stands_for_a_seal_gives_way_to_the_kept_one() {
    let town = Town::new().await;
    let client = after(&town, "generate-content", MODEL, 1).await;
    let said = sealed(&town, &client, "skip_thought_signature_validator").await;
    assert_eq!((said.status, asked(&town)), (200, (1, 0)), "{}", said.text());
    assert_eq!(said.counts(), [1, 0, 0, 0], "{}", said.headers["x-thinkthrough"]);
}

#[tokio::test]
async fn a_seal_that_holds_stays_although_a_look_alike_is_kept() {
    let town = Town::new().await;
    let mut client = Naive::new("generate-content", MODEL, false);
    client.user("What is in this folder, and what does the readme say?");
    let first = client.ask(&town, &town.gateway, &[]).await;
    let genuine = seal_of(&first);
    let calls = client.take(&first);
    client.run_tools(&calls);
    // The record is another's now, of an answer that looks the same.
    town.memory.spoil(0);
    town.seen();
    let said = sealed(&town, &client, &genuine).await;
    assert_eq!((said.status, asked(&town)), (200, (1, 0)), "{}", said.text());
    assert_eq!(said.counts(), [0; 4], "{}", said.headers["x-thinkthrough"]);
}
