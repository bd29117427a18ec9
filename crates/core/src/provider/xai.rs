//! xAI. On Chat Completions no thought must come back, and `reasoning_content` is accepted (recorded answers);
//! Responses items carry sealed reasoning, as on other providers. The known efforts differ by model, and 4.20 refuses
//! the parameter altogether, except for its multi-agent model.
//!
//! Facts: the reference of both wires and the model pages (autumn 2026).

use super::family::{LOW_HIGH, NONE_TO_HIGH, THREE};
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::settings::Effort;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "xai",
    keys: &["XAI_API_KEY"],
    address: None,
    default_model: Some("grok-4.6"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.x.ai/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://api.x.ai/v1",
            models: RESPONSES,
            ..Endpoint::CHAT
        },
    ],
};

const FOUR: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

const PAGE: &str = "https://docs.x.ai/docs/guides/reasoning";

/// An item with `content: null`, as Codex sends it, is refused as an altered item (chenyme/grok2api#1025).
const SEALED: Contract = Contract::sealed(Return::All)
    .verbatim()
    .with_flags(r#"{"include":["reasoning.encrypted_content"]}"#)
    .stated(PAGE);

macro_rules! rules {
    ($name:ident, $path:literal, $contract:expr, $off:literal) => {
        const $name: &[ModelRule] = {
            const fn rule(pattern: &'static str, context: u64, form: ThinkingForm) -> ModelRule {
                ModelRule::new(pattern, context, $contract, form)
            }
            const fn always(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
                ThinkingForm::ON.effort($path, words)
            }
            // Older names lead to 4.3.
            const OLDER: ThinkingForm = always(NONE_TO_HIGH).off($off);
            const NEWEST: ModelRule = rule("grok-4.7*", 500_000, always(FOUR));
            &[
                ModelRule::thoughtless("*non-reasoning*"),
                ModelRule::thoughtless("grok-imagine*"),
                ModelRule::thoughtless("grok-2*"),
                rule("grok-4.20-multi-agent*", 1_000_000, always(FOUR)),
                rule("grok-4.20*", 1_000_000, ThinkingForm::ON),
                NEWEST,
                rule("grok-4.6*", 500_000, always(FOUR)),
                rule("grok-4.5*", 500_000, always(THREE)),
                rule("grok-build*", 256_000, always(THREE)),
                rule("grok-code*", 256_000, ThinkingForm::ON),
                rule("grok-3-mini*", 131_072, always(LOW_HIGH)),
                rule("grok-4.3*", 1_000_000, OLDER),
                rule("grok-4.1*", 1_000_000, OLDER),
                rule("grok-4-*", 1_000_000, OLDER),
                rule("grok-4", 1_000_000, OLDER),
                rule("grok-3*", 1_000_000, OLDER),
                rule("grok-latest", 1_000_000, OLDER),
                NEWEST.assumed("grok-*"),
                NEWEST.assumed("*"),
            ]
        };
    };
}

/// No thought is demanded, and returned thoughts are accepted.
const SIBLING: Contract = Contract::plain(Return::All, "reasoning_content").stated(PAGE);

rules!(CHAT, "reasoning_effort", SIBLING, r#"{"reasoning_effort":"none"}"#);
rules!(RESPONSES, "reasoning.effort", SEALED, r#"{"reasoning":{"effort":"none"}}"#);
