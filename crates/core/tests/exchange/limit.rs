//! A limit of what goes back from the vault.

use crate::tickets::{Client, WHOLE};
use crate::{Gateway, Lock};
use serde_json::{Value, json};
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::decision::Counts;

/// A conversation whose client drops every thought.
struct Talk {
    gateway: Gateway,
    messages: Vec<Value>,
}

impl Talk {
    fn new(contract: Contract, most: Option<u64>) -> Self {
        let mut gateway = Gateway::new("chat-completions", "vllm", None, "m");
        gateway.target = gateway.target.clone().with_contract(contract, "test");
        gateway.handling.max_restore_tokens = most;
        Talk { gateway, messages: Vec::new() }
    }

    /// Asks once more. Gives the thoughts in the request that went upstream, and the numbers.
    fn ask(&mut self) -> (Vec<String>, Counts) {
        let number = self.messages.len() / 2;
        self.messages.push(json!({"role": "user", "content": format!("Question {number}?")}));
        let request = json!({"model": "m", "messages": self.messages}).to_string();
        let prepared = self.gateway.ask(&request, &Lock);
        let sent: Value =
            serde_json::from_str(prepared.body.as_deref().unwrap_or(&request)).unwrap();
        let thoughts = sent.get("messages").and_then(Value::as_array).into_iter().flatten();
        let thoughts = thoughts.filter_map(|it| it.get("reasoning_content")?.as_str());
        let thoughts = thoughts.map(|it| it.trim_end_matches('.').to_owned()).collect();
        let counts = prepared.counts;
        let (text, thought) = (format!("Answer {number}."), format!("{number}{}", ".".repeat(29)));
        let message = json!({"role": "assistant", "content": text, "reasoning_content": thought});
        let answer =
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        self.gateway.answer(prepared, &[&answer.to_string()], None);
        self.messages.push(json!({"role": "assistant", "content": text}));
        (thoughts, counts)
    }
}

const ALL: Contract = Contract::plain(Return::All, "reasoning_content");

#[test]
fn what_is_beyond_the_limit_stays_out_the_oldest_first_and_half_at_once() {
    // Ten tokens each.
    let mut talk = Talk::new(ALL, Some(40));
    for expected in ["", "0", "0 1", "0 1 2", "0 1 2 3", "3 4", "3 4 5", "3 4 5 6", "6 7"] {
        let (thoughts, counts) = talk.ask();
        assert_eq!(thoughts.join(" "), expected);
        let all = talk.messages.len() / 2 - 1;
        assert_eq!((counts.restored, counts.dropped), (thoughts.len(), all - thoughts.len()));
        assert_eq!(counts.missed, 0);
    }
}

#[test]
fn without_a_limit_everything_goes_back_and_what_is_demanded_does_with_one() {
    for (contract, most) in [(ALL, None), (ALL.required(), Some(15))] {
        let mut talk = Talk::new(contract, most);
        for count in 0..6 {
            assert_eq!(talk.ask().0.len(), count, "{most:?}");
        }
    }
}

#[test]
fn what_the_limit_leaves_out_is_not_lacking() {
    let contract = ALL.required_in(Return::CurrentTurn);
    let mut gateway = Gateway::new("chat-completions", "openai-compatible", None, "m");
    gateway.target = gateway.target.clone().with_contract(contract, "test");
    gateway.handling.max_restore_tokens = Some(3);
    let mut client = Client::new("chat-completions", false);
    for round in 0..3 {
        let prepared = gateway.ask(&client.request(), &Lock);
        assert_eq!(prepared.counts.restored, round, "the turn under way demands them");
        let (said, _) = gateway.answer(prepared, &[WHOLE], None);
        client.reads(&said);
    }
    client.said.push(Content::text(Speaker::Human, "And now?"));
    let prepared = gateway.ask(&client.request(), &Lock);
    assert_eq!((prepared.counts.restored, prepared.counts.dropped), (1, 2));
    let body = prepared.body.unwrap();
    assert!(!body.contains("used the tool"), "{body}");
}
