//! Passes requests to a provider's own API on unchanged.
//!
//! Callers with gateway keys need the right to it, and reach only resources of their own tenant there.

use crate::accept::admission::segments;
use crate::attempt::expected::REFUSAL;
use crate::attempt::sending::{self, failed, reason};
use crate::credential;
use crate::load::{AnswerRoom, CAPS, Denied, PASSED, READ};
use crate::models::route::Route;
use crate::observe::progress::Progress;
use crate::raw::booking::{Unanswered, booked};
use crate::raw::spending::{Spender, may_spend, most, spoken, wire_at};
use crate::rejection::{Rejection, rejection};
use crate::relay::ask::relayed;
use crate::request::asking::credential_for;
use crate::request::edge::headers::Crossing;
use crate::request::edge::inbound::Inbound;
use crate::request::edge::query::with_query;
use crate::request::provider_resource::{Access, Ids, Purpose, Tap, check_id_choice, purpose};
use crate::request::take;
use crate::respond::flow::Flow;
use crate::respond::reply::{Account, refusal};
use crate::spending::{Came, Meter, Metering};
use crate::state::RequestState;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_client::{ClientError, Request as Outbound, Response as Answer, shown};
use thinkthrough_core::settled::Settled;
use thinkthrough_json::{Doc, JsonErrorKind};

/// The most bytes of an answer that wait until its new resources are recorded, if it creates any.
const LONGEST: usize = 1 << 20;
/// The longest time that an answer waits until its new resources are recorded.
const PATIENCE: Duration = Duration::from_millis(500);

/// Passes on a request to a provider's own API: any method, any path, any body.
pub(crate) async fn raw(
    state: &Arc<RequestState>,
    parts: Parts,
    body: Inbound,
    provider: &str,
    path: &str,
) -> Response<Flow> {
    let account = Account::open();
    let outcome = passed(state, parts, body, provider, path).await;
    let wire = || segments(path).ok().and_then(|segments| wire_at(&segments));
    let mut answer = outcome.unwrap_or_else(|rejection| refusal(wire(), &rejection));
    account.explain(&mut answer, &state.reporter);
    answer
}

async fn passed(
    state: &Arc<RequestState>,
    parts: Parts,
    body: Inbound,
    provider: &str,
    path: &str,
) -> Result<Response<Flow>, Rejection> {
    let room = state.load.share.passing()?;
    let credential = credential::of(&parts.uri, &parts.headers)?;
    has_right(state)?;
    let route = state.models.provider(provider);
    let route = route.map_err(|unrouted| rejection(404, "provider_not_found", unrouted.0))?;
    let segments = segments(path)?;
    let spending = may_spend(state, &parts.method, &segments)?;
    let api = spoken(&segments).filter(|_| parts.method == Method::POST);
    let access = Access::of(state, &route.target.provider);
    let times = if access.is_some() { READ } else { PASSED };
    let (bytes, held) = take::body(state, &parts.headers, body, times).await?;
    let tap = match access {
        Some(access) => {
            let turn = state.load.offload.turn(bytes.len()).await.map_err(Denied::rejection)?;
            let (asked, body) = (parts.clone(), bytes.clone());
            let own = async move { own_only(access, &asked, &segments, &body).await };
            turn.run(Box::pin(own)).await?
        }
        None => None,
    };
    let base = route.target.base_url.trim_end_matches('/');
    // If the base URL already ends with the version, the path does not repeat it.
    let path = path.split_once('/').map_or("", |(_, rest)| rest);
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let path = if base.ends_with(&format!("/{first}")) { rest } else { path };
    let url = with_query(&format!("{base}/{path}"), parts.uri.query());
    let refuse = |error| failed(&error, &route.target.provider);
    let mut send = Outbound::new(parts.method, &url).map_err(refuse)?;
    send.body = bytes;
    send.headers = Crossing::to_all(&route).request(&parts.headers);
    let metering = spending.map(|spending| {
        let (state, route, body) = (Arc::clone(state), Arc::clone(&route), send.body.clone());
        let (headers, credential) = (parts.headers.clone(), credential.clone());
        (spending, Spender { state, route, headers, credential, body })
    });
    send.auth = credential_for(&route, credential);
    let size = if metering.is_some() { send.body.len() } else { 0 };
    let turn = state.load.offload.turn(size).await.map_err(Denied::rejection)?;
    let tokens = || most(state, &route, api.as_ref(), &send.body);
    state.charges.enter(state.pass.as_deref(), tokens).await?;
    let (metering, session) = match metering {
        Some((spending, spender)) => {
            let (metering, session) = turn.run(Box::pin(spender.reserve(spending))).await?;
            (Some(metering), session)
        }
        None => (None, None),
    };
    let tap = tap.map(|tap| tap.in_session(session));
    let gate = state.charges.gate(&route, tokens);
    send.gate = gate;
    let answer = pass(state, &route, &send, (tap, metering), room).await;
    drop(held);
    answer
}

