//! Accepts connections, and shuts down gracefully.

use crate::models::route::Models;
use crate::observe::progress::News;
use crate::request::edge::HEAD_LINES;
use crate::respond::patient::Patient;
use crate::respond::stuck::only_stuck;
use crate::serve::serve_request::{Connection, serve_request};
use crate::serve::sharing::Sharing;
use crate::state::{Configuration, Gateway, Options, Stage};
use crate::store::vault::Vaults;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use socket2::SockRef;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// The longest time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The longest idle time of a connection between two requests.
const IDLE: Duration = Duration::from_secs(60);
/// The most bytes of one streamed answer that wait for a slow reader, in the process and in the kernel. The kernel
/// takes twice this size.
const SEND_BUFFER: u32 = 16 * 1024;
const KERNEL_BUFFER: usize = 32 * 1024;
/// The largest head of a request, in bytes.
const HEAD_SIZE: u16 = u16::MAX;
/// The most concurrent answers on one HTTP/2 connection.
const STREAMS: u32 = 256;
/// HTTP/2 pings reveal a caller that went away without closing its connection.
const PING: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(20);
/// A pause that is long enough for the runtime to do other work, and too short to notice.
const MOMENT: Duration = Duration::from_millis(10);
/// The longest time that callers have to receive the final bytes of interrupted answers.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The answer to a connection that exceeds the limit.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\
connection: close\r\n\r\n";

/// A running gateway.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    stage: watch::Sender<Stage>,
    tasks: Vec<JoinHandle<()>>,
    gateway: Arc<Gateway>,
    /// Shares learned facts with the vaults, if there are any.
    sharing: Option<Sharing>,
}

impl Running {
    /// The address of the listener.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The bytes that requests and answers hold now, and the peak since the last call.
    #[must_use]
    pub fn bytes_in_flight(&self) -> (usize, usize) {
        self.gateway.budget.held_and_most()
    }

    /// Returns once the store was asked for facts of earlier refusals, or after `limit`.
    pub async fn informed(&self, limit: Duration) {
        if let Some(sharing) = &self.sharing {
            sharing.asked(limit).await;
        }
    }

    /// Serves metrics, health checks and the viewer on a listener of their own, too.
    pub fn admin(&mut self, listener: TcpListener) {
        let accepting = accept(listener, Arc::clone(&self.gateway), self.stage.subscribe(), true);
        self.tasks.push(tokio::spawn(accepting));
    }

    /// Changes the models and options for new requests. Requests in progress keep theirs.
    pub fn reload(&self, models: Arc<dyn Models>, options: Options) {
        self.gateway.change(models, options);
    }

