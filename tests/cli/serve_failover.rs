//! A server that fails over to a copy without its last commits gets them once more.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_faults::{all_there, ask, figure, until};
use crate::serve_kills::{first_turn, is_acknowledged, is_put_back, trace_of, traces_of};
use crate::serve_shared::on_server;
use crate::server::{PATIENCE, Server};
use serde_json::Value;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Answers whose thoughts the store acknowledged, with their requests; their traces are stored.
fn acknowledged(gateway: &Server, from: u32, count: u32) -> Vec<(Value, String)> {
    let mut all = Vec::new();
    for which in from..from + count {
        let first = first_turn(which);
        let answer = gateway.ask_in_time("/v1/chat/completions", &first.to_string());
        assert!(is_acknowledged(&answer), "{answer}");
        all.push((first, answer));
    }
    until(gateway, &answers(&all), "stored");
    all
}

fn answers(all: &[(Value, String)]) -> Vec<String> {
    all.iter().map(|(_, answer)| answer.clone()).collect()
}

/// Waits until the thoughts of all these answers are put back. A look-up may be late now and then.
fn all_put_back(gateway: &Server, all: &[(Value, String)]) {
    let began = Instant::now();
    for (first, answer) in all {
        while !is_put_back(gateway, first, answer) {
            assert!(began.elapsed() < PATIENCE, "{answer}");
            sleep(Duration::from_millis(50));
        }
    }
}

/// Waits until the gateway reports that it has written rows once more. Returns the time.
fn until_given_again(gateway: &Server) -> Duration {
    let began = Instant::now();
    while !gateway.said().contains("had lost what was committed last") {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

#[test]
fn p_2_a_copy_that_takes_over_gets_what_it_lacks_once_and_nothing_that_was_deleted_before() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("failover");
    let store = format!("{}spool = \"spool\"\n", on_server(&place, &database));
    let gateway = serve(&place, &store);
    let deleted = acknowledged(&gateway, 0, 2);
    let early = acknowledged(&gateway, 10, 5);
    let until_then: Vec<String> =
        deleted.iter().map(|(_, answer)| format!("'{}'", trace_of(answer).unwrap())).collect();
    let list = until_then.join(", ");
    database.say(&format!("DELETE FROM reasoning_traces WHERE id IN ({list})"));
    let copy = database.copied();
    let late = acknowledged(&gateway, 20, 20);
    // The helper repeated a request if its record was late.
    let lost = |table| database.rows(table) - copy.rows(table);
    let lost = [lost("reasoning_traces"), lost("record")];
    // Without any request, the gateway notices the failover by itself.
    database.fails_over_to(&copy);
    println!("given once more within {:?}", until_given_again(&gateway));
    let there = [answers(&early), answers(&late)].concat();
    until(&gateway, &there, "stored");
    all_there(&place, &there);
    let rows = traces_of(&place);
    assert!(rows.values().all(|count| *count == 1), "{rows:?}");
    let is_back = |(_, answer): &(Value, String)| rows.contains_key(&trace_of(answer).unwrap());
    assert!(!deleted.iter().any(is_back), "a deleted trace came back");
    all_put_back(&gateway, &early);
    all_put_back(&gateway, &late);
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    // The gateway writes only rows that the server lacks.
    let said = gateway.said();
    let expected = format!(": {} traces and {} records of the last minute", lost[0], lost[1]);
    assert!(lost[0] >= late.len() && said.contains(&expected), "{expected}: {said}");
}

#[test]
fn p_2_under_load_a_copy_gets_what_it_lacks_and_what_comes_meanwhile() {
    let Some(database) = Database::new() else { return };
    let place = Place::new("failover-load");
    let store = format!("{}spool = \"spool\"\n", on_server(&place, &database));
    let gateway = serve(&place, &store);
    let mut all = answers(&acknowledged(&gateway, 0, 3));
    // Twice, so that rewritten rows are lost again.
    for round in 1..=2 {
        let copy = database.copied();
        let late = acknowledged(&gateway, round * 100, 10);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask(&gateway, round * 100 + 20, 40));
            database.fails_over_to(&copy);
            all.extend(asking.join().unwrap());
        });
        all.extend(answers(&late));
        until_given_again(&gateway);
        until(&gateway, &all, "stored");
        all_there(&place, &all);
        all_put_back(&gateway, &late);
    }
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
}
