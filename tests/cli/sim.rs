//! `think sim`, over a real socket.

use crate::program::{command, think};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A running `think sim`; it is stopped when this goes.
struct Sim {
    child: Child,
    addr: String,
}

impl Sim {
    fn start(args: &[&str]) -> Sim {
        let all: Vec<&str> =
            ["sim", "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
        let mut child =
            command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let addr = first.trim_end().strip_prefix("listening on http://");
        let addr = addr.unwrap_or_else(|| panic!("the first line is {first:?}")).to_owned();
        Sim { child, addr }
    }

    /// Asks a question and gives the whole HTTP answer.
    fn ask(&self, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: sim\r\nauthorization: Bearer key\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Stops it and gives what it said on standard error.
    fn stop(mut self) -> String {
        self.child.kill().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const QUESTION: &str =
    r#"{"model":"kimi-k2-thinking","messages":[{"role":"user","content":"what is a zebra"}]}"#;

#[test]
fn sim_answers_and_logs_without_content() {
    let sim = Sim::start(&[]);
    let answer = sim.ask("/kimi-k2/v1/chat/completions", QUESTION);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("reasoning_content"), "{answer}");
    let log = sim.stop();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.starts_with("kimi-k2: POST /kimi-k2/v1/chat/completions -> 200"), "{log}");
    assert!(!log.contains("zebra"), "{log}");
}

#[test]
fn sim_injects_the_fault_it_is_told() {
    let sim = Sim::start(&["--fault", "status=429,retry-after=2"]);
    let answer = sim.ask("/kimi-k2/v1/chat/completions", QUESTION);
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("retry-after: 2"), "{answer}");
    assert!(sim.stop().contains("fault status=429,retry-after=2"));
}

#[test]
fn sim_lists_its_simulators() {
    let rows = think(&["sim", "--list", "--json"], b"").json();
    let rows = rows.as_array().unwrap();
    let table = think(&["sim", "--list"], b"").out;
    assert_eq!(table.lines().count(), rows.len());
    for (row, line) in rows.iter().zip(table.lines()) {
        for key in ["id", "wire", "rule"] {
            assert!(line.contains(row[key].as_str().unwrap()), "{line}");
        }
    }
    assert!(rows.iter().any(|row| row["id"] == "anthropic-bound"));
}

#[test]
fn sim_says_what_to_do_when_it_cannot_listen() {
    let sim = Sim::start(&[]);
    let ran = think(&["sim", "--listen", &sim.addr], b"");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(&sim.addr) && ran.err.contains("--listen"), "{}", ran.err);
    sim.stop();
}
