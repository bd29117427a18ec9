//! Which records an answer waits for.

use crate::upstreams::{Close, Scripted, client};
use serde_json::{Value, json};
use thinkthrough_core::contract::Contract;
use thinkthrough_gateway::Route;

fn keeps_its_contract(_: &mut Route) {}

fn wants_nothing_back(route: &mut Route) {
    route.target = route.target.clone().with_contract(Contract::NONE, "test");
}

/// Only a record that nobody can need at once may come later than its answer.
#[tokio::test]
async fn an_answer_waits_for_its_record_if_somebody_may_need_it_at_once() {
    let said = json!({"role": "assistant", "content": "Here."});
    let thought = json!({"role": "assistant", "reasoning_content": "I look.", "content": "Here."});
    for (how, message, soon) in [
        (wants_nothing_back as fn(&mut Route), &said, 1),
        (wants_nothing_back, &thought, 0),
        // Another gateway that does not know that there was no thought would go around it.
        (keeps_its_contract, &said, 0),
    ] {
        let upstream = Scripted::start(vec![whole(message)], Close::Fin).await;
        let town = upstream.town_with(how).await;
        let answer = client("chat-completions").streams(false);
        let answer = answer.ask(&town, &town.gateway, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!((town.memory.records(), town.memory.soon()), (1, soon), "{message}");
    }
}

fn whole(message: &Value) -> Vec<u8> {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({"id": "1", "model": "m", "choices": [choice]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
