//! The contracts and thinking forms that the models of a family share on all providers.
//!
//! A provider's file takes the common values from here, and adds its own deviations.

pub(super) mod claude;
pub(super) mod deepseek;
pub(super) mod gemini;
pub(super) mod glm;
pub(super) mod gpt;
pub(super) mod kimi;
pub(super) mod minimax;
pub(super) mod open;
pub(super) mod qwen;

use super::ThinkingForm;
use crate::settings::Effort;

/// Low, medium, high.
pub(super) const THREE: &[(Effort, &str)] =
    &[(Effort::Low, "low"), (Effort::Medium, "medium"), (Effort::High, "high")];

/// Low and high.
pub(super) const LOW_HIGH: &[(Effort, &str)] = &[(Effort::Low, "low"), (Effort::High, "high")];

/// Low, high, max; high is the middle.
pub(super) const LOW_HIGH_MAX: &[(Effort, &str)] =
    &[(Effort::Low, "low"), (Effort::Medium, "high"), (Effort::High, "high"), (Effort::Max, "max")];

/// None, low, medium, high.
pub(super) const NONE_TO_HIGH: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];

/// On unless `thinking.type` disables it: the form of most Chinese vendors, and of the Messages wire.
pub(super) const ON_TYPE: ThinkingForm =
    ThinkingForm::ON.off(r#"{"thinking":{"type":"disabled"}}"#);
