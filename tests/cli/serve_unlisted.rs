//! `think serve` for a server of the user whose call ids have no known form. Agents that clear old
//! results and add reminders lose no thought, and the server receives only its own ids.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{Server, body};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROUNDS: usize = 6;

/// A server that gives each answer a thought and two calls, with the same ids in every answer. It
/// refuses a history that differs from its answers. It stores the answers of a conversation under
/// the first word of the conversation.
fn strict() -> Upstream {
    let mut given: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    Upstream::answering(move |asked| {
        // The gateway describes all answers in words if their look-ups were late. The agent repeats
        // such a request.
        if asked.contains("You used the tool") {
            return json!({"error": {"message": "late"}}).to_string();
        }
        let asked: Value = serde_json::from_str(asked).unwrap();
        let messages = asked["messages"].as_array().unwrap();
        let first = &messages.iter().find(|it| it["role"] == "user").unwrap()["content"];
        let first = first[0]["text"].as_str().or(first.as_str()).unwrap();
        let name = first.split(':').next().unwrap().to_owned();
        let given = given.entry(name.clone()).or_default();
        let is_answer = |it: &&Value| it["role"] == "assistant";
        let said: Vec<&Value> = messages.iter().filter(is_answer).collect();
        // A repeated request drops the first answer to it.
        given.truncate(said.len());
        for (said, given) in said.iter().zip(given.iter()) {
            if said["reasoning_content"] != given["reasoning_content"] {
                let text =
                    "The `reasoning_content` in the thinking mode must be passed back to the API.";
                let error = json!({"error": {"message": text, "type": "invalid_request_error"}});
                return format!("data: {error}\n\n");
            }
            if said["tool_calls"] != given["tool_calls"] {
                return json!({"error": {"message": format!("no call of mine: {said}")}})
                    .to_string();
            }
        }
        let ids = messages.iter().filter_map(|it| it["tool_call_id"].as_str());
        if !ids.eq(["call_0", "call_1"].repeat(said.len())) || said.len() != given.len() {
            return json!({"error": {"message": "no result of mine"}}).to_string();
        }
        let call = |nth: usize, tool: &str| {
            let function = json!({"name": tool, "arguments": "{\"path\":\".\"}"});
            json!({"id": format!("call_{nth}"), "type": "function", "function": function})
        };
        let message = json!({
            "role": "assistant", "content": null,
            "reasoning_content": format!("thought {} of {name}", given.len()),
            "tool_calls": [call(0, "list"), call(1, "read")],
        });
        given.push(message.clone());
        if asked["stream"] == true { streamed(&message) } else { whole(&message) }
    })
}

fn whole(message: &Value) -> String {
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    json!({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}).to_string()
}

fn streamed(message: &Value) -> String {
    let mut calls = message["tool_calls"].clone();
    for (at, call) in calls.as_array_mut().unwrap().iter_mut().enumerate() {
        call["index"] = json!(at);
    }
    let deltas =
        [json!({"reasoning_content": message["reasoning_content"]}), json!({"tool_calls": calls})];
    let mut stream = String::new();
    for (delta, finish) in
        deltas.into_iter().chain([json!({})]).zip([json!(null), json!(null), json!("tool_calls")])
    {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        stream += &format!("data: {}\n\n", json!({"id": "x", "model": "m", "choices": [choice]}));
    }
    stream + "data: [DONE]\n\n"
}

/// An agent that keeps the visible answers, clears all results but the newest, and adds reminders.
struct Agent {
    path: &'static str,
    stream: bool,
    reminds: bool,
    messages: Vec<Value>,
    /// The ids of calls that it saw.
    seen: Vec<String>,
}

impl Agent {
    fn new(name: &str, path: &'static str, stream: bool) -> Self {
        let question = json!({"role": "user", "content": [{"type": "text", "text": format!("{name}: look around.")}]});
        Agent { path, stream, reminds: true, messages: vec![question], seen: Vec::new() }
    }

    fn request(&self) -> String {
        let mut request =
            json!({"model": "mine/m", "stream": self.stream, "messages": self.messages});
        if self.path == "/v1/messages" {
            request["max_tokens"] = json!(1000);
        }
        request.to_string()
    }

