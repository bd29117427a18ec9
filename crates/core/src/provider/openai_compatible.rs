//! Any server that speaks OpenAI's wires. It has no rules, and no thoughts go back unless the user configures a
//! contract.

use super::{Endpoint, Provider};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "openai-compatible",
    keys: &["OPENAI_COMPATIBLE_API_KEY"],
    address: None,
    default_model: None,
    local_port: None,
    endpoints: &[
        Endpoint { dialect: Dialect::UNKNOWN, ..Endpoint::CHAT },
        Endpoint { wire: WireId::Responses, ..Endpoint::CHAT },
    ],
};
