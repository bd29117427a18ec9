//! `GET /v1/traces/{id}`: the state of a trace and, once it is stored, its content.

use crate::admin::kept_responses::tenants;
use crate::credential;
use crate::observe::audit::Place;
use crate::rejection::{Rejection, rejection};
use crate::respond::flow::Flow;
use crate::respond::reply::{json, refusal};
use crate::state::RequestState;
use http::Response;
use http::request::Parts;
use thinkthrough_core::echo::short;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_store::Trace;

/// Returns the trace of this id to the caller whose request it shows.
pub(crate) async fn answer(state: &RequestState, parts: &Parts, id: &str) -> Response<Flow> {
    let found = find(state, parts, id).await;
    found.unwrap_or_else(|rejection| refusal(None, &rejection))
}

async fn find(state: &RequestState, parts: &Parts, id: &str) -> Result<Response<Flow>, Rejection> {
    let credential = credential::of(&parts.uri, &parts.headers)?;
    let missing = || rejection(404, "not_found", format!("there is no trace `{}`", short(id)));
    let audit = state.options.audit.as_ref().ok_or_else(missing)?;
    let tenants = tenants(state, &credential);
    let places = || tenants.iter().find_map(|tenant| audit.place(tenant.as_str(), id));
    if let Some(place) = places() {
        return Ok(json(200, state_of(id, place)));
    }
    let Some(traces) = audit.traces() else { return Err(unavailable()) };
    let trace = traces.get(id).await.map_err(|_| unavailable())?;
    let is_theirs = |trace: &Trace| tenants.iter().any(|it| it.as_str() == trace.tenant);
    let trace = trace.filter(is_theirs).ok_or_else(missing)?;
    Ok(json(200, stored(&trace, state.options.shows_thoughts)))
}

fn unavailable() -> Rejection {
    rejection(503, "store_unavailable", "the store does not answer; ask again")
}

fn state_of(id: &str, place: Place) -> String {
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
