//! The tools of the built program: offers, permissions, and the environment of commands.

use crate::scripted::{Scripted, call};
use serde_json::json;
use std::fs;

const READERS: [&str; 3] = ["list_directory", "read_file", "search_files"];

#[test]
fn ask_offers_what_reads_and_refuses_what_would_have_to_ask() {
    let calls = json!([
        call("a", "shell", &json!({"command": "echo hello > made.txt"})),
        call("b", "read_file", &json!({"path": "../outside.txt"})),
        call("c", "read_file", &json!({"path": "notes.md"})),
    ]);
    let script = Scripted::new("reads", vec![calls, json!("done")], "");
    let ran = script.ask();
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
    assert_eq!(script.offered(0), READERS);
    let results = script.results();
    assert!(results[0].contains("nobody is there to give one"), "{results:?}");
    assert!(results[1].contains("outside the working folder"), "{results:?}");
    assert_eq!(results[2], "First line\nA needle here\n");
    assert!(!script.path("work/made.txt").exists());
    assert!(!format!("{results:?}").contains("the outside secret"));
}

#[test]
fn what_the_configuration_allows_is_offered_and_done_without_secrets() {
    let calls = json!([
        call(
            "a",
            "edit_file",
            &json!({"path": "notes.md", "old_text": "needle", "new_text": "pin"})
        ),
        call("b", "shell", &json!({"command": "env; exit 3"})),
    ]);
    let allow = "[tools.edit_file]\npermission = \"allow\"\n[tools.shell]\npermission = \"allow\"\n\
                 [tools.search_files]\npermission = \"deny\"\n";
    let script = Scripted::new("allows", vec![calls, json!("done")], allow);
    let ran = script.ask();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(script.offered(0), ["list_directory", "read_file", "edit_file", "shell"]);
    assert_eq!(
        fs::read_to_string(script.path("work/notes.md")).unwrap(),
        "First line\nA pin here\n"
    );
    let results = script.results();
    assert!(results[0].contains("-A needle here\n+A pin here\n"), "{}", results[0]);
    assert!(results[1].contains("TERM=dumb") && results[1].ends_with("[exit status: 3]"));
    assert!(!results[1].contains("canary"), "{}", results[1]);
}

#[test]
fn calls_of_one_answer_run_at_once() {
    // Each waits for the other's file.
    let shell = |id, mine: &str, other: &str| {
        let command =
            format!("touch {mine}; until [ -e {other} ]; do sleep 0.02; done; echo {mine}");
        call(id, "shell", &json!({"command": command, "timeout_seconds": 60}))
    };
    let calls = json!([shell("a", "one", "two"), shell("b", "two", "one")]);
    let allow = "[tools.shell]\npermission = \"allow\"\n";
    let script = Scripted::new("parallel", vec![calls, json!("done")], allow);
    assert_eq!(script.ask().code, Some(0));
    assert_eq!(script.results(), ["one\n", "two\n"]);
}

#[test]
fn a_permission_for_a_tool_that_is_none_is_refused() {
    let script = Scripted::new("typo", Vec::new(), "[tools.shel]\npermission = \"deny\"\n");
    let ran = script.ask();
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("`tools.shel` is no tool; there are"), "{}", ran.err);
}
