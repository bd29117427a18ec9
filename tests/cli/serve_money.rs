//! `[keys.X] budget` in dollars, in `think serve`.

use crate::place::Place;
use crate::postgres::Database;
use crate::pty::paced::Paced;
use crate::serve_budgets::{ALICE, ask_with, gateway, listen, status, wait_for};
use crate::serve_config::serve;
use crate::serve_shared::on_server;
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat, messages};
use serde_json::{Value, json};

/// The provider `own` counts ten tokens in, and out five and those of the thought.
const PRICED: &str = "wire = \"chat-completions\"";
const PRICES: &str = "[prices.\"own/m\"]\ninput = 1\noutput = 50\n\
                      [prices.\"own/free\"]\ninput = 0\noutput = 0\n";

fn priced(place: &Place, upstream: &Upstream, budget: &str) -> Server {
    gateway(place, upstream, PRICED, budget, PRICES)
}

fn ask(gateway: &Server, session: &str) -> String {
    ask_with(gateway, session, "", "Why?")
}

fn chat_of(gateway: &Server, model: &str, more: &Value) -> String {
    let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
    let mut asked = json!({"model": model, "messages": [{"role": "user", "content": "a"}]});
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    gateway.request("POST", "/v1/chat/completions", &headers, &asked.to_string())
}

#[test]
fn req_budget_in_dollars_is_reserved_settled_told_and_blocked_on_each_route() {
    let (place, upstream) =
        (Place::new("money"), Upstream::start(vec![chat("hm", "ok", Some(45))]));
    let budget = "usd_per_session = 0.00502, on_exceed = \"block\", warn_at = 0.5";
    let gateway = priced(&place, &upstream, budget);
    let mut events = listen(&gateway);
    assert_eq!(status(&ask(&gateway, "s")), 200);
    let warned = "thinkthrough_budget_reached_total{scope=\"session\",threshold=\"warning\"} 1";
    wait_for(&gateway, warned);
    assert_eq!(status(&ask(&gateway, "s")), 200);
    wait_for(&gateway, &warned.replace("warning", "exceeded"));
    for (kind, used, percent) in
        [("reasoning_budget_warning", 2510, 50), ("reasoning_budget_exceeded", 5020, 100)]
    {
        let event = events.next().unwrap();
        assert_eq!((&event["type"], &event["session"]), (&json!(kind), &json!("s")), "{event}");
        let data = json!({"trace": "", "scope": "session", "unit": "micro_usd", "used": used,
            "max": 5020, "percent": percent});
        assert_eq!(event["data"], data, "{event}");
    }
    let messages =
        json!({"model": "own/m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]});
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "a"}]}]});
    let asked = json!({"model": "own/m", "messages": [{"role": "user", "content": "a"}]});
    for (path, asked) in [
        ("/v1/chat/completions", asked.clone()),
        ("/v1/responses", json!({"model": "own/m", "input": "a"})),
        ("/v1/messages", messages.clone()),
        ("/v1/messages/count_tokens", messages),
        ("/v1beta/models/own%2Fm:generateContent", contents),
        ("/api/chat", asked),
    ] {
        let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
        let answer = gateway.request("POST", path, &headers, &asked.to_string());
        assert_eq!(status(&answer), 402, "{path}: {answer}");
        assert!(answer.contains("$0.00502 of the $0.00502 of this session"), "{path}: {answer}");
    }
    wait_for(&gateway, "thinkthrough_limit_rejected_total{by=\"key\",unit=\"usd\"} 6");
    // A free model still works, another session has its own budget, and a key without a budget
    // needs no price.
    assert_eq!(status(&chat_of(&gateway, "own/free", &json!({"stream": true}))), 200);
    assert_eq!(status(&ask(&gateway, "t")), 200);
    let headers = ALICE.replace("alice", "bob");
    let asked = json!({"model": "own/unheard", "stream": true,
        "messages": [{"role": "user", "content": "a"}]});
    let answer = gateway.request("POST", "/v1/chat/completions", &headers, &asked.to_string());
    assert_eq!(status(&answer), 200);
    assert_eq!(status(&gateway.request("POST", "/p/own/v1/chat/completions", ALICE, "{}")), 403);
    assert_eq!(upstream.bodies().len(), 5);
    // It is killed.
    gateway.stop();
    let second = priced(&place, &upstream, budget);
    assert_eq!(status(&ask(&second, "s")), 402);
}

