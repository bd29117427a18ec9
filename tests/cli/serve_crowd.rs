//! Many recorded answers at once: their memory is limited, and no answer loses its thoughts without
//! a report.

use crate::place::Place;
use crate::server::{PATIENCE, Server, body};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A gateway for an upstream whose thoughts have the size in the model's name. The provider `wants`
/// wants thoughts back, and the provider `free` never does.
fn gateway(url: &str, server: &str) -> (Server, Place) {
    let place = Place::new("crowd");
    let provider = |name: &str, contract: &str| {
        format!(
            "[providers.{name}]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"theirs\"\n\
             contract = {contract}\n"
        )
    };
    let wants = provider("wants", r#"{ return = "all", field = "reasoning_content" }"#);
    let free = provider("free", "\"none\"");
    let config = place.write("config.toml", &format!("[server]\n{server}\n{wants}{free}"));
    (Server::start("serve", &["--config", &config]), place)
}

/// An upstream that thinks as many bytes as the model's name demands, and then sends a word.
fn thinker() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || think(stream));
        }
    });
    url
}

fn event(delta: &str, reason: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
    )
}

fn think(mut stream: TcpStream) -> Option<()> {
    let mut asked = [0; 65536];
    let read = stream.read(&mut asked).ok()?;
    let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
    let size: usize = asked.split("size-").nth(1)?.split('"').next()?.parse().ok()?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let words = "what was said before does not follow from it; ".repeat(20);
    let piece = event(&format!("{{\"reasoning_content\":\"{words}\"}}"), "null");
    for _ in 0..size / words.len() + 1 {
        stream.write_all(piece.as_bytes()).ok()?;
    }
    let end = event("{\"content\":\"So.\"}", "null") + &event("{}", "\"stop\"");
    stream.write_all(format!("{end}data: [DONE]\n\n").as_bytes()).ok()
}

fn request(provider: &str, size: usize) -> String {
    format!(
        r#"{{"model":"{provider}/size-{size}","stream":true,"messages":[{{"role":"user","content":"Why?"}}]}}"#
    )
}

fn metric(server: &Server, name: &str) -> usize {
    let metrics = server.request("GET", "/metrics", "", "");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

/// How an answer ended.
fn end(answer: &str, size: usize) -> &'static str {
    if answer.starts_with("HTTP/1.1 503") {
        assert!(answer.contains("\r\nretry-after: "), "{answer:.300}");
        return "refused";
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.300}");
    if answer.contains("[DONE]") && answer.len() > size { "whole" } else { "cut" }
}

#[test]
fn t_28_a_crowd_of_long_thoughts_is_whole_or_refused_and_within_the_limit() {
    const LIMIT: usize = 16 * MIB;
    const SIZE: usize = 300 * KIB;
    let (server, _place) = gateway(&thinker(), "max_bytes_in_flight = \"16MiB\"");
    let (server, over) = (Arc::new(server), Arc::new(AtomicUsize::new(0)));
    let ask = |_| {
        let (server, over) = (Arc::clone(&server), Arc::clone(&over));
        thread::spawn(move || {
            let answer = server.ask("/v1/chat/completions", &request("wants", SIZE));
            over.fetch_add(1, Ordering::SeqCst);
            end(&answer, SIZE)
        })
    };
    let callers: Vec<_> = (0..60).map(ask).collect();
    let mut most = 0;
    while over.load(Ordering::SeqCst) < 60 {
        most = most.max(metric(&server, "thinkthrough_bytes_in_flight "));
        thread::sleep(Duration::from_millis(5));
    }
    let ends: Vec<&str> = callers.into_iter().map(|it| it.join().unwrap()).collect();
    assert!(!ends.contains(&"cut"), "{ends:?}");
    assert!(ends.iter().filter(|it| **it == "whole").count() >= 10, "{ends:?}");
    assert!(most > MIB && most <= LIMIT, "{most} of {LIMIT}");
    until_free(&server);
}

fn until_free(server: &Server) {
    let began = Instant::now();
    while metric(server, "thinkthrough_bytes_in_flight ") > 0 {
        assert!(began.elapsed() < PATIENCE, "memory stays reserved");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn t_28_an_answer_that_never_fits_loses_no_thoughts_unseen() {
    let (server, _place) = gateway(&thinker(), "max_bytes_in_flight = \"4MiB\"");
    let server = Arc::new(server);
    let ask = |provider: &'static str| {
        let server = Arc::clone(&server);
        thread::spawn(move || server.ask("/v1/chat/completions", &request(provider, 6 * MIB)))
    };
    let [wants, free] = ["wants", "free"].map(|provider| {
        let answer = ask(provider).join().unwrap();
        until_free(&server);
        answer
    });
    assert_eq!(end(&wants, 6 * MIB), "cut");
    let said = body(&wants);
    assert!(said.contains("overloaded") && said.contains("no memory left"), "{:.300}", wants.len());
    assert_eq!(metric(&server, "thinkthrough_cut_total{reason=\"memory\"} "), 1);
    assert_eq!(end(&free, 6 * MIB), "whole", "nobody ever wants its thoughts back");
}
