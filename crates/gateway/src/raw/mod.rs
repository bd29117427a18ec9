//! A provider's own API at `/p/{provider}/...`, passed on as it is.

pub(crate) mod booking;
pub(crate) mod pass;
pub(crate) mod spending;
