//! Why the gateway answers a request itself with an error.

/// The gateway does not do what is asked, and says why in the words of the caller's wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// After so many seconds it may be asked again.
    pub(crate) retry_after: Option<u64>,
}

/// A rejection that says nothing about trying again.
pub(crate) fn rejection(status: u16, code: &'static str, message: impl Into<String>) -> Rejection {
    Rejection { status, code, message: message.into(), retry_after: None }
}
