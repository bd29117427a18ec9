//! Errors, as bodies and within streams.

use crate::json::{Val, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{ErrorBody, error};

/// Google's words for HTTP statuses; the first word of a status is written.
const STATUSES: [(u16, &str); 14] = [
    (400, "INVALID_ARGUMENT"),
    (400, "FAILED_PRECONDITION"),
    (400, "OUT_OF_RANGE"),
    (401, "UNAUTHENTICATED"),
    (403, "PERMISSION_DENIED"),
    (404, "NOT_FOUND"),
    (409, "ABORTED"),
    (409, "ALREADY_EXISTS"),
    (429, "RESOURCE_EXHAUSTED"),
    (499, "CANCELLED"),
    (500, "INTERNAL"),
    (501, "UNIMPLEMENTED"),
    (503, "UNAVAILABLE"),
    (504, "DEADLINE_EXCEEDED"),
];

/// The provider's error, in one of many shapes, in this chunk or its `error`.
pub(super) fn of(chunk: Val<'_>) -> Option<Problem> {
    let said = chunk.some("error")?;
    Some(error::read(chunk).or_else(|| error::read(said)).unwrap_or_else(|| {
        let message = "the provider reported an error without a message";
        Problem::new(ProblemCode::UpstreamError, said.as_str().unwrap_or(message.into()))
    }))
}

/// Writes the error object for a problem.
pub(super) fn write(w: &mut Writer, problem: &Problem) {
    let at = problem.at.as_deref().unwrap_or_default();
    let (code, status) = code_of(at);
    w.object(|w| {
        w.field_u64("code", u64::from(code));
        w.field_str("message", &problem.message);
        w.field_str("status", status);
    });
}

/// The HTTP status and Google's word for a provider's kind of error.
fn code_of(word: &str) -> (u16, &str) {
    if let Some((code, status)) = STATUSES.iter().find(|(_, status)| *status == word) {
        return (*code, status);
    }
    if let Ok(code @ 400..600) = word.parse::<u16>() {
        return (code, status_word(code));
    }
    match word {
        "authentication_error" => (401, "UNAUTHENTICATED"),
        "invalid_request_error" => (400, "INVALID_ARGUMENT"),
        "not_found_error" => (404, "NOT_FOUND"),
        "overloaded_error" => (503, "UNAVAILABLE"),
        "permission_error" => (403, "PERMISSION_DENIED"),
        "rate_limit_error" | "rate_limit_exceeded" | "reasoning_budget_exceeded" => {
            (429, "RESOURCE_EXHAUSTED")
        }
        "thought_repeats" => (499, "CANCELLED"),
        _ => (500, "INTERNAL"),
    }
}

/// Google's word for an HTTP status.
fn status_word(status: u16) -> &'static str {
    let known = STATUSES.iter().find(|(code, _)| *code == status);
    let other = match status {
        // Payment required: Google has a word for exhausted resources, but not for money.
        402 => "RESOURCE_EXHAUSTED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    known.map_or(other, |(_, word)| word)
}

/// Writes an error body.
pub(super) fn write_body(body: &ErrorBody) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.key("error").object(|w| {
            w.field_u64("code", u64::from(body.status));
            w.field_str("message", &body.message);
            w.field_str("status", status_word(body.status));
            w.key("details").array(|w| {
                w.object(|w| {
                    w.field_str("@type", "type.googleapis.com/google.rpc.ErrorInfo");
                    w.field_str("reason", &body.code);
                });
            });
        });
    });
    w.finish()
}
