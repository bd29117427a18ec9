//! Upstreams that speak HTTP/2: all goes as over HTTP/1.1, and what breaks there breaks cleanly here.

use crate::naive::{Naive, read};
use crate::town::Town;
use std::sync::OnceLock;
use thinkthrough_client::{Client, ClientConfig, Transport};
use thinkthrough_gateway::Route;

/// Every upstream is spoken with in HTTP/2 from the first byte on, all over the same connections.
fn over_http2(route: &mut Route) {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    let config = ClientConfig { http2_prior_knowledge: true, ..ClientConfig::default() };
    let client = CLIENT.get_or_init(|| Client::new(config).unwrap());
    route.transport = Transport::Http(client.clone());
}

#[tokio::test]
async fn u_9_a_stream_that_is_reset_and_a_connection_that_goes_away_are_errors() {
    let town = Town::with(over_http2).await;
    for (api, model) in [
        ("chat-completions", "kimi-k2"),
        ("messages", "anthropic-manual"),
        ("responses", "responses-stateless"),
        ("messages", "kimi-k2"),
    ] {
        let mut client = Naive::new(api, model, true);
        client.user("What is in this folder, and what does the readme say?");
        let whole = client.ask(&town, &town.gateway, &[]).await;
        assert!(read(api, &whole, true).is_complete(), "{api} {model}: {}", whole.text());
        let kept = town.memory.records();
        for fault in ["cut", "goaway"] {
            for bytes in [0, 150, 400] {
                *town.fault.lock().unwrap() = Some(format!("{fault}={bytes}"));
                let said = client.ask(&town, &town.gateway, &[]).await;
                let what = format!("{api} {model} {fault}={bytes}: {}", said.text());
                let answer = read(api, &said, true);
                assert!(!answer.is_complete(), "{what}");
                assert!(said.status != 200 || answer.upstream_error().is_some(), "{what}");
                *town.fault.lock().unwrap() = None;
                // Whatever became of the connection, the next request is answered.
                let whole = client.ask(&town, &town.gateway, &[]).await;
                assert!(read(api, &whole, true).is_complete(), "{what}");
            }
        }
        // Six times whole, and nothing of what broke off.
        assert_eq!(town.memory.records() - kept, 6, "{api} {model}");
    }
}

#[tokio::test]
async fn a_tool_loop_over_http_2_has_all_its_thoughts() {
    let town = Town::with(over_http2).await;
    for model in ["kimi-k2", "deepseek-v4"] {
        let mut client = Naive::new("messages", model, true);
        client.user("What is in this folder, and what does the readme say?");
        for round in 0..3 {
            let (said, calls) = client.step(&town, &town.gateway).await;
            assert_eq!(said.counts(), [round, 0, 0, 0], "{model}");
            client.run_tools(&calls);
        }
        assert!(town.seen().iter().all(|entry| entry.refusal.is_none()), "{model}");
    }
}
