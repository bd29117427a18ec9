//! The error bodies of the family, one form for each provider.

use serde_json::{Value, json};

use super::{ChatDialect, House};
use crate::gemini;
use crate::json::Keyed;
use crate::reply::{Refusal, Visit};
use crate::shape::Wrong;

/// A refusal with the provider's error body.
pub(crate) fn refusal(dialect: &ChatDialect, status: u16, text: &str) -> Refusal {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let body = match dialect.house {
        House::Kimi | House::Groq => json!({"error": {"message": text, "type": kind}}),
        House::DeepSeek => {
            json!({"error": {"message": text, "type": kind, "param": null, "code": kind}})
        }
        House::MiMo => {
            json!({"error": {"code": status.to_string(), "message": text, "param": "", "type": ""}})
        }
        House::Cerebras => {
            json!({"message": text, "type": kind, "param": "validation_error", "code": "wrong_api_format"})
        }
        House::Mistral => json!({
            "object": "error", "message": text, "type": kind, "param": null, "code": null,
            "raw_status_code": status,
        }),
        House::MiniMax => json!({
            "type": "error",
            "error": {"type": "bad_request_error", "message": text, "http_code": status.to_string()},
        }),
        House::Vllm => {
            json!({"error": {"message": text, "type": "BadRequestError", "param": null, "code": status}})
        }
        House::LlamaCpp => json!({"error": {"code": status, "message": text, "type": kind}}),
        House::OpenRouter => {
            json!({"error": {"message": text, "code": status}, "user_id": "user_simulated"})
        }
        House::Zai => json!({"error": {"code": "1210", "message": text}}),
        House::Qwen => {
            let error = json!({"message": text, "type": kind, "param": null, "code": "invalid_parameter_error"});
            json!({"error": error})
        }
        House::Xai => json!({"code": "Client specified an invalid argument", "error": text}),
        House::Google => google_error(status, text),
    };
    Refusal { status, text: text.to_owned(), body }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised(dialect: &ChatDialect) -> Refusal {
    let (text, body) = match dialect.house {
        House::Kimi => {
            let text = "Invalid Authentication";
            (text, json!({"error": {"message": text, "type": "invalid_authentication_error"}}))
        }
        House::DeepSeek => {
            let text = "Authentication Fails (auth header format should be Bearer sk-...)";
            let error = json!({"message": text, "type": "authentication_error", "param": null, "code": "invalid_request_error"});
            (text, json!({"error": error}))
        }
        House::Groq => {
            let text = "Invalid API Key";
            let error = json!({"message": text, "type": "invalid_request_error", "code": "invalid_api_key"});
            (text, json!({"error": error}))
        }
        House::Cerebras => {
            let text = "Wrong API Key";
            (
                text,
                json!({"message": text, "type": "invalid_request_error", "param": "api_key", "code": "wrong_api_key"}),
            )
        }
        House::MiMo => {
            let text = "Invalid API Key";
            (
                text,
                json!({"error": {"code": "401", "message": text, "param": "Please provide valid API Key", "type": "invalid_key"}}),
            )
        }
        House::Mistral => ("Unauthorized", json!({"detail": "Unauthorized"})),
        House::MiniMax => {
            let text = "login fail: Please carry the API secret key in the 'Authorization' field of the request header (1004)";
            (
                text,
                json!({"type": "error", "error": {"type": "authorized_error", "message": text, "http_code": "401"}}),
            )
        }
        House::Vllm => ("Unauthorized", json!({"error": "Unauthorized"})),
        House::LlamaCpp => {
            let text = "Invalid API Key";
            let error = json!({"code": 401, "message": text, "type": "authentication_error"});
            (text, json!({"error": error}))
        }
        House::OpenRouter => {
            let text = "No auth credentials found";
            (text, json!({"error": {"message": text, "code": 401}}))
        }
        House::Zai => {
            let text = "Authentication parameter not received in Header, unable to authenticate";
            (text, json!({"error": {"code": "1001", "message": text}}))
        }
        House::Qwen => {
            let text = "You didn't provide an API key. You need to provide your API key in an Authorization header \
                        using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
            (
                text,
                json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": null}}),
            )
        }
        House::Google => {
            let text = "Missing or invalid Authorization header.";
            (text, google_error(401, text))
        }
        House::Xai => {
            let text =
                "Incorrect API key provided. You can obtain an API key from https://console.x.ai.";
            (text, json!({"code": "invalid-argument", "error": text}))
        }
    };
    Refusal { status: 401, text: text.to_owned(), body }
}

/// Mistral's refusal of unknown fields.
pub(super) fn extra_forbidden(details: &[Value]) -> Refusal {
    let places: Vec<String> = details.iter().map(|detail| detail.at("loc").to_string()).collect();
    let text = format!("extra_forbidden: Extra inputs are not permitted at {}", places.join(", "));
    let body = json!({
        "object": "error", "message": {"detail": details}, "type": "invalid_request_error", "param": null, "code": null,
        "raw_status_code": 422,
    });
    Refusal { status: 422, text, body }
}

/// At this endpoint Google puts the error into an array.
fn google_error(status: u16, text: &str) -> Value {
    let inner = gemini::refusal(&gemini::STUDIO, status, text);
    json!([inner.body])
}

/// The refusal of a field with a wrong type.
pub(super) fn wrong_type(dialect: &ChatDialect, wrong: &Wrong) -> Refusal {
    if dialect.house != House::Mistral {
        let (at, kind, found) = (wrong.bracketed(), wrong.kind.name(), wrong.found_name());
        let text = format!("Invalid type for '{at}': expected {kind}, but got {found} instead.");
        return refusal(dialect, 400, &text);
    }
    let kind = wrong.kind.python();
    let detail = json!({
        "type": format!("{kind}_type").replace(' ', "_"), "loc": wrong.location(),
        "msg": format!("Input should be a valid {kind}"), "input": wrong.found,
    });
    let body = json!({
        "object": "error", "message": {"detail": [detail]}, "type": "invalid_request_error", "param": null,
        "code": null, "raw_status_code": 422,
    });
    Refusal {
        status: 422,
        text: format!("Input should be a valid {kind} at {}", wrong.dotted()),
        body,
    }
}

/// MiMo's refusal. The sentence is in `param`, not in `message`.
pub(super) fn param_incorrect(sentence: &str) -> Refusal {
    let text = "Param Incorrect";
    let body = json!({"error": {"code": "400", "message": text, "param": sentence, "type": ""}});
    Refusal { status: 400, text: format!("{text}: {sentence}"), body }
}

/// OpenRouter's envelope around the refusal of the provider behind it.
pub(super) fn provider_returned(text: &str) -> Refusal {
    let raw = json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}})
        .to_string();
    let metadata = json!({"raw": raw, "provider_name": "Anthropic", "is_byok": false});
    let body = json!({
        "error": {"message": "Provider returned error", "code": 400, "metadata": metadata}, "user_id": "user_simulated",
    });
    Refusal { status: 400, text: format!("Provider returned error: {text}"), body }
}

/// For a streaming request MiMo writes even an error with status 400 as an event.
pub(super) fn as_streamed(visit: &Visit<'_>, dialect: &ChatDialect, refusal: Refusal) -> Refusal {
    if dialect.house != House::MiMo || !visit.log.stream {
        return refusal;
    }
    let body = Value::String(format!("data:{}\n\n", refusal.body));
    Refusal { body, ..refusal }
}
