//! GLM. Reasoning of the turn under way should come back; from 4.7 on, the reasoning of earlier turns is kept, too,
//! if `clear_thinking` is false. From 5.3 on thinking cannot be switched off.
//!
//! Facts: the vendor's page on thinking mode (autumn 2026).

use crate::contract::{Contract, Return};
use crate::provider::ThinkingForm;
use crate::settings::Effort;

use super::{LOW_HIGH_MAX, ON_TYPE};

const PAGE: &str = "https://docs.z.ai/guides/capabilities/thinking-mode";

/// 4.7 and later: everything, unmodified and in order.
pub(in crate::provider) const PRESERVED: Contract =
    Contract::plain(Return::All, "reasoning_content").stated(PAGE);

/// 4.5 and 4.6: the turn under way.
pub(in crate::provider) const LOOP: Contract =
    Contract::plain(Return::CurrentTurn, "reasoning_content").stated(PAGE);

/// 5.3: always on.
pub(in crate::provider) const ALWAYS: ThinkingForm =
    ThinkingForm::ON.effort("reasoning_effort", LOW_HIGH_MAX);

/// 5.2: with every step of effort.
pub(in crate::provider) const STEPS: ThinkingForm = ON_TYPE.effort(
    "reasoning_effort",
    &[
        (Effort::None, "none"),
        (Effort::Minimal, "minimal"),
        (Effort::Low, "low"),
        (Effort::Medium, "medium"),
        (Effort::High, "high"),
        (Effort::Xhigh, "xhigh"),
        (Effort::Max, "max"),
    ],
);