    /// Asks, runs the calls, and clears old results. Returns the head of the answer.
    fn step(&mut self, gateway: &Server) -> String {
        let answer = gateway.ask_in_time(self.path, &self.request());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let said = body(&answer);
        let (message, ids, results) = match self.path {
            "/v1/messages" => use_tools(&serde_json::from_str(&said).unwrap()),
            _ => call_tools(&if self.stream { gathered(&said) } else { choice(&said) }),
        };
        self.tidy();
        assert_eq!(ids.len(), 2, "{answer}");
        self.seen.extend(ids);
        self.messages.push(message);
        self.messages.extend(results);
        answer.split("\r\n\r\n").next().unwrap().to_owned()
    }

    fn tidy(&mut self) {
        for message in self.messages.iter_mut().skip(1) {
            if message["role"] == "tool" {
                message["content"] = json!("[Old tool result content cleared]");
            }
            for block in message["content"].as_array_mut().into_iter().flatten() {
                if block["type"] == "tool_result" {
                    block["content"] = json!("[Old tool result content cleared]");
                }
            }
        }
        if self.reminds {
            let reminder = json!({"type": "text", "text": "<system-reminder>Your list is empty.</system-reminder>"});
            self.messages[0]["content"].as_array_mut().unwrap().push(reminder);
        }
    }
}

fn choice(said: &str) -> Value {
    let said: Value = serde_json::from_str(said).unwrap();
    said["choices"][0]["message"]["tool_calls"].clone()
}

/// The calls of a stream, each of which comes in one piece.
fn gathered(said: &str) -> Value {
    let chunks = said.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let calls = chunks.filter_map(|it| it["choices"][0]["delta"]["tool_calls"].as_array().cloned());
    let mut calls: Vec<Value> = calls.flatten().collect();
    calls.iter_mut().for_each(|call| drop(call.as_object_mut().unwrap().remove("index")));
    Value::Array(calls)
}

fn ids(calls: &Value) -> Vec<String> {
    let calls = calls.as_array().into_iter().flatten();
    calls.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect()
}

fn call_tools(calls: &Value) -> (Value, Vec<String>, Vec<Value>) {
    let ids = ids(calls);
    let result = |id: &String| json!({"role": "tool", "tool_call_id": id, "content": "a b c"});
    let results = ids.iter().map(result).collect();
    (json!({"role": "assistant", "content": null, "tool_calls": calls}), ids, results)
}

fn use_tools(said: &Value) -> (Value, Vec<String>, Vec<Value>) {
    let mut blocks = said["content"].clone();
    blocks.as_array_mut().unwrap().retain(|block| block["type"] == "tool_use");
    let ids = ids(&blocks);
    let result =
        |id: &String| json!({"type": "tool_result", "tool_use_id": id, "content": "a b c"});
    let results: Vec<Value> = ids.iter().map(result).collect();
    (
        json!({"role": "assistant", "content": blocks}),
        ids,
        vec![json!({"role": "user", "content": results})],
    )
}

fn config(upstream: &Upstream, contract: &str) -> String {
    let url = &upstream.url;
    format!(
        "{IN_A_FILE}[providers.mine]\nwire = \"chat-completions\"\nbase_url = \"{url}/v1\"\napi_key = \"k\"\n{contract}"
    )
}

const ALL: &str = "contract = { return = \"all\", field = \"reasoning_content\" }\n";

fn are_tickets(ids: &[String]) -> bool {
    ids.iter().all(|id| id.starts_with("tk_") && id.len() == 25)
}

