//! Stores one answer of the Responses API under its id.

use crate::load::Reservation;
use crate::request::references;
use crate::store::vault::KeptResponses;
use std::sync::Arc;
use thinkthrough_core::exchange::Name;
use thinkthrough_json::{Doc, Raw};

/// The field of a request or answer that names the previous answer.
pub(crate) const PREVIOUS: &str = "previous_response_id";

/// The data that is stored with an answer.
pub(crate) struct Keeping {
    pub(crate) kept_responses: Arc<dyn KeptResponses>,
    /// The id of the answer, if the gateway writes it.
    pub(crate) id: String,
    /// The answer that this one continues.
    pub(crate) previous: Option<String>,
    /// The model name of the request.
    pub(crate) model: String,
    /// The input of this request, as a list of items.
    pub(crate) input: String,
    pub(crate) _held: Reservation,
}

impl Keeping {
    /// The id and fields of the answer.
    pub(crate) fn name(&self) -> Name {
        let previous = self.previous.iter().map(|id| (PREVIOUS.to_owned(), Raw::string(id)));
        Name { id: self.id.clone(), fields: previous.collect() }
    }

    /// Stores an answer. If the upstream itself stores it, the row contains only the model. Returns whether it was
    /// stored.
    pub(crate) async fn keep(&self, answer: &str, is_relayed: bool) -> bool {
        let Ok(doc) = Doc::parse_str(answer) else { return false };
        let Some(id) = doc.root().string("id") else { return false };
        let is_upstreams = is_relayed && doc.root().bool("store") == Some(true);
        let row = Raw::build(|w| {
            w.object(|w| {
                w.field_str("model", &self.model);
                if !is_upstreams {
                    if let Some(previous) = &self.previous {
                        w.field_str("previous", previous);
                    }
                    w.key("input").raw_str(&self.input);
                    w.key("response").raw_str(answer);
                }
            });
        });
        let previous = self.previous.clone().filter(|_| !is_upstreams);
        let kept = self.kept_responses.put(id, row.as_str().as_bytes().to_vec(), previous).await;
        kept.is_ok()
            && (is_upstreams || references::keep(&*self.kept_responses, doc.root()).await.is_ok())
    }
}
