//! The simulated providers, in this process.

use std::sync::Arc;
use std::time::Duration;
use thinkthrough_client::{BodyStream, InProcess, InProcessAnswer, Response, Transport};
use thinkthrough_conformance::{SimRequest, SimResponse, Simulator};

/// A simulator behind the interface of an upstream.
struct Upstream {
    simulator: Simulator,
    /// How long each piece of an answer takes.
    pace: Duration,
}

/// A transport to the simulator of this id.
pub(crate) fn transport(id: &str) -> Option<Transport> {
    paced(id, Duration::ZERO)
}

/// The same for people: it thinks about as fast as it can be read.
pub(crate) fn readable(id: &str) -> Option<Transport> {
    paced(id, Duration::from_millis(12))
}

fn paced(id: &str, pace: Duration) -> Option<Transport> {
    let simulator = Simulator::find(id)?;
    Some(Transport::in_process(Arc::new(Upstream { simulator, pace })))
}

impl InProcess for Upstream {
    fn handle(&self, request: http::Request<bytes::Bytes>) -> InProcessAnswer<'_> {
        let (head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let request =
            SimRequest { method: head.method.to_string(), path, headers, body: body.to_vec() };
        Box::pin(async move { Ok(answer(self.simulator.respond(request).await, self.pace)) })
    }
}

/// The simulator's answer, with its pauses.
fn answer(said: SimResponse, pace: Duration) -> Response {
    let status = http::StatusCode::from_u16(said.status).unwrap_or(http::StatusCode::BAD_GATEWAY);
    let mut headers = http::HeaderMap::new();
    for (name, value) in &said.headers {
        if let (Ok(name), Ok(value)) =
            (http::HeaderName::try_from(name.as_str()), http::HeaderValue::try_from(value.as_str()))
        {
            headers.append(name, value);
        }
    }
    let (sender, body) = BodyStream::channel();
    let (chunks, is_cut) = (said.body, said.cut);
    // The task ends with the last chunk, or when the reader is gone.
    tokio::spawn(async move {
        for chunk in chunks {
            let pause = chunk.pause.max(pace);
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            if !sender.send(chunk.bytes).await {
                return;
            }
        }
        if is_cut {
            sender.cut("the simulator cut the connection, as it was told to").await;
        }
    });
    Response::new(status, headers, body)
}
