//! `think ask --history` and `--continue`: a question is not sent if it cannot be stored, and an
//! interrupted answer is stored.

use crate::place::Place;
use crate::pty::paced::Paced;
use crate::upstream::{Upstream, chat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

fn provider(url: &str) -> String {
    format!(
        "default_model = \"own/m\"\n[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
    )
}

#[test]
fn a_history_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let place = Place::new("history-nowhere");
    let upstream = Upstream::start(vec![chat("", "fine", None)]);
    let config = place.write("config.toml", &provider(&upstream.url));
    let dangling = place.home().join("dangling.jsonl");
    std::os::unix::fs::symlink("/nowhere/at/all", &dangling).unwrap();
    let beside_file = place.write("a-file", "");
    let mut cases = vec![
        place.file("no-folder/talk.jsonl"),
        place.folder().display().to_string(),
        dangling.display().to_string(),
        format!("{beside_file}/talk.jsonl"),
    ];
    let locked = place.home().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    // Root can write everywhere, so that this case does not apply.
    if fs::write(locked.join("try"), "").is_err() {
        cases.push(locked.join("talk.jsonl").display().to_string());
    }
    for file in cases {
        let ran = place.ask(&["--config", &config, "--tools", "off", "--history", &file, "hi"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{file}: {}", ran.err);
        assert!(ran.err.contains("cannot use the history file"), "{}", ran.err);
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(upstream.bodies().is_empty(), "nothing went out");
}

/// Asks with these arguments. Ctrl-C interrupts the answer.
fn interrupted(place: &Place, paced: &Paced, args: &[&str]) -> Child {
    let config = place.write("config.toml", &provider(paced.url()));
    let all = [&["ask", "--config", &config, "--tools", "off"], args, &["Why?"]].concat();
    let mut command = place.command(&all);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    paced.asked(1);
    paced.think("half a thought");
    paced.say("half an ans");
    let mut seen = [0; 5];
    if !args.contains(&"--json") {
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut seen).unwrap();
    } else {
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child
}

#[test]
fn ctrl_c_keeps_what_came_in_the_history_and_the_conversation_goes_on() {
    let place = Place::new("history-interrupted");
    let paced = Paced::start();
    let history = place.file("talk.jsonl");
    let child = interrupted(&place, &paced, &["--history", &history]);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    paced.left(1);
    let lines = fs::read_to_string(&history).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), lines[0]["partial"].as_bool()), (2, None), "{lines:?}");
    assert_eq!(lines[1]["partial"], true);
    assert_eq!(lines[1]["blocks"][0]["thought"], "half a thought");
    assert_eq!(lines[1]["blocks"][1]["text"], "half an ans");
    assert!(err.contains("what came is kept"), "{err}");
    let upstream = Upstream::start(vec![chat("", "fine", None)]);
    let config = place.write("then.toml", &provider(&upstream.url));
    let ran = place.ask(&["--config", &config, "--tools", "off", "--history", &history, "Go on."]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(upstream.last()["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn ctrl_c_keeps_what_came_in_the_store() {
    let place = Place::new("session-interrupted");
    let paced = Paced::start();
    let child = interrupted(&place, &paced, &["--continue"]);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let list = place.think(&["sessions", "list", "--json"]).json();
    let shown = place.think(&["sessions", "show", "--json", list[0]["id"].as_str().unwrap()]);
    let contents = shown.json()["contents"].clone();
    assert_eq!(
        (&contents[1]["partial"], &contents[1]["blocks"][1]["text"]),
        (&Value::from(true), &Value::from("half an ans"))
    );
}

#[test]
fn ctrl_c_with_json_prints_what_came_and_with_nothing_kept_nothing_is() {
    let place = Place::new("json-interrupted");
    let paced = Paced::start();
    let child = interrupted(&place, &paced, &["--json"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["text"], "half an ans", "{json}");
    assert!(!place.home().join("thinkthrough").exists(), "nothing was to be kept");
}