/// Checks that the key may use this API.
fn has_right(state: &RequestState) -> Result<(), Rejection> {
    if state.options.masks_requests.is_some() {
        let message = "`/p/...` passes requests on as they are, and this gateway covers secrets in them; its operator \
                       allows it with `requests = false` under `[masking]`";
        return Err(rejection(403, "raw_not_allowed", message));
    }
    let Some(pass) = state.pass.as_ref().filter(|pass| !pass.raw) else { return Ok(()) };
    let message = format!(
        "this key may not use `/p/...`; the gateway's operator allows it with `raw = true` under `[keys.{}]`",
        pass.tenant
    );
    Err(rejection(403, "raw_not_allowed", message))
}

/// Refuses ids that the tenant may not use, and returns a tap for resources that the request creates.
async fn own_only(
    access: Access,
    parts: &Parts,
    segments: &[String],
    body: &[u8],
) -> Result<Option<Tap>, Rejection> {
    let purpose = purpose(&parts.method, segments);
    match &purpose {
        Purpose::Model | Purpose::Creation(_) => {}
        Purpose::Use { resource, .. } => access.admit_path(resource).await?,
        Purpose::List => {
            let message = "a list of what the provider keeps would show what others have; ask for one thing by its id";
            return Err(rejection(403, "listing_refused", message));
        }
        Purpose::Unknown => {
            let message = "nobody here knows whose things are at this path, so it is not for callers with keys";
            return Err(rejection(403, "place_refused", message));
        }
    }
    let mut ids = Ids::of_parameters(parts.uri.query());
    ids.add(Ids::of_headers(&parts.headers));
    ids.add(Ids::of_path(segments));
    ids.add(in_body(&parts.headers, body)?);
    access.admit(&ids).await?;
    let last = segments.last().map(|last| last.to_ascii_lowercase()).unwrap_or_default();
    Ok(Tap::of_api(access, &purpose, &last, body))
}

/// The ids in a body of any content type: one JSON request, or a file with one JSON request a line.
fn in_body(headers: &HeaderMap, body: &[u8]) -> Result<Ids, Rejection> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Ids::default());
    }
    let bad = |message: &str| rejection(400, "invalid_request_error", message);
    match Doc::parse_within(body, CAPS.values) {
        Ok(doc) => {
            crate::accept::admission::check_members(doc.root())?;
            check_id_choice(doc.root())?;
            return Ok(Ids::of_api(doc.root()));
        }
        Err(error) if matches!(error.kind, JsonErrorKind::TooMany(_)) => {
            return Err(bad(&format!("the body is {error}; send fewer")));
        }
        Err(_) => {}
    }
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    if media.to_ascii_lowercase().contains("json") {
        return Err(bad("the body is not JSON, though its content type says so"));
    }
    const FILES: [&str; 6] = [
        "application/octet-stream",
        "application/pdf",
        "audio/",
        "image/",
        "multipart/form-data",
        "video/",
    ];
    let media = media.trim_start().to_ascii_lowercase();
    // Some servers also read JSON in UTF-16 or UTF-32.
    let is_wide = body.get(..4).is_some_and(|start| start.contains(&0))
        || body.starts_with(&[0xff, 0xfe])
        || body.starts_with(&[0xfe, 0xff]);
    if is_wide && !FILES.iter().any(|file| media.starts_with(file)) {
        return Err(bad("the body is not in UTF-8; send it so"));
    }
    if media.starts_with("multipart/mixed") || media.starts_with("application/http") {
        return Err(bad("requests within a request are not taken; send them one by one"));
    }
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_form = media.starts_with("multipart/");
    if !is_form && matches!(first, Some(b'{' | b'[')) && !is_lines(body) {
        return Err(bad("the body begins like JSON and is none; send it whole and plain"));
    }
    let text = String::from_utf8_lossy(body);
    let mut ids = Ids::of_parameters(Some(&text).filter(|_| !is_form).map(|text| &**text));
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('{')) {
        if let Ok(doc) = Doc::parse_str(line) {
            ids.add(Ids::of_api(doc.root()));
        }
    }
    if is_form {
        ids.add(in_form(&text));
    }
    Ok(ids)
}

fn is_lines(body: &[u8]) -> bool {
    let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.all(|line| Doc::parse(line.trim_ascii()).is_ok())
}

