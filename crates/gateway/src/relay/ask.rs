//! Handles one request to a model: reads it, sends it, answers it.

use crate::accept::place::Face;
use crate::answer::live::{Ended, LiveAnswer};
use crate::attempt::sending::{Begun, Outcome, Refused, Waiting, begun, failed, reason};
use crate::attempt::tries::Caller;
use crate::credential;
use crate::load::{LARGE, NO_ROOM, READ, Reservation, VALUE};
use crate::models::route::Route;
use crate::models::tenant;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use crate::relay::first::First;
use crate::request::asking::settings;
use crate::request::edge::inbound::Inbound;
use crate::request::keeping::PREVIOUS;
use crate::request::provider_resource::{Ids, check_id_choice};
use crate::request::recall::{Recalled, recall};
use crate::request::references::REFERENCE;
use crate::request::take;
use crate::respond::flow::Flow;
use crate::respond::leaving;
use crate::respond::reply::{Account, json, refusal};
use crate::state::RequestState;
use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::request::Parts;
use http::{Extensions, HeaderMap, Response, StatusCode};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use thinkthrough_client::{Auth, BodyStream, ClientError, Response as Answer};
use thinkthrough_core::allowance::Extent;
use thinkthrough_core::exchange::{Handling, RequestContext, Restore};
use thinkthrough_core::frame::Framing;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::tokens::estimate_conservative;
use thinkthrough_core::wire::{ErrorBody, Wire, error};
use thinkthrough_json::Doc;

/// The facts about a request that its path contains.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) face: Face,
    pub(crate) model: Option<String>,
    pub(crate) stream: Option<bool>,
}

/// Answers a request to a model. Errors have the caller's wire, and every answer carries its decisions.
pub(crate) async fn answer(
    state: &Arc<RequestState>,
    parts: Parts,
    body: Inbound,
    wanted: Wanted,
) -> Response<Flow> {
    let wire = wanted.face.spoken_as(parts.uri.query(), wanted.stream == Some(true));
    let account = Account::open();
    state.reporter.arrived(&account.trace, parts.headers.get(USER_AGENT), nobody_else(state));
    if asks_for_state(&parts.headers) {
        state.reporter.asks_for_state();
    }
    let mut call = Call { state: Arc::clone(state), parts, wanted, wire, account };
    let outcome = match call.take(body).await {
        Ok(taken) => match state.load.offload.turn(call.size(&taken.bytes)).await {
            Ok(turn) => {
                let (back, ready) = turn.run(Box::pin(call.ready(taken))).await;
                call = back;
                match ready {
                    Ok(ready) => call.begun(ready).await,
                    Err(rejection) => Err(rejection),
                }
            }
            Err(denied) => Err(denied.rejection()),
        },
        Err(rejection) => Err(rejection),
    };
    let mut answer = outcome.unwrap_or_else(|rejection| refusal(Some(wire), &rejection));
    call.account.explain(&mut answer, &state.reporter);
    // A stream reports this at its end.
    if answer.body().is_whole()
        && let Some(confirming) = state.reporter.confirm(Some(answer.status().as_u16()))
    {
        call.account.trace_state = Some(confirming.await);
        call.account.put_on(&mut answer);
    }
    answer
}

/// The tenant of a request, as far as it is known before the model is.
fn nobody_else(state: &RequestState) -> Option<Tenant> {
    match &state.pass {
        Some(pass) => Some(pass.tenant.clone()),
        None => (!state.options.pass_through).then(Tenant::local),
    }
}

/// The first attempt of a request that is only shown, not sent.
pub(crate) async fn first(
    state: Arc<RequestState>,
    (parts, bytes): (Parts, Bytes),
    wanted: Wanted,
    wire: &'static dyn Wire,
) -> Result<First, Rejection> {
    let held = state.load.share.reserve();
    let taken = Taken { bytes, held, credential: Auth::None };
    Call { state, parts, wanted, wire, account: Account::open() }.first(taken).await
}

struct Call {
    state: Arc<RequestState>,
    parts: Parts,
    wanted: Wanted,
    wire: &'static dyn Wire,
    account: Account,
}

/// A request whose body was read.
struct Taken {
    bytes: Bytes,
    held: Reservation,
    credential: Auth,
}

/// A request that is ready to be sent.
struct Ready {
    waiting: Waiting,
    stream: bool,
}

impl Call {
    async fn take(&self, body: Inbound) -> Result<Taken, Rejection> {
        self.state.load.admit()?;
        let credential = credential::of(&self.parts.uri, &self.parts.headers)?;
        let (bytes, held) = take::body(&self.state, &self.parts.headers, body, READ).await?;
        Ok(Taken { bytes, held, credential })
    }

