//! Sends a request upstream and handles the response up to the first byte of the answer.

use crate::answer::live::{Keep, LiveAnswer};
use crate::attempt::expected::{Expected, REFUSAL};
use crate::models::route::Route;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use crate::request::edge::headers::Crossing;
use crate::request::edge::query::with_query;
use crate::spending::{LIMITED, seconds};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_client::{
    AnswerCaps, Auth, BodyStream, ClientError, Events, Failure, Gate, Request as Outbound,
    Response as Answer, Retry, RetryPolicy, mark_private, shown,
};
use thinkthrough_core::decision::Counts;
use thinkthrough_core::exchange::{Exchange, Prepared, Repair, Without};
use thinkthrough_core::frame::Framing;
use thinkthrough_core::outgoing::{merged_headers, without_usage};

/// The longest silence of a stream before the gateway sends a sign of life to the caller.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);

/// An answer of one upstream that has not begun.
pub(crate) type Sending = Pin<Box<dyn Future<Output = Result<Outcome, ClientError>> + Send>>;
/// The pending answer to a request, of any upstream. Errors are worded for the caller.
pub(crate) type Waiting = Pin<Box<dyn Future<Output = Result<Outcome, Rejection>> + Send>>;

/// The result of a request.
pub(crate) enum Outcome {
    /// An answer begins.
    Answer { answer: Box<Answer>, live: Box<LiveAnswer>, made: Made },
    /// The upstream refused the request.
    Refused(Refused),
}

/// The changes that the gateway made to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) counts: Counts,
    /// The substitutes for missing thoughts.
    pub(crate) without: Without,
    /// The repair that earlier refusals of this model taught.
    pub(crate) learned: Option<Repair>,
    /// The repair that a refusal of this request caused.
    pub(crate) repaired: Option<Repair>,
    /// The number of models that failed before.
    pub(crate) hops: usize,
    /// The fields that the model's wire cannot express.
    pub(crate) untranslated: Vec<String>,
    /// The parameters that were changed into the form that the model takes.
    pub(crate) adapted: Vec<&'static str>,
}

/// The upstream's refusal.
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) extensions: Extensions,
    pub(crate) body: Bytes,
    pub(crate) made: Made,
    /// The refusal is on the caller's wire.
    pub(crate) is_relayed: bool,
}

/// A caller's request, read as far as needed to send it.
pub(crate) struct Job {
    pub(crate) route: Arc<Route>,
    /// The body to send.
    pub(crate) body: Bytes,
    pub(crate) keep: Keep,
    /// The caller's headers and parameters.
    pub(crate) headers: HeaderMap,
    pub(crate) query: Option<String>,
    pub(crate) auth: Auth,
    /// Caps on the answer.
    pub(crate) caps: AnswerCaps,
    /// There is no other candidate, so that retries are worth their time.
    pub(crate) is_last: bool,
    /// A refusal of thoughts can still be repaired.
    pub(crate) may_repair: bool,
    pub(crate) made: Made,
    /// The pseudonym of the client's session in traces.
    pub(crate) session: Option<String>,
    /// The time that its preparation took.
    pub(crate) took: Duration,
    /// The rate limit that each try has to pass.
    pub(crate) gate: Option<Arc<dyn Gate>>,
}

/// A request to send.
struct Attempt {
    send: Outbound,
    exchange: Box<Exchange>,
    made: Made,
}

impl Job {
    /// Sends a prepared request.
    pub(crate) fn send(self, prepared: Prepared) -> Result<Sending, Rejection> {
        let Prepared { counts, without, exchange, .. } = &prepared;
        self.keep.reporter.tell(&Progress::Decided {
            counts: *counts,
            without: *without,
            is_relayed: exchange.is_relayed(),
            decisions: &exchange.outgoing().decisions,
        });
        let attempt = self.attempt(prepared)?;
        let session = self.session.clone();
        self.keep.reporter.tell(&Progress::Sent {
            target: &self.route.target,
            session,
            took: self.took,
        });
        Ok(Box::pin(self.run(attempt)))
    }

