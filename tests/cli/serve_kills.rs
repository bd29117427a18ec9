//! The data that a killed gateway leaves, and the keep-alive bytes in long silences.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn tools() -> Value {
    let list = json!({"name": "list", "parameters": {"type": "object", "properties": {}}});
    json!([{"type": "function", "function": list}])
}

pub(crate) fn first_turn(which: u32) -> Value {
    let asked = format!("What is in this folder? ({which})");
    json!({"model": "sim/kimi-k2", "stream": true, "tools": tools(),
        "messages": [{"role": "user", "content": asked}]})
}

/// Posts a request. Returns the received bytes, however the connection ended.
pub(crate) fn post(addr: &str, request: &Value) -> Option<String> {
    let mut stream = TcpStream::connect(addr).ok()?;
    let request = request.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{request}",
        request.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut said = Vec::new();
    drop(stream.read_to_end(&mut said));
    Some(String::from_utf8_lossy(&said).into_owned())
}

/// The second turn of a client that drops the thought. `None` if the client received no call.
fn second_turn(first: &Value, said: &str) -> Option<Value> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for line in said.lines().filter_map(|line| line.strip_prefix("data: {")) {
        let Ok(event) = serde_json::from_str::<Value>(&format!("{{{line}")) else { continue };
        let delta = &event["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if at == calls.len() {
                calls.push((String::new(), String::new(), String::new()));
            }
            let parts = &mut calls[at];
            let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            parts.0.push_str(&part(&call["id"]));
            parts.1.push_str(&part(&call["function"]["name"]));
            parts.2.push_str(&part(&call["function"]["arguments"]));
        }
    }
    let mut request = first.clone();
    let messages = request["messages"].as_array_mut().unwrap();
    let (id, name, arguments) = calls.first()?.clone();
    let call =
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    messages.push(json!({"role": "assistant", "content": text, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "README.md"}));
    Some(request)
}

/// The comment in an answer whose end did not wait for its record.
const UNSAVED: &str = ": this answer ended before its thoughts were saved";

/// Whether the answer is whole and its record was saved before its end.
pub(crate) fn is_acknowledged(answer: &str) -> bool {
    answer.contains("[DONE]") && !answer.contains(UNSAVED)
}

/// Number of failed look-ups.
pub(crate) fn blind(gateway: &Server) -> usize {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let named =
        |line: &'_ str| line.strip_prefix("thinkthrough_lookups_failed_total ")?.parse().ok();
    metrics.lines().find_map(named).unwrap()
}

/// The trace that the head of an answer names.
pub(crate) fn trace_of(answer: &str) -> Option<String> {
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:"))?;
    let (_, rest) = line.split_once("trace=")?;
    Some(rest.split(';').next()?.trim().to_owned())
}

/// The trace of an answer, and its state at the gateway.
pub(crate) fn state_of(gateway: &Server, answer: &str) -> Option<(String, String)> {
    let id = trace_of(answer)?;
    let said = gateway.request("GET", &format!("/v1/traces/{id}"), "", "");
    let (_, rest) = said.split_once("\"state\":\"")?;
    Some((id, rest.split('"').next()?.to_owned()))
}

