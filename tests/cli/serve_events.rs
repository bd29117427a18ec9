//! `GET /v1/events` of `think serve`: what happens at this moment, to a listener on a socket.

use crate::place::Place;
use crate::pty::paced::Paced;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A key in no known format. Only the gateway's configuration shows that it is a secret.
const OWN: &str = "mauve-otter-walks-4711-home";
/// A key in a known format. It is in two parts so that secret scanners ignore this file.
const AWS: [&str; 2] = ["AKIA", "Q3EGRX7TNM2VLPZW"];

/// A listener, with the requests of a browser.
struct Ear {
    events: Receiver<Value>,
    /// All received text, for searches.
    raw: Arc<std::sync::Mutex<String>>,
}

impl Ear {
    fn listen(gateway: &Server, query: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(&gateway.addr).unwrap();
        // Without a length and chunks, so that its lines are the stream's.
        let head = format!("GET /v1/events{query} HTTP/1.0\r\nhost: localhost\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut said = String::new();
        while !said.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
        }
        assert!(said.starts_with("HTTP/1.0 200") || said.starts_with("HTTP/1.1 200"), "{said}");
        assert!(said.contains("content-type: text/event-stream"), "{said}");
        Self::of(reader)
    }

    fn of(mut reader: BufReader<TcpStream>) -> Self {
        let (sender, events) = channel();
        let raw = Arc::new(std::sync::Mutex::new(String::new()));
        let kept = Arc::clone(&raw);
        let mut first = String::new();
        while !first.ends_with("\n\n") {
            assert!(reader.read_line(&mut first).unwrap() > 0, "{first}");
        }
        assert!(first.starts_with(": listening\n") && first.contains("\nid: "), "{first}");
        std::thread::spawn(move || {
            let mut id = String::new();
            for line in reader.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&line);
                if let Some(said) = line.strip_prefix("id: ") {
                    said.clone_into(&mut id);
                }
                if let Some(data) = line.strip_prefix("data: ") {
                    let event: Value = serde_json::from_str(data).unwrap();
                    assert_eq!(event["id"], json!(id));
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
        });
        Ear { events, raw }
    }

    /// The next event.
    #[track_caller]
    fn next(&self) -> Value {
        self.events.recv_timeout(PATIENCE).expect("an event was waited for in vain")
    }

    /// All events up to the first of this type.
    #[track_caller]
    fn until(&self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            all.push(self.next());
            if all.last().unwrap()["type"] == kind {
                return all;
            }
        }
    }

    fn has_nothing(&self) -> bool {
        self.events.recv_timeout(Duration::from_millis(300)).is_err()
    }
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The joined text of the deltas of this type.
fn said(events: &[Value], kind: &str) -> String {
    let deltas = events.iter().filter(|event| event["type"] == kind);
    deltas.map(|event| event["data"]["delta"].as_str().unwrap()).collect()
}

fn question(model: &str) -> String {
    json!({"model": model, "stream": true, "messages": [{"role": "user", "content": "Why?"}]})
        .to_string()
}

/// A gateway for an upstream that sends on command.
struct Desk {
    _place: Place,
    paced: Paced,
    gateway: Arc<Server>,
}

impl Desk {
    fn new(more: &str) -> Self {
        let (place, paced) = (Place::new("events"), Paced::start());
        let own = paced.config().replacen("base_url", &format!("api_key = \"{OWN}\"\nbase_url"), 1);
        let gateway = Arc::new(serve(&place, &(own + more)));
        Desk { _place: place, paced, gateway }
    }

    /// A caller that waits for its answer.
    fn ask(&self, headers: &str) -> std::thread::JoinHandle<String> {
        let (gateway, headers) = (Arc::clone(&self.gateway), headers.to_owned());
        std::thread::spawn(move || {
            let headers = format!("content-type: application/json\r\n{headers}");
            gateway.request("POST", "/v1/chat/completions", &headers, &question("paced/m"))
        })
    }
}

