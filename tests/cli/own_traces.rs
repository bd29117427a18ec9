//! The traces of `think ask`, `chat` and `acp`, as `think traces` finds them.

use crate::acp::{place as folder, simulated};
use crate::place::Place;
use crate::program::command;
use crate::pty::{PATIENCE, Pty};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::time::Instant;

/// A key in no known format. Only the configuration shows that it is a secret.
const OWN: &str = "mauve-otter-walks-4711-home";
/// A key in a known format. It is in two parts so that secret scanners ignore this file.
const AWS: [&str; 2] = ["AKIA", "Q3EGRX7TNM2VLPZW"];

fn provider(url: &str, more: &str) -> String {
    format!(
        "default_model = \"own/m\"\n[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"{OWN}\"\n{more}"
    )
}

/// All traces of this place, the latest first.
fn traces(place: &Place, config: &str) -> Vec<Value> {
    let list = place.think(&["traces", "list", "--json", "--config", config]);
    assert_eq!(list.code, Some(0), "{}", list.err);
    let all = list.json().as_array().unwrap().clone();
    let show = |row: &Value| {
        let id = row["id"].as_str().unwrap();
        place.think(&["traces", "show", id, "--json", "--config", config]).json()
    };
    all.iter().map(show).collect()
}

#[test]
fn ask_leaves_one_masked_trace_for_each_request_of_a_kept_conversation() {
    let place = Place::new("ask-traces");
    let thought = format!("First {}, and ours is {OWN}.", AWS.concat());
    let answers =
        vec![chat(&thought, "list", Some(7)), chat("Now I know.", "It is empty.", Some(3))];
    let upstream = Upstream::start(answers);
    let config = place.write("config.toml", &provider(&upstream.url, ""));
    let asked = ["--config", &config, "--json", "--continue", "What is here?"];
    let answer = place.ask(&asked).json();
    let all = traces(&place, &config);
    assert_eq!(all.len(), 2, "{all:?}");
    let (last, first) = (&all[0], &all[1]);
    assert_eq!(last["id"], answer["trace"]);
    assert_eq!(last["run_id"], first["run_id"]);
    for (column, value) in [
        ("session_key", answer["session"].clone()),
        ("model", json!("m")),
        ("provider", json!("own")),
        ("tenant", json!("local")),
        ("reasoning_text", json!("Now I know.")),
        ("response_text", json!("It is empty.")),
        ("state", json!("whole")),
        ("reasoning_tokens", json!(3)),
        ("input_tokens", json!(10)),
        ("output_tokens", json!(8)),
        ("total_tokens", json!(18)),
    ] {
        assert_eq!(last[column], value, "{column} in {last}");
    }
    assert_eq!(last["metadata"]["route"], "ask");
    // Why the request went out as it did: what became of the first answer's thought in it.
    assert_eq!(last["why"]["ways"], json!([{"provider": "own", "model": "m"}]), "{last}");
    assert_eq!(first["why"]["blocks"], json!([]), "{first}");
    let [block] = &last["why"]["blocks"].as_array().unwrap()[..] else { panic!("{last}") };
    let told = format!(
        "message 1, block 0: {}: {} [",
        block["action"].as_str().unwrap(),
        block["reason"].as_str().unwrap()
    );
    let id = last["id"].as_str().unwrap();
    let shown = place.think(&["traces", "show", id, "--config", &config]).out;
    assert!(shown.contains("\nwhy:\n") && shown.contains(&told), "{told}: {shown}");
    let masked = first["reasoning_text"].as_str().unwrap();
    assert!(masked.starts_with("First [masked:"), "{masked}");
    assert!(!masked.contains(AWS[1]) && !masked.contains(OWN), "{masked}");
    let found = place.think(&["traces", "search", "--json", "--config", &config, "Now", "know"]);
    assert!(found.out.contains(answer["trace"].as_str().unwrap()), "{}", found.out);

    // With a history file, questions leave no traces. A configuration can switch traces off, too.
    let history = place.file("talk.jsonl");
    let args = ["--config", &config, "--json", "--history", &history, "Again?"];
    assert_eq!(place.ask(&args).json()["trace"], Value::Null);
    let off = place.write("off.toml", &provider(&upstream.url, "[traces]\nenabled = false\n"));
    let answer = place.ask(&["--config", &off, "--json", "--continue", "Again?"]).json();
    assert_eq!(answer["trace"], Value::Null);
    assert_eq!(traces(&place, &config).len(), 2);
}

