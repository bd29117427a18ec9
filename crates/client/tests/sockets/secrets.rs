//! No credential in any message, whatever goes wrong.

use std::time::Duration;

use thinkthrough_client::{Auth, Client, ClientConfig, ProxyRules, Request, Secret, Timeouts};

use crate::config;
use crate::server::{refusing, serve, serve_answer};

const CANARY: &str = "canary-c0ffee";

fn requests(url: &str) -> Vec<Request> {
    let secret = Secret::new(CANARY);
    let auths = [
        Auth::Bearer(secret.clone()),
        Auth::Header { name: http::HeaderName::from_static("x-api-key"), secret: secret.clone() },
        Auth::Query { name: "key".into(), secret },
        Auth::None,
    ];
    auths
        .into_iter()
        .map(|auth| {
            let mut request = Request::post(&format!("{url}?key={CANARY}"), CANARY).unwrap();
            request.headers.insert("x-custom", CANARY.parse().unwrap());
            request.auth = auth;
            request
        })
        .collect()
}

#[tokio::test]
async fn t_017_no_error_and_no_debug_text_repeats_a_credential() {
    let garbage = serve_answer("garbage\r\n\r\n").await.0;
    let redirect = serve_answer(
        "HTTP/1.1 302 F\r\nlocation: https://u:canary-c0ffee@x.test/p?key=canary-c0ffee\r\n\r\n",
    )
    .await
    .0;
    let closing = serve(|mut peer, _| async move {
        peer.request().await;
    })
    .await
    .0;
    let silent = serve(|mut peer, _| async move { peer.gone().await }).await.0;
    let (refused, _held) = refusing();
    let proxy = format!("http://user:{CANARY}@{refused}");
    let timeouts = Timeouts {
        connect: Duration::from_millis(200),
        first_byte: Duration::from_millis(200),
        idle: Duration::from_millis(200),
    };
    let proxy = ProxyRules::single(&proxy, "").unwrap();
    let client = Client::new(ClientConfig { proxy, timeouts, ..config() }).unwrap();
    assert!(!format!("{client:?} {client:#?}").contains(CANARY));
    let name = "n".repeat(64);
    let urls = [
        format!("http://{garbage}/v1"),
        format!("http://{redirect}/v1"),
        format!("http://{closing}/v1"),
        format!("http://{silent}/v1"),
        format!("https://{silent}/v1"),
        format!("http://{refused}/v1"),
        format!("https://{garbage}/v1"),
        format!("http://user:{CANARY}@{refused}/v1"),
        "https://behind.test/v1".to_owned(),
        "http://behind.test/v1".to_owned(),
        format!("http://{name}.localhost/v1"),
        "ftp://api.test/v1".to_owned(),
    ];
    for url in urls {
        for request in requests(&url) {
            let error = client.send(&request).await.unwrap_err();
            let text = format!("{error} {error:?} {error:#?} {request:?} {request:#?}");
            assert!(!text.contains(CANARY), "{text}");
        }
    }
}
