//! `think explain`: the target of a bare name, and with `--tenant` the thoughts that the gateway
//! would put back, with reasons.

use crate::place::Place;
use crate::program::command;
use crate::serve::naive_rounds;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

#[test]
fn explain_says_of_each_answer_what_the_vault_does_for_it() {
    let place = Place::new("explain-vault");
    let gateway = serve(&place, IN_A_FILE);
    let config = place.file("config.toml");
    let mut asked = Vec::new();
    naive_rounds("sim/kimi-k2", |_, request| {
        asked.push(request.to_owned());
        gateway.ask_in_time("/v1/chat/completions", request)
    });
    let request = place.write("request.json", &asked[2]);
    let with = |more: &[&str]| {
        let args = ["explain", "--json", "--config", &config, "-m", "sim/kimi-k2"];
        let args = [&args[..], more, &[&request]].concat();
        place.think(&args)
    };
    let blind = with(&[]).json();
    let outcomes: Vec<_> =
        blind["answers"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["missed", "missed"], "nothing is looked up: {blind}");
    assert!(blind["body"]["messages"][1]["reasoning_content"].is_null(), "{blind}");

    let seen = with(&["--tenant", "local"]).json();
    let reason = "it is known, and the client dropped it";
    for (answer, message) in seen["answers"].as_array().unwrap().iter().zip([1, 3]) {
        let found = &answer["evidence"][0];
        let expected = json!({"message": message, "outcome": "restored", "reason": reason,
            "setting": "contract", "evidence": [{"level": "ticket", "record": found["record"], "calls": 1,
            "anchored": true, "usable": true, "foreign": false}]});
        assert_eq!(*answer, expected, "{seen}");
        assert!(found["record"].as_str().is_some_and(|it| it.len() > 8), "{seen}");
    }
    assert_eq!(seen["answers"].as_array().map(Vec::len), Some(2), "{seen}");
    let is_restored = |it: &Value| it["action"] == "restore" && it["setting"] == "contract";
    assert_eq!(
        seen["decisions"].as_array().unwrap().iter().filter(|it| is_restored(it)).count(),
        2
    );
    for message in [1, 3] {
        let thought = &seen["body"]["messages"][message]["reasoning_content"];
        assert!(thought.as_str().is_some_and(|it| !it.is_empty()), "{seen}");
    }

    // The question before the answer differs, so that the answer and those after it match no
    // record.
    let other = asked[2].replace("What is in this folder", "What was in this folder");
    // Its call ids are no ids of the gateway either.
    let other = other.replace("tk_", "ck_");
    place.write("request.json", &other);
    let missed = with(&["--tenant", "local"]).json();
    let outcome = json!({"message": 1, "outcome": "missed", "reason": "no record of this answer was found",
            "setting": "contract", "evidence": []});
    assert_eq!(missed["answers"][0], outcome, "{missed}");
    let words = "the model demands a thought here, and no record of this answer was found; \
                 the answer and what its calls gave are told in words";
    let decision =
        json!({"message": 1, "block": 0, "action": "drop", "reason": words, "setting": "contract"});
    assert_eq!(missed["decisions"][0], decision, "{missed}");
    let text = ["explain", "--config", &config, "-m", "sim/kimi-k2", "--tenant", "local", &request];
    let told = place.think(&text).out;
    let line = "answer in message 1: missed, no record of this answer was found";
    assert!(told.lines().any(|it| it == line), "{told}");

    for _ in 0..2 {
        let nobody = with(&["--tenant", "nobody"]);
        assert_eq!(nobody.code, Some(1));
        assert!(nobody.err.contains("no tenant `nobody`"), "{}", nobody.err);
    }
    assert_eq!(with(&["--session", "s"]).code, Some(2));
}

#[test]
fn a_bare_name_goes_to_the_vendor_that_has_a_rule_and_an_address() {
    let home = std::env::temp_dir().join(format!("think-bare-{}", std::process::id()));
    for (model, keys, expected) in [
        ("claude-opus-5", &["AZURE_API_KEY", "ANTHROPIC_API_KEY"][..], "provider anthropic,"),
        (
            "claude-opus-6",
            &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
            "rule anthropic *claude-*, assumed",
        ),
        ("gpt-6.1-sol", &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], "rule openai gpt-6*"),
        ("grok-5", &["OPENAI_API_KEY", "XAI_API_KEY"], "rule xai grok-*, assumed"),
    ] {
        let mut command = command(&["explain", "-m", model]);
        command.env("XDG_CONFIG_HOME", &home).envs(keys.iter().map(|key| (key, "k")));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let body = br#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;
        child.stdin.take().unwrap().write_all(body).unwrap();
        let ran = child.wait_with_output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(out.contains(expected), "{model}: {out}{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn a_request_that_is_explained_for_a_model_needs_to_name_none() {
    let place = Place::new("explain-nameless");
    let question = json!([{"role": "user", "content": "go"}]);
    let input = json!({"input": "go"});
    let ollama = json!({"messages": question, "think": true});
    let messages = json!({"max_tokens": 9, "system": "s", "messages": question});
    for (body, model, at) in [
        (json!({ "messages": question }), "openai/gpt-6.1-sol", "/input"),
        (json!({ "messages": question }), "deepseek/deepseek-v4", "/messages"),
        (input, "openai/gpt-6.1-sol", "/input"),
        (ollama, "deepseek/deepseek-v4", "/messages"),
        (messages, "anthropic/claude-opus-5", "/messages"),
    ] {
        let request = place.write("request.json", &body.to_string());
        let shown = place.think(&["explain", "--json", "-m", model, &request]);
        assert_eq!(shown.code, Some(0), "{body}: {}", shown.err);
        let shown = shown.json();
        let name = model.split_once('/').map(|(_, name)| name);
        assert_eq!(shown["body"]["model"].as_str(), name, "{body}: {shown}");
        assert!(shown["body"].pointer(at).is_some_and(|it| !it.is_null()), "{body}: {shown}");
    }
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "go"}]}]}).to_string();
    let request = place.write("request.json", &contents);
    let shown = place.think(&["explain", "--json", "-m", "google/gemini-3.8-flash", &request]);
    assert!(shown.json()["body"].get("model").is_none(), "its address names it: {}", shown.out);
}
