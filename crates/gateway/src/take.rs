//! Taking a request's body in, within limits.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::json::{Doc, Val};

use crate::admission::{another_model, check_members, fits_path};
use crate::door::Turned;
use crate::house::House;
use crate::models::Route;

/// How long a caller may be silent in the middle of its own request.
const SILENCE: Duration = Duration::from_secs(30);

/// Fields that would steer the gateway's own request, and with it its credential.
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

/// The lists of a request, and how many entries each may have.
const LISTS: [(&str, usize); 4] =
    [("tools", 1_024), ("messages", 100_000), ("input", 100_000), ("contents", 100_000)];

/// The body, if it is whole, plain and not too large.
pub(crate) async fn body(
    headers: &HeaderMap,
    mut body: Incoming,
    limit: usize,
) -> Result<Bytes, Turned> {
    let turned = |status, code, message: String| Turned { status, code, message };
    let too_large =
        || turned(413, "request_too_large", format!("the request is larger than {limit} bytes"));
    let encoding = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity");
    if encoding.is_some() {
        let message = "compressed requests are not taken; send the body as it is".to_owned();
        return Err(turned(415, "unsupported_encoding", message));
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: usize = length.unwrap_or(0);
    if length > limit {
        return Err(too_large());
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await.map_err(|_| {
            turned(408, "request_timeout", "the rest of the request did not come".to_owned())
        })?;
        let Some(frame) = frame else { break };
        let broken = |_| turned(400, "broken_request", "the request broke off".to_owned());
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if all.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > limit {
            return Err(too_large());
        }
        // A body that came in one piece is not copied.
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
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// The body as JSON, without fields that would steer the upstream.
pub(crate) fn json(body: &Bytes) -> Result<Doc<'_>, Turned> {
    let bad = |message: String| Turned { status: 400, code: "invalid_request_error", message };
    let doc = Doc::parse(body).map_err(|error| bad(format!("the body is not JSON: {error}")))?;
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
    for (list, most) in LISTS {
        let values = doc.root().some(list).filter(|list| list.is_array());
        if values.is_some_and(|list| list.items().nth(most).is_some()) {
            return Err(bad(format!("`{list}` has more than {most} entries; send fewer")));
        }
    }
    Ok(doc)
}

/// Where a request for this model goes, if the caller may ask for it with this body.
pub(crate) fn route(house: &House, model: &str, body: Val<'_>) -> Result<Arc<Route>, Turned> {
    let bad = |message: String| Turned { status: 400, code: "invalid_request_error", message };
    let route = house.models.find(model);
    let route = route.map_err(|unrouted| Turned {
        status: 404,
        code: "model_not_found",
        message: unrouted.0,
    })?;
    if route.target.names_model_in_path() && !fits_path(&route.target.model) {
        let message = "the model's name has signs in it that would make another path of it";
        return Err(bad(message.to_owned()));
    }
    let is_limited = house.pass.as_ref().is_some_and(|pass| !pass.allows_all_models());
    if let Some(field) = is_limited.then(|| another_model(body)).flatten() {
        let message = format!(
            "`{field}` names further models, and this key may ask for some only; leave it out"
        );
        return Err(bad(message));
    }
    house.routed(model, &route.target.provider);
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
                let turned = json(&body).err().unwrap();
                assert!(turned.message.to_lowercase().contains(field), "{}", turned.message);
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
        for (list, most) in LISTS {
            for (count, is_taken) in [(most, true), (most + 1, false)] {
                let body = Bytes::from(format!("{{\"{list}\":[{}]}}", vec!["0"; count].join(",")));
                assert_eq!(json(&body).is_ok(), is_taken, "{list} {count}");
            }
        }
        for (depth, is_taken) in [(127, true), (128, false)] {
            let body = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(json(&Bytes::from(body)).is_ok(), is_taken, "{depth}");
        }
    }
}
