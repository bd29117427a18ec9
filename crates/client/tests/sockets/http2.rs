//! HTTP/2 without TLS, by prior knowledge; by agreement over TLS see `secure`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Version;
use http::header::HeaderValue;
use http_body_util::BodyExt;
use thinkthrough_client::{Auth, Client, ClientConfig, ClientError, Request, Secret};
use tokio::sync::mpsc;

use crate::server::{Tap, flow, full, serve, soon, speak_h2};
use crate::{config, drain};

pub(crate) fn client() -> Client {
    Client::new(ClientConfig { http2_prior_knowledge: true, ..config() }).unwrap()
}

#[tokio::test]
async fn a_request_and_its_answer_travel_whole() {
    let (address, _) = serve(|peer, _| {
        speak_h2(peer.stream, 100, |request| async move {
            assert_eq!(request.version(), Version::HTTP_2);
            assert_eq!(request.uri().path(), "/v1/messages");
            assert_eq!(request.headers()["authorization"], "Bearer sk-1");
            assert_eq!(request.headers()["x-a"], "1");
            assert_eq!(request.headers()["content-length"], "2");
            assert!(!request.headers().contains_key("connection"));
            assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), "{}");
            let mut answer = http::Response::new(full("thinking"));
            answer.headers_mut().insert("x-id", HeaderValue::from_static("7"));
            answer
        })
    })
    .await;
    let mut request = Request::post(&format!("http://{address}/v1/messages"), "{}").unwrap();
    request.headers.insert("x-a", HeaderValue::from_static("1"));
    request.headers.insert("connection", HeaderValue::from_static("keep-alive"));
    request.auth = Auth::Bearer(Secret::new("sk-1"));
    let answer = client().send(&request).await.unwrap();
    assert_eq!(
        (answer.version, &answer.headers["x-id"]),
        (Version::HTTP_2, &HeaderValue::from_static("7"))
    );
    assert_eq!(drain(answer).await, (b"thinking".to_vec(), None));
}

#[tokio::test]
async fn many_long_answers_never_wait_for_each_other() {
    let (sender, mut taps) = mpsc::unbounded_channel::<Tap>();
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    let (address, connections) = serve(move |peer, _| {
        let (sender, counted) = (sender.clone(), Arc::clone(&counted));
        speak_h2(peer.stream, 64, move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let (tap, flow) = flow();
            tap.write("thinking");
            sender.send(tap).unwrap();
            async move { http::Response::new(flow) }
        })
    })
    .await;
    let client = client();
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let mut answers = Vec::new();
    for _ in 0..256 {
        let mut answer = soon("the head", client.send(&request)).await.unwrap();
        let first = soon("the first bytes", answer.body.next()).await.unwrap().unwrap();
        assert_eq!(first, "thinking");
        answers.push(answer);
    }
    assert_eq!(open.load(Ordering::SeqCst), 256);
    assert_eq!(connections.load(Ordering::SeqCst), 4);
    while let Ok(tap) = taps.try_recv() {
        drop(tap);
    }
    for answer in answers.drain(..) {
        assert_eq!(drain(answer).await, (Vec::new(), None));
    }
    let next = client.send(&request).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 4, "free places are used again");
    drop(next);
}

#[tokio::test]
async fn a_slow_reader_does_not_hold_up_its_neighbours() {
    const CHUNK: &str = "0123456789abcdef";
    let (address, _) = serve(|peer, _| {
        speak_h2(peer.stream, 100, |request| async move {
            let (tap, flow) = flow();
            let chunks = if request.uri().path() == "/long" { 200_000 } else { 1 };
            for _ in 0..chunks {
                tap.write(CHUNK);
            }
            http::Response::new(flow)
        })
    })
    .await;
    let client = client();
    let long = Request::post(&format!("http://{address}/long"), "{}").unwrap();
    let short = Request::post(&format!("http://{address}/short"), "{}").unwrap();
    let mut unread = Vec::new();
    for _ in 0..8 {
        unread.push(soon("the head", client.send(&long)).await.unwrap());
    }
    for _ in 0..3 {
        let answer = soon("the head", client.send(&short)).await.unwrap();
        let (body, error) = soon("the body", drain(answer)).await;
        assert_eq!((body.as_slice(), error), (CHUNK.as_bytes(), None));
    }
    for answer in unread {
        let (body, error) = soon("the long body", drain(answer)).await;
        assert_eq!((body.len(), error), (200_000 * CHUNK.len(), None));
    }
}

#[tokio::test]
async fn u_009_a_reset_stream_is_an_error_after_what_came() {
    let (sender, mut taps) = mpsc::unbounded_channel::<Tap>();
    let (address, _) = serve(move |peer, _| {
        let sender = sender.clone();
        speak_h2(peer.stream, 100, move |_| {
            let (tap, flow) = flow();
            tap.write("half a thou");
            sender.send(tap).unwrap();
            async move { http::Response::new(flow) }
        })
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let mut answer = client().send(&request).await.unwrap();
    assert_eq!(answer.body.next().await.unwrap().unwrap(), "half a thou");
    taps.recv().await.unwrap().break_off();
    let error = soon("the error", answer.body.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Closed { received: Some(11), .. }), "{error:?}");
    assert!(answer.body.next().await.is_none());
}

#[tokio::test]
async fn u_009_a_lost_connection_is_an_error_after_what_came() {
    let (sender, mut taps) = mpsc::unbounded_channel::<Tap>();
    let (lose, lost) = tokio::sync::oneshot::channel::<()>();
    let lost = std::sync::Mutex::new(Some(lost));
    let (address, _) = serve(move |peer, _| {
        let sender = sender.clone();
        let lost = lost.lock().unwrap().take().unwrap();
        async move {
            let speaking = speak_h2(peer.stream, 100, move |_| {
                let (tap, flow) = flow();
                tap.write("half a thou");
                sender.send(tap).unwrap();
                async move { http::Response::new(flow) }
            });
            tokio::select! {
                () = speaking => {}
                _ = lost => {}
            }
        }
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let mut answer = client().send(&request).await.unwrap();
    assert_eq!(answer.body.next().await.unwrap().unwrap(), "half a thou");
    let _tap = taps.recv().await.unwrap();
    lose.send(()).unwrap();
    let error = soon("the error", answer.body.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Closed { received: Some(11), .. }), "{error:?}");
}
