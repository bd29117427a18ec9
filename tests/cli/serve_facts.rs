//! A fact that a refusal taught outlives its gateway, and other gateways on the store know it.

use crate::frozen::Proxy;
use crate::place::Place;
use crate::postgres::Database;
use crate::serve_config::serve;
use crate::serve_shared::{IN_A_FILE, on_server};
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ALICE: &str = "alices-own-key-of-some-length";
const BOB: &str = "bobs-own-key-of-some-length";

/// The refusal of a server that wants thoughts back with their calls.
const REFUSAL: &str = "data: {\"error\":{\"message\":\"thinking is enabled but reasoning_content is missing in \
                       assistant tool call message at index 1\",\"code\":400}}\n\n";

/// A server that wants thoughts back with their calls. The tables have no rule for it.
fn strict() -> Upstream {
    Upstream::answering(|body| {
        let body: Value = serde_json::from_str(body).unwrap();
        let mut messages = body["messages"].as_array().unwrap().iter();
        let lacks = |it: &Value| it["tool_calls"].is_array() && it["reasoning_content"].is_null();
        if messages.any(lacks) {
            return REFUSAL.to_owned();
        }
        chat("I look first.", "list", None).replace("\"c1\"", "\"call_A9b8C7d6E5f4G3h2J1k0\"")
    })
}

