//! The cost of one caller's load for other callers and for the process.

use crate::place::Place;
use crate::server::{PATIENCE, Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const MIB: usize = 1024 * 1024;

/// A gateway before a provider of the test's own, with these lines under `[server]`, and the
/// configuration's place.
fn gateway(url: &str, server: &str) -> (Server, Place) {
    let place = Place::new("load");
    let text = format!(
        "[server]\n{server}\n[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"theirs\"\n"
    );
    let config = place.write("config.toml", &text);
    (Server::start("serve", &["--config", &config]), place)
}

/// A request of one long text, with this many bytes in all.
fn text(bytes: usize) -> String {
    let empty = r#"{"model":"there/m","stream":true,"messages":[{"role":"user","content":""}]}"#;
    empty.replace("\"\"", &format!("\"{}\"", "a".repeat(bytes - empty.len())))
}

/// A request of this many messages, each with this many small parts.
fn parts(messages: usize, parts: usize) -> String {
    let part = r#"{"type":"text","text":"a"}"#;
    let message = format!("{{\"role\":\"user\",\"content\":[{}]}}", vec![part; parts].join(","));
    let all = vec![message.as_str(); messages].join(",");
    format!("{{\"model\":\"there/m\",\"stream\":true,\"messages\":[{all}]}}")
}

/// A figure of the server's process in bytes, from Linux' `/proc`.
fn memory(server: &Server, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<usize>().unwrap()
        * 1024
}

fn metric(server: &Server, name: &str) -> usize {
    let metrics = server.request("GET", "/metrics", "", "");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

/// The error of an answer, in the form of the caller's API.
fn error(answer: &str) -> (String, String) {
    let (status, _) = answer.split_once("\r\n").unwrap();
    let error: Value = serde_json::from_str(&body(answer)).unwrap();
    (status.to_owned(), error["error"]["message"].as_str().unwrap().to_owned())
}

/// How long `/livez` takes, again and again until `is_over`; the time within which 99 of 100 are
/// answered.
fn p99(server: &Server, is_over: impl Fn(usize) -> bool) -> Duration {
    let mut times = Vec::new();
    while !is_over(times.len()) {
        let began = Instant::now();
        let answer = server.request("GET", "/livez", "", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        times.push(began.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    times.sort_unstable();
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

/// Two callers that send this body at once: how they were answered, and how long others waited
/// meanwhile.
fn two_callers(server: &Arc<Server>, body: &Arc<String>) -> (Vec<String>, Duration) {
    let over = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (server, body, over) = (Arc::clone(server), Arc::clone(body), Arc::clone(&over));
            thread::spawn(move || {
                let answer = server.ask("/v1/chat/completions", &body);
                over.fetch_add(1, Ordering::SeqCst);
                answer
            })
        })
        .collect();
    let others = p99(server, |asked| asked >= 20 && over.load(Ordering::SeqCst) == 2);
    (callers.into_iter().map(|caller| caller.join().unwrap()).collect(), others)
}

/// Both callers and their upstream share the same few cores, so that the idle time shows the speed
/// of the machine. Without threads of its own, a body near the caps blocked all callers for
/// seconds.
#[cfg(target_os = "linux")]
#[test]
fn t_28_l_5_large_bodies_of_many_parts_hold_up_nobody_else() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "max_bytes_in_flight = \"1GiB\"");
    let server = Arc::new(server);
    let idle = p99(&server, |asked| asked == 100);
    // 25 MiB of a million parts are far beyond the caps, and the second body is near them.
    let beyond = parts(1, 1_000_000);
    assert!(beyond.len() > 25 * MIB);
    for (body, status) in [(beyond, "HTTP/1.1 400"), (parts(100, 2_000), "HTTP/1.1 200")] {
        let (answers, others) = two_callers(&server, &Arc::new(body));
        for answer in answers {
            // A caller that is refused before its whole body is read may see no answer.
            assert!(answer.starts_with(status), "{answer:.200}");
        }
        let bound = idle * 3 + Duration::from_millis(500);
        assert!(others < bound, "others waited {others:?}, and {idle:?} where nobody else asked");
    }
    let most = memory(&server, "VmHWM") / MIB;
    assert!(most < 512, "{most} MiB were resident");
}

/// A caller that has sent all of its body but the last byte.
fn unfinished(server: &Server, bytes: usize, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.addr).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n",
        bytes + 1
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; bytes]).unwrap();
    stream
}

