//! `think acp`, driven as an editor drives it: lines of JSON-RPC over pipes.

use crate::program::command;
use crate::scripted::{Scripted, call};
use crate::server::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// An editor with one session.
pub(crate) struct Editor {
    child: Child,
    lines: Receiver<Value>,
    last: u64,
    pub(crate) session: String,
    /// Answers to permission requests, by the kind of tool. The requests are in `seen`, like every
    /// line.
    pub(crate) answers: Vec<(&'static str, &'static str)>,
    pub(crate) seen: Vec<Value>,
}

impl Editor {
    /// Starts an editor that begins a session in the folder.
    fn start(command: Command, folder: &Path) -> Self {
        let mut editor = Editor::connect(command);
        let begun = editor.request("session/new", json!({"cwd": folder, "mcpServers": []}));
        editor.session = begun["result"]["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(begun["result"]["modes"]["currentModeId"], "ask");
        editor
    }

    /// Starts an editor without a session.
    pub(crate) fn connect(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // A line that is no JSON is a finding.
                sender.send(serde_json::from_str(&line).unwrap_or(Value::String(line))).unwrap();
            }
        });
        let (answers, seen) = (Vec::new(), Vec::new());
        let mut editor = Self { child, lines, last: 0, session: String::new(), answers, seen };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let hello = editor.request("initialize", hello);
        assert_eq!(hello["result"]["protocolVersion"], 1, "{hello}");
        assert_eq!(hello["result"]["agentCapabilities"]["mcpCapabilities"]["http"], true);
        assert_eq!(hello["result"]["agentCapabilities"]["loadSession"], true);
        editor
    }

    /// Continues a stored session.
    pub(crate) fn load(&mut self, session: &str, folder: &Path) -> Value {
        self.session = session.to_owned();
        self.request("session/load", json!({"cwd": folder, "mcpServers": []}))
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let (id, session) = (self.last, self.session.clone());
        let mut params = params;
        if !session.is_empty() {
            params["sessionId"] = session.into();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.until(|line| line["id"] == id && line.get("method").is_none())
    }

    /// Sends a request that does not belong to the editor's own session.
    pub(crate) fn plain(&mut self, method: &str, params: &Value) -> Value {
        let own = std::mem::take(&mut self.session);
        let reply = self.request(method, params.clone());
        self.session = own;
        reply
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Value {
        self.request("session/prompt", json!({"prompt": [{"type": "text", "text": text}]}))
    }

    /// Reads lines up to the expected one, and answers permission requests on the way.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).expect("the line comes in time");
            assert_eq!(line["jsonrpc"], "2.0", "{line}");
            self.seen.push(line.clone());
            let kind = &line["params"]["toolCall"]["kind"];
            let answer = self.answers.iter().find(|(meant, _)| kind == meant);
            if let Some((_, answer)) =
                answer.filter(|_| line["method"] == "session/request_permission")
            {
                let outcome = json!({"outcome": {"outcome": "selected", "optionId": answer}});
                self.send(&json!({"jsonrpc": "2.0", "id": line["id"], "result": outcome}));
            }
            if is_it(&line) {
                return line;
            }
        }
    }

    pub(crate) fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.seen.iter().filter(|line| line["method"] == "session/update");
        let updates = updates.map(|line| &line["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    pub(crate) fn told(&self, kind: &str) -> String {
        self.updates(kind).iter().map(|it| it["content"]["text"].as_str().unwrap()).collect()
    }

    /// Kills the program.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Closes the input. The program must end by itself, with success.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it goes on although nobody speaks with it");
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // The program may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn simulated(folder: &Path, more: &[&str]) -> Editor {
    // A killed process with the same number may have left it.
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("needle.txt"), "the needle is blue\n").unwrap();
    let mut args = vec!["-m", "sim/kimi-k2"];
    args.extend_from_slice(more);
    Editor::start(acp(folder, &args), folder)
}

pub(crate) fn acp(home: &Path, more: &[&str]) -> Command {
    let mut args = vec!["acp"];
    args.extend_from_slice(more);
    at_home(home, &args)
}

fn at_home(home: &Path, args: &[&str]) -> Command {
    let mut command = command(args);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, home);
    }
    command.current_dir("/");
    command
}

