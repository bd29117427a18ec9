//! Models whose call ids come again in every answer: the caller sees ids of its own, the provider sees its.

use crate::naive::{APIS, Naive};
use crate::town::Town;
use thinkthrough_core::restore::ticket::is_ticket;

/// Two questions, each with the calls that it takes. Gives the ids of all calls, as the caller saw them.
async fn talk(town: &Town, client: &mut Naive) -> Vec<String> {
    let mut ids = Vec::new();
    for question in
        ["Use get_weather for Paris and Rome.", "Now use get_weather for Oslo and Bern."]
    {
        // Who says the same in the same words twice cannot be told from himself where ids are missing, too.
        let question = format!("{question} ({}, {}, {})", client.api, client.model, client.stream);
        client.user(&question);
        loop {
            let (_, calls) = client.step(town, &town.gateway).await;
            if calls.is_empty() {
                break;
            }
            ids.extend(calls.iter().map(|call| call.id.clone()));
            client.run_tools(&calls);
        }
    }
    ids
}

#[tokio::test]
async fn ids_that_come_again_are_told_apart_by_the_caller_and_not_by_the_provider() {
    let town = Town::new().await;
    for api in APIS {
        for model in ["kimi-k2", "kimi-k3"] {
            for stream in [false, true] {
                let case = format!("{api} {model} {stream}");
                let mut ids = talk(&town, &mut Naive::new(api, model, stream)).await;
                assert!(ids.len() > 3 && ids.iter().all(|id| is_ticket(id)), "{case}: {ids:?}");
                let count = ids.len();
                ids.sort();
                ids.dedup();
                assert_eq!(ids.len(), count, "{case}: {ids:?}");
                // The simulator of K2 says of every id that is not of its own form that it makes the model worse.
                let lost: Vec<String> = town.seen().into_iter().flat_map(|it| it.losses).collect();
                assert_eq!(lost, Vec::<String>::new(), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_kept_has_the_providers_own_ids() {
    let town = Town::new().await;
    let mut client = Naive::new("chat-completions", "kimi-k3", false);
    client.user("What is in this folder?");
    let said = client.ask(&town, &town.gateway, &[("x-thinkthrough-store", "off")]).await;
    let calls = client.take(&said);
    assert!(!calls.is_empty() && calls.iter().all(|call| call.id.ends_with(":0")), "{calls:?}");
}
