//! Perplexity. The reasoning models put their thoughts in tags at the head of the text, and need no thoughts back.
//!
//! Facts: the reference of Sonar (autumn 2026).

use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::Contract;
use crate::settings::Effort;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "perplexity",
    keys: &["PERPLEXITY_API_KEY"],
    address: Some(SdkAddress {
        variables: &["PERPLEXITY_BASE_URL"],
        default: "https://api.perplexity.ai",
    }),
    default_model: Some("sonar-reasoning-pro"),
    local_port: None,
    endpoints: &[Endpoint {
        base_url: "https://api.perplexity.ai",
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const NEVER: Contract =
    Contract::NONE.stated("https://docs.perplexity.ai/guides/chat-completions-guide");

const MODELS: &[ModelRule] = &[
    ModelRule {
        tags: Some("think"),
        ..ModelRule::new(
            "sonar-reasoning*",
            128_000,
            NEVER,
            ThinkingForm::ON.effort("reasoning_effort", FOUR),
        )
    },
    ModelRule::new(
        "sonar-deep-research*",
        128_000,
        NEVER,
        ThinkingForm::ON.effort("reasoning_effort", FOUR),
    ),
    ModelRule::new("sonar*", 128_000, NEVER, ThinkingForm::NONE),
    ModelRule::new("*", 0, NEVER, ThinkingForm::NONE).assumed("*"),
];

const FOUR: &[(Effort, &str)] = &[
    (Effort::Minimal, "minimal"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];
