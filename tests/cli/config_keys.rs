//! Keys of the configuration that no other test is about: each changes a byte on a wire, or whether
//! one goes out.

use crate::place::Place;
use crate::program::command;
use crate::serve_config::serve;
use crate::server::body;
use crate::upstream::{Upstream, chat, messages};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const OLD: &str = "the old thought";

/// A provider of the user's own at the upstream.
fn provider(upstream: &Upstream, extends: &str, more: &str) -> String {
    let url = &upstream.url;
    format!(
        "[providers.own]\nextends = \"{extends}\"\nbase_url = \"{url}\"\napi_key = \"k\"\n{more}\n"
    )
}

/// The requests under this contract, after an answer with a thought and one without, with these
/// arguments.
fn under(contract: &str, args: &[&str]) -> Vec<Value> {
    let place = Place::new("contract");
    let upstream = Upstream::start(vec![chat("", "fine", None)]);
    let contract = format!("contract = {{ {contract} }}");
    let config = place.write("config.toml", &provider(&upstream, "openai-compatible", &contract));
    let origin = json!({"provider": "own", "endpoint": upstream.url, "model": "m"});
    let said = |text: &str| json!({"speaker": "human", "blocks": [{"type": "text", "text": text}]});
    let thought = json!({"type": "thinking", "thought": OLD, "sourceField": "reasoning_content"});
    let text = json!({"type": "text", "text": "an answer"});
    let answer = |blocks: Value| json!({"speaker": "ai", "blocks": blocks, "origin": origin});
    let history = [said("one"), answer(json!([thought, text])), said("two"), answer(json!([text]))];
    let lines: Vec<_> = history.iter().map(Value::to_string).collect();
    let history = place.write("history.jsonl", &(lines.join("\n") + "\n"));
    let mut all = vec!["--config", &config, "-m", "own/m", "--tools", "off", "--history", &history];
    all.extend_from_slice(args);
    all.push("three");
    let ran = place.ask(&all);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    upstream.last()["messages"].as_array().unwrap().clone()
}

#[test]
fn contract_field_is_where_thoughts_go() {
    let usual = &under("return = \"all\"", &[])[1];
    assert_eq!((&usual["reasoning_content"], &usual["reasoning"]), (&json!(OLD), &Value::Null));
    let named = &under("return = \"all\", field = \"reasoning\"", &[])[1];
    assert_eq!((&named["reasoning_content"], &named["reasoning"]), (&Value::Null, &json!(OLD)));
}

#[test]
fn contract_required_is_stronger_than_a_stripped_history() {
    let strip = ["--set", "reasoning.stripFromContext=all"];
    let wanted = &under("return = \"all\", field = \"reasoning_content\"", &strip)[1];
    assert_eq!(wanted["reasoning_content"], Value::Null);
    let demanded = "return = \"all\", required = true, field = \"reasoning_content\"";
    assert_eq!(under(demanded, &strip)[1]["reasoning_content"], OLD);
}

#[test]
fn contract_empty_stands_where_an_answer_had_no_thought() {
    let without = "return = \"all\", required = true, field = \"reasoning_content\"";
    assert!(under(without, &[])[3].get("reasoning_content").is_none());
    for empty in ["", " "] {
        let with = format!("{without}, empty = \"{empty}\"");
        assert_eq!(under(&with, &[])[3]["reasoning_content"], empty);
    }
}

