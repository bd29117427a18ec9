//! A server that does exactly what a test writes down, byte for byte.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// How many connections a server has taken.
pub(crate) type Count = Arc<AtomicUsize>;

/// Runs a script for each connection; it gets the connection and its number, from 0.
pub(crate) async fn serve<F, R>(script: F) -> (SocketAddr, Count)
where
    F: Fn(Peer<TcpStream>, usize) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Count::default();
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let number = counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(script(Peer::new(stream), number));
        }
    });
    (address, count)
}

/// Answers each request of each connection with the same bytes.
pub(crate) async fn serve_answer(answer: &'static str) -> (SocketAddr, Count) {
    serve(move |mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.write(answer).await;
        }
    })
    .await
}

/// A whole answer with a body, as a server would send it.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The server's side of one connection.
pub(crate) struct Peer<S> {
    pub(crate) stream: S,
    pending: Vec<u8>,
}

/// A request as it stood on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The header lines, without the request line.
    pub(crate) fn headers(&self) -> Vec<&str> {
        self.head.lines().skip(1).filter(|line| !line.is_empty()).collect()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, pending: Vec::new() }
    }

    /// Reads the next request, or notices that the client is gone.
    pub(crate) async fn request(&mut self) -> Option<Seen> {
        let end = loop {
            if let Some(at) = self.pending.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill().await?;
        };
        let head = String::from_utf8(self.pending.drain(..end).collect()).unwrap();
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
            })
            .unwrap_or(0);
        while self.pending.len() < length {
            self.fill().await?;
        }
        Some(Seen { head, body: self.pending.drain(..length).collect() })
    }

    /// Writes and lets the bytes go; a client that is gone is no fault of the server.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Waits until the client closes the connection, whatever it still sends.
    pub(crate) async fn gone(&mut self) {
        while self.fill().await.is_some() {}
    }

    async fn fill(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.pending).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }
}

impl Peer<TcpStream> {
    /// Ends the connection with a reset instead of a proper end.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

/// Speaks HTTP/2 on one connection; `answer` makes each answer.
pub(crate) async fn speak_h2<S, F, R>(stream: S, max_streams: u32, answer: F)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    F: Fn(http::Request<Incoming>) -> R + Send + Clone + 'static,
    R: Future<Output = http::Response<Flow>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = answer.clone();
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    // A client that goes away ends the connection with an error, which is what some tests are about.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(max_streams)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// A body that a test writes step by step, and that tells when its reader is gone.
pub(crate) struct Flow {
    chunks: mpsc::UnboundedReceiver<Result<Bytes, &'static str>>,
    _gone: oneshot::Sender<()>,
}

/// The writing end of a [`Flow`].
pub(crate) struct Tap {
    chunks: mpsc::UnboundedSender<Result<Bytes, &'static str>>,
    gone: oneshot::Receiver<()>,
}

pub(crate) fn flow() -> (Tap, Flow) {
    let (sender, chunks) = mpsc::unbounded_channel();
    let (_gone, gone) = oneshot::channel();
    (Tap { chunks: sender, gone }, Flow { chunks, _gone })
}

/// A body that is all there.
pub(crate) fn full(body: &'static str) -> Flow {
    let (tap, flow) = flow();
    tap.write(body);
    flow
}

impl Tap {
    pub(crate) fn write(&self, chunk: &'static str) {
        self.chunks.send(Ok(Bytes::from_static(chunk.as_bytes()))).unwrap();
    }

    /// Resets the stream in the middle.
    pub(crate) fn break_off(self) {
        self.chunks.send(Err("broken off")).unwrap();
    }

    /// Waits until the reader is gone.
    pub(crate) async fn gone(self) {
        // The sending half is never used, so the only news is that it was dropped.
        let _ = self.gone.await;
    }
}

impl http_body::Body for Flow {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.chunks.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

/// An address where nobody listens, and what keeps it from everybody else meanwhile.
pub(crate) fn refusing() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

/// Fails a test that waits for something which does not come. Other programs may keep the machine busy meanwhile.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(60), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain: {what}"),
    }
}
