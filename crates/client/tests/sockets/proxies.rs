//! Proxies that speak HTTP: tunnels for TLS, absolute form for plain requests.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use thinkthrough_client::{
    Client, ClientConfig, ClientError, Phase, ProxyRules, Request, Timeouts,
};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::authority::Authority;
use crate::server::{Peer, Seen, full, ok, refusing, serve, serve_answer, speak_h2};
use crate::{config, drain, post};

/// A proxy that grants every tunnel, always to the same server, and tells what it was asked.
pub(crate) async fn tunnelling(to: SocketAddr) -> (SocketAddr, mpsc::UnboundedReceiver<Seen>) {
    let (sender, seen) = mpsc::unbounded_channel();
    let (address, _) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            sender.send(peer.request().await.unwrap()).unwrap();
            peer.write("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n").await;
            join(peer.stream, to).await;
        }
    })
    .await;
    (address, seen)
}

/// Copies bytes both ways until both ends are done.
pub(crate) async fn join<S>(mut stream: S, to: SocketAddr)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let mut server = TcpStream::connect(to).await.unwrap();
    // Either end may go away at any time.
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
}

/// A TLS server for `api.test`, a name that only a proxy can find.
pub(crate) async fn hidden_server(authority: &Authority) -> SocketAddr {
    let acceptor = authority.server(&["api.test"], &["http/1.1"]);
    let (address, _) = serve(move |peer, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut peer = Peer::new(acceptor.accept(peer.stream).await.unwrap());
            let seen = peer.request().await.unwrap();
            assert!(seen.head.starts_with("POST /v1 HTTP/1.1"), "{}", seen.head);
            assert!(!seen.head.contains("proxy-authorization"), "{}", seen.head);
            peer.write(ok("through")).await;
        }
    })
    .await;
    address
}

pub(crate) fn through(proxy: &str, authority: Option<&Authority>) -> Client {
    let proxy = ProxyRules::single(proxy, "direct.test, 10.0.0.0/8").unwrap();
    Client::new(ClientConfig { proxy, ca_file: authority.map(Authority::file), ..config() })
        .unwrap()
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_with_the_proxys_own_credential() {
    let authority = Authority::new();
    let (proxy, mut seen) = tunnelling(hidden_server(&authority).await).await;
    let client = through(&format!("http://bob:pw@{proxy}"), Some(&authority));
    assert_eq!(post(&client, "https://api.test/v1").await.unwrap(), b"through");
    let seen = seen.recv().await.unwrap();
    assert_eq!(
        seen.head,
        "CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\nproxy-authorization: Basic Ym9iOnB3\r\n\r\n"
    );
}

#[tokio::test]
async fn a_proxy_may_itself_be_reached_by_tls() {
    let authority = Authority::new();
    let server = hidden_server(&authority).await;
    let acceptor = authority.server(&["localhost"], &[]);
    let (proxy, _) = serve(move |peer, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut peer = Peer::new(acceptor.accept(peer.stream).await.unwrap());
            let seen = peer.request().await.unwrap();
            assert!(seen.head.starts_with("CONNECT api.test:8443 "), "{}", seen.head);
            peer.write("HTTP/1.0 200 OK\r\n\r\n").await;
            join(peer.stream, server).await;
        }
    })
    .await;
    let client = through(&format!("https://localhost:{}", proxy.port()), Some(&authority));
    assert_eq!(post(&client, "https://api.test:8443/v1").await.unwrap(), b"through");
}

