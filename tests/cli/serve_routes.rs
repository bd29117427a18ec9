//! Further routes of `think serve`: prompts, counts, lists.

use crate::place::Place;
use crate::serve_access::Lock;
use crate::serve_config::serve;
use crate::server::{Server, body};
use serde_json::{Value, json};

fn value(answer: &str) -> Value {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(&body(answer)).unwrap()
}

#[test]
fn api_generate_is_an_envelope_of_a_chat_with_any_model() {
    let gateway = Server::start("serve", &[]);
    let asked = |model: &str, stream: bool| {
        json!({"model": model, "prompt": "what is a zebra", "system": "be brief", "stream": stream})
            .to_string()
    };
    let one = value(&gateway.ask("/api/generate", &asked("sim/kimi-k2", false)));
    assert!(one["response"].as_str().unwrap().contains("zebra"), "{one}");
    assert!(!one["thinking"].as_str().unwrap().is_empty(), "{one}");
    assert_eq!(one["done"], json!(true));
    let lines = gateway.ask("/api/generate", &asked("sim/kimi-k2", true));
    let lines: Vec<Value> =
        body(&lines).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: String = lines.iter().filter_map(|line| line["response"].as_str()).collect();
    assert!(said.contains("zebra"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["done"], json!(true));
    for (key, bad) in [("context", json!([1, 2])), ("raw", json!(true))] {
        let mut asked: Value = serde_json::from_str(&asked("sim/kimi-k2", false)).unwrap();
        asked[key] = bad;
        let refused = gateway.ask("/api/generate", &asked.to_string());
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains(key), "{refused}");
    }
}

#[test]
fn tokens_are_counted_for_models_whose_provider_does_not() {
    let gateway = Server::start("serve", &[]);
    let said = |words: usize| json!([{"role": "user", "content": "zebra ".repeat(words)}]);
    let count = |words| {
        let asked = json!({"model": "sim/kimi-k2", "messages": said(words)});
        let answer = value(&gateway.ask("/v1/messages/count_tokens", &asked.to_string()));
        answer["input_tokens"].as_u64().unwrap()
    };
    let (few, many) = (count(10), count(110));
    assert!((90..=220).contains(&(many - few)), "{few} {many}");
    for path in
        ["/v1beta/models/sim%2Fkimi-k2:countTokens", "/v1beta/models/sim/kimi-k2:countTokens"]
    {
        let contents = json!([{"role": "user", "parts": [{"text": "zebra ".repeat(110)}]}]);
        for asked in [
            json!({"contents": contents}),
            json!({"generateContentRequest": {"contents": contents}}),
        ] {
            let answer = value(&gateway.ask(path, &asked.to_string()));
            assert_eq!(answer["totalTokens"].as_u64().unwrap(), many, "{path} {asked}");
        }
    }
    let nobody = json!({"model": "nobody", "messages": said(1)});
    let refused = gateway.ask("/v1/messages/count_tokens", &nobody.to_string());
    assert!(
        refused.starts_with("HTTP/1.1 404") && refused.contains("\"type\":\"error\""),
        "{refused}"
    );
}

#[test]
fn a_provider_that_counts_is_asked() {
    let place = Place::new("count");
    // The reply of the provider is no count, so that the gateway counts by itself. The provider was
    // still asked.
    let lock = Lock::new(|_| 200);
    let root = lock.url.trim_end_matches("/v1");
    let config =
        format!("[providers.there]\nwire = \"messages\"\nbase_url = \"{root}\"\napi_key = \"k\"\n");
    let gateway = serve(&place, &config);
    let asked = json!({"model": "there/m", "messages": [{"role": "user", "content": "zebra"}]});
    let answer = value(&gateway.ask("/v1/messages/count_tokens", &asked.to_string()));
    assert!(answer["input_tokens"].as_u64().unwrap() > 0, "{answer}");
    assert_eq!(lock.seen().len(), 1);
}

#[test]
fn a_count_is_asked_with_the_key_that_the_request_of_its_session_goes_with() {
    let place = Place::new("count-key");
    let lock = Lock::new(|_| 200);
    let root = lock.url.trim_end_matches("/v1");
    let config = format!(
        "[providers.there]\nwire = \"messages\"\nbase_url = \"{root}\"\n\
         api_keys = [\"k0\", \"k1\", \"k2\", \"k3\"]\n"
    );
    let gateway = serve(&place, &config);
    let messages = json!([{"role": "user", "content": "zebra"}]);
    let asked = json!({"model": "there/m", "max_tokens": 9, "messages": messages}).to_string();
    for session in 0..8 {
        let headers = format!("x-thinkthrough-session: s{session}\r\n");
        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            gateway.request("POST", path, &headers, &asked);
        }
        let seen = lock.seen();
        assert!(seen.len() == 2 && seen[0] == seen[1], "{session}: {seen:?}");
    }
}

#[test]
fn what_is_counted_is_what_explain_shows() {
    let place = Place::new("count-explain");
    let gateway = serve(&place, "");
    let call = json!([{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "zebra"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "c1", "content": "a horse"}]);
    for model in ["sim/kimi-k2", "sim/deepseek-v4", "sim/gemini-3", "sim/responses-stateless"] {
        let asked = json!({"model": model, "max_tokens": 4_000, "system": "Be brief.",
            "tools": [{"name": "look", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": "zebra"}, {"role": "assistant", "content": call},
                {"role": "user", "content": result}]});
        let counted = value(&gateway.ask("/v1/messages/count_tokens", &asked.to_string()));
        let request = place.write("request.json", &asked.to_string());
        let config = place.file("config.toml");
        let args = ["explain", "--json", "--config", &config, "--tenant", "local", "-m", model];
        let shown = place.think(&[&args[..], &[&request]].concat());
        assert_eq!(shown.code, Some(0), "{model}: {}", shown.err);
        assert_eq!(counted["input_tokens"], shown.json()["tokens"]["effective"], "{model}");
    }
}

#[test]
fn models_are_listed_as_each_api_lists_them() {
    let place = Place::new("lists");
    let gateway = serve(&place, "[models.kimi]\nprovider = \"sim\"\nmodel = \"kimi-k2\"\n");
    let get = |path: &str, headers: &str| value(&gateway.request("GET", path, headers, ""));
    let names = |list: &Value, key: &str| -> Vec<String> {
        let name = |it: &Value| it[key].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(name).collect()
    };
    let version = "anthropic-version: 2023-06-01\r\n";
    let openai = get("/v1/models", "");
    assert_eq!(names(&openai["data"], "id")[0], "kimi");
    assert_eq!(openai["data"][0]["object"], "model");
    let anthropic = get("/v1/models", version);
    assert_eq!(anthropic["data"][0]["type"], "model");
    assert_eq!(anthropic["first_id"], "kimi");
    assert_eq!(names(&get("/v1beta/models", "")["models"], "name")[0], "models/kimi");
    assert_eq!(names(&get("/api/tags", "")["models"], "name")[0], "kimi");
    assert_eq!(get("/v1/models/sim/groq", "")["id"], "sim/groq");
    assert_eq!(get("/v1beta/models/kimi", "")["name"], "models/kimi");
    let nobody = gateway.request("GET", "/v1beta/models/nobody", "", "");
    assert!(nobody.starts_with("HTTP/1.1 404") && nobody.contains("NOT_FOUND"), "{nobody}");
    let head = gateway.request("HEAD", "/", "", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for later in ["/v1/traces/x", "/ui/nothing"] {
        let answer = gateway.request("GET", later, "", "");
        assert!(answer.starts_with("HTTP/1.1 404"), "{later}: {answer}");
    }
}
