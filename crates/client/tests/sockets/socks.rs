//! Proxies that speak SOCKS 5.

use std::net::SocketAddr;

use thinkthrough_client::ClientError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::authority::Authority;
use crate::post;
use crate::proxies::{hidden_server, join, through};
use crate::server::{ok, serve};

/// A proxy that asks for a login if `login` is set, and tells the address that it was asked for.
async fn socks(
    to: SocketAddr,
    login: Option<&'static [u8]>,
    reply: &'static [u8],
) -> (SocketAddr, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (sender, asked) = mpsc::unbounded_channel();
    let (address, _) = serve(move |peer, _| {
        let sender = sender.clone();
        async move {
            let mut stream = peer.stream;
            let mut greeting = vec![0; if login.is_some() { 4 } else { 3 }];
            stream.read_exact(&mut greeting).await.unwrap();
            stream.write_all(&[5, if login.is_some() { 2 } else { 0 }]).await.unwrap();
            if let Some(login) = login {
                let mut seen = vec![0; login.len()];
                stream.read_exact(&mut seen).await.unwrap();
                let verdict = u8::from(seen != login);
                stream.write_all(&[1, verdict]).await.unwrap();
                if verdict != 0 {
                    return;
                }
            }
            let mut head = [0; 5];
            stream.read_exact(&mut head).await.unwrap();
            let rest = if head[3] == 3 { usize::from(head[4]) + 2 } else { 3 + 2 };
            let mut tail = vec![0; rest];
            stream.read_exact(&mut tail).await.unwrap();
            sender.send([&head[3..], &tail].concat()).unwrap();
            stream.write_all(reply).await.unwrap();
            join(stream, to).await;
        }
    })
    .await;
    (address, asked)
}

const GRANTED: &[u8] = &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80];

#[tokio::test]
async fn names_are_looked_up_by_the_proxy() {
    let authority = Authority::new();
    let (proxy, mut asked) = socks(hidden_server(&authority).await, None, GRANTED).await;
    let client = through(&format!("socks5h://{proxy}"), Some(&authority));
    assert_eq!(post(&client, "https://api.test/v1").await.unwrap(), b"through");
    assert_eq!(asked.recv().await.unwrap(), b"\x03\x08api.test\x01\xbb");
}

#[tokio::test]
async fn a_login_is_sent_when_the_url_has_one_and_plain_requests_are_tunnelled_too() {
    let (server, _) = serve(|mut peer, _| async move {
        let seen = peer.request().await.unwrap();
        assert!(seen.head.starts_with("POST /v1 HTTP/1.1"), "{}", seen.head);
        peer.write(ok("plain")).await;
    })
    .await;
    let named: &[u8] = &[5, 0, 0, 3, 2, b'p', b'x', 0, 80];
    let (proxy, mut asked) = socks(server, Some(b"\x01\x03bob\x02pw"), named).await;
    let client = through(&format!("socks5://bob:pw@{proxy}"), None);
    assert_eq!(post(&client, "http://192.0.2.7:8000/v1").await.unwrap(), b"plain");
    assert_eq!(asked.recv().await.unwrap(), b"\x01\xc0\x00\x02\x07\x1f\x40");
}

#[tokio::test]
async fn refusals_are_named() {
    let nowhere: SocketAddr = "127.0.0.1:9".parse().unwrap();
    type Bytes = &'static [u8];
    let cases: [(Option<Bytes>, Bytes, &str, bool); 5] = [
        (Some(b"\x01\x03bob\x02no"), GRANTED, "refuses the user name and password", false),
        (None, &[5, 2, 0, 1], "does not allow `api.test`", false),
        (None, &[5, 4, 0, 1], "cannot reach `api.test`", true),
        (None, &[5, 5, 0, 1], "was refused by `api.test`", true),
        (None, &[9, 9, 9, 9], "does not speak SOCKS 5", false),
    ];
    for (login, reply, reason, transient) in cases {
        let (proxy, _asked) = socks(nowhere, login, reply).await;
        let user = if login.is_some() { "bob:pw@" } else { "" };
        let client = through(&format!("socks5://{user}{proxy}"), None);
        let error = post(&client, "https://api.test/v1").await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, ClientError::Proxy { .. }), "{error:?}");
        assert!(text.contains(reason), "{text}");
        assert_eq!(error.is_transient(), transient, "{text}");
    }
}
