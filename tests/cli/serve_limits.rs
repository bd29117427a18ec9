//! `limits` of keys and providers: how many requests, and tokens, `think serve` lets out in any
//! minute.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ALICE: &str = "authorization: Bearer alice-key-0123456789\r\n";
const BOB: &str = "authorization: Bearer bob-key-0123456789\r\n";

/// A gateway in front of these providers of the Chat Completions API, with two keys.
fn gateway(place: &Place, upstreams: &[(&str, &Upstream, &str)], keys: [&str; 2]) -> Server {
    let [alice, bob] = keys;
    let mut config = format!(
        "[keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\n{alice}\n\
         [keys.bob]\nkey = \"bob-key-0123456789\"\n{bob}\n"
    );
    for (name, upstream, more) in upstreams {
        config.push_str(&format!(
            "[providers.{name}]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n{more}\n",
            upstream.url
        ));
    }
    serve(place, &config)
}

fn question(model: &str) -> String {
    json!({"model": model, "stream": true, "messages": [{"role": "user", "content": "Why?"}]})
        .to_string()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The statuses of this many callers at once.
fn at_once(gateway: &Server, headers: &str, callers: usize, body: &str) -> Vec<String> {
    std::thread::scope(|scope| {
        let ask = || gateway.request("POST", "/v1/chat/completions", headers, body);
        let all: Vec<_> = (0..callers).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn req_limits_of_200_callers_at_once_a_key_lets_60_in_and_says_when_to_come_back() {
    let (place, upstream) = (Place::new("limit-key"), Upstream::start(vec![chat("", "ok", None)]));
    let limited = "limits = { requests_per_minute = 60 }";
    let gateway = gateway(&place, &[("own", &upstream, "")], [limited, ""]);
    let answers = at_once(&gateway, ALICE, 200, &question("own/m"));
    let admitted = answers.iter().filter(|answer| status(answer) == 200).count();
    let refused: Vec<_> = answers.iter().filter(|answer| status(answer) == 429).collect();
    assert_eq!((admitted, refused.len(), upstream.bodies().len()), (60, 140, 60));
    for answer in refused {
        let wait: u64 = header(answer, "retry-after").unwrap().parse().unwrap();
        assert!((1..=61).contains(&wait), "{answer}");
        let said: Value = serde_json::from_str(&body(answer)).unwrap();
        assert_eq!(said["error"]["code"], "rate_limit_exceeded");
    }
    // The other key has a window of its own.
    let other = gateway.request("POST", "/v1/chat/completions", BOB, &question("own/m"));
    assert_eq!(status(&other), 200);
    let metrics = gateway.request("GET", "/metrics", "", "");
    let counted = "thinkthrough_limit_rejected_total{by=\"key\",unit=\"requests\"} 140";
    assert!(metrics.contains(counted), "{metrics}");
}

#[test]
fn req_limits_of_a_key_hold_on_every_route_that_reaches_a_provider_in_the_words_of_each() {
    let (place, upstream) =
        (Place::new("limit-routes"), Upstream::start(vec![chat("", "ok", None)]));
    let limited = "limits = { requests_per_minute = 1 }";
    let gateway = gateway(&place, &[("own", &upstream, "")], [limited, ""]);
    let first = gateway.request("POST", "/v1/chat/completions", ALICE, &question("own/m"));
    assert_eq!(status(&first), 200);
    let messages =
        json!({"model": "own/m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]});
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "a"}]}]});
    for (path, asked, place_of_word, word) in [
        (
            "/v1/chat/completions",
            json!({"model": "own/m", "messages": []}),
            "/error/code",
            json!("rate_limit_exceeded"),
        ),
        (
            "/v1/responses",
            json!({"model": "own/m", "input": "a"}),
            "/error/code",
            json!("rate_limit_exceeded"),
        ),
        ("/v1/messages", messages.clone(), "/error/type", json!("rate_limit_error")),
        ("/v1/messages/count_tokens", messages, "/error/type", json!("rate_limit_error")),
        (
            "/v1beta/models/own%2Fm:generateContent",
            contents.clone(),
            "/error/status",
            json!("RESOURCE_EXHAUSTED"),
        ),
        (
            "/v1beta/models/own%2Fm:countTokens",
            contents,
            "/error/status",
            json!("RESOURCE_EXHAUSTED"),
        ),
        (
            "/p/own/v1/chat/completions",
            json!({"model": "m"}),
            "/error/code",
            json!("rate_limit_exceeded"),
        ),
    ] {
        let answer = gateway.request("POST", path, ALICE, &asked.to_string());
        assert_eq!(status(&answer), 429, "{path}: {answer}");
        assert!(header(&answer, "retry-after").is_some(), "{path}: {answer}");
        let said: Value = serde_json::from_str(&body(&answer)).unwrap();
        assert_eq!(said.pointer(place_of_word), Some(&word), "{path}: {said}");
    }
    let chat =
        json!({"model": "own/m", "messages": [{"role": "user", "content": "a"}]}).to_string();
    assert_eq!(status(&gateway.request("POST", "/api/chat", ALICE, &chat)), 429);
    assert_eq!(upstream.bodies().len(), 1);
}