/// How often each of the latest traces is in the store.
pub(crate) fn traces_of(place: &Place) -> BTreeMap<String, usize> {
    let file = place.file("config.toml");
    let ran = place.think(&["traces", "list", "--json", "--limit", "3000", "--config", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut all = BTreeMap::new();
    for trace in ran.json().as_array().unwrap() {
        *all.entry(trace["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    all
}

/// How often it is killed: `THINKTHROUGH_KILLS` takes more.
fn rounds() -> u64 {
    let said = std::env::var("THINKTHROUGH_KILLS").ok();
    said.and_then(|it| it.parse().ok()).unwrap_or(12)
}

/// The results of all kills.
#[derive(Default)]
struct Tally {
    /// Number of requests. It also numbers them.
    asked: AtomicU32,
    whole: usize,
    broken: usize,
    unsaved: usize,
    /// Traces that the gateway reported as kept.
    kept: usize,
    /// Number of these that it reported in its journal.
    spooled: usize,
    /// The times until the gateway was ready again.
    ready: Vec<Duration>,
}

/// The acknowledgements of a gateway before its kill.
struct Acknowledged {
    /// Requests of first turns, with the received answers.
    said: Vec<(Value, String)>,
    /// The ids of traces with their state.
    traces: BTreeMap<String, String>,
}

/// Asks a gateway from three sides, and kills it in the middle of that.
fn killed(gateway: &Server, asked: &AtomicU32, round: u64) -> Acknowledged {
    let stop = AtomicBool::new(false);
    let said: Mutex<Vec<(Value, String)>> = Mutex::default();
    let mut traces = BTreeMap::new();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let first = first_turn(asked.fetch_add(1, Ordering::Relaxed));
                    let Some(answer) = post(&gateway.addr, &first) else { break };
                    said.lock().unwrap().push((first, answer));
                }
            });
        }
        // A moment after the fifth whole answer.
        let wholes = || said.lock().unwrap().iter().filter(|it| is_acknowledged(&it.1)).count();
        while wholes() < 5 && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(round * 37 % 50));
        let answers: Vec<String> =
            said.lock().unwrap().iter().map(|(_, answer)| answer.clone()).collect();
        traces = answers.iter().filter_map(|answer| state_of(gateway, answer)).collect();
        gateway.signal(Signal::KILL);
        stop.store(true, Ordering::Relaxed);
    });
    traces.retain(|_, state| state == "stored" || state == "spooled");
    Acknowledged { said: said.into_inner().unwrap(), traces }
}

/// Kills a gateway under load again and again. Returns the results.
fn killed_again_and_again(place: &Place, store: &str) -> Tally {
    let mut tally = Tally::default();
    for round in 0..rounds() {
        let gateway = serve(place, store);
        // After one request the gateway knows the tenant, so that it saves every answer or reports
        // that it did not.
        let first = first_turn(tally.asked.fetch_add(1, Ordering::Relaxed));
        gateway.ask_in_time("/v1/chat/completions", &first.to_string());
        let Acknowledged { said, traces } = killed(&gateway, &tally.asked, round);
        drop(gateway);
        let began = Instant::now();
        let gateway = serve(place, store);
        while !gateway.request("GET", "/readyz", "", "").starts_with("HTTP/1.1 200") {
            assert!(began.elapsed() < PATIENCE, "it is not ready");
        }
        tally.ready.push(began.elapsed());
        let there = traces_of(place);
        assert!(there.values().all(|count| *count == 1), "a trace is there twice: {there:?}");
        let gone: Vec<_> = traces.iter().filter(|(id, _)| !there.contains_key(*id)).collect();
        assert!(gone.is_empty(), "acknowledged traces are lost, round {round}: {gone:?}");
        tally.kept += traces.len();
        tally.spooled += traces.values().filter(|state| *state == "spooled").count();
        tally.answers(&gateway, said, round);
    }
    tally
}

impl Tally {
    /// Checks which answers of the gateway before it a gateway still has.
    fn answers(&mut self, gateway: &Server, said: Vec<(Value, String)>, round: u64) {
        let mut lost = 0;
        for (first, answer) in said {
            let Some(second) = second_turn(&first, &answer) else { continue };
            let again = post(&gateway.addr, &second).unwrap();
            let is_back = again.contains("x-thinkthrough: restored=1; missed=0;");
            if answer.contains(UNSAVED) {
                self.unsaved += 1;
            } else if is_acknowledged(&answer) {
                self.whole += 1;
                lost += usize::from(!is_back);
            } else {
                // Half an answer has no thought, unless it is all there and only its end was not
                // heard.
                self.broken += 1;
                let is_whole = answer.contains("\"finish_reason\":\"tool_calls\"");
                assert!(!is_back || is_whole, "{answer}\n{again}");
            }
        }
        let blind = blind(gateway);
        assert!(
            lost <= blind,
            "{lost} acknowledged answers are lost ({blind} unseen), round {round}"
        );
    }

