use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use tokio::time::{Instant, sleep, timeout_at};

use crate::body::BodyStream;
use crate::client::{Client, Response, silent};
use crate::config::{ClientConfig, after};
use crate::error::ClientError;
use crate::plainer;
use crate::request::Request;
use crate::retry::{Advice, Failure, RetryPolicy};
use crate::secret::Auth;

/// An upstream without a network: a simulator in the same process.
pub trait InProcess: Send + Sync {
    /// Answers one request. Its URL is absolute, and its credential is in place.
    ///
    /// An error means that the connection failed.
    fn handle(&self, request: http::Request<Bytes>) -> InProcessAnswer<'_>;
}

/// The future that [`InProcess::handle`] returns.
pub type InProcessAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<Response, ClientError>> + Send + 'a>>;

/// The way to an upstream. Callers use both kinds alike.
#[derive(Clone)]
pub enum Transport {
    /// A server, over the network.
    Http(Client),
    /// A simulator in this process.
    InProcess {
        /// The simulator.
        upstream: Arc<dyn InProcess>,
        /// Only its time limits and its user agent are used.
        config: Arc<ClientConfig>,
    },
}

impl Transport {
    /// Makes a transport to a simulator, with default time limits.
    pub fn in_process(upstream: Arc<dyn InProcess>) -> Self {
        Self::InProcess { upstream, config: Arc::default() }
    }

    /// The settings for all requests.
    pub fn config(&self) -> &ClientConfig {
        match self {
            Self::Http(client) => client.config(),
            Self::InProcess { config, .. } => config,
        }
    }

    /// Sends a request and waits for the head of the answer, whatever its status. If the server refuses the optional
    /// part ([`Request::plainer`]), this and further requests go without it.
    ///
    /// # Errors
    ///
    /// Those of [`Client::send`].
    pub async fn send(&self, request: &Request) -> Result<Response, ClientError> {
        let Some(plainer) = request.plainer else { return self.send_whole(request).await };
        let without = |refusal: &[u8]| {
            let body = Bytes::from(plainer(&request.body, refusal)?);
            Some(Request { body, plainer: None, ..request.clone() })
        };
        let server = request.url.to_string();
        if let Some(request) = plainer::refusal(&server).and_then(|said| without(&said)) {
            return self.send_whole(&request).await;
        }
        let mut answer = self.send_whole(request).await?;
        if ![StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY].contains(&answer.status) {
            return Ok(answer);
        }
        let said = failure(&mut answer).await;
        let Some(request) = without(&said) else { return Ok(answer) };
        drop(answer);
        let answer = self.send_whole(&request).await?;
        if answer.status.is_success() {
            plainer::remember(server, said);
        }
        Ok(answer)
    }

    async fn send_whole(&self, request: &Request) -> Result<Response, ClientError> {
        if let Some(gate) = &request.gate {
            gate.pass().await.map_err(ClientError::Held)?;
        }
        let Auth::Token(tokens) = &request.auth else { return self.send_as_it_is(request).await };
        let token = Box::pin(tokens.get(self)).await?;
        let request = Request { auth: Auth::Bearer(token.clone()), ..request.clone() };
        let answer = self.send_as_it_is(&request).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            tokens.forget(&token).await;
        }
        Ok(answer)
    }

    /// Sends a request with the credential that it has. Requests that fetch a token use this directly.
    pub(crate) async fn send_as_it_is(&self, request: &Request) -> Result<Response, ClientError> {
        let answer = match self {
            Self::Http(client) => client.send(request).await,
            Self::InProcess { upstream, config } => {
                let started = Instant::now();
                let timeouts = config.timeouts;
                let outgoing = request.prepare(&config.user_agent)?;
                let url = outgoing.uri().clone();
                let deadline = after(started, timeouts.first_byte);
                match timeout_at(deadline, upstream.handle(outgoing)).await {
                    Ok(answer) => answer?.timed(&url, timeouts, started),
                    Err(_) => Err(silent(&url, timeouts)),
                }
            }
        };
        let answer = answer?;
        if let Some(gate) = &request.gate {
            gate.heard();
        }
        Ok(answer.without(request.secrets()))
    }

    /// Sends a request, and retries it as the policy allows, before the caller reads any byte of a body.
    ///
    /// Each retry is reported to `on_retry` before the wait begins. The result is the outcome of the last attempt: an
    /// answer of any status, or an error.
    ///
    /// # Errors
    ///
    /// Those of [`Client::send`].
    pub async fn send_with_retry(
        &self,
        request: &Request,
        policy: &RetryPolicy,
        on_retry: &mut (dyn FnMut(&Retry<'_>) + Send),
    ) -> Result<Response, ClientError> {
        let mut attempt = 0;
        loop {
            let mut outcome = self.send(request).await;
            let (failure, advice) = match &outcome {
                Ok(answer) => (
                    Failure::Status(answer.status),
                    Advice::from_headers(&answer.headers, SystemTime::now()),
                ),
                Err(error) => (Failure::Error(error), Advice::default()),
            };
            let Some(wait) = policy.next_delay(attempt, failure, advice, jitter()) else {
                return outcome;
            };
            if let Ok(answer) = &mut outcome
                && is_lasting(request, answer).await
            {
                return outcome;
            }
            let failure = match &outcome {
                Ok(answer) => Failure::Status(answer.status),
                Err(error) => Failure::Error(error),
            };
            attempt += 1;
            on_retry(&Retry { attempt, wait, failure });
            // Drops the failed answer before the wait, so that it holds no connection.
            drop(outcome);
            sleep(wait).await;
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(client) => client.fmt(f),
            Self::InProcess { .. } => f.write_str("InProcess"),
        }
    }
}

/// The maximum number of bytes read from the body of a failure.
const FAILURE: usize = 1024 * 1024;

/// Whether a retry is useless after this 5xx.
async fn is_lasting(request: &Request, answer: &mut Response) -> bool {
    match request.lasting.filter(|_| answer.status.is_server_error()) {
        Some(lasting) => lasting(&failure(answer).await),
        None => false,
    }
}

/// Reads the body of a failure and puts it back into the answer.
async fn failure(answer: &mut Response) -> Bytes {
    let body = std::mem::replace(&mut answer.body, BodyStream::whole(Bytes::new()));
    let body = Box::pin(body.collect_error(FAILURE)).await;
    answer.body = BodyStream::whole(body.clone());
    body
}

/// A retry that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct Retry<'a> {
    /// Its number, from 1.
    pub attempt: u32,
    /// The wait before it.
    pub wait: Duration,
    /// The failure that caused it.
    pub failure: Failure<'a>,
}

/// Draws a number in `0.0..1.0`. Each hasher state of the standard library has a new seed, which is random enough to
/// keep clients from retrying at the same moment.
fn jitter() -> f64 {
    let drawn = RandomState::new().hash_one(0u8) >> 32;
    f64::from(u32::try_from(drawn).unwrap_or_default()) / f64::from(u32::MAX)
}
