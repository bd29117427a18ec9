//! What an upstream says that must not reach a caller as it is: keys, addresses, answers that are none or not whole.

use crate::memory::Mood;
use crate::naive::read;
use crate::town::Town;
use crate::upstreams::{CALLERS, Close, ENDS, Scripted, client};
use serde_json::json;
use thinkthrough_client::{Auth, Secret};

const KEY: &str = "sk-canary-Zz9Yy8Xx7Ww6";

fn with_key(route: &mut thinkthrough_gateway::Route) {
    route.auth = Auth::Bearer(Secret::new(KEY));
}

/// An answer that ends with its connection, in the pieces that it comes in.
fn answer(head: &str, pieces: &[&str]) -> Vec<Vec<u8>> {
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec());
    [head.into_bytes()].into_iter().chain(pieces).collect()
}

fn whole() -> String {
    let message = json!({"role": "assistant", "reasoning_content": "I look.", "content": "Here."});
    json!({"id": "1", "model": "m", "choices": [{"index": 0, "message": message,
        "finish_reason": "stop"}]})
    .to_string()
}

#[tokio::test]
async fn t_7_a_key_that_an_upstream_quotes_reaches_no_caller() {
    let error = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."),
        "type": "invalid_request_error"}})
    .to_string();
    let event = format!("data: {error}\n\n");
    let delta = json!({"choices": [{"index": 0, "delta": {"content": format!("it is {KEY}!")}}]});
    let begun = format!("data: {delta}\n\n");
    let stream = "200 OK\r\ncontent-type: text/event-stream";
    let refused = format!("401 Unauthorized\r\ncontent-type: application/json\r\nx-echo: {KEY}");
    for at in [3, 60, 62, 66, 70] {
        let cases = [
            answer(&refused, &[&error[..at], &error[at..]]),
            answer(stream, &[&event[..at], &event[at..]]),
            answer(stream, &[&begun[..at], &begun[at..], "data: [DONE]\n\n"]),
            answer("200 OK\r\ncontent-type: application/json", &[&error[..at], &error[at..]]),
        ];
        for (case, pieces) in cases.into_iter().enumerate() {
            let upstream = Scripted::start(pieces, Close::Fin).await;
            let town = upstream.town_with(with_key).await;
            for api in CALLERS {
                let streams = case == 1 || case == 2;
                let said = client(api).streams(streams).ask(&town, &town.gateway, &[]).await;
                let all = format!("{} {:?}", said.text(), said.headers);
                assert!(!all.contains(&KEY[..8]), "{api} {case} {at}: {all}");
                assert!(all.contains("*****"), "{api} {case} {at}: {all}");
            }
        }
    }
}

#[tokio::test]
async fn t_17_an_error_names_the_provider_and_no_address() {
    let town = Town::with(|route| {
        route.target.base_url = "http://127.0.0.1:9/v1".to_owned();
        route.target.provider = "there".to_owned();
    })
    .await;
    for api in CALLERS {
        let said = client(api).ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 502, "{}", said.text());
        assert!(said.text().contains("`there` cannot be reached"), "{api}: {}", said.text());
        assert!(!said.text().contains("127.0.0.1"), "{api}: {}", said.text());
    }
    // In the middle of an answer, too.
    let head = "200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999";
    let upstream = Scripted::start(answer(head, &[&crate::upstreams::begun()]), Close::Fin).await;
    let town = upstream.town_with(|route| route.target.provider = "there".to_owned()).await;
    for api in CALLERS {
        let said = client(api).ask(&town, &town.gateway, &[]).await;
        assert!(said.text().contains("`there` closed the connection"), "{api}: {}", said.text());
        assert!(!said.text().contains("127.0.0.1"), "{api}: {}", said.text());
    }
}

#[tokio::test]
async fn u_10_an_answer_with_two_lengths_is_none() {
    let body = whole();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let head = "200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\
                transfer-encoding: chunked";
    let upstream = Scripted::start(answer(head, &[&chunked]), Close::Fin).await;
    let town = upstream.town().await;
    for api in CALLERS {
        for stream in [false, true] {
            let said = client(api).streams(stream).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 502, "{api} {stream}: {}", said.text());
            assert!(said.text().contains("`transfer-encoding`"), "{api}: {}", said.text());
        }
    }
    assert_eq!(town.memory.records(), 0);
}

#[tokio::test]
async fn u_16_a_status_that_is_no_answers_is_502() {
    for (status, head) in [
        ("101", "101 Switching Protocols\r\nupgrade: x"),
        ("304", "304 Not Modified\r\netag: x"),
        ("300", "300 Multiple Choices\r\ncontent-length: 0"),
        ("204", "204 No Content"),
        ("205", "205 Reset Content\r\ncontent-length: 0"),
    ] {
        let upstream = Scripted::start(answer(head, &[]), Close::Fin).await;
        let town = upstream.town().await;
        for api in CALLERS {
            for stream in [false, true] {
                let said = client(api).streams(stream).ask(&town, &town.gateway, &[]).await;
                assert_eq!(said.status, 502, "{api} {stream} {status}: {}", said.text());
                assert!(said.text().contains(&format!("status is {status}")), "{}", said.text());
            }
        }
        // Nor is it one to whoever asks the provider's own API; there an answer may be empty.
        if !status.starts_with("20") {
            let said = town.post(&town.gateway, "/p/kimi-k2/v1/x", &[], "{}").await;
            assert_eq!(said.status, 502, "{status}: {}", said.text());
        }
    }
}

