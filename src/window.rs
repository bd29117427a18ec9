//! Asks a server for the context window of a model without a known one.
//!
//! Every kind of server has a place and a name of its own for it. Only safe reads are sent, once for a model, and
//! never before the model answered a question.

use crate::local::{fetch, request};
use std::time::Duration;
use thinkthrough_client::{Auth, Transport};
use thinkthrough_core::provider::Target;
use thinkthrough_json::{Doc, Val};
use tokio::time::timeout;

/// How long a server may take in all, over all places.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads the context window of a model from a server's answer.
type Read = fn(Val<'_>, &str) -> Option<u64>;

/// Returns the window in tokens, if the server at this address reports it.
pub(crate) async fn window_of(target: Target, transport: Transport, auth: Auth) -> Option<u64> {
    let base = target.base_url.trim_end_matches('/');
    let root = base.strip_suffix("/v1").unwrap_or(base);
    let places: [(String, Read); 5] = [
        (format!("{root}/v1/models"), listed),
        (format!("{base}/models"), listed),
        (format!("{root}/props"), running),
        (format!("{root}/api/v0/models"), listed),
        (format!("{root}/api/ps"), listed),
    ];
    let looks = async {
        for (url, read) in places {
            let request = request(&target, &auth, &url);
            let Some(body) = fetch(&transport, request).await else { continue };
            let found = Doc::parse(&body).ok().and_then(|doc| read(doc.root(), &target.model));
            if found.is_some() {
                return found;
            }
        }
        None
    };
    timeout(PATIENCE, looks).await.ok().flatten()
}

/// Reads the context window from a list of models. In a list of one model, its name does not matter.
fn listed(root: Val<'_>, model: &str) -> Option<u64> {
    // The loaded context may be smaller than the maximum of the model.
    const NAMES: [&str; 7] = [
        "loaded_context_length",
        "max_model_len",
        "context_length",
        "context_window",
        "max_context_length",
        "max_input_tokens",
        "inputTokenLimit",
    ];
    let list = root.some("data").or_else(|| root.some("models"))?;
    let names = |item: Val<'_>| {
        let named = ["id", "model", "name"].into_iter().filter_map(|key| item.string(key));
        named.map(|name| name.trim_start_matches("models/").to_owned()).collect::<Vec<_>>()
    };
    let item = match list.items().find(|item| names(*item).iter().any(|name| name == model)) {
        Some(item) => item,
        None => list.items().next().filter(|_| list.items().count() == 1)?,
    };
    NAMES.into_iter().find_map(|name| number(item, name))
}

/// Reads the context window from the properties of a server with one model.
fn running(root: Val<'_>, _: &str) -> Option<u64> {
    let settings = root.some("default_generation_settings");
    settings.and_then(|settings| number(settings, "n_ctx")).or_else(|| number(root, "n_ctx"))
}

fn number(object: Val<'_>, key: &str) -> Option<u64> {
    object.some(key)?.as_u64().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_server_says_it_in_its_own_way() {
        for (body, expected) in [
            (
                r#"{"data":[{"id":"a","max_model_len":1},{"id":"m","max_model_len":32768}]}"#,
                Some(32_768),
            ),
            (r#"{"data":[{"id":"only","context_length":4096}]}"#, Some(4_096)),
            (r#"{"data":[{"id":"a","context_length":1},{"id":"b","context_length":2}]}"#, None),
            (r#"{"data":[{"id":"m","max_context_length":9,"loaded_context_length":7}]}"#, Some(7)),
            (r#"{"models":[{"name":"models/m","inputTokenLimit":1048576}]}"#, Some(1_048_576)),
            (r#"{"models":[{"name":"m","model":"m","context_length":8192}]}"#, Some(8_192)),
            (r#"{"data":[{"id":"m","context_window":0}]}"#, None),
            (r#"{"object":"list"}"#, None),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            assert_eq!(listed(doc.root(), "m"), expected, "{body}");
        }
        let doc = Doc::parse_str(r#"{"default_generation_settings":{"n_ctx":2048}}"#).unwrap();
        assert_eq!(running(doc.root(), "m"), Some(2_048));
    }
}
