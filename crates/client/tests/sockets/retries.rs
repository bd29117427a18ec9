//! Further tries, over real connections; the arithmetic is tested where it stands.

use std::sync::atomic::Ordering;
use std::time::Duration;

use thinkthrough_client::{ClientError, Failure, Request, Response, RetryPolicy, Transport};

use crate::server::{ok, refusing, serve};
use crate::{client, drain};

const FAST: RetryPolicy = RetryPolicy {
    max_retries: 2,
    base: Duration::from_millis(10),
    max_backoff: Duration::from_millis(20),
    max_wait: Duration::from_secs(2),
};

/// Posts with retries and gives the outcome and what was told of each retry.
async fn post(url: &str) -> (Result<Response, ClientError>, Vec<String>) {
    let mut told = Vec::new();
    let request = Request::post(url, "{}").unwrap();
    let outcome = Transport::Http(client())
        .send_with_retry(&request, &FAST, &mut |retry| {
            let failure = match retry.failure {
                Failure::Status(status) => status.as_u16().to_string(),
                Failure::Error(ClientError::Closed { .. }) => "closed".to_owned(),
                Failure::Error(ClientError::Connect { .. }) => "connect".to_owned(),
                Failure::Error(other) => format!("{other:?}"),
            };
            told.push(format!("{} {failure}", retry.attempt));
        })
        .await;
    (outcome, told)
}

/// Answers each connection with the next of some answers, the last one for ever.
async fn answering(answers: &'static [&'static str]) -> (String, crate::server::Count) {
    let (address, count) = serve(move |mut peer, number| async move {
        let seen = peer.request().await.unwrap();
        assert_eq!(seen.body, b"{}");
        let answer = answers[number.min(answers.len() - 1)];
        peer.write(if answer.is_empty() { String::new() } else { answer.to_owned() }).await;
    })
    .await;
    (format!("http://{address}/"), count)
}

#[tokio::test]
async fn u_006_passing_failures_are_tried_again_and_told() {
    let (address, count) = serve(|mut peer, number| async move {
        peer.request().await.unwrap();
        match number {
            0 => peer.write("HTTP/1.1 529 Overloaded\r\ncontent-length: 9\r\n\r\noverload!").await,
            1 => {}
            _ => peer.write(ok("at last")).await,
        }
    })
    .await;
    let (outcome, told) = post(&format!("http://{address}/")).await;
    assert_eq!(told, ["1 529", "2 closed"]);
    assert_eq!(drain(outcome.unwrap()).await, (b"at last".to_vec(), None));
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_failure_that_says_that_it_lasts_is_handed_on_with_its_body() {
    const FAILURE: &str = "HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\nit lasts!";
    for (lasting, tries) in [(Some("lasts"), 1), (Some("passes"), 3), (None, 3)] {
        let (url, count) = answering(&[FAILURE]).await;
        let mut request = Request::post(&url, "{}").unwrap();
        request.lasting = lasting.map(|word| match word {
            "lasts" => (|body: &[u8]| body == b"it lasts!") as thinkthrough_client::Lasting,
            _ => |_: &[u8]| false,
        });
        let answer = Transport::Http(client()).send_with_retry(&request, &FAST, &mut |_| {}).await;
        assert_eq!(drain(answer.unwrap()).await, (b"it lasts!".to_vec(), None), "{lasting:?}");
        assert_eq!(count.load(Ordering::SeqCst), tries, "{lasting:?}");
    }
}

#[tokio::test]
async fn u_005_the_last_answer_is_handed_on_when_the_tries_are_used_up() {
    let (url, count) =
        answering(&["HTTP/1.1 429 No\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nslow"]).await;
    let (outcome, told) = post(&url).await;
    assert_eq!(told, ["1 429", "2 429"]);
    let answer = outcome.unwrap();
    assert_eq!(
        (answer.status.as_u16(), answer.headers["retry-after"].as_bytes()),
        (429, b"0".as_slice())
    );
    assert_eq!(drain(answer).await, (b"slow".to_vec(), None));
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn u_005_a_named_wait_is_kept_and_one_that_is_too_long_is_handed_on() {
    let (url, _) = answering(&[
        "HTTP/1.1 429 No\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ])
    .await;
    let started = std::time::Instant::now();
    let (outcome, told) = post(&url).await;
    assert_eq!((outcome.unwrap().status.as_u16(), told.len()), (200, 1));
    assert!(started.elapsed() >= Duration::from_secs(1));
    let (url, count) =
        answering(&["HTTP/1.1 429 No\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n"]).await;
    let (outcome, told) = post(&url).await;
    assert_eq!((outcome.unwrap().status.as_u16(), told.len()), (429, 0));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn lasting_failures_are_not_tried_again() {
    let (url, count) = answering(&["HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n"]).await;
    let (outcome, told) = post(&url).await;
    assert_eq!((outcome.unwrap().status.as_u16(), told.len()), (400, 0));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn u_001_a_server_that_is_not_there_is_tried_again_and_then_named() {
    let (address, _held) = refusing();
    let (outcome, told) = post(&format!("http://{address}/")).await;
    assert_eq!(told, ["1 connect", "2 connect"]);
    assert!(matches!(outcome, Err(ClientError::Connect { .. })));
}

#[tokio::test]
async fn u_006_nothing_is_tried_again_once_an_answer_began() {
    let (url, count) = answering(&["HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"]).await;
    let (outcome, told) = post(&url).await;
    let (body, error) = drain(outcome.unwrap()).await;
    assert_eq!((body.as_slice(), told.len()), (b"half".as_slice(), 0));
    assert!(matches!(error, Some(ClientError::Closed { received: Some(4), .. })), "{error:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