#[test]
fn req_limits_of_a_provider_hold_for_all_its_models_and_a_fallback_answers_instead() {
    let place = Place::new("limit-provider");
    let [own, other] = [0, 1].map(|_| Upstream::start(vec![chat("", "ok", None)]));
    let limited = "limits = { requests_per_minute = 2 }\n[models.first]\nprovider = \"own\"\nmodel = \"m\"\nfallback = [\"other/m\"]";
    let gateway = gateway(&place, &[("own", &own, limited), ("other", &other, "")], ["", ""]);
    let ask =
        |model: &str| gateway.request("POST", "/v1/chat/completions", ALICE, &question(model));
    assert_eq!(status(&ask("own/a")), 200);
    assert_eq!(status(&gateway.request("POST", "/p/own/v1/chat/completions", ALICE, "{}")), 200);
    let refused = ask("own/b");
    assert_eq!(status(&refused), 429, "{refused}");
    assert!(header(&refused, "retry-after").is_some(), "{refused}");
    assert!(refused.contains("`own`"), "{refused}");
    let instead = ask("first");
    assert_eq!(status(&instead), 200, "{instead}");
    assert_eq!((own.bodies().len(), other.bodies().len()), (2, 1));
}

#[test]
fn req_limits_count_each_retry_at_the_provider() {
    let place = Place::new("limit-retries");
    let sim = Server::start("sim", &["--fault", "status=503"]);
    let config = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"http://{}/default\"\napi_key = \"k\"\n\
         limits = {{ requests_per_minute = 2 }}\n",
        sim.addr
    );
    let gateway = serve(&place, &config);
    // The second try is its provider's last one, and the third is not let out.
    let answer = gateway.ask("/v1/chat/completions", &question("own/m"));
    assert_eq!(status(&answer), 429, "{answer}");
    assert!(answer.contains("asks `own` 2 times in any minute"), "{answer}");
}

#[test]
fn f_9_each_failed_try_is_counted_by_its_provider_also_where_a_later_one_answers() {
    let (place, other) = (Place::new("tries"), Upstream::start(vec![chat("", "ok", None)]));
    let sim = Server::start("sim", &["--fault", "status=503"]);
    let config = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"http://{}/default\"\napi_key = \"k\"\n\
         [providers.other]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [models.first]\nprovider = \"own\"\nmodel = \"m\"\nfallback = [\"other/m\"]\n",
        sim.addr, other.url
    );
    let gateway = serve(&place, &config);
    let failed = |count: u32| {
        let line = "thinkthrough_upstream_errors_total{provider=\"own\",reason=\"server_error\"}";
        let metrics = gateway.request("GET", "/metrics", "", "");
        let has_other = metrics.contains("upstream_errors_total{provider=\"other\"");
        assert!(metrics.contains(&format!("{line} {count}\n")) && !has_other, "{metrics}");
    };
    assert_eq!(status(&gateway.ask("/v1/chat/completions", &question("first"))), 200);
    failed(1);
    // Two retries follow the first try.
    assert_eq!(status(&gateway.ask("/v1/chat/completions", &question("own/m"))), 503);
    failed(4);
    assert_eq!(status(&gateway.ask("/p/own/v1/chat/completions", &question("m"))), 503);
    failed(5);
}

