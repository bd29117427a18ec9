//! Where one answer of the Responses API is kept by its id.

use crate::load::Reservation;
use crate::request::references;
use crate::store::vault::KeptResponses;
use std::sync::Arc;
use thinkthrough_core::exchange::Name;
use thinkthrough_json::{Doc, Raw};

/// The field of a request and of an answer that names the one before.
pub(crate) const PREVIOUS: &str = "previous_response_id";

/// Where an answer is to be kept.
pub(crate) struct Keeping {
    pub(crate) kept_responses: Arc<dyn KeptResponses>,
    /// The id of an answer that is written here.
    pub(crate) id: String,
    /// The answer that it goes on from.
    pub(crate) previous: Option<String>,
    /// The name that was asked for.
    pub(crate) model: String,
    /// What was said in this request: a list of items.
    pub(crate) input: String,
    pub(crate) _held: Reservation,
}

impl Keeping {
    /// What the answer is called.
    pub(crate) fn name(&self) -> Name {
        let previous = self.previous.iter().map(|id| (PREVIOUS.to_owned(), Raw::string(id)));
        Name { id: self.id.clone(), fields: previous.collect() }
    }

    /// Keeps an answer. One that the upstream itself keeps is only known here.
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
