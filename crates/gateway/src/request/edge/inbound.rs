//! A caller's body, which may be left unread.

use bytes::Bytes;
use http::HeaderMap;
use http::header::EXPECT;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The most bytes of an unread body that are discarded.
const MOST: u64 = 256 * 1024 * 1024;
/// The longest time for discarding, and the longest silence of the caller meanwhile.
const TIME: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(2);

/// A caller's body. If a request is answered before its body was read, the gateway reads and discards the rest.
/// Closing the connection while bytes arrive would reset it, and the caller would lose the answer that says why the
/// body was refused.
#[derive(Debug)]
pub(crate) struct Inbound {
    body: Option<Incoming>,
    /// Whether the caller waits for `100 Continue` before it sends the body.
    waits: bool,
}

impl Inbound {
    pub(crate) fn new(headers: &HeaderMap, body: Incoming) -> Self {
        let waits = headers
            .get(EXPECT)
            .is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        Inbound { body: Some(body), waits }
    }
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // Polling the body sends `100 Continue`.
        self.waits = false;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        let body = self.body.take().filter(|body| !self.waits && !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (body, Handle::try_current()) {
            runtime.spawn(discard(body));
        }
    }
}

async fn discard(mut body: Incoming) {
    let all = async {
        let mut read = 0;
        while let Ok(Some(Ok(frame))) = timeout(SILENCE, body.frame()).await {
            read += frame.data_ref().map_or(0, |data| data.len() as u64);
            if read > MOST {
                break;
            }
        }
    };
    // A caller that sends for longer is cut off.
    drop(timeout(TIME, all).await);
}
