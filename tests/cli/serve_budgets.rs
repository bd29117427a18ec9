//! `[keys.X] budget`: what the requests of a key may spend on reasoning, in `think serve`.

use crate::place::Place;
use crate::postgres::Database;
use crate::pty::paced::Paced;
use crate::serve_config::serve;
use crate::serve_shared::on_server;
use crate::server::{PATIENCE, Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub(crate) const ALICE: &str = "authorization: Bearer alice-key-0123456789\r\n";

/// A gateway for one provider. Its key `alice` has this budget. `more` ends the configuration.
pub(crate) fn gateway(
    place: &Place,
    upstream: &Upstream,
    extends: &str,
    budget: &str,
    more: &str,
) -> Server {
    serve(
        place,
        &format!(
            "[store]\nurl = \"sqlite:budget.db\"\nkey = {{ file = \"budget.key\" }}\n\
             [keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\nbudget = {{ {budget} }}\n\
             [keys.bob]\nkey = \"bob-key-0123456789\"\n\
             [providers.own]\n{extends}\nbase_url = \"{}\"\napi_key = \"k\"\n{more}",
            upstream.url
        ),
    )
}

const PLAIN: &str = "wire = \"chat-completions\"";

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Asks in a session, with more header lines.
pub(crate) fn ask_with(gateway: &Server, session: &str, more: &str, said: &str) -> String {
    let headers = format!("{ALICE}x-thinkthrough-session: {session}\r\n{more}");
    let body =
        json!({"model": "own/m", "stream": true, "messages": [{"role": "user", "content": said}]});
    gateway.request("POST", "/v1/chat/completions", &headers, &body.to_string())
}

fn ask(gateway: &Server, session: &str) -> String {
    ask_with(gateway, session, "", "Why?")
}

/// The events about budgets from `/v1/events`.
pub(crate) fn listen(gateway: &Server) -> impl Iterator<Item = Value> + use<> {
    listen_to(gateway, "stream=budget", ALICE)
}

/// The events from `/v1/events` that this query selects.
pub(crate) fn listen_to(
    gateway: &Server,
    wanted: &str,
    headers: &str,
) -> impl Iterator<Item = Value> + use<> {
    let mut stream = TcpStream::connect(&gateway.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("GET /v1/events?{wanted} HTTP/1.0\r\nhost: localhost\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == ": listening"));
    lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

/// Waits until a metric has this value.
pub(crate) fn wait_for(gateway: &Server, metric: &str) {
    let began = Instant::now();
    loop {
        let metrics = gateway.request("GET", "/metrics", "", "");
        if metrics.lines().any(|line| line == metric) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{metric} in {metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn adr_budget_of_a_session_is_blocked_with_402_on_each_route_and_warned_about_before() {
    let (place, upstream) =
        (Place::new("budget"), Upstream::start(vec![chat("hm", "ok", Some(50))]));
    let budget = "reasoning_tokens_per_session = 100, on_exceed = \"block\", warn_at = 0.5";
    let gateway = gateway(&place, &upstream, PLAIN, budget, "");
    let mut events = listen(&gateway);
    assert_eq!(status(&ask(&gateway, "s")), 200);
    let warned = "thinkthrough_budget_reached_total{scope=\"session\",threshold=\"warning\"} 1";
    wait_for(&gateway, warned);
    assert_eq!(status(&ask(&gateway, "s")), 200);
    wait_for(&gateway, &warned.replace("warning", "exceeded"));
    for (kind, used, percent) in
        [("reasoning_budget_warning", 50, 50), ("reasoning_budget_exceeded", 100, 100)]
    {
        let event = events.next().unwrap();
        assert_eq!((&event["type"], &event["session"]), (&json!(kind), &json!("s")), "{event}");
        let data = json!({"trace": "", "scope": "session", "unit": "reasoning_tokens", "used": used, "max": 100, "percent": percent});
        assert_eq!(event["data"], data, "{event}");
    }
    let messages =
        json!({"model": "own/m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]});
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "a"}]}]});
    let chat = json!({"model": "own/m", "messages": [{"role": "user", "content": "a"}]});
    let code = json!("reasoning_budget_exceeded");
    for (path, asked, at) in [
        ("/v1/chat/completions", chat.clone(), "/error/code"),
        ("/v1/responses", json!({"model": "own/m", "input": "a"}), "/error/code"),
        ("/v1/messages", messages.clone(), ""),
        ("/v1/messages/count_tokens", messages, ""),
        ("/v1beta/models/own%2Fm:generateContent", contents.clone(), ""),
        ("/v1beta/models/own%2Fm:countTokens", contents, ""),
        ("/api/chat", chat, ""),
    ] {
        let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
        let answer = gateway.request("POST", path, &headers, &asked.to_string());
        assert_eq!(status(&answer), 402, "{path}: {answer}");
        assert!(answer.contains("100 of the 100 reasoning tokens of this session"), "{answer}");
        let said: Value = serde_json::from_str(&body(&answer)).unwrap();
        assert!(at.is_empty() || said.pointer(at) == Some(&code), "{path}: {said}");
    }
    // A key with a budget may not use a path whose usage the gateway does not read. Other sessions
    // have budgets of their own.
    let raw = gateway.request("POST", "/p/own/v1/chat/completions", ALICE, "{}");
    assert_eq!(status(&raw), 403, "{raw}");
    assert_eq!(status(&ask(&gateway, "t")), 200);
    let bob = ALICE.replace("alice", "bob");
    let bob = format!("{bob}x-thinkthrough-session: s\r\n");
    let asked =
        json!({"model": "own/m", "stream": true, "messages": [{"role": "user", "content": "a"}]});
    let answer = gateway.request("POST", "/v1/chat/completions", &bob, &asked.to_string());
    assert_eq!(status(&answer), 200);
    assert_eq!(upstream.bodies().len(), 4);
}

#[test]
fn adr_events_of_the_stream_budget_are_told_on_a_socket_both_where_one_answer_jumps_over_both() {
    let (place, upstream) =
        (Place::new("budget-told"), Upstream::start(vec![chat("hm", "ok", Some(150))]));
    let gateway = gateway(&place, &upstream, PLAIN, "reasoning_tokens_per_day = 100", "");
    let mut events = listen(&gateway);
    assert_eq!(status(&ask(&gateway, "s")), 200);
    for kind in ["reasoning_budget_warning", "reasoning_budget_exceeded"] {
        let event = events.next().unwrap();
        let data = json!({"trace": "", "scope": "day", "unit": "reasoning_tokens", "used": 150, "max": 100, "percent": 150});
        assert_eq!((&event["type"], &event["data"]), (&json!(kind), &data), "{event}");
    }
}

#[test]
fn adr_budget_of_a_gateway_survives_its_restart() {
    let (place, upstream) =
        (Place::new("budget-kept"), Upstream::start(vec![chat("hm", "ok", Some(60))]));
    let budget = "reasoning_tokens_per_session = 60, on_exceed = \"block\"";
    let first = gateway(&place, &upstream, PLAIN, budget, "");
    assert_eq!(status(&ask(&first, "s")), 200);
    wait_for(
        &first,
        "thinkthrough_budget_reached_total{scope=\"session\",threshold=\"exceeded\"} 1",
    );
    // The gateway is killed.
    first.stop();
    let second = gateway(&place, &upstream, PLAIN, budget, "");
    assert_eq!(status(&ask(&second, "s")), 402);
    assert_eq!(status(&ask(&second, "t")), 200);
}

#[test]
fn req_budget_of_a_turn_a_task_a_day_and_a_key_count_over_what_they_are_called() {
    for (scope, same, other) in [
        ("turn", ("s", "", "Why?"), Some(("s", "", "How?"))),
        (
            "task",
            ("t", "x-thinkthrough-task: a\r\n", "How?"),
            Some(("s", "x-thinkthrough-task: b\r\n", "Why?")),
        ),
        ("day", ("t", "", "How?"), None),
        ("key", ("t", "", "How?"), None),
    ] {
        let (place, upstream) =
            (Place::new(scope), Upstream::start(vec![chat("hm", "ok", Some(60))]));
        let budget = format!("reasoning_tokens_per_{scope} = 60, on_exceed = \"block\"");
        let gateway = gateway(&place, &upstream, PLAIN, &budget, "");
        let task = "x-thinkthrough-task: a\r\n";
        assert_eq!(status(&ask_with(&gateway, "s", task, "Why?")), 200, "{scope}");
        let (session, more, said) = same;
        let refused = ask_with(&gateway, session, more, said);
        assert_eq!(status(&refused), 402, "{scope}: {refused}");
        if let Some((session, more, said)) = other {
            assert_eq!(status(&ask_with(&gateway, session, more, said)), 200, "{scope}");
        }
    }
}

#[test]
fn adr_budget_that_is_spent_lowers_the_effort_or_switches_reasoning_off_or_only_warns() {
    for (action, effort, off) in [
        ("warn", json!("high"), Value::Null),
        ("lower_effort", json!("low"), Value::Null),
        ("disable_reasoning", json!("none"), Value::Null),
    ] {
        let (place, upstream) =
            (Place::new(action), Upstream::start(vec![chat("hm", "ok", Some(60))]));
        let budget = format!("reasoning_tokens_per_session = 60, on_exceed = \"{action}\"");
        let gateway = gateway(
            &place,
            &upstream,
            "extends = \"openai\"\nwire = \"chat-completions\"",
            &budget,
            "",
        );
        let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
        let asked = json!({"model": "own/gpt-5.1", "stream": true, "reasoning_effort": "high",
            "messages": [{"role": "user", "content": "Why?"}]})
        .to_string();
        for _ in 0..2 {
            let answer = gateway.request("POST", "/v1/chat/completions", &headers, &asked);
            assert_eq!(status(&answer), 200, "{answer}");
        }
        let bodies = upstream.bodies();
        assert_eq!(bodies[0]["reasoning_effort"], "high", "{action}");
        assert_eq!(bodies[1]["reasoning_effort"], effort, "{action}: {}", bodies[1]);
        assert_eq!(bodies[1]["thinking"], off, "{action}");
    }
}

#[test]
fn req_budget_calls_side_by_side_reserve_and_a_call_alone_is_not_refused_for_its_cap() {
    let (place, upstream) =
        (Place::new("budget-many"), Upstream::start(vec![chat("hm", "ok", Some(1))]));
    // Each may take ten tokens: six at once.
    let budget = "reasoning_tokens_per_key = 60, on_exceed = \"block\"";
    let gateway = gateway(&place, &upstream, PLAIN, budget, "");
    let asked = json!({"model": "own/m", "stream": true, "max_tokens": 100_000,
        "messages": [{"role": "user", "content": "Why?"}]})
    .to_string();
    let answer = gateway.request("POST", "/v1/chat/completions", ALICE, &asked);
    assert_eq!(status(&answer), 200, "{answer}");
    let one = || status(&ask(&gateway, "s"));
    let statuses: Vec<u16> = (0..59).map(|_| one()).collect();
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(one(), 402);
}

#[test]
fn req_budget_cuts_a_thought_that_goes_on_beyond_it_with_an_end_that_its_api_has() {
    for (scope, path, asked, end) in [
        ("session", "/v1/chat/completions", json!({}), "\"error\":{\"message\""),
        ("session", "/v1/messages", json!({"max_tokens": 9_000}), "event: error"),
        ("turn", "/v1/messages", json!({"max_tokens": 9_000}), "event: error"),
        ("task", "/v1/chat/completions", json!({}), "\"error\":{\"message\""),
    ] {
        let key = format!(
            "[keys.alice]\nkey = \"alice-key-0123456789\"\n\
             budget = {{ reasoning_tokens_per_{scope} = 100, on_exceed = \"block\" }}\n"
        );
        let (place, paced) = (Place::new("budget-cut"), Paced::start());
        let gateway = serve(&place, &(paced.config() + "api_key = \"k\"\n" + &key));
        let mut body_of = json!({"model": "paced/m", "stream": true, "messages": [{"role": "user", "content": "Why?"}]});
        body_of.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        // Ten times forty tokens, and no end.
        (0..10).for_each(|_| paced.think(&"a".repeat(160)));
        let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
        let answer = gateway.request("POST", path, &headers, &body_of.to_string());
        assert_eq!(status(&answer), 200);
        let said = body(&answer);
        assert!(said.contains("reasoning_budget_exceeded") && said.contains(end), "{said}");
        let refused = gateway.request("POST", path, &headers, &body_of.to_string());
        assert_eq!(status(&refused), 402, "{refused}");
    }
}

#[test]
fn req_budget_three_gateways_on_one_server_let_exactly_as_many_through_as_one_would() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) =
        (Place::new("budget-fleet"), Upstream::start(vec![chat("hm", "ok", Some(1))]));
    let config = on_server(&place, &database).replace("keyless = true", "keyless = false")
        + &format!(
            "[keys.alice]\nkey = \"alice-key-0123456789\"\n\
             budget = {{ reasoning_tokens_per_key = 60, on_exceed = \"block\" }}\n\
             [providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        );
    let gateways = [0, 1, 2].map(|_| serve(&place, &config));
    // Each may think one token, and does.
    let asked = json!({"model": "own/m", "stream": true, "max_tokens": 1,
        "messages": [{"role": "user", "content": "Why?"}]})
    .to_string();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |one: usize| {
            let (gateway, asked) = (&gateways[one % 3], &asked);
            scope.spawn(move || {
                status(&gateway.request("POST", "/v1/chat/completions", ALICE, asked))
            })
        };
        let all: Vec<_> = (0..200).map(ask).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(402), upstream.bodies().len()), (60, 140, 60), "{statuses:?}");
    // A new gateway knows the spending of the old one.
    let later = serve(&place, &config);
    let answer = later.request("POST", "/v1/chat/completions", ALICE, &asked);
    assert_eq!(status(&answer), 402, "{answer}");
}

