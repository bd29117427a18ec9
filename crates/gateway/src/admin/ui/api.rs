//! The viewer's API. Its callers have signed in; a session of a key that is no admin sees only its own tenant.

use super::{Visit, not_so, overview, traces};
use crate::admin::listening;
use crate::identify::sign_ins::{Viewer, Who};
use crate::load::{Denied, Holder};
use crate::observe::events::Scope as Listens;
use crate::rejection::{Rejection, rejection};
use crate::request::edge::inbound::Inbound;
use crate::request::identity::{Identity, signed_out, view};
use crate::respond::flow::Flow;
use crate::respond::reply::{json, refusal};
use crate::state::RequestState;
use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE, UPGRADE};
use http::{Method, Response, Uri};
use http_body_util::{BodyExt as _, Limited};
use std::time::Instant;
use thinkthrough_client::Secret;
use thinkthrough_core::plane::Tenant;
use thinkthrough_json::{Doc, Raw};

/// The name of the session cookie, which no script can read. It ends in the port, because browsers share cookies
/// between the ports of a host.
const NAME: &str = "thinkthrough_viewer_";
/// This header proves that a request is not a form of another site.
const OURS: &str = "x-thinkthrough-viewer";
/// The longest body of an order, in bytes.
const LONGEST: usize = 4096;

/// The requests that a session may see: those of one tenant, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Tenant(Tenant),
}

impl Scope {
    fn of(scope: &Listens) -> Result<Self, Rejection> {
        match scope {
            Listens::All => Ok(Scope::All),
            Listens::Tenants(tenants) => {
                tenants.first().cloned().map(Scope::Tenant).ok_or_else(signed_out)
            }
        }
    }

    /// The tenant, unless the session sees all of them.
    pub(super) fn tenant(&self) -> Option<&Tenant> {
        match self {
            Scope::All => None,
            Scope::Tenant(tenant) => Some(tenant),
        }
    }

    /// The holder of the places that the session takes.
    fn holder(&self) -> Holder {
        match self {
            Scope::All => Holder::Operator,
            Scope::Tenant(tenant) => Holder::Tenant(tenant.as_str().to_owned()),
        }
    }
}

/// Answers a request below `/ui/api/`.
pub(super) async fn answer(visit: Visit<'_>, path: &str) -> Response<Flow> {
    act(visit, path).await.unwrap_or_else(|rejection| refusal(None, &rejection))
}

async fn act(visit: Visit<'_>, path: &str) -> Result<Response<Flow>, Rejection> {
    let Visit { gateway, state, pace, mut parts, body, port } = visit;
    let viewer = state.options.viewer.clone().ok_or_else(|| missing(path))?;
    let is_order = parts.method == Method::POST;
    if is_order && !parts.headers.contains_key(OURS) {
        let message = format!("an order of the viewer carries the header `{OURS}`");
        return Err(rejection(403, "forbidden", message));
    }
    if path == "sign-in" && is_order {
        let order = order(body).await?;
        return sign_in(state, &viewer, &order, port).await;
    }
    let shown = cookie(&parts.headers, port).ok_or_else(signed_out)?;
    let grant = Identity::session(gateway, &viewer, &shown).grant().await?;
    let scope = Scope::of(grant.scope())?;
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let query = query.as_str();
    // Reading and writing one answer takes megabytes of memory.
    let questions = &state.load.pools.questions;
    let _place = match path {
        "sign-out" | "me" | "events" => None,
        _ => Some(questions.enter(&scope.holder(), 1).await.map_err(Denied::rejection)?),
    };
    match (is_order, path) {
        (true, "sign-out") => {
            viewer.leave(&shown);
            Ok(json(200, "{}"))
        }
        (true, "prune") => traces::prune(state, &scope, &order(body).await?).await,
        (true, "erase") => traces::erase(state, &scope, &order(body).await?).await,
        (false, "me") => Ok(json(200, overview::me(&scope, state.options.shows_thoughts))),
        (false, "events") => {
            // Events of live text mix thoughts with answers, so that only lifecycle events may be sent.
            if !state.options.shows_thoughts {
                parts.uri = Uri::from_static("/ui/api/events?stream=lifecycle");
            }
            // The page reads server-sent events.
            parts.headers.remove(UPGRADE);
            listening::hear(state, pace, &mut parts, (grant, scope.holder()))
        }
        (false, "house") => Ok(json(200, overview::overview(gateway, state, &scope).await)),
        (false, "traces") => traces::list(state, &scope, query).await,
        (false, "sessions") => traces::sessions(state, &scope, query).await,
        (false, "sums") => traces::sums(state, &scope, query).await,
        (false, path) => match path.strip_prefix("traces/") {
            Some(id) => traces::one(state, &scope, id).await,
            None => Err(missing(path)),
        },
        (true, _) => Err(not_so()),
    }
}

fn missing(path: &str) -> Rejection {
    let path: String = path.chars().filter(char::is_ascii_graphic).take(60).collect();
    rejection(404, "not_found", format!("the viewer has nothing at `{path}`"))
}

/// Reads the JSON object of an order.
async fn order(body: Inbound) -> Result<Raw, Rejection> {
    let bad = || rejection(400, "invalid_request_error", "an order of the viewer is a JSON object");
    let body = Limited::new(body, LONGEST).collect().await.map_err(|_| bad())?.to_bytes();
    let text = std::str::from_utf8(&body).map_err(|_| bad())?;
    let is_object = Doc::parse_str(text).is_ok_and(|doc| doc.root().is_object());
    Raw::parse(text).ok().filter(|_| is_object).ok_or_else(bad)
}

/// Signs in a person with a link or a key.
async fn sign_in(
    state: &RequestState,
    viewer: &Viewer,
    order: &Raw,
    port: u16,
) -> Result<Response<Flow>, Rejection> {
    let doc = order.doc();
    let said = |name: &str| doc.root().string(name).filter(|text| !text.is_empty());
    let who = match (said("link"), said("key")) {
        (Some(link), None) if viewer.take(&link, Instant::now()) => Who::Operator,
        (Some(_), None) => {
            let message =
                "this link was used, or it expired, or there is a newer one; `think ui` prints one";
            return Err(rejection(401, "link_used", message));
        }
        (None, Some(key)) => Who::Key(Secret::new(&key)),
        _ => return Err(signed_out()),
    };
    let scope = Scope::of(&view(&state.options, &who).await?)?;
    let places = (&state.load.pools.sign_ins, scope.holder());
    let token = viewer.admit(who, places, Instant::now())?;
    let session = Identity::session(&state.gateway, viewer, &token).grant().await?;
    let (viewer, left) = (viewer.clone(), token.clone());
    tokio::spawn(async move {
        session.ended().await;
        viewer.leave(&left);
    });
    let mut answer = json(200, overview::me(&scope, state.options.shows_thoughts));
    let secure = if state.options.tls.is_some() { "; Secure" } else { "" };
    let cookie = format!(
        "{NAME}{port}={token}; Path=/ui/; HttpOnly; SameSite=Strict; Max-Age=86400{secure}"
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}

pub(super) fn unavailable() -> Rejection {
    rejection(503, "store_unavailable", "the store does not answer; ask again")
}

/// The session token from the cookie.
fn cookie(headers: &HeaderMap, port: u16) -> Option<String> {
    let wanted = format!("{NAME}{port}");
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs =
        lines.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
}