#[test]
fn req_budget_in_dollars_refuses_what_nobody_knows_the_price_of_and_says_what_helps() {
    let (place, upstream) =
        (Place::new("unpriced"), Upstream::start(vec![chat("hm", "ok", Some(5))]));
    let gateway = priced(&place, &upstream, "usd_per_day = 5");
    let known = json!({"stream": true});
    assert_eq!(status(&chat_of(&gateway, "own/m", &known)), 200);
    for (model, more, helps) in [
        ("own/unheard", json!({}), "[prices.\\\"own/unheard\\\"]"),
        ("own/m", json!({"service_tier": "priority"}), "ask for it without that"),
    ] {
        let answer = chat_of(&gateway, model, &more);
        assert_eq!(status(&answer), 402, "{answer}");
        assert!(answer.contains("\"price_unknown\"") && answer.contains(helps), "{answer}");
    }
    assert_eq!(upstream.bodies().len(), 1);
    // One of its providers' own lists is built in.
    let place = Place::new("built-in");
    for (dollars, effort) in [("1", "high"), ("0.000001", "none")] {
        let upstream = Upstream::start(vec![chat("hm", "ok", Some(5))]);
        let budget = format!("usd_per_session = {dollars}, on_exceed = \"disable_reasoning\"");
        let extends = "extends = \"openai\"\nwire = \"chat-completions\"";
        let gateway = self::gateway(&place, &upstream, extends, &budget, "");
        let more = json!({"stream": true, "reasoning_effort": "high"});
        assert_eq!(status(&chat_of(&gateway, "own/gpt-5.1", &more)), 200);
        assert_eq!(upstream.last()["reasoning_effort"], effort, "{dollars}");
    }
}

#[test]
fn req_budget_in_dollars_cuts_an_answer_that_goes_on_beyond_it_with_an_end_that_its_api_has() {
    let key = "[keys.alice]\nkey = \"alice-key-0123456789\"\n\
               budget = { usd_per_session = 0.001, on_exceed = \"block\" }\n\
               [prices.\"paced/m\"]\ninput = 0\noutput = 10\n";
    for (path, asked, end) in [
        ("/v1/chat/completions", json!({}), "\"error\":{\"message\""),
        ("/v1/messages", json!({"max_tokens": 9_000}), "event: error"),
        ("/v1/responses", json!({"input": "Why?"}), "response.failed"),
    ] {
        let (place, paced) = (Place::new("money-cut"), Paced::start());
        let gateway = serve(&place, &(paced.config() + "api_key = \"k\"\n" + key));
        let mut asks = json!({"model": "paced/m", "stream": true});
        if asked.get("input").is_none() {
            asks["messages"] = json!([{"role": "user", "content": "Why?"}]);
        }
        asks.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        // A hundred tokens are paid for; forty are thought, and then the text has no end.
        paced.think(&"a".repeat(160));
        (0..10).for_each(|_| paced.say(&"b".repeat(160)));
        let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
        let answer = gateway.request("POST", path, &headers, &asks.to_string());
        assert_eq!(status(&answer), 200);
        let said = body(&answer);
        assert!(said.contains("had left") && said.contains(end), "{said}");
        wait_for(&gateway, "thinkthrough_cut_total{reason=\"budget\"} 1");
        let refused = gateway.request("POST", path, &headers, &asks.to_string());
        assert_eq!(status(&refused), 402, "{refused}");
    }
}

#[test]
fn req_budget_in_dollars_tells_a_model_what_is_paid_for_where_less_is_left() {
    let prices = "[prices.\"own/m\"]\ninput = 0\noutput = 10\n";
    let said = json!([{"role": "user", "content": "Why?"}]);
    for (wire, path, asked, told) in [
        ("chat-completions", "/v1/chat/completions", json!({"messages": said}), "max_tokens"),
        (
            "chat-completions",
            "/v1/chat/completions",
            json!({"messages": said, "max_completion_tokens": 9_000}),
            "max_completion_tokens",
        ),
        ("chat-completions", "/v1/responses", json!({"input": "Why?"}), "max_tokens"),
        ("messages", "/v1/messages", json!({"messages": said, "max_tokens": 9_000}), "max_tokens"),
    ] {
        let stream = if wire == "messages" { messages() } else { chat("hm", "ok", Some(5)) };
        let (place, upstream) = (Place::new("money-told"), Upstream::start(vec![stream]));
        let wire = format!("wire = \"{wire}\"");
        let budget = "usd_per_session = 0.001, on_exceed = \"block\"";
        let gateway = gateway(&place, &upstream, &wire, budget, prices);
        let mut asks = json!({"model": "own/m", "stream": true});
        asks.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let answer = gateway.request("POST", path, ALICE, &asks.to_string());
        assert_eq!(status(&answer), 200, "{answer}");
        assert_eq!(upstream.last()[told], 100, "{path}: {}", upstream.last());
    }
}

