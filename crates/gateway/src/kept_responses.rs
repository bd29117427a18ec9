//! `GET` and `DELETE /v1/responses/{id}`: answers that are kept by their ids, here or at their upstream.

use crate::asking::{credential_for, keyless_tenants};
use crate::door::{self, Turned, turned};
use crate::edge::headers::Crossing;
use crate::edge::query::with_query;
use crate::flow::Flow;
use crate::house::House;
use crate::provider_resource::{Access, Ids};
use crate::raw::pass;
use crate::references::patiently;
use crate::reply::{Account, json, refusal};
use crate::sending::failed;
use crate::vault::KeptResponses;
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;
use thinkthrough_client::{Auth, Request as Outbound};
use thinkthrough_core::echo::short;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::wire::resource::{Kind, Resource};
use thinkthrough_core::wire::responses::Responses;
use thinkthrough_json::{Doc, Raw};

/// Gives or deletes a kept answer.
pub(crate) async fn answer(house: &House, parts: &Parts, id: &str) -> Response<Flow> {
    let outcome = found(house, parts, id).await;
    let mut answer = outcome.unwrap_or_else(|turned| refusal(Some(&Responses), &turned));
    Account::open().explain(&mut answer, &house.seen);
    answer
}

async fn found(house: &House, parts: &Parts, id: &str) -> Result<Response<Flow>, Turned> {
    let credential = door::credential(&parts.uri, &parts.headers)?;
    for kept_responses in all_kept_responses(house, &credential) {
        let Some(row) = patiently(&house.waits, kept_responses.get(id.to_owned())).await? else {
            continue;
        };
        let is_deleted = parts.method == Method::DELETE;
        let doc = Doc::parse(&row).map_err(|_| missing(id))?;
        let answer = match doc.root().get("response") {
            Some(response) if !is_deleted => json(200, response.raw().to_owned()),
            Some(_) => json(200, deleted(id)),
            None => {
                let model = doc.root().string("model").unwrap_or_default();
                ask_upstream(house, parts, &credential, &model, id).await?
            }
        };
        if is_deleted && answer.status().is_success() {
            patiently(&house.waits, kept_responses.delete(id.to_owned())).await?;
        }
        return Ok(answer);
    }
    Err(missing(id))
}

fn missing(id: &str) -> Turned {
    let id = short(id);
    turned(404, "not_found", format!("Response with id '{id}' not found."))
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

/// The answers that the caller may have. No model says here whose the caller is, so it is any whom a model would say.
fn all_kept_responses(house: &House, credential: &Auth) -> Vec<Arc<dyn KeptResponses>> {
    let Some(vaults) = &house.vaults else { return Vec::new() };
    let tenants = tenants(house, credential);
    tenants.iter().filter_map(|tenant| vaults.kept_responses(tenant)).collect()
}

/// The tenants that the caller may be.
pub(crate) fn tenants(house: &House, credential: &Auth) -> Vec<Tenant> {
    match &house.pass {
        Some(pass) => vec![pass.tenant.clone()],
        None => {
            let House { models, options, vaults, .. } = house;
            keyless_tenants(&**models, options, vaults.as_ref(), credential)
        }
    }
}

/// The upstream's own answer to the same question.
async fn ask_upstream(
    house: &House,
    parts: &Parts,
    credential: &Auth,
    model: &str,
    id: &str,
) -> Result<Response<Flow>, Turned> {
    let room = house.load.share.passing()?;
    let route = house.models.find(model).map_err(|_| missing(id))?;
    if let Some(access) = Access::of(house, &route.target.provider) {
        access.admit_path(&Resource::new(Kind::Response, id)).await?;
        access.admit(&Ids::of_parameters(parts.uri.query())).await?;
    }
    let url = with_query(&format!("{}/{id}", route.target.url(false)), parts.uri.query());
    let refuse = |error| failed(&error, &route.target.provider);
    let mut send = Outbound::new(parts.method.clone(), &url).map_err(refuse)?;
    send.headers = Crossing::to(&route).request(&parts.headers);
    send.auth = credential_for(&route, credential.clone());
    house.tab.enter(house.pass.as_deref(), || 0).await?;
    send.gate = house.tab.gate(&route, || 0);
    pass(house, &route, &send, (None, None), room).await
}
