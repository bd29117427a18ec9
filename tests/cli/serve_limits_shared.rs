//! `limits` of gateways that share a store: all together let out as many requests in a minute as
//! one would.

use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::Server;
use crate::upstream::{Upstream, chat};
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const ALICE: &str = "authorization: Bearer alice-key-0123456789\r\n";

/// Longer than a gateway keeps an unused lease.
const IDLE: Duration = Duration::from_millis(1500);

/// A key and a provider with these limits.
fn config(store: &str, key: &str, provider: &str, upstream: &Upstream) -> String {
    let store = store.replace("keyless = true", "keyless = false");
    format!(
        "{store}[keys.alice]\nkey = \"alice-key-0123456789\"\n{key}\n\
         [providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n{provider}\n",
        upstream.url
    )
}

fn ask(gateway: &Server) -> u16 {
    answer(gateway).split(' ').nth(1).unwrap().parse().unwrap()
}

fn answer(gateway: &Server) -> String {
    let asked = json!({"model": "own/m", "stream": true, "max_tokens": 100,
        "messages": [{"role": "user", "content": "Why?"}]})
    .to_string();
    gateway.request("POST", "/v1/chat/completions", ALICE, &asked)
}

/// Sends this many requests at once, to these gateways in turn. Returns the number of accepted
/// ones.
fn let_out(gateways: &[&Server], callers: usize) -> usize {
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |one: usize| scope.spawn(move || ask(gateways[one % gateways.len()]));
        let all: Vec<_> = (0..callers).map(ask).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    statuses.iter().filter(|status| **status == 200).count()
}

const SIXTY: &str = "limits = { requests_per_minute = 60 }";

#[test]
fn req_limits_three_gateways_on_one_server_let_exactly_60_of_200_callers_in() {
    let Some(database) = Database::new() else { return };
    for (place, key, provider) in [("fleet-key", SIXTY, ""), ("fleet-provider", "", SIXTY)] {
        let (place, upstream) = (Place::new(place), Upstream::start(vec![chat("", "ok", None)]));
        let config = config(&on_server(&place, &database), key, provider, &upstream);
        let gateways = [0, 1, 2].map(|_| serve(&place, &config));
        let all: Vec<&Server> = gateways.iter().collect();
        assert_eq!(let_out(&all, 200), 60, "{key} {provider}");
        assert_eq!(let_out(&all, 9), 0);
        assert_eq!(upstream.bodies().len(), 60);
    }
}

#[test]
fn req_limits_of_a_hot_key_all_go_to_the_gateway_that_is_asked_and_then_to_the_next_one() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) = (Place::new("fleet-hot"), Upstream::start(vec![chat("", "ok", None)]));
    let config = config(&on_server(&place, &database), SIXTY, "", &upstream);
    let [first, second, third] = [0, 1, 2].map(|_| serve(&place, &config));
    assert_eq!(let_out(&[&first], 40), 40);
    // The unused places of the first gateway are called back at once.
    assert_eq!(let_out(&[&second], 15), 15);
    assert_eq!(let_out(&[&third], 50), 5);
    assert_eq!(let_out(&[&first, &second], 20), 0);
    assert_eq!(upstream.bodies().len(), 60);
}

#[test]
fn req_limits_of_tokens_are_shared_and_what_was_not_spent_is_free_for_all() {
    let Some(database) = Database::new() else { return };
    // Each answer costs fifteen tokens as the provider counts, and may cost more than a hundred
    // before.
    let (place, upstream) =
        (Place::new("fleet-tokens"), Upstream::start(vec![chat("", "ok", Some(0))]));
    let limits = "limits = { tokens_per_minute = 300 }";
    let config = config(&on_server(&place, &database), limits, "", &upstream);
    let [first, second] = [0, 1].map(|_| serve(&place, &config));
    let said: Vec<u16> =
        (0..14).map(|one| ask(if one % 2 == 0 { &first } else { &second })).collect();
    let let_out = said.iter().filter(|status| **status == 200).count();
    // The next one may cost so much that all would be more than three hundred.
    assert!((10..=13).contains(&let_out), "{said:?}");
    assert_eq!(said.iter().rposition(|status| *status == 200), Some(let_out - 1), "{said:?}");
}

#[test]
fn req_limits_places_that_a_killed_gateway_took_stay_taken_and_those_it_gave_back_are_free() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) =
        (Place::new("fleet-killed"), Upstream::start(vec![chat("", "ok", None)]));
    let config = config(&on_server(&place, &database), SIXTY, "", &upstream);
    let [first, second] = [0, 1].map(|_| serve(&place, &config));
    assert_eq!(let_out(&[&first], 10), 10);
    std::thread::sleep(IDLE);
    first.signal(Signal::KILL);
    // A new gateway does not begin with an empty window.
    let third = serve(&place, &config);
    assert_eq!(let_out(&[&second, &third], 90), 50);
}

