//! What a gateway that is killed leaves behind, and how it keeps a connection alive through long silence.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn tools() -> Value {
    let list = json!({"name": "list", "parameters": {"type": "object", "properties": {}}});
    json!([{"type": "function", "function": list}])
}

fn first_turn(which: u32) -> Value {
    let asked = format!("What is in this folder? ({which})");
    json!({"model": "sim/kimi-k2", "stream": true, "tools": tools(),
        "messages": [{"role": "user", "content": asked}]})
}

/// Posts a request, and gives what came until the connection ended, however it did.
fn post(addr: &str, request: &Value) -> Option<String> {
    let mut stream = TcpStream::connect(addr).ok()?;
    let request = request.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{request}",
        request.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut said = Vec::new();
    drop(stream.read_to_end(&mut said));
    Some(String::from_utf8_lossy(&said).into_owned())
}

/// The second turn of a client that keeps what it saw, and drops the thought; `None` where it saw nothing.
fn second_turn(first: &Value, said: &str) -> Option<Value> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for line in said.lines().filter_map(|line| line.strip_prefix("data: {")) {
        let Ok(event) = serde_json::from_str::<Value>(&format!("{{{line}")) else { continue };
        let delta = &event["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if at == calls.len() {
                calls.push((String::new(), String::new(), String::new()));
            }
            let parts = &mut calls[at];
            let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            parts.0.push_str(&part(&call["id"]));
            parts.1.push_str(&part(&call["function"]["name"]));
            parts.2.push_str(&part(&call["function"]["arguments"]));
        }
    }
    let mut request = first.clone();
    let messages = request["messages"].as_array_mut().unwrap();
    let (id, name, arguments) = calls.first()?.clone();
    let call =
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    messages.push(json!({"role": "assistant", "content": text, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "README.md"}));
    Some(request)
}

/// What stands in an answer whose end did not wait for its record.
const UNSAVED: &str = ": this answer ended before its thoughts were saved";

/// The answer is whole, and its record was there before its end.
fn is_acknowledged(answer: &str) -> bool {
    answer.contains("[DONE]") && !answer.contains(UNSAVED)
}

/// How many look-ups took too long.
fn blind(gateway: &Server) -> usize {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let named =
        |line: &'_ str| line.strip_prefix("thinkthrough_lookups_failed_total ")?.parse().ok();
    metrics.lines().find_map(named).unwrap()
}

/// The trace that the head of an answer names.
fn trace_of(answer: &str) -> Option<String> {
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:"))?;
    let (_, rest) = line.split_once("trace=")?;
    Some(rest.split(';').next()?.trim().to_owned())
}

/// Those of these answers whose traces the gateway says to be in the store.
fn stored<'a>(gateway: &Server, answers: impl Iterator<Item = &'a String>) -> Vec<String> {
    let is_stored = |id: &String| {
        let path = format!("/v1/traces/{id}");
        gateway.request("GET", &path, "", "").contains("\"state\":\"stored\"")
    };
    answers.filter_map(|answer| trace_of(answer)).filter(is_stored).collect()
}

