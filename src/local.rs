//! Servers and the models that they list: those on the usual ports of this machine, and those of the user's own.

use crate::config::Config;
use crate::environment::Served;
use http::{HeaderName, HeaderValue, Uri};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use thinkthrough_client::{Auth, Client, ClientConfig, Request, Transport};
use thinkthrough_core::provider::{self, Provider, Target};
use thinkthrough_json::{Doc, Val};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a loopback connect may take.
const CONNECT: Duration = Duration::from_millis(100);

/// How long a server that accepted may take to list its models.
const LIST: Duration = Duration::from_secs(2);

/// The models of local servers. If a configuration says which models there are, it calls no server.
pub(crate) async fn served(config: &Config) -> Vec<Served> {
    if config.names_models() { Vec::new() } else { all_models().await }
}

/// Every model of every local server that answers, in the order of the providers.
pub(crate) async fn all_models() -> Vec<Served> {
    let asked = provider::ALL.iter().map(|provider| tokio::spawn(models_at(provider)));
    let asked: Vec<_> = asked.collect();
    let mut models = Vec::new();
    for asked in asked {
        models.extend(asked.await.unwrap_or_default());
    }
    models
}

/// The first model of the first local server that answers.
pub(crate) async fn first_model() -> Option<Served> {
    all_models().await.into_iter().next()
}

async fn models_at(provider: &'static Provider) -> Vec<Served> {
    if !answers(provider).await {
        return Vec::new();
    }
    listed(provider).await.into_iter().map(|model| (provider.id, model)).collect()
}

/// Whether the server is on this machine.
pub(crate) fn is_here(target: &Target) -> bool {
    let uri = target.base_url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Returns the models that the server at this address lists; empty if it does not answer soon.
pub(crate) async fn models_of(target: Target, transport: Transport, auth: Auth) -> Vec<String> {
    let base = target.base_url.trim_end_matches("/v1");
    let looks = async {
        // Some servers have their lists below a path without a version.
        for path in ["/v1/models", "/models"] {
            let request = request(&target, &auth, &format!("{base}{path}"));
            let names = asked(&transport, request).await;
            if !names.is_empty() {
                return names;
            }
        }
        Vec::new()
    };
    timeout(LIST, looks).await.unwrap_or_default()
}

/// A question to the server of a target, with its headers and credential.
pub(crate) fn request(target: &Target, auth: &Auth, url: &str) -> Option<Request> {
    let mut request = Request::new(http::Method::GET, url).ok()?;
    for (name, value) in &target.headers {
        let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
        if let (Ok(name), Ok(value)) = header {
            request.headers.insert(name, value);
        }
    }
    Some(Request { auth: auth.clone(), ..request })
}

/// Whether something listens on the provider's usual port.
async fn answers(provider: &Provider) -> bool {
    let Some(port) = provider.local_port else { return false };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    matches!(timeout(CONNECT, TcpStream::connect(address)).await, Ok(Ok(_)))
}

async fn listed(provider: &Provider) -> Vec<String> {
    let Some(endpoint) = provider.endpoints.first() else { return Vec::new() };
    let root = endpoint.base_url.trim_end_matches('/').trim_end_matches("/v1");
    let Ok(client) = Client::new(ClientConfig::default()) else { return Vec::new() };
    let transport = Transport::Http(client);
    for path in ["/v1/models", "/api/tags"] {
        let request = Request::new(http::Method::GET, &format!("{root}{path}"));
        let names = timeout(LIST, asked(&transport, request.ok())).await.unwrap_or_default();
        if !names.is_empty() {
            return names;
        }
    }
    Vec::new()
}

/// The names that a server answers with.
async fn asked(transport: &Transport, request: Option<Request>) -> Vec<String> {
    fetch(transport, request).await.map(|body| names(&body)).unwrap_or_default()
}

/// Fetches the body of a successful answer.
pub(crate) async fn fetch(transport: &Transport, request: Option<Request>) -> Option<Vec<u8>> {
    /// Lists of every model that there is are long.
    const MOST: usize = 8 << 20;
    let response = transport.send(&request?).await.ok().filter(|it| it.status.is_success())?;
    Some(response.body.collect_up_to(MOST).await.ok()?.to_vec())
}

fn names(body: &[u8]) -> Vec<String> {
    let Ok(doc) = Doc::parse(body) else { return Vec::new() };
    let root = doc.root();
    let Some(list) = root.some("data").or_else(|| root.some("models")) else { return Vec::new() };
    let name =
        |it: Val<'_>| it.string("id").or_else(|| it.string("model")).or_else(|| it.string("name"));
    list.items().filter_map(name).collect()
}
