//! Answers with many long thoughts: the gateway keeps the current thought in memory, and finished
//! ones in a file until the answer ends.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
const THOUGHT: usize = 256 * KIB;
const CALL: &str = "toolu_01A9b8C7d6E5f4G3h2J1k0";

/// A model that sends as many thoughts as its request names, waits for the test, and then calls a
/// tool.
#[derive(Default)]
struct Thinker {
    url: String,
    /// The number of answers that wait for the test.
    waiting: AtomicUsize,
    is_open: AtomicBool,
    asked: Mutex<String>,
}

impl Thinker {
    fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thinker = Arc::new(Thinker { url, ..Thinker::default() });
        let shared = Arc::clone(&thinker);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let thinker = Arc::clone(&shared);
                thread::spawn(move || thinker.answer(stream));
            }
        });
        thinker
    }

    fn answer(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim().to_ascii_lowercase().strip_prefix("content-length:") {
                Some(said) => length = said.trim().parse().ok()?,
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut asked = vec![0; length];
        reader.read_exact(&mut asked).ok()?;
        let asked = String::from_utf8(asked).ok()?;
        let thoughts = asked.rsplit("thoughts: ").next()?.split('"').next()?.parse().ok()?;
        *self.asked.lock().unwrap() = asked;
        let mut stream = stream;
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(event(&json!({"type": "message_start", "message": {"id": "m", "type": "message",
            "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}})).as_bytes()).ok()?;
        for index in 0..thoughts {
            think(&mut stream, index)?;
        }
        stream.write_all(call(thoughts).as_bytes()).ok()?;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !self.is_open.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5));
        }
        let end = [
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ];
        stream.write_all(end.iter().map(event).collect::<String>().as_bytes()).ok()
    }
}

fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

/// The text of one thought, unique by its index.
fn thought(index: usize) -> String {
    format!("SECRETLY {index} thought. ").repeat(THOUGHT / 20)
}

fn signature(index: usize) -> String {
    format!("c2lnbmF0dXJl{index:04}")
}

fn think(stream: &mut TcpStream, index: usize) -> Option<()> {
    let open = json!({"type": "content_block_start", "index": index,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""}});
    stream.write_all(event(&open).as_bytes()).ok()?;
    for piece in thought(index).as_bytes().chunks(8 * KIB) {
        let text = std::str::from_utf8(piece).unwrap();
        let delta = json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "thinking_delta", "thinking": text}});
        stream.write_all(event(&delta).as_bytes()).ok()?;
    }
    let end = [
        json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "signature_delta", "signature": signature(index)}}),
        json!({"type": "content_block_stop", "index": index}),
    ];
    stream.write_all(end.iter().map(event).collect::<String>().as_bytes()).ok()
}

fn call(index: usize) -> String {
    let tool = json!({"type": "tool_use", "id": CALL, "name": "list", "input": {}});
    let events = [
        json!({"type": "content_block_start", "index": index, "content_block": tool}),
        json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": index}),
    ];
    events.iter().map(event).collect()
}

/// A gateway for the model, with this memory limit and this store.
fn gateway(place: &Place, thinker: &Thinker, limit: &str, store: &str) -> Server {
    serve(
        place,
        &format!(
            "[server]\nmax_bytes_in_flight = \"{limit}\"\n{store}\
             [providers.there]\nextends = \"anthropic\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            thinker.url
        ),
    )
}

const HEADERS: &str = "content-type: application/json\r\nanthropic-version: 2023-06-01\r\n";

fn request(question: &str, rest: &[Value]) -> String {
    let mut messages = vec![json!({"role": "user", "content": question})];
    messages.extend_from_slice(rest);
    json!({"model": "there/claude-opus-4-5", "max_tokens": 32000, "stream": true, "messages": messages,
        "thinking": {"type": "enabled", "budget_tokens": 16000},
        "tools": [{"name": "list", "input_schema": {"type": "object", "properties": {}}}]})
    .to_string()
}

