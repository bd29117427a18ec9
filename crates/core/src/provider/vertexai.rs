//! Vertex AI. With an API key alone it answers at the address given here; a project of one's own has its place in the
//! address, up to the publisher (`https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google`),
//! and for the OpenAI-compatible endpoint up to `endpoints/openapi`.
//!
//! Facts: Google Cloud's reference of `generateContent` and its page on thought signatures (autumn 2026).

use super::family::gemini;
use super::{Auth, Endpoint, Provider};
use crate::wire::Dialect;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "vertexai",
    keys: &["GOOGLE_VERTEX_API_KEY", "VERTEX_API_KEY"],
    default_model: Some("gemini-3.8-flash"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: "generate-content",
            base_url: "https://aiplatform.googleapis.com/v1/publishers/google",
            auth: Auth::Header("x-goog-api-key"),
            dialect: Dialect { is_versioned: true, ..Dialect::PLAIN },
            models: gemini::GENERATE_CONTENT,
            ..Endpoint::CHAT
        },
        Endpoint {
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: gemini::CHAT,
            ..Endpoint::CHAT
        },
    ],
};
