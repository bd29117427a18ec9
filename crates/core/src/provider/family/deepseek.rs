//! DeepSeek's models. From V3.2 on the reasoning of every message with tool calls is demanded for good; a message
//! that was thought about in no words goes back with the empty string. R1 refused its own reasoning.
//!
//! Facts: the guide on thinking mode and its error texts (autumn 2026).

use crate::contract::{Contract, Return};
use crate::provider::{ThinkingForm, WhileThinking};

use super::{LOW_HIGH_MAX, ON_TYPE};

const PAGE: &str = "https://api-docs.deepseek.com/guides/thinking_mode";

/// V3.2 and later, as a sibling string.
pub(in crate::provider) const V4: Contract =
    Contract::plain(Return::ToolCalls, "reasoning_content").required().with_empty("").stated(PAGE);

/// The same on a wire that has its own place for thoughts. An answer without one goes with an empty block there.
pub(in crate::provider) const V4_OWN_PLACE: Contract =
    Contract { returns: Return::ToolCalls, ..Contract::NONE }
        .required()
        .with_empty("")
        .stated(PAGE);

/// R1 under its own name.
pub(in crate::provider) const R1: Contract =
    Contract::NONE.stated("https://api-docs.deepseek.com/guides/reasoning_model");

/// V4's form of thinking on DeepSeek's own API, without effort. A forced tool choice is refused while it thinks.
pub(in crate::provider) const ON: ThinkingForm = ON_TYPE.choosing(WhileThinking::Automatic);

/// The same on Chat Completions: medium and very high effort count as high.
pub(in crate::provider) const CHAT: ThinkingForm = ON.effort("reasoning_effort", LOW_HIGH_MAX);
