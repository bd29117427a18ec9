//! What is told of how a request goes out otherwise than it came: each message is compared with itself.

use crate::{Gateway, Lock};
use thinkthrough_core::exchange::Prepared;

const ASKS: &str = r#"{"role":"user","content":"List it."}"#;
/// Two calls whose thoughts nobody has, in the order in which clients write them, and what they gave.
const LOST: [&str; 3] = [
    r#"{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]}"#,
    r#"{"role":"tool","tool_call_id":"b","content":"x"}"#,
    r#"{"role":"tool","tool_call_id":"a","content":"one"}"#,
];

/// Which messages are told of, each once.
fn touched(prepared: &Prepared) -> Vec<usize> {
    let list = &prepared.differences.as_ref().unwrap().list;
    let mut messages: Vec<usize> = list.iter().map(|it| it.message).collect();
    messages.dedup();
    messages
}

fn own(number: usize) -> [String; 2] {
    [
        format!(
            r#"{{"role":"assistant","content":"","reasoning_content":"Own.","tool_calls":[{{"id":"ls:{number}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}}"#
        ),
        format!(r#"{{"role":"tool","tool_call_id":"ls:{number}","content":"three"}}"#),
    ]
}

#[test]
fn words_in_the_place_of_an_answer_change_no_other_message() {
    for ahead in 0..3 {
        // On its own wire and on another one, in whose place results become one message of words.
        for (provider, wire, model) in [
            ("moonshotai", None, "kimi-k2-thinking"),
            ("moonshotai", Some("messages"), "kimi-k2-thinking"),
            ("deepseek", None, "deepseek-reasoner"),
        ] {
            let mut messages = vec![ASKS.to_owned()];
            messages.extend((0..ahead).flat_map(own));
            let first = messages.len();
            messages.extend(LOST.map(str::to_owned));
            messages.extend((ahead..3).flat_map(own));
            let body = format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
            let gateway = Gateway::new("chat-completions", provider, wire, model);
            let prepared = gateway.ask(&body, &Lock);
            assert_eq!(prepared.without.told, 1, "{model}: {body}");
            assert_eq!(touched(&prepared), [first, first + 1, first + 2], "{model} on {wire:?}");
        }
    }
}

#[test]
fn nothing_is_compared_where_nobody_wants_to_know() {
    let body = format!(r#"{{"model":"m","messages":[{ASKS},{}]}}"#, LOST.join(","));
    let mut gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2-thinking");
    assert_eq!(touched(&gateway.ask(&body, &Lock)), [1, 2, 3]);
    gateway.is_compared = false;
    assert_eq!(gateway.ask(&body, &Lock).differences, None);
}
