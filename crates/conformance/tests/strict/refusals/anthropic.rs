//! The refusals of Anthropic's models, on their own API and behind Bedrock.

use serde_json::{Value, json};

use super::{broken, halfway, next_turn, without_blocks};
use crate::client::{run_tools, step};

#[test]
fn row_10_anthropic_missing_thinking() {
    let text = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When \
                `thinking` is enabled, a final `assistant` message must start with a thinking block";
    broken(halfway("anthropic-manual"), without_blocks("thinking"), 400, text);
    let (simulator, mut client) = next_turn("anthropic-manual");
    without_blocks("thinking")(client.history());
    assert_eq!(
        simulator.handle(&client.request(false)).status,
        200,
        "a turn that is over may lose its thoughts"
    );
    let prefill =
        |history: &mut Vec<Value>| history.push(json!({"role": "assistant", "content": "So"}));
    broken(next_turn("anthropic-manual"), prefill, 400, "but found `text`");
}

#[test]
fn vertex_takes_no_model_in_the_body_and_wants_a_version_there() {
    let (simulator, client) = halfway("vertex-claude");
    let right = client.request(false);
    assert_eq!(simulator.handle(&right).status, 200);
    type Change = fn(&mut serde_json::Map<String, Value>);
    let changes: [(Change, &str); 4] = [
        (
            |body| drop(body.insert("model".into(), json!("m"))),
            "model: Extra inputs are not permitted",
        ),
        (|body| drop(body.remove("anthropic_version")), "anthropic_version: Field required"),
        (
            |body| drop(body.insert("anthropic_version".into(), json!("2023-06-01"))),
            "anthropic_version: Input should be",
        ),
        (|body| drop(body.insert("stream".into(), json!(true))), "stream: "),
    ];
    for (change, text) in changes {
        let mut request = right.clone();
        let mut body: Value = serde_json::from_slice(&request.body).unwrap();
        change(body.as_object_mut().unwrap());
        request.body = body.to_string().into_bytes();
        let answer = simulator.handle(&request);
        assert_eq!(answer.status, 400, "{text}");
        assert!(answer.text().contains(text), "{}", answer.text());
    }
    let mut asked = right.clone();
    asked.path.push_str("?beta=true");
    assert_eq!(simulator.handle(&asked).status, 400, "a parameter of the API's own address");
    broken(halfway("vertex-claude"), without_blocks("thinking"), 400, "Expected `thinking` or");
}

#[test]
fn row_11_signature_required() {
    let text = "messages.1.content.0.thinking.signature: Field required";
    let change = |history: &mut Vec<Value>| {
        history[1]["content"][0].as_object_mut().unwrap().remove("signature");
    };
    for id in ["anthropic-manual", "anthropic-omitted", "anthropic-bound"] {
        broken(halfway(id), change, 400, text);
    }
    let wrapped = format!("The model returned the following errors: {text}");
    let change = |history: &mut Vec<Value>| {
        let thought = &mut history[1]["content"][0]["reasoningContent"]["reasoningText"];
        thought.as_object_mut().unwrap().remove("signature");
    };
    let answer = broken(halfway("bedrock"), change, 400, &wrapped);
    assert_eq!(answer.json()["__type"], "ValidationException");
}

#[test]
fn bedrock_passes_the_other_refusals_of_claude_on() {
    let missing = |history: &mut Vec<Value>| {
        history[1]["content"].as_array_mut().unwrap().remove(0);
    };
    let text = "The model returned the following errors: messages.1.content.0.type: Expected `thinking` or";
    broken(halfway("bedrock"), missing, 400, text);
    let edited = |history: &mut Vec<Value>| {
        history[1]["content"][0]["reasoningContent"]["reasoningText"]["text"] =
            json!("Something else.");
    };
    broken(halfway("bedrock"), edited, 400, "in the latest assistant message cannot be modified");
}

#[test]
fn row_12_modified_thinking() {
    let text = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be \
                modified. These blocks must remain as they were in the original response.";
    let change =
        |history: &mut Vec<Value>| history[1]["content"][0]["thinking"] = json!("Something else.");
    for id in ["anthropic-manual", "anthropic-omitted", "anthropic-bound"] {
        broken(halfway(id), change, 400, text);
    }
    let answer = broken(halfway("anthropic-manual"), change, 400, text);
    assert_eq!(answer.json()["type"], "error");
    assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    let again = |history: &mut Vec<Value>| {
        let block = history[1]["content"][0].clone();
        history[1]["content"].as_array_mut().unwrap().insert(0, block);
    };
    broken(halfway("anthropic-manual"), again, 400, "messages.1.content.0: `thinking` or");
}

