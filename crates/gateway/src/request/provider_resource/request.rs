//! The ids in a request.

use crate::accept::admission::decoded_name;
use crate::rejection::{Rejection, rejection};
use http::HeaderMap;
use std::collections::BTreeSet;
use thinkthrough_core::wire::resource::{Kind, Place, Resource, candidates};
use thinkthrough_core::wire::{self, Wire};
use thinkthrough_json::Val;

/// Members of a provider's own API that contain further requests: batches, and lines of their files.
const ENVELOPES: &[&str] =
    &["batch", "body", "inputConfig", "input_config", "params", "request", "requests"];

/// The ids in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    /// Ids at places where the API resolves ids.
    pub(crate) resolved: BTreeSet<Resource>,
    /// Values anywhere that may be ids.
    pub(crate) values: BTreeSet<String>,
}

impl Ids {
    /// The ids in the body of a request to a model.
    pub(crate) fn of_model(wire: &dyn Wire, body: Val<'_>) -> Self {
        let mut ids = Ids::default();
        ids.read(wire.resources().request, body);
        values(body, &mut ids.values);
        ids
    }

    /// The resources in the body of a request to a model, without other values.
    pub(crate) fn resolved(wire: &dyn Wire, body: Val<'_>) -> BTreeSet<Resource> {
        let mut ids = Ids::default();
        ids.read(wire.resources().request, body);
        ids.resolved
    }

    /// The ids in a body of a provider's own API. A provider may speak several wires, so the places of all wires
    /// count.
    pub(crate) fn of_api(body: Val<'_>) -> Self {
        let mut ids = Ids::default();
        ids.read_api(body);
        values(body, &mut ids.values);
        ids
    }

    /// The ids in the parameters of a URL, or in the fields of a form.
    pub(crate) fn of_parameters(query: Option<&str>) -> Self {
        let mut ids = Ids::default();
        let pairs = query.unwrap_or_default().split('&');
        for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
            let (name, value) = (decoded_name(name), decoded(value));
            candidates(&value, &mut ids.values);
            let kind = places().find_map(|place| place.parameter(&name));
            let named = kind.filter(|_| !value.is_empty()).map(|kind| Resource::new(kind, value));
            ids.resolved.extend(named);
        }
        ids
    }

    /// The ids in the headers of a request. No API resolves one there, so that they are values only.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Self {
        let mut ids = Ids::default();
        let texts = headers.values().filter_map(|value| value.to_str().ok());
        texts.for_each(|text| candidates(text, &mut ids.values));
        ids
    }

    /// The ids in a path.
    pub(crate) fn of_path(parts: &[String]) -> Self {
        let mut ids = Ids::default();
        parts.iter().for_each(|part| candidates(part, &mut ids.values));
        ids
    }

    /// Adds other ids.
    pub(crate) fn add(&mut self, mut other: Ids) {
        self.resolved.append(&mut other.resolved);
        self.values.append(&mut other.values);
    }

    fn read(&mut self, places: &[Place], body: Val<'_>) {
        places.iter().for_each(|place| place.read(body, &mut self.resolved));
    }

    fn read_api(&mut self, body: Val<'_>) {
        places().for_each(|place| place.read(body, &mut self.resolved));
        for (_, inner) in body.entries().filter(|(key, _)| ENVELOPES.contains(&&**key)) {
            inner.items().for_each(|item| self.read_api(item));
            if inner.is_object() {
                self.read_api(inner);
            }
        }
    }
}

/// The places of all wires.
fn places() -> impl Iterator<Item = &'static Place> {
    wire::ALL
        .iter()
        .map(|wire| wire.resources())
        .flat_map(|all| all.request.iter().chain(all.management))
}

/// Every string of a body that may be an id.
fn values(value: Val<'_>, found: &mut BTreeSet<String>) {
    if let Some(text) = value.as_str() {
        candidates(&text, found);
    }
    value.items().for_each(|item| values(item, found));
    value.entries().for_each(|(_, inner)| values(inner, found));
}

fn decoded(value: &str) -> String {
    crate::accept::admission::unpacked(value)
        .map_or_else(|| value.to_owned(), std::borrow::Cow::into_owned)
}

/// Refuses a request of the Responses API that chooses the id of its answer: some servers accept `request_id` for
/// that.
pub(crate) fn check_id_choice(body: Val<'_>) -> Result<(), Rejection> {
    let chooses = |key: &str| key.replace(['_', '-'], "").eq_ignore_ascii_case("requestid");
    let mut members = body.entries().filter(|(_, value)| !value.is_null());
    if body.get("input").is_some() && members.any(|(key, _)| chooses(&key)) {
        let message =
            "`request_id` would choose the id under which the answer is stored; leave it out";
        return Err(rejection(400, "invalid_request_error", message));
    }
    Ok(())
}

/// The first conversation of a request, else the response or interaction that it continues.
pub(crate) fn continued(resources: &BTreeSet<Resource>) -> Option<&Resource> {
    let of = |kinds: &[Kind]| resources.iter().find(|one| kinds.contains(&one.kind));
    of(&[Kind::Conversation]).or_else(|| of(&[Kind::Response, Kind::Interaction]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    fn resolved(ids: Ids) -> Vec<String> {
        ids.resolved.into_iter().map(|it| format!("{:?} {}", it.kind, it.id)).collect()
    }

    #[test]
    fn t_10_requests_within_a_batch_name_resources_too() {
        for (body, expected) in [
            (r#"{"input_file_id":"f"}"#, "File f"),
            (r#"{"batch":{"input_config":{"file_name":"files/f"}}}"#, "File files/f"),
            (r#"{"custom_id":"1","body":{"previous_response_id":"r"}}"#, "Response r"),
            (
                r#"{"requests":[{"params":{"messages":[{"content":[{"source":{"file_id":"f"}}]}]}}]}"#,
                "File f",
            ),
            (
                r#"{"batch":{"inputConfig":{"requests":{"requests":[{"request":{"cachedContent":"c"}}]}}}}"#,
                "Cache cachedContents/c",
            ),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            assert_eq!(resolved(Ids::of_api(doc.root())), [expected], "{body}");
        }
    }

    #[test]
    fn t_10_parameters_of_an_address_name_resources_too() {
        for (query, expected) in [
            ("conversation=c", Some("c")),
            ("file%5Fid=f", Some("f")),
            ("vector_store_ids[]=v", Some("v")),
            ("limit=1&order=asc", None),
            ("", None),
        ] {
            let found = Ids::of_parameters(Some(query)).resolved.into_iter().next();
            assert_eq!(found.map(|it| it.id).as_deref(), expected, "{query}");
        }
        let values = Ids::of_parameters(Some("after=file-0123456789ab")).values;
        assert_eq!(values.into_iter().collect::<Vec<_>>(), ["file-0123456789ab"]);
    }

    #[test]
    fn t_10_a_header_may_hold_an_id() {
        let mut headers = HeaderMap::new();
        headers.insert("x-any", "resp_0123456789ab".parse().unwrap());
        headers.insert("user-agent", "client 1.0 (any)".parse().unwrap());
        let values = Ids::of_headers(&headers).values;
        assert_eq!(values.into_iter().collect::<Vec<_>>(), ["resp_0123456789ab"]);
    }
}
