//! Which records an answer waits for.

use crate::memory::Mood;
use crate::town::Town;
use crate::upstreams::{Close, Scripted, client};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
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

/// Answers stop waiting for a store that stands still, and their records wait for it behind them.
#[tokio::test]
async fn answers_stop_waiting_for_a_store_that_stands_still_and_their_records_go_on() {
    const TIMES: u32 = 5;
    /// How long one answer waits for its record.
    const WAIT: Duration = Duration::from_millis(20);
    let town = Town::new().await;
    town.memory.feel(Mood::Slow);
    let (mut unsaved, mut rounds) = (0, 0);
    loop {
        let began = Instant::now();
        for _ in 0..TIMES {
            let client = client("chat-completions").streams(false);
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 200, "{}", said.text());
            unsaved += said.count("unsaved");
        }
        rounds += TIMES;
        if began.elapsed() < TIMES * WAIT {
            break;
        }
        assert!(rounds < 1_000, "every answer waits");
    }
    assert_eq!(unsaved, rounds as usize, "each answer says that its record is late");
    while town.memory.appends() < rounds as usize {
        tokio::task::yield_now().await;
    }
}

fn whole(message: &Value) -> Vec<u8> {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({"id": "1", "model": "m", "choices": [choice]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