/// Waits until enough bytes are in flight.
fn until_held(server: &Server, is_enough: impl Fn(usize) -> bool) {
    let began = Instant::now();
    while !is_enough(metric(server, "thinkthrough_bytes_in_flight ")) {
        assert!(began.elapsed() < PATIENCE, "{}", server.request("GET", "/metrics", "", ""));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn t_28_bytes_in_flight_have_an_end_in_all_for_a_key_and_for_an_address() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let keys =
        "[keys.ana]\nkey = \"anas-key-0123456789\"\n[keys.ben]\nkey = \"bens-key-0123456789\"\n";
    let ana = "authorization: Bearer anas-key-0123456789\r\n";
    let ben = "authorization: Bearer bens-key-0123456789\r\n";
    for (settings, scope, ben_may) in [
        ("max_bytes_in_flight = \"18MiB\"\n", "all", false),
        ("max_bytes_in_flight_per_key = \"18MiB\"\n", "key", true),
        ("max_bytes_in_flight_per_address = \"18MiB\"\n", "address", false),
    ] {
        let server = format!("{settings}{keys}");
        let (server, _place) = gateway(&upstream.url, &server);
        // A body costs four times its bytes once it is read.
        let ask =
            |who: &str| server.request("POST", "/v1/chat/completions", who, &text(4 * MIB - 1024));
        assert!(ask(ana).starts_with("HTTP/1.1 200"), "{scope}: there is room for one");
        let held = unfinished(&server, 4 * MIB, ana);
        until_held(&server, |bytes| bytes >= 4 * MIB);
        let answer = ask(ana);
        let (status, message) = error(&answer);
        assert_eq!(status, "HTTP/1.1 503 Service Unavailable", "{scope}");
        assert!(message.contains("too many bytes in flight"), "{message}");
        assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
        let refused = format!("thinkthrough_bytes_refused_total{{scope=\"{scope}\"}} ");
        assert_eq!(metric(&server, &refused), 1, "{scope}");
        assert_eq!(ask(ben).starts_with("HTTP/1.1 200"), ben_may, "{scope}");
        drop(held);
        until_held(&server, |bytes| bytes == 0);
        assert!(ask(ana).starts_with("HTTP/1.1 200"), "{scope}: what it held is free again");
    }
}

#[test]
fn t_28_what_never_fits_is_413_and_says_which_setting_decides() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "max_bytes_in_flight = \"1MiB\"");
    let answer = server.ask("/v1/messages", &text(MIB));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("`[server] max_bytes_in_flight` grants 1048576"), "{answer}");
    assert!(answer.contains(r#""type":"error""#), "it comes in the caller's API: {answer}");
    assert!(server.ask("/v1/chat/completions", &text(MIB / 8)).starts_with("HTTP/1.1 200"));
}

/// Without a setting, a process takes no more than half of the memory that it is granted.
#[cfg(target_os = "linux")]
#[test]
fn t_28_what_the_system_grants_is_not_exceeded() {
    let place = Place::new("granted");
    let mut shell = std::process::Command::new("/bin/sh");
    // Thread stacks count as well; so much is far more than they need.
    let line = "ulimit -d 204800; exec \"$0\" serve --listen 127.0.0.1:0";
    shell.args(["-c", line, env!("CARGO_BIN_EXE_think")]);
    shell.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
    let server = Server::run(shell);
    let answer = server.ask("/v1/chat/completions", &text(26 * MIB));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer:.300}");
    assert!(answer.contains("`[server] max_bytes_in_flight` grants 104857600"), "{answer:.600}");
}

/// Sends the same request `count` times at once. Returns the answers.
fn at_once(count: usize, server: &Arc<Server>, body: &Arc<String>) -> Vec<String> {
    let ask = |_| {
        let (server, body) = (Arc::clone(server), Arc::clone(body));
        thread::spawn(move || server.ask("/v1/chat/completions", &body))
    };
    let callers: Vec<_> = (0..count).map(ask).collect();
    callers.into_iter().map(|caller| caller.join().unwrap()).collect()
}

/// Such an attack once ended a process with 256 MiB.
#[cfg(target_os = "linux")]
#[test]
fn t_28_eight_of_the_largest_bodies_stay_within_256_mib() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "max_bytes_in_flight = \"128MiB\"");
    let (server, large) = (Arc::new(server), Arc::new(text(30 * MIB)));
    for answer in at_once(8, &server, &large) {
        // A caller that is refused before its whole body is read may see no answer.
        let is_right = ["HTTP/1.1 200", "HTTP/1.1 503"].iter().any(|it| answer.starts_with(it));
        assert!(is_right || answer.is_empty(), "{answer:.300}");
    }
    let answer = server.ask("/v1/chat/completions", &large);
    assert!(answer.starts_with("HTTP/1.1 200"), "one goes through: {answer:.300}");
    let most = memory(&server, "VmHWM") / MIB;
    assert!(most < 256, "{most} MiB were resident");
}

