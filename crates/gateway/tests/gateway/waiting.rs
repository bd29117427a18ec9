//! Which records an answer waits for.

use crate::memory::Mood;
use crate::town::Town;
use crate::upstreams::{Close, Scripted, client};
use serde_json::{Value, json};
use std::time::Instant;
use thinkthrough_core::contract::Contract;
use thinkthrough_gateway::Route;

fn keeps_its_contract(_: &mut Route) {}

fn wants_nothing_back(route: &mut Route) {
    route.target = route.target.clone().with_contract(Contract::NONE, "test");
}

/// An answer without a thought has a record only where somebody may ask whether it had one.
#[tokio::test]
async fn no_record_is_made_where_nothing_was_thought_and_nothing_is_wanted_back() {
    let said = json!({"role": "assistant", "content": "Here."});
    let thought = json!({"role": "assistant", "reasoning_content": "I look.", "content": "Here."});
    for (how, message, records) in [
        (wants_nothing_back as fn(&mut Route), &said, 0),
        (wants_nothing_back, &thought, 1),
        // Whoever does not know that there was no thought would go around it.
        (keeps_its_contract, &said, 1),
    ] {
        let upstream = Scripted::start(vec![whole(message)], Close::Fin).await;
        let town = upstream.town_with(how).await;
        let answer = client("chat-completions").streams(false);
        let answer = answer.ask(&town, &town.gateway, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(town.memory.records(), records, "{message}");
    }
}

/// Answers do not wait for a store that stands still, each for itself: now and then one tries.
#[tokio::test]
async fn a_store_that_stands_still_is_not_asked_to_keep_every_answer() {
    let town = Town::new().await;
    town.memory.feel(Mood::Slow);
    let mut unsaved = 0;
    let mut ask = async |times: usize| {
        let (began, before) = (Instant::now(), town.memory.appends());
        for _ in 0..times {
            let client = client("chat-completions").streams(false);
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 200, "{}", said.text());
            unsaved += said.count("unsaved");
        }
        (town.memory.appends() - before, began.elapsed())
    };
    // It takes some that are late, over a while, until that is known.
    let mut first = 0;
    while ask(1).await.0 > 0 {
        first += 1;
        assert!(first < 500, "every answer tries");
    }
    let (tried, took) = ask(20).await;
    let now_and_then = took.as_millis() / 500 + 1;
    assert!(tried as u128 <= now_and_then, "{tried} of 20 tried in {took:?}");
    assert!(unsaved >= 21, "{unsaved}");
}

fn whole(message: &Value) -> Vec<u8> {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({"id": "1", "model": "m", "choices": [choice]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
