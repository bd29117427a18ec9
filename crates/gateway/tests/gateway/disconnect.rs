//! Callers that go away before their answer is over: the upstream is left, or heard to its end.

use crate::naive::Naive;
use crate::town::Town;
use serde_json::json;
use std::time::{Duration, Instant};
use thinkthrough_gateway::OnDisconnect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const PATIENCE: Duration = Duration::from_secs(30);

/// How far the answer has come when the caller goes away.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The upstream thinks and has said nothing.
    Silent,
    /// The stream has begun.
    Begun,
    /// One value, of which nothing came.
    Value,
}

/// An upstream that answers one request, and waits in the middle.
struct Upstream {
    url: String,
    /// The request is there.
    asked: oneshot::Receiver<()>,
    /// Lets it go on.
    go: oneshot::Sender<()>,
    /// Whether it could say everything; false if it was left while it waited.
    said: oneshot::Receiver<bool>,
}

fn chunk(value: &serde_json::Value) -> String {
    format!("data: {value}\n\n")
}

fn delta(delta: &serde_json::Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    chunk(&json!({"id": "1", "model": "m", "choices": [choice]}))
}

/// What is said before and after the wait.
fn script(phase: Phase) -> (String, String) {
    let function = json!({"name": "list", "arguments": "{}"});
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": function}]);
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 17, "total_tokens": 28,
        "completion_tokens_details": {"reasoning_tokens": 7}});
    if phase == Phase::Value {
        let message = json!({"role": "assistant", "reasoning_content": "I look first.",
            "content": null, "tool_calls": call});
        let body = json!({"id": "1", "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        let body = body.to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        return (format!("{head}content-length: {}\r\n\r\n", body.len()), body);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let begun = delta(&json!({"reasoning_content": "I look "}), None);
    let rest = delta(&json!({"reasoning_content": "first."}), None)
        + &delta(&json!({"tool_calls": call}), None)
        + &delta(&json!({}), Some("tool_calls"))
        + &chunk(&json!({"id": "1", "model": "m", "choices": [], "usage": usage}))
        + "data: [DONE]\n\n";
    match phase {
        Phase::Silent => (String::new(), format!("{head}{begun}{rest}")),
        _ => (format!("{head}{begun}"), rest),
    }
}

impl Upstream {
    async fn start(phase: Phase) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (ask, asked) = oneshot::channel();
        let (go, mut going) = oneshot::channel();
        let (say, said) = oneshot::channel();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut piece, mut seen) = ([0; 4096], String::new());
            while !seen.contains("readme") || !seen.ends_with('}') {
                let read = stream.read(&mut piece).await.unwrap();
                seen.push_str(&String::from_utf8_lossy(&piece[..read]));
            }
            let (before, after) = script(phase);
            stream.write_all(before.as_bytes()).await.unwrap();
            ask.send(()).unwrap();
            let may_go_on = loop {
                tokio::select! {
                    _ = &mut going => break true,
                    read = stream.read(&mut piece) => if !matches!(read, Ok(1..)) { break false },
                }
            };
            let is_said = may_go_on && stream.write_all(after.as_bytes()).await.is_ok();
            drop(stream);
            say.send(is_said).unwrap();
        });
        Upstream { url, asked, go, said }
    }
}

fn asking(api: &'static str, phase: Phase) -> Naive {
    let mut client = Naive::new(api, "kimi-k2", phase != Phase::Value);
    client.user("What is in this folder, and what does the readme say?");
    client
}

