//! What goes wrong: the upstream breaks off, the vault is gone, the caller goes away.

use crate::memory::Mood;
use crate::naive::{Entry, Naive, read};
use crate::town::Town;
use std::time::{Duration, Instant};
use thinkthrough_core::content::Block;
use thinkthrough_core::contract::Told;
use thinkthrough_core::exchange::{Handling, Restore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The words with which each wire ends a stream as it should.
const ENDS: [&str; 4] = [
    "data: [DONE]",
    "event: message_stop",
    "event: response.completed",
    "\"finishReason\":\"STOP\"",
];

fn asking(api: &'static str, model: &str, stream: bool) -> Naive {
    let mut client = Naive::new(api, model, stream);
    let which = format!("{api}, {model}, {stream}");
    client.user(&format!("What is in this folder, and what does the readme say? ({which})"));
    client
}

#[tokio::test]
async fn u_7_a_stream_that_the_upstream_breaks_off_is_never_whole_and_leaves_nothing() {
    let town = Town::new().await;
    for (api, model) in [
        ("chat-completions", "kimi-k2"),
        ("messages", "anthropic-manual"),
        ("responses", "responses-stateless"),
        ("generate-content", "gemini-3"),
        ("messages", "kimi-k2"),
        ("chat-completions", "anthropic-manual"),
    ] {
        let client = asking(api, model, true);
        let whole = client.ask(&town, &town.gateway, &[]).await;
        assert!(ENDS.iter().any(|end| whole.text().contains(end)), "{}", whole.text());
        let kept = town.memory.records();
        let (direct, mut wholes) = (whole.body.len(), 0);
        for cut in (0..direct).step_by(direct.div_ceil(24)).skip(1) {
            *town.fault.lock().unwrap() = Some(format!("cut={cut}"));
            let said = client.ask(&town, &town.gateway, &[]).await;
            let answer = read(api, &said, true);
            let text = said.text();
            // Behind another wire the same number of bytes may be the whole answer.
            if ENDS.iter().any(|end| text.contains(end)) {
                assert!(api != "chat-completions" || model != "kimi-k2", "{cut}: {text}");
                assert!(answer.is_complete(), "{api} {model} {cut}: {text}");
                wholes += 1;
                continue;
            }
            assert!(!answer.is_complete(), "{api} {model} {cut}: {text}");
            assert!(answer.upstream_error().is_some() || said.status != 200, "{api} {cut}: {text}");
        }
        *town.fault.lock().unwrap() = None;
        let stored = town.memory.records() - kept;
        assert_eq!(stored, wholes, "{api} {model}");
    }
}

#[tokio::test]
async fn a_vault_that_is_gone_slow_or_full_stops_nothing() {
    let town = Town::new().await;
    for mood in [Mood::Dead, Mood::Slow, Mood::Full] {
        for stream in [false, true] {
            let mut client = asking("chat-completions", "kimi-k2", stream);
            town.memory.feel(mood);
            let begun = Instant::now();
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert!(begun.elapsed() < crate::memory::FAR_TOO_LONG, "{mood:?}");
            assert_eq!(said.status, 200, "{mood:?}: {}", said.text());
            let calls = client.take(&said);
            client.run_tools(&calls);
            // Nothing is known, so that the call is told in words.
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert!(
                begun.elapsed() < crate::memory::FAR_TOO_LONG / 6,
                "{mood:?}: with its look-up"
            );
            assert_eq!(said.status, 200, "{mood:?}: {}", said.text());
            assert_eq!((said.counts(), said.count("flattened")), ([0, 1, 0, 0], 1), "{mood:?}");
        }
    }
    let metrics = town.metrics().await;
    assert!(metrics.contains("thinkthrough_unsaved_total 12"), "{metrics}");
}

/// What is told because the vault did not answer is told in that request alone, though its answer is kept.
#[tokio::test]
async fn a_look_up_that_fails_decides_for_its_own_request() {
    let town = Town::new().await;
    let mut client = asking("chat-completions", "deepseek-v4", true);
    for (mood, restored, missed) in
        [(Mood::Fine, 0, 0), (Mood::Blind, 0, 1), (Mood::Fine, 2, 0), (Mood::Fine, 3, 0)]
    {
        town.memory.feel(mood);
        let (said, calls) = client.step(&town, &town.gateway).await;
        assert_eq!(said.counts(), [restored, missed, 0, 0], "{mood:?}");
        let header = &said.headers["x-thinkthrough"];
        assert_eq!(header.contains("flattened=1"), missed == 1, "{mood:?}: {header}");
        client.run_tools(&calls);
    }
}

#[tokio::test]
async fn x_thinkthrough_store_off_keeps_nothing_and_still_restores() {
    let town = Town::new().await;
    let mut client = asking("chat-completions", "kimi-k2", true);
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    let kept = town.memory.records();
    let said = client.ask(&town, &town.gateway, &[("x-thinkthrough-store", "off")]).await;
    assert_eq!(said.counts(), [1, 0, 0, 0]);
    assert_eq!(town.memory.records(), kept);
}

#[tokio::test]
async fn forks_and_retries_keep_their_own_thoughts() {
    let town = Town::new().await;
    let mut client = asking("chat-completions", "kimi-k2", true);
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    client.step(&town, &town.gateway).await;
    // The same question again, and another one from the same place.
    let mut retry = client.clone();
    retry.history.truncate(1);
    let (_, calls) = retry.step(&town, &town.gateway).await;
    retry.run_tools(&calls);
    assert_eq!(retry.ask(&town, &town.gateway, &[]).await.counts(), [1, 0, 0, 0]);
    let mut fork = client.clone();
    fork.history.truncate(3);
    fork.user("Stop and use get_weather for Paris and Rome.");
    let (said, calls) = fork.step(&town, &town.gateway).await;
    assert_eq!((said.counts(), calls.len()), ([1, 0, 0, 0], 2));
    fork.run_tools(&calls);
    assert_eq!(fork.ask(&town, &town.gateway, &[]).await.counts(), [2, 0, 0, 0]);
}

#[tokio::test]
async fn a_split_of_parallel_calls_into_messages_is_one_answer() {
    let town = Town::new().await;
    let mut client = Naive::new("chat-completions", "deepseek-v4", false);
    client.user("Use get_weather for Paris and Rome.");
    let (_, calls) = client.step(&town, &town.gateway).await;
    assert_eq!(calls.len(), 2);
    let Some(Entry::Ai { text, .. }) = client.history.pop() else { panic!("an answer") };
    for (at, call) in calls.iter().enumerate() {
        let text = if at == 0 { text.clone() } else { String::new() };
        client.history.push(Entry::Ai { text, calls: vec![call.clone()] });
        client.run_tools(std::slice::from_ref(call));
    }
    let said = client.ask(&town, &town.gateway, &[]).await;
    assert_eq!(said.counts()[0], 1, "{}", said.text());
}

#[tokio::test]
async fn a_switch_to_another_provider_and_back_keeps_each_ones_thoughts() {
    let town = Town::new().await;
    for (one, other) in [("kimi-k2", "anthropic-manual"), ("deepseek-v4", "responses-stateless")] {
        let mut client = asking("chat-completions", one, true);
        client.thinks = false;
        for _ in 0..2 {
            let (_, calls) = client.step(&town, &town.gateway).await;
            client.run_tools(&calls);
        }
        client.step(&town, &town.gateway).await;
        client.user("Now use get_weather for Rome.");
        client.model = other.to_owned();
        town.seen();
        client.step(&town, &town.gateway).await;
        let seen = town.seen();
        assert!(seen.iter().all(|it| it.thoughts.is_empty()), "{other} got what it cannot read");
        client.history.pop();
        client.history.pop();
        client.user("Thank you.");
        client.model = one.to_owned();
        let said = client.ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 200, "{}", said.text());
        assert_eq!(said.counts()[0], 3, "{one}: {:?}", said.headers);
    }
}

