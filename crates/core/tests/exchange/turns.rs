//! What a turn is: the thoughts of the turn under way go back where a contract wants no others.

use crate::{Gateway, Lock, body};
use thinkthrough_core::content::{Block, Speaker, Thinking};
use thinkthrough_core::contract::{Contract, Older, Return};
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::wire::find;
use thinkthrough_json::Doc;

/// Whether the thought of the first answer in a request belongs to the turn under way.
fn is_under_way(wire: &str, body: &str) -> bool {
    let doc = Doc::parse_str(body).unwrap();
    let mut contents = find(wire).unwrap().read_request(doc.root()).unwrap().contents;
    let answer = contents.iter_mut().find(|content| content.speaker == Speaker::Ai).unwrap();
    answer.blocks.insert(0, Block::Thinking(Thinking::new("T", "reasoning_content")));
    let contract = Contract::plain(Return::CurrentTurn, "reasoning_content");
    let target = Target::built_in("vllm", None, "m").unwrap().with_contract(contract, "test");
    let request = Request { contents, ..Request::default() };
    let built = build(&request, &target, &Resolved::default());
    built.decisions.iter().any(|it| it.action.is_sent())
}

const MESSAGES: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[USER]}]}"#;
const CONVERSE: &str = r#"{"messages":[{"role":"user","content":[{"text":"Hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[USER]}]}"#;
const GEMINI: &str = r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[USER]}]}"#;
const INTERACTIONS: &str = r#"{"model":"m","input":[{"type":"user_input","content":"Hi"},{"type":"function_call","id":"a","name":"f","arguments":{}},{"type":"user_input","content":[USER]}]}"#;
const OLD_INTERACTIONS: &str = r#"{"model":"m","input":[{"type":"user_input","content":"Hi"},{"type":"function_call","id":"a","name":"f","arguments":{}},{"role":"user","content":[USER]}]}"#;
const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},USER]}"#;
const RESPONSES: &str = r#"{"model":"m","input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},USER]}"#;

#[test]
fn what_stands_in_one_message_with_a_result_begins_no_turn_on_any_wire() {
    let block = r#"{"type":"tool_result","tool_use_id":"a","content":"1"}"#;
    let result = r#"{"toolResult":{"toolUseId":"a","content":[{"text":"1"}]}}"#;
    let odd_result = r#"{"toolResult":{"type":"odd","toolUseId":"a"}}"#;
    let function = r#"{"functionResponse":{"name":"f","response":{"r":1}}}"#;
    let odd_function = r#"{"function_response":{"name":"f","response":"1"}}"#;
    let step = r#"{"type":"function_result","call_id":"a","result":"1"}"#;
    let odd_step = r#"{"type":"function_result","result":"1"}"#;
    let (typed, bare) = (r#"{"type":"text","text":"Hurry."}"#, r#"{"text":"Hurry."}"#);
    for (wire, request, result, text) in [
        ("messages", MESSAGES, block, typed),
        ("converse", CONVERSE, result, bare),
        ("converse", CONVERSE, odd_result, bare),
        ("generate-content", GEMINI, function, bare),
        ("generate-content", GEMINI, odd_function, bare),
        ("interactions", INTERACTIONS, step, typed),
        ("interactions", INTERACTIONS, odd_step, typed),
        ("interactions", OLD_INTERACTIONS, step, typed),
        ("interactions", OLD_INTERACTIONS, odd_step, typed),
    ] {
        for said in [
            result.to_owned(),
            format!("{result},{text}"),
            format!("{text},{result}"),
            format!("{text},{result},{text},{result},{text}"),
        ] {
            assert!(is_under_way(wire, &request.replace("USER", &said)), "{wire}: {said}");
        }
        assert!(!is_under_way(wire, &request.replace("USER", text)), "{wire}");
    }
}

#[test]
fn a_message_of_the_users_own_begins_a_turn_also_right_behind_results() {
    let block = r#"{"type":"tool_result","tool_use_id":"a","content":"1"}]},{"role":"user","content":[{"type":"text","text":"Hurry."}"#;
    let result = r#"{"toolResult":{"toolUseId":"a","content":[{"text":"1"}]}}]},{"role":"user","content":[{"text":"Hurry."}"#;
    let function = r#"{"functionResponse":{"name":"f","response":{"r":1}}}]},{"role":"user","parts":[{"text":"Hurry."}"#;
    let step = r#"{"type":"function_result","call_id":"a","result":"1"}]},{"type":"user_input","content":[{"type":"text","text":"Hurry."}"#;
    let tool =
        r#"{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"Hurry."}"#;
    let output = r#"{"type":"function_call_output","call_id":"a","output":"1"},{"role":"user","content":"Hurry."}"#;
    for (wire, request, said) in [
        ("messages", MESSAGES, block),
        ("converse", CONVERSE, result),
        ("generate-content", GEMINI, function),
        ("interactions", INTERACTIONS, step),
        ("chat-completions", CHAT, tool),
        ("responses", RESPONSES, output),
    ] {
        assert!(!is_under_way(wire, &request.replace("USER", said)), "{wire}");
    }
}

#[test]
fn a_reminder_beside_a_result_costs_no_thought_of_the_loop() {
    let gateway = Gateway::new("messages", "zai", Some("chat-completions"), "glm-4.6");
    let think = r#"{"type":"thinking","thinking":"Look.","signature":""},"#;
    let request = MESSAGES
        .replace(r#"{"type":"tool_use""#, &format!(r#"{think}{{"type":"tool_use""#))
        .replace(
            "USER",
            r#"{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"text","text":"<system-reminder>Hurry.</system-reminder>"}"#,
        );
    let sent = gateway.ask(&request, &Lock);
    assert!(body(&sent).contains(r#""reasoning_content":"Look.""#), "{}", body(&sent));
}

#[test]
fn a_contract_that_forbids_thoughts_of_earlier_turns_keeps_those_of_the_turn_under_way() {
    let answer = |thought: &str| {
        format!(
            r#"{{{thought}"role":"assistant","content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":"1"}}"#
        )
    };
    let asks = r#"{"role":"user","content":"Hi"}"#;
    let of = |messages: &[&str]| format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
    let (with, without) = (answer(r#""reasoning_content":"T","#), answer(""));
    let request = of(&[asks, &with, asks, &with]);
    let mut gateway = Gateway::new("chat-completions", "vllm", None, "m");
    for required in [false, true] {
        let plain = Contract::plain(Return::All, "reasoning_content");
        let contract = Contract { required, ..plain };
        gateway.target = gateway.target.with_contract(contract, "test");
        assert_eq!(gateway.ask(&request, &Lock).body, None);
        let contract = Contract { older: Older::Forbidden, ..contract };
        gateway.target = gateway.target.with_contract(contract, "test");
        let sent = gateway.ask(&request, &Lock);
        assert_eq!(
            (body(&sent), sent.missing),
            (of(&[asks, &without, asks, &with]).as_str(), None)
        );
    }
}
