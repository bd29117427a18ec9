//! Servers on this machine: which of the usual ports answers, and with which models.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use thinkthrough_client::{Client, ClientConfig, Request};
use thinkthrough_core::json::Doc;
use thinkthrough_core::provider::{self, Provider};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a loopback connect may take.
const CONNECT: Duration = Duration::from_millis(100);

/// How long a server that accepted may take to list its models.
const LIST: Duration = Duration::from_secs(2);

/// The first model of the first local server that answers: provider and model.
pub(crate) async fn first_model() -> Option<(&'static str, String)> {
    for provider in provider::ALL {
        let Some(port) = provider.local_port else { continue };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let is_there = matches!(timeout(CONNECT, TcpStream::connect(address)).await, Ok(Ok(_)));
        if is_there && let Some(model) = first_listed(provider).await {
            return Some((provider.id, model));
        }
    }
    None
}

async fn first_listed(provider: &Provider) -> Option<String> {
    let base = provider.endpoints.first()?.base_url.trim_end_matches('/');
    let root = base.trim_end_matches("/v1");
    for path in ["/v1/models", "/api/tags"] {
        let body = timeout(LIST, get(&format!("{root}{path}"))).await.ok().flatten();
        if let Some(name) = body.as_deref().and_then(first_name) {
            return Some(name);
        }
    }
    None
}

async fn get(url: &str) -> Option<Vec<u8>> {
    let client = Client::new(ClientConfig::default()).ok()?;
    let request = Request::new(http::Method::GET, url).ok()?;
    let response = client.send(&request).await.ok().filter(|it| it.status.is_success())?;
    Some(response.body.collect_up_to(1 << 20).await.ok()?.to_vec())
}

fn first_name(body: &[u8]) -> Option<String> {
    let doc = Doc::parse(body).ok()?;
    let root = doc.root();
    let list = root.some("data").or_else(|| root.some("models"))?;
    let first = list.items().next()?;
    first.string("id").or_else(|| first.string("model")).or_else(|| first.string("name"))
}
