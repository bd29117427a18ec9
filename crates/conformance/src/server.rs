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
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

use crate::exchange::{SimChunk, SimRequest, SimResponse};
use crate::fault::Fault;
use crate::log::LogEntry;
use crate::{Simulator, list};

/// Something that lets a simulator answer, and sees both sides of it.
pub(crate) type Witness = Arc<dyn Fn(&Simulator, &SimRequest) -> SimResponse + Send + Sync>;

/// Something that is told of every request.
pub type Watcher = Arc<dyn Fn(&LogEntry) + Send + Sync>;

/// How the simulators are served.
#[derive(Clone, Default)]
pub struct SimOptions {
    /// A fault in every answer; a request's own `x-sim-fault` wins.
    pub fault: Option<Fault>,
    /// Called after every request with what was seen in it.
    pub log: Option<Watcher>,
}

impl fmt::Debug for SimOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimOptions")
            .field("fault", &self.fault)
            .field("log", &self.log.is_some())
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
    let house = Arc::new(House { simulators, log: options.log, witness });
    let task = tokio::spawn(async move {
        loop {
            // A failed accept is a peer that went away or a lack of descriptors that passes; the listener stays.
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, Arc::clone(&house)));
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
            log,
        }
    }
}

async fn connection(stream: TcpStream, house: Arc<House>) {
    // Small events must leave at once; a socket that cannot do that still works.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let house = Arc::clone(&house);
        async move { Ok::<_, Infallible>(respond(&house, request).await) }
    });
    // A broken connection is a client that went away, or our own scripted cut.
    drop(
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

async fn respond(house: &House, request: Request<Incoming>) -> Response<Script> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Response::new(Script::of(Vec::new(), true));
    };
    let headers = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let request = SimRequest {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        headers: headers.collect(),
        body: body.to_bytes().to_vec(),
    };
    let answer = house.answer(&request);
    let mut builder =
        Response::builder().status(StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK));
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    let script = Script::of(answer.body, answer.cut);
    builder.body(script).unwrap_or_else(|_| Response::new(Script::of(Vec::new(), true)))
}

/// Long enough for the runtime to do other work, too short to notice.
const MOMENT: Duration = Duration::from_millis(10);

/// A body that is sent piece by piece, with its pauses, and may break off.
struct Script {
    chunks: std::vec::IntoIter<SimChunk>,
    /// What comes after a pause.
    waiting: Option<(Pin<Box<tokio::time::Sleep>>, io::Result<Bytes>)>,
    cut: bool,
}

impl Script {
    fn of(chunks: Vec<SimChunk>, cut: bool) -> Self {
        Self { chunks: chunks.into_iter(), waiting: None, cut }
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
                    (MOMENT, Err(io::Error::other("the scripted cut")))
                }
                None => return Poll::Ready(None),
            };
            if pause.is_zero() {
                return Poll::Ready(Some(next.map(Frame::data)));
            }
            this.waiting = Some((Box::pin(tokio::time::sleep(pause)), next));
        }
    }
}
