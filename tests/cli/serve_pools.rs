//! The fair pools of `think serve`: one tenant's load costs other tenants and the operator at most
//! a turn.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The keys of two tenants and of an admin.
const KEYS: &str = "[keys.alice]\nkey = \"alice-key-0123456789\"\n\
    [keys.bob]\nkey = \"bob-key-0123456789\"\n\
    [keys.boss]\nkey = \"boss-key-0123456789\"\nadmin = true\n";

fn bearer(name: &str) -> String {
    format!("authorization: Bearer {name}-key-0123456789\r\n")
}

/// A gateway with these keys before this provider.
fn gateway(place: &Place, upstream: &Upstream, more: &str) -> Arc<Server> {
    let config = format!(
        "[server]\nmax_bytes_in_flight = \"4GiB\"\n\
         {more}\n{KEYS}[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    Arc::new(serve(place, &config))
}

fn metric(gateway: &Server, name: &str) -> usize {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name}: {metrics}")).trim().parse().unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn asked(bytes: usize) -> String {
    let text = "A word, and another one. ".repeat(bytes / 25);
    let messages = json!([{"role": "user", "content": text}]);
    json!({"model": "own/m", "max_tokens": 9, "stream": true, "messages": messages}).to_string()
}

#[test]
fn four_that_count_large_bodies_hold_up_no_prompt_of_another_tenant() {
    let (place, upstream) = (Place::new("pool-body"), Upstream::start(vec![chat("", "ok", None)]));
    let gateway = gateway(&place, &upstream, "max_bytes_in_flight_per_key = \"4GiB\"");
    // The tokenizer is loaded.
    let small = gateway.request("POST", "/v1/messages/count_tokens", &bearer("bob"), &asked(100));
    assert_eq!(status(&small), "200", "{small}");
    let (body, done) = (Arc::new(asked(6 << 20)), Arc::new(AtomicUsize::new(0)));
    let counting: Vec<_> = (0..4)
        .map(|_| {
            let (gateway, body, done) =
                (Arc::clone(&gateway), Arc::clone(&body), Arc::clone(&done));
            thread::spawn(move || {
                let path = "/v1/messages/count_tokens";
                let answer = gateway.request("POST", path, &bearer("alice"), &body);
                done.fetch_add(1, Ordering::SeqCst);
                answer
            })
        })
        .collect();
    let began = Instant::now();
    while metric(&gateway, "thinkthrough_pool_held{pool=\"bodies\"}") == 0
        || metric(&gateway, "thinkthrough_pool_waiting{pool=\"bodies\"}") == 0
    {
        assert!(began.elapsed() < Duration::from_secs(60), "they never wait for each other");
    }
    let prompt = gateway.request("POST", "/v1/chat/completions", &bearer("bob"), &asked(400_000));
    let counted = done.load(Ordering::SeqCst);
    assert_eq!(status(&prompt), "200", "{prompt}");
    for one in counting {
        let answer = one.join().unwrap();
        assert_eq!(status(&answer), "200", "{answer}");
    }
    assert!(counted < 3, "the prompt waited until {counted} of four were counted");
}

/// A listener: the head of its answer, and the reader of its events.
fn listen(gateway: &Server, key: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    let head = format!("GET /v1/events HTTP/1.1\r\nhost: localhost\r\n{}\r\n", bearer(key));
    stream.write_all(head.as_bytes()).unwrap();
    let (mut reader, mut said) = (BufReader::new(stream), String::new());
    while !said.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
    }
    (said, reader)
}

