//! Mistral. Thoughts are parts of the content, and should come back as such; a sibling string is refused. Effort is
//! high or none. Models that do not think refuse it: all models before Small 4, Medium 3.5 and Large 4, except
//! Magistral.
//!
//! Facts: the guide on reasoning, and tests of the live API (autumn 2026).

use super::family::{LOW_HIGH_MAX, glm};
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::{Contract, Return, WeakIds};
use crate::settings::Effort;
use crate::wire::WireId;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "mistral",
    keys: &["MISTRAL_API_KEY"],
    address: None,
    default_model: Some("mistral-medium-latest"),
    local_port: None,
    endpoints: &[Endpoint {
        wire: WireId::MistralChat,
        base_url: "https://api.mistral.ai",
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

/// Ids of calls are nine letters and digits, which hold 54 bits: too few to name an answer.
const PARTS: Contract =
    Contract { returns: Return::All, tickets: Some(WeakIds::Any), ..Contract::NONE }
        .stated("https://docs.mistral.ai/capabilities/reasoning");

const EFFORT: &str = "reasoning_effort";

const ADJUSTABLE: ThinkingForm = ThinkingForm::on(r#"{"reasoning_effort":"high"}"#)
    .off(r#"{"reasoning_effort":"none"}"#)
    .effort(EFFORT, &[(Effort::None, "none"), (Effort::Minimal, "high")]);

const NEWEST: ModelRule = ModelRule::new("mistral-large-4*", 1_048_576, PARTS, ADJUSTABLE);

const MODELS: &[ModelRule] = &[
    ModelRule::new("magistral*", 131_072, PARTS, ThinkingForm::ON),
    NEWEST,
    // Dated names of before 2026.
    ModelRule::thoughtless("mistral-*-23*"),
    ModelRule::thoughtless("mistral-*-24*"),
    ModelRule::thoughtless("mistral-*-25*"),
    ModelRule::thoughtless("devstral-*-25*"),
    ModelRule::new("mistral-small*", 262_144, PARTS, ADJUSTABLE),
    ModelRule::new("mistral-medium*", 262_144, PARTS, ADJUSTABLE),
    ModelRule::new("mistral-vibe-cli*", 262_144, PARTS, ADJUSTABLE),
    ModelRule::new("mistral-code-agent*", 262_144, PARTS, ADJUSTABLE),
    ModelRule::new("devstral*", 262_144, PARTS, ADJUSTABLE),
    // Other vendors' models, served here.
    ModelRule::new("*glm-5-2*", 1_048_576, PARTS, glm::STEPS),
    ModelRule::new("*glm-*", 1_048_576, PARTS, ThinkingForm::ON.effort(EFFORT, LOW_HIGH_MAX)),
    ModelRule::new("deepseek-*", 1_048_576, PARTS, ThinkingForm::NONE),
    ModelRule::thoughtless("mistral-tiny*"),
    ModelRule::thoughtless("ministral*"),
    ModelRule::thoughtless("codestral*"),
    ModelRule::thoughtless("pixtral*"),
    ModelRule::thoughtless("voxtral*"),
    ModelRule::thoughtless("open-mi*"),
    ModelRule::thoughtless("*-embed*"),
    ModelRule::thoughtless("*moderation*"),
    ModelRule::thoughtless("*-ocr*"),
    NEWEST.assumed("mistral-*"),
    NEWEST.assumed("*"),
];
