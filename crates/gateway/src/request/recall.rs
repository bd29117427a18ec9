//! Requests of the Responses API that continue a stored answer by its id.
//!
//! If the upstream itself stores the answer, the request passes unchanged; the gateway then stores only the answer's
//! owner and model. Otherwise the gateway adds the whole conversation to the request.

use crate::models::route::Route;
use crate::names::random_id;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::tenant;
use crate::request::keeping::{Keeping, PREVIOUS};
use crate::request::references::{self, Referred, patiently};
use crate::request::take;
use crate::state::RequestState;
use bytes::Bytes;
use std::sync::Arc;
use thinkthrough_client::Auth;
use thinkthrough_core::echo::short;
use thinkthrough_core::edit::Draft;
use thinkthrough_core::edit::list::{ListEdit, member};
use thinkthrough_core::wire::Wire;
use thinkthrough_core::wire::responses::Responses;
use thinkthrough_json::{Doc, Val};

/// The result of `recall`: the changed request, and the data to store with its own answer.
#[derive(Default)]
pub(crate) struct Recalled {
    /// The request with the whole conversation; `None` if it passes unchanged.
    pub(crate) body: Option<Bytes>,
    /// `None` if the answer is not stored.
    pub(crate) keeping: Option<Arc<Keeping>>,
    /// Only this upstream has the conversation that the request continues.
    pub(crate) is_bound: bool,
}

/// Resolves the references of a Responses request to stored answers.
pub(crate) async fn recall(
    state: &RequestState,
    route: &Route,
    credential: &Auth,
    doc: &Doc<'_>,
    may_keep: bool,
) -> Result<Recalled, Rejection> {
    let tenant = tenant(state, route, credential);
    let kept_responses =
        tenant.zip(state.vaults.as_ref()).and_then(|(tenant, all)| all.kept_responses(&tenant));
    let is_same_wire = route.target.wire.id() == Responses.id();
    let Referred { body: referred, has_unknown } =
        references::resolved(kept_responses.as_ref(), &state.waits, doc).await?;
    let whole = referred.as_ref().map(take::json).transpose()?;
    let doc = whole.as_ref().unwrap_or(doc);
    let root = doc.root();
    if !is_same_wire {
        only_here(root)?;
    }
    let previous = root.string(PREVIOUS);
    let body = match &previous {
        None => None,
        Some(id) => {
            let before = match &kept_responses {
                Some(kept_responses) => {
                    patiently(&state.waits, kept_responses.chain(id.clone())).await?
                }
                None => Vec::new(),
            };
            gone_on(doc, id, &before, is_same_wire)?
        }
    };
    let is_bound = has_unknown || (previous.is_some() && body.is_none());
    let keeps = may_keep && root.bool("store") != Some(false);
    let keeping = kept_responses.filter(|_| keeps).map(|kept_responses| {
        let (id, model) = (format!("resp_{}", random_id()), root.string("model"));
        let (model, input) = (model.unwrap_or_default(), items(root));
        let mut held = state.load.share.reserve();
        held.grow_to(input.len())?;
        Ok(Arc::new(Keeping { kept_responses, id, previous, model, input, _held: held }))
    });
    let keeping = keeping.transpose()?;
    Ok(Recalled { body: body.or(referred), keeping, is_bound })
}

/// Refuses references that the gateway could not resolve, because an upstream of another wire cannot resolve them
/// either.
fn only_here(root: Val<'_>) -> Result<(), Rejection> {
    if let Some(id) = references::first(root) {
        let id = short(&id);
        return Err(rejection(400, "item_not_found", format!("Item with id '{id}' not found.")));
    }
    if root.some("conversation").is_some() {
        let message = "`conversation` is kept by providers of the Responses API alone; go on with \
                       `previous_response_id`, or send the whole input";
        return Err(rejection(400, "invalid_request_error", message));
    }
    Ok(())
}

/// The request with the conversation that it continues; `None` if the upstream itself has that.
fn gone_on(
    body: &Doc<'_>,
    id: &str,
    before: &[Vec<u8>],
    is_same_wire: bool,
) -> Result<Option<Bytes>, Rejection> {
    let missing = |id: &str| {
        let message = format!("Previous response with id '{}' not found.", short(id));
        rejection(400, "previous_response_not_found", message)
    };
    let Some(last) = before.last() else {
        // The caller's right to name this id is checked later, on the body that is sent.
        return if is_same_wire { Ok(None) } else { Err(missing(id)) };
    };
    if is_upstreams(last) {
        return if is_same_wire { Ok(None) } else { Err(missing(id)) };
    }
    let mut said = Vec::new();
    for (at, row) in before.iter().enumerate() {
        let doc = Doc::parse(row).map_err(|_| missing(id))?;
        let row = doc.root();
        if let Some(earlier) = row.string("previous").filter(|_| at == 0) {
            return Err(missing(&earlier));
        }
        let output = row.path(&["response", "output"]);
        let all = row.get("input").into_iter().chain(output).flat_map(Val::items);
        said.extend(all.map(|item| item.raw().to_owned()));
    }
    Ok(Some(joined(body, &said)))
}

fn is_upstreams(row: &[u8]) -> bool {
    Doc::parse(row).is_ok_and(|doc| doc.root().get("response").is_none())
}

/// The request with these items before its own.
fn joined(body: &Doc<'_>, said: &[String]) -> Bytes {
    let root = body.root();
    let (mut draft, mut members) = (Draft::new(), ListEdit::of(root));
    let previous = root.entries().enumerate().filter(|(_, (key, _))| key == PREVIOUS);
    previous.for_each(|(index, _)| members.remove(index));
    match root.get("input") {
        Some(list) if list.is_array() => {
            let mut edit = ListEdit::of(list);
            said.iter().for_each(|item| edit.insert(0, item.as_str()));
            edit.finish(&mut draft);
        }
        input => {
            let own = items(root);
            let own = own.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or_default();
            let own = Some(own).filter(|own| !own.is_empty());
            let all: Vec<&str> = said.iter().map(String::as_str).chain(own).collect();
            let all = format!("[{}]", all.join(","));
            match input {
                Some(input) => draft.replace(input.span(), all),
                None => members.insert(0, member("input", &all)),
            }
        }
    }
    members.finish(&mut draft);
    let text = body.text().as_bytes();
    match draft.finish(text.len()) {
        Ok(plan) => plan.apply(text).into_owned().into(),
        // Edits of different members never overlap.
        Err(_) => Bytes::copy_from_slice(text),
    }
}

/// The input of the request itself, as a list of items.
fn items(root: Val<'_>) -> String {
    match root.get("input") {
        Some(list) if list.is_array() => list.raw().to_owned(),
        Some(text) if text.as_str().is_some() => {
            format!(r#"[{{"role":"user","content":{}}}]"#, text.raw())
        }
        Some(_) | None => "[]".to_owned(),
    }
}
