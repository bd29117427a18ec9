//! Attacks on `think serve`. Each test has the number of its threat.

use crate::place::Place;
use crate::serve_access::Lock;
use crate::serve_config::{question, serve};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn t_1_no_request_leads_the_gateway_elsewhere() {
    let place = Place::new("steer");
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let there = format!("http://{}", trap.local_addr().unwrap());
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"canary\"\n",
        lock.url
    );
    let gateway = serve(&place, &config);
    let plain: Value = serde_json::from_str(&question("there/m")).unwrap();
    for field in [
        "api_base",
        "base_url",
        "API_BASE",
        "Base_Url",
        "api_key",
        "extra_headers",
        "custom_llm_provider",
        "extra_body",
    ] {
        let mut steered = plain.clone();
        steered[field] = json!(there);
        let answer = gateway.ask("/v1/chat/completions", &steered.to_string());
        assert!(answer.starts_with("HTTP/1.1 400"), "{field}: {answer}");
        let members = plain.to_string();
        let members = members.trim_start_matches('{');
        let twice = format!("{{\"{field}\":1,\"{field}\":\"{there}\",{members}");
        let answer = gateway.ask("/v1/chat/completions", &twice);
        assert!(answer.starts_with("HTTP/1.1 400"), "{field}: {answer}");
    }
    assert_eq!(lock.seen().len(), 0);
    let json = "content-type: application/json\r\n";
    for headers in [
        format!("x-api-base: {there}\r\n"),
        format!("api-base: {there}\r\n"),
        format!("x-forwarded-for: {}\r\n", trap.local_addr().unwrap()),
    ] {
        let headers = format!("{json}{headers}");
        let asked = gateway.request("POST", "/v1/chat/completions", &headers, &question("there/m"));
        assert!(asked.starts_with("HTTP/1.1 200"), "{asked}");
    }
    let path = format!("/v1/chat/completions?api_base={there}&base_url={there}");
    drop(gateway.ask(&path, &question("there/m")));
    for path in [
        format!("/p/{there}/v1/models"),
        format!("/p/there/{there}/x"),
        format!("/p/there/@{}/x", trap.local_addr().unwrap()),
        "/p/there/../x".to_owned(),
        "/p/there/%2e%2e/x".to_owned(),
        "/p/there//evil.example/x".to_owned(),
    ] {
        drop(gateway.request("GET", &path, "", ""));
    }
    assert!(trap.accept().is_err(), "somebody was led there");
}

#[test]
fn t_2_no_redirect_of_an_upstream_is_followed() {
    let place = Place::new("redirect");
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let target = format!("http://{}/", trap.local_addr().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n",
        listener.local_addr().unwrap()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut piece, mut seen) = ([0; 4096], Vec::new());
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                seen.extend_from_slice(&piece[..read]);
                if String::from_utf8_lossy(&seen).contains("zebra") {
                    break;
                }
            }
            let head = format!("HTTP/1.1 307 x\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            drop(stream.write_all(head.as_bytes()));
        }
    });
    let gateway = serve(&place, &config);
    let answer = gateway.ask("/v1/chat/completions", &question("there/m"));
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(trap.accept().is_err(), "the redirect was followed");
}

#[test]
fn t_4_two_credentials_are_refused_on_every_route() {
    let gateway = Server::start("serve", &[]);
    let two = "content-type: application/json\r\nauthorization: Bearer a\r\nx-api-key: b\r\n";
    for path in [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1beta/models/sim/groq:generateContent",
        "/v1beta/models/sim/groq:countTokens",
        "/api/chat",
        "/api/generate",
        "/p/openai/v1/embeddings",
    ] {
        let answer = gateway.request("POST", path, two, &question("sim/groq"));
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("two different"),
            "{path}: {answer}"
        );
        let keys = format!("{path}?key=c");
        let one = "content-type: application/json\r\nx-goog-api-key: d\r\n";
        let answer = gateway.request("POST", &keys, one, &question("sim/groq"));
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("two different"),
            "{path}: {answer}"
        );
    }
}

