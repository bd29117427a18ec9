//! An answer that a gateway described in words stays described, although its lost record is found
//! again.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

type Row = (i64, i64, i64);

/// All keys by which the records of the store are found.
fn keys(store: &Connection) -> Vec<Row> {
    let mut rows = store.prepare("SELECT tenant, key, record FROM record_key").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn id(round: usize) -> String {
    format!("call_0{round}_A9b8C7d6E5f4G3h2J1k0")
}

/// The request after this many answers, from a client that drops thoughts.
fn request(rounds: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "what is here"})];
    for round in 1..=rounds {
        let function = json!({"name": "list", "arguments": "{}"});
        let call = json!({"id": id(round), "type": "function", "function": function});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id(round), "content": "a"}));
    }
    json!({"model": "there/deepseek-v4-pro", "stream": true, "messages": messages}).to_string()
}

/// Asks. Returns the header `x-thinkthrough` and the messages that went upstream.
fn ask(gateway: &Server, upstream: &Upstream, rounds: usize) -> (String, Vec<Value>) {
    let answer = gateway.ask_in_time("/v1/chat/completions", &request(rounds));
    let header = answer.lines().find_map(|line| line.strip_prefix("x-thinkthrough: "));
    let header = header.unwrap_or_else(|| panic!("{answer}")).to_owned();
    (header, upstream.last()["messages"].as_array().unwrap().clone())
}

#[test]
fn what_was_told_stays_told_when_its_record_comes_back() {
    let place = Place::new("told");
    let mut round = 0;
    let upstream = Upstream::answering(move |_| {
        round += 1;
        chat(&format!("thought {round}"), "list", None)
            .replace("\"c1\"", &format!("{:?}", id(round)))
    });
    let gateway = serve(
        &place,
        &format!(
            "{IN_A_FILE}[providers.there]\nextends = \"deepseek\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        ),
    );
    ask(&gateway, &upstream, 0);
    let store = Connection::open(place.file("kept.db")).unwrap();
    store.busy_timeout(PATIENCE).unwrap();
    let began = Instant::now();
    let lost = loop {
        let rows = keys(&store);
        if !rows.is_empty() {
            break rows;
        }
        assert!(began.elapsed() < PATIENCE, "the record never comes into the database");
        std::thread::sleep(Duration::from_millis(5));
    };
    store.execute("DELETE FROM record_key", []).unwrap();

    let (header, told) = ask(&gateway, &upstream, 1);
    assert!(
        header.starts_with("restored=0; missed=1; ") && header.contains("flattened=1"),
        "{header}"
    );
    for (tenant, key, record) in &lost {
        let sql = "INSERT INTO record_key (tenant, key, record) VALUES (?, ?, ?)";
        store.execute(sql, [tenant, key, record]).unwrap();
    }
    for rounds in 2..4 {
        let (header, sent) = ask(&gateway, &upstream, rounds);
        assert!(header.contains("dropped=1") && header.contains("flattened=1"), "{header}");
        assert!(sent.starts_with(&told), "{sent:#?}\nafter {told:#?}");
        let thoughts = sent.iter().filter_map(|it| it["reasoning_content"].as_str());
        let others: Vec<String> = (2..=rounds).map(|round| format!("thought {round}")).collect();
        assert_eq!(thoughts.collect::<Vec<_>>(), others);
    }
}
