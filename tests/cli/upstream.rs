//! A provider of the test. It stores its requests byte for byte, and sends prepared answers.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Serves on a port of its own until the test ends.
pub(crate) struct Upstream {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// Answers each request with the next of these streams, and with the last one from then on.
    pub(crate) fn start(answers: Vec<String>) -> Self {
        let mut at = 0;
        Self::answering(move |_| {
            at += 1;
            answers.get(at - 1).or(answers.last()).unwrap().clone()
        })
    }

    /// Answers each request with the stream, or the JSON value, that its body asks for.
    pub(crate) fn answering(mut answer: impl FnMut(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (kept, kept_heads) = (Arc::clone(&asked), Arc::clone(&heads));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that closes early causes no failure here.
                drop(stream.and_then(|stream| serve(stream, &mut answer, &kept, &kept_heads)));
            }
        });
        Upstream { url, asked, heads }
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    /// The heads of all requests so far, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The bytes of the last request's body.
    pub(crate) fn last_bytes(&self) -> String {
        self.asked.lock().unwrap().last().expect("something was asked").clone()
    }

    /// The body of the last request.
    pub(crate) fn last(&self) -> Value {
        self.bodies().pop().expect("something was asked")
    }
}

fn serve(
    stream: TcpStream,
    answer: &mut impl FnMut(&str) -> String,
    kept: &Mutex<Vec<String>>,
    heads: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).unwrap();
    // It gives no information about itself.
    let path = head.split(' ').nth(1).unwrap_or_default();
    if head.starts_with("get ")
        && ["/models", "/props", "/api/ps"].iter().any(|it| path.ends_with(it))
    {
        let mut stream = reader.into_inner();
        return stream
            .write_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    let answer = answer(&body);
    heads.lock().unwrap().push(head);
    kept.lock().unwrap().push(body);
    let mut stream = reader.into_inner();
    let kind =
        if answer.starts_with(['{', '[', '"']) { "application/json" } else { "text/event-stream" };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n");
    write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len())?;
    stream.flush()
}

/// A Chat Completions stream: a thought, then a text or a call of `list`, and usage if there is a
/// count.
pub(crate) fn chat(thought: &str, text: &str, reasoning_tokens: Option<u64>) -> String {
    let delta = if text == "list" {
        let function = json!({"name": "list", "arguments": "{}"});
        json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
    } else {
        json!({"content": text})
    };
    let finish = if text == "list" { "tool_calls" } else { "stop" };
    let mut stream = String::new();
    let mut chunk = |value: Value| stream.push_str(&format!("data: {value}\n\n"));
    let choice = |delta: Value, finish: Value| json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    if !thought.is_empty() {
        chunk(choice(json!({"reasoning_content": thought}), Value::Null));
    }
    chunk(choice(delta, Value::Null));
    chunk(choice(json!({}), json!(finish)));
    if let Some(tokens) = reasoning_tokens {
        let details = json!({"reasoning_tokens": tokens});
        let usage = json!({"prompt_tokens": 10, "completion_tokens": tokens + 5,
            "total_tokens": tokens + 15, "completion_tokens_details": details});
        chunk(json!({"model": "m", "choices": [], "usage": usage}));
    }
    stream + "data: [DONE]\n\n"
}

/// A provider that calls a tool, whole and with the same id each time, and wants the thought of
/// that call back.
pub(crate) fn calling() -> Upstream {
    Upstream::answering(|_| {
        let function = json!({"name": "list", "arguments": "{}"});
        let call = json!({"id": "call_00_Qw8rT3yU6iO9pL2kJ5hG7fDs", "type": "function", "function": function});
        let message = json!({"role": "assistant", "content": null, "reasoning_content": "I look.", "tool_calls": [call]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        json!({"id": "x", "model": "m", "choices": [choice]}).to_string()
    })
}

/// A Messages stream with the text `ok`.
pub(crate) fn messages() -> String {
    let mut stream = String::new();
    for event in [
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ] {
        let name = event["type"].as_str().unwrap();
        stream.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    stream
}
