//! Keys that are revoked while something of theirs goes on: listeners, sessions of the viewer,
//! uploads, answers.

use crate::place::Place;
use crate::postgres::Database;
use crate::pty::paced::Paced;
use crate::serve_access::Lock;
use crate::serve_config::{question, serve};
use crate::serve_shared::on_server;
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A revocation holds within this time.
const HOLDS: Duration = Duration::from_secs(5);
const STORE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

/// A connection that the gateway is to end.
struct Listening {
    /// Sends the bytes that came, when the connection ends.
    ended: Receiver<Vec<u8>>,
}

impl Listening {
    /// Server-sent events.
    fn lines(gateway: &Server, path: &str, headers: &str) -> Self {
        let head = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n{headers}\r\n");
        Self::open(gateway, &head, "200")
    }

    /// A WebSocket.
    fn socket(gateway: &Server, headers: &str) -> Self {
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        Self::open(gateway, &head, "101")
    }

    fn open(gateway: &Server, head: &str, status: &str) -> Self {
        let mut stream = TcpStream::connect(&gateway.addr).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut said = String::new();
        while !said.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
        }
        assert_eq!(said.get(9..12), Some(status), "{said}");
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let mut all = Vec::new();
            // A broken connection ended, too.
            drop(reader.read_to_end(&mut all));
            drop(sender.send(all));
        });
        Listening { ended }
    }

    #[track_caller]
    fn ends(&self) -> Vec<u8> {
        self.ended.recv_timeout(HOLDS).expect("it listens on")
    }

    fn is_open(&self) -> bool {
        self.ended.try_recv().is_err()
    }
}

fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

fn created(place: &Place, config: &str, name: &str) -> String {
    let config = place.write("keys.toml", config);
    let made = place.think(&["keys", "--config", &config, "create", name, "--json"]).json();
    bearer(made["key"].as_str().unwrap())
}

fn revoke(place: &Place, config: &str, name: &str) {
    let config = place.write("keys.toml", config);
    let ran = place.think(&["keys", "--config", &config, "revoke", name]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// The configuration of a running gateway changes.
fn reload(place: &Place, gateway: &Server, config: &str) {
    let before = gateway.said().matches("was read again").count();
    place.write("config.toml", config);
    gateway.signal(Signal::HUP);
    let began = Instant::now();
    while gateway.said().matches("was read again").count() == before {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or_else(|| panic!("{answer}"))
}

/// Listeners of one key end when it is revoked by another process, and those of another key do not.
fn revoked_in_the_store(place: &Place, config: &str) {
    let (alice, bob) = (created(place, config, "alice"), created(place, config, "bob"));
    let gateways = [serve(place, config), serve(place, config)];
    let of_alice = gateways.each_ref().map(|gateway| {
        [Listening::lines(gateway, "/v1/events", &alice), Listening::socket(gateway, &alice)]
    });
    let of_bob = Listening::lines(&gateways[0], "/v1/events", &bob);
    // A good deal longer than a key is read again.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(of_alice.iter().flatten().all(Listening::is_open));
    revoke(place, config, "alice");
    let began = Instant::now();
    for [lines, socket] in &of_alice {
        lines.ends();
        let said = socket.ends();
        // Close with 1008, and why.
        assert_eq!(said[said.len() - 34..][..4], [0x88, 32, 3, 0xF0], "{said:?}");
        assert!(said.ends_with(b"the key does not hold any more"), "{said:?}");
    }
    assert!(began.elapsed() < HOLDS, "{:?}", began.elapsed());
    assert!(of_bob.is_open());
    for gateway in &gateways {
        assert_eq!(status(&gateway.request("GET", "/v1/events", &alice, "")), "401");
    }
}

#[test]
fn t_5_a_revoked_key_hears_nothing_more_within_five_seconds() {
    revoked_in_the_store(&Place::new("revoked"), STORE);
}

#[test]
fn t_5_a_revoked_key_hears_nothing_more_on_any_gateway_of_a_server() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("revoked-server");
    let config = on_server(&place, &database).replace("keyless = true", "keyless = false");
    revoked_in_the_store(&place, &config);
}

const ALICE: &str = "alice-key-0123456789";
const BOB: &str = "bob-key-0123456789";

fn key(name: &str, key: &str, more: &str) -> String {
    format!("[keys.{name}]\nkey = \"{key}\"\n{more}")
}

#[test]
fn t_5_a_key_that_goes_from_the_configuration_hears_nothing_more() {
    let place = Place::new("sighup");
    let (alice, bob) = (key("alice", ALICE, ""), key("bob", BOB, ""));
    let gateway = serve(&place, &format!("{alice}{bob}"));
    let of_alice = Listening::lines(&gateway, "/v1/events", &bearer(ALICE));
    let of_bob = Listening::socket(&gateway, &bearer(BOB));
    // Other models are no other requests to hear.
    reload(&place, &gateway, &format!("{}{bob}", key("alice", ALICE, "models = [\"x\"]\n")));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(of_alice.is_open() && of_bob.is_open());
    reload(&place, &gateway, &bob);
    of_alice.ends();
    assert!(of_bob.is_open());
    // The same key, of another tenant.
    reload(&place, &gateway, &key("robert", BOB, ""));
    of_bob.ends();
}

#[test]
fn t_5_a_listener_without_a_key_ends_when_the_first_key_is_made() {
    let place = Place::new("first-key");
    let gateway = serve(&place, STORE);
    let listening = Listening::lines(&gateway, "/v1/events", "");
    reload(&place, &gateway, &format!("default_model = \"sim/default\"\n{STORE}"));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(listening.is_open(), "the configuration changed, its requests did not");
    created(&place, STORE, "alice");
    listening.ends();
}

/// Signs in to the viewer; the header that shows it.
fn signed_in(gateway: &Server, order: &Value) -> String {
    let headers = "content-type: application/json\r\nx-thinkthrough-viewer: 1\r\n";
    let answer = gateway.request("POST", "/ui/api/sign-in", headers, &order.to_string());
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let (cookie, _) = cookie.unwrap_or_else(|| panic!("{answer}")).split_once(';').unwrap();
    format!("cookie: {cookie}\r\n")
}

#[test]
fn t_8_a_session_of_the_viewer_ends_with_its_key_and_does_not_come_back() {
    let place = Place::new("session");
    let bob = key("bob", BOB, "");
    let admin = key("alice", ALICE, "admin = true\n");
    let gateway = serve(&place, &format!("{admin}{bob}"));
    let session = signed_in(&gateway, &json!({"key": ALICE}));
    let me = || gateway.request("GET", "/ui/api/me", &session, "");
    assert!(me().contains("\"admin\":true"), "{}", me());
    let listening = Listening::lines(&gateway, "/ui/api/events", &session);
    let ask = || {
        let headers = format!("content-type: application/json\r\n{}", bearer(BOB));
        gateway.request("POST", "/v1/chat/completions", &headers, &question("sim/groq"))
    };
    // Other callers are busy meanwhile, so that the listener always receives events.
    std::thread::scope(|scope| {
        let (stop, stopped) = channel::<()>();
        scope.spawn(move || {
            let pause = Duration::from_millis(50);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                assert_eq!(status(&ask()), "200");
            }
        });
        std::thread::sleep(Duration::from_millis(1500));
        assert!(listening.is_open());
        // It shows everybody's requests no longer.
        reload(&place, &gateway, &format!("{}{bob}", key("alice", ALICE, "")));
        listening.ends();
        stop.send(()).unwrap();
    });
    let again = signed_in(&gateway, &json!({"key": ALICE}));
    let listening = Listening::lines(&gateway, "/ui/api/events", &again);
    reload(&place, &gateway, &bob);
    listening.ends();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        assert_eq!(status(&me()), "401");
        std::thread::sleep(Duration::from_millis(100));
    }
    reload(&place, &gateway, &format!("{admin}{bob}"));
    for session in [&session, &again] {
        assert_eq!(status(&gateway.request("GET", "/ui/api/me", session, "")), "401");
    }
}

