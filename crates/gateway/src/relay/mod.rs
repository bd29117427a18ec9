//! The path of one request to a model, through all its stages.

pub(crate) mod ask;
pub(crate) mod count;
pub(crate) mod first;
pub(crate) mod paying;