/// A town before this upstream, and a caller that asks it and goes away.
async fn left(api: &'static str, phase: Phase, how: OnDisconnect) -> (Town, Upstream) {
    let mut upstream = Upstream::start(phase).await;
    let url = upstream.url.clone();
    let town = Town::with(move |route| {
        route.target.base_url.clone_from(&url);
        route.on_disconnect = how;
    })
    .await;
    let addr = town.gateway.strip_prefix("http://").unwrap();
    let mut caller = TcpStream::connect(addr).await.unwrap();
    let (path, body) = asking(api, phase).request();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer caller\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    tokio::time::timeout(PATIENCE, &mut upstream.asked).await.unwrap().unwrap();
    if phase == Phase::Begun {
        let (mut piece, mut seen) = ([0; 4096], String::new());
        while !seen.contains("I look ") {
            let read = caller.read(&mut piece).await.unwrap();
            assert!(read > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }
    drop(caller);
    (town, upstream)
}

const ALL: [(&str, Phase); 6] = [
    ("chat-completions", Phase::Silent),
    ("chat-completions", Phase::Begun),
    ("chat-completions", Phase::Value),
    ("messages", Phase::Silent),
    ("messages", Phase::Begun),
    ("messages", Phase::Value),
];

#[tokio::test]
async fn c_3_a_caller_that_goes_away_takes_its_upstream_along() {
    for (api, phase) in ALL {
        let (town, upstream) = left(api, phase, OnDisconnect::Cancel).await;
        let is_said = tokio::time::timeout(PATIENCE, upstream.said).await;
        assert!(!is_said.unwrap().unwrap(), "{api} {phase:?}: it was heard");
        drop(upstream.go);
        let metrics = town.metrics().await;
        assert!(metrics.contains("drained_total{outcome=\"completed\"} 0\n"), "{metrics}");
        assert!(!metrics.contains("drained_tokens_total{"), "{metrics}");
    }
}

#[tokio::test]
async fn c_3_an_answer_that_is_drained_is_whole_and_what_it_cost_is_counted() {
    for (api, phase) in ALL {
        let (town, upstream) = left(api, phase, OnDisconnect::Drain).await;
        // Long enough for a caller's end to be noticed by whoever would cancel.
        tokio::time::sleep(Duration::from_millis(100)).await;
        upstream.go.send(()).unwrap_or_else(|()| panic!("{api} {phase:?}: it was left"));
        assert!(tokio::time::timeout(PATIENCE, upstream.said).await.unwrap().unwrap());
        let began = Instant::now();
        let metrics = loop {
            let metrics = town.metrics().await;
            if metrics.contains("thinkthrough_drained_total{outcome=\"completed\"} 1\n") {
                break metrics;
            }
            assert!(began.elapsed() < PATIENCE, "{api} {phase:?}: {metrics}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        for (kind, count) in [("input", 11), ("output", 17), ("reasoning", 7)] {
            let line =
                format!("drained_tokens_total{{provider=\"sim\",type=\"{kind}\"}} {count}\n");
            assert!(metrics.contains(&line), "{api} {phase:?}: {metrics}");
        }
        assert!(metrics.contains("thinkthrough_open_requests 0\n"), "{metrics}");
        while town.memory.records() == 0 {
            assert!(began.elapsed() < PATIENCE, "{api} {phase:?}: it is not kept");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Whoever learns what was said finds the whole thought.
        let thoughts = town.memory.thoughts();
        assert_eq!(thoughts, ["I look first."], "{api} {phase:?}");
    }
}

#[tokio::test]
async fn c_3_what_says_too_much_for_nobody_is_left() {
    let (listener, flood) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), "x".repeat(8192));
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let town = Town::with(move |route| {
        route.target.base_url.clone_from(&url);
        route.on_disconnect = OnDisconnect::Drain;
    })
    .await;
    let (left, is_left) = oneshot::channel();
    let (gone, mut is_gone) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 65536]).await.unwrap() > 0);
        let (head, _) = script(Phase::Begun);
        stream.write_all(head.as_bytes()).await.unwrap();
        let _ = (&mut is_gone).await;
        let (event, mut text) = (delta(&json!({"content": flood}), None), 0);
        while stream.write_all(event.as_bytes()).await.is_ok() {
            text += flood.len();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        left.send(text).unwrap();
    });
    let addr = town.gateway.strip_prefix("http://").unwrap().to_owned();
    let mut caller = TcpStream::connect(addr).await.unwrap();
    let (path, body) = asking("chat-completions", Phase::Begun).request();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer caller\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains("I look ") {
        let read = caller.read(&mut piece).await.unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    drop(caller);
    gone.send(()).unwrap();
    let said = tokio::time::timeout(PATIENCE, is_left).await.unwrap().unwrap();
    assert!(said >= 32_000 * 4, "it was left after {said} bytes");
    let began = Instant::now();
    while !town.metrics().await.contains("thinkthrough_drained_total{outcome=\"left\"} 1\n") {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(town.memory.whole_records(), 0, "nothing of it counts as whole");
}
