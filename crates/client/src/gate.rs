//! The gate that each attempt of a request must pass.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Lets the attempts of a request out, one by one: the first, and each further one. A retry policy makes further
/// attempts, and so does a server that accepts only the plainer form.
pub trait Gate: Send + Sync {
    /// Returns when it is decided whether one more attempt may go out.
    fn pass(&self) -> Passing<'_>;

    /// The last byte of the attempt was handed to its connection. Not called for an attempt without a body.
    fn sent(&self) {}

    /// The head of the answer has arrived.
    fn heard(&self) {}
}

/// The body of a try, whole; its gate hears when it is handed to the connection.
pub(crate) struct Sent {
    bytes: Option<Bytes>,
    gate: Option<Arc<dyn Gate>>,
}

impl Sent {
    pub(crate) fn new(bytes: Bytes, gate: Option<Arc<dyn Gate>>) -> Self {
        Sent { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()), gate }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        if let Some(gate) = &self.gate {
            gate.sent();
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

/// Comes later.
pub type Passing<'a> = Pin<Box<dyn Future<Output = Result<(), Held>> + Send + 'a>>;

/// A try that may not go out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The reason, as a sentence for the caller.
    pub message: String,
    /// When it would be let out.
    pub retry_after: Duration,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
