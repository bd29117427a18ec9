//! Answers of the Responses API that are stored by their ids, for models of every API.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{Server, body};
use serde_json::{Value, json};

fn list() -> Value {
    let nothing = json!({"type": "object", "properties": {}});
    json!([{"type": "function", "name": "list", "description": "lists a folder", "parameters": nothing}])
}

/// The header and the whole response of `POST /v1/responses`, also of a streamed one.
fn ask(server: &Server, key: &str, request: &Value) -> (String, Value) {
    let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let answer = server.request_in_time("POST", "/v1/responses", &headers, &request.to_string());
    let said = body(&answer);
    let whole = said.lines().filter_map(|line| line.strip_prefix("data: ")).find_map(|data| {
        let event: Value = serde_json::from_str(data).ok()?;
        (event["type"] == "response.completed").then(|| event["response"].clone())
    });
    let whole = whole.or_else(|| serde_json::from_str(&said).ok());
    (answer.clone(), whole.unwrap_or_else(|| panic!("{answer}")))
}

/// Status and body of another method.
fn kept(server: &Server, key: &str, method: &str, id: &str) -> (u16, Value) {
    let headers = format!("authorization: Bearer {key}\r\n");
    let answer = server.request(method, &format!("/v1/responses/{id}"), &headers, "");
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(&body(&answer)).unwrap_or_else(|_| panic!("{answer}")))
}

fn id(response: &Value) -> String {
    response["id"].as_str().unwrap().to_owned()
}

fn outputs(response: &Value) -> Vec<Value> {
    let items = response["output"].as_array().unwrap().iter();
    let calls = items.filter(|item| item["type"] == "function_call");
    let output = |call: &Value| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "README.md src/"});
    calls.map(output).collect()
}

