//! A provider resource has no owner after the erasure of its tenant, or after a long time without
//! use.

use crate::place::Place;
use crate::serve_tenants::{ALICE, BOB, Keeper, ask, gateway_with, is_owners, make};
use crate::server::{PATIENCE, Server};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const STORE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

type Asked = (String, String, Value);

/// Asks with an id.
type Way = Box<dyn Fn(&str) -> Asked>;

/// Every way in which these ids are named: in a path, and in a body.
fn ways(response: &str) -> Vec<(Way, String)> {
    let post = |path: &'static str, asked: fn(&str) -> Value| -> Way {
        Box::new(move |id| ("POST".to_owned(), path.to_owned(), asked(id)))
    };
    let item = response.replace("resp_", "msg_");
    vec![
        (
            Box::new(|id| ("GET".to_owned(), format!("/p/there/v1/responses/{id}"), Value::Null)),
            response.to_owned(),
        ),
        (
            post(
                "/v1/responses",
                |id| json!({"model": "there/m", "input": "x", "previous_response_id": id}),
            ),
            response.to_owned(),
        ),
        (
            post(
                "/v1/responses",
                |id| json!({"model": "there/m", "input": [{"type": "item_reference", "id": id}]}),
            ),
            item,
        ),
    ]
}

/// Checks that every tenant's request for the resource is answered as for a thing that never
/// existed, and does not reach the provider.
fn is_nobodys(server: &Server, keeper: &Keeper, request: &dyn Fn(&str) -> Asked, id: &str) {
    keeper.asked();
    let say = |who, id: &str| {
        let (method, path, asked) = request(id);
        ask(server, who, &method, &path, &asked)
    };
    for who in [ALICE, BOB] {
        let (status, said) = say(who, id);
        let never = say(who, "nobodys-thing");
        assert!(status == 404 || status == 400, "{id}: {status} {said}");
        assert_eq!((status, said.replace(id, "nobodys-thing")), never, "{id}");
    }
    assert_eq!(keeper.asked(), [""; 0], "{id}: it came to the provider");
}

#[test]
fn t_10_what_an_erased_tenant_had_at_a_provider_is_nobodys() {
    let (place, keeper) = (Place::new("kept-erased"), Keeper::start());
    let server = gateway_with(&place, &keeper, STORE);
    let asked = json!({"model": "m", "input": "x"});
    let response = make(&server, ALICE, "/p/there/v1/responses", &asked);
    for (request, id) in ways(&response) {
        is_owners(&server, &keeper, &*request, &id);
    }
    let config = place.file("config.toml");
    let erased = place.think(&["erase", "--tenant", "alice", "--yes", "--config", &config]);
    assert_eq!(erased.code, Some(0), "{}", erased.err);
    for (request, id) in ways(&response) {
        is_nobodys(&server, &keeper, &*request, &id);
    }
    // New resources belong to the tenant again.
    let response = make(&server, ALICE, "/p/there/v1/responses", &asked);
    for (request, id) in ways(&response) {
        is_owners(&server, &keeper, &*request, &id);
    }
}

#[test]
fn t_10_what_was_kept_at_a_provider_is_nobodys_after_its_time() {
    let (place, keeper) = (Place::new("kept-old"), Keeper::start());
    let server = gateway_with(&place, &keeper, STORE);
    let make = |server: &Server| {
        make(server, ALICE, "/p/there/v1/files", &json!({"purpose": "user_data"}))
    };
    // Few of many go at once; all at once would look like a clock that is wrong.
    let files: Vec<String> = (0..8).map(|_| make(&server)).collect();
    let request = |id: &str| ("GET".to_owned(), format!("/p/there/v1/files/{id}"), Value::Null);
    for file in &files {
        is_owners(&server, &keeper, &request, file);
    }
    server.stop();
    let store = || {
        let connection = Connection::open(place.file("kept.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection
    };
    let week = 7 * 24 * 60 * 60 * 1000_i64;
    let sql = "UPDATE thread SET used_at = used_at - ? WHERE nr = (SELECT min(nr) FROM thread)";
    assert_eq!(store().execute(sql, [week]), Ok(1));
    let server = gateway_with(&place, &keeper, &format!("{STORE}keep_days = 6\n"));
    let began = Instant::now();
    let count = "SELECT count(*) FROM thread";
    while store().query_row(count, [], |row| row.get(0)) != Ok(7_i64) {
        assert!(began.elapsed() < PATIENCE, "nothing went");
        std::thread::sleep(Duration::from_millis(20));
    }
    is_nobodys(&server, &keeper, &request, &files[0]);
    for file in &files[1..] {
        is_owners(&server, &keeper, &request, file);
    }
}
