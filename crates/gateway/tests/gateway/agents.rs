//! Agents that clear old results, change models or lose records in the middle of a tool loop, with strict models: the
//! loop ends, and the model thinks until then.

use crate::naive::{Entry, Naive};
use crate::town::{Said, Town};
use std::collections::BTreeSet;
use thinkthrough_conformance::{SeenThought, ThoughtState};

/// Models that demand thoughts, and their own APIs.
const MODELS: [(&str, &str); 11] = [
    ("deepseek-v4", "chat-completions"),
    ("deepseek-v32", "chat-completions"),
    ("deepseek-v4-everywhere", "chat-completions"),
    ("deepseek-v4-messages", "messages"),
    ("deepseek-v4-responses", "responses"),
    ("mimo", "chat-completions"),
    ("kimi-k2", "chat-completions"),
    ("kimi-k3", "chat-completions"),
    ("anthropic-manual", "messages"),
    ("gemini-3", "generate-content"),
    ("responses-stateless", "responses"),
];

const ASKS: &str = "What is in this folder, and what does the readme say?";

/// So many requests take a listing, a file and an answer.
const NORMAL: usize = 3;

fn agent((model, api): (&'static str, &'static str)) -> Naive {
    let mut agent = Naive::new(api, model, false);
    agent.user(ASKS);
    agent
}

/// Asks once, and runs what is called. Gives whether anything is.
async fn round(town: &Town, agent: &mut Naive) -> (Said, bool) {
    let (said, calls) = agent.step(town, &town.gateway).await;
    agent.run_tools(&calls);
    (said, !calls.is_empty())
}

/// Goes on until the model answers; `then` is done before each request. Gives what was said.
async fn until_the_answer(
    town: &Town,
    agent: &mut Naive,
    mut then: impl FnMut(&mut Naive),
) -> Vec<Said> {
    let mut all = Vec::new();
    loop {
        then(agent);
        let (said, goes_on) = round(town, agent).await;
        all.push(said);
        if !goes_on {
            return all;
        }
        assert!(all.len() < 20, "{}: the loop has no end", agent.model);
    }
}

/// The model thought with so many thoughts of its own, and with nobody else's.
#[track_caller]
fn thinks(town: &Town, agent: &Naive, said: &[Said], own: usize) {
    let model = &agent.model;
    for said in said {
        let explained = &said.headers["x-thinkthrough"];
        assert!(!explained.contains("thinking=off"), "{model}: {explained}");
    }
    let seen = town.seen();
    assert!(seen.iter().all(|it| it.refusal.is_none()), "{model}: {seen:#?}");
    let last = seen.iter().rfind(|it| it.simulator == *model).unwrap();
    // Gemini's documented value is nobody's.
    let is_own = |it: &&SeenThought| it.state == ThoughtState::Own;
    assert!(last.thoughts.iter().all(|it| is_own(&it) || model == "gemini-3"), "{last:#?}");
    let messages: BTreeSet<usize> =
        last.thoughts.iter().filter(is_own).map(|it| it.message).collect();
    assert_eq!(messages.len(), own, "{model}: {last:#?}");
}

#[tokio::test]
async fn an_agent_that_clears_old_results_loses_no_thought() {
    let town = Town::new().await;
    // Gemini's own calls have no ids, so that only their history tells them from others.
    for model in MODELS.into_iter().filter(|(model, _)| *model != "gemini-3") {
        let mut agent = agent(model);
        for turn in 0..3 {
            let clear = |agent: &mut Naive| {
                let is_result = |entry: &&mut Entry| matches!(entry, Entry::Result { .. });
                for entry in agent.history.iter_mut().rev().filter(is_result).skip(1) {
                    if let Entry::Result { text, .. } = entry {
                        *text = "[Old tool result content cleared]".to_owned();
                    }
                }
            };
            let said = until_the_answer(&town, &mut agent, clear).await;
            assert_eq!(said.len(), NORMAL, "{model:?} {turn}");
            for said in &said {
                assert_eq!(said.count("missed"), 0, "{model:?} {turn}: {:?}", said.headers);
            }
            thinks(&town, &agent, &said, 2 + 3 * turn);
            agent.user(&format!("Once more, the {turn}. time. {ASKS}"));
        }
    }
}

#[tokio::test]
async fn an_agent_whose_records_are_lost_in_mid_loop_comes_to_its_end_thinking() {
    for model in MODELS {
        for lost in 0..2 {
            let town = Town::new().await;
            let mut agent = agent(model);
            let mut said = Vec::new();
            for _ in 0..=lost {
                said.push(round(&town, &mut agent).await.0);
            }
            town.memory.lose(0);
            said.extend(until_the_answer(&town, &mut agent, |_| {}).await);
            assert_eq!(said.len(), NORMAL, "{model:?} {lost}");
            thinks(&town, &agent, &said, 1);
            let way = if model.0 == "gemini-3" { "bypassed" } else { "flattened" };
            let metrics = town.metrics().await;
            let counted: usize = metrics
                .lines()
                .filter_map(|line| line.strip_prefix("thinkthrough_without_thought_total{way="))
                .filter_map(|line| line.strip_prefix(&format!("\"{way}\"}} ")))
                .map(|count| count.parse::<usize>().unwrap())
                .sum();
            let explained = said
                .iter()
                .filter(|said| said.headers["x-thinkthrough"].contains(&format!("; {way}=1")));
            assert_eq!(counted, explained.count(), "{model:?} {lost}: {metrics}");
        }
    }
}

/// Progress its own last call each time, it would call for ever.
#[tokio::test]
async fn an_agent_whose_thoughts_nobody_keeps_comes_to_its_end_without_thinking() {
    let off = [("x-thinkthrough-store", "off")];
    for model in MODELS
        .into_iter()
        .filter(|(model, _)| model.starts_with("deepseek") || *model == "anthropic-manual")
    {
        let town = Town::new().await;
        let mut agent = agent(model);
        for round in 0..NORMAL {
            let said = agent.ask(&town, &town.gateway, &off).await;
            assert_eq!(said.status, 200, "{model:?}: {}", said.text());
            let explained = &said.headers["x-thinkthrough"];
            assert_eq!(explained.contains("thinking=off"), round > 0, "{model:?}: {explained}");
            let calls = agent.take(&said);
            assert_eq!(calls.is_empty(), round + 1 == NORMAL, "{model:?}");
            agent.run_tools(&calls);
        }
    }
}

#[tokio::test]
async fn an_agent_that_changes_models_in_mid_loop_and_back_goes_on_thinking() {
    for model in MODELS {
        let town = Town::new().await;
        let other = if model.0.starts_with("kimi") { "deepseek-v4" } else { "kimi-k2" };
        let mut agent = agent(model);
        let (first, _) = round(&town, &mut agent).await;
        agent.model = other.to_owned();
        round(&town, &mut agent).await;
        agent.model = model.0.to_owned();
        town.seen();
        let mut said = until_the_answer(&town, &mut agent, |_| {}).await;
        said.insert(0, first);
        assert!(said.len() <= NORMAL, "{model:?}");
        thinks(&town, &agent, &said, said.len() - 1);
    }
}