fn question(which: usize, thoughts: usize) -> String {
    format!("What is here ({which})? thoughts: {thoughts}")
}

fn ask(gateway: &Arc<Server>, which: usize, thoughts: usize) -> JoinHandle<String> {
    let gateway = Arc::clone(gateway);
    let body = request(&question(which, thoughts), &[]);
    thread::spawn(move || gateway.request("POST", "/v1/messages", HEADERS, &body))
}

/// Continues as a client that drops thoughts. The model must receive all of them, in order and with
/// their signatures.
fn goes_on(gateway: &Server, thinker: &Thinker, which: usize, thoughts: usize) {
    let rest = [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": CALL, "name": "list", "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": CALL, "content": "thoughts: 0"}]}),
    ];
    let body = request(&question(which, thoughts), &rest);
    // The record of an answer of this size is committed after the end of the answer.
    until("its thoughts are not put back", || {
        let answer = gateway.request("POST", "/v1/messages", HEADERS, &body);
        answer.contains("x-thinkthrough: restored=1; missed=0;")
    });
    let asked: Value = serde_json::from_str(&thinker.asked.lock().unwrap()).unwrap();
    let blocks = asked["messages"][1]["content"].as_array().unwrap();
    let kept: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "thinking").collect();
    assert_eq!(kept.len(), thoughts);
    for (index, block) in kept.into_iter().enumerate() {
        assert!(block["thinking"] == thought(index), "thought {index} differs");
        assert_eq!(block["signature"], signature(index));
    }
}

fn held(gateway: &Server) -> usize {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let line = metrics.lines().find_map(|line| line.strip_prefix("thinkthrough_bytes_in_flight "));
    line.unwrap().trim().parse().unwrap()
}