#[test]
fn a_conversation_goes_on_by_ids_at_models_that_keep_nothing() {
    let server = Server::start("serve", &[]);
    for model in [
        "kimi-k2",
        "kimi-k3",
        "anthropic-manual",
        "gemini-3",
        "responses-stateless",
        "deepseek-v4-responses",
    ] {
        for stream in [false, true] {
            let case = format!("{model} {stream}");
            let request = |more: Value| {
                let mut request =
                    json!({"model": format!("sim/{model}"), "stream": stream, "tools": list()});
                request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                request
            };
            let ask = |more: Value| {
                let (answer, response) = ask(&server, "k", &request(more));
                assert!(answer.starts_with("HTTP/1.1 200"), "{case}: {answer}");
                assert!(answer.contains("missed=0;"), "{case}: {answer}");
                response
            };
            let first = ask(json!({"input": "What is in this folder?"}));
            assert_eq!(kept(&server, "k", "GET", &id(&first)), (200, first.clone()), "{case}");
            let results = outputs(&first);
            assert_eq!(results.len(), 1, "{case}: {first}");
            let second = ask(json!({"previous_response_id": id(&first), "input": results}));
            assert!(second["output"].to_string().contains("README.md"), "{case}: {second}");
            let third = ask(json!({"previous_response_id": id(&second), "input": "Thank you."}));
            assert_ne!(id(&third), id(&second));

            // The deleted response is gone, and the third one, which continued it, cannot be
            // continued.
            let gone = json!({"id": id(&second), "object": "response", "deleted": true});
            assert_eq!(kept(&server, "k", "DELETE", &id(&second)), (200, gone), "{case}");
            let (status, error) = kept(&server, "k", "GET", &id(&second));
            let text = format!("Response with id '{}' not found.", id(&second));
            assert_eq!((status, &error["error"]["message"]), (404, &json!(text)), "{case}");
            let more = json!({"previous_response_id": id(&third), "input": "And now?"});
            let (answer, error) = self::ask(&server, "k", &request(more));
            assert!(answer.starts_with("HTTP/1.1 400"), "{case}: {answer}");
            let text = format!("Previous response with id '{}' not found.", id(&second));
            assert_eq!(error["error"]["message"], json!(text), "{case}");
            assert_eq!(error["error"]["code"], "previous_response_not_found");
        }
    }
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let server = Server::start("serve", &[]);
    for model in ["sim/kimi-k2", "sim/responses-stateless", "sim/responses-stateful"] {
        let request = json!({"model": model, "input": "what is a zebra", "store": false});
        let (answer, response) = ask(&server, "k", &request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(kept(&server, "k", "GET", &id(&response)).0, 404, "{model}");
    }
}

#[test]
fn what_the_upstream_keeps_it_is_asked_for() {
    let server = Server::start("serve", &[]);
    let model = "sim/responses-stateful";
    for stream in [false, true] {
        let request = json!({"model": model, "stream": stream, "tools": list(), "input": "What is in this folder?"});
        let (_, first) = ask(&server, "k", &request);
        // The provider's copy has the provider's own name of the model.
        let mut own = first.clone();
        own["model"] = json!("gpt-5.6");
        assert_eq!(kept(&server, "k", "GET", &id(&first)), (200, own));
        let more = json!({"model": model, "stream": stream, "tools": list(),
            "previous_response_id": id(&first), "input": outputs(&first)});
        let (answer, second) = ask(&server, "k", &more);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(second["output"].to_string().contains("README.md"), "{second}");
        assert_eq!(second["previous_response_id"], json!(id(&first)));
        assert_eq!(kept(&server, "k", "DELETE", &id(&first)).0, 200);
        assert_eq!(kept(&server, "k", "GET", &id(&first)).0, 404);
        // The upstream decides about an unknown id.
        let unknown = json!({"model": model, "previous_response_id": "resp_unknown", "input": "x"});
        let (answer, error) = ask(&server, "k", &unknown);
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        let text = "Previous response with id 'resp_unknown' not found.";
        assert_eq!(error["error"]["message"], text);
    }
}

#[test]
fn nobody_reads_or_goes_on_from_what_another_was_told() {
    let place = Place::new("responses");
    let config =
        "[keys.alice]\nkey = \"alice-key-0123456789\"\n[keys.bob]\nkey = \"bob-key-0123456789\"\n";
    let server = serve(&place, config);
    let (alice, bob) = ("alice-key-0123456789", "bob-key-0123456789");
    for model in ["sim/kimi-k2", "sim/responses-stateful"] {
        let (_, first) = ask(&server, alice, &json!({"model": model, "input": "what is a zebra"}));
        assert_eq!(kept(&server, bob, "GET", &id(&first)).0, 404, "{model}");
        assert_eq!(kept(&server, bob, "DELETE", &id(&first)).0, 404, "{model}");
        let more = json!({"model": model, "previous_response_id": id(&first), "input": "x"});
        let (answer, _) = ask(&server, bob, &more);
        assert!(answer.starts_with("HTTP/1.1 400"), "{model}: {answer}");
        assert!(answer.contains("not found."), "{model}: {answer}");
        assert_eq!(kept(&server, alice, "GET", &id(&first)).0, 200, "{model}");
    }
}

#[test]
fn items_that_are_only_named_are_put_in_their_places() {
    let server = Server::start("serve", &[]);
    for model in ["kimi-k2", "anthropic-manual", "responses-stateless", "responses-stateful"] {
        for stream in [false, true] {
            let case = format!("{model} {stream}");
            let question = json!({"role": "user", "content": "What is in this folder?"});
            let ask = |input: Vec<Value>| {
                let request = json!({"model": format!("sim/{model}"), "stream": stream, "tools": list(), "input": input});
                ask(&server, "k", &request)
            };
            let (_, first) = ask(vec![question.clone()]);
            let items = first["output"].as_array().unwrap().iter();
            let named = items.map(|item| json!({"type": "item_reference", "id": item["id"]}));
            let input = std::iter::once(question).chain(named).chain(outputs(&first));
            let (answer, second) = ask(input.collect());
            assert!(answer.starts_with("HTTP/1.1 200"), "{case}: {answer}");
            assert!(answer.contains("missed=0;"), "{case}: {answer}");
            assert!(second["output"].to_string().contains("README.md"), "{case}: {second}");

            let (answer, error) = ask(vec![json!({"type": "item_reference", "id": "msg_unknown"})]);
            assert!(answer.starts_with("HTTP/1.1 4"), "{case}: {answer}");
            let text = error["error"]["message"].as_str().unwrap();
            assert!(text.contains("msg_unknown") && text.contains("not found"), "{case}: {text}");
        }
    }
    // A reference to data that only its provider stores is refused, not dropped silently.
    let more = json!({"model": "sim/kimi-k2", "conversation": "conv_1", "input": "x"});
    let (answer, error) = ask(&server, "k", &more);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(error["error"]["message"].as_str().unwrap().starts_with("`conversation`"), "{error}");
}

#[test]
fn who_goes_on_from_what_one_upstream_keeps_is_not_sent_to_another() {
    let place = Place::new("bound");
    let port = crate::serve_config::Reserved::new();
    let config = format!(
        "[providers.down]\nwire = \"responses\"\nbase_url = \"http://127.0.0.1:{}/v1\"\napi_key = \"k\"\n\
         [models.a]\nprovider = \"down\"\nfallback = [\"sim/responses-stateful\"]\n",
        port.port
    );
    let server = serve(&place, &config);
    let (answer, _) = ask(&server, "k", &json!({"model": "a", "input": "what is a zebra"}));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("hops=1"), "{answer}");
    for more in [
        json!({"model": "a", "previous_response_id": "resp_1", "input": "x"}),
        json!({"model": "a", "input": [{"type": "item_reference", "id": "msg_1"}]}),
    ] {
        let (answer, error) = ask(&server, "k", &more);
        assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
        assert_eq!(error["error"]["code"], "upstream_error", "{error}");
    }
}
