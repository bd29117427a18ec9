//! `think sim`, over a real socket.

use crate::program::think;
use crate::server::Server;

const QUESTION: &str =
    r#"{"model":"kimi-k2-thinking","messages":[{"role":"user","content":"what is a zebra"}]}"#;

#[test]
fn sim_answers_and_logs_without_content() {
    let sim = Server::start("sim", &[]);
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
    let sim = Server::start("sim", &["--fault", "status=429,retry-after=2"]);
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
    let sim = Server::start("sim", &[]);
    let ran = think(&["sim", "--listen", &sim.addr], b"");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(&sim.addr) && ran.err.contains("--listen"), "{}", ran.err);
    sim.stop();
}