    fn attempt(&self, prepared: Prepared) -> Result<Attempt, Rejection> {
        let exchange = prepared.exchange;
        let outgoing = exchange.outgoing();
        let is_own = exchange.is_own();
        // A platform refuses parameters that are the API's own (`?beta=true`).
        let takes_query = is_own && self.route.target.dialect.hosted.is_none();
        let query = self.query.as_deref().filter(|_| takes_query);
        let url = with_query(&outgoing.url, query);
        let refuse = |error| failed(&error, &self.route.target.provider);
        let mut send = Outbound::post(&url, self.body.clone()).map_err(refuse)?;
        let crossing = Crossing::to(&self.route);
        let callers = match is_own {
            true => crossing.request(&self.headers),
            false => crossing.translated(&self.headers),
        };
        send.headers = merged(&outgoing.headers, callers);
        if !is_own {
            send.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let may_refuse = self.route.target.dialect.may_refuse_usage;
            send.plainer = may_refuse.then_some(without_usage);
        }
        send.lasting = Some(names_history);
        self.keep.reporter.carry(&self.headers, &mut send.headers);
        send.auth = self.auth.clone();
        send.gate.clone_from(&self.gate);
        Ok(Attempt { send, exchange, made: self.made.clone() })
    }

    async fn run(self, attempt: Attempt) -> Result<Outcome, ClientError> {
        let Attempt { send, mut exchange, made } = attempt;
        let transport = &self.route.transport;
        let policy = if self.is_last { RetryPolicy::default() } else { RetryPolicy::NEVER };
        let reporter = Arc::clone(&self.keep.reporter);
        let mut again = |retry: &Retry<'_>| {
            let reason = match retry.failure {
                Failure::Error(error) => reason(error),
                Failure::Status(status) => refusal(status),
            };
            reporter.tell(&Progress::TryFailed { reason });
        };
        let mut answer = transport.send_with_retry(&send, &policy, &mut again).await?;
        // Frees the sent request while the answer comes.
        let url = send.url.clone();
        drop(send);
        answer.headers = Crossing::to(&self.route).response(&answer.headers);
        answer.body = answer.body.named(&self.route.target.provider);
        let (is_own, is_relayed) = (exchange.is_own(), exchange.is_relayed());
        let refused = |answer: Answer, status, body, made| {
            let Answer { headers, extensions, .. } = answer;
            let is_relayed = is_own;
            Ok(Outcome::Refused(Refused { status, headers, extensions, body, made, is_relayed }))
        };
        if let Some(why) = is_none(answer.status) {
            return Err(ClientError::Protocol {
                target: shown(&url),
                detail: format!("its status is {}, which {why}", answer.status.as_u16()),
            });
        }
        if !answer.status.is_success() {
            let body = std::mem::replace(&mut answer.body, BodyStream::whole(Bytes::new()));
            let (status, body) = (answer.status, Box::pin(body.collect_error(REFUSAL)).await);
            return refused(answer, status, body, made);
        }
        answer.body = match exchange.outgoing().stream {
            true => {
                answer.body.within_events(self.caps, events_of(self.route.target.wire.framing()))
            }
            false => answer.body.within(self.caps),
        };
        let expected = Expected {
            url: &url,
            wire: self.route.target.wire,
            is_stream: exchange.outgoing().stream,
            is_relayed,
        };
        if let Some(body) = expected.error_in(&mut answer).await? {
            return refused(answer, StatusCode::BAD_GATEWAY, body, made);
        }
        if expected.is_stream
            && self.may_repair
            && let Some(body) = expected.refusal_in(&mut answer).await?
        {
            // The rest of the answer is a JSON body, not a stream.
            answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer.headers.remove(CONTENT_LENGTH);
            return refused(answer, StatusCode::BAD_REQUEST, body, made);
        }
        if !expected.is_stream {
            // A caller that gets an empty body would look for a mistake of its own.
            let Some(first) = answer.body.next().await else {
                return Err(expected.no_answer("it is empty"));
            };
            answer.body.put_back(first?);
        }
        if expected.is_stream && is_relayed && expected.is_array(&mut answer).await? {
            exchange.write_anew();
        }
        exchange.head(answer.status.as_u16());
        let live = Box::new(LiveAnswer::new(exchange, self.keep));
        Ok(Outcome::Answer { answer: Box::new(answer), live, made })
    }
}

