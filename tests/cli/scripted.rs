//! A model whose answers the test writes: a server of the chat-completions wire that stores its
//! requests.

use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::program::{Ran, command};

/// The server, a folder to work in, and a configuration that leads to it.
pub(crate) struct Scripted {
    root: PathBuf,
    asked: Arc<Mutex<Vec<Value>>>,
}

/// A call of a tool.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

impl Scripted {
    /// Each answer is a text, a list of calls, or a message as a whole.
    pub(crate) fn new(name: &str, answers: Vec<Value>, config: &str) -> Self {
        // Tests of one process may choose the same name.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("think-script-{}-{number}-{name}", std::process::id());
        let root = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("work")).unwrap();
        fs::write(root.join("work/notes.md"), "First line\nA needle here\n").unwrap();
        fs::write(root.join("outside.txt"), "the outside secret\n").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let provider = format!(
            "default_model = \"m\"\n[providers.scripted]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n\
             api_key = {{ env = \"ODD_NAME\" }}\n[models.m]\nprovider = \"scripted\"\nmodel = \"m\"\n"
        );
        fs::write(root.join("config.toml"), provider + config).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for answer in answers {
                while !serve(listener.accept().unwrap().0, &answer, &kept) {}
            }
        });
        Self { root, asked }
    }

    /// The program in the working folder, with secrets around it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command
            .arg("--config")
            .arg(self.root.join("config.toml"))
            .current_dir(self.root.join("work"))
            .env("HOME", &self.root)
            .env("XDG_DATA_HOME", &self.root)
            .env("SHELL", "/bin/sh")
            .env("ODD_NAME", "canary-of-the-config")
            .env("OPENAI_API_KEY", "canary-of-a-provider");
        command
    }

    pub(crate) fn ask(&self) -> Ran {
        let output = self.command(&["ask", "Do it."]).stdin(Stdio::null()).output().unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The names of the tools that a request offered.
    pub(crate) fn offered(&self, request: usize) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let tools = asked[request]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The last request.
    pub(crate) fn last(&self) -> Value {
        self.asked.lock().unwrap().last().unwrap().clone()
    }

    /// The tool results in the last request.
    pub(crate) fn results(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let messages = asked.last().unwrap()["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results
            .map(|it| it["content"].as_str().map_or(it["content"].to_string(), str::to_owned))
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Answers one request, after storing its body. A GET, which asks about the server, gets a 404 and
/// returns false.
fn serve(mut stream: TcpStream, answer: &Value, kept: &Mutex<Vec<Value>>) -> bool {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let (head, length) = loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the request is whole");
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            if head.starts_with("get ") {
                stream.write_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n").unwrap();
                return false;
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            break (end + 4, length.unwrap().trim().parse::<usize>().unwrap());
        }
    };
    while bytes.len() < head + length {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the body is whole");
        bytes.extend_from_slice(&buffer[..count]);
    }
    kept.lock().unwrap().push(serde_json::from_slice(&bytes[head..]).unwrap());
    let (message, why) = match answer {
        Value::String(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Value::Object(_) => (answer.clone(), "stop"),
        calls => (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls"),
    };
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": why}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })
    .to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    true
}