#[test]
fn t_17_the_log_tells_who_and_how_long_and_nothing_that_was_said() {
    let place = Place::new("log");
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[server]\nlog = \"json\"\n\
         [providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"canary-ours\"\n",
        lock.url
    );
    let gateway = serve(&place, &config);
    let said = json!([{"role": "user", "content": "canary-question"}]);
    let headers = "content-type: application/json\r\nauthorization: Bearer canary-theirs\r\n\
                   x-thinkthrough-session: canary-session\r\n";
    for (path, model) in [
        ("/v1/chat/completions?x=canary-query", "there/m"),
        ("/v1/chat/completions?key=canary-theirs", "sim/kimi-k2"),
        ("/v1/messages", "sim/anthropic-manual"),
        ("/v1/messages", "nobody"),
        ("/p/there/canary-path", "there/m"),
        ("/canary-nowhere", "there/m"),
    ] {
        let asked = json!({"model": model, "max_tokens": 9, "messages": said}).to_string();
        drop(gateway.request("POST", path, headers, &asked));
    }
    drop(gateway.request("POST", "/v1/chat/completions", headers, "{canary-broken"));
    let log = log_of(gateway);
    assert!(!log.contains("canary"), "{log}");
    let lines: Vec<Value> = log
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 7, "{log}");
    let first = &lines[0];
    assert_eq!(first["event"], "request");
    assert_eq!(first["route"], "/v1/chat/completions");
    assert_eq!((&first["model"], &first["provider"]), (&json!("there/m"), &json!("there")));
    assert_eq!((&first["status"], &first["outcome"]), (&json!(200), &json!("completed")));
    assert_eq!(first["id"].as_str().unwrap().len(), 32);
    assert!(first["total_ms"].is_u64() && first["bytes"].as_u64().unwrap() > 10, "{first}");
}

#[test]
fn t_17_a_log_can_be_for_people_or_off() {
    let place = Place::new("logs");
    let text = serve(&place, "");
    drop(text.ask("/v1/chat/completions", &question("sim/groq")));
    let said = log_of(text);
    assert!(
        said.contains("200 /v1/chat/completions completed model=sim/groq provider=sim"),
        "{said}"
    );
    let off = serve(&place, "[server]\nlog = \"off\"\n");
    drop(off.ask("/v1/chat/completions", &question("sim/groq")));
    let said = log_of(off);
    assert!(!said.contains("completed"), "{said}");
}

/// The output of a gateway that ended properly, with its log.
pub(crate) fn log_of(gateway: Server) -> String {
    gateway.signal(Signal::INT);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    said
}

