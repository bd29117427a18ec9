//! OpenAI. The contracts of its models are in the file of their family.
//!
//! Facts: the API reference (autumn 2026).

use super::family::gpt;
use super::{Endpoint, Provider, SdkAddress};
use crate::wire::{Dialect, WireId};
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "openai",
    keys: &["OPENAI_API_KEY"],
    address: Some(SdkAddress {
        variables: &["OPENAI_BASE_URL"],
        default: "https://api.openai.com/v1",
    }),
    default_model: Some("gpt-5.6"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://api.openai.com/v1",
            models: gpt::RESPONSES,
            draws_ids: true,
            ..Endpoint::CHAT
        },
        Endpoint {
            base_url: "https://api.openai.com/v1",
            dialect: Dialect {
                refuses: Cow::Borrowed(gpt::REFUSED),
                max_tokens_field: Some("max_completion_tokens"),
                asks_for_usage: true,
                ..Dialect::PLAIN
            },
            models: gpt::CHAT,
            draws_ids: true,
            ..Endpoint::CHAT
        },
    ],
};