#[tokio::test]
async fn two_gateways_and_a_restart_share_what_is_known() {
    let mut town = Town::new().await;
    let mut client = asking("messages", "kimi-k2", true);
    let (_, calls) = client.step(&town, &town.gateway).await;
    client.run_tools(&calls);
    let (_second, addr) = town.second().await;
    let (said, calls) = client.step(&town, &addr).await;
    assert_eq!(said.counts(), [1, 0, 0, 0]);
    client.run_tools(&calls);
    town.close();
    let (_third, addr) = town.second().await;
    let (said, _) = client.step(&town, &addr).await;
    assert_eq!(said.counts(), [2, 0, 0, 0]);
}

/// An upstream that begins a stream and says nothing more; it ends when the connection is closed.
async fn hanging() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = format!("http://{}/v1", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let event =
            "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        stream.write_all(chunk.as_bytes()).await.unwrap();
        while stream.read(&mut buffer).await.unwrap_or(0) > 0 {}
    });
    (addr, task)
}

#[tokio::test]
async fn c_1_a_caller_that_goes_away_closes_the_upstream_at_once() {
    let (upstream, closed) = hanging().await;
    let town = Town::with(move |route| route.target.base_url.clone_from(&upstream)).await;
    let addr = town.gateway.strip_prefix("http://").unwrap();
    let mut caller = TcpStream::connect(addr).await.unwrap();
    let (path, body) = asking("chat-completions", "kimi-k2", true).request();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut first = [0; 4096];
    let mut said = String::new();
    while !said.contains("\"content\":\"a\"") {
        let read = caller.read(&mut first).await.unwrap();
        said.push_str(&String::from_utf8_lossy(&first[..read]));
    }
    drop(caller);
    // Sooner than the gateway would write to it that it is still there.
    tokio::time::timeout(Duration::from_secs(12), closed).await.unwrap().unwrap();
    assert!(town.memory.records() == 0);
}

