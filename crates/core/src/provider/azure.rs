//! Azure OpenAI. The same models and wires; the resource is part of the address, so the user says it
//! (`https://RESOURCE.openai.azure.com/openai/v1`), and the rules hold where a deployment is named after its model.
//!
//! Facts: Azure's reference of the v1 API (autumn 2026).

use super::family::gpt;
use super::{Auth, Endpoint, Provider};
use crate::wire::Dialect;
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "azure",
    keys: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    default_model: None,
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: "responses",
            auth: Auth::Header("api-key"),
            models: gpt::RESPONSES,
            ..Endpoint::CHAT
        },
        Endpoint {
            auth: Auth::Header("api-key"),
            dialect: Dialect {
                refuses: Cow::Borrowed(gpt::REFUSED),
                max_tokens_field: Some("max_completion_tokens"),
                asks_for_usage: true,
                ..Dialect::PLAIN
            },
            models: gpt::CHAT,
            ..Endpoint::CHAT
        },
    ],
};
