//! MiniMax M-series: interleaved thinking, whose whole history should come back. A request without it is not refused,
//! but answers get worse. With `reasoning_split` thoughts come in `reasoning_details` and not in tags, and go back
//! there.
//!
//! Facts: the vendor's guides and the model card of M2 (autumn 2026).

use crate::contract::{Contract, Return};

const PAGE: &str = "https://platform.minimax.io/docs/guides/text-m2-function-call";

/// Structured entries of Chat Completions.
pub(in crate::provider) const SPLIT: Contract = Contract::plain(Return::All, "reasoning_details")
    .with_flags(r#"{"reasoning_split":true}"#)
    .stated(PAGE);

/// A wire or a server that has its own place for thoughts.
pub(in crate::provider) const OWN_PLACE: Contract =
    Contract { returns: Return::All, ..Contract::NONE }.stated(PAGE);

/// Servers that take the tags out of the text by themselves.
pub(in crate::provider) const SIBLING: Contract =
    Contract::plain(Return::All, "reasoning_content").stated(PAGE);
