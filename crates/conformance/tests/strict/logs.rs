//! Losses that the simulators log without a refusal.

use serde_json::{Value, json};
use thinkthrough_conformance::{LogEntry, Simulator, ThoughtState, list};

use crate::client::{client, run_tools, step};

/// The log of the second request of a tool loop, after a change of the history.
fn second(id: &str, change: impl FnOnce(&mut Vec<Value>)) -> LogEntry {
    let simulator = Simulator::find(id).unwrap();
    let mut client = client(id);
    client.user("What is in this folder?");
    let turn = step(&simulator, &mut *client, false);
    run_tools(&mut *client, &turn);
    change(client.history());
    let response = simulator.handle(&client.request(false));
    assert_eq!(response.status, 200, "{id}: {}", response.text());
    response.log
}

#[test]
fn vllm_ignores_the_old_name_without_an_error() {
    let log = second("vllm", |history| {
        let thought = history[1]["reasoning"].take();
        history[1]["reasoning_content"] = thought;
    });
    assert_eq!(log.thoughts[0].state, ThoughtState::Ignored);
    assert_eq!(log.losses, ["thought missing at message 1, allowed but worse"]);
    assert!(log.to_string().contains("`reasoning_content` of message 1 is ignored"));
}

#[test]
fn thoughts_that_are_lost_are_noted_where_they_are_not_demanded() {
    let strip = |history: &mut Vec<Value>| {
        for item in history.iter_mut() {
            for key in ["reasoning", "reasoning_content", "reasoning_details", "thinking"] {
                item.as_object_mut().unwrap().remove(key);
            }
            if let Some(chunks) = item["content"].as_array_mut() {
                chunks.retain(|chunk| chunk["type"] != "thinking");
            }
            if item["content"].as_str().is_some_and(|text| text.starts_with("<think>")) {
                item["content"] = json!("");
            }
        }
        history.retain(|item| item["type"] != "reasoning" && item["type"] != "thought");
        for item in history.iter_mut().filter(|item| item["call_id"].is_string()) {
            item.as_object_mut().unwrap().remove("id");
        }
    };
    for id in [
        "groq",
        "cerebras",
        "mistral",
        "minimax-tags",
        "vllm",
        "anthropic-omitted",
        "anthropic-bound",
        "xai",
        "responses-stateless",
        "cohere",
        "ollama",
        "interactions",
    ] {
        let log = second(id, strip);
        assert!(log.thoughts.is_empty(), "{id}: {log}");
        assert_eq!(log.losses.len(), 1, "{id}: {log}");
        assert!(log.losses[0].starts_with("thought missing"), "{id}: {log}");
    }
}

#[test]
fn altered_and_foreign_thoughts_are_told_apart() {
    let log = second("kimi-k2", |history| {
        let text = history[1]["reasoning_content"].as_str().unwrap().replace("folder", "directory");
        history[1]["reasoning_content"] = json!(text);
    });
    assert_eq!(log.thoughts[0].state, ThoughtState::Altered);
    let log = second("kimi-k2", |history| history[1]["reasoning_content"] = json!("I wonder."));
    assert_eq!(log.thoughts[0].state, ThoughtState::Foreign);
    let log = second("kimi-k2", |history| history[1]["reasoning_content"] = json!(" "));
    assert_eq!(log.losses, ["the thought at message 1 is blank, allowed but worse"]);
}

#[test]
fn kimi_k2_notes_call_ids_that_are_not_its_own() {
    let log = second("kimi-k2", |history| {
        history[1]["tool_calls"][0]["id"] = json!("call_1");
        history[2]["tool_call_id"] = json!("call_1");
    });
    assert_eq!(log.losses.len(), 1);
    assert!(log.losses[0].contains("`call_1`"));
}

