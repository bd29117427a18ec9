//! `[providers.X] on_disconnect`: the upstream's answer after its caller has left.

use crate::place::Place;
use crate::serve_config::{question, serve};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// An upstream that begins a stream, reports that, and ends it on command. Reports whether its peer
/// stayed to the end.
fn upstream() -> (String, mpsc::Receiver<()>, mpsc::Sender<()>, mpsc::Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let ((tell, begun), (go, going)) = (mpsc::channel(), mpsc::channel());
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&seen).contains("zebra") {
            let read = stream.read(&mut piece).unwrap();
            seen.extend_from_slice(&piece[..read]);
        }
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let event = |text: &str, finish: Option<&str>| {
            let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": finish});
            format!("data: {}\n\n", json!({"id": "1", "model": "m", "choices": [choice]}))
        };
        stream.write_all(format!("{head}{}", event("striped", None)).as_bytes()).unwrap();
        tell.send(()).unwrap();
        // A peer that left shows as the end of what it sends.
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let is_heard = loop {
            match (stream.read(&mut piece), going.try_recv()) {
                (Ok(0), _) => break false,
                (Err(error), _) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    break false;
                }
                (_, Ok(())) => break true,
                _ => {}
            }
        };
        if is_heard {
            let usage = json!({"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8,
                "completion_tokens_details": {"reasoning_tokens": 4}});
            let usage = json!({"id": "1", "model": "m", "choices": [], "usage": usage});
            let rest = event(" horses", Some("stop")) + &format!("data: {usage}\n\n");
            let _ = stream.write_all((rest + "data: [DONE]\n\n").as_bytes());
        }
        say.send(is_heard).unwrap();
    });
    (url, begun, go, said)
}