#[test]
fn a_question_alone_leaves_a_trace_and_no_conversation() {
    let place = Place::new("ask-alone");
    let upstream = Upstream::start(vec![chat("Is it blue?", "Yes.", Some(4))]);
    let usual = place.write("usual.toml", &provider(&upstream.url, ""));
    let store = "[store]\nurl = \"sqlite:named.db\"\n";
    let named = place.write("named.toml", &provider(&upstream.url, store));
    let ask =
        |config: &str| place.ask(&["--config", config, "--json", "--tools", "off", "Why?"]).json();
    // The configuration names no store, and the program makes none.
    assert_eq!(ask(&usual)["trace"], Value::Null);
    assert!(!place.home().join("thinkthrough").exists());
    each_leaves_one(&place, &named, &[ask(&named), ask(&named)]);
    // A stored conversation makes the store.
    assert_eq!(place.ask(&["--config", &usual, "--continue", "Why?"]).code, Some(0));
    let answers = [ask(&usual), ask(&usual)];
    let kept = place.think(&["sessions", "list", "--json", "--config", &usual]).json();
    let id = kept[0]["id"].as_str().unwrap();
    assert_eq!(place.think(&["sessions", "delete", "--yes", id, "--config", &usual]).code, Some(0));
    each_leaves_one(&place, &usual, &answers);
}

/// These two answers left a trace each, and no conversation.
fn each_leaves_one(place: &Place, config: &str, answers: &[Value; 2]) {
    let all = traces(place, config);
    let [second, first] = &all[..] else { panic!("{all:?}") };
    for (row, answer) in [first, second].into_iter().zip(answers) {
        assert_eq!((&row["id"], &answer["session"]), (&answer["trace"], &Value::Null));
        assert_eq!(
            (&row["reasoning_text"], &row["tenant"]),
            (&json!("Is it blue?"), &json!("local"))
        );
    }
    assert_ne!(first["session_key"], second["session_key"]);
    let kept = place.think(&["sessions", "list", "--json", "--config", config]);
    assert_eq!(kept.json(), json!([]));
}

