//! Scripted faults, in process and over a real connection.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use thinkthrough_conformance::{SimOptions, SimRequest, Simulator, list, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::client;

fn request(id: &str, stream: bool, fault: &str) -> SimRequest {
    let mut client = client(id);
    client.user("What is in this folder?");
    client.request(stream).with_header("x-sim-fault", fault)
}

#[test]
fn a_cut_ends_the_body_at_that_byte() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let whole = simulator.handle(&request(row.id, true, "stall=0")).bytes();
        let cut = simulator.handle(&request(row.id, true, "cut=100"));
        assert!(cut.cut, "{}", row.id);
        assert_eq!(cut.bytes(), whole[..100]);
        assert_eq!(cut.log.fault.as_deref(), Some("cut=100"));
        assert!(!simulator.handle(&request(row.id, true, "cut=1000000")).cut);
    }
}

#[test]
fn a_stall_may_come_in_mid_stream_and_changes_no_byte() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let whole = simulator.handle(&request(row.id, true, "stall=0"));
        for (spec, place) in [("stall=250", 0), ("stall=250,stall-at=3", 3)] {
            let stalled = simulator.handle(&request(row.id, true, spec));
            assert_eq!(stalled.bytes(), whole.bytes(), "{}", row.id);
            let pauses: Vec<_> = stalled.body.iter().map(|chunk| chunk.pause.as_millis()).collect();
            assert_eq!(pauses.iter().position(|pause| *pause == 250), Some(place), "{}", row.id);
            assert_eq!(pauses.iter().sum::<u128>(), 250, "{}", row.id);
        }
    }
}

#[test]
fn an_error_event_ends_a_stream_in_the_words_of_its_wire() {
    for row in list() {
        let simulator = Simulator::find(row.id).unwrap();
        let whole = simulator.handle(&request(row.id, true, "stall=0")).body;
        let broken = simulator.handle(&request(row.id, true, "error-at=3")).body;
        assert_eq!(broken[..3], whole[..3], "{}", row.id);
        assert_eq!(broken.len(), 4, "{}", row.id);
        let error = String::from_utf8_lossy(&broken[3].bytes).into_owned();
        assert!(error.to_lowercase().contains("error"), "{}: {error}", row.id);
        assert_ne!(broken[3], whole[3]);
    }
}

#[test]
fn a_status_refuses_in_the_body_of_the_provider() {
    for row in list() {
        let answer = Simulator::find(row.id).unwrap().handle(&request(
            row.id,
            false,
            "status=429,retry-after=7",
        ));
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("7")), "{}", row.id);
        assert!(answer.json().is_object() || answer.json()[0].is_object());
    }
}

#[test]
fn an_unknown_fault_says_what_is_allowed() {
    let answer =
        Simulator::find("kimi-k2").unwrap().handle(&request("kimi-k2", false, "explode=1"));
    assert_eq!(answer.status, 400);
    let text = answer.text();
    assert!(text.contains("explode=1") && text.contains("cut=N") && text.contains("error-at=N"));
}

/// Sends a request over a connection of its own. Returns all bytes of the response, and whether it
/// ended properly.
async fn send(addr: std::net::SocketAddr, id: &str, request: &SimRequest) -> (String, bool) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let mut head = format!(
        "{} /{id}{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n",
        request.method, request.path
    );
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", request.body.len()));
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&request.body).await.unwrap();
    let mut out = Vec::new();
    drop(stream.read_to_end(&mut out).await);
    let text = String::from_utf8_lossy(&out).into_owned();
    let clean = text.ends_with("\r\n0\r\n\r\n");
    (text, clean)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_it_works_over_a_real_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let options = SimOptions {
        log: Some(Arc::new(move |entry| log.lock().unwrap().push(entry.clone()))),
        ..SimOptions::default()
    };
    let running = serve(listener, options).unwrap();
    for row in list() {
        let (text, clean) = send(running.addr(), row.id, &request(row.id, true, "stall=0")).await;
        assert!(text.starts_with("HTTP/1.1 200 OK") && clean, "{}: {text}", row.id);
        let kind = match row.wire {
            "converse" => "application/vnd.amazon.eventstream",
            "ollama-chat" => "application/x-ndjson",
            _ => "text/event-stream",
        };
        assert!(text.contains(&format!("content-type: {kind}")), "{}", row.id);
        let (text, clean) = send(running.addr(), row.id, &request(row.id, true, "cut=200")).await;
        assert!(text.starts_with("HTTP/1.1 200 OK") && !clean, "{}: {text}", row.id);
    }
    let before = Instant::now();
    let (text, clean) =
        send(running.addr(), "kimi-k2", &request("kimi-k2", true, "stall=300")).await;
    assert!(clean && before.elapsed() >= Duration::from_millis(300), "{text}");
    let (text, _) = send(running.addr(), "groq", &request("groq", false, "status=503")).await;
    assert!(text.starts_with("HTTP/1.1 503 "));
    let (text, _) = send(running.addr(), "nobody", &request("groq", false, "cut=1")).await;
    assert!(text.starts_with("HTTP/1.1 404 ") && text.contains("kimi-k2"));
    assert_eq!(seen.lock().unwrap().len(), 2 * list().len() + 3);
}

#[tokio::test]
async fn a_fault_of_the_server_holds_for_every_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = SimOptions {
        fault: Some("status=429,retry-after=1".parse().unwrap()),
        ..SimOptions::default()
    };
    let running = serve(listener, options).unwrap();
    let mut client = client("kimi-k2");
    client.user("Hello");
    let (text, _) = send(running.addr(), "kimi-k2", &client.request(false)).await;
    assert!(text.starts_with("HTTP/1.1 429 ") && text.contains("retry-after: 1"));
}
