//! HTTP/1.1 as it stands on the wire.

use std::sync::atomic::Ordering;

use http::header::HeaderValue;
use http::{Method, StatusCode, Version};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use thinkthrough_client::{Auth, ClientError, Request, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::server::{full, ok, serve, serve_answer, soon};
use crate::{client, config, drain, post};

#[tokio::test]
async fn a_request_stands_on_the_wire_as_it_was_written() {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let (address, _) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            sender.send(peer.request().await.unwrap()).unwrap();
            peer.write(ok("fine")).await;
        }
    })
    .await;
    let url = format!("http://{address}/v1/chat/completions?beta=1");
    let mut request = Request::post(&url, "{\"a\": 1}").unwrap();
    for (name, value) in
        [("x-z", "1"), ("content-type", "application/json"), ("x-a", "2"), ("x-z", "3")]
    {
        request.headers.append(name, HeaderValue::from_static(value));
    }
    request.auth = Auth::Bearer(Secret::new("sk-1"));
    let answer = client().send(&request).await.unwrap();
    assert_eq!((answer.status, answer.version), (StatusCode::OK, Version::HTTP_11));
    assert_eq!(drain(answer).await, (b"fine".to_vec(), None));
    let seen = seen.recv().await.unwrap();
    assert!(
        seen.head.starts_with("POST /v1/chat/completions?beta=1 HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    assert_eq!(seen.body, b"{\"a\": 1}");
    let mut headers = seen.headers();
    headers.sort_by_key(|line| line.starts_with("host: ") || line.starts_with("content-length: "));
    let agent = format!("user-agent: {}", config().user_agent);
    assert_eq!(
        headers[..7],
        [
            "x-z: 1",
            "x-z: 3",
            "content-type: application/json",
            "x-a: 2",
            agent.as_str(),
            "accept-encoding: identity",
            "authorization: Bearer sk-1"
        ]
    );
    assert!(headers.contains(&format!("host: {address}").as_str()));
    assert!(headers.contains(&"content-length: 8"));
    assert_eq!(headers.len(), 9);
}

#[tokio::test]
async fn a_relay_keeps_the_letter_case_of_names_both_ways() {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let (upstream, _) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            sender.send(peer.request().await.unwrap()).unwrap();
            peer.write("HTTP/1.1 200 OK\r\nX-Request-ID: 7\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(move |caller: http::Request<hyper::body::Incoming>| async move {
            let (head, _) = caller.into_parts();
            let mut request = Request::new(head.method, &format!("http://{upstream}/"))?;
            request.headers = head.headers;
            request.extensions = head.extensions;
            let answer = client().send(&request).await?;
            let mut out = http::Response::new(full(""));
            *out.headers_mut() = answer.headers;
            *out.extensions_mut() = answer.extensions;
            Ok::<_, ClientError>(out)
        });
        hyper::server::conn::http1::Builder::new()
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(stream), service)
            .await
            .unwrap();
    });
    let mut caller = TcpStream::connect(relay).await.unwrap();
    caller
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-CaSe: 1\r\nanthropic-Version: 2\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut text = String::new();
    caller.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("\r\nX-Request-ID: 7\r\n"), "{text}");
    let seen = seen.recv().await.unwrap();
    assert!(seen.headers().contains(&"X-CaSe: 1"), "{}", seen.head);
    assert!(seen.headers().contains(&"anthropic-Version: 2"), "{}", seen.head);
}

#[tokio::test]
async fn interim_answers_chunk_extensions_and_trailers_are_no_part_of_the_body() {
    let (address, _) = serve_answer(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n\
         HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
         4;ext=1\r\nthin\r\n4\r\nking\r\n0\r\nx-sum: 8\r\n\r\n",
    )
    .await;
    let client = client();
    for _ in 0..2 {
        assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"thinking");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_is_whole() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 200 OK\r\n\r\nuntil the end").await;
    })
    .await;
    assert_eq!(post(&client(), &format!("http://{address}/")).await.unwrap(), b"until the end");
}

#[tokio::test]
async fn a_finished_answer_leaves_its_connection_to_the_next_request() {
    let (address, count) = serve_answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let client = client();
    for _ in 0..5 {
        assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"ok");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_replaced_unnoticed() {
    let (sender, mut closed) = mpsc::unbounded_channel();
    let (address, count) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            peer.request().await;
            peer.write(ok("one only")).await;
            // The client lets go of its side when it has noticed.
            peer.stream.shutdown().await.unwrap();
            peer.gone().await;
            sender.send(()).unwrap();
        }
    })
    .await;
    let client = client();
    for _ in 0..5 {
        assert_eq!(post(&client, &format!("http://{address}/")).await.unwrap(), b"one only");
        soon("the kept connection being let go", closed.recv()).await.unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_status_is_an_answer_and_its_body_is_kept_up_to_a_limit() {
    let (address, _) = serve_answer(
        "HTTP/1.1 429 Too Many\r\nretry-after: 3\r\ncontent-length: 12\r\n\r\n{\"error\":42}",
    )
    .await;
    let client = client();
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let answer = client.send(&request).await.unwrap();
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["retry-after"]),
        (429, &HeaderValue::from_static("3"))
    );
    assert_eq!(answer.body.collect_error(1000).await, "{\"error\":42}");
    let answer = client.send(&request).await.unwrap();
    assert_eq!(answer.body.collect_error(8).await, "{\"error\"");
    let answer = client.send(&request).await.unwrap();
    assert_eq!(answer.body.collect_up_to(12).await.unwrap(), "{\"error\":42}");
    let answer = client.send(&request).await.unwrap();
    let error = answer.body.collect_up_to(11).await.unwrap_err();
    assert_eq!(error, ClientError::TooLarge { target: format!("http://{address}/"), limit: 11 });
}

