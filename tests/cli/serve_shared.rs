//! Gateways that share a store. Each restores the thoughts of the others, however their processes
//! ended.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve::naive_rounds;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use rustix::process::Signal;
use serde_json::{Value, json};

/// `[store]` on a server, with a master key for all gateways.
pub(crate) fn on_server(place: &Place, database: &Database) -> String {
    place.write("master.key", &"5a".repeat(32));
    std::fs::set_permissions(place.file("master.key"), private()).unwrap();
    format!(
        "[server]\nkeyless = true\n[store]\nurl = \"{}\"\nkey = {{ file = \"master.key\" }}\n",
        database.url
    )
}

fn private() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

/// `[store]` in a file beside the configuration.
pub(crate) const IN_A_FILE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

/// Every round puts back what all rounds before it thought.
fn all_restored(answers: &[String]) {
    assert_eq!(answers.len(), 4, "{}", answers.last().unwrap());
    for (restored, answer) in answers.iter().enumerate() {
        let header =
            format!("x-thinkthrough: restored={restored}; missed=0; ambiguous=0; dropped=0;");
        assert!(answer.contains(&header), "round {restored}: {answer}");
    }
}

#[test]
fn two_gateways_on_one_server_restore_each_others_thoughts() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("shared");
    let store = on_server(&place, &database);
    let gateways = [serve(&place, &store), serve(&place, &store)];
    for model in ["sim/kimi-k2", "sim/deepseek-v4"] {
        let answers = naive_rounds(model, |round, request| {
            gateways[round % 2].ask_in_time("/v1/chat/completions", request)
        });
        all_restored(&answers);
    }
    // A gateway without this store does not know the answers.
    let stranger = serve(&Place::new("stranger"), "");
    let answers = naive_rounds("sim/kimi-k2", |round, request| {
        let one = if round == 0 { &gateways[0] } else { &stranger };
        one.ask_in_time("/v1/chat/completions", request)
    });
    assert!(answers[1].contains("restored=0; missed=1;"), "{}", answers[1]);
}

#[test]
fn a_gateway_that_is_killed_between_turns_leaves_its_thoughts_to_the_other() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("bereft");
    let store = on_server(&place, &database);
    let mut first = Some(serve(&place, &store));
    let second = serve(&place, &store);
    let answers = naive_rounds("sim/kimi-k2", |_, request| match first.take() {
        Some(first) => {
            let answer = first.ask_in_time("/v1/chat/completions", request);
            first.signal(Signal::KILL);
            answer
        }
        None => second.ask_in_time("/v1/chat/completions", request),
    });
    all_restored(&answers);
}

/// A provider's API: how it is asked, what it answers with, and what a client that drops thoughts
/// sends next.
struct Api {
    provider: &'static str,
    base: &'static str,
    model: &'static str,
    path: &'static str,
    answer: fn() -> String,
    /// The first request, and the second one.
    turns: fn(&str) -> [Value; 2],
    /// A part of the upstream's second request that the caller did not send.
    thought: &'static str,
}

const APIS: [Api; 3] = [
    Api {
        provider: "moonshotai",
        base: "/v1",
        model: "kimi-k2-thinking",
        path: "/v1/chat/completions",
        answer: || chat("I look first.", "list", None),
        turns: |model| {
            let asked = json!({"role": "user", "content": "what is here"});
            let call = json!({"id": "c1", "type": "function", "function": {"name": "list", "arguments": "{}"}});
            let said = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            let result = json!({"role": "tool", "tool_call_id": "c1", "content": "a"});
            [json!([asked.clone()]), json!([asked, said, result])]
                .map(|messages| json!({"model": model, "stream": true, "messages": messages}))
        },
        thought: "I look first.",
    },
    Api {
        provider: "anthropic",
        base: "",
        model: "claude-opus-4-6",
        path: "/v1/messages",
        answer: signed_messages,
        turns: |model| {
            let asked = json!({"role": "user", "content": "what is here"});
            let call = json!({"type": "tool_use", "id": "toolu_01A9b8C7d6E5f4G3h2J1k0", "name": "list", "input": {}});
            let said = json!({"role": "assistant", "content": [call]});
            let result = json!({"type": "tool_result", "tool_use_id": "toolu_01A9b8C7d6E5f4G3h2J1k0", "content": "a"});
            let result = json!({"role": "user", "content": [result]});
            [json!([asked.clone()]), json!([asked, said, result])].map(|messages| {
                json!({"model": model, "stream": true, "max_tokens": 4000, "messages": messages,
                    "thinking": {"type": "enabled", "budget_tokens": 2000}})
            })
        },
        thought: "c2lnbmF0dXJl",
    },
    Api {
        provider: "openai",
        base: "/v1",
        model: "gpt-5",
        path: "/v1/responses",
        answer: sealed_response,
        turns: |model| {
            let asked = json!({"role": "user", "content": "what is here"});
            let call = json!({"type": "function_call", "call_id": "call_A9b8C7d6E5f4G3h2J1k0", "name": "list", "arguments": "{}"});
            let result = json!({"type": "function_call_output", "call_id": "call_A9b8C7d6E5f4G3h2J1k0", "output": "a"});
            [json!([asked.clone()]), json!([asked, call, result])].map(|input| {
                json!({"model": model, "stream": true, "store": false, "input": input,
                    "include": ["reasoning.encrypted_content"]})
            })
        },
        thought: "Z2VoZWlt",
    },
];

