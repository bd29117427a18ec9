//! Upstreams that do what no upstream should, byte by byte; each test has the number of its fault.

use crate::bursts::named;
use crate::naive::{Entry, Naive, read};
use crate::town::{Said, Town};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering};
use std::time::{Duration, Instant};
use thinkthrough_core::content::Block;
use thinkthrough_gateway::Route;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The callers: on the upstream's own wire, and on two others.
pub(crate) const CALLERS: [&str; 3] = ["chat-completions", "messages", "responses"];
/// What stands in the end of a stream that ended as it should.
pub(crate) const ENDS: [&str; 3] =
    ["data: [DONE]", "event: message_stop", "event: response.completed"];

/// An upstream that answers every request with these pieces, each sent on its own, and closes.
pub(crate) struct Scripted {
    url: String,
    asked: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Close {
    Fin,
    Reset,
}

impl Scripted {
    pub(crate) async fn start(pieces: Vec<Vec<u8>>, close: Close) -> Self {
        Self::in_turn(vec![pieces], close).await
    }

    /// One that answers the first request with the first of these answers, and so on; the last one comes again.
    pub(crate) async fn in_turn(answers: Vec<Vec<Vec<u8>>>, close: Close) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let at = count.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
                tokio::spawn(answer(stream, answers[at].clone(), close));
            }
        });
        Scripted { url, asked }
    }

    /// A town whose models all lead here.
    pub(crate) async fn town(&self) -> Town {
        self.town_with(|_| {}).await
    }

    /// The same, with routes changed besides.
    pub(crate) async fn town_with(&self, how: fn(&mut Route)) -> Town {
        let url = self.url.clone();
        let here = move |route: &mut Route| {
            how(route);
            route.target.base_url.clone_from(&url);
        };
        Town::with(here).await
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

async fn answer(mut stream: TcpStream, pieces: Vec<Vec<u8>>, close: Close) {
    let (mut seen, mut piece) = (Vec::new(), [0; 65536]);
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
            if body.len() >= length.map_or(0, |it| it.trim().parse().unwrap()) {
                break;
            }
        }
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => seen.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let many = pieces.len() > 1;
    for piece in pieces {
        // Whoever stops listening has seen enough.
        if stream.write_all(&piece).await.is_err() {
            return;
        }
        if many {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    if close == Close::Reset {
        tokio::time::sleep(Duration::from_millis(50)).await;
        // What the peer has not read yet is lost, as with a machine that goes away.
        stream.set_zero_linger().unwrap();
    }
}

pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn event(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "1", "model": "m", "choices": [choice]}))
}

fn call() -> Value {
    let function = json!({"name": "list", "arguments": "{}"});
    json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
}

/// A thought and a call, as far as the last event before the end.
pub(crate) fn begun() -> String {
    event(&json!({"reasoning_content": "I look first."}), None) + &event(&call(), None)
}

pub(crate) fn finish() -> String {
    event(&json!({}), Some("tool_calls"))
}

pub(crate) fn client(api: &'static str) -> Naive {
    let mut client = Naive::new(api, "kimi-k2", true);
    client.user("What is in this folder?");
    client
}

/// What each caller gets for this body of a stream, and whether the next request finds its thought.
pub(crate) async fn told(body: &[u8], close: Close) -> Vec<(Said, bool)> {
    let whole = [HEAD.as_bytes(), body].concat();
    let upstream = Scripted::start(vec![whole], close).await;
    let town = upstream.town().await;
    let mut all = Vec::new();
    for api in CALLERS {
        let said = client(api).ask(&town, &town.gateway, &[]).await;
        let kept = town.memory.records() > all.iter().filter(|(_, kept)| *kept).count();
        all.push((said, kept));
    }
    all
}

/// The bytes with the provider's own id in place of the gateway's.
fn without_tickets(body: &[u8]) -> Vec<u8> {
    let Some(at) = body.windows(4).position(|it| it == b"\"tk_") else { return body.to_vec() };
    let (head, tail) = body.split_at(at + 1);
    let ticket = tail.iter().position(|byte| *byte == b'"').unwrap();
    [head, b"c1", &without_tickets(&tail[ticket..])].concat()
}

/// Nobody takes it for a whole answer, everybody hears that it is none, and nothing of it is put back.
async fn is_broken(what: &str, body: &[u8], close: Close) {
    for ((said, kept), api) in told(body, close).await.into_iter().zip(CALLERS) {
        let text = String::from_utf8_lossy(&said.body).into_owned();
        let tail = String::from_utf8_lossy(&said.body[said.body.len().saturating_sub(600)..]);
        let has_end = ENDS.iter().any(|end| text.contains(end));
        assert!(!has_end, "{what}, {api}: it looks whole: {tail}");
        assert!(!kept, "{what}, {api}: it was kept");
        let answer = read(api, &Said { body: text.clone().into_bytes(), ..said.clone() }, true);
        let is_told = said.status >= 400 || answer.upstream_error().is_some();
        assert!(is_told, "{what}, {api}: nobody says so: {tail}");
    }
}

