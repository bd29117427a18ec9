//! Error bodies: every shape that providers answer errors in.

use super::ErrorBody;
use crate::json::{Doc, Val};
use crate::problem::{Problem, ProblemCode};

/// Why a gateway cuts an answer: the code of the error that its caller gets, and the first word of its message.
pub(crate) const CUT_BY: [&str; 3] = ["overloaded", "reasoning_budget_exceeded", "thought_repeats"];

/// The error that a body is, if it is one.
///
/// Shapes: `{"error": {"message"}}`, `{"error": "text"}`, `{"type":"error", ...}`, `{"object":"error","message"}`,
/// `{"detail": "text" | [{"msg"}]}` (FastAPI), `{"message", "code"}`, `{"Message"}` and `{"__type"}` (AWS),
/// `{"base_resp":{"status_code","status_msg"}}` (MiniMax, with status 200), and a list of one of these (Vertex).
#[must_use]
pub fn read(body: Val<'_>) -> Option<Problem> {
    if body.is_array() {
        let mut items = body.items();
        return items.next().filter(|_| items.next().is_none()).and_then(read);
    }
    // The body is an answer of the wire with an error in it; the wire itself reads that.
    if has_answer(body) {
        return None;
    }
    if let Some(error) = body.some("error").filter(|error| !is_empty(*error)) {
        return Some(problem(body, error));
    }
    if let Some(base) = body.some("base_resp")
        && base.u64("status_code") != Some(0)
    {
        return Some(problem(body, base));
    }
    let says_so = body.text("object").as_deref() == Some("error")
        || body.text("type").as_deref() == Some("error")
        || ["detail", "__type", "Message"].iter().any(|key| body.some(key).is_some())
        || body.some("message").is_some_and(|message| message.as_str().is_some());
    says_so.then(|| problem(body, body))
}

/// The error that a text is, if it is the JSON of one.
#[must_use]
pub fn read_text(text: &str) -> Option<Problem> {
    read(Doc::parse_str(text).ok()?.root())
}

/// Members that only answers have.
fn has_answer(body: Val<'_>) -> bool {
    ["choices", "output", "content", "candidates", "steps", "message", "id", "response"]
        .iter()
        .any(|key| body.some(key).is_some_and(|value| value.is_array() || value.is_object()))
}

fn is_empty(error: Val<'_>) -> bool {
    error.as_bool() == Some(false) || error.as_str().is_some_and(|text| text.is_empty())
}

fn problem(body: Val<'_>, error: Val<'_>) -> Problem {
    let message =
        message_of(error).or_else(|| message_of(body)).unwrap_or_else(|| error.raw().to_owned());
    let problem = Problem::new(ProblemCode::UpstreamError, message);
    let code = ["code", "type", "status", "__type", "status_code"].iter().find_map(|key| {
        let value = error.some(key)?;
        Some(value.as_str().map_or_else(|| value.raw().to_owned(), std::borrow::Cow::into_owned))
    });
    match code {
        Some(code) => problem.at(code),
        None => problem,
    }
}

fn message_of(error: Val<'_>) -> Option<String> {
    if let Some(text) = error.as_str() {
        return Some(text.into_owned());
    }
    // Routers report only that a provider behind them failed, and quote its error.
    if let Some(quoted) = error.path(&["metadata", "raw"]).and_then(Val::as_str) {
        let inner = Doc::parse_str(&quoted).ok().and_then(|doc| read(doc.root()));
        return Some(inner.map_or_else(|| quoted.into_owned(), |problem| problem.message));
    }
    ["message", "Message", "status_msg", "detail", "msg"].iter().find_map(|key| {
        let value = error.some(key)?;
        if value.is_array() {
            return value.items().find_map(message_of);
        }
        value.as_str().map(std::borrow::Cow::into_owned)
    })
}

impl ErrorBody {
    /// The body of a provider's error. If there is no status, it is derived from the provider's word for the error.
    #[must_use]
    pub fn of(problem: &Problem, status: Option<u16>) -> Self {
        let code = problem.at.clone().unwrap_or_else(|| "upstream_error".to_owned());
        let spelled = || code.parse().ok().filter(|status| (400..600).contains(status));
        let status = status.or_else(spelled).unwrap_or_else(|| status_of(&code));
        ErrorBody { status, code, message: problem.message.clone() }
    }
}

fn status_of(code: &str) -> u16 {
    let code = code.to_ascii_lowercase().replace('_', "");
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    if has(&["authentication", "unauthenticated", "apikey", "unrecognizedclient"]) {
        401
    } else if has(&["permission", "accessdenied", "forbidden"]) {
        403
    } else if has(&["notfound"]) {
        404
    } else if has(&["ratelimit", "throttling", "resourceexhausted", "quota", "toomany"]) {
        429
    } else if has(&["overloaded", "unavailable"]) {
        503
    } else if has(&["invalid", "validation", "badrequest", "argument", "context"]) {
        400
    } else {
        500
    }
}
