//! llama.cpp's server. Thoughts come and go as `reasoning_content`; the model's template gets them.
//!
//! Facts: the server's documentation (autumn 2026).

use super::family::open;
use super::{Auth, Endpoint, Provider};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "llamacpp",
    keys: &["LLAMACPP_API_KEY"],
    address: None,
    default_model: None,
    local_port: Some(8080),
    endpoints: &[
        Endpoint {
            base_url: "http://127.0.0.1:8080/v1",
            auth: Auth::None,
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &open::templated(Some("reasoning_content"), PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:8080/v1",
            auth: Auth::None,
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:8080",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md";