/// Everybody gets all of it, and the thought can be put back.
async fn is_whole(what: &str, body: &[u8]) {
    for ((said, kept), api) in told(body, Close::Fin).await.into_iter().zip(CALLERS) {
        let answer = read(api, &said, true);
        assert!(answer.is_complete(), "{what}, {api}: {}", said.text());
        assert!(answer.problems.is_empty(), "{what}, {api}: {:?}", answer.problems);
        let thoughts: Vec<&str> = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Thinking(thinking) => Some(thinking.thought.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thoughts, ["I look first."], "{what}, {api}: {}", said.text());
        assert!(kept, "{what}, {api}: it was not kept");
    }
}

#[tokio::test]
async fn u_1_an_upstream_that_is_not_there_is_a_typed_error_in_every_api() {
    // Nobody listens there, and nobody else can.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nowhere = held.local_addr().unwrap();
    for url in [format!("http://{nowhere}/v1"), "http://nobody.invalid/v1".to_owned()] {
        let there = url.clone();
        let town = Town::with(move |route| route.target.base_url.clone_from(&there)).await;
        for api in CALLERS {
            let began = Instant::now();
            let said = client(api).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 502, "{url} {api}: {}", said.text());
            assert!(began.elapsed() < Duration::from_secs(60), "{url}: {:?}", began.elapsed());
            let error: Value = serde_json::from_slice(&said.body).unwrap();
            assert!(error["error"]["message"].is_string(), "{url} {api}: {error}");
            assert_eq!(said.counts(), [0; 4]);
        }
    }
}

#[tokio::test]
async fn u_5_u_6_what_the_upstream_says_about_coming_back_is_passed_on() {
    for (status, header) in [
        (429, "retry-after: 3600"),
        (429, "retry-after: Wed, 21 Oct 2099 07:28:00 GMT"),
        (429, "retry-after: soon"),
        (429, "retry-after: -1"),
        (429, "retry-after-ms: 9999999"),
        (503, "retry-after: 31536000"),
        (529, "x-ratelimit-reset-requests: 1h"),
    ] {
        let body = r#"{"error":{"message":"too much","type":"rate_limit"}}"#;
        let refusal = format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{header}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let upstream = Scripted::start(vec![refusal.into_bytes()], Close::Fin).await;
        let town = upstream.town().await;
        let (name, value) = header.split_once(": ").unwrap();
        for api in CALLERS {
            let before = upstream.asked.load(Ordering::Relaxed);
            let said = client(api).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, status, "{header} {api}: {}", said.text());
            assert!(said.text().contains("too much"), "{header} {api}: {}", said.text());
            assert_eq!(said.headers.get(name).map(String::as_str), Some(value), "{api}");
            let tries = upstream.asked.load(Ordering::Relaxed) - before;
            assert!((1..=3).contains(&tries), "{header}: {tries} tries");
            assert!(tries == 1 || !header.ends_with("00"), "{header}: {tries} tries");
        }
        assert_eq!(town.memory.records(), 0);
    }
}

#[tokio::test]
async fn u_8_u_9_a_stream_without_its_end_is_none() {
    is_broken("no end", begun().as_bytes(), Close::Fin).await;
    is_broken("reset", begun().as_bytes(), Close::Reset).await;
}

#[tokio::test]
async fn u_11_a_character_in_pieces_is_joined_and_a_broken_one_passes() {
    let thought = "\u{1f9b8}\u{20ac}\u{e9}";
    let body =
        event(&json!({"reasoning_content": thought}), None) + &event(&call(), None) + &finish();
    let body = format!("{body}data: [DONE]\n\n").into_bytes();
    let at = body.windows(4).position(|it| it == "\u{1f9b8}".as_bytes()).unwrap();
    for cut in at..at + thought.len() {
        let head = [HEAD.as_bytes(), &body[..cut]].concat();
        let upstream = Scripted::start(vec![head, body[cut..].to_vec()], Close::Fin).await;
        let town = upstream.town().await;
        for api in CALLERS {
            let said = client(api).ask(&town, &town.gateway, &[]).await;
            assert!(said.text().contains(thought), "{cut} {api}: {}", said.text());
        }
    }
    let mut broken = body;
    broken[at] = 0xff;
    let all = told(&broken, Close::Fin).await;
    let first = broken.windows(2).position(|it| it == b"\n\n").unwrap();
    let expected = [&broken[..first], named(&broken[first..], "kimi-k2").as_bytes()].concat();
    assert_eq!(without_tickets(&all[0].0.body), expected, "on the model's own wire the bytes stay");
    for ((said, _), api) in all.iter().zip(CALLERS).skip(1) {
        assert!(read(api, said, true).is_complete(), "{api}: {}", said.text());
    }
}

