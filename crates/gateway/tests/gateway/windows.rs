//! HTTP/2 callers that leave the window of an answer shut.

use crate::naive::Naive;
use crate::town::Town;
use serde_json::json;
use std::time::Duration;
use thinkthrough_gateway::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const PATIENCE: Duration = Duration::from_secs(30);
const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// HTTP/2, frame by frame.
struct Frames(TcpStream);

/// One of the peer's frames: kind, flags, stream, payload.
type Frame = (u8, u8, u32, Vec<u8>);

impl Frames {
    /// A connection whose streams all begin with a shut window.
    async fn open(gateway: &str) -> Self {
        let addr = gateway.strip_prefix("http://").unwrap();
        let mut frames = Frames(TcpStream::connect(addr).await.unwrap());
        frames.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        frames.send(4, 0, 0, &[0, 4, 0, 0, 0, 0]).await;
        frames
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let frame = [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat();
        self.0.write_all(&frame).await.unwrap();
    }

    async fn ask(&mut self, stream: u32, client: &Naive) {
        let (path, body) = client.request();
        let mut head = vec![0x83, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        head.extend_from_slice(path.as_bytes());
        head.extend_from_slice(b"\x01\x09localhost");
        self.send(1, 4, stream, &head).await;
        self.send(0, 1, stream, body.to_string().as_bytes()).await;
    }

    /// Lets the peer send so many bytes more on this stream.
    async fn widen(&mut self, stream: u32, by: u32) {
        self.send(8, 0, stream, &by.to_be_bytes()).await;
    }

    /// The next frame; `None` when the connection is closed.
    async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some((head[3], head[4], stream, payload))
    }

    /// Hears frames until one is of this kind, on this stream.
    async fn until(&mut self, kind: u8, stream: u32) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if (frame.0, frame.2) == (kind, stream) {
                return Some(frame);
            }
        }
    }
}

/// An upstream that talks until nobody listens any more; then it tells how much it could say.
async fn talker() -> (String, oneshot::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 65536]).await.unwrap() > 0);
        stream.write_all(HEAD.as_bytes()).await.unwrap();
        let delta = json!({"reasoning_content": "x".repeat(4096)});
        let event = json!({"id": "1", "choices": [{"index": 0, "delta": delta}]});
        let event = format!("data: {event}\n\n");
        let mut said = 0;
        while stream.write_all(event.as_bytes()).await.is_ok() {
            said += event.len();
        }
        tell.send(said).unwrap();
    });
    (url, told)
}

/// An upstream that begins, and ends when it is told to.
async fn waiter() -> (String, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (go, going) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 65536]).await.unwrap() > 0);
        let event = |text: &str, finish: Option<&str>| {
            let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": finish});
            format!("data: {}\n\n", json!({"id": "1", "choices": [choice]}))
        };
        let begun = format!("{HEAD}{}", event("begun", None));
        stream.write_all(begun.as_bytes()).await.unwrap();
        going.await.unwrap();
        let end = format!("{}data: [DONE]\n\n", event("ended", Some("stop")));
        stream.write_all(end.as_bytes()).await.unwrap();
    });
    (url, go)
}

fn impatient() -> Options {
    Options { write_idle: Duration::from_secs(1), ..Options::default() }
}

fn asking(model: &str) -> Naive {
    let mut client = Naive::new("chat-completions", model, true);
    client.user("Go on.");
    client
}

#[tokio::test]
async fn t_29_c_4_a_window_that_stays_shut_holds_nothing() {
    let (url, told) = talker().await;
    let town = Town::with_options(move |it| it.target.base_url.clone_from(&url), impatient()).await;
    let mut caller = Frames::open(&town.gateway).await;
    caller.ask(1, &asking("kimi-k2")).await;
    assert!(caller.until(1, 1).await.is_some(), "the head needs no window");
    let said = tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
    // What the system's own buffers hold, and little more.
    assert!(said < 32 * 1024 * 1024, "it could say {said} bytes");
    let closed = async { while caller.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, closed).await.unwrap();
    let metrics = town.metrics().await;
    assert!(metrics.contains("thinkthrough_open_requests 0\n"), "{metrics}");
    assert!(metrics.contains("thinkthrough_cancelled_total 1\n"), "{metrics}");
}

#[tokio::test]
async fn t_29_c_4_one_answer_that_is_not_taken_costs_the_others_nothing() {
    let ((talking, told), (waiting, go)) = (talker().await, waiter().await);
    let how = move |route: &mut thinkthrough_gateway::Route| {
        let is_talker = route.target.base_url.ends_with("kimi-k2");
        route.target.base_url.clone_from(if is_talker { &talking } else { &waiting });
    };
    let town = Town::with_options(how, impatient()).await;
    let mut caller = Frames::open(&town.gateway).await;
    caller.ask(1, &asking("kimi-k2")).await;
    caller.ask(3, &asking("groq")).await;
    caller.widen(3, 1 << 20).await;
    let begun = tokio::time::timeout(PATIENCE, caller.until(0, 3)).await.unwrap().unwrap();
    assert!(String::from_utf8(begun.3).unwrap().contains("begun"));
    tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
    // It was silent for as long, but it was taken.
    go.send(()).unwrap();
    let rest = async {
        let mut rest = Vec::new();
        while let Some((kind, flags, _, payload)) = caller.until(0, 3).await {
            rest.extend_from_slice(&payload);
            if (kind, flags & 1) == (0, 1) {
                return Some(String::from_utf8(rest).unwrap());
            }
        }
        None
    };
    let rest = tokio::time::timeout(PATIENCE, rest).await.unwrap().expect("the connection stays");
    assert!(rest.contains("ended") && rest.contains("[DONE]"), "{rest}");
    // Whoever opens the window now learns that nothing more comes.
    caller.widen(1, 1 << 20).await;
    let reset = tokio::time::timeout(PATIENCE, caller.until(3, 1)).await.unwrap();
    assert!(reset.is_some(), "the stream is reset");
}