#[test]
fn a_browser_that_signs_out_hears_nothing_more() {
    let place = Place::new("sign-out");
    let gateway = serve(&place, &key("alice", ALICE, ""));
    let session = signed_in(&gateway, &json!({"key": ALICE}));
    let listening = Listening::lines(&gateway, "/ui/api/events", &session);
    let headers =
        format!("{session}content-type: application/json\r\nx-thinkthrough-viewer: 1\r\n");
    assert_eq!(status(&gateway.request("POST", "/ui/api/sign-out", &headers, "{}")), "200");
    listening.ends();
}

#[test]
fn t_5_an_answer_under_way_is_finished_and_booked() {
    let (place, paced) = (Place::new("under-way"), Paced::start());
    let config = paced.config().replacen("base_url", "api_key = \"ours\"\nbase_url", 1) + STORE;
    let alice = created(&place, &config, "alice");
    let gateway = serve(&place, &config);
    let body =
        json!({"model": "paced/m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "Why?"}]})
        .to_string();
    let headers = format!("content-type: application/json\r\n{alice}");
    let answer = std::thread::scope(|scope| {
        let ask = || gateway.request("POST", "/v1/chat/completions", &headers, &body);
        let asking = scope.spawn(ask);
        paced.asked(1);
        paced.think("before");
        revoke(&place, &config, "alice");
        std::thread::sleep(HOLDS);
        assert_eq!(status(&gateway.request("GET", "/v1/models", &alice, "")), "401");
        paced.think(" and after");
        paced.say("So.");
        paced.count(7, 9);
        paced.end();
        asking.join().unwrap()
    });
    assert!(answer.contains(" and after") && answer.contains("[DONE]"), "{answer}");
    let config = place.write("keys.toml", &config);
    let began = Instant::now();
    let traces = loop {
        let traces = place.think(&["traces", "list", "--json", "--config", &config]).out;
        if traces.contains("paced") {
            break traces;
        }
        assert!(began.elapsed() < PATIENCE, "{traces}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(traces.contains("alice") && traces.contains("16"), "{traces}");
}

#[test]
fn t_5_a_body_that_comes_after_the_revocation_is_refused() {
    let (place, upstream) = (Place::new("upload"), Lock::new(|_| 200));
    let config = format!(
        "{STORE}[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"ours\"\n",
        upstream.url
    );
    let alice = created(&place, &config, "alice");
    let gateway = serve(&place, &config);
    let body = question("there/m");
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{alice}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let (first, rest) = body.split_at(10);
    stream.write_all((head + first).as_bytes()).unwrap();
    revoke(&place, &config, "alice");
    std::thread::sleep(HOLDS);
    stream.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "401", "{answer}");
    assert!(answer.contains("invalid_key"), "{answer}");
    assert_eq!(upstream.seen(), [""; 0]);
}
