//! Any server that speaks OpenAI's wires, about which nothing else is known: no rules, and no thoughts go back until a
//! contract says so.

use super::{Endpoint, Provider};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "openai-compatible",
    keys: &["OPENAI_COMPATIBLE_API_KEY"],
    default_model: None,
    local_port: None,
    endpoints: &[Endpoint { ..Endpoint::CHAT }, Endpoint { wire: "responses", ..Endpoint::CHAT }],
};