#[test]
fn one_tenant_never_takes_all_places_of_listeners_and_the_operator_keeps_one() {
    let (place, upstream) = (Place::new("pool-ears"), Upstream::start(vec![chat("", "ok", None)]));
    let gateway = gateway(&place, &upstream, "");
    let all: Vec<_> = (0..140).map(|_| listen(&gateway, "alice")).collect();
    let (let_in, refused): (Vec<_>, Vec<_>) =
        all.iter().map(|(head, _)| head).partition(|head| status(head) == "200");
    assert_eq!((let_in.len(), refused.len()), (64, 76));
    for head in refused {
        assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after:"), "{head}");
    }
    let others = [listen(&gateway, "bob"), listen(&gateway, "boss")];
    assert!(others.iter().all(|(head, _)| status(head) == "200"));
    assert_eq!(metric(&gateway, "thinkthrough_pool_held{pool=\"listeners\"}"), 66);
    let refused = "thinkthrough_pool_refused_total{pool=\"listeners\",why=\"full\"}";
    assert_eq!(metric(&gateway, refused), 76);
    drop(all);
    // Their places are free again.
    let began = Instant::now();
    while metric(&gateway, "thinkthrough_pool_held{pool=\"listeners\"}") > 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "the places stay taken");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(&listen(&gateway, "alice").0), "200");
}

/// Signs in with a key; the line of headers that shows it from then on.
fn sign_in(gateway: &Server, key: &str) -> String {
    let headers = "content-type: application/json\r\nx-thinkthrough-viewer: 1\r\n";
    let order = json!({"key": format!("{key}-key-0123456789")}).to_string();
    let answer = gateway.request("POST", "/ui/api/sign-in", headers, &order);
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let (cookie, _) = cookie.unwrap_or_else(|| panic!("{answer}")).split_once(';').unwrap();
    format!("cookie: {cookie}\r\n")
}

#[test]
fn many_sign_ins_of_one_tenant_end_no_visit_of_another_or_of_the_operator() {
    let (place, upstream) = (Place::new("pool-ins"), Upstream::start(vec![chat("", "ok", None)]));
    let gateway = gateway(&place, &upstream, "");
    let (boss, bob) = (sign_in(&gateway, "boss"), sign_in(&gateway, "bob"));
    let first = sign_in(&gateway, "alice");
    let mut last = String::new();
    for _ in 0..300 {
        last = sign_in(&gateway, "alice");
    }
    let sees = |cookie: &str| {
        let answer = gateway.request("GET", "/ui/api/me", cookie, "");
        status(&answer).to_owned()
    };
    assert_eq!([sees(&boss), sees(&bob), sees(&last)], ["200", "200", "200"]);
    assert_eq!(sees(&first), "401", "her own oldest visit ends");
}

/// Traces of the last day, in a store that a gateway made.
fn fill(place: &Place, rows: u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let store = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    let metadata = json!({
        "route": "/v1/chat/completions", "asked": "own/m", "client": "agent", "outcome": "completed",
        "status": 200, "restored": 2, "missed": 0, "ambiguous": 0, "dropped": 1, "hops": 0,
        "decisions": [{"action": "restore", "reason": "the answer shows an anchor".repeat(8)}],
    });
    let sql = format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) \
         INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, reasoning_text, \
             reasoning_tokens, total_tokens, duration_ms, metadata, created_at, tenant, \
             response_text, cached_tokens, cost_micro_usd) \
         SELECT printf('%032d', n), 's' || n % 9, 'r', 'm' || n % 3, 'own', 'a thought', 10, 100, \
             1000, '{metadata}', {now} - n % 80000000, 'alice', 'an answer', 5, 7 FROM n"
    );
    store.execute_batch(&sql).unwrap();
    store.execute("UPDATE trace_indexed SET up_to = ?", [rows]).unwrap();
}

