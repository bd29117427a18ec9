//! Refusals that say what a model wants, where nothing is known about it.

use crate::naive::{Naive, read};
use crate::town::{Said, Town};
use crate::upstreams::{CALLERS, Close, HEAD, Scripted, begun, client, finish};
use thinkthrough_core::contract::{Contract, Told};
use thinkthrough_core::exchange::Restore;
use thinkthrough_gateway::Route;

/// As if nobody had said anything about the model.
fn unknown(route: &mut Route) {
    route.target = route.target.clone().with_contract(Contract::NONE, "none");
}

fn explains(said: &Said) -> String {
    said.headers["x-thinkthrough"].clone()
}

fn refusals(town: &Town) -> usize {
    town.seen().iter().filter(|entry| entry.refusal.is_some()).count()
}

#[tokio::test]
async fn what_a_refusal_says_is_learned_after_one_repair() {
    for (model, repair) in [
        ("deepseek-v4", "return"),
        ("deepseek-v32", "return"),
        ("deepseek-v4-everywhere", "return"),
        ("mimo", "return"),
        ("kimi-k2", "return"),
        ("gemini-3-chat", "sign"),
    ] {
        let town = Town::with(unknown).await;
        let mut client = Naive::new("chat-completions", model, true);
        client.user("What is in this folder, and what does the readme say?");
        let (first, calls) = client.step(&town, &town.gateway).await;
        assert!(!explains(&first).contains("repair"), "{model}: {}", explains(&first));
        client.run_tools(&calls);
        let (repaired, calls) = client.step(&town, &town.gateway).await;
        let explained = explains(&repaired);
        assert!(explained.ends_with(&format!("; repaired={repair}")), "{model}: {explained}");
        assert_eq!((repaired.count("restored"), refusals(&town)), (1, 1), "{model}: {explained}");
        client.run_tools(&calls);
        let (learned, _) = client.step(&town, &town.gateway).await;
        let explained = explains(&learned);
        assert!(explained.ends_with(&format!("; learned={repair}")), "{model}: {explained}");
        assert_eq!((learned.count("restored"), refusals(&town)), (2, 0), "{model}: {explained}");
        let metrics = town.metrics().await;
        assert!(metrics.contains("thinkthrough_repairs_total 1\n"), "{metrics}");
    }
}

#[tokio::test]
async fn tokens_are_counted_as_they_would_be_sent_after_a_lesson() {
    let town = Town::with(unknown).await;
    let mut client = Naive::new("messages", "deepseek-v4", false);
    client.user("What is in this folder?");
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    let (_, body) = client.request();
    let mut counts = Vec::new();
    for lesson in [false, true] {
        let path = "/v1/messages/count_tokens";
        let said = town.post(&town.gateway, path, &[], &body.to_string()).await;
        assert_eq!(explains(&said).ends_with("; learned=return"), lesson, "{}", explains(&said));
        let count: serde_json::Value = serde_json::from_str(&said.text()).unwrap();
        counts.push(count["input_tokens"].as_u64().unwrap());
        client.step(&town, &town.gateway).await;
    }
    assert!(counts[0] < counts[1], "the thought that goes back costs nothing: {counts:?}");
}

#[tokio::test]
async fn nothing_is_repaired_where_nothing_is_to_be_restored() {
    let town = Town::with(|route| {
        unknown(route);
        route.handling.restore = Restore::Never;
    })
    .await;
    let mut client = Naive::new("chat-completions", "kimi-k2", false);
    client.user("What is in this folder?");
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    let refused = client.ask(&town, &town.gateway, &[]).await;
    assert_eq!((refused.status, refusals(&town)), (400, 1), "{}", refused.text());
}

#[tokio::test]
async fn one_repair_is_all_there_is() {
    // The thought is lost and cannot be told: thinking goes off.
    let town = Town::with(|route| {
        unknown(route);
        route.target.rule.contract.told = Told::Never;
    })
    .await;
    let body = r#"{"model":"deepseek-v4-everywhere","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho"},{"role":"user","content":"And?"}]}"#;
    let off = town.post(&town.gateway, "/v1/chat/completions", &[], body).await;
    assert_eq!((off.status, refusals(&town)), (200, 1), "{}", off.text());
    assert!(explains(&off).contains("thinking=off; repaired=return"), "{}", explains(&off));

    let town = Town::with(|route| {
        unknown(route);
        route.target.rule.contract.told = Told::Never;
        route.target.rule.thinking.off = None;
    })
    .await;
    let refused = town.post(&town.gateway, "/v1/chat/completions", &[], body).await;
    // A repair that cannot switch it off would send the same bytes.
    assert_eq!((refused.status, refusals(&town)), (400, 1), "{}", refused.text());
    assert!(!explains(&refused).contains("repaired"), "{}", explains(&refused));
}

#[tokio::test]
async fn a_stream_that_begins_with_a_refusal_is_repaired_as_any_other() {
    let stream = |body: &str| vec![[HEAD, body].concat().into_bytes()];
    let calls = begun() + &finish() + "data: [DONE]\n\n";
    let refusal = ": one moment\n\ndata: {\"error\":{\"message\":\"thinking is enabled but reasoning_content is missing in \
                   assistant tool call message at index 1\",\"code\":400}}\n\n";
    for api in CALLERS {
        let answers = vec![stream(&calls), stream(refusal), stream(&calls)];
        let upstream = Scripted::in_turn(answers, Close::Fin).await;
        let town = upstream.town_with(unknown).await;
        let mut client = client(api);
        let (_, calls) = client.step(&town, &town.gateway).await;
        client.run_tools(&calls);
        let (repaired, calls) = client.step(&town, &town.gateway).await;
        let explained = explains(&repaired);
        assert!(explained.contains("; repaired=return"), "{api}: {explained}");
        assert_eq!((repaired.count("restored"), calls.len()), (1, 1), "{api}: {explained}");
        assert_eq!(upstream.asked(), 3, "{api}");
    }
    // A second refusal is the answer, in the words of each caller; what is no refusal of thoughts is left alone.
    let trouble = "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n";
    for (last, status) in [(refusal, 200), (trouble, 200)] {
        for api in CALLERS {
            let answers = vec![stream(&calls), stream(last)];
            let upstream = Scripted::in_turn(answers, Close::Fin).await;
            let town = upstream.town_with(unknown).await;
            let mut client = client(api);
            let (_, calls) = client.step(&town, &town.gateway).await;
            client.run_tools(&calls);
            let said = client.ask(&town, &town.gateway, &[]).await;
            let expected = if last == trouble { 2 } else { 3 };
            assert_eq!(
                (said.status, upstream.asked()),
                (status, expected),
                "{api}: {}",
                said.text()
            );
            let is_told = read(api, &said, true).upstream_error().is_some();
            assert!(is_told, "{api}: {}", said.text());
        }
    }
}
