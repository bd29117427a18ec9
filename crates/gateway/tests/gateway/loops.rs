//! Tool loops of naive clients.

use crate::naive::{APIS, Naive};
use crate::town::Town;
use thinkthrough_conformance::{LogEntry, ThoughtState};

const MODELS: [&str; 12] = [
    "kimi-k2",
    "kimi-k3",
    "deepseek-v4",
    "anthropic-manual",
    "anthropic-omitted",
    "anthropic-bound",
    "gemini-3",
    "responses-stateless",
    "minimax-tags",
    "vllm",
    "mistral",
    "groq",
];

/// Two rounds of tools, an answer, and a follow-up, through the gateway. Gives what went wrong.
async fn whole_loop(town: &Town, client: &mut Naive) -> Result<(), String> {
    let base = town.gateway.clone();
    // Who says the same in the same words twice cannot be told from himself where ids are missing, too.
    let which = format!("{}, {}, {}", client.api, client.model, client.stream);
    client.user(&format!("What is in this folder, and what does the readme say? ({which})"));
    for round in ["list", "read"] {
        let calls = client.try_step(town, &base).await?;
        if calls.len() != 1 || calls[0].name != round {
            return Err(format!("{round} was expected, not {calls:?}"));
        }
        client.run_tools(&calls);
    }
    let calls = client.try_step(town, &base).await?;
    if !calls.is_empty() || !client.last().contains("Cargo.toml") {
        return Err(format!("an answer was expected, not {}", client.last()));
    }
    client.user("Thank you. Anything else?");
    client.try_step(town, &base).await.map(drop)
}

#[tokio::test]
async fn a_naive_client_fails_alone_and_passes_through_the_gateway() {
    let town = Town::new().await;
    for stream in [false, true] {
        let mut alone = Naive::new("chat-completions", "kimi-k2", stream);
        alone.user("What is in this folder?");
        let base = format!("{}/kimi-k2", town.sims);
        let mut direct = alone.clone();
        direct.model = "kimi-k2-thinking".to_owned();
        let (_, calls) = direct.step(&town, &base).await;
        direct.run_tools(&calls);
        let refused = direct.ask(&town, &base, &[]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("reasoning_content is missing"), "{}", refused.text());

        let mut client = Naive::new("chat-completions", "kimi-k2", stream);
        whole_loop(&town, &mut client).await.unwrap();
        client.user("And now?");
        let last = client.ask(&town, &town.gateway, &[]).await;
        assert_eq!(last.counts(), [3, 0, 0, 0], "{:?}", last.headers);
    }
}

/// What the simulators saw that they should not have seen.
fn findings(seen: &[LogEntry]) -> Vec<String> {
    let is_wrong = |entry: &&LogEntry| {
        let own = entry.thoughts.iter().all(|it| it.state == ThoughtState::Own);
        entry.refusal.is_some() || !entry.losses.is_empty() || !own
    };
    let mut wrong: Vec<String> = seen.iter().filter(is_wrong).map(ToString::to_string).collect();
    if seen.iter().all(|it| it.thoughts.is_empty()) {
        wrong.push("no thought came back".to_owned());
    }
    wrong
}

#[tokio::test]
async fn every_api_gets_through_a_tool_loop_on_every_strict_model() {
    let town = Town::new().await;
    let mut wrong = Vec::new();
    for model in MODELS {
        for api in APIS {
            for stream in [false, true] {
                let mut client = Naive::new(api, model, stream);
                town.seen();
                let outcome = whole_loop(&town, &mut client).await;
                let mut found = findings(&town.seen());
                found.extend(outcome.err());
                let named = |it: String| format!("{api} -> {model}, stream {stream}: {it}");
                wrong.extend(found.into_iter().map(named));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
