//! Each error text of a provider comes if its rule is broken, and only then.

use serde_json::{Value, json};
use thinkthrough_conformance::{SimResponse, Simulator};

use crate::client::{Client, client, run_tools, step};

mod anthropic;

/// A conversation with the results of its first calls, before the next request.
fn halfway(id: &str) -> (Simulator, Box<dyn Client>) {
    let simulator = Simulator::find(id).unwrap();
    let mut client = client(id);
    client.user("What is in this folder?");
    let turn = step(&simulator, &mut *client, false);
    assert_eq!(turn.calls.len(), 1);
    run_tools(&mut *client, &turn);
    (simulator, client)
}

/// A conversation after a turn with tools, with the next question.
fn next_turn(id: &str) -> (Simulator, Box<dyn Client>) {
    let (simulator, mut client) = halfway(id);
    step(&simulator, &mut *client, false);
    client.user("Thanks. What is in the folder now?");
    (simulator, client)
}

/// Sends the request unchanged, which must pass, then changed, which must be refused. Returns the
/// refusal.
fn broken(
    (simulator, mut client): (Simulator, Box<dyn Client>),
    change: impl FnOnce(&mut Vec<Value>),
    status: u16,
    text: &str,
) -> SimResponse {
    let right = simulator.handle(&client.request(false));
    assert_eq!(right.status, 200, "the unbroken request: {}", right.text());
    change(client.history());
    let wrong = simulator.handle(&client.request(true));
    assert_eq!(wrong.status, status, "{}", wrong.text());
    assert!(wrong.text().contains(text), "expected {text}\n  found {}", wrong.text());
    let said = wrong.log.refusal.clone().unwrap();
    assert!(said.contains(text) || wrong.text().contains(text), "the log says {said}");
    assert_eq!(wrong.body.len(), 1);
    wrong
}

fn without(key: &'static str) -> impl FnOnce(&mut Vec<Value>) {
    move |history| {
        for item in history.iter_mut() {
            item.as_object_mut().unwrap().remove(key);
        }
    }
}

fn without_blocks(kind: &'static str) -> impl FnOnce(&mut Vec<Value>) {
    move |history| {
        for item in history.iter_mut().filter(|item| item["content"].is_array()) {
            item["content"].as_array_mut().unwrap().retain(|block| block["type"] != kind);
        }
    }
}

fn without_items(kind: &'static str) -> impl FnOnce(&mut Vec<Value>) {
    move |history| history.retain(|item| item["type"] != kind)
}

const V4: &str = "The `reasoning_content` in the thinking mode must be passed back to the API.";

#[test]
fn row_01_deepseek_v4_chat() {
    let answer = broken(halfway("deepseek-v4"), without("reasoning_content"), 400, V4);
    assert_eq!(
        answer.json(),
        json!({"error": {"message": V4, "type": "invalid_request_error", "param": null, "code": "invalid_request_error"}})
    );
    broken(next_turn("deepseek-v4"), without("reasoning_content"), 400, V4);
    // The answer that ended the tool turn needs the field, too. Null counts as absent, an empty
    // string does not.
    broken(
        next_turn("deepseek-v4"),
        |history| history[3]["reasoning_content"] = Value::Null,
        400,
        V4,
    );
    let (simulator, mut client) = next_turn("deepseek-v4");
    client.history()[1]["reasoning_content"] = json!("");
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
}

#[test]
fn row_02_deepseek_v32_chat() {
    let text = "Missing `reasoning_content` field in the assistant message at message index 1.";
    broken(halfway("deepseek-v32"), without("reasoning_content"), 400, text);
}

#[test]
fn row_03_deepseek_responses() {
    let text = "The `reasoning_text` in the thinking mode must be passed back to the API.";
    broken(halfway("deepseek-v4-responses"), without_items("reasoning"), 400, text);
    broken(next_turn("deepseek-v4-responses"), without_items("reasoning"), 400, text);
}

#[test]
fn row_04_deepseek_messages() {
    let text = "The content[].thinking in the thinking mode must be passed back to the API";
    broken(halfway("deepseek-v4-messages"), without_blocks("thinking"), 400, text);
    broken(next_turn("deepseek-v4-messages"), without_blocks("thinking"), 400, text);
}

#[test]
fn row_05_mimo() {
    // A streaming request gets even the error as an event.
    let answer = broken(halfway("mimo"), without("reasoning_content"), 400, "Param Incorrect");
    let text = answer.text();
    let body: Value = serde_json::from_str(text.strip_prefix("data:").unwrap()).unwrap();
    assert_eq!(body["error"]["param"], V4);
    let (simulator, mut client) = next_turn("mimo");
    client.history()[1].as_object_mut().unwrap().remove("reasoning_content");
    let answer = simulator.handle(&client.request(false));
    assert_eq!(answer.json()["error"]["message"], "Param Incorrect");
    // Only messages with calls need the field here.
    let (simulator, mut client) = next_turn("mimo");
    client.history()[3].as_object_mut().unwrap().remove("reasoning_content");
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
}