    /// An estimate of the bytes to read. The conversation that a request continues may be far longer than its body.
    fn size(&self, bytes: &Bytes) -> usize {
        let goes_on = || [PREVIOUS, REFERENCE].iter().any(|name| holds(bytes, name));
        let is_more = bytes.len() <= LARGE && self.wanted.face == Face::Responses && goes_on();
        if is_more { LARGE + 1 } else { take::size(&self.state, bytes) }
    }

    /// Does all work on the whole body. It owns its data, so that it can run on another thread.
    async fn ready(mut self, taken: Taken) -> (Self, Result<Ready, Rejection>) {
        let ready = self.prepare(taken).await;
        (self, ready)
    }

    async fn prepare(&mut self, taken: Taken) -> Result<Ready, Rejection> {
        let first = self.first(taken).await?;
        let stream = first.is_stream();
        Ok(Ready { waiting: first.send()?, stream })
    }

    async fn first(&mut self, taken: Taken) -> Result<First, Rejection> {
        let Taken { bytes, mut held, credential } = taken;
        let bytes = take::masked(&self.state, bytes)?;
        let doc = take::json(&bytes)?;
        held.grow_to(cost(&bytes, &doc))?;
        let root = doc.root();
        let named = self.wanted.model.clone().or_else(|| root.string("model"));
        let model = named.ok_or_else(|| {
            rejection(400, "invalid_request_error", "`model` is missing; name the model to ask")
        })?;
        let route = take::route(&self.state, &model, root)?;
        let tokens = || self.expected(&route, &doc);
        self.state.charges.enter(self.state.pass.as_deref(), tokens).await?;
        let resources = match self.state.pass.is_some() {
            true => {
                check_id_choice(root)?;
                Ids::resolved(self.wire, root)
            }
            false => BTreeSet::new(),
        };
        let by_default = self.wanted.face.is_lines();
        let stream = self.wanted.stream.or_else(|| root.bool("stream")).unwrap_or(by_default);
        self.state
            .reporter
            .tell(&Progress::RequestContext { headers: &self.parts.headers, stream });
        let (hint, is_kept) =
            (tenant::hint(&self.parts.headers, root), !says_off(&self.parts.headers));
        let Recalled { body, keeping, is_bound } = match self.wanted.face {
            Face::Responses => {
                Box::pin(recall(&self.state, &route, &credential, &doc, is_kept)).await?
            }
            _ => Recalled::default(),
        };
        let gone_on = body.as_ref().map(take::json).transpose()?;
        if let (Some(body), Some(doc)) = (&body, &gone_on) {
            held.grow_to(cost(body, doc).saturating_add(bytes.len()))?;
        }
        let doc = gone_on.as_ref().unwrap_or(&doc);
        let caller = Caller {
            state: Arc::clone(&self.state),
            wire: self.wire,
            body: body.clone().unwrap_or_else(|| bytes.clone()),
            headers: self.parts.headers.clone(),
            query: self.parts.uri.query().map(str::to_owned),
            credential,
            hint,
            stream,
            model,
            is_kept,
            is_counted: false,
            keeping,
            is_bound,
            resources,
            held,
        };
        caller.first(route, doc, &mut self.account).await
    }

    /// The most tokens that the request may cost as it goes out.
    fn expected(&self, route: &Route, doc: &Doc<'_>) -> u64 {
        let asked = estimate_conservative(doc.text());
        let extent = || {
            let settings = settings(route, &self.parts.headers).ok()?;
            // The estimate needs no look-up.
            let handling = Handling { restore: Restore::Never, ..route.handling };
            let read = RequestContext::read;
            let asked = read(self.wire, doc, &route.target, &settings, handling, None).ok()?;
            let target = asked.target();
            Some(Extent::of(target.wire, &target.rule, asked.head().doc().root()))
        };
        // An unreadable body is refused later.
        asked.saturating_add(extent().map_or(0, |extent| extent.total()))
    }

    /// The caller's answer, as soon as it begins or the wait for it gets long.
    async fn begun(&mut self, ready: Ready) -> Result<Response<Flow>, Rejection> {
        let Ready { waiting, stream } = ready;
        match begun(waiting, stream && self.wire.framing() == Framing::Sse).await {
            Begun::Outcome(outcome) => self.begin((*outcome)?, stream).await,
            Begun::Silent(waiting) => {
                let flow = Flow::waiting(waiting, self.wire);
                Ok(streamed(flow, "text/event-stream; charset=utf-8"))
            }
        }
    }

