//! The client against real sockets, all of them on the loopback address.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod accounts;
mod authority;
mod cancelling;
mod endings;
mod http1;
mod http2;
mod in_process;
mod limits;
mod proxies;
mod retries;
mod secrets;
mod secure;
mod server;
mod socks;

use std::time::Duration;

use thinkthrough_client::{Client, ClientConfig, ClientError, Request, Response, Timeouts};

/// Time limits beyond what a test waits for (`server::soon`): what comes in time comes of itself, and not of a limit.
pub(crate) const PATIENT: Timeouts = Timeouts {
    connect: Duration::from_secs(120),
    first_byte: Duration::from_secs(120),
    idle: Duration::from_secs(120),
};

pub(crate) fn config() -> ClientConfig {
    ClientConfig { timeouts: PATIENT, ..ClientConfig::default() }
}

pub(crate) fn client() -> Client {
    Client::new(config()).unwrap()
}

/// Reads a body to its end: what came, and the error that ended it.
pub(crate) async fn drain(answer: Response) -> (Vec<u8>, Option<ClientError>) {
    let mut body = answer.body;
    let mut out = Vec::new();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(bytes) => {
                assert!(!bytes.is_empty());
                out.extend_from_slice(&bytes);
            }
            Err(error) => {
                assert!(body.next().await.is_none(), "nothing follows an error");
                return (out, Some(error));
            }
        }
    }
    assert!(body.next().await.is_none(), "the end is the end");
    (out, None)
}

/// Posts `{}` and reads the whole answer.
pub(crate) async fn post(client: &Client, url: &str) -> Result<Vec<u8>, ClientError> {
    let answer = client.send(&Request::post(url, "{}").unwrap()).await?;
    match drain(answer).await {
        (body, None) => Ok(body),
        (_, Some(error)) => Err(error),
    }
}
