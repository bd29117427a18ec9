//! Errors in this wire's form.

use crate::json::Writer;
use crate::problem::Problem;
use crate::wire::ErrorBody;
use crate::wire::error::CUT_BY;

/// The words that this wire has for errors.
const ERROR_TYPES: &[&str] = &[
    "api_error",
    "authentication_error",
    "billing_error",
    "invalid_request_error",
    "not_found_error",
    "overloaded_error",
    "permission_error",
    "rate_limit_error",
    "request_too_large",
    "timeout_error",
];

/// Writes an error body. Clients branch on `type`, so it is a word of the wire; another code goes into `code`.
pub(super) fn write(error: &ErrorBody) -> String {
    let own = ERROR_TYPES.contains(&error.code.as_str());
    let kind = if own { error.code.as_str() } else { type_of(error.status) };
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("type", "error");
        w.key("error").object(|w| {
            w.field_str("type", kind);
            w.field_str("message", &error.message);
            w.opt_str("code", Some(error.code.as_str()).filter(|code| !own && !code.is_empty()));
        });
    });
    w.finish()
}

/// The wire's word for errors of an HTTP status.
fn type_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// Writes the member `error` of a stream's error event. If the problem's location is one of the wire's words, that
/// word is used.
pub(super) fn write_member(w: &mut Writer, problem: &Problem) {
    let own = problem.at.as_deref().filter(|kind| ERROR_TYPES.contains(kind));
    let code = problem.at.as_deref().filter(|code| CUT_BY.contains(code));
    let kind = match code {
        Some("reasoning_budget_exceeded") => "billing_error",
        Some(_) | None => own.unwrap_or("api_error"),
    };
    w.key("error").object(|w| {
        w.field_str("type", kind);
        w.field_str("message", &problem.message);
        w.opt_str("code", code);
    });
}