#[tokio::test]
async fn plain_requests_go_in_absolute_form() {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let (proxy, count) = serve(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            while let Some(request) = peer.request().await {
                sender.send(request).unwrap();
                peer.write(ok("relayed")).await;
            }
        }
    })
    .await;
    let client = through(&format!("bob:pw@{proxy}"), None);
    for _ in 0..2 {
        assert_eq!(post(&client, "http://api.test:8000/v1?a=1").await.unwrap(), b"relayed");
        let seen = seen.recv().await.unwrap();
        assert!(
            seen.head.starts_with("POST http://api.test:8000/v1?a=1 HTTP/1.1\r\n"),
            "{}",
            seen.head
        );
        assert!(seen.headers().contains(&"proxy-authorization: Basic Ym9iOnB3"));
        assert!(seen.headers().contains(&"host: api.test:8000"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn plain_http2_goes_through_a_tunnel() {
    let (server, _) =
        serve(|peer, _| speak_h2(peer.stream, 100, |_| async { http::Response::new(full("h2")) }))
            .await;
    let (proxy, mut seen) = tunnelling(server).await;
    let proxy = ProxyRules::single(&proxy.to_string(), "").unwrap();
    let config = ClientConfig { proxy, http2_prior_knowledge: true, ..config() };
    let client = Client::new(config).unwrap();
    assert_eq!(post(&client, "http://api.test/v1").await.unwrap(), b"h2");
    assert!(seen.recv().await.unwrap().head.starts_with("CONNECT api.test:80 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn excepted_and_loopback_hosts_are_asked_directly() {
    let (proxy, visits) = serve_answer("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n").await;
    let (server, _) = serve_answer("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ndirect").await;
    let client = through(&format!("http://{proxy}"), None);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", server.port());
        assert_eq!(post(&client, &url).await.unwrap(), b"direct");
    }
    // The name has no address, so only a direct try fails to find one.
    let long = "d".repeat(64);
    let error = post(&client, &format!("http://{long}.direct.test/")).await.unwrap_err();
    assert!(matches!(error, ClientError::Dns { .. }), "{error:?}");
    assert_eq!(visits.load(Ordering::SeqCst), 0);
    let request = Request::post(&format!("http://{long}.test/"), "{}").unwrap();
    let answer = client.send(&request).await.unwrap();
    assert_eq!(answer.status, 502);
    assert_eq!(drain(answer).await, (Vec::new(), None));
}

#[tokio::test]
async fn a_refusing_proxy_is_named_with_its_reason() {
    let cases = [
        ("HTTP/1.1 407 Authenticate\r\ncontent-length: 0\r\n\r\n", "user name and password", false),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "answered 403 when asked for `api.test:443`", false),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nno!", "answered 502", true),
        ("SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP", false),
        ("", "closed the connection", true),
    ];
    for (answer, reason, transient) in cases {
        let (proxy, _) = serve(move |mut peer, _| async move {
            peer.request().await;
            peer.write(answer).await;
        })
        .await;
        let error =
            post(&through(&format!("http://bob:canary@{proxy}"), None), "https://api.test/v1")
                .await
                .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, ClientError::Proxy { .. }), "{error:?}");
        assert!(text.contains(reason) && text.contains(&format!("`http://{proxy}`")), "{text}");
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(error.is_transient(), transient, "{text}");
    }
}

#[tokio::test]
async fn a_dead_proxy_is_told_from_a_dead_server() {
    let (proxy, _) = serve(|_, _| async {}).await;
    let (dead, _held) = refusing();
    assert_ne!(proxy, dead);
    let error =
        post(&through(&format!("http://{dead}"), None), "https://api.test/").await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ClientError::Proxy { transient: true, .. }), "{error:?}");
    assert!(text.contains("cannot be reached") && !text.contains("api.test"), "{text}");
}

#[tokio::test]
async fn a_silent_proxy_runs_into_the_connect_limit() {
    let (proxy, _) = serve(|mut peer, _| async move {
        peer.request().await;
        peer.gone().await;
    })
    .await;
    let limit = Duration::from_millis(200);
    let proxy = ProxyRules::single(&format!("http://{proxy}"), "").unwrap();
    let timeouts = Timeouts { connect: limit, ..crate::PATIENT };
    let client = Client::new(ClientConfig { proxy, timeouts, ..config() }).unwrap();
    let error = post(&client, "https://api.test/v1").await.unwrap_err();
    // A connection belongs to the host, so the path is no part of the message.
    let target = "https://api.test/".to_owned();
    assert_eq!(error, ClientError::Timeout { target, phase: Phase::Proxy, after: limit });
}
