//! A repair changes only the part of a request that the refusal names.

use crate::naive::Naive;
use crate::poisoned::asked;
use crate::town::Town;
use crate::upstreams::CALLERS;
use serde_json::{Value, json};
use thinkthrough_conformance::ThoughtState;
use thinkthrough_core::provider::EffortForm;
use thinkthrough_core::settings::Effort;

const QUESTION: &str = "What is in this folder, and what does the readme say?";

#[tokio::test]
async fn answers_without_a_thought_go_on_where_each_answer_needs_one() {
    for model in ["deepseek-v4", "deepseek-v4-messages", "deepseek-v4-responses"] {
        for api in CALLERS {
            let town = Town::new().await;
            let mut client = Naive::new(api, model, false);
            for question in [format!("Do not think about it. {QUESTION}"), QUESTION.to_owned()] {
                client.user(&question);
                for _ in 0..4 {
                    let (_, calls) = client.step(&town, &town.gateway).await;
                    if calls.is_empty() {
                        break;
                    }
                    client.run_tools(&calls);
                }
            }
            let (_, refused) = asked(&town);
            assert_eq!(refused, 0, "{api} {model}");
        }
    }
}

#[tokio::test]
async fn a_seal_that_is_named_goes_alone_and_is_not_sent_again() {
    let town = Town::new().await;
    let mut client = Naive::new("messages", "anthropic-manual", false);
    client.user(QUESTION);
    let first = client.ask(&town, &town.gateway, &[]).await;
    let answer: Value = serde_json::from_str(&first.text()).unwrap();
    let calls = client.take(&first);
    client.run_tools(&calls);
    let (path, mut body) = client.request();
    body["messages"][1]["content"] = answer["content"].clone();
    let foreign =
        json!({"type": "thinking", "thinking": "hm", "signature": "CpwBAAAAforeign0123456789=="});
    let before = [
        json!({"role": "user", "content": "Hi"}),
        json!({"role": "assistant", "content": [foreign, {"type": "text", "text": "Ho"}]}),
    ];
    body["messages"].as_array_mut().unwrap().splice(0..0, before);
    town.seen();
    for refused in [1, 0] {
        let said = town.post(&town.gateway, &path, &[], &body.to_string()).await;
        assert_eq!(said.status, 200, "{}", said.text());
        let header = &said.headers["x-thinkthrough"];
        assert_eq!(header.contains("repaired=replace"), refused == 1, "{header}");
        let seen = town.seen();
        assert_eq!(seen.len(), 1 + refused, "{header}");
        // The good one is there, at its own message.
        let thoughts: Vec<_> =
            seen[refused].thoughts.iter().map(|it| (it.message, it.state)).collect();
        assert_eq!(thoughts, [(3, ThoughtState::Own)], "{header}");
    }
}

#[tokio::test]
async fn a_text_and_a_thought_that_exclude_each_other_are_sent_apart() {
    for api in CALLERS {
        let town = Town::new().await;
        let mut client = Naive::new(api, "llamacpp-gpt-oss", false);
        client.user(QUESTION);
        for _ in 0..4 {
            let (_, calls) = client.step(&town, &town.gateway).await;
            if calls.is_empty() {
                break;
            }
            client.run_tools(&calls);
        }
        let seen = town.seen();
        assert!(seen.iter().all(|it| it.refusal.is_none() && it.losses.is_empty()), "{api}");
        let mut states = seen.iter().flat_map(|it| &it.thoughts).map(|it| it.state);
        assert!(seen.len() > 1 && states.all(|it| it == ThoughtState::Own), "{api}");
    }
}

#[tokio::test]
async fn a_failure_that_names_the_history_is_repaired_and_not_tried_again() {
    let town = Town::with(|route| route.target.rule.contract.apart = false).await;
    let mut client = Naive::new("chat-completions", "llamacpp-gpt-oss", false);
    client.user(QUESTION);
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    town.seen();
    for (word, sent) in [("repaired=apart", (2, 1)), ("learned=apart", (1, 0))] {
        let said = client.ask(&town, &town.gateway, &[]).await;
        assert_eq!((said.status, asked(&town)), (200, sent), "{}", said.text());
        assert!(said.headers["x-thinkthrough"].contains(word), "{:?}", said.headers);
    }
}

#[tokio::test]
async fn an_effort_that_is_refused_is_repaired_alone_and_remembered() {
    let town = Town::with(|route| {
        let form =
            EffortForm { path: "reasoning.effort", words: &[(Effort::Max, "max")], only: None };
        route.target.rule.thinking.effort = Some(form);
    })
    .await;
    let mut client = Naive::new("messages", "xai", false);
    client.user("Hi");
    let (path, mut body) = client.request();
    body["output_config"] = json!({"effort": "max"});
    for (word, sent) in [("repaired=efforts", (2, 1)), ("learned=efforts", (1, 0))] {
        let said = town.post(&town.gateway, &path, &[], &body.to_string()).await;
        assert_eq!((said.status, asked(&town)), (200, sent), "{}", said.text());
        assert!(said.headers["x-thinkthrough"].contains(word), "{:?}", said.headers);
    }
}

#[tokio::test]
async fn a_line_of_bookkeeping_that_changes_changes_nothing_about_thoughts() {
    let town = Town::new().await;
    let mut client = Naive::new("messages", "anthropic-bound", false);
    client.user(QUESTION);
    for round in 0..2 {
        let (path, mut body) = client.request();
        let line = format!("x-anthropic-billing-header: cc_version=2.1.77.{round}; cch={round}f;");
        let line = json!({"type": "text", "text": line});
        body["system"] = json!([line, {"type": "text", "text": "Be kind."}]);
        let said = town.post(&town.gateway, &path, &[], &body.to_string()).await;
        assert_eq!((said.status, said.count("restored")), (200, round), "{}", said.text());
        let calls = client.take(&said);
        client.run_tools(&calls);
    }
    assert_eq!(asked(&town), (2, 0));
}
