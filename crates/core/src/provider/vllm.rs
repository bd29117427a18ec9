//! vLLM. It reads and writes thoughts as `reasoning`; the older name is dropped without a word.
//!
//! Facts: the page on reasoning outputs (autumn 2026).

use super::family::open;
use super::{Auth, Endpoint, Provider};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "vllm",
    keys: &["VLLM_API_KEY"],
    address: None,
    default_model: None,
    local_port: Some(8000),
    endpoints: &[
        Endpoint {
            base_url: "http://127.0.0.1:8000/v1",
            auth: Auth::None,
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &open::templated(Some("reasoning"), PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:8000/v1",
            auth: Auth::None,
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:8000",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &open::templated(None, PAGE),
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html";