/// The ids in the fields of a form.
fn in_form(text: &str) -> Ids {
    let mut ids = Ids::default();
    for piece in text.split("name").skip(1) {
        let Some(piece) = piece.trim_start().strip_prefix('=') else { continue };
        let piece = piece.trim_start().trim_start_matches('"');
        let end = piece.find(['"', ';', '\r', '\n']).unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        let value = rest.split_once("\r\n\r\n").or_else(|| rest.split_once("\n\n"));
        let value = value.and_then(|(_, value)| value.lines().next()).unwrap_or_default();
        ids.add(Ids::of_parameters(Some(&format!("{name}={value}"))));
    }
    ids
}

/// Sends the request, and passes the upstream's own answer on.
pub(crate) async fn pass(
    state: &RequestState,
    route: &Route,
    send: &Outbound,
    (tap, metering): (Option<Tap>, Option<Metering>),
    room: AnswerRoom,
) -> Result<Response<Flow>, Rejection> {
    let provider = &route.target.provider;
    state.reporter.tell(&Progress::Passed { provider });
    let refuse = |error: ClientError| {
        if matches!(error, ClientError::Held(_)) {
            return failed(&error, provider);
        }
        let (reason, cause) = (reason(&error), Some(error.to_string()));
        state.reporter.tell(&Progress::Failed { reason, cause });
        failed(&error, provider)
    };
    let (answer, metering) = match metering {
        Some(metering) if metering.is_booked => (booked(state, route, send, metering).await, None),
        Some(metering) => (route.transport.send(send).await, Some(metering)),
        None => {
            let unanswered = Unanswered::of(&state.charges);
            let answer = route.transport.send(send).await;
            unanswered.answered();
            // The gateway does not read the tokens of this answer, so the whole reservation counts as spent.
            if answer.as_ref().is_ok_and(|answer| answer.status.is_success()) {
                state.charges.settle(&Settled::default(), Came::default());
            }
            (answer, None)
        }
    };
    let mut answer = answer.map_err(refuse)?;
    if answer.status.is_informational() || answer.status.is_redirection() {
        let detail = format!("its status is {}, which is no answer", answer.status.as_u16());
        return Err(refuse(ClientError::Protocol { target: shown(&send.url), detail }));
    }
    answer.headers = Crossing::to_all(route).response(&answer.headers);
    let is_error = answer.status.is_client_error() || answer.status.is_server_error();
    if is_error {
        state.reporter.tell(&Progress::TryFailed { reason: sending::refusal(answer.status) });
    }
    if is_error && send.method != Method::HEAD {
        // A credential that the upstream quotes can only be removed from the whole body.
        answer.headers.remove(CONTENT_LENGTH);
        let flow = Flow::whole(answer.body.collect_error(REFUSAL).await);
        return Ok(relayed(answer.status, &answer.headers, answer.extensions, flow));
    }
    answer.body = answer.body.named(provider);
    let tap = tap.filter(|_| answer.status.is_success());
    let (answer, tap) = heard(answer, tap, provider).await?;
    let metering = metering.filter(|_| answer.status.is_success());
    let flow =
        Flow::raw(answer.body, tap, metering.map(|it| Meter::new(&it, &state.charges)), room);
    Ok(relayed(answer.status, &answer.headers, answer.extensions, flow))
}

/// Records the resources of a whole answer before the caller receives it. A stream is recorded while it passes.
async fn heard(
    mut answer: Answer,
    tap: Option<Tap>,
    provider: &str,
) -> Result<(Answer, Option<Tap>), Rejection> {
    let media = answer.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    let is_json = media.is_some_and(|media| media.to_ascii_lowercase().contains("json"));
    let Some(mut tap) = tap else { return Ok((answer, None)) };
    if !is_json {
        return Ok((answer, Some(tap)));
    }
    tap.is_whole();
    let mut came = BytesMut::new();
    while came.len() <= LONGEST {
        let Some(bytes) = answer.body.next().await else {
            tap.push(&came);
            if let Some(work) = tap.work() {
                // The task goes on even if the caller has waited long enough.
                let work = tokio::spawn(work);
                drop(tokio::time::timeout(PATIENCE, work).await);
            }
            break;
        };
        came.extend_from_slice(&bytes.map_err(|error| failed(&error, provider))?);
    }
    answer.body.put_back(Bytes::from(came));
    Ok((answer, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_10_forms_name_things_as_well() {
        let form = "--x\r\ncontent-disposition: form-data; name=\"file_id\"\r\n\r\nfile-a\r\n--x\r\n\
                    content-disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n--x--\r\n";
        let ids = in_form(form);
        assert_eq!(ids, Ids::of_parameters(Some("file_id=file-a")));
        assert_eq!(ids.resolved.len(), 1);
    }
}