    /// Writes the head of the caller's answer.
    async fn begin(&mut self, outcome: Outcome, stream: bool) -> Result<Response<Flow>, Rejection> {
        let (answer, live) = match outcome {
            Outcome::Refused(refused) => {
                self.account.made = refused.made.clone();
                return Ok(refused_by(refused, self.wire));
            }
            Outcome::Answer { answer, live, made } => {
                self.account.made = made;
                (answer, live)
            }
        };
        if !stream {
            let whole = Box::pin(whole(*answer, live, &self.state)).await?;
            self.account.is_unsaved = whole.is_unsaved;
            return Ok(whole.answer);
        }
        if live.is_relayed() {
            let Answer { status, mut headers, extensions, body, .. } = *answer;
            // If a stream breaks off, the gateway adds an event that the upstream's length does not include.
            headers.remove(CONTENT_LENGTH);
            let flow = Flow::stream(body, live, self.wire);
            return Ok(relayed(status, &headers, extensions, flow));
        }
        let media = match self.wire.framing() {
            Framing::Array => "application/json; charset=utf-8",
            Framing::Ndjson => "application/x-ndjson",
            Framing::EventStream | Framing::Sse => "text/event-stream; charset=utf-8",
        };
        Ok(streamed(Flow::stream(answer.body, live, self.wire), media))
    }
}

fn holds(bytes: &[u8], name: &str) -> bool {
    bytes.windows(name.len()).any(|window| window == name.as_bytes())
}

/// The memory that a request takes after it was read.
fn cost(body: &Bytes, doc: &Doc<'_>) -> usize {
    let bytes = body.len().saturating_mul(READ);
    bytes.saturating_add(doc.values().saturating_mul(VALUE))
}

/// Whether the caller forbids storing its answer.
fn says_off(headers: &HeaderMap) -> bool {
    headers.get("x-thinkthrough-store").is_some_and(|value| value.as_bytes() == b"off")
}

/// Whether the caller asks for the state of its trace.
fn asks_for_state(headers: &HeaderMap) -> bool {
    headers.get("x-thinkthrough-trace").is_some_and(|value| value.as_bytes() == b"state")
}

/// A whole answer in progress. Its caller may go away meanwhile.
struct Reading {
    body: BodyStream,
    live: Box<LiveAnswer>,
    came: BytesMut,
}

/// The result of reading a whole answer.
enum Read {
    /// The caller's bytes, if they are the upstream's, and the finished answer.
    Done(Bytes, Box<Ended>),
    /// The body is not a complete value.
    Broken,
    Nothing,
}

