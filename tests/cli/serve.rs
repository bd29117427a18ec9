//! `think serve`, over real sockets.

use crate::place::Place;
use crate::program::think;
use crate::server::{Server, body};
use serde_json::{Value, json};

/// The wires of the APIs, in the order of their questions.
const WIRES: [&str; 5] =
    ["chat-completions", "responses", "messages", "generate-content", "ollama-chat"];

/// The path and the body of one question in each API.
fn questions(model: &str, stream: bool) -> [(String, Value); 5] {
    let said = json!([{"role": "user", "content": "what is a zebra"}]);
    let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    [
        (
            "/v1/chat/completions".into(),
            json!({"model": model, "stream": stream, "messages": said}),
        ),
        (
            "/v1/responses".into(),
            json!({"model": model, "stream": stream, "input": "what is a zebra"}),
        ),
        (
            "/v1/messages".into(),
            json!({"model": model, "stream": stream, "max_tokens": 2000, "messages": said}),
        ),
        (
            format!("/v1beta/models/{model}:{verb}"),
            json!({"contents": [{"role": "user", "parts": [{"text": "what is a zebra"}]}]}),
        ),
        ("/api/chat".into(), json!({"model": model, "stream": stream, "messages": said})),
    ]
}

#[test]
fn every_api_reaches_every_model_with_its_thoughts() {
    let gateway = Server::start("serve", &[]);
    for model in
        ["kimi-k2", "anthropic-manual", "gemini-3", "responses-stateless", "mistral", "groq"]
    {
        for stream in [false, true] {
            let questions = questions(&format!("sim/{model}"), stream);
            for ((path, question), wire) in questions.into_iter().zip(WIRES) {
                let answer = gateway.ask(&path, &question.to_string());
                assert!(answer.starts_with("HTTP/1.1 200"), "{model} {path}: {answer}");
                let read = think(&["parse", "--wire", wire], body(&answer).as_bytes()).json();
                assert!(read["text"].as_str().unwrap().contains("zebra"), "{model} {path}: {read}");
                assert_eq!(read["problems"], json!([]), "{model} {path}: {answer}");
                // The question asks for no thought, so that only models that always show one do so.
                let thinks = ["kimi-k2", "groq"].contains(&model);
                let is_first = read["blocks"][0]["type"] == "thinking";
                assert!(is_first || !thinks, "{model} {path}: {read}");
                let header = "x-thinkthrough: restored=0; missed=0; ambiguous=0; dropped=0; trace=";
                assert!(answer.contains(header), "{model} {path}: {answer}");
            }
        }
    }
}

#[test]
fn translation_asks_for_no_thoughts_that_the_caller_did_not_ask_for() {
    let gateway = Server::start("serve", &[]);
    let ask = |question: &Value| {
        let answer = gateway.ask("/v1/chat/completions", &question.to_string());
        let read = think(&["parse", "--wire", "chat-completions"], body(&answer).as_bytes()).json();
        read["blocks"][0]["type"].as_str().unwrap().to_owned()
    };
    let said = json!([{"role": "user", "content": "what is a zebra"}]);
    let plain = json!({"model": "sim/anthropic-manual", "messages": said});
    assert_eq!(ask(&plain), "text");
    let asked =
        json!({"model": "sim/anthropic-manual", "messages": said, "reasoning_effort": "high"});
    assert_eq!(ask(&asked), "thinking");
}

#[test]
fn what_stays_on_its_wire_stays_as_it_is() {
    let sim = Server::start("sim", &[]);
    let place = Place::new("stays");
    let text = format!(
        "[providers.there]\nextends = \"moonshotai\"\nbase_url = \"http://{}/kimi-k2/v1\"\napi_key = \"mine\"\n\
         [models.kimi-k2-thinking]\nprovider = \"there\"\n",
        sim.addr
    );
    let config = place.write("config.toml", &text);
    let gateway = Server::start("serve", &["--config", &config]);
    for stream in [false, true] {
        let (_, mut question) = questions("kimi-k2-thinking", stream)[0].clone();
        let direct = sim.ask("/kimi-k2/v1/chat/completions", &question.to_string());
        // The answer has the name that was asked for, and all else byte for byte.
        for name in ["kimi-k2-thinking", "there/kimi-k2-thinking"] {
            question["model"] = json!(name);
            let relayed = gateway.ask("/v1/chat/completions", &question.to_string());
            let expected = body(&direct)
                .replace("\"model\":\"kimi-k2-thinking\"", &format!("\"model\":\"{name}\""));
            assert_eq!(expected, body(&relayed));
        }
    }
}

