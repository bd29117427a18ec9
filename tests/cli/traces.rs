//! Traces, from a gateway to `think traces`.

use crate::place::Place;
use crate::pty::paced::Paced;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A gateway for an upstream whose answers the test writes.
struct Desk {
    place: Place,
    paced: Paced,
    gateway: Server,
    asked: usize,
}

/// A key in no known format. Only the gateway's configuration shows that it is a secret.
const OWN: &str = "mauve-otter-walks-4711-home";
/// A key in a known format. It is in two parts so that secret scanners ignore this file.
const AWS: [&str; 2] = ["AKIA", "Q3EGRX7TNM2VLPZW"];

impl Desk {
    fn new(config: &str) -> Self {
        let (place, paced) = (Place::new("traces"), Paced::start());
        let own = paced.config().replacen("base_url", &format!("api_key = \"{OWN}\"\nbase_url"), 1);
        let store = "[store]\nurl = \"sqlite:kept.db\"\n";
        let gateway = serve(&place, &(own + store + config));
        Desk { place, paced, gateway, asked: 0 }
    }

    /// Sends a request. Returns the id of its trace.
    fn ask(&mut self, session: &str, thought: &str, answer: &str) -> String {
        self.asked += 1;
        self.paced.think(thought);
        self.paced.say(answer);
        self.paced.count(11, 22);
        self.paced.end();
        let body = json!({"model": "paced/m", "stream": true,
            "messages": [{"role": "user", "content": "Why?"}]});
        let headers =
            format!("content-type: application/json\r\nx-thinkthrough-session: {session}\r\n");
        let answer =
            self.gateway.request("POST", "/v1/chat/completions", &headers, &body.to_string());
        id(&answer)
    }

