//! The collections in the paths of providers' own APIs, and what a request does there.

use super::name::{Kind, Named};
use http::Method;
use thinkthrough_core::provider;

/// What a path of a provider's own API is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Nothing that is kept.
    Open,
    /// A collection, and something is to be made there.
    Made(Kind),
    /// A thing, or something of it.
    Thing {
        /// The thing.
        named: Named,
        /// What is to be made within it.
        made: Option<Kind>,
        /// Nothing but the thing itself is asked for.
        is_whole: bool,
    },
    /// A list of what all callers of an account have.
    List,
    /// A place of which nobody here knows whose things are there.
    Unknown,
}

/// The collections by their parts of a path, in lower case. The first that fits counts.
const COLLECTIONS: &[(&[&str], Kind)] = &[
    (&["messages", "batches"], Kind::Batch),
    (&["batch", "jobs"], Kind::Batch),
    (&["chat", "completions"], Kind::Completion),
    (&["chat", "deferred-completion"], Kind::Completion),
    (&["fine_tuning", "jobs"], Kind::Job),
    (&["fine-tunes"], Kind::Job),
    (&["chatkit", "sessions"], Kind::Session),
    (&["chatkit", "threads"], Kind::Thread),
    (&["agents"], Kind::Agent),
    (&["assistants"], Kind::Assistant),
    (&["async-invoke"], Kind::Job),
    (&["batches"], Kind::Batch),
    (&["batchpredictionjobs"], Kind::Batch),
    (&["cachedcontents"], Kind::Cache),
    (&["containers"], Kind::Container),
    (&["conversations"], Kind::Conversation),
    (&["corpora"], Kind::Data),
    (&["datasets"], Kind::Data),
    (&["documents"], Kind::Document),
    (&["files"], Kind::File),
    (&["filesearchstores"], Kind::Store),
    (&["interactions"], Kind::Interaction),
    (&["jobs"], Kind::Job),
    (&["libraries"], Kind::Library),
    (&["operations"], Kind::Operation),
    (&["prompts"], Kind::Prompt),
    (&["responses"], Kind::Response),
    (&["runs"], Kind::Run),
    (&["skills"], Kind::Skill),
    (&["threads"], Kind::Thread),
    (&["tuningjobs"], Kind::Job),
    (&["uploads"], Kind::Upload),
    (&["vector_stores"], Kind::Store),
    (&["videos"], Kind::Video),
];

/// What is made within a thing.
const WITHIN: &[(&str, Kind)] = &[
    ("documents", Kind::Document),
    ("file_batches", Kind::Batch),
    ("files", Kind::File),
    ("items", Kind::Item),
    ("messages", Kind::Item),
    ("runs", Kind::Run),
];

/// What is done in a collection without naming a thing of it.
const ACTIONS: &[(&str, &str)] =
    &[("agents", "completions"), ("responses", "compact"), ("responses", "input_tokens")];

/// Verbs behind the name of a model whose answer names something that is kept.
const VERBS: &[(&str, Kind)] = &[
    (":batchgeneratecontent", Kind::Batch),
    (":asyncbatchembedcontent", Kind::Batch),
    (":predictlongrunning", Kind::Operation),
];

/// Places that show the same to everybody.
const READ: &[&str] = &["engines", "health", "models", "ps", "tags", "version"];

/// What is asked of models and keeps nothing.
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

/// Parts before the place itself: names of APIs, and those that have a name of somebody's behind them.
const BEFORE: &[&str] = &["api", "compatibility", "compatible-mode", "inference", "paas", "upload"];
const NAMED_BEFORE: &[&str] =
    &["accounts", "deployments", "endpoints", "locations", "projects", "publishers"];

/// Places of whoever owns the account, or from which all of it can be reached.
const OWNERS: &[&str] = &["admin", "api_keys", "evals", "organization", "organizations", "usage"];

/// What a request on these parts of a path is about.
pub(crate) fn spot(method: &Method, parts: &[String]) -> Spot {
    let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    let has = |list: &[&str]| lower.iter().any(|part| list.contains(&part.as_str()));
    // One request there holds many others.
    let is_bundle = lower.first().is_some_and(|first| first == "batch");
    if has(OWNERS) || is_bundle {
        return Spot::Unknown;
    }
    let is_post = *method == Method::POST;
    let is_read = *method == Method::GET || *method == Method::HEAD;
    let Some((collection, kind, id)) = collection(&lower) else {
        let verb = VERBS.iter().find(|(verb, _)| is_post && ends(&lower, verb));
        let known = if is_post { ASKED } else { READ };
        let first = lower.get(start(&lower)).map(|first| plain(first));
        return match (verb, first) {
            (Some((_, kind)), _) => Spot::Made(*kind),
            (None, Some(first)) if (is_post || is_read) && known.contains(&first) => Spot::Open,
            (None, _) => Spot::Unknown,
        };
    };
    let is_action =
        |name: &str| ACTIONS.contains(&(collection, name)) && lower.len() == id + 1 && is_post;
    match parts.get(id) {
        None if is_post => Spot::Made(kind),
        None if is_read => Spot::List,
        None => Spot::Unknown,
        Some(_) if lower.get(id).is_some_and(|name| is_action(name)) => Spot::Open,
        Some(name) => {
            // A verb stands behind the id: `batches/ID:cancel`.
            let (name, verb) = name.split_once(':').unwrap_or((name, ""));
            let last = lower.last().filter(|_| is_post && lower.len() > id + 1);
            let made = last.and_then(|last| WITHIN.iter().find(|(known, _)| known == last));
            let named = Named::new(kind, name);
            let is_whole = lower.len() == id + 1 && verb.is_empty();
            Spot::Thing { named, made: made.map(|(_, kind)| *kind), is_whole }
        }
    }
}

/// Where the part of a path stands that says what it is about.
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

/// The collection that a path is about: its last part, its kind, and where the id of a thing would stand. What a model
/// does for long is kept behind its name.
fn collection(parts: &[String]) -> Option<(&'static str, Kind, usize)> {
    let start = start(parts);
    let is_model = parts.get(start).is_some_and(|part| part == "models");
    let behind = is_model.then_some(start + 2);
    std::iter::once(start).chain(behind).find_map(|at| {
        COLLECTIONS.iter().find_map(|(names, kind)| {
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
        match spot(method, &parts) {
            Spot::Thing { named, made, is_whole } => {
                format!("{:?} {} {made:?} {is_whole}", named.kind, named.id)
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn t_10_every_place_of_a_kept_thing_is_known() {
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
            (post, "/v1/responses", "Made(Response)"),
            (post, "/upload/v1beta/files", "Made(File)"),
            (post, "/v1beta/models/m:batchGenerateContent", "Made(Batch)"),
            (post, "/v1/responses/compact", "Open"),
            (get, "/v1/responses/compact", "Response compact None true"),
            (post, "/v1/embeddings", "Open"),
            (post, "/v1/messages", "Open"),
            (get, "/v1/models", "Open"),
            (get, "/v1/models/m", "Open"),
            (get, "/v1/projects/p/locations/l/publishers/google/models", "Open"),
            (post, "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "Open"),
            (post, "/model/arn:aws:x/converse", "Open"),
            (post, "/api/embed", "Open"),
            (post, "/openai/deployments/d/chat/completions", "Made(Completion)"),
            (post, "/openai/deployments/d/embeddings", "Open"),
            (post, "/v1/sessions/s/messages", "Unknown"),
            (post, "/v1/sessions/s/files", "Unknown"),
            (get, "/v1/sessions/s/files/f", "Unknown"),
            (post, "/v1/chat/completions", "Made(Completion)"),
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
