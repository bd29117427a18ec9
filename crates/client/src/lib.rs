//! Upstream I/O: connections, TLS, proxies, credentials, time limits, retries, cancellation.
//!
//! A [`Client`] sends a [`Request`] and gives a [`Response`] whose [`BodyStream`] yields bytes as
//! they arrive. A [`Transport`] is either a client or a simulator in the same process, so that
//! callers are written once. A [`RetryPolicy`] decides, as pure arithmetic, when a failure is worth
//! another try. Every failure is a [`ClientError`], which never repeats a [`Secret`].
//!
//! The crate reads no environment (the binary passes it in) and interprets no bytes of an API: that is the core's
//! work, except for the tokens of cloud accounts. It treats no status as an error, follows no redirect, and retries
//! no request after a byte of its body was read.
//!
//! ```no_run
//! # async fn ask() -> Result<(), thinkthrough_client::ClientError> {
//! use thinkthrough_client::{Auth, Client, ClientConfig, Request, Secret};
//!
//! let client = Client::new(ClientConfig::default())?;
//! let mut request = Request::post("http://127.0.0.1:8000/v1/chat/completions", "{}")?;
//! request.auth = Auth::Bearer(Secret::new("EMPTY"));
//! let mut answer = client.send(&request).await?;
//! while let Some(bytes) = answer.body.next().await {
//!     let bytes = bytes?;
//!     // Push `bytes` into a decoder.
//! #   let _ = bytes;
//! }
//! # Ok(())
//! # }
//! ```

/// Credentials of cloud accounts, as the clouds' own tools write them.
pub mod account {
    pub use crate::cloud::read;
}

mod body;
mod client;
mod cloud;
mod config;
mod connect;
mod error;
mod events;
mod gate;
mod gzip;
#[cfg(test)]
mod laws;
mod no_proxy;
mod plainer;
mod private_header;
mod proxy;
mod request;
mod retry;
mod scrub;
mod secret;
mod tls;
mod transport;
mod tunnel;

pub use body::{BodySender, BodyStream};
pub use client::{Client, Response};
pub use cloud::{AwsKeys, Tokens};
pub use config::{AnswerCaps, ClientConfig, Timeouts};
pub use error::{ClientError, Excess, Phase, shown};
pub use events::Events;
pub use gate::{Gate, Held, Passing};
pub use private_header::{mark_private, private_parts};
pub use proxy::ProxyRules;
pub use request::{Lasting, Plainer, Request};
pub use retry::{Advice, Failure, RetryPolicy};
pub use secret::{Auth, Secret};
pub use transport::{InProcess, InProcessAnswer, Retry, Transport};
