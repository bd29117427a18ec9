//! What requests may cost: requests and tokens in any minute, for each key and each provider.
//!
//! A request of a caller counts once at its key. At the provider each try counts: the first, a retry, a repair, a
//! fallback. Tokens are reserved as the most that is expected, and settled with what the answer says that it cost.

mod gate;
mod limits;
mod size;
mod tab;

pub(crate) use gate::{LIMITED, seconds};
pub(crate) use limits::Limits;
pub(crate) use size::expected;
pub(crate) use tab::Tab;