#[test]
fn a_request_is_announced_and_its_masked_thought_is_heard_while_it_is_thought() {
    let desk = Desk::new("");
    let ear = Ear::listen(&desk.gateway, "", "");
    let asking = desk.ask("user-agent: some-agent/1.2 (x)\r\nx-thinkthrough-session: nightly\r\n");
    let routed = ear.until("request_routed");
    assert_eq!(types(&routed), ["request_started", "thoughts_decided", "request_routed"]);
    let started = &routed[0];
    for (name, value) in [
        ("client", json!("some-agent/1.2")),
        ("key", Value::Null),
        ("model", json!("paced/m")),
        ("route", json!("/v1/chat/completions")),
        ("streamed", json!(true)),
    ] {
        assert_eq!(started["data"][name], value, "{name} in {started}");
    }
    assert_eq!((&started["session"], &started["stream"]), (&json!("nightly"), &json!("lifecycle")));
    assert!(started["run"].is_string() && started["ts"].as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(routed[2]["data"]["provider"], "paced");
    assert_eq!(ear.next()["data"]["phase"], "waiting");

    // The model continues only when the listener has this. The key comes in two pieces.
    desk.paced.asked(1);
    let began = Instant::now();
    desk.paced.think("First I look ");
    let mut heard = ear.until("thinking_delta");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(heard[0]["data"]["phase"], "thinking");
    assert_eq!(heard[1]["type"], "thinking_start");
    for part in [AWS[0], AWS[1], ", and ours is mauve-otter", "-walks-4711-home. Done."] {
        desk.paced.think(part);
        std::thread::sleep(Duration::from_millis(150));
    }
    desk.paced.say("It works.");
    desk.paced.count(11, 22);
    desk.paced.end();
    heard.extend(ear.until("request_finished"));
    let answer = asking.join().unwrap();
    let thought = said(&heard, "thinking_delta");
    assert!(thought.starts_with("First I look ") && thought.ends_with(". Done."), "{thought}");
    assert_eq!(thought.matches("[masked:").count(), 2, "{thought}");
    assert_eq!(said(&heard, "text_delta"), "It works.");
    let kinds = types(&heard);
    let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
    assert!(at("thinking_end") < at("text_delta") && at("first_byte") < at("text_delta"));
    let end = heard.last().unwrap();
    assert_eq!(end["data"]["usage"]["input_tokens"], 11);
    assert_eq!(
        (&end["data"]["finish_reason"], &end["data"]["status"]),
        (&json!("stop"), &json!(200))
    );
    let trace = end["data"]["trace"].as_str().unwrap();
    assert!(answer.contains(&format!("trace={trace}")), "{answer}");
    assert!(heard.iter().all(|event| event["data"]["trace"] == trace), "{heard:?}");
    // The caller has all of it in clear, and the listener none.
    assert!(answer.contains(AWS[1]), "{answer}");
    let raw = ear.raw.lock().unwrap().clone();
    assert!(!raw.contains(AWS[1]) && !raw.contains("otter"), "{raw}");
}

#[test]
fn a_listener_hears_what_it_asks_for_and_goes_on_where_it_was_cut_off() {
    let desk = Desk::new("");
    let thoughts =
        Ear::listen(&desk.gateway, "?stream=thinking&types=thinking_delta,text_delta", "");
    let other = Ear::listen(&desk.gateway, "?session=other", "");
    let model = Ear::listen(&desk.gateway, "?model=m&types=request_finished", "");
    let provider = Ear::listen(&desk.gateway, "?provider=nobody", "");
    let first = Ear::listen(&desk.gateway, "", "");
    let asking = desk.ask("x-thinkthrough-session: nightly\r\n");
    desk.paced.asked(1);
    desk.paced.think("one");
    let before = first.until("thinking_delta");
    drop(first);
    desk.paced.think(" two");
    desk.paced.say("three");
    desk.paced.end();
    asking.join().unwrap();
    let end = model.next();
    assert_eq!(end["type"], "request_finished");
    let mut heard = Vec::new();
    while said(&heard, "text_delta") != "three" {
        heard.push(thoughts.next());
    }
    assert_eq!(said(&heard, "thinking_delta"), "one two");
    assert!(other.has_nothing() && provider.has_nothing());

    // The rest of the first listener's events, once and in order.
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    let last = id(before.last().unwrap());
    let again = Ear::listen(&desk.gateway, &format!("?after={last}"), "").until("request_finished");
    let by_header = Ear::listen(&desk.gateway, "", &format!("last-event-id: {last}\r\n"));
    assert_eq!(by_header.until("request_finished"), again);
    assert_eq!(said(&again, "thinking_delta"), " two");
    let number = |event: &Value| id(event).rsplit_once('-').unwrap().1.parse::<u64>().unwrap();
    let numbers: Vec<u64> = again.iter().map(number).collect();
    let from = number(before.last().unwrap()) + 1;
    assert_eq!(numbers, (from..from + again.len() as u64).collect::<Vec<u64>>());
    // For an id of no known listener, the gateway reports an unknown number of lost events.
    let stranger = Ear::listen(&desk.gateway, "?after=somewhere-7&stream=thinking", "").next();
    assert_eq!(
        (&stranger["type"], &stranger["data"]),
        (&json!("events_lost"), &json!({"count": null}))
    );
    for (query, named) in [("?streams=thinking", "stream, types"), ("?stream=x", "lifecycle")] {
        let refused = desk.gateway.request("GET", &format!("/v1/events{query}"), "", "");
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains(named), "{refused}");
    }
}

