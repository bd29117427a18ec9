//! Mistral. Thoughts are parts of the content, and should come back as such; a sibling string is refused. Effort is
//! high or none.
//!
//! Facts: the guide on reasoning, and what the live API accepts (autumn 2026).

use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::{Contract, Level, Return};
use crate::settings::Effort;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "mistral",
    keys: &["MISTRAL_API_KEY"],
    default_model: Some("mistral-medium-latest"),
    local_port: None,
    endpoints: &[Endpoint {
        wire: "mistral-chat",
        base_url: "https://api.mistral.ai",
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const PARTS: Contract = Contract { returns: Return::All, level: Level::Calls, ..Contract::NONE }
    .stated("https://docs.mistral.ai/capabilities/reasoning");

const ADJUSTABLE: ThinkingForm = ThinkingForm::on(r#"{"reasoning_effort":"high"}"#)
    .off(r#"{"reasoning_effort":"none"}"#)
    .effort("reasoning_effort", &[(Effort::None, "none"), (Effort::Minimal, "high")]);

const MODELS: &[ModelRule] = &[
    ModelRule::new("magistral*", 131_072, PARTS, ThinkingForm::ON),
    ModelRule::new("mistral-small*", 0, PARTS, ADJUSTABLE),
    ModelRule::new("mistral-medium*", 0, PARTS, ADJUSTABLE),
];
