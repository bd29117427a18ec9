use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
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

/// The receive buffer of an HTTP/1.1 connection. The kernel takes twice this size.
const KERNEL_BUFFER: usize = 32 * 1024;
/// The most bytes of one read. A reader keeps a piece whole until it has used all of it.
const PIECE: usize = 8 * 1024;

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
        let (io, socket) = match proxy {
            None => timeout_at(deadline, self.dial(target.clone()))
                .await
                .map_err(|_| out_of_time(Phase::Connect))??,
            Some(proxy) => timeout_at(deadline, self.dial_through(proxy, &target, proxied))
                .await
                .map_err(|_| out_of_time(Phase::Proxy))??,
        };
        if !is_tls {
            socket.bound(self.only_h2);
            return Ok(Conn { io: TokioIo::new(InPieces(io)), proxied, is_h2: false });
        }
        let secured = timeout_at(deadline, self.tls.to_server(io, host))
            .await
            .map_err(|_| out_of_time(Phase::Tls))??;
        socket.bound(secured.is_h2);
        Ok(Conn { io: TokioIo::new(InPieces(secured.io)), proxied, is_h2: secured.is_h2 })
    }

    async fn dial_through(
        &self,
        proxy: &Proxy,
        target: &Uri,
        proxied: bool,
    ) -> Result<(BoxIo, Socket), ClientError> {
        let (mut io, socket) =
            self.dial(proxy.uri.clone()).await.map_err(|error| unusable(proxy, error))?;
        if proxy.kind == ProxyKind::Https {
            io = self
                .tls
                .to_proxy(io, bare_host(&proxy.uri))
                .await
                .map_err(|error| unusable(proxy, error))?;
        }
        if proxied {
            return Ok((io, socket));
        }
        let default_port = if target.scheme_str() == Some("https") { 443 } else { 80 };
        let port = target.port_u16().unwrap_or(default_port);
        Ok((tunnel::open(io, proxy, target, port).await?, socket))
    }

    async fn dial(&self, address: Uri) -> Result<(BoxIo, Socket), ClientError> {
        let opened = self.http.clone().call(address.clone()).await;
        let with_socket = |io: TokioIo<TcpStream>| {
            let io = io.into_inner();
            let socket = Socket::of(&io);
            (Box::new(io) as BoxIo, socket)
        };
        opened.map(with_socket).map_err(|error| {
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

/// The socket below a connection, to be bounded once its protocol is known.
struct Socket(Option<socket2::Socket>);

impl Socket {
    fn of(stream: &TcpStream) -> Self {
        // Without another descriptor the socket stays as it is.
        Socket(SockRef::from(stream).try_clone().ok())
    }

    /// Bounds the read-ahead of the kernel. HTTP/2 has its own windows, because many answers share a connection.
    fn bound(self, is_h2: bool) {
        if let Some(socket) = self.0.filter(|_| !is_h2) {
            // A socket that cannot do that still works.
            drop(socket.set_recv_buffer_size(KERNEL_BUFFER));
        }
    }
}

/// A connection that gives no more than a piece at once, so that its reader needs no larger buffer.
struct InPieces(BoxIo);

impl AsyncRead for InPieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let size = buffer.remaining().min(PIECE);
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(size));
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut piece))?;
        let read = piece.filled().len();
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for InPieces {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Reports that the proxy could not be reached, in contrast to the server behind it.
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
    io: TokioIo<InPieces>,
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

/// The system's resolver with an error type of our own, to distinguish a wrong name from a dead server.
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