#[tokio::test]
async fn the_body_of_an_error_that_breaks_off_is_kept_as_far_as_it_came() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.write("HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nbecause").await;
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let answer = client().send(&request).await.unwrap();
    assert_eq!(answer.body.collect_error(1000).await, "because");
}

#[tokio::test]
async fn t_002_no_redirect_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let (trap, visits) = serve_answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        let (address, _) = serve(move |mut peer, _| async move {
            peer.request().await;
            let head = format!(
                "HTTP/1.1 {status} Gone\r\nlocation: http://u:canary@{trap}/v2?key=canary\r\n"
            );
            peer.write(head + "content-length: 0\r\n\r\n").await;
        })
        .await;
        let error = post(&client(), &format!("http://{address}/v1")).await.unwrap_err();
        let (target, location) = (format!("http://{address}/v1"), format!("http://{trap}/v2"));
        assert_eq!(error, ClientError::Redirect { target, status, location });
        assert_eq!(visits.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_304_or_a_redirect_without_a_place_is_an_answer() {
    for status in ["304 Not Modified\r\nlocation: /x", "302 Found"] {
        let (address, _) = serve(move |mut peer, _| async move {
            peer.request().await;
            peer.write(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")).await;
        })
        .await;
        let request = Request::new(Method::GET, &format!("http://{address}/")).unwrap();
        assert!(client().send(&request).await.is_ok(), "{status}");
    }
}

#[tokio::test]
async fn u_017_gzip_that_nobody_asked_for_is_undone_event_by_event() {
    use flate2::write::GzEncoder;
    use std::io::Write;

    let (go, gone) = mpsc::unbounded_channel::<()>();
    let gone = std::sync::Arc::new(tokio::sync::Mutex::new(gone));
    let (address, _) = serve(move |mut peer, _| {
        let gone = std::sync::Arc::clone(&gone);
        async move {
            let seen = peer.request().await.unwrap();
            assert!(seen.headers().contains(&"accept-encoding: identity"));
            peer.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n").await;
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
            for event in ["data: one\n\n", "data: two\n\n"] {
                encoder.write_all(event.as_bytes()).unwrap();
                encoder.flush().unwrap();
                let packed = std::mem::take(encoder.get_mut());
                peer.write(packed).await;
                gone.lock().await.recv().await;
            }
            peer.write(encoder.finish().unwrap()).await;
        }
    })
    .await;
    let request = Request::post(&format!("http://{address}/"), "{}").unwrap();
    let mut answer = client().send(&request).await.unwrap();
    assert!(!answer.headers.contains_key("content-encoding"));
    for event in ["data: one\n\n", "data: two\n\n"] {
        let chunk = soon("the event", answer.body.next()).await.unwrap().unwrap();
        assert_eq!(chunk, event);
        go.send(()).unwrap();
    }
    assert!(soon("the end", answer.body.next()).await.is_none());
}

#[tokio::test]
async fn u_017_truncated_gzip_and_unknown_encodings_are_errors() {
    let (address, _) = serve(|mut peer, number| async move {
        peer.request().await;
        let encoding = if number == 0 { "gzip" } else { "br" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: 10\r\n\r\n"
        );
        peer.write(head).await;
        peer.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff").await;
    })
    .await;
    let url = format!("http://{address}/");
    let error = post(&client(), &url).await.unwrap_err();
    assert!(matches!(error, ClientError::Closed { received: Some(10), .. }), "{error:?}");
    let error = post(&client(), &url).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Protocol { detail, .. } if detail.contains("`br`")),
        "{error:?}"
    );
}

#[tokio::test]
async fn what_is_not_http_is_named_so() {
    for answer in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +3\r\n\r\nabc",
        "\0\0\0\r\n\r\n",
    ] {
        let (address, _) = serve_answer(answer).await;
        let (address2, _) = serve(move |mut peer, _| async move {
            peer.request().await;
            peer.write(answer).await;
        })
        .await;
        for address in [address, address2] {
            let error = post(&client(), &format!("http://{address}/")).await.unwrap_err();
            assert!(matches!(error, ClientError::Protocol { .. }), "{answer:?} {error:?}");
        }
    }
}