#[tokio::test]
async fn u_12_an_event_without_end_is_no_thought() {
    let long = "x".repeat(40 * 1024 * 1024);
    let body = event(&json!({"reasoning_content": long}), None) + &event(&call(), None) + &finish();
    for ((said, kept), api) in told(format!("{body}data: [DONE]\n\n").as_bytes(), Close::Fin)
        .await
        .into_iter()
        .zip(CALLERS)
    {
        assert_eq!(said.status, 200, "{api}");
        assert!(!kept, "{api}: a part of a thought was kept");
    }
}

#[tokio::test]
async fn u_13_any_honest_spelling_of_a_stream_is_read() {
    let plain = format!("{}{}data: [DONE]\n\n", begun(), finish());
    is_whole("as it is", plain.as_bytes()).await;
    is_whole("a mark of byte order", format!("\u{feff}{plain}").as_bytes()).await;
    is_whole("carriage returns", plain.replace('\n', "\r").as_bytes()).await;
    is_whole("both", plain.replace('\n', "\r\n").as_bytes()).await;
    let noisy = plain.replace("data: {", ": ping\nid: 7\nretry: 10\nunknown: x\ndata:{");
    is_whole("comments and fields that mean nothing here", noisy.as_bytes()).await;
}

#[tokio::test]
async fn u_14_an_error_in_the_middle_is_an_error_everywhere() {
    let error = "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n";
    is_broken("an error", format!("{}{error}", begun()).as_bytes(), Close::Fin).await;
    for ((said, kept), api) in
        told(format!("{}{error}data: [DONE]\n\n", begun()).as_bytes(), Close::Fin)
            .await
            .into_iter()
            .zip(CALLERS)
    {
        assert!(said.text().contains("overloaded"), "{api}: {}", said.text());
        assert!(read(api, &said, true).upstream_error().is_some(), "{api}: {}", said.text());
        assert!(!kept, "{api}");
    }
}

#[tokio::test]
async fn u_14_an_event_that_cannot_be_read_may_have_held_a_part_of_the_thought() {
    let broken = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\n\n";
    let body = format!("{}{broken}{}data: [DONE]\n\n", begun(), finish());
    for ((said, kept), api) in told(body.as_bytes(), Close::Fin).await.into_iter().zip(CALLERS) {
        assert_eq!(said.status, 200, "{api}");
        assert!(!kept, "{api}: {}", said.text());
    }
}

#[tokio::test]
async fn u_15_the_first_end_is_the_end() {
    let whole = format!("{}{}data: [DONE]\n\n", begun(), finish());
    is_whole("the end twice", format!("{whole}data: [DONE]\n\n").as_bytes()).await;
    let more = event(&json!({"reasoning_content": " And more."}), None);
    for ((said, kept), api) in
        told(format!("{whole}{more}").as_bytes(), Close::Fin).await.into_iter().zip(CALLERS)
    {
        assert!(read(api, &said, true).is_complete(), "{api}: {}", said.text());
        assert!(kept, "{api}");
        // On its own wire the caller sees what came; no other one does.
        assert!(api == "chat-completions" || !said.text().contains("And more"), "{}", said.text());
    }
}

#[tokio::test]
async fn u_18_what_nobody_knows_passes_and_breaks_nothing() {
    let unknown = "event: news\ndata: {\"type\":\"news\",\"x\":[1,{\"y\":null}]}\n\n";
    let odd = event(&json!({"reasoning_content": "I look first.", "mood": {"warm": 1.50}}), None);
    let body = format!("{unknown}{odd}{}{}data: [DONE]\n\n", event(&call(), None), finish());
    is_whole("unknown events and fields", body.as_bytes()).await;
    let (said, _) = told(body.as_bytes(), Close::Fin).await.swap_remove(0);
    let (bytes, body) = (without_tickets(&said.body), named(body.as_bytes(), "kimi-k2"));
    assert_eq!(bytes, body.as_bytes(), "all but the name stays on the model's own wire");
}

