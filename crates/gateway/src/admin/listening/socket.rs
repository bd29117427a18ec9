//! Events as messages of a WebSocket (RFC 6455), one message an event. Messages of the client are ignored.

use super::STILL_HERE;
use crate::observe::events::Listener;
use crate::rejection::{Rejection, rejection};
use crate::request::identity::Grant;
use crate::respond::flow::Flow;
use crate::respond::patient::Pace;
use crate::state::{Stage, closing};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Response, StatusCode, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The GUID that RFC 6455 joins to the client's key.
const JOINED: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The longest message of a client. A listener has no reason for longer ones.
const LONGEST: usize = 4 * 1024;
/// The longest time that the closing handshake may take.
const CLOSING: Duration = Duration::from_secs(1);

const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// Whether a request asks for a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let is_it = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    headers.get_all(UPGRADE).iter().any(is_it)
}

/// A valid opening handshake.
pub(super) struct Handshake {
    accept: HeaderValue,
    upgrade: OnUpgrade,
}

impl Handshake {
    /// Reads and checks the client's handshake.
    pub(super) fn of(parts: &mut Parts) -> Result<Self, Rejection> {
        let refuse = |message: &str| rejection(400, "invalid_request_error", message);
        let key = parts.headers.get(KEY).filter(|_| parts.version == Version::HTTP_11);
        let key = key
            .and_then(|key| key.to_str().ok())
            .filter(|key| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16));
        let key = key.ok_or_else(|| {
            refuse("a WebSocket begins with HTTP/1.1 and a `sec-websocket-key` of 16 bytes")
        })?;
        if parts.headers.get(VERSION).is_none_or(|version| version.as_bytes() != b"13") {
            return Err(refuse("only version 13 of WebSocket is spoken here"));
        }
        let accept = HeaderValue::try_from(accept(key)).map_err(|_| refuse("no such key"))?;
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let upgrade = upgrade.ok_or_else(|| refuse("this connection cannot become a WebSocket"))?;
        Ok(Handshake { accept, upgrade })
    }

    /// Accepts the handshake, and starts to send events.
    pub(super) fn take(
        self,
        listener: Listener,
        pace: Arc<Pace>,
        stage: watch::Receiver<Stage>,
        grant: Grant,
    ) -> Response<Flow> {
        let Handshake { accept, upgrade } = self;
        let busy = Busy::new(pace);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrade.await {
                speak(upgraded, listener, stage, grant).await;
            }
            drop(busy);
        });
        let mut answer = Response::new(Flow::whole(Bytes::new()));
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(ACCEPT, accept);
        answer
    }
}

/// The `sec-websocket-accept` value for a client's key.
fn accept(key: &str) -> String {
    let joined = format!("{key}{JOINED}");
    // RFC 6455 prescribes SHA-1. The digest protects no data.
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, joined.as_bytes());
    STANDARD.encode(digest)
}

/// Marks a connection as busy, so that it does not count as one waiting for a request head.
struct Busy(Arc<Pace>);

impl Busy {
    fn new(pace: Arc<Pace>) -> Self {
        pace.asked();
        Busy(pace)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answered();
    }
}

async fn speak(
    upgraded: Upgraded,
    mut listener: Listener,
    mut stage: watch::Receiver<Stage>,
    grant: Grant,
) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LONGEST))
        .max_frame_size(Some(LONGEST))
        .write_buffer_size(LONGEST);
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let end = tokio::select! {
        end = talk(&mut socket, &mut listener, &mut stage) => end,
        () = grant.ended() => {
            let reason = "the key does not hold any more".into();
            Ok(Some(CloseFrame { code: CloseCode::Policy, reason }))
        }
    };
    // A client that went away receives no close frame.
    if let Ok(Some(end)) = end {
        drop(tokio::time::timeout(CLOSING, socket.close(Some(end))).await);
    }
}

/// Sends events. Returns the close frame to send, or `None` if the client closed the connection.
async fn talk(
    socket: &mut WebSocketStream<TokioIo<Upgraded>>,
    listener: &mut Listener,
    stage: &mut watch::Receiver<Stage>,
) -> Result<Option<CloseFrame>, Error> {
    loop {
        tokio::select! {
            told = listener.next() => {
                for one in told {
                    socket.feed(Message::text(one.json)).await?;
                }
                socket.flush().await?;
            }
            came = socket.next() => match came {
                None => return Ok(None),
                Some(Ok(Message::Close(_))) => {
                    // Flushes the reply to the client's close frame.
                    socket.flush().await?;
                    return Ok(None);
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
            },
            () = tokio::time::sleep(STILL_HERE) => {
                socket.send(Message::Ping(Bytes::new())).await?;
            }
            () = closing(stage) => {
                let reason = "the gateway is being stopped".into();
                return Ok(Some(CloseFrame { code: CloseCode::Away, reason }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_is_answered_as_the_standard_shows() {
        // The example of RFC 6455, section 1.3.
        assert_eq!(super::accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
