//! Headers and parameters that pass through `think serve`, byte for byte as an upstream sees them.

use crate::place::Place;
use crate::serve_config::{question, serve};
use crate::serve_security::log_of;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Headers of clients, proxies and attackers that the API does not need.
const SAID: &str = "connection: close, X-Hop\r\nx-hop: 1\r\nopenai-project: p\r\nopenai-organization: o\r\n\
    x-goog-user-project: g\r\nx-amz-date: d\r\nx-http-method-override: DELETE\r\nprivate-token: t\r\n\
    x-forwarded-for: 1.2.3.4\r\nvia: 1.1 x\r\nx-original-url: /admin\r\ncookie: c=1\r\nx-unknown: u\r\n\
    x-tenant: t1\r\nx-custom-a: a1\r\nx-custom-b: b1\r\naccept: */*\r\nopenai-beta: b=1\r\n\
    session-id: s1\r\nx-stainless-lang: js\r\nuser-agent: client/1\r\nidempotency-key: i1\r\n";

/// The headers of these that reach an upstream with the gateway's own credential.
const KNOWN: [&str; 6] = [
    "accept: */*",
    "idempotency-key: i1",
    "openai-beta: b=1",
    "session-id: s1",
    "user-agent: client/1",
    "x-stainless-lang: js",
];

fn streamed(model: &str) -> String {
    let mut asked: Value = serde_json::from_str(&question(model)).unwrap();
    asked["stream"] = json!(true);
    asked.to_string()
}

/// The first line of a head, and the header lines that the caller had sent.
fn passed(head: &str) -> (String, Vec<String>) {
    let ours = ["host:", "content-", "accept-encoding:", "authorization:"];
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let mut lines: Vec<String> = lines
        .filter(|line| !ours.iter().any(|name| line.starts_with(name)))
        .map(str::to_owned)
        .collect();
    lines.sort();
    (first, lines)
}