#[test]
fn req_limits_in_a_file_hold_for_all_its_gateways_and_over_a_restart() {
    let (place, upstream) = (Place::new("fleet-file"), Upstream::start(vec![chat("", "ok", None)]));
    let limits = "limits = { requests_per_minute = 12 }";
    let config = config(IN_A_FILE, limits, "", &upstream);
    let [first, second] = [0, 1].map(|_| serve(&place, &config));
    assert_eq!(let_out(&[&first, &second], 8), 8);
    std::thread::sleep(IDLE);
    first.signal(Signal::TERM);
    let third = serve(&place, &config);
    assert_eq!(let_out(&[&third, &second], 9), 4);
}

#[test]
fn req_limits_hold_at_each_gateway_alone_while_the_store_is_away_and_that_is_counted() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) = (Place::new("fleet-away"), Upstream::start(vec![chat("", "ok", None)]));
    let limits = "limits = { requests_per_minute = 12 }";
    let config = config(&on_server(&place, &database), limits, "", &upstream);
    let [first, second] = [0, 1].map(|_| serve(&place, &config));
    assert_eq!(let_out(&[&first], 5), 5);
    std::thread::sleep(IDLE);
    database.shut();
    assert_eq!((let_out(&[&first], 20), let_out(&[&second], 20)), (7, 12));
    let metrics = first.request("GET", "/metrics", "", "");
    assert!(metrics.contains("thinkthrough_limit_alone_total{by=\"key\"} 7"), "{metrics}");
    // All of it counts when the store is back.
    database.open();
    std::thread::sleep(IDLE);
    assert_eq!(let_out(&[&serve(&place, &config)], 5), 0);
}

/// A relay to the server. From its fourth second on, it delays the server's bytes by 1.3 seconds in
/// the first 300 ms of every two seconds. Returns the database's URL through it.
fn late_now_and_then(database: &Database) -> String {
    let rest = database.url.split_once('@').expect("a user is named").1;
    let server = rest.split_once('/').unwrap().0.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let url = database.url.replacen(&server, &address, 1);
    let began = Instant::now();
    std::thread::spawn(move || {
        for caller in listener.incoming() {
            let (caller, server) = (caller.unwrap(), TcpStream::connect(&server).unwrap());
            let back = (server.try_clone().unwrap(), caller.try_clone().unwrap());
            std::thread::spawn(move || pass(caller, server, |_| Duration::ZERO, began));
            let late = |so_far: Duration| {
                let millis = so_far.as_millis() % 2_000;
                Duration::from_millis(if so_far.as_secs() > 3 && millis < 300 { 1_300 } else { 0 })
            };
            std::thread::spawn(move || pass(back.0, back.1, late, began));
        }
    });
    url
}

fn pass(mut from: TcpStream, mut to: TcpStream, late: fn(Duration) -> Duration, began: Instant) {
    let mut piece = [0; 16 * 1024];
    while let Ok(1..) = from.read(&mut piece).map(|length| {
        std::thread::sleep(late(began.elapsed()));
        if to.write_all(&piece[..length]).is_err() { 0 } else { length }
    }) {}
    drop(to.shutdown(Shutdown::Both));
}

#[test]
fn req_limits_hold_while_the_store_answers_late_now_and_then() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) = (Place::new("fleet-late"), Upstream::start(vec![chat("", "ok", None)]));
    let store = on_server(&place, &database).replace(&database.url, &late_now_and_then(&database));
    let config = config(&store, SIXTY, "", &upstream);
    let gateways = [0, 1].map(|_| serve(&place, &config));
    let began = Instant::now();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let ask = |one: usize| {
            let gateway = &gateways[one % 2];
            std::thread::sleep(Duration::from_millis(100));
            scope.spawn(|| answer(gateway))
        };
        let all: Vec<_> = (0..200).map(ask).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let let_out = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 200")).count();
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert_eq!(let_out, 60);
    for answer in answers.iter().filter(|answer| !answer.starts_with("HTTP/1.1 200")) {
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
        let is_unasked = answer.contains("could not be asked for");
        assert!(!is_unasked || answer.contains("retry-after: 1\r\n"), "{answer}");
    }
    for gateway in &gateways {
        let metrics = gateway.request("GET", "/metrics", "", "");
        assert!(metrics.contains("thinkthrough_limit_alone_total{by=\"key\"} 0"), "{metrics}");
    }
}
