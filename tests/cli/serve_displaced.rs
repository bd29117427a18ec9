//! The files of a store are taken away or put elsewhere: keys that were made close the door all the
//! same.

use crate::place::Place;
use crate::serve_config::{question, serve};
use crate::server::{PATIENCE, Server};
use std::fs;
use std::time::{Duration, Instant};

const STORE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

fn create(place: &Place) -> String {
    let config = place.write("config.toml", STORE);
    let made = place.think(&["keys", "--config", &config, "create", "alice", "--json"]).json();
    format!("content-type: application/json\r\nx-api-key: {}\r\n", made["key"].as_str().unwrap())
}

/// The names of the files of the database.
fn files(place: &Place) -> Vec<String> {
    let all = fs::read_dir(place.home()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("kept.db")).collect()
}

fn ask(gateway: &Server, headers: &str) -> String {
    gateway.request("POST", "/v1/chat/completions", headers, &question("sim/groq"))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn d_4_a_file_that_is_gone_under_a_running_gateway_closes_the_door() {
    for is_replaced in [false, true] {
        let place = Place::new("displaced");
        let key = create(&place);
        let gateway = serve(&place, STORE);
        assert!(ask(&gateway, &key).starts_with("HTTP/1.1 200"));
        let aside = place.file("aside");
        fs::create_dir(&aside).unwrap();
        let names = files(&place);
        for name in &names {
            fs::rename(place.file(name), format!("{aside}/{name}")).unwrap();
        }
        if is_replaced {
            fs::copy(format!("{aside}/kept.db"), place.file("kept.db")).unwrap();
        }
        let ready = || gateway.request("GET", "/readyz", "", "");
        until("it is not ready", || ready().starts_with("HTTP/1.1 503"));
        assert!(ready().contains("the store's file was removed or replaced"), "{}", ready());
        let metrics = gateway.request("GET", "/metrics", "", "");
        assert!(metrics.contains("\nthinkthrough_store_up 0\n"), "{metrics}");
        for headers in ["content-type: application/json\r\n", &key] {
            let answer = ask(&gateway, headers);
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(answer.contains("keys_unavailable"), "{answer}");
        }
        let health = place.think(&["health", &gateway.addr]);
        assert!(health.code == Some(1) && health.err.contains("store_displaced"), "{}", health.err);
        gateway.stop();
        for name in &names {
            fs::rename(format!("{aside}/{name}"), place.file(name)).unwrap();
        }
        let gateway = serve(&place, STORE);
        assert!(ask(&gateway, &key).starts_with("HTTP/1.1 200"));
        assert!(ask(&gateway, "").starts_with("HTTP/1.1 401"));
    }
}

#[test]
fn d_4_a_folder_that_is_moved_without_its_database_lets_nobody_in() {
    let (place, other) = (Place::new("before"), Place::new("after"));
    create(&place);
    for entry in fs::read_dir(place.home()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("gateway-keys-") || name == "kept.key" {
            fs::copy(place.file(&name), other.file(&name)).unwrap();
        }
    }
    // As long as the store of the marker exists, it is that store's.
    let gateway = serve(&other, STORE);
    assert!(ask(&gateway, "").starts_with("HTTP/1.1 200"));
    gateway.stop();
    for place in [&place, &other] {
        files(place).iter().for_each(|name| fs::remove_file(place.file(name)).unwrap());
    }
    let gateway = serve(&other, STORE);
    let answer = ask(&gateway, "");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("`think keys create`"), "{answer}");
    assert!(answer.contains("`[server] keyless = true`"), "{answer}");
    let key = create(&other);
    until("the new key opens", || ask(&gateway, &key).starts_with("HTTP/1.1 200"));
}
