//! Reads a request's body within limits.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body_util::BodyExt;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_json::{Doc, Val};
use thinkthrough_mask::mask_request;

use crate::accept::admission::{another_model, check_members, fits_path};
use crate::load::{CAPS, Caps, LARGE, Reservation};
use crate::models::route::Route;
use crate::rejection::{Rejection, rejection};
use crate::request::edge::inbound::Inbound;
use crate::request::identity::{PERIOD, still_holds};
use crate::state::RequestState;
use tokio::time::{Instant, timeout_at};

/// The longest silence of a caller within its own request.
const SILENCE: Duration = Duration::from_secs(30);

/// Fields that would redirect the gateway's own request, and with it its credential.
const STEERING: [&str; 9] = [
    "api_base",
    "api_key",
    "api_version",
    "aws_access_key_id",
    "base_url",
    "custom_llm_provider",
    "extra_body",
    "extra_headers",
    "vertex_credentials",
];

/// Reads the body. Refuses compressed, broken and oversized ones.
///
/// The reservation grows as bytes arrive. Once the body is read, it is `times` the body's size.
pub(crate) async fn body(
    state: &RequestState,
    headers: &HeaderMap,
    mut body: Inbound,
    times: usize,
) -> Result<(Bytes, Reservation), Rejection> {
    let limit = state.options.body_limit;
    let began = Instant::now();
    let until = began + state.options.body_timeout;
    let mut held = state.load.share.reserve();
    let too_large =
        || rejection(413, "request_too_large", format!("the request is larger than {limit} bytes"));
    let encoding = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity");
    if encoding.is_some() {
        let message = "compressed requests are not taken; send the body as it is".to_owned();
        return Err(rejection(415, "unsupported_encoding", message));
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: usize = length.unwrap_or(0);
    if length > limit {
        return Err(too_large());
    }
    held.check(length.saturating_mul(times))?;
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    loop {
        let silence = Instant::now() + SILENCE;
        let frame = timeout_at(silence.min(until), body.frame()).await.map_err(|_| {
            rejection(408, "request_timeout", "the rest of the request did not come".to_owned())
        })?;
        let Some(frame) = frame else { break };
        let broken = |_| rejection(400, "broken_request", "the request broke off".to_owned());
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let came = all.len() + first.as_ref().map_or(0, Bytes::len) + data.len();
        if came > limit {
            return Err(too_large());
        }
        held.grow_to(came)?;
        // A body of a single piece is not copied.
        match first.take() {
            None if all.is_empty() => first = Some(data),
            None => all.extend_from_slice(&data),
            Some(begin) => {
                all.reserve(length.max(begin.len() + data.len()));
                all.extend_from_slice(&begin);
                all.extend_from_slice(&data);
            }
        }
    }
    if began.elapsed() > PERIOD {
        still_holds(state).await?;
    }
    let bytes = first.unwrap_or_else(|| all.freeze());
    held.grow_to(bytes.len().saturating_mul(times))?;
    Ok((bytes, held))
}

/// Parses the body as JSON, and refuses fields that would redirect the upstream request.
pub(crate) fn json(body: &Bytes) -> Result<Doc<'_>, Rejection> {
    json_within(body, CAPS)
}

/// Like [`json`], with these caps.
pub(crate) fn json_within(body: &Bytes, caps: Caps) -> Result<Doc<'_>, Rejection> {
    let bad = |message: String| rejection(400, "invalid_request_error", message);
    let doc = caps.parse(body).map_err(bad)?;
    if !doc.root().is_object() {
        return Err(bad("the body is not a JSON object".to_owned()));
    }
    if let Some(field) = steering(doc.root()) {
        let message = format!(
            "`{field}` would steer the upstream, which only the operator may; leave it out"
        );
        return Err(bad(message));
    }
    check_members(doc.root())?;
    caps.too_many(&doc).map_or(Ok(doc), |message| Err(bad(message)))
}

/// The effective size of a body for the work on it. The masker takes ten times as long for a byte as all other work.
pub(crate) fn size(state: &RequestState, body: &Bytes) -> usize {
    let is_slow = state.options.masks_requests.is_some() && body.len() > LARGE / 10;
    if is_slow { body.len().max(LARGE + 1) } else { body.len() }
}

/// The body as it may go to a provider. If the operator wants it, the gateway masks secrets that the caller wrote.
///
/// All later stages use this body, so that look-ups match the conversation as it was sent.
pub(crate) fn masked(state: &RequestState, body: Bytes) -> Result<Bytes, Rejection> {
    let Some(find) = &state.options.masks_requests else { return Ok(body) };
    json(&body)?;
    Ok(mask_request(&find(), &body).ok().flatten().map_or(body, Bytes::from))
}

/// The route of a model. Refuses a body that names further models if the key may not ask all of them.
pub(crate) fn route(
    state: &RequestState,
    model: &str,
    body: Val<'_>,
) -> Result<Arc<Route>, Rejection> {
    let bad = |message: String| rejection(400, "invalid_request_error", message);
    let route = state.find(model)?;
    if route.target.names_model_in_path() && !fits_path(&route.target.model) {
        let message = "the model's name has signs in it that would make another path of it";
        return Err(bad(message.to_owned()));
    }
    let is_limited = state.pass.as_ref().is_some_and(|pass| !pass.allows_all_models());
    if let Some(field) = is_limited.then(|| another_model(body)).flatten() {
        let message = format!(
            "`{field}` names further models, and this key may ask for some only; leave it out"
        );
        return Err(bad(message));
    }
    state.routed(model, &route.target.provider);
    Ok(route)
}

fn steering(body: Val<'_>) -> Option<String> {
    body.entries()
        .map(|(key, _)| key.to_string())
        .find(|key| STEERING.iter().any(|field| field.eq_ignore_ascii_case(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_1_fields_that_steer_the_upstream_are_refused() {
        for field in STEERING {
            for body in [
                format!(r#"{{"model":"m","{field}":"http://trap.example"}}"#),
                format!(r#"{{"{}":1}}"#, field.to_uppercase()),
                format!(r#"{{"model":"m","{field}":null,"{field}":1}}"#),
            ] {
                let body = Bytes::from(body);
                let rejection = json(&body).err().unwrap();
                assert!(rejection.message.to_lowercase().contains(field), "{}", rejection.message);
            }
        }
        assert!(json(&Bytes::from_static(br#"{"metadata":{"base_url":"x"}}"#)).is_ok());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in ["", "[]", "{", "\"x\""] {
            assert_eq!(json(&Bytes::from(body)).err().map(|it| it.status), Some(400), "{body}");
        }
    }

    #[test]
    fn t_31_lists_and_depths_have_an_end() {
        let tools =
            |count: usize| Bytes::from(format!("{{\"tools\":[{}]}}", vec!["0"; count].join(",")));
        assert!(json(&tools(1_024)).is_ok() && json(&tools(1_025)).is_err());
        for (depth, is_taken) in [(127, true), (128, false)] {
            let body = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(json(&Bytes::from(body)).is_ok(), is_taken, "{depth}");
        }
    }
}
