//! Thoughts that a provider does not take back although the vault has them.

use crate::naive::Naive;
use crate::town::Town;
use std::time::{Duration, Instant};

/// A client whose conversation has so many answers with calls behind it.
pub(crate) async fn after(town: &Town, api: &'static str, model: &str, rounds: usize) -> Naive {
    let mut client = Naive::new(api, model, false);
    client.user("What is in this folder, and what does the readme say?");
    for _ in 0..rounds {
        let (_, calls) = client.step(town, &town.gateway).await;
        assert!(!calls.is_empty(), "{model}");
        client.run_tools(&calls);
    }
    town.seen();
    client
}

/// How many requests the upstream got, and how many of them it refused.
pub(crate) fn asked(town: &Town) -> (usize, usize) {
    let seen = town.seen();
    (seen.len(), seen.iter().filter(|entry| entry.refusal.is_some()).count())
}

#[tokio::test]
async fn u_20_a_record_that_is_refused_is_never_put_back_again() {
    for (api, model, rounds, spoilt, reason) in [
        ("messages", "anthropic-manual", 2, 1, "signature"),
        ("responses", "responses-stateless", 2, 1, "shut"),
        ("generate-content", "gemini-3", 1, 0, "signature"),
        ("chat-completions", "anthropic-manual", 1, 0, "signature"),
    ] {
        let town = Town::new().await;
        let client = after(&town, api, model, rounds).await;
        let before = town.memory.names();
        assert_eq!(before.len(), rounds, "{model}");
        town.memory.spoil(spoilt);
        let said = client.ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 200, "{model}: {}", said.text());
        let header = &said.headers["x-thinkthrough"];
        assert!(header.contains("; repaired=omit"), "{model}: {header}");
        assert_eq!(asked(&town), (2, 1), "{model}");
        let counted = format!("thinkthrough_poisoned_total{{reason=\"{reason}\"}} 1\n");
        let began = Instant::now();
        while !town.metrics().await.contains(&counted) {
            assert!(began.elapsed() < Duration::from_secs(30), "{}", town.metrics().await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let left = town.memory.names();
        for (at, name) in before.iter().enumerate() {
            assert_eq!(left.contains(name), at != spoilt, "{model}: {at}");
        }
        // Any other client of the tenant with the same conversation: it is not even tried.
        for stream in [true, false] {
            let said = client.clone().streams(stream).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 200, "{model}: {}", said.text());
            assert_eq!(asked(&town), (1, 0), "{model}: {:?}", said.headers);
        }
    }
}

#[tokio::test]
async fn u_20_where_nobody_says_which_of_several_was_refused_none_is_blamed() {
    let town = Town::new().await;
    let client = after(&town, "generate-content", "gemini-3", 2).await;
    let before = town.memory.names();
    town.memory.spoil(0);
    let said = client.ask(&town, &town.gateway, &[]).await;
    assert_eq!((said.status, asked(&town)), (200, (2, 1)), "{}", said.text());
    let metrics = town.metrics().await;
    let mut poisoned =
        metrics.lines().filter(|line| line.starts_with("thinkthrough_poisoned_total{"));
    assert!(poisoned.all(|line| line.ends_with(" 0")), "{metrics}");
    assert!(before.iter().all(|name| town.memory.names().contains(name)));
    // Once it goes back alone it is known; the other one is never held responsible.
    for _ in 0..3 {
        let said = client.ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 200, "{}", said.text());
        let (asked, refused) = asked(&town);
        assert!(asked <= 2 && refused <= 1, "{asked} {refused}");
    }
    assert!(town.memory.names().contains(&before[1]));
}
