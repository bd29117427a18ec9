//! Resolves items of a request that only name an item of a stored answer. Clients that rely on the provider's memory
//! send them.
//!
//! If the gateway wrote an answer, the ids of its items contain the answer's id. If the upstream chose the ids but
//! does not store the answer, a separate row for each item names the answer.

use crate::rejection::{Rejection, rejection};
use crate::store::vault::{KeptResponses, Later, VaultError};
use crate::store::waits::{Waited, Waits};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use thinkthrough_core::edit::Draft;
use thinkthrough_json::{Doc, Raw, Val};

/// The type of an item that only names another one.
pub(crate) const REFERENCE: &str = "item_reference";

/// The most stored answers that are read for one request.
const MOST: usize = 100;

/// Reads data that the caller names. Without it there is no conversation, so a store that does not answer in time is
/// an error.
pub(crate) async fn patiently<T>(waits: &Waits, later: Later<'_, T>) -> Result<T, Rejection> {
    match waits.answer(later).await {
        Waited::Answered(Ok(found)) => Ok(found),
        Waited::Answered(Err(VaultError(_))) | Waited::Late => {
            let message = "kept responses cannot be read now; ask again";
            Err(rejection(503, "store_unavailable", message))
        }
    }
}

/// The result of resolving a request's references.
#[derive(Debug, Default)]
pub(crate) struct Referred {
    /// The request with the items in place of references; `None` if it is unchanged.
    pub(crate) body: Option<Bytes>,
    /// Whether some references name no stored item.
    pub(crate) has_unknown: bool,
}

/// Replaces references by the items that they name.
pub(crate) async fn resolved(
    kept_responses: Option<&Arc<dyn KeptResponses>>,
    waits: &Waits,
    doc: &Doc<'_>,
) -> Result<Referred, Rejection> {
    let (mut draft, mut referred) = (Draft::new(), Referred::default());
    let mut answers: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    for (reference, id) in references(doc.root()) {
        let item = match kept_responses {
            Some(kept_responses) => item(kept_responses, waits, &id, &mut answers).await?,
            None => None,
        };
        match item {
            Some(item) => draft.replace(reference.span(), item),
            None => referred.has_unknown = true,
        }
    }
    let text = doc.text().as_bytes();
    if let Ok(plan) = draft.finish(text.len())
        && let std::borrow::Cow::Owned(body) = plan.apply(text)
    {
        referred.body = Some(body.into());
    }
    Ok(referred)
}

/// The first reference of a request.
pub(crate) fn first(root: Val<'_>) -> Option<String> {
    references(root).next().map(|(_, id)| id)
}

/// The references in a request's input, with their ids. A reference may lack the type.
fn references(root: Val<'_>) -> impl Iterator<Item = (Val<'_>, String)> {
    root.get("input").into_iter().flat_map(Val::items).filter_map(|item| {
        let kind = item.text("type");
        let is_bare = || item.entries().all(|(key, value)| key == "id" || value.is_null());
        let names = kind.as_deref() == Some(REFERENCE) || (kind.is_none() && is_bare());
        let id = item.string("id").filter(|_| names)?;
        Some((item, id))
    })
}

/// The item with this id, if its answer is stored.
async fn item(
    kept_responses: &Arc<dyn KeptResponses>,
    waits: &Waits,
    id: &str,
    answers: &mut BTreeMap<String, Option<Vec<u8>>>,
) -> Result<Option<String>, Rejection> {
    let answer = match of(id) {
        Some(answer) => Some(answer.to_owned()),
        None => {
            let row = patiently(waits, kept_responses.get(beside(id))).await?;
            let doc = row.as_deref().and_then(|row| Doc::parse(row).ok());
            doc.and_then(|doc| doc.root().string(OF))
        }
    };
    let Some(answer) = answer else { return Ok(None) };
    if !answers.contains_key(&answer) {
        if answers.len() >= MOST {
            let message = format!("the request refers to items of more than {MOST} responses");
            return Err(rejection(400, "invalid_request_error", message));
        }
        let row = patiently(waits, kept_responses.get(answer.clone())).await?;
        answers.insert(answer.clone(), row);
    }
    let row = answers.get(&answer).and_then(Option::as_deref);
    let Some(Ok(doc)) = row.map(Doc::parse) else { return Ok(None) };
    let output = doc.root().path(&["response", "output"]);
    let mut items = output.into_iter().flat_map(Val::items);
    let named = items.find(|item| item.text("id").as_deref() == Some(id));
    Ok(named.map(|item| item.raw().to_owned()))
}

/// The answer's id inside an item's id: `msg_0_resp_...` is the first item of `resp_...`.
fn of(id: &str) -> Option<&str> {
    let (_, rest) = id.split_once('_')?;
    let (number, answer) = rest.split_once('_')?;
    (number.parse::<u32>().is_ok() && answer.starts_with("resp_")).then_some(answer)
}

/// The member of a row that names the answer.
const OF: &str = "of";

/// The key of an item's row. The leading blank keeps it apart from the ids of answers.
fn beside(id: &str) -> String {
    format!(" {id}")
}

/// Stores the answer's id for each item whose own id does not contain it.
pub(crate) async fn keep(
    kept_responses: &dyn KeptResponses,
    response: Val<'_>,
) -> Result<(), VaultError> {
    let Some(answer) = response.string("id") else { return Ok(()) };
    let row = Raw::build(|w| w.object(|w| w.field_str(OF, &answer)));
    let items = response.get("output").into_iter().flat_map(Val::items);
    let ids = items.filter_map(|item| item.string("id")).filter(|id| of(id) != Some(&answer));
    for id in ids.collect::<Vec<_>>() {
        let row = row.as_str().as_bytes().to_vec();
        kept_responses.put(beside(&id), row, Some(answer.clone())).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{first, of};
    use thinkthrough_json::Doc;

    #[test]
    fn an_item_that_is_written_here_names_its_answer() {
        assert_eq!(of("msg_0_resp_1a"), Some("resp_1a"));
        assert_eq!(of("rs_12_resp_1a_b"), Some("resp_1a_b"));
        for other in ["msg_1a2b", "rs_x_resp_1", "msg_0_1a", "resp_1a", "", "_"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn only_what_names_an_item_and_nothing_else_is_a_reference() {
        for (item, is_one) in [
            (r#"{"type":"item_reference","id":"a"}"#, true),
            (r#"{"id":"a","type":null}"#, true),
            (r#"{"id":"a","role":"user","content":"x"}"#, false),
            (r#"{"type":"reasoning","id":"a","summary":[]}"#, false),
            (r#""a""#, false),
        ] {
            let body = format!(r#"{{"input":[{item}]}}"#);
            let doc = Doc::parse_str(&body).unwrap();
            assert_eq!(first(doc.root()).is_some(), is_one, "{item}");
        }
    }
}