/// A configuration with a PostgreSQL store, a key with this budget, and two providers: `own`
/// answers at once, and `paced` on command.
pub(crate) fn on_one_server(
    place: &Place,
    database: &Database,
    budget: &str,
    own: &Upstream,
    paced: &Paced,
) -> String {
    let store = on_server(place, database).replace("keyless = true", "keyless = false");
    format!(
        "{}\n{store}[keys.alice]\nkey = \"alice-key-0123456789\"\nbudget = {{ {budget} }}\n\
         [providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        paced.config() + "api_key = \"k\"",
        own.url
    )
}

/// A request whose answer may take `most` tokens.
pub(crate) fn up_to(gateway: &Server, model: &str, most: u64) -> String {
    let asked = json!({"model": model, "stream": true, "max_tokens": most,
        "messages": [{"role": "user", "content": "Why?"}]});
    gateway.request("POST", "/v1/chat/completions", ALICE, &asked.to_string())
}

#[test]
fn req_budget_that_blocks_goes_on_without_its_store_until_the_slice_is_spent_and_is_503_then() {
    let Some(database) = Database::new() else { return };
    let (place, paced) = (Place::new("budget-away"), Paced::start());
    let own = Upstream::start(vec![chat("hm", "ok", Some(1))]);
    let budget = "reasoning_tokens_per_key = 400, on_exceed = \"block\"";
    let config = on_one_server(&place, &database, budget, &own, &paced);
    let gateway = serve(&place, &config);
    std::thread::scope(|scope| {
        // Thirty are reserved while the store goes away, and one is spent of them.
        let held = scope.spawn(|| up_to(&gateway, "paced/m", 30));
        paced.asked(1);
        database.shut();
        paced.think("aaaa");
        paced.say("ok");
        paced.end();
        assert_eq!(status(&held.join().unwrap()), 200);
    });
    // Longer than a gateway keeps an unused lease.
    std::thread::sleep(Duration::from_secs(2));
    let statuses: Vec<u16> = (0..29).map(|_| status(&up_to(&gateway, "own/m", 1))).collect();
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    let refused = up_to(&gateway, "own/m", 1);
    assert_eq!(status(&refused), 503, "{refused}");
    assert!(refused.contains("budget_unavailable"), "{refused}");
    // The spending in the meantime is booked when the store is back.
    database.open();
    let began = Instant::now();
    while status(&up_to(&gateway, "own/m", 1)) != 200 {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    let other = serve(&place, &config);
    let spent = (0..400).take_while(|_| status(&up_to(&other, "own/m", 1)) == 200).count();
    assert!(spent <= 400 - 31, "{spent}");
}

#[test]
fn req_budget_that_only_warns_goes_on_without_its_store_and_is_booked_when_that_is_back() {
    let Some(database) = Database::new() else { return };
    for action in ["warn", "lower_effort", "disable_reasoning"] {
        let (place, paced) = (Place::new("budget-warns"), Paced::start());
        let own = Upstream::start(vec![chat("hm", "ok", Some(40))]);
        let budget = format!("reasoning_tokens_per_task = 100, on_exceed = \"{action}\"");
        let gateway = serve(&place, &on_one_server(&place, &database, &budget, &own, &paced));
        let ask = || {
            let more = format!("x-thinkthrough-task: {action}\r\n");
            status(&ask_with(&gateway, "s", &more, "Why?"))
        };
        assert_eq!(ask(), 200);
        database.shut();
        assert_eq!((ask(), ask()), (200, 200), "{action}");
        database.open();
        // Counting tokens spends nothing, and is refused where all is spent.
        let blocks = budget.replace(action, "block");
        let other = serve(&place, &on_one_server(&place, &database, &blocks, &own, &paced));
        let headers = format!("{ALICE}x-thinkthrough-task: {action}\r\n");
        let asked = json!({"model": "own/m", "messages": [{"role": "user", "content": "a"}]});
        let began = Instant::now();
        loop {
            let path = "/v1/messages/count_tokens";
            let answer = other.request("POST", path, &headers, &asked.to_string());
            if status(&answer) == 402 {
                assert!(answer.contains("120 of the 100 reasoning tokens"), "{answer}");
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{action}: {answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn req_budget_that_another_gateway_holds_idle_is_called_back_within_a_second() {
    let Some(database) = Database::new() else { return };
    let (place, paced) = (Place::new("budget-back"), Paced::start());
    let own = Upstream::start(vec![chat("hm", "ok", Some(1))]);
    let budget = "reasoning_tokens_per_key = 40, on_exceed = \"block\"";
    let config = on_one_server(&place, &database, budget, &own, &paced);
    let [first, second] = [0, 1].map(|_| serve(&place, &config));
    // The first gateway holds the whole budget, and spends one token.
    assert_eq!(status(&up_to(&first, "own/m", 40)), 200);
    // The second gateway calls the lease back, and waits a second for it before it refuses.
    let answer = up_to(&second, "own/m", 39);
    assert_eq!(status(&answer), 200, "{answer}");
}
