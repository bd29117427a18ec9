//! Endpoints that the gateway answers itself: health, metrics, the list of models.

use crate::accept::place::{Face, Nowhere, Place};
use crate::models::list;
use crate::models::route::Listed;
use crate::observe::audit::Audit;
use crate::observe::metrics;
use crate::rejection::rejection;
use crate::request::identity::keys_unavailable;
use crate::respond::flow::Flow;
use crate::respond::reply::{json, refusal, turned_away, typed};
use crate::state::{Gateway, RequestState};
use http::Response;
use http::header::HeaderName;
use http::request::Parts;
use thinkthrough_core::wire::Wire;

/// Whether the gateway can verify keys.
pub(crate) fn are_keys_known(state: &RequestState) -> bool {
    state.options.keys.as_ref().is_none_or(|keys| keys.are_known())
}

/// Answers a health check or a request for metrics. The answer does not depend on the caller.
pub(crate) fn answer(gateway: &Gateway, state: &RequestState, place: &Place) -> Response<Flow> {
    let are_known = are_keys_known(state);
    let is_up = state.vaults.as_ref().is_none_or(|vaults| vaults.is_up());
    let is_displaced = state.vaults.as_ref().is_some_and(|vaults| vaults.is_displaced());
    let mut backlog = state.vaults.as_ref().map(|vaults| vaults.backlog()).unwrap_or_default();
    backlog.is_refused |= !is_up;
    match place {
        Place::Ready if gateway.is_closing() => typed(503, TEXT, "closing\n"),
        Place::Ready if is_displaced => typed(503, TEXT, STORE_DISPLACED),
        Place::Ready if !are_known => typed(503, TEXT, "keys_unavailable\n"),
        // The status stays 200, so that load balancers keep sending traffic. Requests work without stored thoughts.
        Place::Ready if backlog.is_refused => typed(200, TEXT, "degraded\n"),
        Place::Live | Place::Ready => typed(200, TEXT, "ok\n"),
        Place::Metrics => {
            let traces = state.options.audit.as_ref().map_or(0, Audit::waiting_now);
            gateway.bus.metrics.see(backlog, traces);
            typed(200, metrics::TEXT, gateway.bus.metrics.text(is_up))
        }
        _ => turned_away(&state.reporter, None, &keys_unavailable()),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
/// The answer of `/readyz` if the store's file was removed or replaced, so that new records would be lost.
const STORE_DISPLACED: &str = "store_displaced: the store's file was removed or replaced; put it back and start the gateway again\n";

/// The list of models, in the format of the caller's API.
pub(crate) fn models(state: &RequestState, face: Face, parts: &Parts) -> Response<Flow> {
    json(200, list::models(spoken_by(face, parts), &state.models.list()))
}

/// One model of the list.
pub(crate) fn model(
    state: &RequestState,
    (face, parts): (Face, &Parts),
    wire: Option<&'static dyn Wire>,
    name: &str,
) -> Response<Flow> {
    match state.find(name) {
        Ok(route) => {
            let listed = Listed { name: name.to_owned(), provider: route.target.provider.clone() };
            json(200, list::model(spoken_by(face, parts), &listed))
        }
        Err(rejection) => refusal(wire, &rejection),
    }
}

/// A caller of `/v1/models` with this header wants Anthropic's list format; OpenAI's API has the same path.
fn spoken_by(face: Face, parts: &Parts) -> Face {
    const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
    if face == Face::Chat && parts.headers.contains_key(VERSION) { Face::Messages } else { face }
}

/// The answer to a path or method that leads nowhere.
pub(crate) fn nowhere(nowhere: Nowhere, path: &str) -> Response<Flow> {
    let path: String = path.chars().filter(char::is_ascii_graphic).take(200).collect();
    let rejection = match nowhere {
        Nowhere::Path => rejection(404, "not_found", format!("there is nothing at `{path}`")),
        Nowhere::Compaction => {
            let message = "the gateway compacts no conversations; a provider that does is asked at \
                           `/p/{provider}/v1/responses/compact`";
            rejection(400, "compaction_unsupported", message)
        }
        Nowhere::Method => {
            rejection(405, "method_not_allowed", format!("`{path}` is asked with another method"))
        }
    };
    refusal(None, &rejection)
}
