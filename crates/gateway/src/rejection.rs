//! Errors with which the gateway itself answers a request.

/// The refusal of a request, written in the form of the caller's wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The seconds after which the caller may ask again.
    pub(crate) retry_after: Option<u64>,
}

/// A rejection without `retry_after`.
pub(crate) fn rejection(status: u16, code: &'static str, message: impl Into<String>) -> Rejection {
    Rejection { status, code, message: message.into(), retry_after: None }
}
