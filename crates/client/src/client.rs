use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONTENT_LENGTH, LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::{Extensions, HeaderMap, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Engine;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};

use crate::body::BodyStream;
use crate::config::{ClientConfig, Timeouts, after};
use crate::connect::Connector;
use crate::error::{ClientError, Phase, cause, chain, shown};
use crate::gate::Sent;
use crate::gzip::Inflate;
use crate::proxy::{Proxy, ProxyRules};
use crate::request::Request;
use crate::scrub::Secrets;
use crate::tls::Tls;

/// How many answers share one HTTP/2 connection. Servers allow about a hundred at a time and make
/// the next one wait, and an answer that thinks holds its place for minutes.
const STREAMS_PER_CONNECTION: usize = 64;
/// How much of one answer may wait for a slow reader.
const STREAM_WINDOW: u32 = 64 * 1024;
/// More than all slow readers of a connection can fill, so that none holds up the others. The engine
/// takes half of it as its allowance for the bookkeeping of small unread frames, and breaks the whole
/// connection beyond; a thought comes in very small frames, so the allowance must be generous.
const CONNECTION_WINDOW: u32 = 256 * 1024 * 1024;
/// How much of an HTTP/1.1 answer is read ahead; also the largest head of an answer.
const READ_BUFFER: usize = 32 * 1024;
const MAX_HEADER_LIST: u32 = 64 * 1024;
/// How long an unused connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(90);
/// A connection that died silently would swallow every later request that shares it.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Connections to upstreams; clones share them.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    connector: Connector,
    proxy: Arc<ProxyRules>,
    config: ClientConfig,
    shards: Mutex<Vec<Arc<Shard>>>,
}

impl Client {
    /// Prepares connections, but opens no connection; the only file read is `ca_file`.
    ///
    /// # Errors
    ///
    /// [`ClientError::Config`] if `ca_file` is not usable.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let only_h2 = config.http2_prior_knowledge;
        let tls = Tls::new(config.ca_file.as_deref(), only_h2)?;
        let proxy = Arc::new(config.proxy.clone());
        let connector = Connector::new(tls, Arc::clone(&proxy), config.timeouts.connect, only_h2);
        let shards = Mutex::new(Vec::new());
        Ok(Self { inner: Arc::new(Inner { connector, proxy, config, shards }) })
    }

    /// Gives the settings that the client was made with.
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// Sends a request and waits for the head of the answer, whatever its status.
    ///
    /// Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// Any [`ClientError`] but [`ClientError::TooLarge`]; a redirect is an error, because following
    /// it would carry the credential to another place.
    pub async fn send(&self, request: &Request) -> Result<Response, ClientError> {
        let started = Instant::now();
        let inner = &*self.inner;
        let timeouts = inner.config.timeouts;
        let outgoing = request.prepare(&inner.config.user_agent)?;
        let mut outgoing = outgoing.map(|body| Sent::new(body, request.gate.clone()));
        let url = outgoing.uri().clone();
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err(ClientError::Request(format!(
                "`{}` cannot be asked; its URL must begin with `http://` or `https://`",
                shown(&url)
            )));
        }
        let proxy = inner.connector.spoken_to(inner.proxy.choose(&url)?, &url);
        if let Some(value) = proxy.and_then(Proxy::authorization) {
            outgoing.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let slot = inner.slot();
        let answer =
            timeout_at(after(started, timeouts.first_byte), slot.0.engine.request(outgoing));
        let answer = match answer.await {
            Ok(answer) => answer.map_err(|error| explain(&url, &error))?,
            Err(_) => return Err(silent(&url, timeouts)),
        };
        Response::from_http(answer, slot, &url)?.timed(&url, timeouts, started)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

/// The head of an answer, and its body as it arrives.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The protocol that the answer came over.
    pub version: Version,
    /// The headers; without those of a compression that was undone.
    pub headers: HeaderMap,
    /// Further data of the answer. If the caller passes it on, header names keep their letter case over HTTP/1.1.
    pub extensions: Extensions,
    /// The body.
    pub body: BodyStream,
}

impl Response {
    /// Makes an answer, as an in-process upstream does.
    pub fn new(status: StatusCode, headers: HeaderMap, body: BodyStream) -> Self {
        let version = Version::HTTP_11;
        Self { status, version, headers, extensions: Extensions::new(), body }
    }