fn events(events: &[Value]) -> String {
    let line =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

/// A signed thought and a call, as a Messages stream.
fn signed_messages() -> String {
    events(&[
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I look first."}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmF0dXJl"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_01A9b8C7d6E5f4G3h2J1k0", "name": "list", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ])
}

/// An encrypted thought and a call, as a stream of the Responses API.
fn sealed_response() -> String {
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z2VoZWlt"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_A9b8C7d6E5f4G3h2J1k0", "name": "list",
        "arguments": "{}", "status": "completed"});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_1", "object": "response", "status": status,
        "model": "gpt-5", "output": output})
    };
    events(&[
        json!({"type": "response.created", "sequence_number": 0, "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.added", "sequence_number": 3, "output_index": 1, "item": call}),
        json!({"type": "response.output_item.done", "sequence_number": 4, "output_index": 1, "item": call}),
        json!({"type": "response.completed", "sequence_number": 5, "response": response("completed", json!([thought, call]))}),
    ])
}

/// The second request of a client that was given a ticket in place of the call's id, if it was.
fn with_ticket(second: &str, answer: &str) -> String {
    let ticket = answer.find("tk_").and_then(|at| answer.get(at..at + 25));
    ticket.map_or(second.to_owned(), |ticket| second.replace("\"c1\"", &format!("\"{ticket}\"")))
}

/// The body of the upstream's second request. `between` runs between the turns.
fn second_body(
    api: &Api,
    upstream: &Upstream,
    mut gateway: Server,
    between: impl FnOnce(Server) -> Server,
) -> String {
    let headers = "content-type: application/json\r\nanthropic-version: 2023-06-01\r\n";
    let [one, two] = (api.turns)(&format!("there/{}", api.model)).map(|it| it.to_string());
    assert!(!two.contains(api.thought));
    let answer = gateway.request_in_time("POST", api.path, headers, &one);
    assert!(answer.contains(api.thought), "{answer}");
    let two = with_ticket(&two, &answer);
    gateway = between(gateway);
    let answer = gateway.request_in_time("POST", api.path, headers, &two);
    assert!(answer.contains("x-thinkthrough: restored=1; missed=0;"), "{}: {answer}", api.provider);
    upstream.last_bytes()
}

#[test]
fn k_10_a_restart_between_two_turns_changes_no_byte_upstream() {
    let database = Database::new();
    for api in &APIS {
        let upstream = Upstream::start(vec![(api.answer)()]);
        let there = format!(
            "[providers.there]\nextends = \"{}\"\nbase_url = \"{}{}\"\napi_key = \"k\"\n",
            api.provider, upstream.url, api.base
        );
        for on in [None, database.as_ref()] {
            let place = Place::new("restart");
            let store = on.map_or(IN_A_FILE.to_owned(), |database| on_server(&place, database));
            let config = format!("{store}{there}");
            let start = || serve(&place, &config);
            let without = second_body(api, &upstream, start(), |gateway| gateway);
            assert!(without.contains(api.thought), "{}: {without}", api.provider);
            let killed = second_body(api, &upstream, start(), |gateway| {
                gateway.signal(Signal::KILL);
                start()
            });
            let ended = second_body(api, &upstream, start(), |gateway| {
                gateway.signal(Signal::INT);
                let (is_fine, said) = gateway.ends(PATIENCE);
                assert!(is_fine, "{said}");
                start()
            });
            assert_eq!([&killed, &ended], [&without; 2], "{}", api.provider);
        }
    }
}

#[test]
fn what_was_sealed_for_one_credential_is_tried_with_another() {
    for api in &APIS {
        let upstream = Upstream::start(vec![(api.answer)()]);
        let place = Place::new("credentials");
        let with = |key: &str| {
            let config = format!(
                "{IN_A_FILE}[providers.there]\nextends = \"{}\"\nbase_url = \"{}{}\"\napi_key = \"{key}\"\n",
                api.provider, upstream.url, api.base
            );
            serve(&place, &config)
        };
        let (one, two) = (with("credential-one"), with("credential-two"));
        let [first, second] =
            (api.turns)(&format!("there/{}", api.model)).map(|turn| turn.to_string());
        let second = with_ticket(&second, &one.ask_in_time(api.path, &first));
        // A key may be another of the same account: only the provider's refusal says that it is
        // not.
        for gateway in [&two, &one] {
            let answer = gateway.ask_in_time(api.path, &second);
            assert!(answer.contains("restored=1;"), "{}: {answer}", api.provider);
            assert!(upstream.last_bytes().contains(api.thought), "{}", api.provider);
        }
    }
}
