//! Google's Gemini API. The contracts of its models are in the file of their family.
//!
//! Facts: the API reference of `generateContent`, of Interactions and of the OpenAI-compatible endpoint (autumn
//! 2026).

use super::family::gemini;
use super::{Auth, Endpoint, Provider, SdkAddress};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "google",
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    address: Some(SdkAddress {
        variables: &["GOOGLE_GEMINI_BASE_URL"],
        default: "https://generativelanguage.googleapis.com",
    }),
    default_model: Some("gemini-3.8-flash"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::GenerateContent,
            base_url: "https://generativelanguage.googleapis.com",
            auth: Auth::Header("x-goog-api-key"),
            models: gemini::GENERATE_CONTENT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Interactions,
            base_url: "https://generativelanguage.googleapis.com",
            auth: Auth::Header("x-goog-api-key"),
            models: gemini::INTERACTIONS,
            ..Endpoint::CHAT
        },
        Endpoint {
            base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: gemini::CHAT,
            ..Endpoint::CHAT
        },
    ],
};
