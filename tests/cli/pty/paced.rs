//! A provider that sends each piece of its answer on command.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The provider; answers are of the wire `chat-completions`.
pub(crate) struct Paced {
    url: String,
    pieces: Sender<Piece>,
    asked: Arc<Mutex<Vec<Value>>>,
    left: Arc<AtomicUsize>,
}

enum Piece {
    Say(String),
    End,
}

impl Paced {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (pieces, queue) = channel();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let left = Arc::new(AtomicUsize::new(0));
        let (kept, leaves) = (Arc::clone(&asked), Arc::clone(&left));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serve(stream, &kept, &queue).is_break() {
                    leaves.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Paced { url, pieces, asked, left }
    }

    /// A configuration that leads here as `paced/m`; its contract wants every thought back.
    pub(crate) fn config(&self) -> String {
        format!(
            "default_model = \"paced/m\"\n[providers.paced]\nwire = \"chat-completions\"\nbase_url = \"{}\"\n\
             contract = {{ return = \"all\", field = \"reasoning_content\" }}\n",
            self.url
        )
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn think(&self, text: &str) {
        self.delta(&json!({"reasoning_content": text}));
    }

    pub(crate) fn say(&self, text: &str) {
        self.delta(&json!({"content": text}));
    }

    /// Calls a tool, which ends the answer.
    pub(crate) fn call(&self, name: &str, arguments: &Value) {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        self.delta(&json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}));
        self.finish("tool_calls");
    }

    /// Sends the usage.
    pub(crate) fn count(&self, input: u64, output: u64) {
        let usage = json!({"prompt_tokens": input, "completion_tokens": output});
        self.chunk(&json!({"model": "m", "choices": [], "usage": usage}));
    }

    /// Ends the answer.
    pub(crate) fn end(&self) {
        self.finish("stop");
    }

    fn finish(&self, why: &str) {
        self.chunk(
            &json!({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": why}]}),
        );
        self.pieces.send(Piece::Say("data: [DONE]\n\n".to_owned())).unwrap();
        self.pieces.send(Piece::End).unwrap();
    }

    fn delta(&self, delta: &Value) {
        self.chunk(&json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}));
    }

    fn chunk(&self, chunk: &Value) {
        self.pieces.send(Piece::Say(format!("data: {chunk}\n\n"))).unwrap();
    }

    /// Waits for this request, counted from 1, and returns its body. The next pieces are its
    /// answer.
    #[track_caller]
    pub(crate) fn asked(&self, number: usize) -> Value {
        let began = Instant::now();
        loop {
            if let Some(body) = self.asked.lock().unwrap().get(number - 1) {
                return body.clone();
            }
            assert!(began.elapsed() < super::PATIENCE, "request {number} was waited for in vain");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until `number` clients have closed their connection before the end of their answer.
    #[track_caller]
    pub(crate) fn left(&self, number: usize) {
        let began = Instant::now();
        while self.left.load(Ordering::SeqCst) < number {
            assert!(began.elapsed() < super::PATIENCE, "client {number} did not leave");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Answers one request. Breaks if the client closes before the end of its answer.
fn serve(stream: TcpStream, kept: &Mutex<Vec<Value>>, queue: &Receiver<Piece>) -> ControlFlow<()> {
    let Some(mut stream) = hear(stream, kept) else { return ControlFlow::Continue(()) };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    if stream.write_all(head.as_bytes()).is_err() {
        return ControlFlow::Break(());
    }
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    loop {
        match queue.recv_timeout(Duration::from_millis(2)) {
            Ok(Piece::Say(text)) => {
                if stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_err() {
                    return ControlFlow::Break(());
                }
            }
            // If the client has closed, the next pieces are for the next client.
            Err(RecvTimeoutError::Timeout) if !matches!(stream.peek(&mut [0]), Ok(0)) => {}
            Err(RecvTimeoutError::Timeout) => return ControlFlow::Break(()),
            Ok(Piece::End) | Err(RecvTimeoutError::Disconnected) => {
                return ControlFlow::Continue(());
            }
        }
    }
}

fn hear(stream: TcpStream, kept: &Mutex<Vec<Value>>) -> Option<TcpStream> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    kept.lock().unwrap().push(serde_json::from_slice(&body).ok()?);
    Some(reader.into_inner())
}