#[test]
fn row_13_invalid_signature() {
    let text = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let foreign = |history: &mut Vec<Value>| {
        history[1]["content"][0]["signature"] = json!("EqQBCgIYAhIkAAAA");
    };
    let older =
        |history: &mut Vec<Value>| history[1]["content"][0]["thinking"] = json!("Something else.");
    for id in ["anthropic-manual", "anthropic-omitted", "anthropic-bound"] {
        broken(halfway(id), foreign, 400, text);
        broken(next_turn(id), older, 400, text);
    }
    let (simulator, mut client) = halfway("anthropic-manual");
    *client.extra() =
        json!({"thinking": {"type": "enabled", "budget_tokens": 1024}, "model": "claude-opus-4-1"});
    assert!(simulator.handle(&client.request(false)).text().contains(text), "another model");
}

const BOUND: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                     conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                     \\\"drop_block\\\"";

#[test]
fn row_14_bound_to_a_different_conversation() {
    let edited =
        |history: &mut Vec<Value>| history[0]["content"] = json!("What was in this folder?");
    broken(halfway("anthropic-bound"), edited, 400, BOUND);
    let (simulator, mut client) = next_turn("anthropic-bound");
    client.extra()["system"] = json!("It is five past ten.");
    let answer = simulator.handle(&client.request(false)).text();
    assert!(answer.contains(BOUND) && answer.contains("The `system` prompt differs"), "{answer}");
    // Removes the second of three thoughts.
    let (simulator, mut client) = next_turn("anthropic-bound");
    let turn = step(&simulator, &mut *client, false);
    run_tools(&mut *client, &turn);
    let gap = |history: &mut Vec<Value>| {
        history[3]["content"].as_array_mut().unwrap().retain(|block| block["type"] != "thinking");
    };
    let text = "The `thinking` block that preceded this one when it was created is missing from this request.";
    broken((simulator, client), gap, 400, text);
}

#[test]
fn bound_thoughts_may_lose_a_leading_run_and_cache_marks() {
    let (simulator, mut client) = next_turn("anthropic-bound");
    let blocks = client.history()[1]["content"].as_array_mut().unwrap();
    blocks.retain(|block| block["type"] != "thinking");
    blocks[0]["cache_control"] = json!({"type": "ephemeral"});
    let answer = simulator.handle(&client.request(false));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn bound_thoughts_are_dropped_on_request_and_the_caller_is_told() {
    let (simulator, mut client) = next_turn("anthropic-bound");
    let drop =
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    *client.extra() = json!({"thinking": drop, "system": "It is five past ten."});
    let answer = simulator.handle(&client.request(false));
    assert!(
        answer.text().contains("thinking.adaptive.block_binding: Extra inputs are not permitted")
    );
    client.extra()["anthropic-beta"] = json!("thinking-binding-controls-2026-08-01");
    let answer = simulator.handle(&client.request(false));
    let dropped = &answer.json()["input_transformations"];
    assert_eq!(dropped[0]["path"], "messages.1.content.0");
    assert_eq!(dropped[0]["reason"], "prefix_binding_mismatch");
    assert_eq!(dropped.as_array().unwrap().len(), 2);
    assert_eq!(answer.log.losses.len(), 2);
}

#[test]
fn row_15_thinking_disabled() {
    let (simulator, mut client) = halfway("anthropic-manual");
    *client.extra() = json!({"thinking": {"type": "disabled"}});
    let text = "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`";
    let answer = simulator.handle(&client.request(false));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains(text), "{}", answer.text());
    without_blocks("thinking")(client.history());
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
    let (simulator, mut client) = next_turn("anthropic-manual");
    *client.extra() = json!({});
    assert_eq!(
        simulator.handle(&client.request(false)).status,
        200,
        "a finished answer is not in the final position"
    );
}

#[test]
fn row_16_budget_above_the_cap() {
    let (simulator, mut client) = halfway("anthropic-manual");
    *client.extra() = json!({"thinking": {"type": "enabled", "budget_tokens": 4096}});
    let text = "`max_tokens` must be greater than `thinking.budget_tokens`.";
    assert!(simulator.handle(&client.request(false)).text().contains(text));
    *client.extra() = json!({
        "thinking": {"type": "enabled", "budget_tokens": 4096}, "anthropic-beta": "interleaved-thinking-2025-05-14",
    });
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
}