#[test]
fn kimi_refuses_empty_messages() {
    for id in ["kimi-k2", "kimi-k3"] {
        let empty = |history: &mut Vec<Value>| history[3]["content"] = json!("");
        let text = "the message at position 3 with role 'assistant' must not be empty";
        broken(next_turn(id), empty, 400, text);
    }
}

#[test]
fn row_06_kimi() {
    let text = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1";
    for id in ["kimi-k2", "kimi-k3", "default"] {
        broken(halfway(id), without("reasoning_content"), 400, text);
        broken(next_turn(id), without("reasoning_content"), 400, text);
        broken(halfway(id), |history| history[1]["reasoning_content"] = json!(""), 400, text);
    }
    // Other simulators accept a changed thought. The default one compares every byte.
    let changed = |history: &mut Vec<Value>| {
        history[1]["reasoning_content"] = json!("I thought of something.");
    };
    broken(halfway("default"), changed, 400, "at index 1 is not what the model said");
    let (simulator, mut client) = halfway("kimi-k2");
    changed(client.history());
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
}

/// Removes the signatures from all parts.
fn unsigned(history: &mut [Value]) {
    for part in history.iter_mut().flat_map(|content| content["parts"].as_array_mut().unwrap()) {
        part.as_object_mut().unwrap().remove("thoughtSignature");
    }
}

#[test]
fn row_07_gemini() {
    let text = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly";
    let answer = broken(halfway("gemini-3"), |history| unsigned(history), 400, text);
    assert_eq!(answer.json()["error"]["status"], "INVALID_ARGUMENT");
    assert!(answer.text().contains("`default_api:list` , position 2."));
    // Earlier turns are not checked.
    let (simulator, mut client) = next_turn("gemini-3");
    unsigned(client.history());
    assert_eq!(simulator.handle(&client.request(false)).status, 200);
}

#[test]
fn row_07_gemini_on_the_compatible_endpoint() {
    let unsigned = |history: &mut Vec<Value>| {
        history[1]["tool_calls"][0].as_object_mut().unwrap().remove("extra_content");
    };
    let text = "Function call is missing a thought_signature in functionCall parts.";
    let answer = broken(halfway("gemini-3-chat"), unsigned, 400, text);
    assert_eq!(answer.json()[0]["error"]["status"], "INVALID_ARGUMENT");
    let foreign = |history: &mut Vec<Value>| {
        history[1]["tool_calls"][0]["extra_content"] =
            json!({"google": {"thought_signature": "CpwB"}});
    };
    broken(halfway("gemini-3-chat"), foreign, 400, "Corrupted thought signature.");
    let (simulator, mut client) = halfway("gemini-3-chat");
    *client.extra() =
        json!({"extra_body": {"google": {"thinking_config": {"include_thoughts": true}}}});
    for stream in [false, true] {
        let text = client.read(&simulator.handle(&client.request(stream)), stream).text;
        assert!(
            text.starts_with("<thought>The user says") && text.contains("</thought>This is"),
            "{text}"
        );
    }
}

#[test]
fn row_08_vertex() {
    let text = "Unable to submit request because function call `list` in the 2. content block is missing a `thought_signature`";
    broken(halfway("vertex-gemini-3"), |history| unsigned(history), 400, text);
}

#[test]
fn row_09_corrupted_signature() {
    for id in ["gemini-3", "vertex-gemini-3"] {
        let text = "Corrupted thought signature.";
        broken(
            halfway(id),
            |history| history[1]["parts"][0]["thoughtSignature"] = json!("CpwBAAAA"),
            400,
            text,
        );
        broken(
            halfway(id),
            |history| history[1]["parts"][0]["functionCall"]["name"] = json!("read"),
            400,
            text,
        );
        for dummy in
            ["skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="]
        {
            let (simulator, mut client) = halfway(id);
            client.history()[1]["parts"][0]["thoughtSignature"] = json!(dummy);
            assert_eq!(simulator.handle(&client.request(false)).status, 200);
        }
    }
    let (simulator, mut client) = halfway("gemini-3");
    let request = client.request(false);
    let other = thinkthrough_conformance::SimRequest {
        path: request.path.replace("gemini-3.1-pro", "gemini-3.5-flash"),
        ..request
    };
    assert_eq!(simulator.handle(&other).status, 400, "signatures belong to their model");
    client.history().clear();
}

#[test]
fn row_17_reasoning_without_its_follower() {
    for id in ["responses-stateless", "responses-stateful"] {
        let (simulator, mut client) = halfway(id);
        let rs = client.history()[1]["id"].as_str().unwrap().to_owned();
        let text = format!(
            "Item '{rs}' of type 'reasoning' was provided without its required following item."
        );
        // A call is also known by its `call_id`.
        let mut nameless = client.request(false);
        let mut body: Value = serde_json::from_slice(&nameless.body).unwrap();
        body["input"][2].as_object_mut().unwrap().remove("id");
        nameless.body = body.to_string().into_bytes();
        assert_eq!(simulator.handle(&nameless).status, 200);
        let anonymous = |history: &mut Vec<Value>| {
            let text = json!([{"type": "output_text", "text": "I looked."}]);
            history[2] = json!({"type": "message", "role": "assistant", "content": text});
            history.retain(|item| item["type"] != "function_call_output");
        };
        broken((simulator, client), anonymous, 400, &text);
    }
}

