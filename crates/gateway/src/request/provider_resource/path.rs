//! The paths of providers' own APIs, and the purpose of a request there.

use http::Method;
use thinkthrough_core::provider;
use thinkthrough_core::wire;
use thinkthrough_core::wire::resource::{Kind, Resource};

/// The purpose of a request to a provider's own API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Asks a model, or reads public data such as the list of models.
    Model,
    /// Creates a resource of this kind.
    Creation(Kind),
    /// Uses a resource.
    Use {
        /// The resource that the path names.
        resource: Resource,
        /// The kind of resource that the request creates within it.
        created: Option<Kind>,
        /// The path ends with the resource.
        is_whole: bool,
    },
    /// Lists the resources of all callers of an account.
    List,
    /// An unknown path.
    Unknown,
}

/// Kinds of resources that a request creates within another.
const WITHIN: &[(&str, Kind)] = &[
    ("documents", Kind::Document),
    ("file_batches", Kind::Batch),
    ("files", Kind::File),
    ("items", Kind::Item),
    ("messages", Kind::Item),
    ("runs", Kind::Run),
];

/// Actions in a collection that name no resource of it.
const ACTIONS: &[(&str, &str)] =
    &[("agents", "completions"), ("responses", "compact"), ("responses", "input_tokens")];

/// Verbs after a model name that create a resource.
const VERBS: &[(&str, Kind)] = &[
    (":batchgeneratecontent", Kind::Batch),
    (":asyncbatchembedcontent", Kind::Batch),
    (":predictlongrunning", Kind::Operation),
];

/// Paths whose answers are the same for all callers.
const READ: &[&str] = &["engines", "health", "models", "ps", "tags", "version"];

/// Requests to models that create no resource.
const ASKED: &[&str] = &[
    "apply-template",
    "audio",
    "chat",
    "classify",
    "complete",
    "completion",
    "completions",
    "count_tokens",
    "detokenize",
    "embed",
    "embeddings",
    "fim",
    "generate",
    "images",
    "infill",
    "messages",
    "model",
    "models",
    "moderations",
    "ocr",
    "pooling",
    "rerank",
    "score",
    "show",
    "tokenize",
];

/// Leading parts of a path: names of APIs, and words that a name follows.
const BEFORE: &[&str] = &["api", "compatibility", "compatible-mode", "inference", "paas", "upload"];
const NAMED_BEFORE: &[&str] =
    &["accounts", "deployments", "endpoints", "locations", "projects", "publishers"];

/// Paths that belong to the owner of the account, or reach all of it.
const OWNERS: &[&str] = &["admin", "api_keys", "evals", "organization", "organizations", "usage"];

/// The purpose of a request on these parts of a path.
pub(crate) fn purpose(method: &Method, parts: &[String]) -> Purpose {
    let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    let has = |list: &[&str]| lower.iter().any(|part| list.contains(&part.as_str()));
    // A bundle contains many other requests.
    let is_bundle = lower.first().is_some_and(|first| first == "batch");
    if has(OWNERS) || is_bundle {
        return Purpose::Unknown;
    }
    let is_post = *method == Method::POST;
    let is_read = *method == Method::GET || *method == Method::HEAD;
    let Some((collection, kind, id)) = collection(&lower) else {
        let verb = VERBS.iter().find(|(verb, _)| is_post && ends(&lower, verb));
        let known = if is_post { ASKED } else { READ };
        let first = lower.get(start(&lower)).map(|first| plain(first));
        return match (verb, first) {
            (Some((_, kind)), _) => Purpose::Creation(*kind),
            (None, Some(first)) if (is_post || is_read) && known.contains(&first) => Purpose::Model,
            (None, _) => Purpose::Unknown,
        };
    };
    let is_action =
        |name: &str| ACTIONS.contains(&(collection, name)) && lower.len() == id + 1 && is_post;
    match parts.get(id) {
        None if is_post => Purpose::Creation(kind),
        None if is_read => Purpose::List,
        None => Purpose::Unknown,
        Some(_) if lower.get(id).is_some_and(|name| is_action(name)) => Purpose::Model,
        Some(name) => {
            // Google puts a verb after the id: `batches/ID:cancel`.
            let (name, verb) = name.split_once(':').unwrap_or((name, ""));
            let last = lower.last().filter(|_| is_post && lower.len() > id + 1);
            let created = last.and_then(|last| WITHIN.iter().find(|(known, _)| known == last));
            let resource = Resource::new(kind, name);
            let is_whole = lower.len() == id + 1 && verb.is_empty();
            Purpose::Use { resource, created: created.map(|(_, kind)| *kind), is_whole }
        }
    }
}