/// Whether the body of a 5xx refuses the history, so that a retry would fail as well.
pub(crate) fn names_history(body: &[u8]) -> bool {
    Repair::names_history(&String::from_utf8_lossy(body))
}

/// The reason why a status fits neither an answer nor a refusal.
fn is_none(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        ..200 => Some("is no answer"),
        204 | 205 => Some("has no body"),
        300..400 => Some("leads elsewhere"),
        _ => None,
    }
}

/// The way in which the client counts events of this framing.
fn events_of(framing: Framing) -> Events {
    match framing {
        Framing::Array | Framing::Sse => Events::Lines,
        Framing::Ndjson => Events::Ndjson,
        Framing::EventStream => Events::Sized,
    }
}

/// The state of an answer after the first wait.
pub(crate) enum Begun {
    Outcome(Box<Result<Outcome, Rejection>>),
    Silent(Waiting),
}

/// Waits for the head of the answer. A stream begins without it after [`SILENCE`].
pub(crate) async fn begun(mut waiting: Waiting, may_begin: bool) -> Begun {
    if !may_begin {
        return Begun::Outcome(Box::new(waiting.await));
    }
    match tokio::time::timeout(SILENCE, &mut waiting).await {
        Ok(outcome) => Begun::Outcome(Box::new(outcome)),
        Err(_) => Begun::Silent(waiting),
    }
}

/// The answer to a request that could not be sent or answered.
pub(crate) fn failed(error: &ClientError, provider: &str) -> Rejection {
    if let ClientError::Held(held) = error {
        let retry_after = Some(seconds(held.retry_after));
        return Rejection { retry_after, ..rejection(429, LIMITED, held.message.clone()) };
    }
    let status = match error {
        ClientError::Timeout { .. } => 504,
        ClientError::Request(_) | ClientError::Config(_) => 500,
        _ => 502,
    };
    rejection(status, "upstream_error", error.told(provider))
}

/// The reason why an upstream gave no answer, as a word of a short list.
pub(crate) fn reason(error: &ClientError) -> &'static str {
    match error {
        ClientError::Closed { .. } => "closed",
        ClientError::Config(_) | ClientError::Request(_) => "request",
        ClientError::Connect { .. } => "connect",
        ClientError::Dns { .. } => "dns",
        ClientError::Held(_) => "limited",
        ClientError::Protocol { .. } => "protocol",
        ClientError::Proxy { .. } => "proxy",
        ClientError::Redirect { .. } => "redirect",
        ClientError::Timeout { .. } => "timeout",
        ClientError::Tls { .. } => "tls",
        ClientError::Token { .. } => "token",
        ClientError::Excess { .. } | ClientError::TooLarge { .. } => "too_large",
    }
}

/// The kind of an upstream's refusal, as a word of a short list.
pub(crate) fn refusal(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "credential",
        408 | 504 => "timeout",
        429 => "rate_limited",
        400..=499 => "refused",
        _ => "server_error",
    }
}

/// Merges the target's own headers into the caller's. Lists of beta features are joined.
pub(crate) fn merged(own: &[(String, String)], callers: HeaderMap) -> HeaderMap {
    let mut merged = callers;
    for (name, value) in own {
        let Ok(name) = HeaderName::try_from(name.as_str()) else { continue };
        let said: Vec<(String, String)> = merged
            .get_all(&name)
            .iter()
            .filter_map(|said| Some((name.to_string(), said.to_str().ok()?.to_owned())))
            .collect();
        let all = match said.as_slice() {
            [] => value.clone(),
            _ => {
                let lines: Vec<&str> = said.iter().map(|(_, said)| said.as_str()).collect();
                let said = [(name.to_string(), lines.join(","))];
                let own = [(name.to_string(), value.clone())];
                merged_headers(&own, &said).pop().map_or_else(|| value.clone(), |(_, all)| all)
            }
        };
        if let Ok(mut all) = HeaderValue::try_from(all) {
            mark_private(&name, &mut all);
            merged.insert(name, all);
        }
    }
    merged
}
