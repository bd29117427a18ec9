use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use crate::ProxyRules;

/// The settings of connections, the same for all requests of one [`Client`](crate::Client).
///
/// The crate does not read the environment; the binary passes it in.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// The limits of one answer, for callers that store it.
    pub answer: AnswerCaps,
    /// A PEM file with certificate authorities to trust in addition to the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Whether plain and TLS connections speak HTTP/2 at once, without asking.
    ///
    /// Off by default: over TLS the server chooses, plain connections speak HTTP/1.1.
    pub http2_prior_knowledge: bool,
    /// How many bytes of an error's body are worth keeping.
    pub max_error_body: usize,
    /// The choice of a proxy for each request.
    pub proxy: ProxyRules,
    /// How long each phase of a request may be silent.
    pub timeouts: Timeouts,
    /// The `user-agent` of requests without one.
    pub user_agent: String,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            answer: AnswerCaps::default(),
            ca_file: None,
            http2_prior_knowledge: false,
            max_error_body: 64 * 1024,
            proxy: ProxyRules::none(),
            timeouts: Timeouts::default(),
            user_agent: concat!("thinkthrough/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Limits of one answer for callers that store it: a guard against an endless answer, far beyond any honest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerCaps {
    /// The most bytes.
    pub bytes: usize,
    /// The longest time, however it drips.
    pub time: Duration,
    /// The most bytes of one line of a stream.
    pub line: usize,
    /// The most bytes of one event of a stream.
    pub event: usize,
    /// The most events of a stream.
    pub events: usize,
}

impl Default for AnswerCaps {
    fn default() -> Self {
        Self {
            bytes: 256 * 1024 * 1024,
            time: Duration::from_secs(60 * 60),
            line: 16 * 1024 * 1024,
            event: 32 * 1024 * 1024,
            events: 2_000_000,
        }
    }
}

/// How long each phase of a request may be silent; a whole answer may take as long as it likes.
///
/// A model that thinks may send nothing for many minutes, so only silence is limited, and generously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established: name, TCP, proxy and TLS together.
    pub connect: Duration,
    /// From the start until the first byte of the answer's body, because servers send the head of
    /// an answer before, during or after the thinking.
    pub first_byte: Duration,
    /// From one byte of the answer's body to the next; keep-alive bytes count.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(15 * 60),
            idle: Duration::from_secs(10 * 60),
        }
    }
}

/// Adds a limit to an instant; a limit beyond the range of the clock never passes.
pub(crate) fn after(start: Instant, limit: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    start.checked_add(limit.min(NEVER)).unwrap_or(start)
}