/// A thousand micro-dollars for each, in requests of ten tokens that cost nothing but their
/// answers.
const TEN: &str = "[prices.\"own/m\"]\ninput = 0\noutput = 100\n";

fn ten() -> String {
    json!({"model": "own/m", "stream": true, "max_tokens": 10,
        "messages": [{"role": "user", "content": "Why?"}]})
    .to_string()
}

#[test]
fn req_budget_in_dollars_lets_exactly_as_many_side_by_side_as_it_pays_for() {
    let (place, upstream) =
        (Place::new("money-many"), Upstream::start(vec![chat("hm", "ok", Some(5))]));
    let budget = "usd_per_key = 0.005, on_exceed = \"block\"";
    let gateway = gateway(&place, &upstream, PRICED, budget, TEN);
    let asked = ten();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || {
            scope.spawn(|| status(&gateway.request("POST", "/v1/chat/completions", ALICE, &asked)))
        };
        let all: Vec<_> = (0..20).map(|_| ask()).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(402), upstream.bodies().len()), (5, 15, 5), "{statuses:?}");
}

#[test]
fn req_budget_in_dollars_is_shared_by_three_gateways_on_one_server() {
    let Some(database) = Database::new() else { return };
    let (place, upstream) =
        (Place::new("money-fleet"), Upstream::start(vec![chat("hm", "ok", Some(5))]));
    let config = on_server(&place, &database).replace("keyless = true", "keyless = false")
        + &format!(
            "[keys.alice]\nkey = \"alice-key-0123456789\"\n\
             budget = {{ usd_per_key = 0.03, on_exceed = \"block\" }}\n\
             [providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n{TEN}",
            upstream.url
        );
    let gateways = [0, 1, 2].map(|_| serve(&place, &config));
    let asked = ten();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |one: usize| {
            let (gateway, asked) = (&gateways[one % 3], &asked);
            scope.spawn(move || {
                status(&gateway.request("POST", "/v1/chat/completions", ALICE, asked))
            })
        };
        let all: Vec<_> = (0..90).map(ask).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(402), upstream.bodies().len()), (30, 60, 30), "{statuses:?}");
}

/// The id of the call in an answer.
fn called(answer: &str) -> String {
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    let id = events.find_map(|event| {
        Some(event.pointer("/choices/0/delta/tool_calls/0/id")?.as_str()?.to_owned())
    });
    id.unwrap()
}