    fn think(&self, args: &[&str]) -> String {
        let ran = self.try_think(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out
    }

    fn try_think(&self, args: &[&str]) -> crate::program::Ran {
        let file = self.place.file("config.toml");
        self.place.think(&[&["traces"][..], args, &["--config", &file]].concat())
    }

    /// The trace, as soon as it is stored.
    fn stored(&self, id: &str) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.gateway.request("GET", &format!("/v1/traces/{id}"), "", "");
            if answer.starts_with("HTTP/1.1 200") {
                let (_, body) = answer.split_once("\r\n\r\n").unwrap();
                let trace: Value = serde_json::from_str(body).unwrap();
                if trace["state"] == "stored" {
                    return trace["trace"].clone();
                }
            }
            assert!(began.elapsed() < PATIENCE, "{answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns true if a database file of the gateway contains this text.
    fn is_on_disk(&self, text: &str) -> bool {
        let files = std::fs::read_dir(self.place.home()).unwrap().map(|it| it.unwrap().path());
        let kept = files.filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kept."))
        });
        let holds = |path: std::path::PathBuf| {
            let bytes = std::fs::read(path).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        kept.into_iter().any(holds)
    }
}

fn id(answer: &str) -> String {
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:")).unwrap();
    let (_, rest) = line.split_once("trace=").unwrap();
    rest.split(';').next().unwrap().trim().to_owned()
}

#[test]
fn req_budget_what_a_request_cost_stands_in_its_trace_its_figure_and_on_the_screen() {
    let priced = "[prices.\"paced/m\"]\ninput = 2\noutput = 10.5\nas_of = 2026-11-20\n";
    let mut desk = Desk::new(priced);
    let id = desk.ask("s", "A thought.", "It works.");
    // 11 tokens at 2 micro-dollars and 22 at 10.5.
    let trace = desk.stored(&id);
    assert_eq!(trace["cost_micro_usd"], 253, "{trace}");
    assert_eq!(trace["metadata"]["price_as_of"], "2026-11-20");
    let list: Value = serde_json::from_str(&desk.think(&["list", "--json"])).unwrap();
    assert_eq!(list[0]["cost_micro_usd"], 253);
    let shown = desk.think(&["show", &id]);
    assert!(shown.contains("cost     $0.000253, at the price of 2026-11-20"), "{shown}");
    let metrics = desk.gateway.request("GET", "/metrics", "", "");
    let figure = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name}{{")));
        line.map(|line| line.rsplit(' ').next().unwrap().to_owned())
    };
    assert_eq!(figure("thinkthrough_cost_usd_total").as_deref(), Some("0.000253"), "{metrics}");
    assert_eq!(figure("thinkthrough_cost_unknown_total"), None);
}

#[test]
fn adr_schema_adr_trace_adr_masking_a_request_leaves_one_masked_row_that_can_be_shown() {
    let mut desk = Desk::new("");
    let aws = AWS.concat();
    let thought = format!("The key is {aws}, and ours is {OWN}. A plain thought.");
    let id = desk.ask("nightly", &thought, "It works.");
    let trace = desk.stored(&id);
    let masked = trace["reasoning_text"].as_str().unwrap();
    assert!(masked.contains("A plain thought.") && masked.contains("[masked:"), "{masked}");
    assert!(!masked.contains(&aws) && !masked.contains(OWN), "{masked}");
    for (column, value) in [
        ("id", json!(id)),
        ("session_key", json!("nightly")),
        ("model", json!("m")),
        ("provider", json!("paced")),
        ("tenant", json!("local")),
        ("response_text", json!("It works.")),
        ("state", json!("whole")),
        ("input_tokens", json!(11)),
        ("output_tokens", json!(22)),
        ("total_tokens", json!(33)),
        // The model has no price.
        ("cost_micro_usd", Value::Null),
    ] {
        assert_eq!(trace[column], value, "{column} in {trace}");
    }
    assert_eq!(trace["metadata"]["reasoning_tokens_source"], "estimated");
    let list: Value = serde_json::from_str(&desk.think(&["list", "--json"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!((&list[0]["id"], &list[0]["reasoning_text"]), (&json!(id), &Value::Null));
    let shown = desk.think(&["show", &id]);
    assert!(shown.contains(masked) && shown.contains("It works."), "{shown}");
    let said = desk.try_think(&["show", &id]).err;
    assert!(
        said.contains(&format!("in the viewer: http://127.0.0.1:4114/ui/#/trace/{id}")),
        "{said}"
    );
    assert!(desk.try_think(&["show", "nobody"]).err.contains("think traces list"));
    let file = rusqlite::Connection::open(desk.place.file("kept.db")).unwrap();
    let sql = "SELECT group_concat(name || ' ' || type || ' ' || pk, ', ') \
               FROM (SELECT * FROM pragma_table_info('reasoning_traces') LIMIT 11)";
    let columns: String = file.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(
        columns,
        "id TEXT 1, session_key TEXT 0, run_id TEXT 0, model TEXT 0, provider TEXT 0, \
         reasoning_text TEXT 0, reasoning_tokens INTEGER 0, total_tokens INTEGER 0, \
         duration_ms INTEGER 0, metadata TEXT 0, created_at INTEGER 0"
    );
    drop(file);
    for secret in [aws.as_str(), OWN, "A plain thought"] {
        // Records for the model are sealed, and traces for people are masked.
        assert_eq!(desk.is_on_disk(secret), secret.starts_with('A') && secret != aws, "{secret}");
    }
}

/// Checks the display of a trace whose texts could not be masked. No text breaks the masker, so the
/// test edits the row. `crates/gateway/src/audit/recorder.rs` tests that the gateway writes such a
/// row.
#[test]
fn v_4_a_trace_whose_masker_broke_is_listed_and_shown_without_its_texts() {
    let mut desk = Desk::new("");
    let id = desk.ask("nightly", "A plain thought.", "It works.");
    desk.stored(&id);
    let file = rusqlite::Connection::open(desk.place.file("kept.db")).unwrap();
    let sql = "UPDATE reasoning_traces SET reasoning_text = '[masked:error]', response_text = '[masked:error]', \
               session_key = '[masked:error]', model = '[masked:error]', metadata = '{\"masked\":\"error\"}' WHERE id = ?1";
    assert_eq!(file.execute(sql, [&id]).unwrap(), 1);
    drop(file);
    let shown = desk.think(&["show", &id]);
    assert!(shown.matches("[masked:error]").count() >= 3, "{shown}");
    assert!(!shown.contains("A plain thought.") && !shown.contains("It works."), "{shown}");
    let shown: Value = serde_json::from_str(&desk.think(&["show", &id, "--json"])).unwrap();
    assert_eq!(
        (&shown["reasoning_text"], &shown["metadata"]["masked"]),
        (&json!("[masked:error]"), &json!("error"))
    );
    assert!(desk.think(&["list"]).contains(&id));
    assert!(desk.think(&["export", "--format", "html"]).contains("[masked:error]"));
}

#[test]
fn adr_trace_search_export_and_prune() {
    let mut desk = Desk::new("");
    let first = desk.ask("one", "Consider the race condition.", "Use a lock.");
    let second = desk.ask("two", "Nothing to consider.", "There is no race condition.");
    desk.stored(&first);
    desk.stored(&second);
    let found = |args: &[&str]| -> Vec<String> {
        let out = desk.think(&[&["search", "race condition", "--json"][..], args].concat());
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
        out.lines().map(|line| id(line).as_str().unwrap().to_owned()).collect()
    };
    // The search index is updated after the table.
    let began = Instant::now();
    while found(&[]).len() < 2 {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(found(&[]), [second.clone(), first.clone()], "the newest first");
    assert_eq!(found(&["--in", "thoughts"]), [first.as_str()]);
    assert_eq!(found(&["--in", "answers"]), [second.as_str()]);
    assert_eq!(found(&["--session", "one"]), [first.as_str()]);
    assert_eq!(found(&["--limit", "1"]), [second.as_str()]);
    assert_eq!(found(&["--until", "2020-01-01"]), [""; 0]);
    assert_eq!(found(&["--since", "1h", "--model", "m", "--provider", "paced"]).len(), 2);
    let jsonl = desk.think(&["export"]);
    let rows: Vec<Value> = jsonl.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!((rows.len(), &rows[0]["id"]), (2, &json!(first)), "the earliest first");
    let answers = desk.think(&["export", "--in", "answers", "--format", "md"]);
    assert!(answers.contains("Use a lock.") && !answers.contains("Consider"), "{answers}");
    let page = desk.think(&["export", "--format", "html"]);
    assert!(page.contains("Consider the race condition.") && page.starts_with("<!"), "{page}");
    let page = desk.think(&["export", "--format", "md"]);
    let places = [&first, &second].map(|id| page.find(&format!("## Trace `{id}`")).unwrap());
    assert!(places[0] < places[1] && page.contains("- session: `one`"), "{page}");
    assert_eq!(desk.think(&["export", "--limit", "1"]).lines().count(), 1);
    for nothing in ["", "\"", " -- "] {
        assert_eq!(desk.try_think(&["search", nothing]).code, Some(2), "{nothing}");
    }
    assert_eq!(desk.think(&["prune", "--yes"]), "0 traces deleted\n");
    assert_eq!(desk.try_think(&["prune"]).code, Some(2), "nobody can be asked here");
    assert_eq!(desk.think(&["prune", "--until", "0s", "--yes"]), "2 traces deleted\n");
    for none in [&["list"][..], &["search", "race"]] {
        let ran = desk.try_think(none);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "no trace was found\n"));
    }
    assert_eq!(desk.try_think(&["list", "--json"]).err, "");
}

#[test]
fn req_delimiter_redacted_spans_and_secrets_of_headers_are_in_no_trace() {
    let own = "headers = { x-api-token = \"violet-heron-sleeps-1847\", x-version = \"2023-06-01-word\" }\n";
    let mut desk =
        Desk::new(&format!("[models.other]\nprovider = \"paced\"\nmodel = \"m\"\n{own}"));
    let thought =
        "a <REDACTED>PIIalpha77</REDACTED> b violet-heron-sleeps-1847 <REDACTED>PIIbeta88";
    let id = desk.ask("nightly", thought, "c <REDACTED>PIIgamma99</REDACTED> d 2023-06-01-word");
    let trace = desk.stored(&id);
    let shown = trace["reasoning_text"].as_str().unwrap();
    assert!(shown.starts_with("a [redacted] b [masked:") && shown.ends_with(" [redacted]"));
    assert_eq!(trace["response_text"], "c [redacted] d 2023-06-01-word");
    let told = [
        desk.think(&["show", &id]),
        desk.think(&["export"]),
        desk.think(&["export", "--format", "md"]),
        desk.think(&["export", "--format", "html"]),
    ];
    for told in told {
        assert!(told.contains("[redacted]") && !told.contains("PII"), "{told}");
        assert!(!told.contains("violet-heron-sleeps-1847"), "{told}");
    }
}

#[test]
fn adr_trace_failures_leave_rows_and_what_is_not_to_be_kept_leaves_none() {
    let mut desk = Desk::new(
        "[models.away]\nprovider = \"gone\"\nmodel = \"m\"\n[providers.gone]\n\
        wire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    );
    let body = json!({"model": "away", "messages": [{"role": "user", "content": "Why?"}]});
    let failed = desk.gateway.ask("/v1/chat/completions", &body.to_string());
    assert!(failed.starts_with("HTTP/1.1 502"), "{failed}");
    let trace = desk.stored(&id(&failed));
    assert_eq!((&trace["state"], &trace["metadata"]["status"]), (&json!("failed"), &json!(502)));
    assert_ne!(trace["session_key"], "", "a client that names none has one all the same");
    let kept = desk.ask("nightly", "hm", "ok");
    desk.paced.think("hush");
    desk.paced.say("ok");
    desk.paced.end();
    let body = json!({"model": "paced/m", "stream": true,
        "messages": [{"role": "user", "content": "Why?"}]});
    let headers = "content-type: application/json\r\nx-thinkthrough-store: off\r\n";
    let off = desk.gateway.request("POST", "/v1/chat/completions", headers, &body.to_string());
    assert!(off.starts_with("HTTP/1.1 200"), "{off}");
    desk.stored(&kept);
    let list: Value = serde_json::from_str(&desk.think(&["list", "--json"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    let missing = desk.gateway.request("GET", &format!("/v1/traces/{}", id(&off)), "", "");
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
}

#[test]
fn adr_trace_traces_can_be_switched_off() {
    let mut desk = Desk::new("[traces]\nenabled = false\n");
    let id = desk.ask("nightly", "hm", "ok");
    let answer = desk.gateway.request("GET", &format!("/v1/traces/{id}"), "", "");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert_eq!(desk.think(&["list"]), "");
}

#[test]
fn adr_retention_old_traces_go_when_the_configuration_says_so() {
    for (keep, left) in [("keep_days = 1", 0), ("keep_days = 0", 1), ("", 0)] {
        let mut desk = Desk::new("");
        let id = desk.ask("nightly", "hm", "ok");
        desk.stored(&id);
        let Desk { place, gateway, .. } = desk;
        gateway.stop();
        let file = rusqlite::Connection::open(place.file("kept.db")).unwrap();
        // A hundred copies with today's date, because retention waits if more than a fifth of the
        // traces are old: the clock may have jumped.
        let copy = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100) \
                    INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, \
                    reasoning_text, created_at) SELECT n, 's', 'r', 'm', 'p', '', created_at \
                    FROM n, reasoning_traces WHERE id = ?";
        file.execute(copy, [&id]).unwrap();
        let old =
            "UPDATE reasoning_traces SET created_at = created_at - 31 * 86400000 WHERE id = ?";
        file.execute(old, [&id]).unwrap();
        let config = format!("[store]\nurl = \"sqlite:kept.db\"\n[traces]\n{keep}\n");
        let _gateway = serve(&place, &config);
        let count = || -> i64 {
            let sql = "SELECT count(*) FROM reasoning_traces WHERE id = ?";
            file.query_row(sql, [&id], |row| row.get(0)).unwrap()
        };
        let began = Instant::now();
        while count() != left {
            assert!(began.elapsed() < PATIENCE, "{keep}");
            std::thread::sleep(Duration::from_millis(20));
        }
        if left == 1 {
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(count(), 1, "{keep}");
        }
    }
}

/// Another program's database is not opened as a store, and its traces are masked before they are
/// stored.
#[test]
fn traces_of_another_program_are_imported_and_covered() {
    let place = Place::new("traces-other");
    let other = rusqlite::Connection::open(place.file("other.db")).unwrap();
    let table = "CREATE TABLE reasoning_traces (id INTEGER PRIMARY KEY AUTOINCREMENT, \
        session_key TEXT, run_id TEXT, model TEXT, provider TEXT, reasoning_text TEXT, \
        reasoning_tokens INTEGER, total_tokens INTEGER, duration_ms INTEGER, metadata TEXT, \
        created_at INTEGER)";
    let row = format!(
        "INSERT INTO reasoning_traces VALUES (41, 's', 'r', 'm', 'p', 'old words {}', 1, 2, 3, '{{}}', \
         unixepoch() * 1000)",
        AWS.concat()
    );
    other.execute_batch(&format!("{table}; {row}")).unwrap();
    other.close().unwrap();
    let config = |file: &str| {
        place.write(&format!("{file}.toml"), &format!("[store]\nurl = \"sqlite:{file}\"\n"))
    };
    let (other, own) = (config("other.db"), config("own.db"));
    let refused = place.think(&["traces", "list", "--config", &other]);
    assert_eq!(refused.code, Some(1), "{}", refused.out);
    assert!(refused.err.contains("`think traces import "), "{}", refused.err);
    let file = place.file("other.db");
    for _ in 0..2 {
        let ran = place.think(&["traces", "import", &file, "--config", &own]);
        assert!(ran.out.starts_with("1 trace is in the store now"), "{}{}", ran.out, ran.err);
    }
    let found = place.think(&["traces", "search", "old", "words", "--json", "--config", &own]);
    assert_eq!((found.code, found.out.lines().count()), (Some(0), 1), "{}", found.err);
    assert!(
        found.out.contains("old words [masked:") && !found.out.contains(AWS[1]),
        "{}",
        found.out
    );
    let missing = place.think(&["traces", "import", "no.db", "--config", &own]);
    assert_eq!(missing.code, Some(1), "{}", missing.out);
}