#[test]
fn minimax_splits_on_request_and_takes_details_back() {
    let simulator = Simulator::find("minimax-tags").unwrap();
    let mut client = client("minimax-tags");
    *client.extra() = json!({"reasoning_split": true});
    client.user("What is in this folder?");
    let turn = step(&simulator, &mut *client, false);
    assert_eq!(turn.echo[0]["content"], "");
    run_tools(&mut *client, &turn);
    let log = simulator.handle(&client.request(false)).log;
    assert_eq!(log.thoughts[0].field, "reasoning_details");
    assert_eq!(log.thoughts[0].state, ThoughtState::Own);
}

#[test]
fn redacted_thinking_comes_on_the_magic_word_and_goes_back() {
    let word = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB";
    for id in ["anthropic-manual", "anthropic-omitted", "anthropic-bound"] {
        for stream in [false, true] {
            let simulator = Simulator::find(id).unwrap();
            let mut client = client(id);
            client.user(&format!("{word} What is in this folder?"));
            let turn = step(&simulator, &mut *client, stream);
            assert_eq!(turn.opaque.len(), 2);
            assert!(turn.thought.is_empty());
            run_tools(&mut *client, &turn);
            let answer = simulator.handle(&client.request(stream));
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.log.opaque_thoughts(), 2);
            client.history()[1]["content"].as_array_mut().unwrap().remove(0);
            let answer = simulator.handle(&client.request(stream));
            assert!(answer.text().contains("cannot be modified"), "{id}: {}", answer.text());
        }
    }
}

#[test]
fn stored_responses_are_continued_fetched_and_deleted() {
    let simulator = Simulator::find("responses-stateful").unwrap();
    let mut client = client("responses-stateful");
    client.user("What is in this folder?");
    let response = simulator.handle(&client.request(false)).json();
    let id = response["id"].as_str().unwrap().to_owned();
    client.history().clear();
    client.extra()["previous_response_id"] = json!(id);
    let answer = simulator.handle(&client.request(false)).text();
    assert!(answer.contains("No tool output found for function call"), "{answer}");
    let turn = client.read(&simulator.handle(&get("POST", "/v1/responses", &first_body())), false);
    run_tools(&mut *client, &turn);
    let answer = simulator.handle(&client.request(false));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(client.read(&answer, false).text.contains("README.md"));
    let path = format!("/v1/responses/{id}");
    assert_eq!(simulator.handle(&get("GET", &path, "")).json()["id"], json!(id));
    assert_eq!(simulator.handle(&get("DELETE", &path, "")).json()["deleted"], true);
    assert_eq!(simulator.handle(&get("GET", &path, "")).status, 404);
    let answer = simulator.handle(&client.request(false));
    assert_eq!(answer.json()["error"]["code"], "previous_response_not_found");
}

fn first_body() -> String {
    let mut client = client("responses-stateful");
    client.user("What is in this folder?");
    String::from_utf8(client.request(false).body).unwrap()
}

fn get(method: &str, path: &str, body: &str) -> thinkthrough_conformance::SimRequest {
    thinkthrough_conformance::SimRequest {
        method: method.into(),
        path: path.into(),
        headers: vec![("authorization".into(), "Bearer key".into())],
        body: body.as_bytes().to_vec(),
    }
}

#[test]
fn every_simulator_refuses_an_empty_credential_and_names_its_model() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let path = "/v1/models";
        let with = get("GET", &format!("/{}{path}", row.id), "")
            .with_header("anthropic-version", "2023-06-01");
        let answer = simulator.handle(&with);
        assert_eq!(answer.status, 200, "{}", row.id);
        assert!(answer.text().contains(row.model), "{}", row.id);
        for credential in ["Bearer ", "Bearer", ""] {
            let mut without = with.clone();
            without.headers[0].1 = credential.into();
            assert_eq!(simulator.handle(&without).status, 401, "{}", row.id);
        }
    }
}