#[test]
fn req_limits_of_tokens_are_reserved_before_a_request_and_settled_with_what_it_cost() {
    let (place, upstream) =
        (Place::new("limit-tokens"), Upstream::start(vec![chat("hm", "ok", Some(85))]));
    // Each answer costs a hundred tokens as the provider counts, and may cost more before.
    let limited = "limits = { tokens_per_minute = 1000 }";
    let gateway = gateway(&place, &[("own", &upstream, "")], [limited, ""]);
    let body = json!({"model": "own/m", "stream": true, "max_tokens": 300,
        "messages": [{"role": "user", "content": "Why?"}]})
    .to_string();
    let ask = || status(&gateway.request("POST", "/v1/chat/completions", ALICE, &body));
    let said: Vec<u16> = (0..8).map(|_| ask()).collect();
    assert_eq!(said, [200, 200, 200, 200, 200, 200, 200, 429]);
    let metrics = gateway.request("GET", "/metrics", "", "");
    let counted = "thinkthrough_limit_rejected_total{by=\"key\",unit=\"tokens\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

/// A provider that reads requests of its first second 1.5 seconds late. It records the time of each
/// request.
fn slow_at_first() -> (String, Arc<Mutex<Vec<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (arrivals, began) = (Arc::clone(&seen), Instant::now());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, arrivals) = (stream.unwrap(), Arc::clone(&arrivals));
            std::thread::spawn(move || drop(answer(stream, &arrivals, began)));
        }
    });
    (url, seen)
}

fn answer(stream: TcpStream, seen: &Mutex<Vec<Instant>>, began: Instant) -> std::io::Result<()> {
    if began.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(1_500));
    }
    let (mut reader, mut length, mut line) = (BufReader::new(stream), 0, String::new());
    while reader.read_line(&mut line)? > 2 {
        let said = line.to_ascii_lowercase();
        if let Some(value) = said.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    if length > 0 {
        seen.lock().unwrap().push(Instant::now());
    }
    let said = chat("", "ok", None);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    write!(reader.into_inner(), "{head}content-length: {}\r\n\r\n{said}", said.len())
}

#[test]
fn req_limits_of_a_provider_hold_over_any_minute_in_which_requests_arrive_there() {
    let place = Place::new("limit-arrivals");
    let (url, seen) = slow_at_first();
    let config = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n\
         limits = {{ requests_per_minute = 3 }}\n"
    );
    let gateway = serve(&place, &config);
    let ask = || status(&gateway.ask("/v1/chat/completions", &question("own/m")));
    let first: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..5).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(first.iter().filter(|status| **status == 200).count(), 3, "{first:?}");
    let began = *seen.lock().unwrap().iter().max().unwrap();
    std::thread::sleep(Duration::from_secs(57));
    let mut let_out = 0;
    while let_out < 3 {
        assert!(began.elapsed() < Duration::from_secs(64), "{:?}", seen.lock().unwrap());
        let_out += u32::from(ask() == 200);
        std::thread::sleep(Duration::from_millis(40));
    }
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    for (one, other) in seen.iter().zip(&seen[3..]) {
        assert!(*other - *one >= Duration::from_secs(60), "{:?}", *other - *one);
    }
}
