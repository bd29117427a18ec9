//! Tool loops of a correct client on every simulator, streamed and not.

use serde_json::{Value, json};
use thinkthrough_conformance::{SimResponse, Simulator, ThoughtState, list};

use crate::client::{Client, client, run_tools, step};

/// The finish reasons of answers with calls.
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

/// Checks that all thoughts came back unchanged, or none if they must not come back.
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

/// The simulators whose providers document `n`.
const SEVERAL: [&str; 5] = ["default", "kimi-k2", "mistral", "vllm", "xai-chat"];

/// Asks for several choices.
fn choices(id: &str, question: &str, n: u64, stream: bool) -> SimResponse {
    let mut client = client(id);
    client.user(question);
    let mut request = client.request(stream);
    let mut body: Value = serde_json::from_slice(&request.body).unwrap();
    body["n"] = json!(n);
    request.body = body.to_string().into_bytes();
    Simulator::find(id).unwrap().handle(&request)
}

/// The thought and the text of a message or a delta.
fn said(message: &Value) -> (String, String) {
    let own =
        ["reasoning_content", "reasoning"].map(|key| message[key].as_str().unwrap_or_default());
    let (mut thought, mut words) = (own.concat(), String::new());
    match &message["content"] {
        Value::Array(parts) => {
            for part in parts {
                words.push_str(part["text"].as_str().unwrap_or_default());
                let inner = part["thinking"].as_array().into_iter().flatten();
                inner.for_each(|it| thought.push_str(it["text"].as_str().unwrap()));
            }
        }
        content => words.push_str(content.as_str().unwrap_or_default()),
    }
    (thought, words)
}

#[test]
fn several_choices_come_whole_and_streamed_and_only_where_the_provider_documents_them() {
    for id in SEVERAL {
        let whole = choices(id, "Hello there!", 3, false).json();
        let messages = whole["choices"].as_array().unwrap().iter().map(|it| said(&it["message"]));
        let messages: Vec<_> = messages.collect();
        assert_eq!(messages.len(), 3, "{id}");
        for (one, other) in [(0, 1), (1, 2), (0, 2)] {
            assert_ne!(messages[one].0, messages[other].0, "{id}: each has a thought of its own");
            assert_ne!(messages[one].1, messages[other].1, "{id}: each says it in its own words");
        }
        let streamed = choices(id, "Hello there!", 3, true).text();
        let mut told = vec![(String::new(), String::new()); 3];
        for line in streamed.lines().filter_map(|line| line.strip_prefix("data: {")) {
            let chunk: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
            for choice in chunk["choices"].as_array().unwrap() {
                let at = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
                let (thought, words) = said(&choice["delta"]);
                told[at].0.push_str(&thought);
                told[at].1.push_str(&words);
            }
        }
        assert_eq!(told, messages, "{id}");
        assert_eq!(choices(id, "Hello there!", 9, false).status, 400, "{id}");
    }
    for row in list().iter().filter(|row| row.wire == "chat-completions") {
        let status = choices(row.id, "Hello there!", 2, false).status;
        assert_eq!(status == 200, SEVERAL.contains(&row.id), "{}: {status}", row.id);
    }
}

#[test]
fn any_of_several_choices_goes_on_with_its_own_thought() {
    for id in SEVERAL {
        let answer = choices(id, "What is in this folder?", 3, false).json();
        for choice in answer["choices"].as_array().unwrap() {
            let message = &choice["message"];
            let results = message["tool_calls"].as_array().unwrap().iter();
            let results = results.map(
                |call| json!({"role": "tool", "tool_call_id": call["id"], "name": "list", "content": "Cargo.toml"}),
            );
            let mut client = client(id);
            client.user("What is in this folder?");
            let mut request = client.request(false);
            let mut body: Value = serde_json::from_slice(&request.body).unwrap();
            let history = body["messages"].as_array_mut().unwrap();
            history.push(message.clone());
            history.extend(results);
            request.body = body.to_string().into_bytes();
            let went_on = Simulator::find(id).unwrap().handle(&request);
            assert_eq!(went_on.status, 200, "{id}: {}", went_on.text());
            let states: Vec<_> = went_on.log.thoughts.iter().map(|thought| thought.state).collect();
            assert_eq!(states, [ThoughtState::Own], "{id}: {}", went_on.log);
        }
    }
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
        client.user("Use get_weather for Paris and Rome.");
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
        for question in ["What is in this folder?", "Now use get_weather for Oslo."] {
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
