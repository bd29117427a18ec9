//! TLS: who is trusted, who is not, and how the refusal reads.

use std::net::SocketAddr;

use http::Version;
use thinkthrough_client::{Client, ClientConfig, ClientError, Request};
use tokio_rustls::TlsAcceptor;

use crate::authority::{Authority, TempFile};
use crate::server::{Peer, full, ok, serve, speak_h2};
use crate::{config, drain, post};

/// Serves one HTTP/1.1 answer for each TLS connection.
async fn serve_tls(acceptor: TlsAcceptor) -> SocketAddr {
    let (address, _) = serve(move |peer, _| {
        let acceptor = acceptor.clone();
        async move {
            // A client that refuses the certificate ends the handshake, which is what some tests are about.
            let Ok(stream) = acceptor.accept(peer.stream).await else { return };
            let mut peer = Peer::new(stream);
            while peer.request().await.is_some() {
                peer.write(ok("trusted")).await;
            }
        }
    })
    .await;
    address
}

fn refusal(error: &ClientError) -> String {
    let text = error.to_string();
    assert!(matches!(error, ClientError::Tls { .. }), "{error:?}");
    assert!(text.contains("`localhost`"), "{text}");
    text
}

#[tokio::test]
async fn an_own_authority_is_trusted_beside_the_built_in_ones() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&["localhost"], &["http/1.1"])).await;
    let url = format!("https://localhost:{}/", address.port());
    assert_eq!(post(&authority.client(), &url).await.unwrap(), b"trusted");
    let by_address = serve_tls(authority.server(&["127.0.0.1"], &[])).await;
    let url = format!("https://{by_address}/");
    assert_eq!(post(&authority.client(), &url).await.unwrap(), b"trusted");
}

#[tokio::test]
async fn the_server_chooses_http2_when_it_can() {
    let authority = Authority::new();
    let acceptor = authority.server(&["localhost"], &["h2", "http/1.1"]);
    let (address, _) = serve(move |peer, _| {
        let acceptor = acceptor.clone();
        async move {
            let stream = acceptor.accept(peer.stream).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
            speak_h2(stream, 100, |_| async { http::Response::new(full("h2")) }).await;
        }
    })
    .await;
    let url = format!("https://localhost:{}/", address.port());
    let request = Request::post(&url, "{}").unwrap();
    for client in [
        authority.client(),
        Client::new(ClientConfig {
            ca_file: Some(authority.file()),
            http2_prior_knowledge: true,
            ..config()
        })
        .unwrap(),
    ] {
        let answer = client.send(&request).await.unwrap();
        assert_eq!(answer.version, Version::HTTP_2);
        assert_eq!(drain(answer).await, (b"h2".to_vec(), None));
    }
}

#[tokio::test]
async fn t_032_an_unknown_authority_is_refused_and_the_remedy_named() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&["localhost"], &[])).await;
    let url = format!("https://localhost:{}/", address.port());
    for client in [crate::client(), Authority::new().client()] {
        let text = refusal(&post(&client, &url).await.unwrap_err());
        assert!(text.contains("unknown authority") && text.contains("`client.ca_file`"), "{text}");
    }
}

#[tokio::test]
async fn t_032_a_wrong_name_and_an_expired_certificate_are_refused() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&["other.test"], &[])).await;
    let url = format!("https://localhost:{}/", address.port());
    let text = refusal(&post(&authority.client(), &url).await.unwrap_err());
    assert!(text.contains("belongs to another name"), "{text}");
    let address = serve_tls(authority.expired_server("localhost")).await;
    let url = format!("https://localhost:{}/", address.port());
    let text = refusal(&post(&authority.client(), &url).await.unwrap_err());
    assert!(text.contains("has expired"), "{text}");
}

#[tokio::test]
async fn a_server_without_tls_is_named_so() {
    let (address, _) = serve(|mut peer, _| async move {
        peer.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        peer.gone().await;
    })
    .await;
    let url = format!("https://localhost:{}/", address.port());
    let text = refusal(&post(&crate::client(), &url).await.unwrap_err());
    assert!(text.contains("does not speak TLS") && text.contains("`http://`"), "{text}");
}

#[test]
fn an_unusable_authority_file_is_named_with_its_fault() {
    let empty = TempFile::new("nothing here\n");
    let broken = TempFile::new("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n");
    let foreign = TempFile::new("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    for (path, fault) in [
        (empty.path(), "holds no certificate"),
        (broken.path(), "is not valid PEM"),
        (foreign.path(), "holds an unusable certificate"),
        (std::path::Path::new("/nowhere/ca.pem"), "cannot be read"),
    ] {
        let config = ClientConfig { ca_file: Some(path.to_owned()), ..config() };
        let error = Client::new(config).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, ClientError::Config(_)), "{error:?}");
        assert!(text.contains(fault) && text.contains(path.to_str().unwrap()), "{text}");
        assert!(text.starts_with("`client.ca_file`"), "{text}");
    }
}
