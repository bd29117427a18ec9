//! SGLang. Thoughts travel as `reasoning_content`, separate from the text by default.
//!
//! Facts: the page on reasoning parsers and the request schema (autumn 2026).

use super::family::open;
use super::{Auth, Endpoint, Provider};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "sglang",
    keys: &["SGLANG_API_KEY"],
    address: None,
    default_model: None,
    local_port: Some(30000),
    endpoints: &[
        Endpoint {
            base_url: "http://127.0.0.1:30000/v1",
            auth: Auth::None,
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &open::templated(Some("reasoning_content"), PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:30000/v1",
            auth: Auth::None,
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:30000",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://docs.sglang.ai/advanced_features/separate_reasoning.html";
