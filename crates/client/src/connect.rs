use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use crate::config::after;
use crate::error::{ClientError, Phase, cause, chain, shown};
use crate::proxy::{Proxy, ProxyKind, ProxyRules, bare_host};
use crate::tls::Tls;
use crate::tunnel;

/// How long a connection may be silent before the operating system asks whether the peer lives;
/// routers forget silent connections after minutes, and a model thinks for longer than that.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEP_ALIVE_RETRIES: u32 = 4;

/// Any connection that bytes go through: plain, TLS, or TLS inside TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(crate) type BoxIo = Box<dyn Io>;

/// Opens connections: name, TCP, proxy, TLS, all within one time limit.
#[derive(Clone)]
pub(crate) struct Connector {
    http: HttpConnector<Resolver>,
    tls: Tls,
    proxy: Arc<ProxyRules>,
    limit: Duration,
    only_h2: bool,
}

impl Connector {
    pub(crate) fn new(tls: Tls, proxy: Arc<ProxyRules>, limit: Duration, only_h2: bool) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        http.enforce_http(false);
        http.set_nodelay(true);
        // The connector divides this among a host's addresses, so that a dead one leaves time for the next.
        http.set_connect_timeout(Some(limit));
        http.set_keepalive(Some(KEEP_ALIVE));
        http.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        http.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
        Self { http, tls, proxy, limit, only_h2 }
    }

    /// Says whether requests to a target are spoken to a proxy in absolute form, and to which.
    pub(crate) fn spoken_to<'a>(
        &self,
        proxy: Option<&'a Proxy>,
        target: &Uri,
    ) -> Option<&'a Proxy> {
        let is_plain = target.scheme_str() != Some("https") && !self.only_h2;
        proxy.filter(|proxy| is_plain && proxy.kind != ProxyKind::Socks5)
    }

    async fn open(self, target: Uri) -> Result<Conn, ClientError> {
        let deadline = after(Instant::now(), self.limit);
        let host = bare_host(&target);
        let is_tls = target.scheme_str() == Some("https");
        let out_of_time =
            |phase| ClientError::Timeout { target: shown(&target), phase, after: self.limit };
        let proxy = self.proxy.choose(&target)?;
        let proxied = self.spoken_to(proxy, &target).is_some();
        let io = match proxy {
            None => timeout_at(deadline, self.dial(target.clone()))
                .await
                .map_err(|_| out_of_time(Phase::Connect))??,
            Some(proxy) => timeout_at(deadline, self.dial_through(proxy, &target, proxied))
                .await
                .map_err(|_| out_of_time(Phase::Proxy))??,
        };
        if !is_tls {
            return Ok(Conn { io: TokioIo::new(io), proxied, is_h2: false });
        }
        let secured = timeout_at(deadline, self.tls.to_server(io, host))
            .await
            .map_err(|_| out_of_time(Phase::Tls))??;
        Ok(Conn { io: TokioIo::new(secured.io), proxied, is_h2: secured.is_h2 })
    }

    async fn dial_through(
        &self,
        proxy: &Proxy,
        target: &Uri,
        proxied: bool,
    ) -> Result<BoxIo, ClientError> {
        let mut io = self.dial(proxy.uri.clone()).await.map_err(|error| unusable(proxy, error))?;
        if proxy.kind == ProxyKind::Https {
            io = self
                .tls
                .to_proxy(io, bare_host(&proxy.uri))
                .await
                .map_err(|error| unusable(proxy, error))?;
        }
        if proxied {
            return Ok(io);
        }
        let default_port = if target.scheme_str() == Some("https") { 443 } else { 80 };
        tunnel::open(io, proxy, target, target.port_u16().unwrap_or(default_port)).await
    }

    async fn dial(&self, address: Uri) -> Result<BoxIo, ClientError> {
        let opened = self.http.clone().call(address.clone()).await;
        opened.map(|io| Box::new(io.into_inner()) as BoxIo).map_err(|error| {
            if let Some(NameError(detail)) = cause(&error) {
                return ClientError::Dns {
                    host: bare_host(&address).to_owned(),
                    detail: detail.clone(),
                };
            }
            if cause::<std::io::Error>(&error)
                .is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut)
            {
                return ClientError::Timeout {
                    target: shown(&address),
                    phase: Phase::Connect,
                    after: self.limit,
                };
            }
            let detail =
                cause::<std::io::Error>(&error).map_or_else(|| chain(&error), ToString::to_string);
            ClientError::Connect { target: shown(&address), detail }
        })
    }
}

/// Says that it is the proxy which could not be reached, not the server behind it.
fn unusable(proxy: &Proxy, error: ClientError) -> ClientError {
    let transient = error.is_transient();
    let detail = match error {
        ClientError::Connect { detail, .. } => format!("cannot be reached ({detail})"),
        ClientError::Dns { detail, .. } => format!("has no address ({detail})"),
        ClientError::Tls { detail, .. } => format!("cannot be trusted ({detail})"),
        other => format!("cannot be used ({other})"),
    };
    ClientError::Proxy { proxy: proxy.shown(), detail, transient }
}

impl Service<Uri> for Connector {
    type Response = Conn;
    type Error = ClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Conn, ClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        Box::pin(self.clone().open(target))
    }
}

/// An open connection, as the HTTP engine wants it.
pub(crate) struct Conn {
    io: TokioIo<BoxIo>,
    proxied: bool,
    is_h2: bool,
}

impl Connection for Conn {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.proxied);
        if self.is_h2 { connected.negotiated_h2() } else { connected }
    }
}

impl Read for Conn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Conn {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bytes)
    }
}

/// The system's resolver, with an error of our own, so that a wrong name is told from a dead server.
#[derive(Clone)]
struct Resolver(GaiResolver);

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NameError(String);

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = NameError;
    type Future = Pin<Box<dyn Future<Output = Result<GaiAddrs, NameError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NameError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.0.call(name);
        Box::pin(async move { addresses.await.map_err(|error| NameError(error.to_string())) })
    }
}
