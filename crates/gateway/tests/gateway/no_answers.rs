//! Upstreams whose answer has the status of one and is none.

use crate::naive::{Naive, read};
use crate::upstreams::{CALLERS, Close, ENDS, Scripted, client, told};
use serde_json::json;

#[tokio::test]
async fn u_16_a_page_of_something_in_between_is_no_answer() {
    let page = "<html><body>Sign in to the network</body></html>";
    let upstream = Scripted::start(vec![value("text/html", page)], Close::Fin).await;
    let town = upstream.town().await;
    for api in CALLERS {
        for stream in [true, false] {
            let said = client(api).streams(stream).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 502, "{api} {stream}: {}", said.text());
            assert!(said.text().contains("it is a web page"), "{api} {stream}: {}", said.text());
        }
    }
    assert_eq!(town.memory.records(), 0);
}

/// A whole answer with this body and media type.
fn value(media: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + body).into_bytes()
}

#[tokio::test]
async fn u_16_an_error_that_says_200_is_an_error() {
    let body = json!({"error": {"message": "the model is overloaded", "type": "overloaded"}});
    let answer = value("application/json; charset=utf-8", &body.to_string());
    let upstream = Scripted::start(vec![answer], Close::Fin).await;
    let town = upstream.town().await;
    for api in CALLERS {
        for stream in [true, false] {
            let said = client(api).streams(stream).ask(&town, &town.gateway, &[]).await;
            assert_eq!(said.status, 502, "{api} {stream}: {}", said.text());
            assert!(said.text().contains("the model is overloaded"), "{api} {stream}");
        }
    }
    assert_eq!(town.memory.records(), 0);
}

#[tokio::test]
async fn u_16_one_value_in_place_of_a_stream_is_translated_or_refused() {
    let message = json!({"role": "assistant", "reasoning_content": "I look.", "content": "Here."});
    let body = json!({"id": "1", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let answer = value("application/json", &body.to_string());
    let upstream = Scripted::start(vec![answer], Close::Fin).await;
    let town = upstream.town().await;
    let said = client(CALLERS[0]).ask(&town, &town.gateway, &[]).await;
    assert_eq!(said.status, 502, "{}", said.text());
    assert!(said.text().contains("one JSON value and no stream"), "{}", said.text());
    for (api, end) in CALLERS.into_iter().zip(ENDS).skip(1) {
        let said = client(api).ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 200, "{api}: {}", said.text());
        let text = said.text();
        assert!(text.contains(end) && text.contains("I look.") && text.contains("Here."), "{text}");
    }
}

#[tokio::test]
async fn u_8_an_answer_with_nothing_in_it_is_an_error() {
    for body in ["", ": nothing yet\n\n"] {
        for ((said, kept), api) in told(body.as_bytes(), Close::Fin).await.into_iter().zip(CALLERS)
        {
            let is_told = read(api, &said, true).upstream_error().is_some();
            assert!(is_told && !kept, "{api} {body:?}: {}", said.text());
            let looks_whole = ENDS.iter().any(|end| said.text().contains(end));
            assert!(!looks_whole, "{api} {body:?}: {}", said.text());
        }
    }
    // On the model's own API, too, whichever that is.
    for (api, model) in [
        ("messages", "anthropic-manual"),
        ("responses", "responses-stateless"),
        ("generate-content", "gemini-3"),
    ] {
        for body in ["", ": nothing yet\n\n"] {
            let upstream =
                Scripted::start(vec![value("text/event-stream", body)], Close::Fin).await;
            let town = upstream.town().await;
            let mut client = Naive::new(api, model, true);
            client.user("Is anybody there?");
            let said = client.ask(&town, &town.gateway, &[]).await;
            let answer = read(api, &said, true);
            assert!(answer.upstream_error().is_some(), "{api} {body:?}: {}", said.text());
            assert_eq!(town.memory.records(), 0, "{api}");
        }
    }
    let upstream = Scripted::start(vec![value("application/json", "")], Close::Fin).await;
    let town = upstream.town().await;
    for api in &CALLERS {
        let said = client(api).streams(false).ask(&town, &town.gateway, &[]).await;
        assert_eq!(said.status, 502, "{api}: {}", said.text());
    }
}
