//! A prompt that the editor cancels. The answer so far is stored, exactly as in an interrupted
//! chat.

use crate::acp::Editor;
use crate::place::Place;
use crate::program::command;
use crate::pty::paced::Paced;
use crate::pty::{ESC, Pty};
use serde_json::{Value, json};

/// How far an answer comes before it is interrupted.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    Thought,
    Answer,
}

impl Stage {
    /// Sends the answer up to this stage. Returns the last text that the client sees.
    fn say(self, paced: &Paced) -> Option<&'static str> {
        let thought = "half a thou!";
        match self {
            Stage::Nothing => None,
            Stage::Thought => {
                paced.think(thought);
                Some(thought)
            }
            Stage::Answer => {
                paced.think("a whole thought");
                paced.say("half an answ!");
                Some("half an answ!")
            }
        }
    }
}

/// Whether the line has a beginning of the text. Last letters that could begin a secret are sent
/// later.
fn begins(line: &Value, text: &str) -> bool {
    let told = line["params"]["update"]["content"]["text"].as_str();
    told.is_some_and(|told| !told.is_empty() && text.starts_with(told))
}

/// The stored messages of the only conversation, without durations.
fn kept(place: &Place, config: &str) -> Value {
    let list = place.think(&["sessions", "list", "--json", "--config", config]).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let id = list[0]["id"].as_str().unwrap();
    let shown = place.think(&["sessions", "show", id, "--json", "--config", config]).json();
    without_times(shown["contents"].clone())
}

fn without_times(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_times).collect(),
        Value::Object(members) => {
            let members = members.into_iter().filter(|(key, _)| key != "durationMs");
            Value::Object(members.map(|(key, it)| (key, without_times(it))).collect())
        }
        other => other,
    }
}

/// Interrupts a chat at this stage. Returns its stored messages, and those of its next request.
fn chat(stage: Stage) -> (Value, Value) {
    let place = Place::new(&format!("chat-cancel-{stage:?}"));
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config, "--surroundings", "none"]);
    pty.line("why?");
    paced.asked(1);
    if let Some(last) = stage.say(&paced) {
        pty.see(last);
    }
    pty.press(ESC);
    pty.see("interrupted");
    paced.left(1);
    pty.leave();
    let kept = kept(&place, &config);
    let mut pty = Pty::chat(&place, &["--config", &config, "--surroundings", "none", "--continue"]);
    pty.line("go on");
    let sent = paced.asked(2)["messages"].clone();
    paced.say("well");
    paced.end();
    pty.see("well");
    pty.leave();
    (kept, sent)
}

/// The same with an editor that cancels its prompt.
fn editor(stage: Stage) -> (Value, Value) {
    let place = Place::new(&format!("acp-cancel-{stage:?}"));
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let acp = || {
        let mut command = command(&["acp", "--config", &config, "--surroundings", "none"]);
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(name, place.home());
        }
        command.current_dir(place.folder());
        command
    };
    let mut editor = Editor::connect(acp());
    let begun = json!({"cwd": place.folder(), "mcpServers": []});
    let begun = editor.plain("session/new", &begun);
    editor.session = begun["result"]["sessionId"].as_str().unwrap().to_owned();
    let why = json!({"prompt": [{"type": "text", "text": "why?"}]});
    let id = editor.begin("session/prompt", why);
    paced.asked(1);
    if let Some(last) = stage.say(&paced) {
        editor.until(|line| begins(line, last));
    }
    let cancel = json!({"sessionId": editor.session});
    editor.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": cancel}));
    let reply = editor.until(|line| line["id"] == id);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply}");
    paced.left(1);
    // The answer is stored before the editor learns of the end.
    let kept = kept(&place, &config);
    editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": "go on"}]}));
    let sent = paced.asked(2)["messages"].clone();
    // The editor closes in the middle of the answer.
    paced.say("we, too");
    editor.until(|line| begins(line, "we, too"));
    let session = editor.session.clone();
    editor.end();
    let mut editor = Editor::connect(acp());
    editor.load(&session, &place.folder());
    assert_eq!(editor.told("user_message_chunk"), "why?go on");
    let told = editor.told("agent_message_chunk");
    assert!(told.contains("we, too\n_taken up: "), "{told}");
    editor.end();
    (kept, sent)
}

#[test]
fn a_cancelled_prompt_is_kept_as_the_chat_keeps_an_interrupted_question() {
    for stage in [Stage::Nothing, Stage::Thought, Stage::Answer] {
        let (kept, sent) = editor(stage);
        let (kept_by_chat, sent_by_chat) = chat(stage);
        let messages = kept.as_array().unwrap();
        assert_eq!(messages[0]["blocks"][0]["text"], "why?", "{kept}");
        match stage {
            Stage::Nothing => assert_eq!(messages.len(), 1, "{kept}"),
            Stage::Thought => {
                assert_eq!(messages[1]["blocks"][0]["thought"], "half a thou!", "{kept}");
                assert_eq!(messages[1]["partial"], true, "{kept}");
            }
            Stage::Answer => {
                assert_eq!(messages[1]["blocks"][0]["thought"], "a whole thought", "{kept}");
                assert_eq!(messages[1]["blocks"][1]["text"], "half an answ!", "{kept}");
                assert_eq!(messages[1]["partial"], true, "{kept}");
            }
        }
        let same = |messages: Value| -> Value {
            let mut messages = messages;
            // Each conversation has a provider of its own.
            for message in messages.as_array_mut().unwrap() {
                message.as_object_mut().unwrap().remove("origin");
            }
            messages
        };
        assert_eq!(same(kept), same(kept_by_chat), "{stage:?}");
        assert_eq!(sent, sent_by_chat, "{stage:?}");
    }
}
