//! Taking connections, and stopping in good order.

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

/// How long a caller may take for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may be idle between two requests.
const IDLE: Duration = Duration::from_secs(60);
/// How much of one streamed answer may wait for a slow reader, in the process and in the kernel. The kernel takes twice
/// this size.
const SEND_BUFFER: u32 = 16 * 1024;
const KERNEL_BUFFER: usize = 32 * 1024;
/// The greatest head of a request.
const HEAD_SIZE: u16 = u16::MAX;
/// Answers at a time on one HTTP/2 connection.
const STREAMS: u32 = 256;
/// A caller that went away without a word is found out this way.
const PING: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(20);
/// Long enough for the runtime to do other work, too short to notice.
const MOMENT: Duration = Duration::from_millis(10);
/// How long callers have to take the last words of answers that were ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What somebody hears for whom there is no room.
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
    /// Carries what is learned to the vaults, where there are any.
    sharing: Option<Sharing>,
}

impl Running {
    /// The address on which requests are taken.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The bytes that requests and answers hold now, and their peak since the last call.
    #[must_use]
    pub fn bytes_in_flight(&self) -> (usize, usize) {
        self.gateway.budget.held_and_most()
    }

    /// Comes back when it was asked once what refusals taught before, or after so long.
    pub async fn informed(&self, limit: Duration) {
        if let Some(sharing) = &self.sharing {
            sharing.asked(limit).await;
        }
    }

    /// Serves metrics on a listener of their own too.
    pub fn admin(&mut self, listener: TcpListener) {
        let accepting = accept(listener, Arc::clone(&self.gateway), self.stage.subscribe(), true);
        self.tasks.push(tokio::spawn(accepting));
    }

    /// Requests that come from now on see other models and options; those under way keep theirs.
    pub fn reload(&self, models: Arc<dyn Models>, options: Options) {
        self.gateway.change(models, options);
    }

    /// Says at once that no further work is to be sent here, but takes it for `delay`, until whoever balances the load
    /// has noticed. Then takes no further connections, lets answers that are under way come to their end, and ends
    /// those that take longer than `limit` with an error in the words of their wire.
    pub async fn drain(mut self, delay: Duration, limit: Duration) {
        self.gateway.close();
        tokio::time::sleep(delay).await;
        // Without a receiver there is nobody left to tell.
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

/// Takes requests on `listener`. Without `vaults` no thought is kept and none put back.
///
/// # Errors
/// When the listener's address cannot be read.
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
        // A failed accept is a peer that went away or a lack of descriptors that passes; the listener stays.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(MOMENT).await;
            continue;
        };
        let share = gateway.budget.caller(peer.ip());
        let most = gateway.configuration().options.connections_per_address;
        // A few must always be granted, or a browser could not load a page.
        let place = share.connect(most, (connections / 4).max(16));
        let place = place.and_then(|one| Some((one, Arc::clone(&room).try_acquire_owned().ok()?)));
        let Some(place) = place else {
            gateway.bus.news(News::Shed);
            tokio::spawn(no_room(stream));
            continue;
        };
        let (gateway, stage) = (Arc::clone(&gateway), stage.clone());
        tokio::spawn(async move {
            // A socket that cannot say where it is has no peer any more.
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
        // Whoever cannot hear it sees the connection close.
        let _ = stream.try_write(NO_ROOM);
    }
}

/// Bounds what the kernel holds for a caller. A socket that cannot do that still works.
fn bound(stream: &TcpStream) {
    // Small events must leave at once.
    drop(stream.set_nodelay(true));
    let socket = SockRef::from(stream);
    drop(socket.set_send_buffer_size(KERNEL_BUFFER));
    // The server hears that a reader is slow before the kernel's buffer is full.
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
            // A handshake that fails is the caller's affair; it has been told why.
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, handshake).await {
                // Much larger than without TLS, where it would else make as much room.
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
        // Without a sender the process ends anyway.
        drop(stage.wait_for(|stage| *stage > Stage::Open).await);
    };
    let stuck = only_stuck(&pace.slots, || pace.answering(), limit);
    tokio::pin!(stuck);
    // A broken connection is a caller that went away.
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
