use std::fmt;
use std::time::Duration;

use http::Uri;

use crate::gate::Held;

/// Why a request did not bring a whole answer.
///
/// An HTTP status is never an error here: 429 and 500 are answers.
/// No message carries a credential, a query string or the user part of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The connection ended before the answer did.
    ///
    /// The upstream, or something between, gave up; every byte before the end has been delivered,
    /// but the answer is truncated and must never count as complete.
    #[error(
        "`{target}` closed the connection {} ({detail}); ask again",
        Received(.received.as_ref())
    )]
    Closed {
        /// The address that was asked.
        target: String,
        /// The received bytes of the body; `None` if not even the head of the answer arrived.
        received: Option<u64>,
        /// The error of the connection.
        detail: String,
    },
    /// A stream exceeds a limit.
    #[error("`{target}` sent {what} than the limit of {limit}; raise `client.{}` if it is honest", .what.setting())]
    Excess {
        /// The address that was asked.
        target: String,
        /// The part that exceeds the limit.
        what: Excess,
        /// The limit.
        limit: usize,
    },
    /// The configuration cannot work for any request: the user has to change it.
    #[error("{0}")]
    Config(String),
    /// No connection to the server: it is not running, or the address is wrong.
    #[error("cannot connect to `{target}` ({detail}); check the base URL and that the server runs")]
    Connect {
        /// The address that was tried.
        target: String,
        /// The error of the operating system.
        detail: String,
    },
    /// The host's name has no address: a typing error, or no network.
    #[error("cannot find the host `{host}` ({detail}); check the base URL and the network")]
    Dns {
        /// The name that was looked up.
        host: String,
        /// The error of the resolver.
        detail: String,
    },
    /// The answer is not HTTP, or has an encoding that was not requested.
    ///
    /// The upstream is at fault, or the address belongs to something else.
    #[error(
        "`{target}` sent an answer that is not valid HTTP ({detail}); check that the base URL is an API"
    )]
    Protocol {
        /// The address that was asked.
        target: String,
        /// The rule that was broken.
        detail: String,
    },
    /// The request's own gate held it back; no request was sent.
    #[error("{0}")]
    Held(Held),
    /// The proxy refused or failed; the server behind it was never reached.
    #[error(
        "the proxy `{proxy}` {detail}; check `client.proxy`, or the proxy variables of the environment"
    )]
    Proxy {
        /// The proxy, without its credential.
        proxy: String,
        /// The failure of the proxy, as the rest of a sentence.
        detail: String,
        /// Whether a later try may succeed.
        transient: bool,
    },
    /// The server answered with a redirect, which is never followed: it would carry the key elsewhere.
    #[error(
        "`{target}` answered {status} with a redirect to `{location}`, which is not followed; \
         if it is right, make it the base URL"
    )]
    Redirect {
        /// The address that was asked.
        target: String,
        /// The redirect's status.
        status: u16,
        /// The target of the redirect, without its query.
        location: String,
    },
    /// The request itself cannot be sent: its URL, a header or a credential is malformed.
    #[error("{0}")]
    Request(String),
    /// Nothing arrived for too long in one phase of the request.
    #[error(
        "`{target}` {phase} within {}; raise `client.{}` if that is too short",
        Seconds(*.after),
        .phase.setting()
    )]
    Timeout {
        /// The address that was asked.
        target: String,
        /// The phase in which the time ran out.
        phase: Phase,
        /// How long.
        after: Duration,
    },
    /// The server could not prove who it is, or does not speak TLS at all.
    #[error("no trusted connection to `{host}`: {detail}")]
    Tls {
        /// The host, or the proxy, whose proof failed.
        host: String,
        /// The problem, and the remedy.
        detail: String,
    },
    /// The account's credential was not exchanged for a token.
    #[error("`{target}` gives no access token ({detail}); check the credential")]
    Token {
        /// The address of the token endpoint.
        target: String,
        /// The error in its answer.
        detail: String,
        /// Whether a later try may succeed.
        transient: bool,
    },
    /// The answer is larger than the caller's limit; the received part was dropped.
    #[error("the answer of `{target}` is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The address that was asked.
        target: String,
        /// The limit in bytes.
        limit: usize,
    },
}