    /// Prints the results and checks them.
    fn holds(mut self, on: &str) {
        self.ready.sort_unstable();
        let Tally { whole, broken, unsaved, kept, spooled, ready, .. } = self;
        let (median, slowest) = (ready[ready.len() / 2], ready[ready.len() - 1]);
        println!(
            "{on}: {} kills: {whole} whole answers, {broken} broken ones, {unsaved} that were not saved in time; {kept} \
             traces acknowledged, {spooled} of them spooled; ready again within {median:?} at the median and \
             {slowest:?} at most",
            ready.len()
        );
        assert!(whole > 50 && kept > 0, "{whole} {kept}");
        // One in ten may have had to wait for what else the machine does.
        let most = ready[(ready.len() - 1) * 9 / 10];
        assert!(most < Duration::from_secs(2), "{ready:?}");
    }
}

#[test]
fn k_1_whenever_it_is_killed_it_is_back_at_once_and_knows_what_it_acknowledged() {
    killed_again_and_again(&Place::new("killed"), IN_A_FILE).holds("a file");
}

#[test]
fn k_1_whenever_it_is_killed_a_server_knows_what_it_acknowledged() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("killed-on-server");
    let store = format!("{}spool = \"spool\"\n", on_server(&place, &database));
    killed_again_and_again(&place, &store).holds("a server");
}

/// Whether the thought of an answer is put back into the turn that follows it.
pub(crate) fn is_put_back(gateway: &Server, first: &Value, answer: &str) -> bool {
    let second = second_turn(first, answer).unwrap();
    let again = post(&gateway.addr, &second).unwrap();
    again.contains("x-thinkthrough: restored=1; missed=0;")
}

#[test]
fn k_1_killed_right_after_the_last_byte_it_has_lost_nothing() {
    let place = Place::new("last-byte");
    let mut heard: Vec<(Value, String)> = Vec::new();
    let mut acknowledged = 0;
    for round in 0..20 {
        let gateway = serve(&place, IN_A_FILE);
        let blind_before = blind(&gateway);
        let lost = heard.iter().filter(|(first, answer)| !is_put_back(&gateway, first, answer));
        let (lost, unseen) = (lost.count(), blind(&gateway) - blind_before);
        assert!(lost <= unseen, "{lost} of {} are lost ({unseen} unseen)", heard.len());
        heard.clear();
        // A different number of them waits for the database each time.
        for which in 0..=round % 7 {
            let first = first_turn(round * 100 + which);
            let answer = post(&gateway.addr, &first).unwrap();
            if is_acknowledged(&answer) {
                heard.push((first, answer));
            }
        }
        gateway.signal(Signal::KILL);
        acknowledged += heard.len();
    }
    println!("{acknowledged} answers");
    assert!(acknowledged > 50, "{acknowledged}");
}