/// How often each of the latest traces is in the store.
fn traces(place: &Place) -> BTreeMap<String, usize> {
    let file = place.file("config.toml");
    let ran = place.think(&["traces", "list", "--json", "--limit", "3000", "--config", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut all = BTreeMap::new();
    for trace in ran.json().as_array().unwrap() {
        *all.entry(trace["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    all
}

/// How often it is killed: `THINKTHROUGH_KILLS` takes more.
fn rounds() -> u64 {
    let said = std::env::var("THINKTHROUGH_KILLS").ok();
    said.and_then(|it| it.parse().ok()).unwrap_or(12)
}

#[test]
fn k_1_whenever_it_is_killed_it_is_back_at_once_and_knows_what_it_acknowledged() {
    let place = Place::new("killed");
    let next = AtomicU32::new(0);
    let (mut whole, mut broken, mut unsaved, mut kept) = (0, 0, 0, 0);
    let mut slowest = Duration::ZERO;
    for round in 0..rounds() {
        let gateway = serve(&place, IN_A_FILE);
        // It knows whose requests these are, so that it keeps every answer, or says that it does not.
        let first = first_turn(next.fetch_add(1, Ordering::Relaxed));
        gateway.ask_in_time("/v1/chat/completions", &first.to_string());
        let stop = Arc::new(AtomicBool::new(false));
        let said: Mutex<Vec<(Value, String)>> = Mutex::default();
        let mut acknowledged = Vec::new();
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let first = first_turn(next.fetch_add(1, Ordering::Relaxed));
                        let Some(answer) = post(&gateway.addr, &first) else { break };
                        said.lock().unwrap().push((first, answer));
                    }
                });
            }
            // When so many whole answers are there, and a moment later.
            let wholes = || said.lock().unwrap().iter().filter(|it| is_acknowledged(&it.1)).count();
            while wholes() < 5 && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(Duration::from_millis(round * 37 % 50));
            let answers: Vec<String> =
                said.lock().unwrap().iter().map(|(_, answer)| answer.clone()).collect();
            acknowledged = stored(&gateway, answers.iter());
            gateway.signal(Signal::KILL);
            stop.store(true, Ordering::Relaxed);
        });
        drop(gateway);
        let began = Instant::now();
        let gateway = serve(&place, IN_A_FILE);
        assert!(gateway.request("GET", "/readyz", "", "").starts_with("HTTP/1.1 200"));
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        slowest = slowest.max(began.elapsed());
        let there = traces(&place);
        assert!(there.values().all(|count| *count == 1), "a trace is there twice: {there:?}");
        let gone: Vec<&String> =
            acknowledged.iter().filter(|id| !there.contains_key(*id)).collect();
        assert!(gone.is_empty(), "acknowledged traces are lost, round {round}: {gone:?}");
        kept += acknowledged.len();
        let mut lost = 0;
        for (first, answer) in said.into_inner().unwrap() {
            let Some(second) = second_turn(&first, &answer) else { continue };
            let again = post(&gateway.addr, &second).unwrap();
            let is_back = again.contains("x-thinkthrough: restored=1; missed=0;");
            if answer.contains(UNSAVED) {
                unsaved += 1;
            } else if is_acknowledged(&answer) {
                whole += 1;
                lost += usize::from(!is_back);
            } else {
                // Half an answer has no thought, unless it is all there and only its end was not heard.
                broken += 1;
                let is_whole = answer.contains("\"finish_reason\":\"tool_calls\"");
                assert!(!is_back || is_whole, "{answer}\n{again}");
            }
        }
        let blind = blind(&gateway);
        assert!(
            lost <= blind,
            "{lost} acknowledged answers are lost ({blind} unseen), round {round}"
        );
    }
    println!(
        "{} kills: {whole} whole answers, {broken} broken ones, {unsaved} that were not saved in time; {kept} traces \
         acknowledged; ready again within {slowest:?}",
        rounds()
    );
    assert!(whole > 50 && kept > 0, "{whole} {kept}");
}

/// Whether the thought of an answer is put back into the turn that follows it.
fn is_put_back(gateway: &Server, first: &Value, answer: &str) -> bool {
    let second = second_turn(first, answer).unwrap();
    let again = post(&gateway.addr, &second).unwrap();
    again.contains("x-thinkthrough: restored=1; missed=0;")
}

#[test]
fn k_1_killed_right_after_the_last_byte_it_has_lost_nothing() {
    let place = Place::new("last-byte");
    let mut heard: Vec<(Value, String)> = Vec::new();
    let mut acknowledged = 0;
    for round in 0..20 {
        let gateway = serve(&place, IN_A_FILE);
        let blind_before = blind(&gateway);
        let lost = heard.iter().filter(|(first, answer)| !is_put_back(&gateway, first, answer));
        let (lost, unseen) = (lost.count(), blind(&gateway) - blind_before);
        assert!(lost <= unseen, "{lost} of {} are lost ({unseen} unseen)", heard.len());
        heard.clear();
        // A different number of them waits for the database each time.
        for which in 0..=round % 7 {
            let first = first_turn(round * 100 + which);
            let answer = post(&gateway.addr, &first).unwrap();
            if is_acknowledged(&answer) {
                heard.push((first, answer));
            }
        }
        gateway.signal(Signal::KILL);
        acknowledged += heard.len();
    }
    println!("{acknowledged} answers");
    assert!(acknowledged > 50, "{acknowledged}");
}