/// A figure of the server's process in bytes, from Linux' `/proc`.
#[cfg(target_os = "linux")]
fn memory(server: &Server, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let number = line.trim_start_matches(':').trim().trim_end_matches("kB").trim();
    number.parse::<usize>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[test]
fn charts_over_many_traces_take_little_memory_and_the_operator_is_answered_beside_a_flood() {
    const ROWS: u32 = 60_000;
    let (place, upstream) = (Place::new("pool-sums"), Upstream::start(vec![chat("", "ok", None)]));
    let store = "[store]\nurl = \"sqlite:kept.db\"\n";
    drop(gateway(&place, &upstream, store));
    fill(&place, ROWS);
    let gateway = gateway(&place, &upstream, store);
    let (alice, boss) = (sign_in(&gateway, "alice"), sign_in(&gateway, "boss"));
    let before = memory(&gateway, "VmHWM");
    let sums = |cookie: &str| gateway.request("GET", "/ui/api/sums?bucket=3600000", cookie, "");
    let (answers, operators) = thread::scope(|scope| {
        let flood: Vec<_> = (0..90).map(|_| scope.spawn(|| sums(&alice))).collect();
        let began = Instant::now();
        while metric(&gateway, "thinkthrough_pool_waiting{pool=\"questions\"}") < 40 {
            assert!(began.elapsed() < Duration::from_secs(60), "they do not wait");
        }
        let operators = sums(&boss);
        let answers: Vec<String> = flood.into_iter().map(|one| one.join().unwrap()).collect();
        (answers, operators)
    });
    let grown = memory(&gateway, "VmHWM") - before;
    let total = |answer: &str, name: &str| {
        let said: Value = serde_json::from_str(&body(answer)).unwrap();
        let of = |sum: &Value| sum[name].as_u64().unwrap();
        said["sums"].as_array().unwrap().iter().map(of).sum::<u64>()
    };
    assert_eq!(status(&operators), "200", "{operators}");
    for (name, each) in [("requests", 1), ("total", 100), ("restored", 2), ("cost", 7)] {
        assert_eq!(total(&operators, name), each * u64::from(ROWS), "{name}");
    }
    let refused: Vec<_> = answers.iter().filter(|answer| status(answer) == "503").collect();
    assert!(refused.len() >= 20 && refused.len() < 90, "{} refused", refused.len());
    assert!(refused.iter().all(|answer| answer.contains("retry-after:")));
    assert!(grown < 48 << 20, "{} MiB more were resident", grown >> 20);
}

#[test]
fn a_long_text_is_masked_for_a_listener_without_holding_up_anybody() {
    let (place, text) = (Place::new("pool-mask"), "the password is ".repeat(120_000));
    let upstream = Upstream::start(vec![chat("", &text, None)]);
    let gateway = gateway(&place, &upstream, "[traces]\nenabled = false\n");
    let (head, mut events) = listen(&gateway, "alice");
    assert_eq!(status(&head), "200", "{head}");
    let asking: Vec<_> = (0..2)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            thread::spawn(move || {
                let asked = asked(100);
                gateway.request("POST", "/v1/chat/completions", &bearer("alice"), &asked)
            })
        })
        .collect();
    let began = Instant::now();
    let hearing = thread::spawn(move || {
        let (mut line, mut order) = (String::new(), Vec::new());
        while order.iter().filter(|(kind, _)| kind == "request_finished").count() < 2 {
            line.clear();
            assert!(events.read_line(&mut line).unwrap() > 0, "{order:?}");
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let event: Value = serde_json::from_str(data).unwrap();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            order.push((text(&event["type"]), text(&event["data"]["trace"])));
        }
        (order, began.elapsed())
    });
    let mut waits = Vec::new();
    while !hearing.is_finished() {
        let began = Instant::now();
        assert_eq!(status(&gateway.request("GET", "/livez", "", "")), "200");
        waits.push(began.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    for one in asking {
        assert_eq!(status(&one.join().unwrap()), "200");
    }
    let (order, took) = hearing.join().unwrap();
    // A listener that is slower than its ring is long loses events of no request in particular.
    let is_lost = |(kind, trace): &(String, String)| kind == "events_lost" && !trace.is_empty();
    assert!(!order.iter().any(is_lost), "{order:?}");
    for (_, trace) in order.iter().filter(|(kind, _)| kind == "request_finished") {
        let its: Vec<&str> =
            order.iter().filter(|it| it.1 == *trace).map(|it| it.0.as_str()).collect();
        assert!(its.contains(&"text_delta"), "{its:?}");
        assert_eq!(its.last(), Some(&"request_finished"), "the end comes behind the text");
    }
    waits.sort_unstable();
    let p99 = waits[(waits.len() * 99 / 100).min(waits.len() - 1)];
    assert!(p99 < took / 8, "others waited {p99:?} while texts were masked for {took:?}");
}