#[test]
fn openrouter_wants_its_signed_details_back() {
    let broken = |change: fn(&mut Value)| {
        let simulator = Simulator::find("openrouter").unwrap();
        let mut client = client("openrouter");
        client.user("What is in this folder?");
        let turn = step(&simulator, &mut *client, true);
        run_tools(&mut *client, &turn);
        change(&mut client.history()[1]);
        let answer = simulator.handle(&client.request(false));
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["message"], "Provider returned error");
        answer.json()["error"]["metadata"]["raw"].as_str().unwrap().to_owned()
    };
    let missing = broken(|message| {
        message.as_object_mut().unwrap().remove("reasoning_details");
    });
    assert!(missing.contains("Expected `thinking` or `redacted_thinking`, but found `tool_use`"));
    let edited =
        broken(|message| message["reasoning_details"][0]["text"] = json!("Something else."));
    assert!(edited.contains("messages.1.content.0: Invalid `signature` in `thinking` block"));
    let unsigned = broken(|message| {
        message["reasoning_details"][0].as_object_mut().unwrap().remove("signature");
    });
    assert!(unsigned.contains("Invalid `signature`"));
}

#[test]
fn deepseek_in_its_strictest_reading_wants_words_everywhere() {
    let simulator = Simulator::find("deepseek-v4-everywhere").unwrap();
    let mut client = client("deepseek-v4-everywhere");
    client.user("Hello there!");
    step(&simulator, &mut *client, false);
    client.user("And now?");
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
    for blank in [json!(""), json!(" "), Value::Null] {
        client.history()[1]["reasoning_content"] = blank;
        assert_eq!(simulator.handle(&client.request(false)).status, 400);
    }
}

#[test]
fn flags_that_preserve_thoughts_make_the_loss_of_older_ones_count() {
    for (id, flag) in [
        ("zai", json!({"thinking": {"type": "enabled", "clear_thinking": false}})),
        ("qwen", json!({"preserve_thinking": true})),
    ] {
        let simulator = Simulator::find(id).unwrap();
        let mut client = client(id);
        client.user("Hello there!");
        step(&simulator, &mut *client, false);
        client.user("And now?");
        client.history()[1].as_object_mut().unwrap().remove("reasoning_content");
        assert!(simulator.handle(&client.request(false)).log.losses.is_empty(), "{id}");
        *client.extra() = flag;
        assert_eq!(simulator.handle(&client.request(false)).log.losses.len(), 1, "{id}");
    }
}

#[test]
fn xai_leaves_the_thought_out_of_the_completion_tokens_in_chat() {
    let simulator = Simulator::find("xai-chat").unwrap();
    let mut client = client("xai-chat");
    client.user("Hello there!");
    let usage = step(&simulator, &mut *client, true).usage;
    let number = |key: &str| usage[key].as_u64().unwrap();
    let thought = usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
    assert!(thought > 0);
    assert_eq!(
        number("total_tokens"),
        number("prompt_tokens") + number("completion_tokens") + thought
    );
}

#[test]
fn stored_interactions_are_continued_and_foreign_thoughts_refused() {
    let simulator = Simulator::find("interactions").unwrap();
    let mut client = client("interactions");
    client.extra()["store"] = json!(true);
    client.user("What is in this folder?");
    let response = simulator.handle(&client.request(false));
    let turn = client.read(&response, false);
    client.history().clear();
    run_tools(&mut *client, &turn);
    client.extra()["previous_interaction_id"] = response.json()["id"].clone();
    assert!(step(&simulator, &mut *client, true).text.contains("README.md"));
    client.extra()["previous_interaction_id"] = json!("v1_unknown");
    assert_eq!(simulator.handle(&client.request(false)).status, 404);
    client.extra().as_object_mut().unwrap().remove("previous_interaction_id");
    client.history().clear();
    client.history().push(json!({"type": "thought", "signature": "CpwB"}));
    let answer = simulator.handle(&client.request(false));
    assert!(answer.text().contains("Corrupted thought signature."));
}