#[test]
fn d_1_no_answer_waits_for_a_database_that_another_process_holds() {
    let place = Place::new("held");
    let gateway = serve(&place, IN_A_FILE);
    // It knows whose requests these are from here on.
    gateway.ask_in_time("/v1/chat/completions", &first_turn(0).to_string());
    let other = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let rows = || {
        let sql = "SELECT count(*) FROM record";
        other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = rows();
    let heard: Vec<(Value, String)> = (1..=10)
        .map(|which| {
            let first = first_turn(which);
            let answer = post(&gateway.addr, &first).unwrap();
            assert!(is_acknowledged(&answer), "{which}: {answer}");
            (first, answer)
        })
        .collect();
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
    let metrics = gateway.request("GET", "/metrics", "", "");
    assert!(metrics.contains("\nthinkthrough_unsaved_total 0\n"), "{metrics}");
    assert_eq!(rows(), before, "the database is held");
    gateway.signal(Signal::KILL);
    drop(gateway);
    // The next one reads what was left before the database can take it.
    let gateway = serve(&place, IN_A_FILE);
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
    other.execute_batch("ROLLBACK").unwrap();
    let began = Instant::now();
    while rows() < before + 10 {
        assert!(began.elapsed() < PATIENCE, "the database never has them");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
}

/// Asks for a stream and gives when which line came.
fn lines(gateway: &Server, model: &str, path: &str) -> Vec<(Duration, String)> {
    let asked = json!({"model": model, "stream": true, "max_tokens": 3000,
        "messages": [{"role": "user", "content": "what is a zebra"}]});
    let asked = asked.to_string();
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{asked}",
        asked.len()
    )
    .unwrap();
    let began = Instant::now();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.map(|line| (began.elapsed(), line)).collect()
}

/// A relay that lets a request through after this time.
fn late(to: &str, after: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let to = to.to_owned();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (mut near, to) = (near.unwrap(), to.clone());
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let mut far = TcpStream::connect(to).unwrap();
                let (mut back, mut there) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut near, &mut there));
                drop(std::io::copy(&mut far, &mut back));
            });
        }
    });
    addr
}

#[test]
fn u_2_u_3_a_stream_is_kept_alive_through_long_silence() {
    let place = Place::new("silence");
    // A word every 15 seconds, so there are two of them, with seconds to spare on a busy machine.
    let sims = [&["--fault", "stall=38000"][..], &["--fault", "stall=38000,stall-at=2"], &[]]
        .map(|args| Server::start("sim", args));
    // Silence before the head, behind it, and in the middle.
    let [behind, within, prompt] = &sims;
    let before = late(&prompt.addr, Duration::from_secs(38));
    let provider = |name: &str, addr: &str| {
        format!(
            "[providers.{name}]\nextends = \"moonshotai\"\nbase_url = \"http://{addr}/kimi-k2/v1\"\napi_key = \"k\"\n"
        )
    };
    let config = provider("before", &before)
        + &provider("behind", &behind.addr)
        + &provider("within", &within.addr);
    let gateway = serve(&place, &config);
    std::thread::scope(|scope| {
        for which in ["before", "behind", "within"] {
            // On the model's own wire, and on another one.
            for (path, end) in
                [("/v1/chat/completions", "[DONE]"), ("/v1/messages", "message_stop")]
            {
                let gateway = &gateway;
                scope.spawn(move || {
                    let lines = lines(gateway, &format!("{which}/kimi-k2-thinking"), path);
                    let comments = lines.iter().filter(|(_, line)| line.starts_with(": "));
                    let times: Vec<u64> = comments.map(|(at, _)| at.as_secs()).collect();
                    let is_right = matches!(times[..], [14..=29, 29..=60]);
                    assert!(is_right, "{path} {which}: {times:?}");
                    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
                    let whole = text.join("\n");
                    assert!(whole.starts_with("HTTP/1.1 200"), "{path} {which}: {whole}");
                    assert!(
                        whole.contains(end) && !whole.contains("error"),
                        "{path} {which}: {whole}"
                    );
                });
            }
        }
    });
}
