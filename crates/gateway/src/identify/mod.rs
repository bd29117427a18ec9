//! Who may come in: gateway keys, credentials that callers brought, sign-ins to the viewer.

pub(crate) mod guests;
pub(crate) mod heard;
pub(crate) mod keys;
