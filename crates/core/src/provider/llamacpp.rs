//! llama.cpp's server. Thoughts come and go as `reasoning_content`; the model's template gets them.
//!
//! The template of gpt-oss raises an error for an answer with content, a thought and calls. Newer servers leave the content
//! out by themselves.
//!
//! Facts: the server's documentation, and its pull request 19702 (autumn 2026).

use super::family::open;
use super::{Auth, Endpoint, ModelRule, Provider};
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
            models: &rules(Some("reasoning_content")),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:8080/v1",
            auth: Auth::None,
            models: &rules(None),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:8080",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &rules(None),
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md";

const fn rules(field: Option<&'static str>) -> [ModelRule; 7] {
    let [gpt_oss, gemma, qwen, glm, granite, deepseek, others] = open::templated(field, PAGE);
    let gpt_oss = ModelRule { contract: gpt_oss.contract.apart(), ..gpt_oss };
    [gpt_oss, gemma, qwen, glm, granite, deepseek, others]
}