#[test]
fn row_18_call_without_its_reasoning() {
    for id in ["responses-stateless", "responses-stateful"] {
        let (simulator, mut client) = halfway(id);
        let rs = client.history()[1]["id"].as_str().unwrap().to_owned();
        let fc = client.history()[2]["id"].as_str().unwrap().to_owned();
        let text = format!(
            "Item '{fc}' of type 'function_call' was provided without its required 'reasoning' item: '{rs}'."
        );
        broken((simulator, client), without_items("reasoning"), 400, &text);
    }
    let (simulator, mut client) = next_turn("responses-stateless");
    client.history().remove(4);
    let answer = simulator.handle(&client.request(false)).text();
    assert!(
        answer.contains("of type 'message' was provided without its required 'reasoning' item"),
        "{answer}"
    );
}

#[test]
fn row_19_item_not_found() {
    let (simulator, mut client) = halfway("responses-stateless");
    let rs = client.history()[1]["id"].as_str().unwrap().to_owned();
    let text = format!(
        "Item with id '{rs}' not found. Items are not persisted when `store` is set to false."
    );
    let blind = |history: &mut Vec<Value>| {
        history[1].as_object_mut().unwrap().remove("encrypted_content");
    };
    client.extra()["store"] = json!(false);
    broken((simulator, client), blind, 404, &text);
    let foreign = |history: &mut Vec<Value>| history[1]["id"] = json!("rs_123");
    broken(halfway("responses-stateful"), foreign, 404, "Item with id 'rs_123' not found.");
}

#[test]
fn row_20_encrypted_content_not_verified() {
    let change = |history: &mut Vec<Value>| {
        let payload = history[1]["encrypted_content"].as_str().unwrap().replace("gAAAAA", "gAAAAB");
        history[1]["encrypted_content"] = json!(payload);
    };
    let text = "could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    let answer = broken(halfway("responses-stateless"), change, 400, text);
    assert_eq!(answer.json()["error"]["code"], "invalid_encrypted_content");
    assert!(answer.text().contains("The encrypted content gAAA..."));
    let (simulator, client) = halfway("responses-stateless");
    let mut other = client.request(false);
    other.headers[0].1 = "Bearer another-account".into();
    assert!(simulator.handle(&other).text().contains(text), "payloads belong to their account");
}

#[test]
fn row_21_missing_summary() {
    let text = "Input[1] missing required field `summary`";
    for id in ["xai", "deepseek-v4-responses"] {
        broken(halfway(id), without("summary"), 400, text);
    }
    broken(
        halfway("responses-stateless"),
        without("summary"),
        400,
        "Missing required parameter: 'input[1].summary'.",
    );
}

#[test]
fn row_22_compaction_blob() {
    let text =
        "Could not decode the compaction blob. Ensure it is unmodified from the compact response.";
    let change =
        |history: &mut Vec<Value>| history[1]["encrypted_content"] = json!("gAAAAABnonsense");
    broken(halfway("xai"), change, 400, text);
    let (simulator, mut client) = next_turn("xai");
    let mut request = client.request(false);
    request.path = "/v1/responses/compact".into();
    let item = simulator.handle(&request).json()["output"][0].clone();
    client.history().clear();
    client.history().push(item);
    client.user("Go on.");
    broken(
        (simulator, client),
        |history| history[0]["encrypted_content"] = json!("gAAA"),
        400,
        text,
    );
}

#[test]
fn row_23_unsupported_property() {
    for (id, text) in [
        ("groq", "property 'reasoning_content' is unsupported"),
        ("cerebras", "messages.1.assistant.reasoning_content' is unsupported"),
    ] {
        let change =
            |history: &mut Vec<Value>| history[1]["reasoning_content"] = json!("I thought.");
        broken(halfway(id), change, 400, text);
        broken(next_turn(id), change, 400, text);
        let (simulator, mut client) = halfway(id);
        *client.extra() = json!({"enable_thinking": true});
        let answer = simulator.handle(&client.request(false));
        assert!(answer.text().contains("property 'enable_thinking' is unsupported"));
    }
}

#[test]
fn row_24_extra_forbidden() {
    for field in ["reasoning_content", "reasoning", "refusal"] {
        let change = |history: &mut Vec<Value>| history[1][field] = json!("I thought.");
        let answer = broken(halfway("mistral"), change, 422, "extra_forbidden");
        let detail = &answer.json()["message"]["detail"][0];
        assert_eq!(detail["loc"], json!(["body", "messages", 1, "assistant", field]));
        assert_eq!(detail["msg"], "Extra inputs are not permitted");
    }
}

#[test]
fn r1_refuses_reasoning_in_the_input() {
    let change = |history: &mut Vec<Value>| history[1]["reasoning_content"] = json!("I thought.");
    broken(
        halfway("deepseek-r1"),
        change,
        400,
        "`reasoning_content` is not allowed in the input messages",
    );
}