#[test]
fn presets_set_unlimited_lifts_the_configured_cap() {
    let place = Place::new("cap");
    let upstream = Upstream::start(vec![messages()]);
    let budget = |rows: &str, args: &[&str]| {
        let config = place.write("config.toml", &provider(&upstream, "anthropic", rows));
        let mut all = vec!["--config", &config, "-m", "own/claude-sonnet-4-5", "--tools", "off"];
        all.extend_from_slice(args);
        all.push("hi");
        let ran = place.ask(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        upstream.last()["thinking"]["budget_tokens"].as_u64()
    };
    let cap = "[reasoning]\nmaxTokens = 4096";
    assert_eq!(budget(cap, &[]), Some(4096));
    let lifted = budget(cap, &["--set", "reasoning.maxTokens=unlimited"]);
    assert_ne!(lifted, Some(4096));
    assert_eq!(lifted, budget("", &[]), "it is asked as if nothing were configured");
}

/// The notes of a loop of two requests with 600 reasoning tokens each.
fn notes(budget: &str) -> Vec<String> {
    let place = Place::new("old-names");
    let upstream = Upstream::start(vec![
        chat("look first", "list", Some(600)),
        chat("now I know", "done", Some(600)),
    ]);
    let rows = provider(&upstream, "deepseek", &format!("[budget]\n{budget}"));
    let config = place.write("config.toml", &rows);
    let ran = place.ask(&["--config", &config, "-m", "own/deepseek-v4", "What is here?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let notes = ran.err.lines().filter(|line| line.starts_with("note:"));
    notes.map(str::to_owned).collect()
}

#[test]
fn adr_budget_the_old_names_of_its_keys_are_read() {
    let spent = |spent: u32, of: u32, percent: u32, more: &str| {
        format!(
            "note: {spent} of the session's {of} reasoning tokens are spent ({percent} %, reported){more}"
        )
    };
    let held = "; nothing is held back";
    assert_eq!(
        notes("maxReasoningTokensPerSession = 1000"),
        [spent(1200, 1000, 120, ""), spent(1200, 1000, 120, held)],
        "600 are not 80 %"
    );
    assert_eq!(
        notes("maxReasoningTokensPerSession = 1000\nwarningThresholdPercent = 50"),
        [spent(600, 1000, 60, ""), spent(1200, 1000, 120, held)]
    );
    assert_eq!(notes("maxReasoningTokensPerSession = 0"), [""; 0], "0 is no limit");
}

#[test]
fn limits_tokens_per_minute_make_the_next_request_wait() {
    let place = Place::new("tokens-per-minute");
    let upstream = Upstream::start(vec![chat("", "list", Some(600)), chat("", "done", Some(600))]);
    let limits = "limits = { tokens_per_minute = 300 }";
    let config = place.write("config.toml", &provider(&upstream, "deepseek", limits));
    let mut child =
        command(&["ask", "--config", &config, "-m", "own/deepseek-v4", "What is here?"])
            .env("HOME", place.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let waits = lines.find_map(|line| line.ok().filter(|line| line.contains("per minute")));
    child.kill().unwrap();
    child.wait().unwrap();
    let waits = waits.expect("the second request waits");
    assert!(waits.starts_with("note: the limit of 300 tokens per minute is reached"), "{waits}");
    assert_eq!(upstream.bodies().len(), 1);
}

/// Asks twice through a gateway with these keys on its model. Returns the first answer as the
/// client sees it, and the messages of the second request, in which the client sends the result of
/// a call without the thought. `first` is the text that the client then has for its first message.
fn through_gateway(name: &str, model: &str, first: &str) -> (String, Vec<Value>) {
    let place = Place::new(name);
    let (calls, done) = (chat(OLD, "list", Some(9)), chat("", "done", Some(0)));
    let upstream = Upstream::answering(move |body| {
        if body.contains("\"role\":\"tool\"") { done.clone() } else { calls.clone() }
    });
    let model = format!("[models.m]\nprovider = \"own\"\nmodel = \"deepseek-v4\"\n{model}\n");
    let gateway = serve(&place, &provider(&upstream, "deepseek", &model));
    let user = |text: &str| json!({"role": "user", "content": text});
    let ask = |messages: Vec<Value>| {
        let asked = json!({"model": "m", "stream": true, "messages": messages});
        let headers =
            "authorization: Bearer key\r\ncontent-type: application/json\r\nx-session-id: s\r\n";
        let path = "/v1/chat/completions";
        let answer = gateway.request_in_time("POST", path, headers, &asked.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        body(&answer)
    };
    let said = json!({"role": "assistant", "content": "an answer"});
    let seen = ask(vec![user("one"), said.clone(), user("two")]);
    let function = json!({"name": "list", "arguments": "{}"});
    let call = json!({"id": "c1", "type": "function", "function": function});
    let called = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "needle.txt"});
    ask(vec![user(first), said, user("two"), called, result]);
    let sent = upstream.last()["messages"].as_array().unwrap().clone();
    (seen, sent)
}

#[test]
fn models_restore_and_dry_run_say_whether_thoughts_are_put_back() {
    for (name, model, thought) in [
        ("restore-usual", "", json!(OLD)),
        ("restore-never", "restore = \"never\"", Value::Null),
        ("restore-dry", "dry_run = true", Value::Null),
    ] {
        let (_, sent) = through_gateway(name, model, "one");
        assert_eq!(sent[3]["reasoning_content"], thought, "{name}: {sent:?}");
    }
}

#[test]
fn models_view_says_where_the_client_sees_thoughts() {
    for (view, shown) in [
        ("native", Some(format!("\"reasoning_content\":\"{OLD}\""))),
        ("reasoning", Some(format!("\"reasoning\":\"{OLD}\""))),
        ("think_tags", Some(format!("\"content\":\"{OLD}\""))),
        ("hidden", None),
    ] {
        let model = format!("view = \"{view}\"");
        let (seen, sent) = through_gateway(&format!("view-{view}"), &model, "one");
        match shown {
            Some(shown) => {
                assert!(seen.contains(&shown), "{view}: {seen}");
                assert_eq!(seen.contains("<think>"), view == "think_tags", "{seen}");
            }
            None => assert!(!seen.contains(OLD), "{view}: {seen}"),
        }
        assert_eq!(sent[3]["reasoning_content"], OLD, "{view}: what is shown is not what is sent");
    }
}

#[test]
fn contract_level_says_what_counts_as_the_same_answer() {
    let contract = |level: &str| {
        format!(
            "contract = {{ return = \"tool-calls\", required = true, field = \"reasoning_content\", level = \"{level}\" }}"
        )
    };
    for (level, first, thought) in [
        ("chain", "one", json!(OLD)),
        ("tail", "one", json!(OLD)),
        // No id of this server was drawn at random.
        ("ticket", "one", Value::Null),
        // The client changed its first message.
        ("chain", "ONE", Value::Null),
    ] {
        let name = format!("level-{level}-{first}");
        let (_, sent) = through_gateway(&name, &contract(level), first);
        assert_eq!(sent[3]["reasoning_content"], thought, "{name}: {sent:?}");
    }
}

#[test]
fn contract_told_says_where_an_answer_is_told_whose_thought_nobody_has() {
    // No id of this server was drawn at random, so that the thought is not found.
    let demanded = "return = \"tool-calls\", required = true, field = \"reasoning_content\", level = \"ticket\"";
    let gave = "The tool `list` gave:\n> needle.txt";
    let in_message = format!("You used the tool `list` with {{}}.\n\n{gave}");
    for (told, last) in [
        ("in-answer", vec![("assistant", "I used the tool `list` with {}."), ("user", gave)]),
        ("in-user-message", vec![("user", in_message.as_str())]),
    ] {
        let contract = format!("contract = {{ {demanded}, told = \"{told}\" }}");
        let (_, sent) = through_gateway(&format!("told-{told}"), &contract, "one");
        let last: Vec<_> =
            last.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        assert_eq!(sent[3..], last, "{told}");
    }
    let contract = format!("contract = {{ {demanded}, told = \"never\" }}");
    let (_, sent) = through_gateway("told-never", &contract, "one");
    assert_eq!((&sent[3]["tool_calls"][0]["id"], &sent[4]["role"]), (&json!("c1"), &json!("tool")));
}
