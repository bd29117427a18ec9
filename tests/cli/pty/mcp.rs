//! `think chat` with tools of MCP servers: one of the official Rust SDK always, one of the official
//! Python package if it is installed.

use super::{CTRL_D, Pty};
use crate::mcp::{over_http, runtime, small, stdio};
use crate::place::Place;
use crate::scripted::{Scripted, call};
use crate::serve_config::Reserved;
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PYTHON: &str = include_str!("mcp_server.py");

/// A conversation in which the model asks the server's tool, the user allows it, and the result
/// goes back.
fn converse(name: &str, config: &str) {
    let asks = json!([call("a", "mcp__small__weather", &json!({"city": "Oslo"}))]);
    let script = Scripted::new(name, vec![asks, json!("it rains there")], config);
    let place = Place::new(name);
    let mut pty = Pty::scripted(&place, &script);
    pty.line("What is the weather in Oslo?");
    // A server's tool needs permission, like each tool that may change something.
    pty.see("always in this session");
    assert!(pty.text().contains("weather"), "{}", pty.text());
    pty.answer("y");
    pty.see("✓ mcp__small__weather");
    pty.see("it rains there");
    assert!(script.offered(0).contains(&"mcp__small__weather".to_owned()), "{name}");
    assert_eq!(script.results(), ["rain in Oslo"], "{name}");
    pty.press(CTRL_D);
    assert!(pty.end().success());
    pty.is_given_back();
}

#[test]
fn a_server_that_is_a_program_is_used_in_a_conversation() {
    let farewell = std::env::temp_dir().join(format!("think-chat-bye-{}", std::process::id()));
    let _ = std::fs::remove_file(&farewell);
    converse("chat-stdio", &stdio(farewell.to_str().unwrap()));
    assert_eq!(std::fs::read_to_string(&farewell).unwrap(), "bye", "it ended by itself");
    std::fs::remove_file(farewell).unwrap();
}

/// A shell around the server that ignores every signal that can be ignored, and the end of its
/// input.
#[cfg(target_os = "linux")]
fn stubborn(place: &Place) -> String {
    let server = stdio(&place.file("farewell"));
    let lines = "trap '' HUP INT QUIT TERM; echo $$ > \"$HOME/process\"; \"$0\" --exact mcp::small_server \
                 --nocapture 3>&1 >/dev/null; n=0; while [ $n -lt 300 ]; do sleep 1; n=$((n + 1)); done";
    let exec = "exec \\\"$0\\\" --exact mcp::small_server --nocapture 3>&1 >/dev/null";
    assert!(server.contains(exec), "{server}");
    server.replace(exec, &lines.replace('"', "\\\""))
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_chat_leaves_no_server_behind_that_ignores_the_end_of_its_input() {
    let asks = json!([call("a", "mcp__small__weather", &json!({"city": "Oslo"}))]);
    let name = "chat-stubborn";
    let place = Place::new(name);
    let script = Scripted::new(name, vec![asks, json!("it rains there")], &stubborn(&place));
    let mut pty = Pty::scripted(&place, &script);
    pty.line("What is the weather in Oslo?");
    pty.answer("y");
    pty.see("it rains there");
    let id = std::fs::read_to_string(place.file("process")).unwrap();
    // An ended process is a zombie until its parent asks for its status.
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    assert!(runs(), "{id}");
    pty.signal("-KILL");
    pty.end();
    let began = Instant::now();
    while runs() {
        assert!(began.elapsed() < super::PATIENCE, "the server outlives the chat");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_over_http_is_used_in_a_conversation() {
    let runtime = runtime();
    let url = over_http(&runtime, small());
    converse("chat-http", &format!("[mcp.small]\nurl = \"{url}\"\n"));
}

/// The Python that has the official package: `python3`, or the one of `THINKTHROUGH_MCP_PYTHON`.
fn python() -> Option<String> {
    let python = std::env::var("THINKTHROUGH_MCP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let began = Instant::now();
    let asked = Command::new(&python)
        .args(["-c", "import mcp.server.mcpserver, sys; print(sys.executable)"])
        .output();
    let found = asked.ok().filter(|output| output.status.success());
    if found.is_none() {
        println!("skipped: `{python}` has no package `mcp` 2; `pip install mcp` gives it one");
    }
    let python = String::from_utf8(found?.stdout).unwrap().trim().to_owned();
    // A server has ten seconds to start, and most of its start is this import.
    if began.elapsed() > Duration::from_secs(4) {
        println!("skipped: the machine is too busy for `{python}` to start in time");
        return None;
    }
    Some(python)
}

#[test]
fn a_python_program_is_used_in_a_conversation() {
    let Some(python) = python() else { return };
    let command = json!([python, "-c", PYTHON]);
    converse("chat-python", &format!("[mcp.small]\ncommand = {command}\n"));
}

#[test]
fn a_python_server_over_http_is_used_in_a_conversation() {
    let Some(python) = python() else { return };
    let reserved = Reserved::new();
    let port = reserved.port;
    let listening = Listening::start(&python, port);
    converse("chat-python-http", &format!("[mcp.small]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"));
    drop(listening);
}

/// The Python server over HTTP, until this goes.
struct Listening(Child);

impl Listening {
    fn start(python: &str, port: u16) -> Self {
        let mut command = Command::new(python);
        command.args(["-c", PYTHON, "http", &port.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (child, began) = (Listening(child), Instant::now());
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < super::PATIENCE, "it does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        child
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