#[test]
fn an_agent_that_tidies_up_gets_every_thought_back_and_the_server_sees_its_own_ids() {
    let upstream = strict();
    let place = Place::new("unlisted");
    let gateway = serve(&place, &config(&upstream, ALL));
    for (name, path, stream) in [
        ("plain", "/v1/chat/completions", false),
        ("piece", "/v1/chat/completions", true),
        ("claude", "/v1/messages", false),
    ] {
        let mut agent = Agent::new(name, path, stream);
        for round in 0..ROUNDS {
            let asked = agent.request();
            let head = agent.step(&gateway);
            let counts =
                format!("x-thinkthrough: restored={round}; missed=0; ambiguous=0; dropped=0;");
            assert!(head.contains(&counts), "{name} {round}: {head}");
            if path == "/v1/chat/completions" {
                assert_eq!(
                    upstream.last(),
                    mapped(&asked, &agent.seen, &upstream.last()),
                    "{name}"
                );
            }
        }
        assert!(are_tickets(&agent.seen), "{name}: {:?}", agent.seen);
        let mut distinct = agent.seen.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 2 * ROUNDS, "{name}");
        let request = place.write("request.json", &agent.request());
        let (config, from) = (place.file("config.toml"), ["--from", "messages"]);
        let from: &[&str] = if path == "/v1/messages" { &from } else { &[] };
        let args = ["explain", "--json", "--config", &config, "-m", "mine/m", "--tenant", "local"];
        let seen = place.think(&[&args[..], from, &[&request]].concat()).json();
        let answers = seen["answers"].as_array().unwrap();
        assert_eq!(answers.len(), ROUNDS, "{seen}");
        assert!(answers.iter().all(|it| it["outcome"] == "restored"), "{seen}");
        let sent = seen["body"].to_string();
        assert!(!sent.contains("tk_"), "{sent}");
        assert_eq!(sent.matches("\"call_0\"").count(), 2 * ROUNDS, "{sent}");
    }
}

/// The agent's request with the server's ids, and with the thoughts that went upstream.
fn mapped(asked: &str, seen: &[String], sent: &Value) -> Value {
    let mut asked = asked.to_owned();
    for (at, id) in seen.iter().enumerate() {
        asked = asked.replace(&format!("\"{id}\""), &format!("\"call_{}\"", at % 2));
    }
    let mut asked: Value = serde_json::from_str(&asked).unwrap();
    asked["model"] = json!("m");
    let messages = asked["messages"].as_array_mut().unwrap().iter_mut();
    for (message, sent) in messages.zip(sent["messages"].as_array().unwrap()) {
        if message["role"] == "assistant" {
            message["reasoning_content"] = sent["reasoning_content"].clone();
        }
    }
    asked
}

#[test]
fn a_server_whose_demand_was_learned_gets_its_ids_back_too() {
    let upstream = strict();
    let place = Place::new("unlisted-learned");
    let gateway = serve(&place, &config(&upstream, ""));
    let mut agent = Agent::new("learned", "/v1/chat/completions", true);
    // Its first answer came before the gateway learned the demand. It has no tickets, so that only
    // its history identifies it.
    agent.reminds = false;
    for round in 0..ROUNDS {
        let head = agent.step(&gateway);
        let counts = format!("x-thinkthrough: restored={round}; missed=0; ambiguous=0; dropped=0;");
        assert!(head.contains(&counts), "{round}: {head}");
    }
    assert_eq!(agent.seen[..2], ["call_0", "call_1"]);
    assert!(are_tickets(&agent.seen[2..]), "{:?}", agent.seen);
}

#[test]
fn where_nothing_goes_back_or_nothing_is_kept_ids_are_the_servers() {
    let upstream = strict();
    let place = Place::new("unlisted-plain");
    let gateway = serve(&place, &config(&upstream, ""));
    let request = Agent::new("never", "/v1/chat/completions", false).request();
    let answer = gateway.ask_in_time("/v1/chat/completions", &request);
    assert_eq!(ids(&choice(&body(&answer))), ["call_0", "call_1"], "{answer}");
    let other = Place::new("unlisted-off");
    let gateway = serve(&other, &config(&upstream, ALL));
    let request = Agent::new("nostore", "/v1/chat/completions", false).request();
    let header = "content-type: application/json\r\nx-thinkthrough-store: off\r\n";
    let answer = gateway.request_in_time("POST", "/v1/chat/completions", header, &request);
    assert_eq!(ids(&choice(&body(&answer))), ["call_0", "call_1"], "{answer}");
}
