//! Qwen. Models read the reasoning of earlier turns from 3.6 on, and only with `preserve_thinking`; before, templates
//! render at most the reasoning of the turn under way.
//!
//! Facts: Model Studio's page on deep thinking (autumn 2026).

use crate::contract::{Contract, Return};

const PAGE: &str = "https://www.alibabacloud.com/help/en/model-studio/deep-thinking";

/// Up to 3.5.
pub(in crate::provider) const LOOP: Contract =
    Contract::plain(Return::CurrentTurn, "reasoning_content").stated(PAGE);

/// 3.6 and later.
pub(in crate::provider) const PRESERVED: Contract =
    Contract::plain(Return::All, "reasoning_content").stated(PAGE);