#[test]
fn req_budget_in_dollars_pays_for_thoughts_that_go_back_and_for_pictures_before_they_go_out() {
    let prices = "[prices.\"own/kimi-k2-thinking\"]\ninput = 10\noutput = 0\n";
    let extends = "extends = \"moonshotai\"";
    let headers = format!("{ALICE}x-thinkthrough-session: s\r\n");
    // Forty thousand letters of a thought are ten thousand tokens at least, ten cents.
    let thought = "word ".repeat(8_000);
    let function = json!({"name": "list", "parameters": {"type": "object", "properties": {}}});
    let mut asked = json!({"model": "own/kimi-k2-thinking", "stream": true,
        "tools": [{"type": "function", "function": function}],
        "messages": [{"role": "user", "content": "what is here"}]});
    let said = |asked: &Value, gateway: &Server| {
        gateway.request_in_time("POST", "/v1/chat/completions", &headers, &asked.to_string())
    };
    let function = json!({"name": "list", "arguments": "{}"});
    for (dollars, expected) in [("0.05", 402), ("5", 200)] {
        let calls = chat(&thought, "list", Some(10_000));
        let upstream = Upstream::answering(move |asked| match asked.contains("tool_call_id") {
            true => chat("", "ok", None),
            false => calls.clone(),
        });
        let place = Place::new("money-restored");
        let budget = format!("usd_per_key = {dollars}, on_exceed = \"block\"");
        let gateway = gateway(&place, &upstream, extends, &budget, prices);
        asked["messages"].as_array_mut().unwrap().truncate(1);
        let first = said(&asked, &gateway);
        assert_eq!(status(&first), 200, "{first}");
        let id = called(&first);
        let call = json!({"id": id, "type": "function", "function": function});
        let messages = asked["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "a"}));
        let second = said(&asked, &gateway);
        assert_eq!(status(&second), expected, "{dollars}: {second}");
        let sent = &upstream.last()["messages"][1]["reasoning_content"];
        let expects = (expected == 200).then_some(thought.as_str());
        assert_eq!(sent.as_str(), expects, "the thought went back, or nothing did");
        // A picture is eight thousand tokens, wherever it stands.
        let picture = json!({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}});
        asked["messages"] = json!([{"role": "user", "content": [picture]}]);
        assert_eq!(status(&said(&asked, &gateway)), expected, "{dollars}");
        asked["messages"] = json!([{"role": "user", "content": "what is here"}]);
        assert_eq!(status(&said(&asked, &gateway)), 200, "{dollars}");
    }
}

#[test]
fn req_budget_in_dollars_leaves_a_cap_on_all_above_the_callers_own_cap_on_the_thought() {
    let (place, upstream) = (Place::new("money-claude"), Upstream::start(vec![messages()]));
    let extends = "extends = \"anthropic\"\nwire = \"messages\"";
    let prices = "[prices.\"own/*\"]\ninput = 1\noutput = 10\n";
    let budget = "usd_per_session = 0.05, on_exceed = \"block\"";
    let gateway = gateway(&place, &upstream, extends, budget, prices);
    for (number, model) in ["sonnet-4-5", "opus-4-6", "sonnet-4-6"].into_iter().enumerate() {
        for budget in [15_000, 2_000] {
            let asked = json!({"model": format!("own/claude-{model}"), "max_tokens": 16_000,
                "stream": true, "thinking": {"type": "enabled", "budget_tokens": budget},
                "messages": [{"role": "user", "content": "Why?"}]});
            let headers = format!("{ALICE}x-thinkthrough-session: {number} {budget}\r\n");
            let answer = gateway.request("POST", "/v1/messages", &headers, &asked.to_string());
            assert_eq!(status(&answer), 200, "{answer}");
            let sent = upstream.last();
            let (all, thought) = (&sent["max_tokens"], &sent["thinking"]["budget_tokens"]);
            let (all, thought) = (all.as_u64().unwrap(), thought.as_u64().unwrap());
            assert!(all < 5_000 && thought < all && thought >= 1_024, "{sent}");
            assert!(budget > 2_000 || thought == budget, "{sent}");
        }
    }
}

#[test]
fn req_budget_in_dollars_caps_a_whole_answer_on_ollamas_own_api() {
    let answer = json!({"model": "m", "created_at": "2026-11-26T00:00:00Z", "done": true, "done_reason": "stop",
        "message": {"role": "assistant", "content": "ok"}, "prompt_eval_count": 10, "eval_count": 5});
    let (place, upstream) =
        (Place::new("money-ollama"), Upstream::start(vec![answer.to_string() + "\n"]));
    let budget = "usd_per_session = 0.05, on_exceed = \"block\"";
    let prices = "[prices.\"own/m\"]\ninput = 1\noutput = 10\n";
    let gateway = gateway(&place, &upstream, "extends = \"ollama\"", budget, prices);
    for (options, expected) in [(json!({}), 4_995), (json!({"num_predict": 50}), 50)] {
        let asked = json!({"model": "own/m", "stream": false, "options": options,
            "messages": [{"role": "user", "content": "Why?"}]});
        let answer = gateway.request("POST", "/api/chat", ALICE, &asked.to_string());
        assert_eq!(status(&answer), 200, "{answer}");
        let sent = upstream.last();
        let cap = sent["options"]["num_predict"].as_u64().unwrap();
        assert!(cap <= expected && cap > expected - 100.min(expected), "{sent}");
    }
}