#[test]
fn errors_come_in_the_callers_own_form() {
    let gateway = Server::start("serve", &[]);
    let chat = gateway.ask("/v1/chat/completions", r#"{"model":"nobody","messages":[]}"#);
    assert!(chat.starts_with("HTTP/1.1 404"), "{chat}");
    let error: Value = serde_json::from_str(&body(&chat)).unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("`nobody`"), "{error}");
    let messages =
        gateway.ask("/v1/messages", r#"{"model":"nobody","max_tokens":1,"messages":[]}"#);
    let error: Value = serde_json::from_str(&body(&messages)).unwrap();
    assert_eq!(error["type"], "error");
    let steered =
        gateway.ask("/v1/chat/completions", r#"{"model":"sim/groq","api_base":"http://trap"}"#);
    assert!(steered.starts_with("HTTP/1.1 400") && steered.contains("api_base"), "{steered}");
}

#[test]
fn t_25_other_hosts_and_foreign_pages_are_turned_away() {
    let gateway = Server::start("serve", &[]);
    for path in ["/v1/models", "/metrics", "/livez", "/"] {
        let answer = gateway.request("GET", path, "host: evil.example\r\n", "");
        assert!(answer.starts_with("HTTP/1.1 421"), "{path}: {answer}");
    }
    let origin = "origin: https://evil.example\r\ncontent-type: text/plain\r\n";
    let answer = gateway.request("POST", "/v1/chat/completions", origin, "{}");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn what_nobody_has_is_told_in_words_and_a_refusal_is_passed_on() {
    let gateway = Server::start("serve", &[]);
    // No store has the thought of an answer that this gateway never saw.
    let call =
        json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let question = json!({"model": "sim/kimi-k2", "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": call},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]});
    let question = question.to_string();
    let answer = gateway.ask("/v1/chat/completions", &question);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("flattened=1"), "{answer}");
    assert!(answer.contains("x-thinkthrough: restored=0; missed=1;"), "{answer}");
    let greedy =
        json!({"model": "sim/kimi-k2", "n": 6, "messages": [{"role": "user", "content": "x"}]});
    let answer = gateway.ask("/v1/chat/completions", &greedy.to_string());
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("n must be between 1 and 5, got 6."), "{answer}");
}

/// The first model lists, the second one reads, and the first one answers, with its own earlier
/// thought and thinking on.
#[test]
fn a_client_that_changes_models_in_mid_loop_and_back_goes_on_with_thoughts() {
    let gateway = Server::start("serve", &[]);
    for (one, other) in [("deepseek-v4", "kimi-k2"), ("kimi-k2", "deepseek-v4"), ("mimo", "groq")] {
        let model = |name: &str| format!("\"model\":\"sim/{name}\"");
        let answers = naive_rounds(&format!("sim/{one}"), |round, request| {
            let request = match round {
                1 => request.replace(&model(one), &model(other)),
                _ => request.to_owned(),
            };
            gateway.ask_in_time("/v1/chat/completions", &request)
        });
        assert_eq!(answers.len(), 4, "{}", answers.last().unwrap());
        for (answer, restored) in answers.iter().skip(2).zip(1..) {
            let header = format!("x-thinkthrough: restored={restored}; missed=0;");
            assert!(answer.contains(&header), "{one}: {answer}");
            assert!(answer.contains("; flattened=1"), "{one}: {answer}");
            assert!(!answer.contains("thinking=off"), "{one}: {answer}");
        }
    }
}

/// A tool loop of two rounds and a follow-up, by a client that drops thoughts. Returns the answer
/// to every request.
fn naive_loop(gateways: &[&Server]) -> Vec<String> {
    naive_rounds("sim/kimi-k2", |round, request| {
        gateways[round % gateways.len()].ask_in_time("/v1/chat/completions", request)
    })
}

/// Like [`naive_loop`], but `ask` chooses the gateway of each round.
pub(crate) fn naive_rounds(model: &str, mut ask: impl FnMut(usize, &str) -> String) -> Vec<String> {
    let tool = |name: &str| {
        json!({"type": "function", "function": {"name": name, "parameters":
            {"type": "object", "properties": {"path": {"type": "string"}}}}})
    };
    let question = "What is in this folder, and what does the readme say?";
    let mut messages = vec![json!({"role": "user", "content": question})];
    let mut answers = Vec::new();
    for round in 0..4 {
        let request =
            json!({"model": model, "messages": messages, "tools": [tool("list"), tool("read")]});
        let answer = ask(round, &request.to_string());
        answers.push(answer.clone());
        if !answer.starts_with("HTTP/1.1 200") {
            return answers;
        }
        let said: Value = serde_json::from_str(&body(&answer)).unwrap();
        let message = &said["choices"][0]["message"];
        let mut kept = json!({"role": "assistant", "content": message["content"]});
        if message["tool_calls"].is_array() {
            kept["tool_calls"] = message["tool_calls"].clone();
        }
        messages.push(kept);
        match message["tool_calls"][0]["id"].as_str() {
            Some(id) => messages
                .push(json!({"role": "tool", "tool_call_id": id, "content": "README.md src/"})),
            None => messages.push(json!({"role": "user", "content": "Thank you."})),
        }
    }
    answers
}

#[test]
fn a_naive_client_fails_alone_and_passes_through_the_gateway_restarts_included() {
    let sim = Server::start("sim", &[]);
    let ask = |_, request: &str| sim.ask("/kimi-k2/v1/chat/completions", request);
    let direct = naive_rounds("kimi-k2-thinking", ask).pop().unwrap();
    assert!(direct.starts_with("HTTP/1.1 400"), "{direct}");
    assert!(direct.contains("reasoning_content is missing"), "{direct}");

    let first = Server::start("serve", &[]);
    // Gateways that come and go and share a store are one.
    let second = first.beside("serve", &[]);
    let answers = naive_loop(&[&first, &second]);
    assert_eq!(answers.len(), 4, "{}", answers.last().unwrap());
    for (restored, answer) in answers.iter().enumerate() {
        let header =
            format!("x-thinkthrough: restored={restored}; missed=0; ambiguous=0; dropped=0;");
        assert!(answer.contains(&header), "{answer}");
    }
    // A killed one loses nothing.
    let third = first.beside("serve", &[]);
    drop((first.stop(), second.stop()));
    let answers = naive_loop(&[&third]);
    assert_eq!(answers.len(), 4);
}
