//! Serves all simulators behind one listener, for clients that need a real connection.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle};

use crate::exchange::{SimChunk, SimRequest, SimResponse};
use crate::fault::Fault;
use crate::log::LogEntry;
use crate::simulator::aside;
use crate::tls::SimTls;
use crate::{Simulator, list};

/// Asks a simulator for its response, and may look at both or replace the response.
pub(crate) type Witness = Arc<dyn Fn(&Simulator, &SimRequest) -> SimResponse + Send + Sync>;

/// A callback for the log of every request.
pub type Watcher = Arc<dyn Fn(&LogEntry) + Send + Sync>;

/// A callback for every answer that its client left.
pub type Leaver = Arc<dyn Fn(&Left) + Send + Sync>;

/// Options of the server.
#[derive(Clone, Default)]
pub struct SimOptions {
    /// A fault in every answer. The header `x-sim-fault` of a request takes precedence.
    pub fault: Option<Fault>,
    /// Called with the log of every request.
    pub log: Option<Watcher>,
    /// Called when a client leaves an answer before its end.
    pub left: Option<Leaver>,
    /// The certificate. Without it the server speaks plain HTTP.
    pub tls: Option<SimTls>,
}

/// An answer that its client left before the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Number of the connection, from 1. If two such answers have the same number, the client left
    /// the first one without closing the connection.
    pub connection: usize,
    /// The path of the request.
    pub path: String,
    /// The request came over HTTP/2.
    pub is_http2: bool,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Left { connection, path, is_http2 } = self;
        let version = if *is_http2 { "HTTP/2" } else { "HTTP/1.1" };
        write!(f, "the client left the answer to {path} ({version}, connection {connection})")
    }
}

impl fmt::Debug for SimOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimOptions")
            .field("fault", &self.fault)
            .field("log", &self.log.is_some())
            .field("left", &self.left.is_some())
            .field("tls", &self.tls.is_some())
            .finish()
    }
}

/// Running simulators. They stop when this value is dropped.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl Running {
    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A handle that stops the server from elsewhere.
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.abort_handle()
    }

    /// Waits until the server stops.
    pub async fn stopped(mut self) {
        // The task ends only when it is aborted, so that its result has no information.
        drop((&mut self.task).await);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves all simulators on a listener, each under `/<id>`.
///
/// # Errors
///
/// Returns an error if the address of the listener cannot be read.
pub fn serve(listener: TcpListener, options: SimOptions) -> io::Result<Running> {
    serve_before(listener, options, Arc::new(Simulator::handle))
}

/// Like [`serve`], with a witness between the socket and the simulators.
pub(crate) fn serve_before(
    listener: TcpListener,
    options: SimOptions,
    witness: Witness,
) -> io::Result<Running> {
    let addr = listener.local_addr()?;
    let simulators = list()
        .iter()
        .filter_map(|row| Simulator::find(row.id))
        .map(|simulator| simulator.with_fault(options.fault.clone()))
        .collect();
    let SimOptions { log, left, tls, .. } = options;
    let house = Arc::new(House { simulators, log, left, witness });
    let task = tokio::spawn(async move {
        let mut number = 0;
        loop {
            // A failed accept means that the peer left or that descriptors are short for a while.
            // The listener stays open.
            if let Ok((stream, _)) = listener.accept().await {
                number += 1;
                tokio::spawn(connection(stream, tls.clone(), number, Arc::clone(&house)));
            } else {
                tokio::time::sleep(MOMENT).await;
            }
        }
    });
    Ok(Running { addr, task })
}

struct House {
    simulators: Vec<Simulator>,
    log: Option<Watcher>,
    left: Option<Leaver>,
    witness: Witness,
}

impl House {
    fn answer(&self, request: &SimRequest) -> SimResponse {
        let id = request.route().split('/').nth(1).unwrap_or_default();
        let found = self.simulators.iter().find(|simulator| simulator.id() == id);
        let response =
            found.map_or_else(|| self.unknown(request, id), |found| (self.witness)(found, request));
        if let Some(log) = &self.log {
            log(&response.log);
        }
        response
    }

    fn unknown(&self, request: &SimRequest, id: &str) -> SimResponse {
        let known: Vec<&str> = self.simulators.iter().map(Simulator::id).collect();
        let text = format!("no simulator `{id}`; the path begins with one of {}", known.join(", "));
        let body = json!({"error": {"message": text, "type": "not_found"}}).to_string();
        let log = LogEntry {
            method: request.method.clone(),
            path: request.route().to_owned(),
            status: 404,
            refusal: Some(text),
            ..LogEntry::default()
        };
        SimResponse {
            status: 404,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: vec![SimChunk { pause: Duration::ZERO, bytes: body.into_bytes() }],
            cut: false,
            goaway: false,
            log,
        }
    }
}

async fn connection(stream: TcpStream, tls: Option<SimTls>, number: usize, house: Arc<House>) {
    // Small events must leave at once. If the socket cannot do that, it still works.
    drop(stream.set_nodelay(true));
    match tls {
        None => talk(stream, number, house).await,
        Some(tls) => {
            // A failed handshake needs no report here. TLS has sent its alert to the client.
            if let Ok(stream) = tls.acceptor().accept(stream).await {
                talk(stream, number, house).await;
            }
        }
    }
}

/// Speaks HTTP/1.1 or HTTP/2, as the client chooses.
async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    number: usize,
    house: Arc<House>,
) {
    let going = Arc::new(Notify::new());
    let script = Arc::clone(&going);
    let service = service_fn(move |request| {
        let (house, going) = (Arc::clone(&house), Arc::clone(&script));
        async move { Ok::<_, Infallible>(respond(&house, number, going, request).await) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // An error here means that the client left or that a scripted cut broke the connection.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = going.notified() => {
            connection.as_mut().graceful_shutdown();
            // The GOAWAY frame must reach the peer before the connection closes.
            drop(tokio::time::timeout(MOMENT, connection).await);
        }
    }
}

async fn respond(
    house: &Arc<House>,
    connection: usize,
    going: Arc<Notify>,
    request: Request<Incoming>,
) -> Response<Script> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Response::new(Script::of(Vec::new(), true));
    };
    let is_http2 = parts.version == hyper::Version::HTTP_2;
    let left = Left { connection, path: parts.uri.path().to_owned(), is_http2 };
    let headers = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let request = SimRequest {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        headers: headers.collect(),
        body: body.to_bytes().to_vec(),
    };
    let answering = Arc::clone(house);
    let answer = aside(request.body.len(), move || answering.answer(&request)).await;
    let mut builder =
        Response::builder().status(StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK));
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    let mut script = Script::of(answer.body, answer.cut);
    script.going = answer.goaway.then_some(going);
    script.left = house.left.clone().map(|tell| (tell, left));
    builder.body(script).unwrap_or_else(|_| Response::new(Script::of(Vec::new(), true)))
}

