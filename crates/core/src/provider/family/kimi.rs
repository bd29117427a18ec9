//! Kimi. While thinking is on, every message with tool calls must carry its reasoning, in all of the history; for a
//! missing thought, one blank is the least that is accepted. K2.7 and K3 keep all of it. Call ids are a name and a
//! small number, which come again in every turn. A message without calls needs no reasoning, so that calls can be
//! described in its text. An answer with neither text nor calls is refused.
//!
//! Facts: the vendor's guide to thinking models, the error texts in public threads (autumn 2026).

use crate::contract::{Contract, Return, Told, WeakIds};
use crate::provider::{ThinkingForm, WhileThinking};

use super::{LOW_HIGH_MAX, ON_TYPE};

const PAGE: &str = "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model";

/// K2 Thinking, K2.5 and K2.6.
pub(in crate::provider) const K2: Contract = Contract {
    tickets: Some(WeakIds::Counted),
    told: Told::InAnswer,
    refuses_silence: true,
    ..Contract::plain(Return::ToolCalls, "reasoning_content").required().with_empty(" ")
}
.stated(PAGE);

/// K2.7.
pub(in crate::provider) const K27: Contract = Contract { returns: Return::All, ..K2 };

/// K3.
pub(in crate::provider) const K3: Contract = Contract { tickets: Some(WeakIds::Placed), ..K27 };

/// Makes K2.6 and K2.7 read the reasoning of earlier turns; every other model refuses it. K3 reads it by itself, and
/// reportedly rejects the member.
pub(in crate::provider) const KEEP: &str = r#"{"thinking":{"keep":"all"}}"#;

/// A contract on a wire that has its own place for thoughts.
pub(in crate::provider) const fn own_place(contract: Contract) -> Contract {
    Contract { field: None, empty: None, ..contract }
}

/// K2.5 and K2.6. A forced tool choice is refused while they think.
pub(in crate::provider) const HYBRID: ThinkingForm = ON_TYPE.choosing(WhileThinking::Automatic);

/// Models that always think. All of them refuse a tool choice that names a tool; whether K3 takes `required` is disputed.
pub(in crate::provider) const ALWAYS: ThinkingForm =
    ThinkingForm::ON.choosing(WhileThinking::Automatic);

/// K3.
pub(in crate::provider) const EFFORT: ThinkingForm =
    ALWAYS.effort("reasoning_effort", LOW_HIGH_MAX);
