//! Ids in requests of callers with a gateway key: the store decides what they name, not the member
//! that holds them.

use crate::place::Place;
use crate::serve_tenants::{ALICE, BOB, Keeper, ask, gateway_with, make};
use crate::server::{Server, body};
use serde_json::{Value, json};

/// A request with an id in it: method, path, headers and body.
type Form = fn(&str) -> (&'static str, String, String, Value);

fn responses(more: Value) -> (&'static str, String, String, Value) {
    let mut asked = json!({"model": "there/m", "input": "x"});
    let Value::Object(more) = more else { panic!("members are an object") };
    asked.as_object_mut().unwrap().extend(more);
    ("POST", "/v1/responses".to_owned(), String::new(), asked)
}

/// Places where no API resolves an id.
const ELSEWHERE: [Form; 10] = [
    |id| responses(json!({"client_metadata": {"thread_id": id, "session_id": id}})),
    |id| responses(json!({"metadata": {"conversation": id}, "prompt_cache_key": id})),
    |id| responses(json!({"thread_id": id})),
    |id| {
        responses(json!({"input": [{"type": "message", "id": id, "role": "assistant",
            "content": [{"type": "output_text", "text": "x"}]}]}))
    },
    |id| responses(json!({"input": [{"type": "message", "role": "user", "content": id}]})),
    |id| {
        let (method, path, _, asked) = responses(json!({}));
        (method, path, format!("x-client-thread: {id}\r\n"), asked)
    },
    |id| {
        let (method, path, headers, asked) = responses(json!({}));
        (method, format!("{path}?x={id}&y=1"), headers, asked)
    },
    |id| {
        let asked = json!({"model": "m", "input": "x", "user": format!("https://h.test/v1/responses/{id}?x=1")});
        ("POST", "/p/there/v1/responses".to_owned(), String::new(), asked)
    },
    |id| ("GET", format!("/p/there/v1/models?after={id}"), String::new(), Value::Null),
    |id| {
        let tool = json!({"type": "function", "name": "t",
            "parameters": {"type": "object", "properties": {"file_id": {"default": id}}}});
        responses(json!({"tools": [tool]}))
    },
];

fn say(server: &Server, who: &str, form: Form, id: &str) -> (u16, String) {
    let (method, path, headers, asked) = form(id);
    let headers = format!("{who}{headers}content-type: application/json\r\n");
    let sent = if asked.is_null() { String::new() } else { asked.to_string() };
    let answer = server.request_in_time(method, &path, &headers, &sent);
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), body(&answer))
}

#[test]
fn t_10_an_id_of_another_tenant_is_refused_wherever_it_stands() {
    let (place, keeper) = (Place::new("others-ids"), Keeper::start());
    let server = gateway_with(&place, &keeper, "");
    let response =
        make(&server, ALICE, "/p/there/v1/responses", &json!({"model": "m", "input": "x"}));
    let file = make(&server, ALICE, "/p/there/v1/files", &json!({"purpose": "user_data"}));
    let item = response.replace("resp_", "msg_");
    for (at, form) in ELSEWHERE.into_iter().enumerate() {
        for id in [&response, &file, &item] {
            keeper.asked();
            let (status, said) = say(&server, BOB, form, id);
            assert_eq!(status, 404, "{at} {id}: {said}");
            assert!(said.contains(&format!("Resource with id '{id}' not found.")), "{said}");
            assert_eq!(keeper.asked(), [""; 0], "{at} {id}: it came to the provider");
            assert_eq!(say(&server, ALICE, form, id).0, 200, "{at} {id}: own");
        }
        // An unknown id is the client's own here.
        let own = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
        keeper.asked();
        assert_eq!(say(&server, BOB, form, own).0, 200, "{at}");
        // The helper asks again if the store was late.
        assert!(!keeper.asked().is_empty(), "{at}");
    }
    // The id is unknown at another provider, and a text may mention it.
    let elsewhere = json!({"model": "m", "input": "x", "metadata": {"x": response}});
    assert_eq!(ask(&server, BOB, "POST", "/p/chat/v1/embeddings", &elsewhere).0, 200);
    let told = json!({"model": "there/m", "input": format!("what is {response} about?")});
    assert_eq!(ask(&server, BOB, "POST", "/v1/responses", &told).0, 200);
}

#[test]
fn t_10_a_name_that_a_tenant_chose_stops_nobodys_words() {
    let (place, keeper) = (Place::new("chosen-names"), Keeper::start());
    let server = gateway_with(&place, &keeper, "");
    let name = make(&server, ALICE, "/p/goo/v1beta/cachedContents", &json!({"model": "models/m"}));
    let bare = name.rsplit('/').next().unwrap();
    let asked = |word: &str| json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "labels": {"x": word}});
    let path = "/p/goo/v1beta/models/m:generateContent";
    assert_eq!(ask(&server, BOB, "POST", path, &asked(bare)).0, 200);
    assert_eq!(ask(&server, BOB, "POST", path, &asked(&name)).0, 404);
    assert_eq!(ask(&server, ALICE, "POST", path, &asked(&name)).0, 200);
}

#[test]
fn answers_that_a_provider_does_not_store_name_nothing() {
    let (place, keeper) = (Place::new("stateless-ids"), Keeper::start());
    let server = gateway_with(&place, &keeper, "");
    let asked = json!({"model": "there/m", "input": "x", "store": false});
    let response = make(&server, ALICE, "/v1/responses", &asked);
    // Two people continue one conversation, each with a key: a client sends the items as they came.
    let item = json!({"type": "reasoning", "id": response.replace("resp_", "msg_"),
        "encrypted_content": "gAAAAA", "summary": []});
    let asked = json!({"model": "there/m", "store": false, "input": [item, {"role": "user", "content": "x"}]});
    let (status, said) = ask(&server, BOB, "POST", "/v1/responses", &asked);
    assert_eq!(status, 200, "{said}");
    let asked =
        json!({"model": "there/m", "input": "x", "previous_response_id": "resp_0000000000000000"});
    assert_eq!(ask(&server, BOB, "POST", "/v1/responses", &asked).0, 400);
}