    /// Reports at once that the gateway is not ready, but accepts requests for `delay`, until the load balancer has
    /// noticed. Then accepts no connections, waits for answers in progress, and ends answers that take longer than
    /// `limit` with an error of their wire.
    pub async fn drain(mut self, delay: Duration, limit: Duration) {
        self.gateway.close();
        tokio::time::sleep(delay).await;
        // Sending fails only if no receiver is left.
        let _ = self.stage.send(Stage::Draining);
        for task in &mut self.tasks {
            let _ = task.await;
        }
        if tokio::time::timeout(limit, self.stage.closed()).await.is_err() {
            let _ = self.stage.send(Stage::Ended);
            let _ = tokio::time::timeout(LAST_WORDS, self.stage.closed()).await;
        }
        drop(tokio::time::timeout(LAST_WORDS, self.gateway.settle()).await);
        if let Some(sharing) = self.sharing.take() {
            sharing.end(LAST_WORDS).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Serves requests on `listener`. Without `vaults` the gateway neither stores nor restores thoughts.
///
/// # Errors
/// If the listener's address cannot be read.
pub fn serve(
    listener: TcpListener,
    models: Arc<dyn Models>,
    vaults: Option<Arc<dyn Vaults>>,
    options: Options,
) -> io::Result<Running> {
    let addr = listener.local_addr()?;
    let gateway = Arc::new(Gateway::new(Configuration::new(models, vaults.clone(), options)));
    let learned = Arc::clone(&gateway.configuration().learned);
    let sharing = vaults.map(|vaults| Sharing::start(learned, vaults, Arc::clone(&gateway.bus)));
    let (stage, staged) = watch::channel(Stage::Open);
    let task = tokio::spawn(accept(listener, Arc::clone(&gateway), staged, false));
    Ok(Running { addr, stage, tasks: vec![task], gateway, sharing })
}

async fn accept(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    mut stage: watch::Receiver<Stage>,
    is_admin: bool,
) {
    let connections = gateway.configuration().options.connections;
    let room = Arc::new(Semaphore::new(connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stage.changed() => return,
        };
        // `accept` fails if the peer went away or descriptors run short for a moment, so the listener continues.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(MOMENT).await;
            continue;
        };
        let share = gateway.budget.caller(peer.ip());
        let most = gateway.configuration().options.connections_per_address;
        // An address always gets a few connections, or a browser could not load a page.
        let place = share.connect(most, (connections / 4).max(16));
        let place = place.and_then(|one| Some((one, Arc::clone(&room).try_acquire_owned().ok()?)));
        let Some(place) = place else {
            gateway.bus.news(News::Shed);
            tokio::spawn(no_room(stream));
            continue;
        };
        let (gateway, stage) = (Arc::clone(&gateway), stage.clone());
        tokio::spawn(async move {
            // A socket without a local address has lost its peer.
            let Ok(local) = stream.local_addr() else { return };
            let (peer, pace) = (peer.ip(), Arc::default());
            let connection =
                Connection { peer, local, is_admin, pace, share, stage: stage.clone() };
            serve_connection(stream, connection, gateway, stage).await;
            drop(place);
        });
    }
}

async fn no_room(stream: TcpStream) {
    if let Ok(Ok(())) = tokio::time::timeout(MOMENT, stream.writable()).await {
        // If the write fails, the caller only sees the connection close.
        let _ = stream.try_write(NO_ROOM);
    }
}

/// Limits the kernel's buffer for a caller. A socket that does not support this still works.
fn bound(stream: &TcpStream) {
    // Sends small events at once.
    drop(stream.set_nodelay(true));
    let socket = SockRef::from(stream);
    drop(socket.set_send_buffer_size(KERNEL_BUFFER));
    // The server learns that a reader is slow before the kernel's buffer is full.
    #[cfg(target_os = "linux")]
    drop(socket.set_tcp_notsent_lowat(SEND_BUFFER));
}

async fn serve_connection(
    stream: TcpStream,
    connection: Connection,
    gateway: Arc<Gateway>,
    stage: watch::Receiver<Stage>,
) {
    bound(&stream);
    let pace = Arc::clone(&connection.pace);
    let options = Arc::clone(&gateway.configuration().options);
    let limit = options.write_idle;
    match options.tls.clone() {
        None => talk(Patient::new(stream, pace, limit), connection, gateway, stage).await,
        Some(tls) => {
            let handshake = tls.acceptor().accept(stream);
            // TLS itself reports a failed handshake to the caller.
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, handshake).await {
                // Boxed, because this future is much larger than the one without TLS and would enlarge it.
                Box::pin(talk(Patient::new(stream, pace, limit), connection, gateway, stage)).await;
            }
        }
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    connection: Connection,
    gateway: Arc<Gateway>,
    mut stage: watch::Receiver<Stage>,
) {
    let connection = Arc::new(connection);
    let (pace, limit) = (Arc::clone(&connection.pace), gateway.configuration().options.write_idle);
    let service = service_fn(move |request| {
        let (gateway, connection) = (Arc::clone(&gateway), Arc::clone(&connection));
        async move { Ok::<_, Infallible>(serve_request(&gateway, &connection, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_headers(HEAD_LINES)
        .max_buf_size(HEAD_SIZE.into())
        .preserve_header_case(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING_ANSWER)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_SIZE.into())
        .max_send_buf_size(SEND_BUFFER as usize);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let draining = async {
        // Without a sender the process is ending anyway.
        drop(stage.wait_for(|stage| *stage > Stage::Open).await);
    };
    let stuck = only_stuck(&pace.slots, || pace.answering(), limit);
    tokio::pin!(stuck);
    // An error means that the caller went away.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = stuck.as_mut() => {}
        () = draining => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => drop(ended),
                () = stuck => {}
            }
        }
    }
}