impl ClientError {
    /// Whether a later attempt at the same request may succeed.
    ///
    /// True only if no byte of an answer arrived and the fault is likely to pass. Not true for a first-byte time-out:
    /// the model was probably thinking, and is billed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Closed { received, .. } => received.is_none(),
            Self::Connect { .. } | Self::Dns { .. } => true,
            Self::Proxy { transient, .. } | Self::Token { transient, .. } => *transient,
            Self::Timeout { phase, .. } => match phase {
                Phase::Connect | Phase::Proxy | Phase::Tls => true,
                Phase::Answer | Phase::FirstByte | Phase::Idle => false,
            },
            Self::Config(_)
            | Self::Excess { .. }
            | Self::Held(_)
            | Self::Protocol { .. }
            | Self::Redirect { .. }
            | Self::Request(_)
            | Self::Tls { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

impl ClientError {
    /// Whether the upstream may have made, and billed, an answer that did not arrive completely.
    #[must_use]
    pub fn may_be_billed(&self) -> bool {
        match self {
            Self::Closed { .. }
            | Self::Excess { .. }
            | Self::Protocol { .. }
            | Self::TooLarge { .. } => true,
            Self::Timeout { phase, .. } => match phase {
                Phase::Connect | Phase::Proxy | Phase::Tls => false,
                Phase::Answer | Phase::FirstByte | Phase::Idle => true,
            },
            Self::Config(_)
            | Self::Connect { .. }
            | Self::Dns { .. }
            | Self::Held(_)
            | Self::Proxy { .. }
            | Self::Redirect { .. }
            | Self::Request(_)
            | Self::Tls { .. }
            | Self::Token { .. } => false,
        }
    }

    /// Describes the failure for a caller that may know the name of the model's provider, but not its address:
    /// without addresses, host names, and messages of a resolver or a proxy.
    #[must_use]
    pub fn told(&self, who: &str) -> String {
        let named = match self {
            Self::Closed { received, .. } => {
                return format!(
                    "`{who}` closed the connection {}; ask again",
                    Received(received.as_ref())
                );
            }
            Self::Connect { .. } | Self::Dns { .. } | Self::Proxy { .. } | Self::Tls { .. } => {
                return format!("`{who}` cannot be reached; ask again later, or ask the operator");
            }
            Self::Config(_) | Self::Request(_) | Self::Token { .. } => {
                return format!("`{who}` could not be asked; the operator's log says why");
            }
            Self::Held(held) => return held.message.clone(),
            Self::Redirect { status, .. } => {
                return format!("`{who}` answered {status} with a redirect, which is not followed");
            }
            Self::Excess { what, limit, .. } => {
                Self::Excess { target: who.to_owned(), what: *what, limit: *limit }
            }
            Self::Protocol { detail, .. } => {
                return format!("`{who}` sent an answer that cannot be read: {detail}");
            }
            Self::Timeout { phase, after, .. } => {
                Self::Timeout { target: who.to_owned(), phase: *phase, after: *after }
            }
            Self::TooLarge { limit, .. } => {
                Self::TooLarge { target: who.to_owned(), limit: *limit }
            }
        };
        named.to_string()
    }
}

/// The part of a stream that exceeds its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// A line is too long.
    Line,
    /// An event is too long.
    Event,
    /// There are too many events.
    Events,
}

impl Excess {
    /// Gives the configuration key that sets the limit.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::Line => "answer_line_bytes",
            Self::Event => "answer_event_bytes",
            Self::Events => "answer_events",
        }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "a line with more bytes",
            Self::Event => "an event with more bytes",
            Self::Events => "more events",
        })
    }
}

/// The phase of a request in which its time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The end of the answer's body, for callers with a time cap for it.
    Answer,
    /// The host's address and the connection.
    Connect,
    /// The first byte of the answer's body.
    FirstByte,
    /// The next byte of the answer's body; keep-alive bytes count.
    Idle,
    /// The proxy's consent.
    Proxy,
    /// The TLS handshake.
    Tls,
}

impl Phase {
    /// Gives the configuration key that sets this phase's limit.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Answer => "answer_timeout",
            Self::Connect | Self::Proxy | Self::Tls => "connect_timeout",
            Self::FirstByte => "first_byte_timeout",
            Self::Idle => "idle_timeout",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer => "did not end its answer",
            Self::Connect => "did not take the connection",
            Self::FirstByte => "did not begin its answer",
            Self::Idle => "stopped in the middle of its answer and sent nothing more",
            Self::Proxy => "could not be reached through the proxy",
            Self::Tls => "did not finish the TLS handshake",
        })
    }
}