#[tokio::test]
async fn u_10_a_value_that_ends_with_its_connection_is_whole_or_an_error() {
    let body = whole();
    let head = "200 OK\r\ncontent-type: application/json";
    for at in (1..body.len()).step_by(7) {
        let upstream = Scripted::start(answer(head, &[&body[..at]]), Close::Fin).await;
        let town = upstream.town().await;
        for api in CALLERS {
            let said = client(api).streams(false).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 502, "{api} {at}: {}", said.text());
        }
        assert_eq!(town.memory.records(), 0, "{at}");
    }
    let upstream = Scripted::start(answer(head, &[&body[..9], &body[9..], "\n"]), Close::Fin).await;
    let town = upstream.town().await;
    for api in CALLERS {
        let said = client(api).streams(false).ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 200, "{api}: {}", said.text());
        assert!(said.text().contains("Here."), "{api}: {}", said.text());
        assert!(!said.headers["x-thinkthrough"].contains("unsaved"), "{:?}", said.headers);
    }
}

#[tokio::test]
async fn u_17_a_packed_answer_that_is_cut_has_no_end() {
    for (media, packed) in [
        ("application/json", crate::odd_answers::packed_value()),
        ("text/event-stream", crate::odd_answers::packed()),
    ] {
        let stream = media != "application/json";
        for at in 1..packed.len() {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-encoding: gzip\r\n\
                 connection: close\r\n\r\n"
            );
            let cut = [head.as_bytes(), &packed[..at]].concat();
            let upstream = Scripted::start(vec![cut], Close::Fin).await;
            let town = upstream.town().await;
            let said = client(CALLERS[0]).streams(stream).ask(&town, &town.gateway, &[]).await;
            let is_told =
                said.status == 502 || read(CALLERS[0], &said, true).upstream_error().is_some();
            // Of a stream all may be there but the checksum behind it.
            let is_whole = stream && said.text().contains(ENDS[0]);
            assert!(is_told || is_whole, "{media} {at}: {} {}", said.status, said.text());
        }
    }
}

#[tokio::test]
async fn d_2_a_caller_of_a_whole_answer_hears_that_its_record_was_not_saved() {
    let town = Town::new().await;
    for api in CALLERS {
        for (mood, unsaved) in [(Mood::Fine, false), (Mood::Full, true)] {
            town.memory.feel(mood);
            let said = client(api).streams(false).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 200, "{api}: {}", said.text());
            let header = &said.headers["x-thinkthrough"];
            assert_eq!(header.ends_with("; unsaved=1"), unsaved, "{api} {mood:?}: {header}");
        }
    }
}

#[tokio::test]
async fn t_31_a_name_without_end_is_not_repeated() {
    let town = Town::new().await;
    let name = "x".repeat(1 << 20);
    for (path, body) in [
        ("/v1/chat/completions", json!({"model": name, "messages": []}).to_string()),
        ("/v1/messages", json!({"model": name, "messages": []}).to_string()),
        ("/v1/messages/count_tokens", json!({"model": name, "messages": []}).to_string()),
        ("/v1/responses", json!({"model": name, "input": []}).to_string()),
    ] {
        let said = town.post(&town.gateway, path, &[], &body).await;
        assert_eq!(said.status, 404, "{path}");
        assert!(said.body.len() < 1000 && said.text().contains("xxx…"), "{path}: {}", said.text());
    }
}

/// A client of the gateway that speaks HTTP/2.
fn over_http2() -> thinkthrough_client::Client {
    let config = thinkthrough_client::ClientConfig {
        http2_prior_knowledge: true,
        ..thinkthrough_client::ClientConfig::default()
    };
    thinkthrough_client::Client::new(config).unwrap()
}

#[tokio::test]
async fn t_31_a_head_has_an_end_over_http_2_too() {
    let (town, client) = (Town::new().await, over_http2());
    let url = format!("{}/v1/models", town.gateway);
    for (lines, size, status) in [(100, 10, 200), (140, 10, 431), (20, 9000, 431)] {
        let mut request = thinkthrough_client::Request::new(http::Method::GET, &url).unwrap();
        for at in 0..lines {
            let name = http::HeaderName::try_from(format!("x-{at}")).unwrap();
            request.headers.insert(name, "y".repeat(size).parse().unwrap());
        }
        let answer = client.send(&request).await;
        let said = answer.map(|answer| answer.status.as_u16()).unwrap_or(431);
        assert_eq!(said, status, "{lines} lines of {size}");
    }
}

#[tokio::test]
async fn c_5_t_31_413_is_heard_over_http_2() {
    let (town, client) = (Town::new().await, over_http2());
    let url = format!("{}/v1/chat/completions", town.gateway);
    let body = vec![b'x'; 40 * 1024 * 1024];
    let request = thinkthrough_client::Request::post(&url, body).unwrap();
    assert_eq!(client.send(&request).await.unwrap().status, 413);
}