#[tokio::test]
async fn u_10_a_value_that_the_upstream_breaks_off_is_an_error_for_the_caller() {
    let town = Town::new().await;
    *town.fault.lock().unwrap() = Some("cut=300".to_owned());
    let said = asking("chat-completions", "kimi-k2", false).ask(&town, &town.gateway, &[]).await;
    assert_eq!((said.status, said.broken), (502, false), "{}", said.text());
    let translated = asking("messages", "kimi-k2", false).ask(&town, &town.gateway, &[]).await;
    assert_eq!(translated.status, 502, "{}", translated.text());
    assert_eq!(town.memory.records(), 0);
}

#[tokio::test]
async fn t_5_callers_with_credentials_of_their_own_share_nothing() {
    let town = Town::with(|route| route.auth = thinkthrough_client::Auth::None).await;
    let mut client = asking("chat-completions", "kimi-k2", true);
    let said =
        client.ask(&town, &town.gateway, &[("authorization", "Bearer alices-own-key")]).await;
    let calls = client.take(&said);
    client.run_tools(&calls);
    for (key, status, counts) in [
        ("Bearer bobs-very-own-key", 200, [0, 1, 0, 0]),
        ("Bearer EMPTY", 200, [0, 1, 0, 0]),
        ("Bearer alices-own-key", 200, [1, 0, 0, 0]),
    ] {
        let said = client.ask(&town, &town.gateway, &[("authorization", key)]).await;
        assert_eq!((said.status, said.counts()), (status, counts), "{key}");
    }
    // A word in the place of a key counts as none, and whoever has none on this machine is its tenant.
    let said = client.ask(&town, &town.gateway, &[("authorization", "Bearer EMPTY")]).await;
    let calls = client.take(&said);
    client.run_tools(&calls);
    let said = client.ask(&town, &town.gateway, &[("authorization", "Bearer ollama")]).await;
    assert_eq!(said.counts(), [1, 1, 0, 0]);
    assert_eq!(town.memory.tenants().len(), 3);
}

#[tokio::test]
async fn a_missing_thought_is_refused_where_it_is_required_and_done_without_where_it_can_be() {
    let required = Handling { restore: Restore::Required, ..Handling::default() };
    let (in_message, never) = (Told::InUserMessage, Told::Never);
    for (handling, told, model, status, words, way) in [
        (required, in_message, "kimi-k2", 400, "reasoning_missing", ""),
        (required, in_message, "deepseek-v4", 400, "reasoning_missing", ""),
        (Handling::default(), in_message, "deepseek-v4", 200, "", "; flattened=1"),
        (Handling::default(), never, "deepseek-v4", 200, "", "; thinking=off"),
        (Handling::default(), Told::InAnswer, "kimi-k2", 200, "", "; flattened=1"),
    ] {
        let town = Town::with(move |route| {
            route.handling = handling;
            route.target.rule.contract.told = told;
        })
        .await;
        for api in ["chat-completions", "messages"] {
            let mut client = asking(api, model, false);
            town.memory.feel(Mood::Dead);
            let (_, calls) = client.step(&town, &town.gateway).await;
            client.run_tools(&calls);
            let said = client.ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, status, "{api} {model}: {}", said.text());
            assert!(said.text().contains(words), "{api} {model}: {}", said.text());
            assert_eq!(said.counts(), [0, 1, 0, 0], "{api} {model}");
            let header = &said.headers["x-thinkthrough"];
            let went = ["; thinking=off", "; flattened=1"].into_iter();
            assert_eq!(went.filter(|it| header.contains(it)).collect::<String>(), way, "{header}");
        }
    }
}

#[tokio::test]
async fn a_caller_says_with_its_request_what_it_wants_to_see() {
    let town = Town::new().await;
    for (api, model) in
        [("chat-completions", "kimi-k2"), ("messages", "kimi-k2"), ("ollama-chat", "kimi-k2")]
    {
        for stream in [false, true] {
            let client = asking(api, model, stream);
            let seen = |said: &crate::town::Said| {
                assert_eq!(said.status, 200, "{api}: {}", said.text());
                let answer = read(api, said, stream);
                assert!(answer.problems.is_empty(), "{api}: {:?} {}", answer.problems, said.text());
                assert!(answer.blocks.iter().any(|it| matches!(it, Block::ToolCall(_))), "{api}");
                let thought = |it: &&Block| matches!(it, Block::Thinking(_));
                answer.blocks.iter().filter(thought).count()
            };
            let plain = client.ask(&town, &town.gateway, &[]).await;
            assert_eq!(seen(&plain), 1, "{api} {stream}");
            for header in [
                ("x-thinkthrough-view", "hidden"),
                ("x-thinkthrough-set", "reasoning.includeInResponse=false"),
            ] {
                let said = client.ask(&town, &town.gateway, &[header]).await;
                assert_eq!(seen(&said), 0, "{api} {stream}: {}", said.text());
            }
        }
    }
    let client = asking("chat-completions", "kimi-k2", false);
    for header in [("x-thinkthrough-view", "upside-down"), ("x-thinkthrough-set", "reasoning.x=1")]
    {
        let said = client.ask(&town, &town.gateway, &[header]).await;
        assert_eq!(said.status, 400, "{}", said.text());
        assert!(said.text().contains(header.0), "{}", said.text());
    }
}