/// Index of the first part after names of APIs, versions and projects.
fn start(parts: &[String]) -> usize {
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let version = part.strip_prefix('v').unwrap_or_default();
        if NAMED_BEFORE.contains(&part.as_str()) {
            at += 2;
        } else if BEFORE.contains(&part.as_str())
            || provider::find(part).is_some()
            || version.starts_with(|c: char| c.is_ascii_digit())
        {
            at += 1;
        } else {
            break;
        }
    }
    at
}

fn ends(parts: &[String], verb: &str) -> bool {
    parts.last().is_some_and(|last| last.ends_with(verb))
}

/// The collection of a path: its last part, its kind, and the index of an id. The name of a model may come before it
/// (`models/NAME/operations`).
fn collection(parts: &[String]) -> Option<(&'static str, Kind, usize)> {
    let start = start(parts);
    let is_model = parts.get(start).is_some_and(|part| part == "models");
    let behind = is_model.then_some(start + 2);
    std::iter::once(start).chain(behind).find_map(|at| {
        wire::ALL.iter().flat_map(|wire| wire.resources().collections).find_map(|(names, kind)| {
            let here = parts.get(at..at + names.len())?;
            let fits = here.iter().zip(*names).all(|(part, name)| plain(part) == *name);
            let last = names.last().copied().filter(|_| fits)?;
            Some((last, *kind, at + names.len()))
        })
    })
}

/// A part of a path without a verb.
fn plain(part: &str) -> &str {
    part.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(method: &Method, path: &str) -> String {
        let parts: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        match purpose(method, &parts) {
            Purpose::Use { resource, created, is_whole } => {
                format!("{:?} {} {created:?} {is_whole}", resource.kind, resource.id)
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn t_10_every_path_of_a_resource_is_known() {
        let (get, post, delete) = (&Method::GET, &Method::POST, &Method::DELETE);
        for (method, path, expected) in [
            (get, "/v1/responses", "List"),
            (get, "/v1/Responses", "List"),
            (get, "/openai/v1/files", "List"),
            (get, "/v1/messages/batches", "List"),
            (get, "/v1/chat/completions", "List"),
            (get, "/v1beta/cachedContents", "List"),
            (&Method::HEAD, "/v1/batches", "List"),
            (get, "/v1/responses/r", "Response r None true"),
            (delete, "/v1/responses/r", "Response r None true"),
            (post, "/v1/responses/r/cancel", "Response r None false"),
            (get, "/v1/responses/r/input_items", "Response r None false"),
            (get, "/v1/files/f/content", "File f None false"),
            (get, "/v1beta/files/f:download", "File f None false"),
            (post, "/v1beta/batches/b:cancel", "Batch b None false"),
            (post, "/v1/conversations/c/items", "Conversation c Some(Item) false"),
            (post, "/v1/vector_stores/s/search", "Store s None false"),
            (get, "/v1beta/models/m/operations/o", "Operation o None true"),
            (get, "/v1/messages/batches/b/results", "Batch b None false"),
            (get, "/v1/projects/p/locations/l/cachedContents/c", "Cache c None true"),
            (&Method::PATCH, "/v1beta/cachedContents/c", "Cache c None true"),
            (post, "/v1/responses", "Creation(Response)"),
            (post, "/upload/v1beta/files", "Creation(File)"),
            (post, "/v1beta/models/m:batchGenerateContent", "Creation(Batch)"),
            (post, "/v1/responses/compact", "Model"),
            (get, "/v1/responses/compact", "Response compact None true"),
            (post, "/v1/embeddings", "Model"),
            (post, "/v1/messages", "Model"),
            (get, "/v1/models", "Model"),
            (get, "/v1/models/m", "Model"),
            (get, "/v1/projects/p/locations/l/publishers/google/models", "Model"),
            (
                post,
                "/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
                "Model",
            ),
            (post, "/model/arn:aws:x/converse", "Model"),
            (post, "/api/embed", "Model"),
            (post, "/openai/deployments/d/chat/completions", "Creation(Completion)"),
            (post, "/openai/deployments/d/embeddings", "Model"),
            (post, "/v1/sessions/s/messages", "Unknown"),
            (post, "/v1/sessions/s/files", "Unknown"),
            (get, "/v1/sessions/s/files/f", "Unknown"),
            (post, "/v1/chat/completions", "Creation(Completion)"),
            (post, "/v1/evals/e/runs", "Unknown"),
            (post, "/batch", "Unknown"),
            (post, "/batch/v1beta", "Unknown"),
            (get, "/v1/vaults/health", "Unknown"),
            (delete, "/v1/models/m", "Unknown"),
            (delete, "/v1/responses", "Unknown"),
            (get, "/v1/whatever/x", "Unknown"),
            (get, "/v1/organization/usage/completions", "Unknown"),
            (post, "/v1/organization/projects", "Unknown"),
        ] {
            assert_eq!(at(method, path), expected, "{method} {path}");
        }
    }
}
