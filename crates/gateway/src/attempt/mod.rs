//! The attempts of a request: sent, checked, repaired, with another key or another model, until one answers.

pub(crate) mod expected;
pub(crate) mod lessons;
pub(crate) mod refused;
pub(crate) mod sending;
pub(crate) mod tries;
