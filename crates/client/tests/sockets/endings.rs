//! Answers that break off: what came is delivered, and the end is never taken for a whole one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thinkthrough_client::{ClientError, Request};

use crate::server::{serve, soon};
use crate::{client, drain, post};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
    8\r\ndata: a\n\r\n9\r\ndata: bc\n\r\n0\r\n\r\n";
const COUNTED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\ndata: a\ndata: bc\n";
const WHOLE: &[u8] = b"data: a\ndata: bc\n";

/// Sends an answer up to each of its bytes in turn, and then nothing more.
async fn cut_everywhere(answer: &'static str, reset: bool) {
    let next = Arc::new(AtomicUsize::new(0));
    let cut = Arc::clone(&next);
    let (address, _) = serve(move |mut peer, _| {
        let cut = Arc::clone(&cut);
        async move {
            peer.request().await;
            peer.write(answer.get(..cut.load(Ordering::SeqCst)).unwrap()).await;
            if reset {
                peer.reset();
            }
        }
    })
    .await;
    let client = client();
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let head = answer.find("\r\n\r\n").unwrap() + 4;
    for at in 0..answer.len() {
        next.store(at, Ordering::SeqCst);
        let (body, error) = match soon("the head", client.send(&request)).await {
            Err(error) => (None, error),
            Ok(answer) => {
                let (body, error) = soon("the body", drain(answer)).await;
                (Some(body), error.unwrap_or_else(|| panic!("cut at {at} looks whole")))
            }
        };
        let ClientError::Closed { received, .. } = &error else { panic!("{at}: {error:?}") };
        // A reset may overtake what was sent before it, a proper end may not.
        if !reset {
            assert_eq!(body.is_some(), at >= head, "{at}");
        }
        assert_eq!(*received, body.as_ref().map(|body| body.len() as u64), "{at}");
        assert!(WHOLE.starts_with(&body.unwrap_or_default()), "{at}");
    }
    next.store(answer.len(), Ordering::SeqCst);
    if !reset {
        assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), WHOLE);
    }
}

#[tokio::test]
async fn u_010_a_chunked_answer_cut_at_any_byte_is_an_error() {
    cut_everywhere(CHUNKED, false).await;
}

#[tokio::test]
async fn u_010_a_counted_answer_cut_at_any_byte_is_an_error() {
    cut_everywhere(COUNTED, false).await;
}

#[tokio::test]
async fn u_009_a_reset_at_any_byte_is_an_error() {
    cut_everywhere(CHUNKED, true).await;
}

#[tokio::test]
async fn u_007_what_came_before_the_cut_is_delivered() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata: a\n\r\n9\r\ndata",
        )
        .await;
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let answer = client().send(&request).await.unwrap();
    let (body, error) = drain(answer).await;
    assert_eq!(body, b"data: a\ndata");
    assert!(matches!(error, Some(ClientError::Closed { received: Some(12), .. })), "{error:?}");
}

#[tokio::test]
async fn u_010_a_broken_chunk_is_an_error_after_what_came() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata: a\n\r\nxyz\r\n",
        )
        .await;
        peer.gone().await;
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let answer = client().send(&request).await.unwrap();
    let (body, error) = soon("the body", drain(answer)).await;
    assert_eq!(body, b"data: a\n");
    assert!(
        matches!(error, Some(ClientError::Closed { .. } | ClientError::Protocol { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn u_010_bytes_beyond_the_counted_ones_are_not_the_answers() {
    let (address, count) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngoodEVIL").await;
        peer.gone().await;
    })
    .await;
    let client = client();
    for visits in 1..=2 {
        assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"good");
        assert_eq!(count.load(Ordering::SeqCst), visits, "the connection is not used again");
    }
}
