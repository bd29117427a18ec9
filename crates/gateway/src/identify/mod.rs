//! Who may come in: gateway keys, credentials that callers brought, sign-ins to the viewer.

pub(crate) mod heard;
pub(crate) mod keys;
pub(crate) mod sign_ins;