/// The start of an answer on `messages`, its blocks in odd orders, and its end.
fn disordered() -> (String, [(&'static str, String); 6], String) {
    let part =
        |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let start = part(json!({"type": "message_start", "message": {"id": "m", "type": "message",
        "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}));
    let open = |at: u32, block: Value| {
        part(json!({"type": "content_block_start", "index": at, "content_block": block}))
    };
    let delta = |at: u32, delta: Value| {
        part(json!({"type": "content_block_delta", "index": at, "delta": delta}))
    };
    let close = |at: u32| part(json!({"type": "content_block_stop", "index": at}));
    let thinking = || json!({"type": "thinking", "thinking": "", "signature": ""});
    let thought = |text: &str| json!({"type": "thinking_delta", "thinking": text});
    let signature = || json!({"type": "signature_delta", "signature": "c2ln"});
    let text = || json!({"type": "text", "text": ""});
    let said = || json!({"type": "text_delta", "text": "Here."});
    let end = part(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
    ) + &part(json!({"type": "message_stop"}));
    let middles = [
        (
            "interleaved",
            open(0, thinking())
                + &open(1, text())
                + &delta(1, said())
                + &delta(0, thought("hm"))
                + &delta(0, signature())
                + &close(1)
                + &close(0),
        ),
        (
            "a gap",
            open(3, thinking())
                + &delta(3, thought("hm"))
                + &close(3)
                + &open(9, text())
                + &delta(9, said())
                + &close(9),
        ),
        (
            "a delta before its start",
            delta(0, thought("hm"))
                + &open(0, thinking())
                + &close(0)
                + &open(1, text())
                + &delta(1, said())
                + &close(1),
        ),
        (
            "a signature before its thought",
            open(0, thinking())
                + &delta(0, signature())
                + &delta(0, thought("hm"))
                + &close(0)
                + &open(1, text())
                + &delta(1, said())
                + &close(1),
        ),
        (
            "a signature alone",
            open(0, thinking())
                + &delta(0, signature())
                + &close(0)
                + &open(1, text())
                + &delta(1, said())
                + &close(1),
        ),
        ("an end twice", open(0, text()) + &delta(0, said()) + &close(0) + &close(0)),
    ];
    (start, middles, end)
}

#[tokio::test]
async fn u_19_blocks_out_of_order_break_nothing() {
    let (start, middles, end) = disordered();
    for (what, middle) in middles {
        let body = format!("{HEAD}{start}{middle}{end}");
        let upstream = Scripted::start(vec![body.into_bytes()], Close::Fin).await;
        let town = upstream.town().await;
        for api in CALLERS {
            let mut client = Naive::new(api, "anthropic-manual", true);
            client.user("Where?");
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 200, "{what} {api}: {}", said.text());
            let answer = read(api, &said, true);
            let is_error = answer.upstream_error().is_some();
            assert!(is_error || answer.text() == "Here.", "{what} {api}: {}", said.text());
        }
        assert!(!town.metrics().await.contains("panics_total 1"), "{what}");
    }
}

#[tokio::test]
async fn c_2_an_answer_that_the_caller_leaves_gives_back_whole_thoughts_or_none() {
    // The caller leaves after each event; what stalls behind it never comes.
    for (api, model) in [("chat-completions", "kimi-k2"), ("messages", "anthropic-manual")] {
        let town = Town::new().await;
        let mut whole = Naive::new(api, model, true);
        whole.user("What is in this folder, and what does the readme say?");
        let calls = whole.step(&town, &town.gateway).await.1;
        let said = whole.history.last().cloned();
        let thoughts = {
            whole.run_tools(&calls);
            town.seen();
            whole.step(&town, &town.gateway).await;
            town.seen().pop().unwrap().thoughts
        };
        assert_eq!(thoughts.len(), 1, "{model}");
        for at in 1..12 {
            let town = Town::new().await;
            let mut client = Naive::new(api, model, true);
            client.user("What is in this folder, and what does the readme say?");
            *town.fault.lock().unwrap() = Some(format!("stall=60000,stall-at={at}"));
            let (path, body) = client.request();
            leave(&town, &path, &body.to_string()).await;
            *town.fault.lock().unwrap() = None;
            // The answer as if all that can be seen of it had come.
            let Some(Entry::Ai { text, calls }) = said.clone() else { panic!("{model}") };
            client.history.push(Entry::Ai { text, calls: calls.clone() });
            client.run_tools(&calls);
            town.seen();
            client.ask(&town, &town.gateway, &[]).await;
            let sent = town.seen().pop().unwrap().thoughts;
            assert!(sent.is_empty() || sent == thoughts, "{model} {at}: {sent:?}");
        }
    }
}

/// Asks, listens until nothing more comes, and goes away.
async fn leave(town: &Town, path: &str, body: &str) {
    let addr = town.gateway.strip_prefix("http://").unwrap();
    let mut caller = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer caller\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    caller.write_all(head.as_bytes()).await.unwrap();
    let mut piece = [0; 65536];
    let silence = Duration::from_millis(150);
    while let Ok(Ok(1..)) = tokio::time::timeout(silence, caller.read(&mut piece)).await {}
    drop(caller);
    // Its record is written by nobody who waits.
    tokio::time::sleep(Duration::from_millis(100)).await;
}