fn broken() -> io::Result<Bytes> {
    Err(io::Error::other("the scripted cut"))
}

/// Longer than the end of a connection with GOAWAY takes.
const LONG: Duration = Duration::from_secs(60);

/// Long enough for the runtime to do other work, too short to be noticed.
const MOMENT: Duration = Duration::from_millis(10);

/// A body that is sent in pieces with pauses, and that may break off.
struct Script {
    chunks: std::vec::IntoIter<SimChunk>,
    /// The next frame, after its pause.
    waiting: Option<(Pin<Box<tokio::time::Sleep>>, io::Result<Bytes>)>,
    cut: bool,
    /// Ends the whole connection in place of the stream.
    going: Option<Arc<Notify>>,
    /// The report for a client that leaves early. Removed at the end of the body.
    left: Option<(Leaver, Left)>,
}

impl Script {
    fn of(chunks: Vec<SimChunk>, cut: bool) -> Self {
        Self { chunks: chunks.into_iter(), waiting: None, cut, going: None, left: None }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if let Some((tell, left)) = self.left.take() {
            tell(&left);
        }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        loop {
            if let Some((sleep, _)) = &mut this.waiting {
                ready!(sleep.as_mut().poll(cx));
            }
            if let Some((_, next)) = this.waiting.take() {
                return Poll::Ready(Some(next.map(Frame::data)));
            }
            let (pause, next) = match this.chunks.next() {
                Some(chunk) => (chunk.pause, Ok(Bytes::from(chunk.bytes))),
                None if this.cut => {
                    // The sent bytes must reach the peer before the connection breaks.
                    this.cut = false;
                    this.left = None;
                    if let Some(going) = this.going.take() {
                        going.notify_one();
                        this.waiting = Some((Box::pin(tokio::time::sleep(LONG)), broken()));
                        continue;
                    }
                    (MOMENT, broken())
                }
                None => {
                    this.left = None;
                    return Poll::Ready(None);
                }
            };
            if pause.is_zero() {
                return Poll::Ready(Some(next.map(Frame::data)));
            }
            this.waiting = Some((Box::pin(tokio::time::sleep(pause)), next));
        }
    }
}
