//! Errors in this wire's form.

use crate::json::Writer;
use crate::problem::Problem;
use crate::wire::ErrorBody;

/// Writes an error body. Clients read the error's type from `__type`; our own code goes into `reason`.
pub(super) fn write(error: &ErrorBody) -> String {
    let kind = type_of(error.status);
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("message", &error.message);
        w.field_str("__type", kind);
        w.opt_str("reason", Some(error.code.as_str()).filter(|code| !code.is_empty()));
    });
    w.finish()
}

/// The wire's word for errors of an HTTP status.
fn type_of(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        402 => "ServiceQuotaExceededException",
        404 => "ResourceNotFoundException",
        408 | 504 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 | 529 => "ServiceUnavailableException",
        400..=499 => "ValidationException",
        _ => "InternalServerException",
    }
}

/// The exceptions that may end a stream.
const EXCEPTIONS: &[&str] = &[
    "internalServerException",
    "modelStreamErrorException",
    "serviceUnavailableException",
    "throttlingException",
    "validationException",
];

/// The exception for a problem: the exception that it names, or the one for a broken stream.
pub(super) fn exception(problem: &Problem) -> &str {
    let own = problem.at.as_deref().filter(|name| EXCEPTIONS.contains(name));
    own.unwrap_or("modelStreamErrorException")
}
