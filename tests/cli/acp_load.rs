//! Conversations that an editor loads in another process.

use crate::acp::{Editor, acp, kept, place, scripted, simulated};
use crate::scripted::call;
use crate::server::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// The updates of a session as an editor shows them. Successive chunks of one kind are joined.
fn shown(seen: &[Value]) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for line in seen.iter().filter(|line| line["method"] == "session/update") {
        let update = &line["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap();
        let text = match kind {
            "tool_call" => format!("{} {}", update["kind"], update["title"]),
            // Only the live session has updates of running calls.
            "tool_call_update" if update["status"] == "in_progress" => continue,
            "tool_call_update" => format!("{} {}", update["status"], update["content"]),
            _ => update["content"]["text"].as_str().unwrap().to_owned(),
        };
        // A note about the session is no part of it.
        if text.contains("_taken up: ") {
            continue;
        }
        match shown.last_mut() {
            Some((last, before)) if last == kind && kind.ends_with("_chunk") => {
                before.push_str(&text);
            }
            _ => shown.push((kind.to_owned(), text)),
        }
    }
    shown
}

#[test]
fn a_kept_session_is_told_again_with_its_thoughts_and_goes_on() {
    let folder = place("load");
    let question = "What is in this folder? Think first.";
    let mut editor = simulated(&folder, &[]);
    assert!(kept(&folder).is_empty(), "a session in which nothing was said leaves nothing");
    editor.prompt(question);
    let live = shown(&editor.seen);
    assert!(live.iter().any(|(kind, _)| kind == "agent_thought_chunk"), "{live:?}");
    let session = editor.session.clone();
    editor.end();
    let conversation = kept(&folder);
    assert_eq!(conversation[0]["id"], session);
    assert_eq!(conversation[0]["title"], question);
    assert_eq!(conversation[0]["model"], "sim/kimi-k2");

    // Another process, which names no model: the conversation goes on with its own.
    let mut editor = Editor::connect(acp(&folder, &[]));
    let reply = editor.load(&session, &folder);
    assert_eq!(reply["result"]["modes"]["currentModeId"], "ask", "{reply}");
    assert!(reply["result"]["configOptions"].is_array(), "{reply}");
    assert!(editor.told("agent_message_chunk").ends_with("\n_taken up: sim/kimi-k2_\n\n"));
    let mut expected = vec![("user_message_chunk".to_owned(), question.to_owned())];
    expected.extend(live);
    assert_eq!(shown(&editor.seen), expected);
    let of_past = editor.updates("tool_call").last().unwrap()["toolCallId"].clone();
    let reply = editor.prompt("Read needle.txt: what does it say?");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(editor.told("agent_message_chunk").contains("the needle is blue"));
    assert_ne!(editor.updates("tool_call").last().unwrap()["toolCallId"], of_past);
    // The same process may load it once more.
    let all = shown(&editor.seen);
    editor.seen.clear();
    editor.load(&session, &folder);
    let second = ("user_message_chunk".to_owned(), "Read needle.txt: what does it say?".to_owned());
    let again = shown(&editor.seen);
    assert!(again.contains(&second), "{again:?}");
    assert_eq!(
        again.iter().filter(|it| **it != second).collect::<Vec<_>>(),
        all.iter().collect::<Vec<_>>()
    );
    editor.end();
    assert_eq!(kept(&folder)[0]["model"], "sim/kimi-k2");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn thoughts_that_are_not_to_be_shown_are_not_told_again_either() {
    let folder = place("load-hidden");
    let mut editor = simulated(&folder, &[]);
    editor.prompt("What is in this folder? Think first.");
    let (session, thought) = (editor.session.clone(), editor.told("agent_thought_chunk"));
    editor.end();
    for setting in ["reasoning.includeInResponse=false", "reasoning.display=off"] {
        let mut editor = Editor::connect(acp(&folder, &["--set", setting]));
        editor.load(&session, &folder);
        assert!(editor.told("agent_message_chunk").contains("needle.txt"), "{setting}");
        let all = Value::from(editor.seen.clone()).to_string();
        assert!(!all.contains("agent_thought_chunk"), "{setting}: {all}");
        assert!(!all.contains(thought.lines().next().unwrap()), "{setting}: {all}");
        editor.end();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let slow = json!([call("a", "shell", &json!({"command": "sleep 600"}))]);
    let (script, mut editor) = scripted("acp-load", vec![slow]);
    let work = script.path("work");
    for (params, code, why) in [
        (
            json!({"sessionId": "0000000000000000", "cwd": work, "mcpServers": []}),
            -32002,
            "there is no kept session `0000000000000000`",
        ),
        (json!({"sessionId": "../x", "cwd": work}), -32002, "there is no kept session `../x`"),
        // The session is open but empty, so that it is not stored.
        (json!({"sessionId": editor.session, "cwd": work}), -32002, "there is no kept session `"),
    ] {
        let reply = editor.plain("session/load", &params);
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().starts_with(why), "{reply}");
    }
    editor.answers = vec![("execute", "once")];
    editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": "Wait."}]}));
    editor.until(|line| line["params"]["update"]["status"] == "in_progress");
    let (session, folder) = (editor.session.clone(), work.clone());
    let reply = editor.load(&session, &folder);
    assert!(reply["error"]["message"].as_str().unwrap().contains("being answered"), "{reply}");

    // The editor kills the program in the middle of a turn. The part that was stored by then is
    // still there.
    let began = Instant::now();
    while kept(&script.path("")).first().is_none_or(|it| it["messages"] != 3) {
        assert!(began.elapsed() < PATIENCE, "the instructions, the question and the call are kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    editor.kill();
    let mut editor = Editor::connect(script.command(&["acp"]));
    let reply = editor.load(&session, std::path::Path::new("here"));
    assert!(reply["error"]["message"].as_str().unwrap().contains("absolute path"), "{reply}");
    let reply = editor.load(&session, &work);
    assert!(reply["result"].is_object(), "{reply}");
    assert_eq!(editor.told("user_message_chunk"), "Wait.");
    let call = editor.updates("tool_call")[0].clone();
    assert_eq!(call["title"], "run `sleep 600`");
    let end = (*editor.updates("tool_call_update").last().unwrap()).clone();
    assert_eq!((&end["toolCallId"], &end["status"]), (&call["toolCallId"], &json!("failed")));
    editor.end();
}

#[test]
fn thoughts_of_one_answer_stay_apart_live_and_when_they_are_loaded() {
    let entry = |text: &str, id: &str| json!({"type": "reasoning.text", "text": text, "id": id, "index": id});
    let details = json!([entry("First.", "a"), entry("Second.", "b")]);
    let message = json!({"role": "assistant", "reasoning_details": details, "content": "Done."});
    let (script, mut editor) = scripted("acp-apart", vec![message]);
    editor.prompt("Do it.");
    let apart = "First.\n\nSecond.";
    assert_eq!(editor.told("agent_thought_chunk"), apart);
    let session = editor.session.clone();
    editor.end();
    let mut editor = Editor::connect(script.command(&["acp"]));
    editor.load(&session, &script.path("work"));
    assert_eq!(editor.told("agent_thought_chunk"), apart, "loaded");
    editor.end();
}
