//! Tool loops that a correct client gets through, on every simulator, streamed and not.

use serde_json::json;
use thinkthrough_conformance::{Simulator, ThoughtState, list};

use crate::client::{Client, client, run_tools, step};

/// The finish words that ask for tools.
const CALLING: &[&str] =
    &["tool_calls", "tool_use", "completed", "STOP", "TOOL_CALL", "stop", "requires_action"];

#[test]
fn every_simulator_takes_a_correct_client_through_two_rounds_and_a_follow_up() {
    for row in list() {
        for stream in [false, true] {
            let simulator = Simulator::find(row.id).unwrap();
            let mut client = client(row.id);
            client.user("What is in this folder, and what does the readme say?");
            let first = step(&simulator, &mut *client, stream);
            assert_eq!(first.calls[0].name, "list", "{}", row.id);
            assert!(CALLING.contains(&first.finish.as_str()), "{}: {}", row.id, first.finish);
            assert!(!first.thought.is_empty() || !first.opaque.is_empty(), "{} thinks", row.id);
            run_tools(&mut *client, &first);
            let second = step(&simulator, &mut *client, stream);
            assert_eq!(second.calls[0].name, "read", "{}", row.id);
            assert_eq!(second.calls[0].arguments["path"], "README.md");
            run_tools(&mut *client, &second);
            let third = step(&simulator, &mut *client, stream);
            assert!(third.calls.is_empty());
            assert!(third.text.contains("Cargo.toml"), "{}: {}", row.id, third.text);
            assert!(third.text.contains("contents of \"README.md\""), "{}", row.id);
            assert_eq!(third.text.matches("simulated").count(), 1, "{}", row.id);
            client.user("Thank you. Anything else?");
            let fourth = step(&simulator, &mut *client, stream);
            assert!(!fourth.text.is_empty() && fourth.calls.is_empty(), "{}", row.id);
            kept(&simulator, &mut *client, row.id);
        }
    }
}

/// All thoughts came back unchanged, except where they must not.
fn kept(simulator: &Simulator, client: &mut dyn Client, id: &str) {
    client.user("And now?");
    let log = simulator.handle(&client.request(false)).log;
    assert_eq!(log.refusal, None);
    if id == "deepseek-r1" {
        assert!(log.thoughts.is_empty());
        return;
    }
    assert_eq!(log.thoughts.len(), 4, "{id}: {log}");
    assert!(log.thoughts.iter().all(|thought| thought.state == ThoughtState::Own), "{id}: {log}");
    assert!(log.losses.is_empty(), "{id}: {log}");
}

#[test]
fn streamed_and_whole_answers_are_the_same() {
    for row in list() {
        for question in ["What is in this folder?", "Hello there!"] {
            let simulator = Simulator::find(row.id).unwrap();
            let mut client = client(row.id);
            client.user(question);
            let whole = client.read(&simulator.handle(&client.request(false)), false);
            let streamed = client.read(&simulator.handle(&client.request(true)), true);
            assert_eq!(
                (&whole.thought, &whole.text, &whole.finish),
                (&streamed.thought, &streamed.text, &streamed.finish)
            );
            assert_eq!(whole.usage, streamed.usage, "{}", row.id);
            let names = |turn: &crate::client::Turn| {
                turn.calls
                    .iter()
                    .map(|call| (call.name.clone(), call.arguments.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(&whole), names(&streamed));
        }
    }
}

#[test]
fn parallel_calls_come_and_go_together() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let mut client = client(row.id);
        client.user("What is the weather in Paris and Rome?");
        let first = step(&simulator, &mut *client, true);
        assert_eq!(first.calls.len(), 2, "{}", row.id);
        assert_ne!(first.calls[0].arguments, first.calls[1].arguments);
        run_tools(&mut *client, &first);
        let answer = step(&simulator, &mut *client, false);
        assert!(
            answer.text.contains("Paris") && answer.text.contains("Rome"),
            "{}: {}",
            row.id,
            answer.text
        );
    }
}

#[test]
fn kimi_ids_have_their_own_forms() {
    let ids = |id: &str| {
        let simulator = Simulator::find(id).unwrap();
        let mut client = client(id);
        let mut out = Vec::new();
        for question in ["What is in this folder?", "List the folder again, in parallel."] {
            client.user(question);
            let turn = step(&simulator, &mut *client, false);
            out.extend(turn.calls.iter().map(|call| call.id.clone()));
            run_tools(&mut *client, &turn);
            step(&simulator, &mut *client, false);
        }
        out
    };
    assert_eq!(ids("kimi-k2"), ["functions.list:0", "functions.list:1", "functions.list:2"]);
    assert_eq!(ids("kimi-k3"), ["list:0", "list:0", "list:1"]);
}

#[test]
fn a_restarted_simulator_knows_its_thoughts_again() {
    for row in list().iter().filter(|row| row.id != "responses-stateful") {
        let mut client = client(row.id);
        for question in ["What is in this folder?", "And the weather in Oslo?"] {
            client.user(question);
            let turn = step(&Simulator::find(row.id).unwrap(), &mut *client, true);
            run_tools(&mut *client, &turn);
            step(&Simulator::find(row.id).unwrap(), &mut *client, false);
        }
    }
}

#[test]
fn equal_requests_get_equal_answers() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let mut client = client(row.id);
        client.user("What is in this folder?");
        let request = client.request(true);
        assert_eq!(simulator.handle(&request), simulator.handle(&request));
    }
}

#[test]
fn thinking_can_be_switched_off_where_the_provider_allows_it() {
    let off = [
        ("default", json!({"thinking": {"type": "disabled"}})),
        ("deepseek-v4", json!({"thinking": {"type": "disabled"}})),
        ("deepseek-v4-messages", json!({"thinking": {"type": "disabled"}})),
        ("deepseek-v4-responses", json!({"reasoning": {"effort": "none"}})),
        ("anthropic-manual", json!({"thinking": {"type": "disabled"}})),
        ("anthropic-omitted", json!({"thinking": {"type": "disabled"}})),
        ("responses-stateless", json!({"reasoning": {"effort": "none"}})),
        ("groq", json!({"reasoning_effort": "none"})),
        ("mistral", json!({"reasoning_effort": "none"})),
        ("vllm", json!({"chat_template_kwargs": {"enable_thinking": false}})),
    ];
    for (id, extra) in off {
        let simulator = Simulator::find(id).unwrap();
        let mut client = client(id);
        *client.extra() = extra;
        client.user("What is in this folder?");
        let first = step(&simulator, &mut *client, true);
        assert!(first.thought.is_empty() && first.opaque.is_empty(), "{id}");
        run_tools(&mut *client, &first);
        assert!(step(&simulator, &mut *client, false).text.contains("README.md"), "{id}");
    }
}
