//! Budgets of requests to `/p/{provider}/...`. Such requests pass unchanged, so the gateway can only reserve tokens
//! for them, read their answers, and book the count.

use crate::identify::keys::Pass;
use crate::load::CAPS;
use crate::models::route::Route;
use crate::models::tenant;
use crate::observe::audit::Labels;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::{Claim, claim};
use crate::request::provider_resource::{Access, Ids};
use crate::spending::{Allowed, Asking, Metering, expected};
use crate::state::RequestState;
use bytes::Bytes;
use http::{HeaderMap, Method};
use std::sync::Arc;
use thinkthrough_client::Auth;
use thinkthrough_core::exchange::{Handling, RequestContext};
use thinkthrough_core::settings::resolve;
use thinkthrough_core::wire::{Wire, find};
use thinkthrough_json::{Doc, Val};
use thinkthrough_limits::OnExceed;

/// A request to an API whose answers report their tokens.
#[derive(Clone)]
pub(crate) struct Spending {
    pub(crate) wire: &'static dyn Wire,
    /// The model, if the path names it.
    model: Option<String>,
    /// Whether the request wants a stream, if the path says so.
    is_stream: Option<bool>,
}

impl Spending {
    /// The route of the requested model at this provider. If the model is unknown, the provider's own route.
    fn route(&self, state: &RequestState, provider: &Arc<Route>, body: Val<'_>) -> Arc<Route> {
        let model = self.model.clone().or_else(|| body.string("model")).unwrap_or_default();
        let named = state.models.find(&format!("{}/{model}", provider.target.provider));
        named.unwrap_or_else(|_| Arc::clone(provider))
    }
}

/// The most tokens that a request to this path of a provider may cost.
pub(crate) fn most(
    state: &RequestState,
    provider: &Arc<Route>,
    spoken: Option<&Spending>,
    body: &[u8],
) -> u64 {
    let doc = spoken.and_then(|spoken| Some((spoken, Doc::parse(body).ok()?)));
    match doc {
        Some((spoken, doc)) => {
            let route = spoken.route(state, provider, doc.root());
            expected(body, Some((spoken.wire, &route.target.rule)))
        }
        None => expected(body, None),
    }
}

/// The API by which the gateway reads the cost of this request. `None` if the key has no budget, or the request only
/// reads or deletes. Refuses a request with a budget if its API is unknown.
pub(crate) fn may_spend(
    state: &RequestState,
    method: &Method,
    segments: &[String],
) -> Result<Option<Spending>, Rejection> {
    let has_budget = state.pass.as_ref().is_some_and(|pass| !pass.budgets.is_none());
    if !has_budget || [Method::GET, Method::HEAD, Method::DELETE].contains(method) {
        return Ok(None);
    }
    let known = Some(method).filter(|it| **it == Method::POST).and_then(|_| spoken(segments));
    known.map(Some).ok_or_else(|| unreadable("at this path"))
}

/// The API of a path, by the path's end, if its answers report their tokens.
pub(crate) fn spoken(segments: &[String]) -> Option<Spending> {
    let mut from_end = segments.iter().rev().map(String::as_str);
    let (last, before) = (from_end.next()?, from_end.next());
    let (id, model) = match (before, last) {
        (Some("chat"), "completions") => ("chat-completions", None),
        (_, "messages") => ("messages", None),
        (_, "responses") => ("responses", None),
        (Some(model), "converse" | "converse-stream") => ("converse", Some(model)),
        _ => match last.rsplit_once(':')? {
            (model, "generateContent" | "streamGenerateContent") => {
                ("generate-content", Some(model))
            }
            _ => return None,
        },
    };
    let is_stream = model.map(|_| last.to_ascii_lowercase().contains("stream"));
    Some(Spending { wire: find(id)?, model: model.map(str::to_owned), is_stream })
}

/// The wire of a path, for errors in the caller's format. `None` if it is unknown.
pub(crate) fn wire_at(segments: &[String]) -> Option<&'static dyn Wire> {
    spoken(segments).map(|spending| spending.wire)
}

fn unreadable(what: &str) -> Rejection {
    let message = format!(
        "what this request to `/p/...` spends on reasoning cannot be read {what}, and this key has a budget of it; ask \
         the model by the gateway's own routes"
    );
    rejection(403, "budget_unreadable", message)
}

/// A request whose possible cost is read and reserved.
pub(crate) struct Spender {
    pub(crate) state: Arc<RequestState>,
    pub(crate) route: Arc<Route>,
    pub(crate) headers: HeaderMap,
    pub(crate) credential: Auth,
    pub(crate) body: Bytes,
}

impl Spender {
    /// Reserves the tokens that the request may spend, as on other routes. Also returns the session of the request.
    pub(crate) async fn reserve(
        self,
        spending: Spending,
    ) -> Result<(Metering, Option<String>), Rejection> {
        let Spender { state, route, headers, credential, body } = self;
        let wire = spending.wire;
        let doc = Doc::parse_within(&body, CAPS.values);
        let doc = doc.map_err(|_| unreadable("out of what is no JSON"))?;
        let root = doc.root();
        let route = spending.route(&state, &route, root);
        let hint = tenant::hint(&headers, root);
        let claim = claim(&state, &route, &credential, hint.clone()).await;
        // The configured settings do not apply to this request, because it passes unchanged.
        let (settings, handling) = (resolve(&[]), Handling::default());
        let asked = RequestContext::read(wire, &doc, &route.target, &settings, handling, None);
        let mut asked = asked.map_err(|_| unreadable("out of this body"))?;
        let followed = match (&hint, Access::of(&state, &route.target.provider)) {
            (None, Some(access)) => access.session_of(&Ids::resolved(wire, root)).await,
            _ => None,
        };
        let session = hint.as_deref().or(followed.as_deref());
        let labels = claim.map(|Claim { owner, .. }| {
            Labels::of(owner.tenant, &owner.secret, (session, true), &asked)
        });
        let session = labels.as_ref().map(|labels| labels.session.clone());
        let asking = Asking {
            pass: state.pass.as_deref(),
            vaults: state.vaults.as_ref(),
            headers: &headers,
            hint: hint.as_deref(),
            labels,
            body: None,
            is_as_it_is: true,
        };
        let Allowed { exceeded, room, .. } = state.charges.allow(asking, &mut asked).await?;
        match exceeded {
            Some((OnExceed::DisableReasoning | OnExceed::LowerEffort, scope)) => {
                let message = format!(
                    "the budget of {} is spent, and requests to `/p/...` cannot be made to think less; ask by the \
                     gateway's own routes",
                    scope.in_words()
                );
                Err(rejection(402, "reasoning_budget_exceeded", message))
            }
            Some((OnExceed::Block | OnExceed::Warn, _)) | None => {
                let is_stream = spending.is_stream.unwrap_or_else(|| asked.is_stream());
                let is_hard = state.pass.as_deref().is_some_and(Pass::blocks);
                let is_booked = is_hard && !is_stream;
                let dialect = route.target.dialect.clone();
                Ok((Metering { wire, dialect, room, is_booked }, session))
            }
        }
    }
}