#[test]
fn t_7_t_27_only_what_an_api_knows_goes_upstream_with_the_gateways_key() {
    let upstream = Upstream::start(vec![chat("hm", "hello", None)]);
    let provider = |more: &str| {
        format!(
            "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}/v1\"\n{more}\n",
            upstream.url
        )
    };
    let own = ["openai-organization: o", "openai-project: p", "x-goog-user-project: g"];
    let more = ["x-custom-a: a1", "x-custom-b: b1", "x-tenant: t1"];
    for (config, added) in [
        (provider("api_key = \"k\""), &[][..]),
        (provider("api_key = \"k\"\nforward_headers = [\"X-Tenant\", \"x-custom-*\"]"), &more[..]),
        (format!("[server]\npass_through = true\n{}", provider("")), &own[..]),
    ] {
        let place = Place::new("headers");
        let gateway = serve(&place, &config);
        for path in ["/v1/chat/completions", "/p/there/chat/completions"] {
            let headers =
                format!("{SAID}authorization: Bearer mine\r\ncontent-type: application/json\r\n");
            let answer = gateway.request("POST", path, &headers, &streamed("there/m"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{config} {path}: {answer}");
            let (first, lines) = passed(&upstream.heads().pop().unwrap());
            let mut expected: Vec<&str> = KNOWN.iter().chain(added).copied().collect();
            expected.sort_unstable();
            assert_eq!(lines, expected, "{config} {path}");
            assert!(first.contains("/v1/chat/completions"), "{first}");
        }
        // A translated request takes only the headers along that the configuration names.
        let headers = format!("{SAID}authorization: Bearer mine\r\n");
        let answer = gateway.request("POST", "/v1/messages", &headers, &streamed("there/m"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{config}: {answer}");
        let (_, lines) = passed(&upstream.heads().pop().unwrap());
        let lines: Vec<&String> = lines.iter().filter(|line| SAID.contains(&***line)).collect();
        let named = added.iter().filter(|line| line.starts_with("x-c") || line.starts_with("x-t"));
        assert_eq!(lines, named.collect::<Vec<_>>(), "{config}");
    }
}

#[test]
fn t_1_an_endpoints_own_parameters_stay_as_they_are() {
    let upstream = Upstream::start(vec!["data: {\"candidates\":[]}\n\n".to_owned()]);
    let place = Place::new("query");
    let config = format!(
        "[providers.goo]\nextends = \"google\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    let gateway = serve(&place, &config);
    for (query, expected) in [
        ("", "alt=sse "),
        ("?beta=1", "alt=sse&beta=1 "),
        ("?alt=json&beta=1&%61lt=media&userProject=p&%24httpMethod=GET", "alt=sse&beta=1 "),
    ] {
        let path = format!("/v1beta/models/goo%2Fm:streamGenerateContent{query}");
        drop(gateway.ask(&path, "{\"contents\":[]}"));
        let head = upstream.heads().pop().unwrap();
        let first = head.lines().next().unwrap();
        assert!(first.contains(&format!("?{expected}")), "{query}: {first}");
    }
}

#[test]
fn t_8_whoever_was_forwarded_gets_no_metrics() {
    let gateway = Server::start("serve", &[]);
    assert!(gateway.request("GET", "/metrics", "", "").starts_with("HTTP/1.1 200"));
    for header in
        ["via: 1.1 x", "x-forwarded-proto: a", "cf-connecting-ip: 1.2.3.4", "x-client-ip: 1"]
    {
        let answer = gateway.request("GET", "/metrics", &format!("{header}\r\n"), "");
        assert!(answer.starts_with("HTTP/1.1 403"), "{header}: {answer}");
    }
}

#[test]
fn t_17_the_log_has_the_address_that_no_caller_hears() {
    let place = Place::new("address");
    let config = "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                  api_key = \"k\"\n";
    let gateway = serve(&place, config);
    for path in ["/v1/chat/completions", "/p/there/models"] {
        let answer = gateway.ask(path, &question("there/m"));
        assert!(answer.starts_with("HTTP/1.1 502"), "{path}: {answer}");
        assert!(answer.contains("`there` cannot be reached"), "{path}: {answer}");
        assert!(!answer.contains("127.0.0.1"), "{path}: {answer}");
    }
    let log = log_of(gateway);
    let told = log.lines().filter(|line| line.contains("127.0.0.1:9") && line.contains("connect"));
    assert_eq!(told.count(), 2, "{log}");
}

/// Sends all of a too large body before it reads the answer, as most clients do.
fn sends_all(gateway: &Server, size: usize) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(&gateway.addr)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n"
    )?;
    let piece = [b'x'; 65536];
    for _ in 0..size / piece.len() {
        stream.write_all(&piece)?;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn c_5_t_31_whoever_sends_too_much_hears_so() {
    let gateway = Server::start("serve", &[]);
    for _ in 0..5 {
        assert_eq!(sends_all(&gateway, 64 * 1024 * 1024).unwrap(), "HTTP/1.1 413");
    }
    // A client with `expect: 100-continue` gets the refusal at once, and no `100 Continue`.
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
                content-length: 67108864\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// A provider that keeps its connections open, and counts them.
fn counting() -> (String, Arc<AtomicUsize>) {
    const ANSWER: &str =
        r#"{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.unwrap());
                loop {
                    let (mut length, mut line) = (0, String::new());
                    while reader.read_line(&mut line).unwrap_or(0) > 2 {
                        let lower = line.to_ascii_lowercase();
                        if let Some(value) = lower.strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                        line.clear();
                    }
                    if length == 0 || reader.read_exact(&mut vec![0; length]).is_err() {
                        return;
                    }
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                    let answer = format!("{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
                    reader.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, count)
}

#[test]
fn models_share_connections_and_a_new_configuration_keeps_them() {
    let (url, count) = counting();
    let place = Place::new("pools");
    let provider = |name: &str| {
        format!(
            "[providers.{name}]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
        )
    };
    let gateway = serve(&place, &provider("there"));
    let asks = |model: &str| {
        let answer = gateway.ask("/v1/chat/completions", &question(model));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    (0..50).for_each(|at| asks(&format!("there/m{at}")));
    // One is taken again once its answer was read to the end, which may be a moment later.
    let before = count.load(Ordering::Relaxed);
    assert!(before <= 5, "{before} connections for 50 names");
    place.write("config.toml", &format!("{}{}", provider("there"), provider("other")));
    gateway.signal(rustix::process::Signal::HUP);
    let began = Instant::now();
    while !gateway.said().contains("read again") {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    (0..20).for_each(|at| asks(&format!("other/m{at}")));
    let after = count.load(Ordering::Relaxed);
    assert!(after <= before + 2, "{before} connections, then {after}");
    // The list has only configured models. Simulators are still found by their names.
    let listed = gateway.request("GET", "/v1/models", "", "");
    assert!(listed.starts_with("HTTP/1.1 200") && !listed.contains("sim/"), "{listed}");
    asks("sim/groq");
}
