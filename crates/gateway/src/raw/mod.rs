//! A provider's own API at `/p/{provider}/...`, passed on unchanged.

pub(crate) mod booking;
pub(crate) mod pass;
pub(crate) mod spending;
