//! Time limits: silence is limited, thinking is not.

use std::time::{Duration, Instant};

use thinkthrough_client::{Client, ClientConfig, ClientError, Phase, Request, Timeouts};
use tokio::sync::oneshot;

use crate::server::{refusing, serve, soon};
use crate::{PATIENT, client, config, drain, post};

const LIMIT: Duration = Duration::from_millis(300);

fn limited(timeouts: Timeouts) -> Client {
    Client::new(ClientConfig { timeouts, ..config() }).unwrap()
}

fn phase(error: &ClientError) -> Phase {
    let ClientError::Timeout { phase, after, .. } = error else { panic!("{error:?}") };
    assert_eq!(*after, LIMIT);
    *phase
}

#[tokio::test]
async fn u_001_a_refused_connection_is_an_error_at_once() {
    let (address, _held) = refusing();
    let url = format!("http://{address}/v1");
    let error = soon("the refusal", post(&client(), &url)).await.unwrap_err();
    assert!(matches!(error, ClientError::Connect { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("`http://{address}/")), "{error}");
}

#[tokio::test]
async fn u_001_a_name_without_an_address_is_named() {
    let host = format!("{}.test", "x".repeat(64));
    let error = post(&client(), &format!("https://{host}/v1")).await.unwrap_err();
    assert!(matches!(&error, ClientError::Dns { host: named, .. } if *named == host), "{error:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn u_001_a_connection_that_nobody_takes_runs_into_the_connect_limit() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody accepts, so the queue fills up and further connections get no answer.
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let connecting = tokio::net::TcpStream::connect(address);
        waiting.push(tokio::time::timeout(Duration::from_millis(50), connecting).await);
    }
    let client = limited(Timeouts { connect: LIMIT, ..PATIENT });
    let url = format!("http://{address}/");
    let error = soon("the limit", post(&client, &url)).await.unwrap_err();
    assert_eq!(phase(&error), Phase::Connect);
    assert!(error.to_string().contains("`client.connect_timeout`"), "{error}");
}

#[tokio::test]
async fn u_001_a_handshake_that_nobody_answers_runs_into_the_connect_limit() {
    let (address, _) = serve(|mut peer, _| async move { peer.gone().await }).await;
    let client = limited(Timeouts { connect: LIMIT, ..PATIENT });
    let error = post(&client, &format!("https://{address}/")).await.unwrap_err();
    assert_eq!(phase(&error), Phase::Tls);
}

#[tokio::test]
async fn u_002_no_first_byte_is_an_error_and_the_server_is_left() {
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"] {
        let (gone, left) = oneshot::channel();
        let gone = std::sync::Mutex::new(Some(gone));
        let (address, _) = serve(move |mut peer, _| {
            let gone = gone.lock().unwrap().take().unwrap();
            async move {
                peer.request().await;
                peer.write(head).await;
                peer.gone().await;
                gone.send(()).unwrap();
            }
        })
        .await;
        let client = limited(Timeouts { first_byte: LIMIT, ..PATIENT });
        let started = Instant::now();
        let error = post(&client, &format!("http://{address}/")).await.unwrap_err();
        assert_eq!(phase(&error), Phase::FirstByte, "{head}");
        assert!(!error.is_transient());
        assert!(started.elapsed() >= LIMIT);
        soon("the server being left", left).await.unwrap();
    }
}

#[tokio::test]
async fn the_first_byte_may_take_longer_than_later_ones() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n").await;
        tokio::time::sleep(LIMIT * 2).await;
        peer.write("thought").await;
    })
    .await;
    let client = limited(Timeouts { idle: LIMIT, ..PATIENT });
    assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"thought");
}

#[tokio::test]
async fn u_003_a_stall_is_an_error_after_what_came_and_the_server_is_left() {
    let (gone, left) = oneshot::channel();
    let gone = std::sync::Mutex::new(Some(gone));
    let (address, _) = serve(move |mut peer, _| {
        let gone = gone.lock().unwrap().take().unwrap();
        async move {
            peer.request().await;
            peer.write("HTTP/1.1 200 OK\r\n\r\n").await;
            // The client begins to wait under the longer limit of the first byte.
            tokio::time::sleep(Duration::from_millis(50)).await;
            peer.write("data: half\n\n").await;
            peer.gone().await;
            gone.send(()).unwrap();
        }
    })
    .await;
    let client = limited(Timeouts { idle: LIMIT, ..PATIENT });
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let mut answer = client.send(&request).await.unwrap();
    assert_eq!(answer.body.next().await.unwrap().unwrap(), "data: half\n\n");
    let error = soon("the error", answer.body.next()).await.unwrap().unwrap_err();
    assert_eq!(phase(&error), Phase::Idle);
    // The server is left although the body is still held.
    soon("the server being left", left).await.unwrap();
    assert!(answer.body.next().await.is_none());
}

#[tokio::test]
async fn u_003_keep_alive_bytes_count_as_life() {
    const PINGS: usize = 24;
    // Much longer than the pause between two of them, and shorter than all pauses together.
    let idle = Duration::from_secs(3);
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\n\r\n").await;
        for _ in 0..PINGS {
            peer.write(": ping\n\n").await;
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        peer.write("data: done\n\n").await;
    })
    .await;
    let client = limited(Timeouts { first_byte: idle, idle, ..PATIENT });
    let started = Instant::now();
    let answer =
        client.send(&Request::post(&format!("http://{address}/"), "{}").unwrap()).await.unwrap();
    let (body, error) = drain(answer).await;
    assert_eq!((body.len(), error), (PINGS * 8 + 12, None));
    assert!(started.elapsed() > idle, "the whole took longer than any silence may");
}

#[tokio::test]
async fn u_004_a_dripping_answer_arrives_whole() {
    const TEXT: &[u8] = b"data: {\"reasoning_content\":\"drip\"}\n\n";
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", TEXT.len())).await;
        for byte in TEXT {
            peer.write([*byte]).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(post(&client(), &format!("http://{address}/")).await.unwrap(), TEXT);
}

#[tokio::test]
async fn a_limit_without_end_is_possible() {
    let (address, _) =
        crate::server::serve_answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let never = Duration::MAX;
    let client = limited(Timeouts { connect: PATIENT.connect, first_byte: never, idle: never });
    assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"ok");
}
