//! Identification of callers: gateway keys, credentials that callers sent, sign-ins to the viewer.

pub(crate) mod heard;
pub(crate) mod keys;
pub(crate) mod sign_ins;