/// The spill files next to the store.
fn files(place: &Place) -> Vec<PathBuf> {
    let all = std::fs::read_dir(place.home()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_str().unwrap().contains(".spill-")).collect()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn t_28_an_answer_of_many_thoughts_holds_a_few_of_them_in_memory_and_its_record_has_all() {
    let (place, thinker) = (Place::new("spill"), Thinker::start());
    let gateway = Arc::new(gateway(&place, &thinker, "32MiB", IN_A_FILE));
    let asking = ask(&gateway, 0, 40);
    let mut most = 0;
    until("the model is not heard", || {
        most = most.max(held(&gateway));
        thinker.waiting.load(Ordering::SeqCst) == 1
    });
    let [file] = files(&place).try_into().expect("one answer has one file");
    until("the thoughts stay in memory", || {
        most = most.max(held(&gateway));
        file.metadata().unwrap().len() > 38 * THOUGHT as u64
    });
    assert!(most < 5 * THOUGHT, "{most} bytes were held");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = std::fs::read(&file).unwrap();
    for words in [&b"SECRETLY"[..], b"thought", signature(3).as_bytes()] {
        assert!(!bytes.windows(words.len()).any(|it| it == words), "it is in clear");
    }
    thinker.is_open.store(true, Ordering::SeqCst);
    let answer = asking.join().unwrap();
    assert!(answer.contains("event: message_stop"), "{answer:.600}");
    until("the file stays", || files(&place).is_empty());
    until("memory stays reserved", || held(&gateway) == 0);
    goes_on(&gateway, &thinker, 0, 40);
}

#[test]
fn t_28_a_crowd_of_answers_of_many_thoughts_is_whole() {
    let (place, thinker) = (Place::new("spill-crowd"), Thinker::start());
    let gateway = Arc::new(gateway(&place, &thinker, "16MiB", IN_A_FILE));
    let asking: Vec<_> = (0..12).map(|which| ask(&gateway, which, 12)).collect();
    until("they do not fit", || thinker.waiting.load(Ordering::SeqCst) == 12);
    thinker.is_open.store(true, Ordering::SeqCst);
    for answer in asking {
        let answer = answer.join().unwrap();
        assert!(answer.contains("event: message_stop"), "{answer:.600}");
    }
    until("the files stay", || files(&place).is_empty());
    (0..12).for_each(|which| goes_on(&gateway, &thinker, which, 12));
}

#[test]
fn t_28_an_answer_that_does_not_fit_at_its_end_is_no_success() {
    let (place, thinker) = (Place::new("spill-large"), Thinker::start());
    let gateway = Arc::new(gateway(&place, &thinker, "4MiB", IN_A_FILE));
    thinker.is_open.store(true, Ordering::SeqCst);
    let answer = ask(&gateway, 0, 40).join().unwrap();
    assert!(answer.contains(&signature(39)), "all of it came");
    assert!(!answer.contains("event: message_stop"), "it looks whole");
    let last = answer.rsplit("event: ").next().unwrap();
    assert!(last.starts_with("error") && last.contains("no memory left"), "{last}");
    until("the file stays", || files(&place).is_empty());
    until("memory stays reserved", || held(&gateway) == 0);
}

#[test]
fn t_28_a_kill_leaves_no_thought_that_counts() {
    let (place, thinker) = (Place::new("spill-kill"), Thinker::start());
    let first = Arc::new(gateway(&place, &thinker, "32MiB", IN_A_FILE));
    let asking = ask(&first, 0, 10);
    until("no thought leaves memory", || thinker.waiting.load(Ordering::SeqCst) == 1);
    until("no file is made", || files(&place).len() == 1);
    first.signal(Signal::KILL);
    drop(asking.join());
    assert_eq!(files(&place).len(), 1, "the kill leaves the file");
    let second = gateway(&place, &thinker, "32MiB", IN_A_FILE);
    until("the file stays", || files(&place).is_empty());
    let said = second.stop();
    assert!(!said.contains("spill") && !said.contains("the journal"), "{said}");
}

#[test]
fn t_28_what_a_caller_that_went_away_was_told_is_kept() {
    let (place, thinker) = (Place::new("spill-left"), Thinker::start());
    let gateway = gateway(&place, &thinker, "32MiB", IN_A_FILE);
    let mut caller = TcpStream::connect(&gateway.addr).unwrap();
    let body = request(&question(0, 10), &[]);
    let head = format!(
        "POST /v1/messages HTTP/1.0\r\nhost: localhost\r\n{HEADERS}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    caller.write_all(head.as_bytes()).unwrap();
    let mut said = Vec::new();
    while !said.ends_with(call(10).as_bytes()) {
        let mut piece = [0; 64 * KIB];
        let count = caller.read(&mut piece).unwrap();
        assert_ne!(count, 0, "the answer ended");
        said.extend_from_slice(&piece[..count]);
    }
    drop(caller);
    until("the answer goes on", || held(&gateway) == 0);
    assert_eq!(files(&place), Vec::<PathBuf>::new());
    thinker.is_open.store(true, Ordering::SeqCst);
    goes_on(&gateway, &thinker, 0, 10);
}

#[test]
fn t_28_without_a_journal_thoughts_stay_in_memory() {
    let (place, thinker) = (Place::new("spill-none"), Thinker::start());
    // No journal can be created: its name is longer than the store's name, and would exceed 255
    // bytes.
    let store = format!("[store]\nurl = \"sqlite:{}.db\"\n", "s".repeat(226));
    let gateway = Arc::new(gateway(&place, &thinker, "32MiB", &store));
    let asking = ask(&gateway, 0, 10);
    until("it is not heard", || thinker.waiting.load(Ordering::SeqCst) == 1);
    until("its memory is not counted", || held(&gateway) > 10 * THOUGHT);
    assert!(held(&gateway) < 4 * MIB);
    thinker.is_open.store(true, Ordering::SeqCst);
    assert!(asking.join().unwrap().contains("event: message_stop"));
    until("memory stays reserved", || held(&gateway) == 0);
    goes_on(&gateway, &thinker, 0, 10);
}
