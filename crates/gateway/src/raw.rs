//! A provider's own API, as it is.

use crate::asking::credential_for;
use crate::door::{self, Turned, turned};
use crate::flow::Flow;
use crate::house::House;
use crate::models::Route;
use crate::relay::relayed;
use crate::reply::{Account, refusal};
use crate::sending::{failed, onward, reason, with_query};
use crate::take;
use crate::told::Told;
use http::Response;
use http::request::Parts;
use hyper::body::Incoming;
use std::sync::Arc;
use thinkthrough_client::Request as Outbound;

/// A provider's own API, as it is: any method, any path, any body.
pub(crate) async fn raw(
    house: &Arc<House>,
    parts: Parts,
    body: Incoming,
    provider: &str,
    path: &str,
) -> Response<Flow> {
    let account = Account::open();
    let outcome = passed(house, parts, body, provider, path).await;
    let mut answer = outcome.unwrap_or_else(|turned| refusal(None, &turned));
    account.explain(&mut answer, &house.seen);
    answer
}

async fn passed(
    house: &Arc<House>,
    parts: Parts,
    body: Incoming,
    provider: &str,
    path: &str,
) -> Result<Response<Flow>, Turned> {
    let credential = door::credential(&parts.uri, &parts.headers)?;
    let route = house.models.provider(provider);
    let route = route.map_err(|unrouted| turned(404, "provider_not_found", unrouted.0))?;
    if leads_upwards(path) {
        return Err(turned(400, "invalid_request_error", "the path leads upwards"));
    }
    let bytes = take::body(&parts.headers, body, house.options.body_limit).await?;
    let base = route.target.base_url.trim_end_matches('/');
    // A version at the end of the base URL is not doubled.
    let path = path.split_once('/').map_or("", |(_, rest)| rest);
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let path = if base.ends_with(&format!("/{first}")) { rest } else { path };
    let url = with_query(&format!("{base}/{path}"), parts.uri.query());
    let mut send = Outbound::new(parts.method, &url).map_err(|error| failed(&error))?;
    send.body = bytes;
    send.headers = onward(&parts.headers);
    send.auth = credential_for(&route, credential);
    pass(house, &route, &send).await
}

/// Whether a server that takes a path apart may leave what stands before it. Some unpack a part first, end it at more
/// signs than one, or cut off what stands behind a semicolon.
fn leads_upwards(path: &str) -> bool {
    let mut plain = path.to_ascii_lowercase();
    for (packed, sign) in [("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("\\", "/")] {
        plain = plain.replace(packed, sign);
    }
    plain.split('/').any(|part| part.split(';').next() == Some(".."))
}

/// The upstream's own answer to this very request.
pub(crate) async fn pass(
    house: &House,
    route: &Route,
    send: &Outbound,
) -> Result<Response<Flow>, Turned> {
    house.seen.tell(&Told::Passed { provider: &route.target.provider });
    let answer = route.transport.send(send).await.map_err(|error| {
        house.seen.tell(&Told::Failed { reason: reason(&error) });
        failed(&error)
    })?;
    let flow = Flow::raw(answer.body);
    Ok(relayed(answer.status, &answer.headers, answer.extensions, flow))
}
