//! `GET /v1/traces/{id}`: where the trace of a request is, and what stands in it.

use crate::audit::Place;
use crate::door::{self, Turned, turned};
use crate::flow::Flow;
use crate::house::House;
use crate::kept_responses::tenants;
use crate::reply::{json, refusal};
use http::Response;
use http::request::Parts;
use thinkthrough_core::echo::short;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_store::Trace;

/// Gives the trace of this id to whoever made its request.
pub(crate) async fn answer(house: &House, parts: &Parts, id: &str) -> Response<Flow> {
    let found = find(house, parts, id).await;
    found.unwrap_or_else(|turned| refusal(None, &turned))
}

async fn find(house: &House, parts: &Parts, id: &str) -> Result<Response<Flow>, Turned> {
    let credential = door::credential(&parts.uri, &parts.headers)?;
    let missing = || turned(404, "not_found", format!("there is no trace `{}`", short(id)));
    let audit = house.options.audit.as_ref().ok_or_else(missing)?;
    let tenants = tenants(house, &credential);
    let places = || tenants.iter().find_map(|tenant| audit.place(tenant.as_str(), id));
    if let Some(place) = places() {
        return Ok(json(200, state(id, place)));
    }
    let Some(traces) = audit.traces() else { return Err(unavailable()) };
    let trace = traces.get(id).await.map_err(|_| unavailable())?;
    let is_theirs = |trace: &Trace| tenants.iter().any(|it| it.as_str() == trace.tenant);
    let trace = trace.filter(is_theirs).ok_or_else(missing)?;
    Ok(json(200, stored(&trace, house.options.shows_thoughts)))
}

fn unavailable() -> Turned {
    turned(503, "store_unavailable", "the store does not answer; ask again")
}

fn state(id: &str, place: Place) -> String {
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.field_str("id", id);
            w.field_str("state", place.as_str());
        });
    });
    raw.as_str().to_owned()
}

fn stored(trace: &Trace, shows: bool) -> String {
    let mut row = Writer::new();
    trace.write(&mut row, shows);
    let row = row.finish();
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.field_str("id", &trace.id);
            w.field_str("state", "stored");
            w.key("trace").raw_str(&row);
        });
    });
    raw.as_str().to_owned()
}