/// The memory of a load soon returns to the system, although small long-lived allocations lie
/// between the large ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn t_28_memory_comes_back_after_a_load() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "max_bytes_in_flight = \"1GiB\"");
    let (server, large) = (Arc::new(server), Arc::new(parts(100, 2_000)));
    for _ in 0..2 {
        for answer in at_once(4, &server, &large) {
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.300}");
        }
    }
    let most = memory(&server, "VmHWM") / MIB;
    assert!(most > 120, "{most} MiB are no load");
    let began = Instant::now();
    while memory(&server, "VmRSS") >= 64 * MIB {
        let kept = memory(&server, "VmRSS") / MIB;
        assert!(began.elapsed() < Duration::from_secs(60), "{kept} of {most} MiB are kept");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn t_28_a_body_that_drips_has_an_end() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "body_timeout = \"1s\"");
    let mut stream = TcpStream::connect(&server.addr).unwrap();
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let dripping = stream.try_clone().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&stop);
    let drips = thread::spawn(move || {
        let mut dripping = dripping;
        // Never silent for long, and never done.
        while !is_over.load(Ordering::Relaxed) && dripping.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    stop.store(true, Ordering::Relaxed);
    drips.join().unwrap();
}

#[test]
fn t_28_one_address_has_only_so_many_connections() {
    let upstream = Upstream::start(vec![chat("", "ok", None)]);
    let (server, _place) = gateway(&upstream.url, "connections_per_address = 3");
    let open = || {
        let mut stream = TcpStream::connect(&server.addr).unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        (String::from_utf8(first.to_vec()).unwrap(), stream)
    };
    let mut held: Vec<_> = (0..3).map(|_| open()).collect();
    assert!(held.iter().all(|(status, _)| status == "HTTP/1.1 200"), "{held:?}");
    assert_eq!(open().0, "HTTP/1.1 503");
    held.pop();
    let began = Instant::now();
    while open().0 != "HTTP/1.1 200" {
        assert!(began.elapsed() < PATIENCE, "a connection that ended still counts");
        thread::sleep(Duration::from_millis(10));
    }
}

/// An upstream that sends to every connection for as long as the connection is open.
fn talker() -> (String, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&said);
    thread::spawn(move || {
        for (at, stream) in listener.incoming().flatten().enumerate() {
            all.lock().unwrap().push(0);
            let said = Arc::clone(&all);
            thread::spawn(move || talk(stream, &said, at));
        }
    });
    (url, said)
}

fn talk(mut stream: TcpStream, said: &Mutex<Vec<usize>>, at: usize) {
    let mut piece = [0; 65536];
    if stream.read(&mut piece).unwrap_or_default() == 0 {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let thought = format!("{{\"reasoning_content\":\"{}\"}}", "why ".repeat(250));
    let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{thought}}}]}}\n\n");
    if stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    while stream.write_all(event.as_bytes()).is_ok() {
        said.lock().unwrap()[at] += event.len();
    }
}

/// Callers that read nothing: the gateway holds little for each of them, and leaves their upstreams
/// unread.
#[cfg(target_os = "linux")]
#[test]
fn c_4_t_28_callers_that_read_nothing_hold_little() {
    const CALLERS: usize = 200;
    let (url, said) = talker();
    let (server, _place) = gateway(&url, "");
    let ask = || {
        let mut stream = TcpStream::connect(&server.addr).unwrap();
        let asked = text(100);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{asked}",
            asked.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    // The first callers also pay for data that all callers share.
    let first: Vec<_> = (0..8).map(|_| ask()).collect();
    let settled = |count: usize| {
        let began = Instant::now();
        let mut before = Vec::new();
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = said.lock().unwrap().clone();
            if now.len() == count && now == before && now.iter().all(|said| *said > 0) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the upstream is still read");
            before = now;
        }
    };
    settled(first.len());
    let before = memory(&server, "VmRSS");
    let held: Vec<_> = (0..CALLERS).map(|_| ask()).collect();
    settled(first.len() + CALLERS);
    let each = memory(&server, "VmRSS").saturating_sub(before) / CALLERS;
    let counted = metric(&server, "thinkthrough_bytes_in_flight ") / (CALLERS + first.len());
    drop((first, held));
    // The kernel buffers some text for each caller. The gateway keeps the sent text for the record
    // and the trace. Tasks of a build without optimisation are larger than their count.
    assert!(each < counted + 64 * 1024, "each holds {each} bytes, and {counted} are counted");
    assert!(counted < 768 * 1024, "{counted} are counted for each");
}
