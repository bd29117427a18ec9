//! A caller that goes away: the upstream must notice at once, before the answer and in the middle of it.

use thinkthrough_client::{Client, Request};
use tokio::sync::mpsc;

use crate::http2;
use crate::server::{Tap, flow, serve, soon, speak_h2};

/// A request came, or its client was gone.
enum Sight {
    Request,
    Gone,
}

async fn watching_h1(answer: &'static str) -> (String, mpsc::UnboundedReceiver<Sight>) {
    let (sender, sights) = mpsc::unbounded_channel();
    let (address, _) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            peer.request().await.unwrap();
            peer.write(answer).await;
            sender.send(Sight::Request).unwrap();
            peer.gone().await;
            sender.send(Sight::Gone).unwrap();
        }
    })
    .await;
    (format!("http://{address}/"), sights)
}

async fn expect_request(sights: &mut mpsc::UnboundedReceiver<Sight>) {
    let sight = soon("the request", sights.recv()).await.unwrap();
    assert!(matches!(sight, Sight::Request));
}

/// Sooner than any time limit of the client would have it.
async fn expect_gone(sights: &mut mpsc::UnboundedReceiver<Sight>) {
    let sight = soon("the client going away", sights.recv()).await.unwrap();
    assert!(matches!(sight, Sight::Gone), "a second request");
}

#[tokio::test]
async fn c_001_dropping_a_request_before_its_answer_closes_the_connection() {
    let (url, mut sights) = watching_h1("").await;
    let client = crate::client();
    let request = Request::post(&url, "{}").unwrap();
    tokio::select! {
        _ = client.send(&request) => panic!("there is no answer"),
        () = expect_request(&mut sights) => {}
    }
    expect_gone(&mut sights).await;
}

#[tokio::test]
async fn c_001_dropping_a_body_in_the_middle_closes_the_connection() {
    for answer in [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nthin\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nthin",
        "HTTP/1.1 200 OK\r\n\r\nthin",
    ] {
        let (url, mut sights) = watching_h1(answer).await;
        let request = Request::post(&url, "{}").unwrap();
        let mut answer = crate::client().send(&request).await.unwrap();
        assert_eq!(answer.body.next().await.unwrap().unwrap(), "thin");
        expect_request(&mut sights).await;
        drop(answer);
        expect_gone(&mut sights).await;
    }
}

#[tokio::test]
async fn c_001_dropping_a_body_that_was_never_read_closes_the_connection() {
    let (url, mut sights) = watching_h1("HTTP/1.1 200 OK\r\n\r\n").await;
    let answer = crate::client().send(&Request::post(&url, "{}").unwrap()).await.unwrap();
    expect_request(&mut sights).await;
    drop(answer);
    expect_gone(&mut sights).await;
}

/// An HTTP/2 server that hands each answer's body to the test.
async fn watching_h2() -> (Client, Request, mpsc::UnboundedReceiver<Tap>) {
    let (sender, taps) = mpsc::unbounded_channel();
    let (address, _) = serve(move |peer, _| {
        let sender = sender.clone();
        speak_h2(peer.stream, 100, move |_| {
            let (tap, flow) = flow();
            sender.send(tap).unwrap();
            async move { http::Response::new(flow) }
        })
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    (http2::client(), request, taps)
}

#[tokio::test]
async fn c_001_dropping_a_body_resets_its_stream_and_no_other() {
    let (client, request, mut taps) = watching_h2().await;
    let mut dropped = client.send(&request).await.unwrap();
    let dropped_tap = taps.recv().await.unwrap();
    let mut kept = client.send(&request).await.unwrap();
    let kept_tap = taps.recv().await.unwrap();
    dropped_tap.write("thin");
    assert_eq!(dropped.body.next().await.unwrap().unwrap(), "thin");
    drop(dropped);
    soon("the reset", dropped_tap.gone()).await;
    kept_tap.write("still here");
    assert_eq!(soon("the other", kept.body.next()).await.unwrap().unwrap(), "still here");
}

#[tokio::test]
async fn c_001_dropping_a_request_resets_its_stream_before_the_answer() {
    struct Notice(mpsc::UnboundedSender<Sight>);
    impl Drop for Notice {
        fn drop(&mut self) {
            let _ = self.0.send(Sight::Gone);
        }
    }
    let (sender, mut sights) = mpsc::unbounded_channel();
    let (address, _) = serve(move |peer, _| {
        let sender = sender.clone();
        speak_h2(peer.stream, 100, move |_| {
            let notice = Notice(sender.clone());
            async move {
                notice.0.send(Sight::Request).unwrap();
                std::future::pending::<()>().await;
                let (_tap, flow) = flow();
                http::Response::new(flow)
            }
        })
    })
    .await;
    let client = http2::client();
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    tokio::select! {
        _ = client.send(&request) => panic!("there is no answer"),
        () = expect_request(&mut sights) => {}
    }
    expect_gone(&mut sights).await;
}