/// The stored conversations.
pub(crate) fn kept(home: &Path) -> Vec<Value> {
    let output = at_home(home, &["sessions", "list", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn place(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("think-acp-{}-{name}", std::process::id()))
}

#[test]
fn thoughts_tools_and_the_answer_are_streamed_on_the_simulated_model() {
    let folder = place("stream");
    let mut editor = simulated(&folder, &[]);
    let reply = editor.prompt("What is in this folder? Think first.");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(editor.told("agent_thought_chunk").contains("The user"), "thoughts");
    assert!(editor.updates("agent_thought_chunk").len() > 2, "they come as they are thought");
    assert!(editor.told("agent_message_chunk").contains("needle.txt"));
    let calls = editor.updates("tool_call");
    assert_eq!((&calls[0]["kind"], &calls[0]["title"]), (&json!("read"), &json!("list `.`")));
    let done = editor.updates("tool_call_update");
    assert_eq!(done.last().unwrap()["status"], "completed");
    assert_eq!(done.last().unwrap()["toolCallId"], calls[0]["toolCallId"]);
    let first = calls[0]["toolCallId"].clone();
    // The conversation goes on, and ids of calls are not used twice.
    let reply = editor.prompt("Read needle.txt: what does it say?");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(editor.told("agent_message_chunk").contains("the needle is blue"));
    assert_ne!(editor.updates("tool_call").last().unwrap()["toolCallId"], first);
    editor.end();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn thoughts_that_are_not_to_be_shown_are_nowhere() {
    let folder = place("hidden");
    let mut editor = simulated(&folder, &["--set", "reasoning.includeInResponse=false"]);
    let reply = editor.prompt("What is in this folder? Think first.");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let all = Value::from(editor.seen.clone()).to_string();
    assert!(!all.contains("agent_thought_chunk") && !all.contains("simulated thought"), "{all}");
    assert!(!all.contains("The user says"), "{all}");
    editor.end();
    fs::remove_dir_all(folder).unwrap();
}

pub(crate) fn scripted(name: &str, answers: Vec<Value>) -> (Scripted, Editor) {
    let script = Scripted::new(name, answers, "");
    let editor = Editor::start(script.command(&["acp"]), &script.path("work"));
    (script, editor)
}

#[test]
fn changes_are_asked_for_with_their_diff_and_done_or_not() {
    let calls = json!([
        call(
            "a",
            "edit_file",
            &json!({"path": "notes.md", "old_text": "needle", "new_text": "pin"})
        ),
        call("b", "shell", &json!({"command": "touch made"})),
    ]);
    let (script, mut editor) = scripted("acp-ask", vec![calls, json!("done")]);
    editor.answers = vec![("edit", "once"), ("execute", "deny")];
    let reply = editor.prompt("Do it.");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    let asked: Vec<_> =
        editor.seen.iter().filter(|line| line["method"] == "session/request_permission").collect();
    assert_eq!(asked.len(), 2);
    let diff = json!([{
        "type": "diff",
        "path": fs::canonicalize(script.path("work/notes.md")).unwrap(),
        "oldText": "First line\nA needle here\n",
        "newText": "First line\nA pin here\n",
    }]);
    let by_tool = |kind: &str| {
        let is = |line: &&&Value| line["params"]["toolCall"]["kind"] == kind;
        asked.iter().find(is).unwrap()["params"].clone()
    };
    assert_eq!(by_tool("edit")["toolCall"]["content"], diff);
    assert_eq!(by_tool("execute")["toolCall"]["title"], "run `touch made`");
    let kinds = by_tool("edit")["options"].as_array().unwrap().len();
    assert_eq!(kinds, 3, "once, always, deny");
    let id = by_tool("edit")["toolCall"]["toolCallId"].clone();
    let ends: Vec<_> = editor
        .updates("tool_call_update")
        .into_iter()
        .filter(|it| it.get("content").is_some())
        .collect();
    let of_edit = ends.iter().find(|it| it["toolCallId"] == id).unwrap();
    assert_eq!((&of_edit["status"], &of_edit["content"]), (&json!("completed"), &diff));
    let other = ends.iter().find(|it| it["toolCallId"] != id).unwrap();
    assert_eq!(other["status"], "failed");
    assert_eq!(
        fs::read_to_string(script.path("work/notes.md")).unwrap(),
        "First line\nA pin here\n"
    );
    assert!(!script.path("work/made").exists());
    editor.end();
}

#[test]
fn a_cancelled_prompt_ends_at_once_and_the_session_goes_on() {
    let slow = json!([call("a", "shell", &json!({"command": "sleep 600"}))]);
    let (script, mut editor) = scripted("acp-cancel", vec![slow, json!("here again")]);
    editor.answers = vec![("execute", "once")];
    let id = editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": "Wait."}]}));
    editor.until(|line| line["params"]["update"]["status"] == "in_progress");
    let second = editor.prompt("Me too.");
    assert!(second["error"]["message"].as_str().unwrap().contains("being answered"), "{second}");
    let session = editor.session.clone();
    editor.send(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
    );
    let reply = editor.until(|line| line["id"] == id);
    assert_eq!(reply["result"]["stopReason"], "cancelled", "{reply}");
    let reply = editor.prompt("Go on.");
    assert_eq!(reply["result"]["stopReason"], "end_turn", "{reply}");
    assert!(editor.told("agent_message_chunk").contains("here again"));
    assert!(script.results()[0].contains("stopped by the user"), "{:?}", script.results());
    editor.end();
}

#[test]
fn modes_and_options_hold_and_what_is_wrong_is_said() {
    let calls = json!([
        call("a", "edit_file", &json!({"path": "new.txt", "old_text": "", "new_text": "x"})),
        call("b", "shell", &json!({"command": "touch made"})),
    ]);
    let (script, mut editor) =
        scripted("acp-modes", vec![calls.clone(), json!("one"), calls, json!("two")]);
    let set = editor.request("session/set_mode", json!({"modeId": "read"}));
    assert_eq!(set["result"], json!({}), "{set}");
    editor.prompt("Do it.");
    assert!(script.results().iter().all(|it| it.contains("read-only")), "{:?}", script.results());
    editor.request("session/set_mode", json!({"modeId": "edits"}));
    editor.answers = vec![("execute", "deny")];
    editor.prompt("Do it.");
    assert_eq!(fs::read_to_string(script.path("work/new.txt")).unwrap(), "x");
    assert!(!script.path("work/made").exists());
    let option = json!({"configId": "reasoning.effort", "value": "high"});
    let option = editor.request("session/set_config_option", option);
    assert_eq!(option["result"]["configOptions"][0]["currentValue"], "high", "{option}");
    for (method, params, why) in [
        ("session/set_mode", json!({"modeId": "wild"}), "there are ask, edits, read"),
        (
            "session/set_config_option",
            json!({"configId": "reasoning.effort", "value": "huge"}),
            "allowed: unset, none",
        ),
        ("session/fly", json!({}), "there is no method `session/fly`"),
        ("session/prompt", json!({"prompt": []}), "`prompt` is empty"),
    ] {
        let reply = editor.request(method, params);
        assert!(reply["error"]["message"].as_str().unwrap_or_default().contains(why), "{reply}");
    }
    editor.send(&json!("no message"));
    let reply = editor.until(|line| line["id"].is_null() && line.get("error").is_some());
    assert_eq!(reply["error"]["code"], -32700);
    editor.end();
}

#[test]
fn adr_budget_of_an_editors_session_is_told_when_it_is_spent_and_blocks() {
    // Its thought costs more than the budget.
    let thought = "a thought that costs more than one token";
    let thinks = json!({"role": "assistant", "content": "one", "reasoning_content": thought});
    let answers = vec![thinks, json!("two")];
    let config = "[budget]\nreasoning_tokens_per_session = 1\non_exceed = \"block\"\n";
    let scripted = Scripted::new("acp-budget", answers, config);
    let mut editor = Editor::start(scripted.command(&["acp"]), &scripted.path("work"));
    let first = editor.prompt("Think.");
    assert_eq!(first["result"]["stopReason"], "end_turn", "{first}");
    assert!(editor.told("agent_message_chunk").contains("reasoning tokens are spent"));
    let second = editor.prompt("And again.");
    let said = second["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("this session has spent"), "{said}");
    editor.end();
}

#[test]
fn the_model_of_a_session_is_named_on_stderr() {
    let mut child = command(&["acp", "-m", "sim/kimi-k2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let session = json!({"cwd": std::env::temp_dir(), "mcpServers": []});
    for (id, method, params) in [(1, "initialize", hello), (2, "session/new", session)] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{line}").unwrap();
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("sessionId")));
    drop(stdin);
    let said = child.wait_with_output().unwrap().stderr;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("model: sim/kimi-k2"), "{said}");
}