/// A gateway whose caller went away in the middle of an answer.
fn left(place: &Place, url: &str, begun: &mpsc::Receiver<()>, on_disconnect: &str) -> Server {
    let config = format!(
        "[server]\nlog = \"json\"\n[providers.there]\nwire = \"chat-completions\"\n\
         base_url = \"{url}\"\napi_key = \"k\"\n{on_disconnect}\n"
    );
    let key = if on_disconnect.contains("[keys.") { "alice-key-0123456789" } else { "k" };
    let gateway = serve(place, &config);
    let mut asked: Value = serde_json::from_str(&question("there/m")).unwrap();
    asked["stream"] = json!(true);
    let body = asked.to_string();
    let mut caller = TcpStream::connect(&gateway.addr).unwrap();
    write!(
        caller,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    while !seen.contains("striped") {
        let read = caller.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    drop(caller);
    says(&gateway, "\"cancelled\"");
    gateway
}

/// Waits until the gateway's output has these words.
fn says(gateway: &Server, words: &str) {
    let began = Instant::now();
    while !gateway.said().contains(words) {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the gateway read the upstream's answer to its end after the caller had left, with the
/// log and the metrics.
fn heard(on_disconnect: &str) -> (bool, String, String) {
    let (url, begun, go, said) = upstream();
    let place = Place::new("leaving");
    let gateway = left(&place, &url, &begun, on_disconnect);
    let is_drained = on_disconnect.contains("drain");
    if is_drained {
        go.send(()).unwrap();
    }
    let is_heard = said.recv_timeout(PATIENCE).unwrap();
    if is_drained {
        says(&gateway, "\"drained\"");
    }
    let metrics = gateway.request("GET", "/metrics", "", "");
    (is_heard, gateway.stop(), metrics)
}

#[test]
fn c_3_on_disconnect_says_whether_an_answer_goes_on_without_its_caller() {
    for on_disconnect in ["", "on_disconnect = \"cancel\""] {
        let (is_heard, log, metrics) = heard(on_disconnect);
        assert!(!is_heard && !log.contains("drained"), "{on_disconnect}: {log}");
        assert!(metrics.contains("thinkthrough_drained_total{outcome=\"completed\"} 0"));
    }
    let (is_heard, log, metrics) = heard("on_disconnect = \"drain\"");
    assert!(is_heard, "{log}");
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |outcome: &str| lines.iter().find(|line| line["outcome"] == outcome).unwrap();
    let (cancelled, drained) = (of("cancelled"), of("drained"));
    assert_eq!((&drained["id"], &drained["route"]), (&cancelled["id"], &cancelled["route"]));
    assert_eq!((&drained["model"], &drained["provider"]), (&json!("there/m"), &json!("there")));
    assert_eq!((&drained["input_tokens"], &drained["output_tokens"]), (&json!(3), &json!(5)));
    for line in [
        "thinkthrough_drained_total{outcome=\"completed\"} 1",
        "thinkthrough_drained_tokens_total{provider=\"there\",type=\"input\"} 3",
        "thinkthrough_drained_tokens_total{provider=\"there\",type=\"output\"} 5",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn k_5_a_process_that_ends_waits_for_answers_that_go_on_without_their_callers() {
    let (url, begun, go, said) = upstream();
    let place = Place::new("leaving-and-ending");
    let gateway = left(&place, &url, &begun, "on_disconnect = \"drain\"");
    gateway.signal(Signal::INT);
    // Long enough for the end of a process that does not wait.
    std::thread::sleep(Duration::from_millis(300));
    go.send(()).unwrap();
    assert!(said.recv_timeout(PATIENCE).unwrap(), "{}", gateway.said());
    let (is_fine, log) = gateway.ends(PATIENCE);
    assert!(is_fine && log.contains("\"drained\""), "{log}");
}

#[test]
fn c_3_what_an_answer_spent_that_was_heard_for_nobody_is_booked_as_its_provider_counts_it() {
    let budget = "on_disconnect = \"drain\"\n[keys.alice]\nkey = \"alice-key-0123456789\"\n\
                  budget = { reasoning_tokens_per_key = 4, on_exceed = \"block\" }";
    let (url, begun, go, said) = upstream();
    let place = Place::new("leaving-with-a-budget");
    let gateway = left(&place, &url, &begun, budget);
    go.send(()).unwrap();
    assert!(said.recv_timeout(PATIENCE).unwrap());
    says(&gateway, "\"drained\"");
    let headers = "authorization: Bearer alice-key-0123456789\r\n";
    let refused = gateway.request("POST", "/v1/chat/completions", headers, &question("there/m"));
    assert!(refused.starts_with("HTTP/1.1 402"), "{refused}");
    assert!(refused.contains("4 of the 4 reasoning tokens of this key"), "{refused}");
}

#[test]
fn c_3_the_trace_of_an_answer_that_was_heard_for_nobody_has_its_counts_and_is_whole() {
    let store = "on_disconnect = \"drain\"\n[store]\nurl = \"sqlite:kept.db\"";
    let (url, begun, go, said) = upstream();
    let place = Place::new("leaving-a-trace");
    let gateway = left(&place, &url, &begun, store);
    go.send(()).unwrap();
    assert!(said.recv_timeout(PATIENCE).unwrap());
    says(&gateway, "\"drained\"");
    let metrics = gateway.request("GET", "/metrics", "", "");
    for (kind, count) in [("input", 3), ("output", 5), ("reasoning", 4)] {
        let is_it = |line: &&str| {
            line.starts_with("thinkthrough_tokens_total{")
                && line.contains(&format!("type=\"{kind}\""))
        };
        let line = metrics.lines().find(is_it).unwrap();
        assert!(line.ends_with(&format!(" {count}")), "{line}");
    }
    let config = place.file("config.toml");
    let began = Instant::now();
    // A trace is written behind its answer, so that a kill right after that could take it.
    let trace = loop {
        let ran = place.think(&["traces", "list", "--json", "--config", &config]);
        match &ran.json()[0] {
            Value::Null => assert!(began.elapsed() < PATIENCE, "the trace is written"),
            trace => break trace.clone(),
        }
    };
    assert_eq!(trace["state"], "whole", "{trace}");
    assert_eq!((&trace["reasoning_tokens"], &trace["total_tokens"]), (&json!(4), &json!(8)));
    assert_eq!(trace["metadata"]["outcome"], "drained", "{trace}");
}
