//! Reports the state of a trace before the end of its answer, if the caller asks for it.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_faults::{all_there, far, figure, until};
use crate::serve_kills::{first_turn, trace_of};
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::Server;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::thread::scope;
use std::time::{Duration, Instant};

const ASKED: &str = "x-thinkthrough-trace: state\r\n";
pub(crate) const CHAT: &str = "/v1/chat/completions";

/// The comment of a stream about its trace: its position, the id of the trace, and the state.
fn told(answer: &str) -> Option<(usize, &str, &str)> {
    let at = answer.find("\n: trace=")? + 1;
    let line = answer.get(at..)?.lines().next()?;
    let (id, state) = line.strip_prefix(": trace=")?.split_once(' ')?;
    Some((at, id, state.strip_prefix("state=")?))
}

/// The state in the header of a whole answer.
fn in_header(answer: &str) -> Option<&str> {
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:"))?;
    line.split_once("trace_state=").map(|(_, state)| state)
}

/// The same question on each route, and a part of the last event of its stream.
fn routes() -> [(&'static str, Value, &'static str); 4] {
    let said = json!([{"role": "user", "content": "What is in this folder?"}]);
    let model = "sim/kimi-k2";
    [
        (CHAT, json!({"model": model, "stream": true, "messages": said}), "data: [DONE]"),
        (
            "/v1/messages",
            json!({"model": model, "stream": true, "max_tokens": 900, "messages": said}),
            "event: message_stop",
        ),
        (
            "/v1/responses",
            json!({"model": model, "stream": true, "input": "What is in this folder?"}),
            "event: response.completed",
        ),
        (
            "/v1beta/models/sim%2Fkimi-k2:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [{"text": "What is in this folder?"}]}]}),
            "\"finishReason\"",
        ),
    ]
}

fn post(gateway: &Server, path: &str, headers: &str, asked: &Value) -> String {
    let headers = format!("content-type: application/json\r\n{headers}");
    let answer = gateway.request("POST", path, &headers, &asked.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    answer
}

/// An answer, and whether its trace is acknowledged: on a busy machine it may not be there in time.
pub(crate) fn asked(gateway: &Server, path: &str, asked: &Value) -> (String, bool) {
    let answer = post(gateway, path, ASKED, asked);
    let (_, id, state) = told(&answer).unwrap_or_else(|| panic!("{path}: nothing in {answer}"));
    assert_eq!(trace_of(&answer).as_deref(), Some(id), "{path}: {answer}");
    assert!(["stored", "spooled", "waiting"].contains(&state), "{path}: {answer}");
    let is_acknowledged = state != "waiting";
    (answer, is_acknowledged)
}

#[test]
fn req_a_caller_that_asks_hears_where_its_trace_is_before_its_answer_ends() {
    let place = Place::new("confirmed");
    let gateway = serve(&place, IN_A_FILE);
    let mut answers = Vec::new();
    let mut acknowledged = 0;
    for (path, question, last) in routes() {
        let (answer, is_acknowledged) = asked(&gateway, path, &question);
        acknowledged += u32::from(is_acknowledged);
        let (at, ..) = told(&answer).unwrap();
        assert!(answer.rfind(last).is_some_and(|last| at < last), "{path}: {answer}");
        assert_eq!(answer.matches("trace=").count(), 2, "{path}: {answer}");
        // Other callers get no report.
        let other = post(&gateway, path, "", &question);
        assert!(told(&other).is_none() && in_header(&other).is_none(), "{path}: {other}");
        let off = post(&gateway, path, &format!("{ASKED}x-thinkthrough-store: off\r\n"), &question);
        assert!(told(&off).is_none(), "{path}: {off}");
        answers.extend([answer, other]);
    }
    let whole = json!({"model": "sim/kimi-k2", "messages": [{"role": "user", "content": "Why?"}]});
    let answer = post(&gateway, CHAT, ASKED, &whole);
    let states = ["stored", "spooled", "waiting"];
    assert!(in_header(&answer).is_some_and(|it| states.contains(&it)), "{answer}");
    assert!(acknowledged > 0, "none was there in time");
    answers.push(answer);
    until(&gateway, &answers, "stored");
    all_there(&place, &answers);
    let shown =
        gateway.request("GET", &format!("/v1/traces/{}", trace_of(&answers[0]).unwrap()), "", "");
    for word in ["\"state\":\"whole\"", "\"outcome\":\"completed\"", "\"status\":200"] {
        assert!(shown.replace("\\", "").contains(word), "{word}: {shown}");
    }
}

#[test]
fn req_what_was_acknowledged_outlives_a_kill_at_that_moment() {
    for database in [None, Some(Database::new())] {
        let place = Place::new("confirmed-kill");
        let config = match &database {
            None => IN_A_FILE.to_owned(),
            Some(Some(database)) => {
                format!("{}spool = \"waiting/here\"\n", on_server(&place, database))
            }
            Some(None) => continue,
        };
        let mut answers = Vec::new();
        for round in 0..5 {
            let gateway = serve(&place, &config);
            let came: Vec<(String, bool)> = scope(|scope| {
                let gateway = &gateway;
                let ask = |which| scope.spawn(move || asked(gateway, CHAT, &first_turn(which)));
                let all: Vec<_> = (round * 10..round * 10 + 8).map(ask).collect();
                all.into_iter().map(|it| it.join().unwrap()).collect()
            });
            gateway.signal(Signal::KILL);
            let acknowledged = came.into_iter().filter(|(_, is_acknowledged)| *is_acknowledged);
            answers.extend(acknowledged.map(|(answer, _)| answer));
        }
        assert!(answers.len() > 10, "{} of 40 were there in time", answers.len());
        let gateway = serve(&place, &config);
        until(&gateway, &answers, "stored");
        all_there(&place, &answers);
    }
}

#[test]
fn req_no_answer_waits_long_for_its_trace() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("confirmed-late");
    let (gateway, proxy, _) = far(&place, &database, "false");
    let (first, _) = asked(&gateway, CHAT, &first_turn(0));
    until(&gateway, &[first], "stored");
    proxy.freeze(true);
    let began = Instant::now();
    let answer = post(&gateway, CHAT, ASKED, &first_turn(1));
    assert_eq!(told(&answer).unwrap().2, "waiting", "{answer}");
    assert!(answer.contains("[DONE]") && began.elapsed() < Duration::from_secs(2), "{answer}");
    proxy.freeze(false);
    until(&gateway, &[answer], "stored");
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
}
