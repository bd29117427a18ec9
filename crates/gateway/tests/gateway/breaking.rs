//! A request that breaks within the gateway.

use std::sync::Arc;
use thinkthrough_client::{Client, ClientConfig, Request};
use thinkthrough_gateway::{Listed, Models, Options, Route, Unrouted, serve};
use tokio::net::TcpListener;

/// Breaks whatever is asked for.
struct Broken;

impl Models for Broken {
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        panic!("{name} canary")
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        panic!("{name} canary")
    }

    fn list(&self) -> Vec<Listed> {
        // The gateway asks for it as it begins.
        Vec::new()
    }
}

#[tokio::test]
async fn k_4_one_request_that_breaks_is_an_error_and_the_others_go_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = serve(listener, Arc::new(Broken), None, Options::default()).unwrap();
    let base = format!("http://{}", running.addr());
    let client = Client::new(ClientConfig::default()).unwrap();
    let body = r#"{"model":"m","messages":[]}"#;
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/p/x/y"] {
        let request = Request::post(&format!("{base}{path}"), body).unwrap();
        let answer = client.send(&request).await.unwrap();
        assert_eq!(answer.status, 500, "{path}");
        let body = answer.body.collect_up_to(10_000).await.unwrap();
        let body = String::from_utf8_lossy(&body).into_owned();
        assert!(
            body.contains("failed within the gateway") && !body.contains("canary"),
            "{path}: {body}"
        );
    }
    let request = Request::new(http::Method::GET, &format!("{base}/metrics")).unwrap();
    let metrics = client.send(&request).await.unwrap().body.collect_up_to(100_000).await.unwrap();
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    assert!(metrics.contains("thinkthrough_panics_total 4\n"), "{metrics}");
}