fn config(store: &str, upstream: &Upstream) -> String {
    format!(
        "{store}[keys.alice]\nkey = \"{ALICE}\"\n[keys.bob]\nkey = \"{BOB}\"\n\
         [providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    )
}

fn ask(gateway: &Server, key: &str, messages: &Value) -> String {
    let headers = format!("content-type: application/json\r\nauthorization: Bearer {key}\r\n");
    let body = json!({"model": "there/model-canary", "stream": true, "messages": messages});
    gateway.request_in_time("POST", "/v1/chat/completions", &headers, &body.to_string())
}

/// The first turn of a client that drops its thoughts.
fn begin(gateway: &Server, key: &str) {
    let answer = ask(gateway, key, &json!([{"role": "user", "content": "what is here"}]));
    assert!(answer.contains("I look first."), "{answer}");
}

/// The messages of the second turn.
fn second() -> Value {
    let function = json!({"name": "list", "arguments": "{}"});
    let id = "call_A9b8C7d6E5f4G3h2J1k0";
    json!([
        {"role": "user", "content": "what is here"},
        {"role": "assistant", "content": null,
            "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": "a"},
    ])
}

/// Sends the second turn. Returns the gateway's report about it.
fn go_on(gateway: &Server, key: &str) -> String {
    let answer = ask(gateway, key, &second());
    assert!(answer.contains("I look first."), "{answer}");
    let mut lines = answer.lines();
    lines.find_map(|line| line.strip_prefix("x-thinkthrough: restored=1;")).unwrap().to_owned()
}

/// Both turns of a tenant without facts. The second one is refused and repaired.
fn learn(gateway: &Server, key: &str) {
    assert!(!knows(gateway, key));
    begin(gateway, key);
    let said = go_on(gateway, key);
    // The helper repeats the request if the store was late. The fact is known then.
    assert!(said.ends_with("; repaired=return") || said.ends_with("; learned=return"), "{said}");
    until(gateway, key, true);
}

/// Whether the gateway knows the rule of the model. Counting tokens sends no request upstream, so
/// that it teaches no fact.
fn knows(gateway: &Server, key: &str) -> bool {
    let headers = format!("content-type: application/json\r\nauthorization: Bearer {key}\r\n");
    let body = json!({"model": "there/model-canary", "max_tokens": 9,
        "messages": [{"role": "user", "content": "what is here"}]});
    let answer = gateway.request("POST", "/v1/messages/count_tokens", &headers, &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.contains("; learned=return\r\n")
}

/// Waits until the gateway knows the fact, or has forgotten it.
fn until(gateway: &Server, key: &str, is_known: bool) {
    let began = Instant::now();
    while knows(gateway, key) != is_known {
        assert!(began.elapsed() < PATIENCE, "it is never so that it knows: {is_known}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn erase_alice(place: &Place) {
    let file = place.file("config.toml");
    let erased = place.think(&["erase", "--tenant", "alice", "--yes", "--config", &file]);
    assert_eq!(erased.code, Some(0), "{}", erased.err);
}

fn end(gateway: Server) {
    gateway.signal(Signal::INT);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
}

#[test]
fn what_was_learned_is_known_after_a_restart_to_its_tenant_alone_until_that_is_erased() {
    let (place, upstream) = (Place::new("facts"), strict());
    let config = config(IN_A_FILE, &upstream);
    let gateway = serve(&place, &config);
    learn(&gateway, ALICE);
    end(gateway);
    let gateway = serve(&place, &config);
    // No refusal happens, because the header would name a repair.
    let said = go_on(&gateway, ALICE);
    assert!(said.ends_with("; learned=return") && !said.contains("repaired"), "{said}");
    assert_eq!(upstream.last()["messages"][1]["reasoning_content"], "I look first.");
    learn(&gateway, BOB);
    erase_alice(&place);
    // The running gateway notices it within seconds, and the next one at once.
    until(&gateway, ALICE, false);
    // The next record of hers finds its keys gone a moment later, and from then on she has new
    // ones.
    begin(&gateway, ALICE);
    std::thread::sleep(Duration::from_millis(500));
    learn(&gateway, ALICE);
    until(&gateway, BOB, true);
    erase_alice(&place);
    end(gateway);
    let gateway = serve(&place, &config);
    until(&gateway, BOB, true);
    learn(&gateway, ALICE);
}

#[test]
fn what_was_learned_is_tried_afresh_after_a_day_and_stands_nowhere_in_the_clear() {
    let (place, upstream) = (Place::new("facts-day"), strict());
    // A trace names its model.
    let config = config(IN_A_FILE, &upstream) + "[traces]\nenabled = false\n";
    let change = |sql: &str| {
        let connection = Connection::open(place.file("kept.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(connection.execute(sql, []), Ok(1), "{sql}");
    };
    let gateway = serve(&place, &config);
    learn(&gateway, ALICE);
    end(gateway);
    change("UPDATE fact SET since = since - 24 * 60 * 60 * 1000");
    let gateway = serve(&place, &config);
    learn(&gateway, ALICE);
    end(gateway);
    let bytes = std::fs::read(place.file("kept.db")).unwrap();
    for name in [&b"model-canary"[..], upstream.url.as_bytes()] {
        assert!(!bytes.windows(name.len()).any(|it| it == name), "it stands in the file");
    }
}

#[test]
fn explain_says_what_was_learned_for_the_tenant_and_sends_what_the_gateway_would() {
    let (place, upstream) = (Place::new("facts-explain"), strict());
    let gateway = serve(&place, &config(IN_A_FILE, &upstream));
    learn(&gateway, ALICE);
    begin(&gateway, BOB);
    let body = json!({"model": "m", "messages": second()}).to_string();
    let (file, request) = (place.file("config.toml"), place.write("request.json", &body));
    let explain = |more: &[&str]| {
        let args = ["explain", "--config", &file, "-m", "there/model-canary", &request];
        let ran = place.think(&[&args[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    };
    // Facts are written to the store in the background.
    let began = Instant::now();
    while explain(&["--tenant", "alice", "--json"]).json()["rule"] != "learned" {
        assert!(began.elapsed() < PATIENCE, "it does not come to the store");
    }
    for (tenant, is_learned) in [("alice", true), ("bob", false)] {
        let said = explain(&["--tenant", tenant, "--json"]).json();
        assert_eq!(said["rule"] == "learned", is_learned, "{tenant}: {said}");
        let thought = &said["body"]["messages"][1]["reasoning_content"];
        assert_eq!(*thought == "I look first.", is_learned, "{tenant}: {said}");
        let told = explain(&["--tenant", tenant]).out;
        assert_eq!(told.contains(", rule learned\n"), is_learned, "{tenant}: {told}");
    }
    assert_ne!(explain(&["--json"]).json()["rule"], "learned");
    // A model that is never restored is never repaired.
    let never = "[models.\"model-canary\"]\nprovider = \"there\"\nrestore = \"never\"\n";
    place.write("config.toml", &(config(IN_A_FILE, &upstream) + never));
    let said = place.think(&[
        "explain",
        "--config",
        &file,
        "-m",
        "model-canary",
        "--tenant",
        "alice",
        "--json",
        &request,
    ]);
    assert_ne!(said.json()["rule"], "learned", "{}{}", said.out, said.err);
}

#[test]
fn gateways_on_one_server_share_what_they_learned_and_hold_it_while_that_stands_still() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) = (Place::new("facts-shared"), strict());
    let store = on_server(&place, &database).replace("keyless = true", "keyless = false");
    let config = config(&store, &upstream);
    let address = database.url.rsplit(['@', '/']).nth(1).unwrap();
    let proxy = Proxy::new(address, 0);
    let far = Place::new("facts-far");
    on_server(&far, &database);
    let by_proxy = config.replace(address, &format!("127.0.0.1:{}", proxy.port));
    let [one, two] = [serve(&place, &config), serve(&far, &by_proxy)];
    learn(&one, ALICE);
    until(&two, ALICE, true);
    assert!(go_on(&two, ALICE).ends_with("; learned=return"));
    let twenty = || {
        let began = Instant::now();
        (0..20).for_each(|_| assert!(knows(&two, ALICE) && !knows(&two, BOB)));
        began.elapsed()
    };
    let usual = twenty();
    proxy.freeze(true);
    // Longer than it takes to notice.
    std::thread::sleep(Duration::from_secs(8));
    let frozen = twenty();
    // A few look-ups show that the store is away, and no request waits for facts.
    assert!(frozen < usual * 3 + Duration::from_secs(1), "{usual:?}, then {frozen:?}");
    erase_alice(&place);
    until(&one, ALICE, false);
    assert!(knows(&two, ALICE), "nobody could tell it");
    proxy.freeze(false);
    until(&two, ALICE, false);
    learn(&two, BOB);
    until(&one, BOB, true);
}

#[test]
fn adr_metrics_count_what_was_done_in_the_end_where_a_refused_request_is_repaired() {
    let (place, upstream) = (Place::new("facts-counted"), strict());
    let gateway = serve(&place, &config(IN_A_FILE, &upstream));
    begin(&gateway, ALICE);
    let said = go_on(&gateway, ALICE);
    assert!(said.ends_with("; repaired=return"), "{said}");
    let metrics = gateway.request("GET", "/metrics", "", "");
    for line in [
        "thinkthrough_thoughts_total{provider=\"there\",outcome=\"restored\"} 1",
        "thinkthrough_thoughts_total{provider=\"there\",outcome=\"missed\"} 0",
        "thinkthrough_repairs_total 1",
        // Each request counts once, however many ways it went.
        "thinkthrough_relayed_total 2",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line} in {metrics}");
    }
}