#[test]
fn t_25_every_route_knows_whom_it_answers() {
    let gateway = Server::start("serve", &[]);
    for path in
        ["/", "/livez", "/readyz", "/metrics", "/v1/models", "/api/tags", "/v1beta/models/x"]
    {
        let answer = gateway.request("GET", path, "host: evil.example\r\n", "");
        assert!(answer.starts_with("HTTP/1.1 421"), "{path}: {answer}");
    }
    for path in
        ["/v1/chat/completions", "/v1/messages/count_tokens", "/api/generate", "/p/openai/x"]
    {
        let foreign = "content-type: text/plain\r\nsec-fetch-site: cross-site\r\n";
        let answer = gateway.request("POST", path, foreign, &question("sim/groq"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{path}: {answer}");
    }
}

#[test]
fn t_26_no_web_site_is_told_that_it_may_read_an_answer() {
    let gateway = Server::start("serve", &[]);
    for origin in
        ["null", "http://localhost.evil.example", "https://evil.example", "http://localhost:4114"]
    {
        for method in ["GET", "OPTIONS"] {
            let headers = format!("origin: {origin}\r\naccess-control-request-method: POST\r\n");
            let answer = gateway.request(method, "/v1/models", &headers, "");
            assert!(
                !answer.to_lowercase().contains("access-control"),
                "{method} {origin}: {answer}"
            );
        }
    }
}

/// The answer to these bytes.
fn raw(gateway: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn t_27_one_request_is_one_request_upstream() {
    let place = Place::new("smuggle");
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        lock.url
    );
    let gateway = serve(&place, &config);
    let asked = question("there/m");
    let length = asked.len();
    let inner = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{asked}"
    );
    let with = |headers: &str, body: &str| {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n{body}"
        )
    };
    for (what, bytes) in [
        ("signed length", with(&format!("content-length: +{length}\r\n"), &asked)),
        (
            "two lengths",
            with(&format!("content-length: {length}\r\ncontent-length: 3\r\n"), &asked),
        ),
        ("a list of lengths", with(&format!("content-length: {length}, 3\r\n"), &asked)),
        ("no number", with("content-length: x\r\n", &asked)),
        ("an unknown coding", with("transfer-encoding: xchunked\r\n", &asked)),
        ("a coding behind chunked", with("transfer-encoding: chunked, identity\r\n", &asked)),
        ("a folded header", with(&format!("x: a\r\n b\r\ncontent-length: {length}\r\n"), &asked)),
        ("a space before the colon", with(&format!("content-length : {length}\r\n"), &asked)),
        (
            "a bad chunk",
            with("transfer-encoding: chunked\r\n", &format!("zz\r\n{asked}\r\n0\r\n\r\n")),
        ),
        ("a zero byte", with("x: a\0b\r\n", &asked)),
    ] {
        let answer = raw(&gateway, bytes.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400") || answer.is_empty(), "{what}: {answer}");
        assert_eq!(lock.seen().len(), 0, "{what}");
    }
    // With both lengths, at most the outer request goes upstream, and never the hidden one.
    let chunked = format!("{:x}\r\n{asked}\r\n0\r\n\r\n{inner}", asked.len());
    let both =
        with(&format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"), &chunked);
    drop(raw(&gateway, both.as_bytes()));
    assert!(lock.seen().len() <= 1);
}

#[test]
fn t_30_t_31_c_5_what_is_too_large_or_packed_or_unfinished_is_refused() {
    let gateway = Server::start("serve", &[]);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let huge = format!("{head}content-length: 33554433\r\n\r\n");
    assert!(raw(&gateway, huge.as_bytes()).starts_with("HTTP/1.1 413"));
    for coding in ["gzip", "br", "zstd", "gzip, gzip"] {
        let packed = format!("{head}content-encoding: {coding}\r\ncontent-length: 4\r\n\r\nabcd");
        assert!(raw(&gateway, packed.as_bytes()).starts_with("HTTP/1.1 415"), "{coding}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let answer = gateway.ask("/v1/chat/completions", &deep);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let many = "x: y\r\n".repeat(200);
    let answer = raw(&gateway, format!("{head}{many}\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let long = format!("{head}x: {}\r\n\r\n", "y".repeat(100_000));
    let answer = raw(&gateway, long.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431") || answer.is_empty(), "{answer}");
    // A caller with `expect: 100-continue` gets `100 Continue`.
    let asked = question("sim/groq");
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    write!(stream, "{head}expect: 100-continue\r\ncontent-length: {}\r\n\r\n", asked.len())
        .unwrap();
    let mut go_on = [0; 12];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100");
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
}

#[test]
fn t_31_k_11_deep_json_breaks_nothing() {
    let gateway = Server::start("serve", &[]);
    for depth in [128, 1_000, 100_000] {
        let body = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let answer = gateway.ask("/v1/messages", &body);
        assert!(answer.starts_with("HTTP/1.1 400"), "{depth}: {answer}");
    }
    assert!(gateway.request("GET", "/livez", "", "").starts_with("HTTP/1.1 200"));
}
