//! `GET /v1/events`: checks the right to listen, and sends events as lines (server-sent events) or messages
//! (WebSocket).

mod socket;

use crate::load::Holder;
use crate::observe::events::{Encoded, Listener, Subscription};
use crate::rejection::{Rejection, rejection};
use crate::request::identity::{Grant, Identity};
use crate::respond::flow::Flow;
use crate::respond::patient::Pace;
use crate::respond::reply::refusal;
use crate::state::{RequestState, Stage, closing};
use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The interval of keep-alive messages to a listener.
const STILL_HERE: Duration = Duration::from_secs(10);

/// Streams events about the caller's own requests.
pub(crate) async fn answer(
    state: &RequestState,
    pace: &Arc<Pace>,
    mut parts: Parts,
) -> Response<Flow> {
    let granted = Identity::caller(state).grant().await;
    let holder = state.load.holder().clone();
    let answer = granted.and_then(|grant| hear(state, pace, &mut parts, (grant, holder)));
    answer.unwrap_or_else(|rejection| refusal(None, &rejection))
}

/// Streams events of the requests that a grant covers, until the grant ends. The stream takes one of the holder's
/// places.
pub(crate) fn hear(
    state: &RequestState,
    pace: &Arc<Pace>,
    parts: &mut Parts,
    (grant, holder): (Grant, Holder),
) -> Result<Response<Flow>, Rejection> {
    let events = state.options.events.as_ref().ok_or_else(|| {
        rejection(404, "not_found", "this gateway announces nothing at `/v1/events`")
    })?;
    let mut subscription = Subscription::of(parts.uri.query()).map_err(|problem| {
        rejection(
            400,
            "invalid_request_error",
            format!("`/v1/events` cannot be asked so: {problem}"),
        )
    })?;
    if subscription.after.is_none() {
        subscription.after = last(&parts.headers);
    }
    let is_socket = socket::is_wanted(&parts.headers);
    let socket = if is_socket { Some(socket::Handshake::of(parts)?) } else { None };
    let place = state.load.pools.listeners.take(&holder).map_err(|_| {
        rejection(503, "too_many_listeners", "too many listen already; end one, or try again later")
    })?;
    let listener = events.listen(grant.scope().clone(), subscription).in_place(place);
    let stage = state.stage.clone();
    Ok(match socket {
        Some(handshake) => handshake.take(listener, Arc::clone(pace), stage, grant),
        None => lines(listener, stage, grant),
    })
}

/// The id of the last event that a client received before its connection broke.
fn last(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("last-event-id")?.to_str().ok()?;
    Some(id.to_owned()).filter(|id| !id.is_empty())
}

/// Sends events as server-sent events.
fn lines(listener: Listener, stage: watch::Receiver<Stage>, grant: Grant) -> Response<Flow> {
    let (out, read) = mpsc::channel(1);
    tokio::spawn(async move {
        tokio::select! {
            () = speak(listener, out, stage) => {}
            () = grant.ended() => {}
        }
    });
    let mut answer = Response::new(Flow::own(read));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        // Stops proxies from buffering the stream.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Sends events until the listener leaves or the gateway shuts down.
async fn speak(
    mut listener: Listener,
    out: mpsc::Sender<Bytes>,
    mut stage: watch::Receiver<Stage>,
) {
    // A client whose connection breaks before the first event can resume from this id.
    let first = format!(": listening\nretry: 1000\nid: {}\n\n", listener.id());
    let mut bytes = Bytes::from(first);
    while out.send(bytes).await.is_ok() {
        bytes = tokio::select! {
            told = listener.next() => written(&told),
            () = tokio::time::sleep(STILL_HERE) => Bytes::from_static(b": still here\n\n"),
            () = closing(&mut stage) => return,
            () = out.closed() => return,
        };
    }
}

fn written(told: &[Encoded]) -> Bytes {
    let mut out = String::new();
    for Encoded { id, json } in told {
        for part in ["id: ", id, "\ndata: ", json, "\n\n"] {
            out.push_str(part);
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::events::{Events, Scope};
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_mask::{Masker, Tiers};

    #[tokio::test(start_paused = true)]
    async fn a_listener_hears_that_somebody_is_there_and_that_it_ends() {
        let events = Events::masked_by(Arc::new(|| Masker::new(Tiers::ALL, &[7; 32])));
        let scope = Scope::Tenants(vec![Tenant::local()]);
        let listener = events.listen(scope, Subscription::default());
        let (stage, staged) = watch::channel(Stage::Open);
        let (out, mut read) = mpsc::channel(1);
        tokio::spawn(speak(listener, out, staged));
        let first = String::from_utf8(read.recv().await.unwrap().to_vec()).unwrap();
        assert!(first.starts_with(": listening\nretry: 1000\nid: "), "{first}");
        let began = tokio::time::Instant::now();
        assert_eq!(read.recv().await.unwrap(), ": still here\n\n");
        assert!(began.elapsed() >= STILL_HERE);
        stage.send(Stage::Draining).unwrap();
        assert_eq!(read.recv().await, None);
    }
}
