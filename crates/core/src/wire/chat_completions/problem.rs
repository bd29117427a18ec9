//! Errors that providers put into chat bodies, also into those with status 200.

use crate::json::{Kind, Val, Writer};
use crate::problem::{Problem, ProblemCode};

/// The problem in a status object of an otherwise valid body, if the status is not 0.
pub(super) fn of_status(status: Val<'_>) -> Option<Problem> {
    let code = status.get("status_code").filter(|code| code.raw() != "0")?;
    Some(upstream(&status.text("status_msg").unwrap_or_default(), code.raw()))
}

/// The problem of an error value.
pub(super) fn of(error: Val<'_>) -> Problem {
    match error.kind() {
        Kind::String => upstream(&error.as_str().unwrap_or_default(), ""),
        Kind::Array => {
            let message = error.items().find_map(|item| item.text("msg"));
            upstream(message.as_deref().unwrap_or(error.raw()), "")
        }
        Kind::Bool | Kind::Null | Kind::Number => upstream(error.raw(), ""),
        Kind::Object => {
            let message = ["message", "msg", "detail"].iter().find_map(|key| error.text(key));
            let code = ["code", "type"].iter().find_map(|key| error.some(key));
            let code = code.map(|code| code.as_str().unwrap_or_else(|| code.raw().into()));
            upstream(message.as_deref().unwrap_or(error.raw()), code.as_deref().unwrap_or_default())
        }
    }
}

fn upstream(message: &str, code: &str) -> Problem {
    let problem = Problem::new(ProblemCode::UpstreamError, message);
    if code.is_empty() { problem } else { problem.at(code) }
}

/// Writes the members of an error object.
pub(super) fn write(w: &mut Writer, problem: &Problem) {
    w.field_str("message", &problem.message);
    w.field_str("type", "upstream_error");
    w.key("param").null();
    w.str_or_null("code", problem.at.as_deref());
}
