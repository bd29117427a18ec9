//! `GET` and `DELETE /v1/responses/{id}`: stored answers, in this gateway or at their upstream.

use crate::attempt::sending::failed;
use crate::credential;
use crate::raw::pass::pass;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::{credential_for, keyless_tenants};
use crate::request::edge::headers::Crossing;
use crate::request::edge::query::with_query;
use crate::request::provider_resource::{Access, Ids};
use crate::request::references::patiently;
use crate::respond::flow::Flow;
use crate::respond::reply::{Account, json, refusal};
use crate::state::RequestState;
use crate::store::vault::KeptResponses;
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;
use thinkthrough_client::{Auth, Request as Outbound};
use thinkthrough_core::echo::short;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::wire::resource::{Kind, Resource};
use thinkthrough_core::wire::responses::Responses;
use thinkthrough_json::{Doc, Raw};

/// Returns or deletes a stored answer.
pub(crate) async fn answer(state: &RequestState, parts: &Parts, id: &str) -> Response<Flow> {
    let outcome = found(state, parts, id).await;
    let mut answer = outcome.unwrap_or_else(|rejection| refusal(Some(&Responses), &rejection));
    Account::open().explain(&mut answer, &state.reporter);
    answer
}

async fn found(state: &RequestState, parts: &Parts, id: &str) -> Result<Response<Flow>, Rejection> {
    let credential = credential::of(&parts.uri, &parts.headers)?;
    for kept_responses in all_kept_responses(state, &credential) {
        let Some(row) = patiently(&state.waits, kept_responses.get(id.to_owned())).await? else {
            continue;
        };
        let is_deleted = parts.method == Method::DELETE;
        let doc = Doc::parse(&row).map_err(|_| missing(id))?;
        let answer = match doc.root().get("response") {
            Some(response) if !is_deleted => json(200, response.raw().to_owned()),
            Some(_) => json(200, deleted(id)),
            None => {
                let model = doc.root().string("model").unwrap_or_default();
                ask_upstream(state, parts, &credential, &model, id).await?
            }
        };
        if is_deleted && answer.status().is_success() {
            patiently(&state.waits, kept_responses.delete(id.to_owned())).await?;
        }
        return Ok(answer);
    }
    Err(missing(id))
}

fn missing(id: &str) -> Rejection {
    let id = short(id);
    rejection(404, "not_found", format!("Response with id '{id}' not found."))
}

fn deleted(id: &str) -> String {
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.field_str("id", id);
            w.field_str("object", "response");
            w.key("deleted").bool(true);
        });
    });
    raw.as_str().to_owned()
}

/// The stored answers of every tenant that the caller may be. The request names no model, so that the route cannot
/// tell the tenant.
fn all_kept_responses(state: &RequestState, credential: &Auth) -> Vec<Arc<dyn KeptResponses>> {
    let Some(vaults) = &state.vaults else { return Vec::new() };
    let tenants = tenants(state, credential);
    tenants.iter().filter_map(|tenant| vaults.kept_responses(tenant)).collect()
}

/// The tenants that the caller may be.
pub(crate) fn tenants(state: &RequestState, credential: &Auth) -> Vec<Tenant> {
    match &state.pass {
        Some(pass) => vec![pass.tenant.clone()],
        None => {
            let RequestState { models, options, vaults, .. } = state;
            keyless_tenants(&**models, options, vaults.as_ref(), credential)
        }
    }
}

/// Asks the upstream for its own answer to the same request.
async fn ask_upstream(
    state: &RequestState,
    parts: &Parts,
    credential: &Auth,
    model: &str,
    id: &str,
) -> Result<Response<Flow>, Rejection> {
    let room = state.load.share.passing()?;
    let route = state.models.find(model).map_err(|_| missing(id))?;
    if let Some(access) = Access::of(state, &route.target.provider) {
        access.admit_path(&Resource::new(Kind::Response, id)).await?;
        access.admit(&Ids::of_parameters(parts.uri.query())).await?;
    }
    let url = with_query(&format!("{}/{id}", route.target.url(false)), parts.uri.query());
    let refuse = |error| failed(&error, &route.target.provider);
    let mut send = Outbound::new(parts.method.clone(), &url).map_err(refuse)?;
    send.headers = Crossing::to(&route).request(&parts.headers);
    send.auth = credential_for(&route, credential.clone());
    state.charges.enter(state.pass.as_deref(), || 0).await?;
    send.gate = state.charges.gate(&route, || 0);
    pass(state, &route, &send, (None, None), room).await
}