#[test]
fn a_slow_listener_loses_events_and_is_told_so_and_traffic_does_not_wait() {
    // Thoughts and words by turns, so that no two of them are one event.
    let chunk = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        format!("data: {}\n\n", json!({"model": "m", "choices": [choice]}))
    };
    let both = chunk(json!({"reasoning_content": "hm "})) + &chunk(json!({"content": "so "}));
    let end =
        json!({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let stream = both.repeat(15_000) + &format!("data: {end}\n\ndata: [DONE]\n\n");
    let upstream = Upstream::start(vec![stream]);
    let place = Place::new("slow");
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n",
        upstream.url
    );
    let gateway = serve(&place, &config);
    let mut slow = TcpStream::connect(&gateway.addr).unwrap();
    slow.write_all(b"GET /v1/events HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
    let mut reader = BufReader::new(slow);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    // It reads nothing more until the caller has all of its answer.
    let headers = "content-type: application/json\r\n";
    let answer = gateway.request("POST", "/v1/chat/completions", headers, &question("there/m"));
    assert!(answer.contains("[DONE]") && answer.matches("so ").count() == 15_000);
    let ear = Ear::of(reader);
    let heard = ear.until("request_finished");
    let number = |event: &Value| -> u64 {
        event["id"].as_str().unwrap().rsplit_once('-').unwrap().1.parse().unwrap()
    };
    let (mut last, mut lost) = (0, 0);
    for event in &heard {
        let expected = match event["type"] == "events_lost" {
            true => {
                let count = event["data"]["count"].as_u64().unwrap();
                lost += count;
                last + count
            }
            false => last + 1,
        };
        assert_eq!(number(event), expected, "{event}");
        last = expected;
    }
    assert!(lost > 0, "{} events came", heard.len());
}

#[test]
fn tenants_hear_their_own_requests_and_what_is_not_to_be_kept_is_not_heard() {
    let place = Place::new("events-keys");
    let keys = ["alice-key-0123456789", "bob-key-0123456789"];
    let [a, b] = keys;
    let gateway =
        serve(&place, &format!("[keys.alice]\nkey = \"{a}\"\n[keys.bob]\nkey = \"{b}\"\n"));
    let [alice, bob] = keys.map(|key| format!("authorization: Bearer {key}\r\n"));
    let nobody = gateway.request("GET", "/v1/events", "", "");
    assert!(nobody.starts_with("HTTP/1.1 401"), "{nobody}");
    let ears = [&alice, &bob].map(|key| Ear::listen(&gateway, "", key));
    let ask = |more: &str| {
        let headers = format!("content-type: application/json\r\n{alice}{more}");
        let answer =
            gateway.request("POST", "/v1/chat/completions", &headers, &question("sim/kimi-k2"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    ask("");
    let heard = ears[0].until("request_finished");
    assert_eq!(heard[0]["data"]["key"], "alice");
    assert!(
        !said(&heard, "thinking_delta").is_empty() && said(&heard, "text_delta").contains("Why")
    );
    assert!(ears[1].has_nothing());
    ask("x-thinkthrough-store: off\r\n");
    let heard = ears[0].until("request_finished");
    assert!(heard.iter().all(|event| event["stream"] == "lifecycle"), "{heard:?}");
    assert!(ears[1].has_nothing());
}

/// The next message of a WebSocket, and what it is.
fn message(reader: &mut impl Read) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    reader.read_exact(&mut head).unwrap();
    assert_eq!(head[0] & 0x80, 0x80, "messages are not cut");
    let length = match head[1] {
        short @ ..126 => u64::from(short),
        126 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length).unwrap();
            u16::from_be_bytes(length).into()
        }
        _ => {
            let mut length = [0; 8];
            reader.read_exact(&mut length).unwrap();
            u64::from_be_bytes(length)
        }
    };
    let mut body = vec![0; usize::try_from(length).unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head[0] & 0x0F, body)
}

#[test]
fn events_come_over_a_web_socket_as_they_do_in_lines() {
    const SHAKE: &str =
        "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
    let desk = Desk::new("");
    let ear = Ear::listen(&desk.gateway, "?stream=thinking", "");
    let mut stream = TcpStream::connect(&desk.gateway.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let head =
        format!("GET /v1/events?stream=thinking HTTP/1.1\r\nhost: localhost\r\n{SHAKE}{key}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut said = String::new();
    while !said.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert!(said.starts_with("HTTP/1.1 101"), "{said}");
    assert!(said.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{said}");
    let asking = desk.ask("");
    desk.paced.asked(1);
    desk.paced.think("a thought with a key: ");
    desk.paced.think(&AWS.concat());
    desk.paced.say(" and words");
    desk.paced.end();
    asking.join().unwrap();
    let mut heard: Vec<Value> = Vec::new();
    while heard.last().is_none_or(|event| event["type"] != "text_delta") {
        let (kind, body) = message(&mut reader);
        if kind == 1 {
            heard.push(serde_json::from_slice(&body).unwrap());
        }
    }
    let lines: Vec<Value> = (0..heard.len()).map(|_| ear.next()).collect();
    assert_eq!(heard, lines);
    assert!(!json!(heard).to_string().contains(AWS[1]), "{heard:?}");
    // The listener sends a close frame, and receives one.
    stream.write_all(&[0x88, 0x80, 1, 2, 3, 4]).unwrap();
    while message(&mut reader).0 != 8 {}

    for (headers, why) in
        [(SHAKE.to_owned(), "sec-websocket-key"), (SHAKE.replace("13", "8") + key, "version 13")]
    {
        let refused = desk.gateway.request("GET", "/v1/events", &headers, "");
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains(why), "{refused}");
    }
}

#[test]
fn failures_are_announced_too_and_listeners_are_let_go_when_the_gateway_stops() {
    let place = Place::new("events-failed");
    let gateway = serve(
        &place,
        "[providers.gone]\nwire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"k\"\n",
    );
    let ear = Ear::listen(&gateway, "", "");
    let headers = "content-type: application/json\r\n";
    gateway.request("POST", "/v1/chat/completions", headers, &question("gone/m"));
    let heard = ear.until("request_failed");
    let failed = heard.iter().find(|event| event["type"] == "upstream_failed").unwrap();
    assert_eq!(
        (&failed["data"]["provider"], &failed["data"]["reason"]),
        (&json!("gone"), &json!("connect"))
    );
    assert_eq!(heard.last().unwrap()["data"]["status"], 502);
    // An invalid request has only the events of its beginning and its end.
    gateway.request("POST", "/v1/messages", headers, "{");
    let heard = ear.until("request_failed");
    assert_eq!(types(&heard), ["request_started", "request_failed"]);
    assert_eq!(heard[1]["data"]["status"], 400);
    let began = Instant::now();
    gateway.signal(rustix::process::Signal::TERM);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(ear.events.recv_timeout(PATIENCE).is_err());
}