impl Reading {
    fn end(mut self) -> Read {
        let came = self.came.split().freeze();
        if !is_value(&came, self.live.is_relayed()) {
            self.live.abandon();
            return Read::Broken;
        }
        let out = self.live.push(came);
        match self.live.end(None) {
            Some(ended) => Read::Done(out, Box::new(ended)),
            None => Read::Nothing,
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        drop(self.live.push(self.came.split().freeze()));
        leaving::leave(&mut self.body, &mut self.live);
    }
}

/// A whole answer, and whether its record was not saved in time.
struct Whole {
    answer: Response<Flow>,
    is_unsaved: bool,
}

/// Reads a whole answer to its end before its head goes out, because its status promises a complete answer.
async fn whole(
    answer: Answer,
    live: Box<LiveAnswer>,
    state: &RequestState,
) -> Result<Whole, Rejection> {
    let Answer { status, mut headers, extensions, body, .. } = answer;
    let is_relayed = live.is_relayed();
    let mut reading = Reading { body, live, came: BytesMut::new() };
    read(&mut reading, state).await?;
    let size = reading.came.len();
    let read = state.load.offload.go_on(size, Box::pin(async move { reading.end() })).await;
    let (out, ended) = match read {
        Read::Done(out, ended) => (out, *ended),
        Read::Broken => {
            let provider = state.reporter.provider();
            let message =
                format!("the answer of `{provider}` breaks off, or is no JSON; ask again");
            let cause = Some(message.clone());
            state.reporter.tell(&Progress::Failed { reason: "truncated", cause });
            return Err(rejection(502, "upstream_error", message));
        }
        Read::Nothing => {
            return Err(rejection(502, "upstream_error", "the answer ended before it began"));
        }
    };
    let Ended { answer, has_said, is_none, failure, room, .. } = ended;
    // An empty answer with an improper end would look as if the model had nothing to say.
    if is_none || !is_relayed && !has_said && !answer.is_complete() {
        let first = answer.problems.into_iter().next().map(|problem| problem.message);
        let message = failure.map(|failure| failure.message).or(first).unwrap_or_default();
        return Err(rejection(502, "upstream_error", message));
    }
    let is_unsaved = match ended.saving {
        Some(saving) => !saving.wait().await,
        None => false,
    };
    if !is_relayed {
        let flow = Flow::held(ended.out.into(), room);
        let answer = json(200, Bytes::new()).map(|_| flow);
        return Ok(Whole { answer, is_unsaved });
    }
    let out = match ended.out.is_empty() {
        true => out,
        false => [&out[..], &ended.out].concat().into(),
    };
    headers.remove(CONTENT_LENGTH);
    let answer = relayed(status, &headers, extensions, Flow::held(out, room));
    Ok(Whole { answer, is_unsaved })
}

/// Reads the body within its size limit, which for a translated answer is the limit of a request body.
async fn read(reading: &mut Reading, state: &RequestState) -> Result<(), Rejection> {
    let (limit, times) = match reading.live.is_relayed() {
        true => (state.options.answer.bytes, 1),
        false => (state.options.body_limit, READ),
    };
    while let Some(bytes) = reading.body.next().await {
        let bytes = bytes.and_then(|bytes| match reading.came.len() + bytes.len() > limit {
            false => Ok(bytes),
            true => Err(ClientError::TooLarge { target: "the provider".to_owned(), limit }),
        });
        let bytes = bytes.map_err(|error| {
            // The upstream broke off.
            reading.live.abandon();
            reading.came.clear();
            let (reason, cause) = (reason(&error), Some(error.to_string()));
            state.reporter.tell(&Progress::Failed { reason, cause });
            failed(&error, &state.reporter.provider())
        })?;
        reading.came.extend_from_slice(&bytes);
        // Room for the bytes, their translation, and their text.
        let cost = reading.came.len().saturating_mul(times + 1);
        let live = &mut reading.live;
        if poll_fn(|cx| live.poll_hold(cost, cx)).await.is_err() {
            reading.live.abandon();
            reading.came.clear();
            state.reporter.tell(&Progress::Cut { reason: NO_ROOM });
            return Err(rejection(
                503,
                "overloaded",
                "the gateway has no memory left for the answer; ask again",
            ));
        }
    }
    Ok(())
}

/// Whether a body is one complete JSON value. A body without a length ends with its connection, so that only the JSON
/// shows a cut one. A translated body may also be an unrequested stream, which has its own end.
fn is_value(body: &Bytes, is_relayed: bool) -> bool {
    let begins = |first: &u8| matches!(first, b'{' | b'[');
    if !is_relayed && !body.trim_ascii_start().first().is_some_and(begins) {
        return true;
    }
    match Doc::parse(body) {
        Ok(_) => true,
        // Invalid UTF-8 does not make the body incomplete.
        Err(_) => Doc::parse_str(&String::from_utf8_lossy(body)).is_ok(),
    }
}

/// Passes on the upstream's refusal: unchanged on the caller's own wire, else translated, with the headers about
/// retries.
fn refused_by(refused: Refused, wire: &dyn Wire) -> Response<Flow> {
    let Refused { status, headers, extensions, body, is_relayed, .. } = refused;
    if is_relayed {
        return relayed(status, &headers, extensions, Flow::whole(body));
    }
    let text = String::from_utf8_lossy(&body);
    let problem = error::read_text(&text);
    let message = problem.as_ref().map_or_else(
        || format!("the provider answered with status {}", status.as_u16()),
        |problem| problem.message.clone(),
    );
    let code =
        problem.and_then(|problem| problem.at).unwrap_or_else(|| "upstream_error".to_owned());
    let error = ErrorBody { status: status.as_u16(), code, message };
    let mut out = json(status.as_u16(), wire.write_error(&error));
    for (name, value) in &headers {
        let name_text = name.as_str();
        if name_text.starts_with("retry-after") || name_text.starts_with("x-ratelimit-") {
            out.headers_mut().append(name.clone(), value.clone());
        }
    }
    out
}

/// An answer with those parts of the upstream's head that callers receive.
pub(crate) fn relayed(
    status: StatusCode,
    headers: &HeaderMap,
    extensions: Extensions,
    flow: Flow,
) -> Response<Flow> {
    let mut out = Response::new(flow);
    *out.status_mut() = status;
    *out.extensions_mut() = extensions;
    for (name, value) in headers {
        out.headers_mut().append(name.clone(), value.clone());
    }
    out
}

fn streamed(flow: Flow, media: &'static str) -> Response<Flow> {
    let mut out = Response::new(flow);
    out.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    out.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    out
}
