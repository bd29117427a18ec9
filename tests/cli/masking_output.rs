//! The display of a conversation has no secrets, but the stored conversation and its requests have
//! them. Displays are standard output and error, JSON, events, and messages to an editor.

use crate::acp::Editor;
use crate::scripted::{Scripted, call};
use serde_json::{Value, json};
use std::process::Stdio;

const OFF: &str = "[masking]\noutput = false\n";

/// A key in a known format that belongs to no account.
fn key() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3))
}

/// A value from the environment that does not look like a secret.
const REGISTERED: &str = "correct horse/9 \"battery\"";

/// The registered value as it is, in hexadecimal digits, as an address has it, and in base64.
fn forms() -> [String; 4] {
    let hex = REGISTERED.bytes().map(|byte| format!("{byte:02x}")).collect();
    // Made with the program `base64`.
    let base64 = "Y29ycmVjdCBob3JzZS85ICJiYXR0ZXJ5Ig==".to_owned();
    [REGISTERED.to_owned(), hex, "correct%20horse%2F9%20%22battery%22".to_owned(), base64]
}

/// All secrets.
fn secrets() -> Vec<String> {
    // The last letters of base64 hold bits of what follows.
    forms()
        .into_iter()
        .map(|form| form.trim_end_matches("Ig==").to_owned())
        .chain([key()])
        .collect()
}

/// A model that reads a file with secrets, and then has them in its thought and its answer.
fn script(name: &str, config: &str) -> Scripted {
    let (key, said) = (key(), forms().join(" | "));
    let calls = json!([call("a", "read_file", &json!({"path": "notes.md", "why": key}))]);
    let answer = json!({"role": "assistant", "content": format!("It is {key} | {said} |"),
        "reasoning_content": format!("I read {key} | {said} |")});
    let script = Scripted::new(name, vec![calls, answer], config);
    std::fs::write(script.path("work/notes.md"), format!("it is {key} | {said} |\n")).unwrap();
    script
}

/// Standard output and standard error of a command.
fn shown(script: &Scripted, args: &[&str]) -> String {
    let mut command = script.command(args);
    command.env("ODD_TOKEN", REGISTERED).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

/// Checks that the provider received the tool's result byte for byte.
fn is_exact(script: &Scripted) {
    let expected = format!("it is {} | {} |\n", key(), forms().join(" | "));
    assert_eq!(script.results(), [expected]);
    let messages = script.last()["messages"].clone();
    let mut messages = messages.as_array().unwrap().iter();
    let calling = messages.find(|message| message["tool_calls"].is_array()).unwrap();
    let arguments = &calling["tool_calls"][0]["function"]["arguments"];
    assert!(arguments.as_str().unwrap().contains(&key()), "{arguments}");
}

#[test]
fn adr_boundaries_no_secret_that_a_tool_reads_or_a_model_says_is_put_out() {
    let ways: [&[&str]; 3] = [&[], &["--json"], &["--stream-json"]];
    for (at, way) in ways.into_iter().enumerate() {
        let covered = script("covered", "");
        let args = [&["ask", "--set", "reasoning.display=show", "Do it."], way].concat();
        let text = shown(&covered, &args);
        let found: Vec<String> =
            secrets().into_iter().filter(|secret| text.contains(secret)).collect();
        assert!(found.is_empty(), "{found:?} in {text}");
        assert!(text.contains("It is [masked:github-token:"), "{text}");
        assert!(text.contains("I read [masked:github-token:"), "{text}");
        // Every format shows the call. Only JSON shows its result.
        let least = if at == 0 { 2 * 5 + 1 } else { 3 * 5 + 1 };
        assert!(text.matches("[masked:").count() >= least, "{text}");
        for line in text.lines().filter(|line| line.starts_with('{')) {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        is_exact(&covered);
        let plain = script("plain", OFF);
        let text = shown(&plain, &args);
        assert!(text.contains(&format!("It is {}", key())), "{text}");
        assert!(text.contains(&format!("I read {}", key())), "{text}");
        assert!(!text.contains("[masked:"), "{text}");
        is_exact(&plain);
    }
}

#[test]
fn a_conversation_is_kept_as_it_was_and_shown_without_its_secrets() {
    let script = script("kept", "");
    shown(&script, &["ask", "--continue", &format!("Do it with {}.", key())]);
    let listed = shown(&script, &["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    for args in [
        vec!["sessions", "list"],
        vec!["sessions", "list", "--json"],
        vec!["sessions", "show", id],
        vec!["sessions", "show", id, "--json"],
        vec!["sessions", "search", "read"],
        vec!["sessions", "search", "--json", "read"],
    ] {
        let text = shown(&script, &args);
        let found: Vec<String> =
            secrets().into_iter().filter(|secret| text.contains(secret)).collect();
        assert!(found.is_empty() && text.contains("[masked:"), "{found:?} in {text}");
    }
    let exported = shown(&script, &["sessions", "export", id]);
    assert!(exported.contains(&key()), "{exported}");
}

#[test]
fn an_editor_is_shown_no_secret_now_nor_when_it_loads_the_session() {
    for (config, is_covered) in [("", true), (OFF, false)] {
        let script = script("editor", config);
        let mut command = script.command(&["acp"]);
        command.env("ODD_TOKEN", REGISTERED);
        let work = script.path("work");
        let mut editor = Editor::connect(command);
        let begun = editor.plain("session/new", &json!({"cwd": work, "mcpServers": []}));
        editor.session = begun["result"]["sessionId"].as_str().unwrap().to_owned();
        let ended = editor.prompt("Do it.");
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
        is_exact(&script);
        let session = editor.session.clone();
        let live = json!(editor.seen.split_off(0)).to_string();
        drop(editor);
        let mut command = script.command(&["acp"]);
        command.env("ODD_TOKEN", REGISTERED);
        let mut editor = Editor::connect(command);
        editor.load(&session, &work);
        let replayed = json!(editor.seen).to_string();
        for text in [live, replayed] {
            assert_eq!(!text.contains(&key()), is_covered, "{text}");
            assert_eq!(text.contains("It is [masked:github-token:"), is_covered, "{text}");
            let found = secrets().into_iter().any(|secret| text.contains(&secret));
            assert_eq!(!found, is_covered, "{text}");
        }
    }
}