/// Renders a URL for people: scheme, host, port and path, never the user part or the query.
#[must_use]
pub fn shown(uri: &Uri) -> String {
    let mut out = String::new();
    if let Some(scheme) = uri.scheme_str() {
        out.push_str(scheme);
        out.push_str("://");
    }
    out.push_str(uri.host().unwrap_or_default());
    if let Some(port) = uri.port_u16() {
        out.push_str(&format!(":{port}"));
    }
    out.push_str(uri.path());
    out
}

/// Joins an error with its causes, outermost first, and leaves out repetitions.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = cause.source();
    }
    text
}

/// Finds an error of one type among an error and its causes.
pub(crate) fn cause<'a, T: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<T>() {
            return Some(found);
        }
        next = current.source();
    }
    None
}

struct Received<'a>(Option<&'a u64>);

impl fmt::Display for Received<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("before it answered"),
            Some(bytes) => write!(f, "in the middle of its answer, after {bytes} bytes"),
        }
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_neither_user_nor_query() {
        let uri: Uri = "https://bob:pw-canary@api.test:8443/v1/chat?key=canary".parse().unwrap();
        assert_eq!(shown(&uri), "https://api.test:8443/v1/chat");
        let uri: Uri = "http://[::1]:4114/api".parse().unwrap();
        assert_eq!(shown(&uri), "http://[::1]:4114/api");
    }

    #[test]
    fn messages_are_one_sentence_that_names_what_where_and_what_to_do() {
        let target = "https://api.test/v1".to_owned();
        let timeout = ClientError::Timeout {
            target: target.clone(),
            phase: Phase::Idle,
            after: Duration::from_millis(1500),
        };
        assert_eq!(
            timeout.to_string(),
            "`https://api.test/v1` stopped in the middle of its answer and sent nothing more \
             within 1.5 s; raise `client.idle_timeout` if that is too short"
        );
        let closed = ClientError::Closed { target, received: Some(17), detail: "reset".into() };
        assert_eq!(
            closed.to_string(),
            "`https://api.test/v1` closed the connection in the middle of its answer, \
             after 17 bytes (reset); ask again"
        );
    }

    #[test]
    fn callers_are_told_whose_fault_it_is_and_no_address() {
        let here = || "http://10.0.0.5:8000/v1".to_owned();
        let detail = || "10.0.0.5:8000 of proxy.internal".to_owned();
        for error in [
            ClientError::Closed { target: here(), received: None, detail: detail() },
            ClientError::Connect { target: here(), detail: detail() },
            ClientError::Dns { host: "proxy.internal".into(), detail: detail() },
            ClientError::Proxy { proxy: here(), detail: detail(), transient: true },
            ClientError::Redirect { target: here(), status: 302, location: here() },
            ClientError::Tls { host: "proxy.internal".into(), detail: detail() },
            ClientError::Token { target: here(), detail: detail(), transient: false },
            ClientError::Config(detail()),
            ClientError::Request(detail()),
            ClientError::Excess { target: here(), what: Excess::Line, limit: 1 },
            ClientError::Protocol { target: here(), detail: "no end".into() },
            ClientError::TooLarge { target: here(), limit: 1 },
            ClientError::Timeout { target: here(), phase: Phase::Idle, after: Duration::ZERO },
        ] {
            let told = error.told("there");
            assert!(told.contains("`there`"), "{told}");
            assert!(!told.contains("10.0") && !told.contains("internal"), "{told}");
        }
    }

    #[test]
    fn only_faults_before_any_answer_are_transient() {
        let closed = |received| ClientError::Closed {
            target: String::new(),
            received,
            detail: String::new(),
        };
        assert!(closed(None).is_transient());
        assert!(!closed(Some(0)).is_transient());
        let timeout =
            |phase| ClientError::Timeout { target: String::new(), phase, after: Duration::ZERO };
        assert!(timeout(Phase::Connect).is_transient());
        assert!(!timeout(Phase::FirstByte).is_transient());
    }
}