    fn from_http(
        answer: http::Response<Incoming>,
        slot: Slot,
        url: &Uri,
    ) -> Result<Self, ClientError> {
        let (mut head, incoming) = answer.into_parts();
        if head.headers.contains_key(CONTENT_LENGTH) && head.headers.contains_key(TRANSFER_ENCODING)
        {
            // The next reader may trust the other header, and take the rest for an answer of its own (RFC 9112, 6.3).
            // The connection is closed together with the answer.
            let detail = "it has a `content-length` and a `transfer-encoding`".to_owned();
            return Err(ClientError::Protocol { target: shown(url), detail });
        }
        let inflate =
            Inflate::for_headers(&mut head.headers).map_err(|named| ClientError::Protocol {
                target: shown(url),
                detail: format!("its encoding `{named}` was not asked for"),
            })?;
        Ok(Self {
            status: head.status,
            version: head.version,
            headers: head.headers,
            extensions: head.extensions,
            body: BodyStream::http(incoming, slot, inflate),
        })
    }

    /// Removes the credential of the request from its answer.
    pub(crate) fn without(mut self, secrets: Secrets) -> Self {
        if !secrets.is_empty() {
            secrets.leave_headers(&mut self.headers);
            self.body = self.body.without(secrets);
        }
        self
    }

    /// Refuses a redirect, and starts the clock of the body.
    pub(crate) fn timed(
        mut self,
        url: &Uri,
        timeouts: Timeouts,
        started: Instant,
    ) -> Result<Self, ClientError> {
        if let (301 | 302 | 303 | 307 | 308, Some(location)) =
            (self.status.as_u16(), self.headers.get(LOCATION))
        {
            let location = String::from_utf8_lossy(location.as_bytes());
            let location = match location.parse::<Uri>() {
                Ok(location) => shown(&location),
                Err(_) => location.split(['?', '#']).next().unwrap_or_default().to_owned(),
            };
            let (target, status) = (shown(url), self.status.as_u16());
            return Err(ClientError::Redirect { target, status, location });
        }
        self.body = self.body.timed(url, timeouts, started);
        Ok(self)
    }
}

/// One engine with its own connections; at most a certain number of answers share them.
struct Shard {
    engine: Engine<Connector, Sent>,
    active: AtomicUsize,
}

/// A place in a shard, held as long as the answer is being read.
pub(crate) struct Slot(Arc<Shard>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Takes a place in the first shard that has one, so that connections are reused.
    fn slot(&self) -> Slot {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let free = shards
            .iter()
            .find(|shard| shard.active.load(Ordering::Relaxed) < STREAMS_PER_CONNECTION);
        let shard = match free {
            Some(shard) => Arc::clone(shard),
            None => {
                let shard = Arc::new(Shard { engine: self.engine(), active: AtomicUsize::new(0) });
                shards.push(Arc::clone(&shard));
                shard
            }
        };
        shard.active.fetch_add(1, Ordering::Relaxed);
        Slot(shard)
    }

    fn engine(&self) -> Engine<Connector, Sent> {
        Engine::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .http1_max_buf_size(READ_BUFFER)
            .http1_preserve_header_case(true)
            .http2_only(self.config.http2_prior_knowledge)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_header_list_size(MAX_HEADER_LIST)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(self.connector.clone())
    }
}

pub(crate) fn silent(url: &Uri, timeouts: Timeouts) -> ClientError {
    let after = timeouts.first_byte;
    ClientError::Timeout { target: shown(url), phase: Phase::FirstByte, after }
}

/// Translates an engine's error.
fn explain(url: &Uri, error: &hyper_util::client::legacy::Error) -> ClientError {
    if let Some(own) = cause::<ClientError>(error) {
        return own.clone();
    }
    let target = shown(url);
    match cause::<hyper::Error>(error) {
        Some(inner) if inner.is_parse() => ClientError::Protocol { target, detail: chain(inner) },
        Some(inner) if inner.is_user() => {
            ClientError::Request(format!("`{target}` cannot be asked ({})", chain(inner)))
        }
        Some(inner) => ClientError::Closed { target, received: None, detail: chain(inner) },
        None => ClientError::Closed { target, received: None, detail: chain(error) },
    }
}