#[test]
fn d_1_no_answer_waits_for_a_database_that_another_process_holds() {
    let place = Place::new("held");
    let gateway = serve(&place, IN_A_FILE);
    // After one request the gateway knows the tenant.
    gateway.ask_in_time("/v1/chat/completions", &first_turn(0).to_string());
    let other = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let rows = || {
        let sql = "SELECT count(*) FROM record";
        other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = rows();
    let heard: Vec<(Value, String)> = (1..=10)
        .map(|which| {
            let first = first_turn(which);
            let answer = post(&gateway.addr, &first).unwrap();
            assert!(is_acknowledged(&answer), "{which}: {answer}");
            (first, answer)
        })
        .collect();
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
    let metrics = gateway.request("GET", "/metrics", "", "");
    assert!(metrics.contains("\nthinkthrough_unsaved_total 0\n"), "{metrics}");
    assert_eq!(rows(), before, "the database is held");
    // Traces go the same way.
    let ids: Vec<String> = heard.iter().filter_map(|(_, answer)| trace_of(answer)).collect();
    let state = |gateway: &Server, answer: &str| state_of(gateway, answer).unwrap().1;
    let began = Instant::now();
    for (_, answer) in &heard {
        while state(&gateway, answer) != "spooled" {
            assert!(began.elapsed() < PATIENCE, "{}", state(&gateway, answer));
        }
    }
    let metrics = gateway.request("GET", "/metrics", "", "");
    assert!(metrics.contains("\nthinkthrough_traces_lost_total 0\n"), "{metrics}");
    assert!(!metrics.contains("\nthinkthrough_traces_waiting 0\n"), "{metrics}");
    gateway.signal(Signal::KILL);
    drop(gateway);
    // The next gateway reads the journal before the database accepts writes.
    let gateway = serve(&place, IN_A_FILE);
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
    other.execute_batch("ROLLBACK").unwrap();
    let began = Instant::now();
    while rows() < before + 10 {
        assert!(began.elapsed() < PATIENCE, "the database never has them");
        std::thread::sleep(Duration::from_millis(10));
    }
    while heard.iter().any(|(_, answer)| state(&gateway, answer) != "stored") {
        assert!(began.elapsed() < PATIENCE, "the database never has their traces");
    }
    let there = traces_of(&place);
    assert!(ids.len() == 10 && ids.iter().all(|id| there.get(id) == Some(&1)), "{there:?}");
    assert!(heard.iter().all(|(first, answer)| is_put_back(&gateway, first, answer)));
}

/// Asks for a stream. Returns each line with its time.
fn lines(gateway: &Server, model: &str, path: &str) -> Vec<(Duration, String)> {
    let asked = json!({"model": model, "stream": true, "max_tokens": 3000,
        "messages": [{"role": "user", "content": "what is a zebra"}]});
    let asked = asked.to_string();
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{asked}",
        asked.len()
    )
    .unwrap();
    let began = Instant::now();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.map(|line| (began.elapsed(), line)).collect()
}

/// A relay that lets a request through after this time.
fn late(to: &str, after: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let to = to.to_owned();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (mut near, to) = (near.unwrap(), to.clone());
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let mut far = TcpStream::connect(to).unwrap();
                let (mut back, mut there) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut near, &mut there));
                drop(std::io::copy(&mut far, &mut back));
            });
        }
    });
    addr
}

#[test]
fn u_2_u_3_a_stream_is_kept_alive_through_long_silence() {
    let place = Place::new("silence");
    // A word every 15 seconds, so there are two of them, with seconds to spare on a busy machine.
    let sims = [&["--fault", "stall=38000"][..], &["--fault", "stall=38000,stall-at=2"], &[]]
        .map(|args| Server::start("sim", args));
    // Silence before the head, behind it, and in the middle.
    let [behind, within, prompt] = &sims;
    let before = late(&prompt.addr, Duration::from_secs(38));
    let provider = |name: &str, addr: &str| {
        format!(
            "[providers.{name}]\nextends = \"moonshotai\"\nbase_url = \"http://{addr}/kimi-k2/v1\"\napi_key = \"k\"\n"
        )
    };
    let config = provider("before", &before)
        + &provider("behind", &behind.addr)
        + &provider("within", &within.addr);
    let gateway = serve(&place, &config);
    std::thread::scope(|scope| {
        for which in ["before", "behind", "within"] {
            // On the model's own wire, and on another one.
            for (path, end) in
                [("/v1/chat/completions", "[DONE]"), ("/v1/messages", "message_stop")]
            {
                let gateway = &gateway;
                scope.spawn(move || {
                    let lines = lines(gateway, &format!("{which}/kimi-k2-thinking"), path);
                    let comments = lines.iter().filter(|(_, line)| line.starts_with(": "));
                    let times: Vec<u64> = comments.map(|(at, _)| at.as_secs()).collect();
                    let is_right = matches!(times[..], [14..=29, 29..=60]);
                    assert!(is_right, "{path} {which}: {times:?}");
                    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
                    let whole = text.join("\n");
                    assert!(whole.starts_with("HTTP/1.1 200"), "{path} {which}: {whole}");
                    assert!(
                        whole.contains(end) && !whole.contains("error"),
                        "{path} {which}: {whole}"
                    );
                });
            }
        }
    });
}