#[test]
fn a_store_that_cannot_be_opened_keeps_nobody_from_an_answer() {
    let place = Place::new("ask-no-store");
    let upstream = Upstream::start(vec![chat("Is it blue?", "Yes.", Some(4))]);
    std::fs::write(place.file("no.db"), "This is no database, and stays as it is.").unwrap();
    let broken = provider(&upstream.url, "[store]\nurl = \"sqlite:no.db\"\n");
    let config = place.write("config.toml", &broken);
    let ran = place.ask(&["--config", &config, "--tools", "off", "Why?"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n"), "{}", ran.err);
    assert!(ran.err.contains("this leaves no trace: ") && ran.err.contains("no.db"), "{}", ran.err);
    // If traces are off, the program does not open the store.
    let config = place.write("off.toml", &(broken + "[traces]\nenabled = false\n"));
    let ran = place.ask(&["--config", &config, "--tools", "off", "Why?"]);
    assert!(ran.code == Some(0) && !ran.err.contains("trace"), "{}", ran.err);
}

#[test]
fn answers_that_break_off_and_requests_that_fail_leave_traces_too() {
    let place = Place::new("ask-failed-traces");
    let whole = chat("Half a thought", "and half", None);
    let cut: String = whole.split_inclusive("\n\n").take(2).collect();
    let upstream = Upstream::start(vec![cut]);
    let config = place.write("config.toml", &provider(&upstream.url, ""));
    let ran = place.ask(&["--config", &config, "--tools", "off", "--continue", "Why?"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let row = traces(&place, &config).remove(0);
    assert_eq!((&row["state"], &row["reasoning_text"]), (&json!("cut"), &json!("Half a thought")));
    let refusing =
        Upstream::answering(|_| json!({"error": {"message": "no such model"}}).to_string());
    let config = place.write("refusing.toml", &provider(&refusing.url, ""));
    let ran = place.ask(&["--config", &config, "--tools", "off", "--continue", "Why?"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let row = traces(&place, &config).remove(0);
    assert_eq!(row["state"], "failed", "{row}");
    assert!(row["metadata"]["error"].as_str().unwrap().contains("no such model"), "{row}");
    let way = json!({"provider": "own", "model": "m", "failed": "refused"});
    assert_eq!(row["why"]["ways"], json!([way]), "{row}");
}

#[test]
fn chat_and_editors_leave_traces_under_their_conversation() {
    let place = Place::new("chat-traces");
    let upstream = Upstream::start(vec![chat("A plain thought.", "A plain answer.", None)]);
    let config = place.write("config.toml", &provider(&upstream.url, ""));
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("Why?");
    pty.see("A plain answer.");
    // The trace is written when the turn has ended; a key before that would cut it off.
    let began = Instant::now();
    while traces(&place, &config).is_empty() {
        assert!(began.elapsed() < PATIENCE, "no trace comes:\n{}", pty.text());
    }
    pty.leave();
    let session = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    let row = traces(&place, &config).pop().unwrap();
    assert_eq!(row["session_key"], session[0]["id"]);
    assert_eq!((&row["metadata"]["route"], &row["state"]), (&json!("chat"), &json!("whole")));
    assert_eq!(row["reasoning_text"], "A plain thought.");
    let id = session[0]["id"].as_str().unwrap();
    let gone = place.think(&["sessions", "delete", "--yes", id, "--config", &config]);
    assert_eq!(gone.code, Some(0), "{}", gone.err);
    assert!(traces(&place, &config).is_empty(), "they go with their conversation");

    let home = folder("acp-traces");
    let mut editor = simulated(&home, &[]);
    editor.prompt("What is a zebra? Think first.");
    let (session, thought) = (editor.session.clone(), editor.told("agent_thought_chunk"));
    editor.end();
    let mut list = command(&["traces", "list", "--json", "--session", &session]);
    list.env("HOME", &home).env("XDG_DATA_HOME", &home).env("XDG_CONFIG_HOME", &home);
    let rows: Value = serde_json::from_slice(&list.output().unwrap().stdout).unwrap();
    assert!(!rows.as_array().unwrap().is_empty() && !thought.is_empty(), "{rows}");
    assert_eq!(rows[0]["provider"], "sim");
    std::fs::remove_dir_all(home).unwrap();
}

#[test]
fn reported_tokens_without_a_text_are_a_withheld_thought_everywhere() {
    let place = Place::new("withheld");
    let upstream = Upstream::start(vec![chat("", "Forty-two.", Some(400))]);
    let config = place.write("config.toml", &provider(&upstream.url, ""));
    let asked = place.ask(&["--config", &config, "--continue", "Why?"]);
    assert!(
        asked.err.contains("thinking: 400 tokens (the provider withheld the text)"),
        "{}",
        asked.err
    );
    let list = place.think(&["traces", "list", "--config", &config]);
    assert!(list.out.contains("thought, text withheld"), "{}", list.out);
    let sessions = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    let id = sessions[0]["id"].as_str().unwrap();
    let show = place.think(&["sessions", "show", id, "--config", &config]);
    let words = "The provider withheld the text of a thought of 400 tokens.";
    assert!(show.out.contains(words), "{}", show.out);
}
