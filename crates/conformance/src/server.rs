//! All simulators behind one listener, for clients that need a real connection.

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

/// Something that lets a simulator answer, and sees both sides of it.
pub(crate) type Witness = Arc<dyn Fn(&Simulator, &SimRequest) -> SimResponse + Send + Sync>;

/// Something that is told of every request.
pub type Watcher = Arc<dyn Fn(&LogEntry) + Send + Sync>;

/// Something that is told of every answer that was left.
pub type Leaver = Arc<dyn Fn(&Left) + Send + Sync>;

/// How the simulators are served.
#[derive(Clone, Default)]
pub struct SimOptions {
    /// A fault in every answer; a request's own `x-sim-fault` wins.
    pub fault: Option<Fault>,
    /// Called after every request with what was seen in it.
    pub log: Option<Watcher>,
    /// Called when a client leaves an answer before its end.
    pub left: Option<Leaver>,
    /// The certificate; without it plain HTTP is spoken.
    pub tls: Option<SimTls>,
}

/// An answer that its client did not hear to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which connection it was on, counted from 1: two on the same one were left without closing it.
    pub connection: usize,
    /// The request's path.
    pub path: String,
    /// It was on HTTP/2.
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

/// Running simulators; they stop when this is dropped.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl Running {
    /// The address on which requests are taken.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Something that stops the server from elsewhere.
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.abort_handle()
    }

    /// Waits until the server is stopped.
    pub async fn stopped(mut self) {
        // An aborted task is the only way to end, so there is nothing to report.
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
/// The listener's address cannot be read.
pub fn serve(listener: TcpListener, options: SimOptions) -> io::Result<Running> {
    serve_before(listener, options, Arc::new(Simulator::handle))
}

/// As [`serve`], with a witness between the socket and the simulators.
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
            // A failed accept is a peer that went away or a lack of descriptors that passes; the listener stays.
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
    // Small events must leave at once; a socket that cannot do that still works.
    drop(stream.set_nodelay(true));
    match tls {
        None => talk(stream, number, house).await,
        Some(tls) => {
            // A handshake that fails is the client's affair; it has been told why.
            if let Ok(stream) = tls.acceptor().accept(stream).await {
                talk(stream, number, house).await;
            }
        }
    }
}

/// Speaks HTTP/1.1 or HTTP/2, as the client begins.
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
    // A broken connection is a client that went away, or our own scripted cut.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = going.notified() => {
            connection.as_mut().graceful_shutdown();
            // The peer hears it before the end.
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

/// By then a connection that goes away is gone.
const LONG: Duration = Duration::from_secs(60);

/// Long enough for the runtime to do other work, too short to notice.
const MOMENT: Duration = Duration::from_millis(10);

/// A body that is sent piece by piece, with its pauses, and may break off.
struct Script {
    chunks: std::vec::IntoIter<SimChunk>,
    /// What comes after a pause.
    waiting: Option<(Pin<Box<tokio::time::Sleep>>, io::Result<Bytes>)>,
    cut: bool,
    /// Told in place of the cut, where the connection goes with it.
    going: Option<Arc<Notify>>,
    /// Who is told if nobody hears the end; gone when it came.
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
                    // What was sent so far must reach the peer before the connection breaks.
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
