//! Error bodies of the family, each as its provider writes it.

use serde_json::{Value, json};

use super::{ChatDialect, House};
use crate::reply::Refusal;

/// A refusal in the provider's body.
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
    };
    Refusal { status, text: text.to_owned(), body }
}

/// A request without a credential.
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
    };
    Refusal { status: 401, text: text.to_owned(), body }
}

/// Mistral's refusal of a field that the schema does not know.
pub(super) fn extra_forbidden(location: &Value, input: &Value) -> Refusal {
    let body = json!({
        "object": "error",
        "message": {"detail": [{
            "type": "extra_forbidden", "loc": location, "msg": "Extra inputs are not permitted", "input": input,
        }]},
        "type": "invalid_request_error", "param": null, "code": null, "raw_status_code": 422,
    });
    Refusal {
        status: 422,
        text: format!("extra_forbidden: Extra inputs are not permitted at {location}"),
        body,
    }
}

/// MiMo's refusal, which hides the sentence in `param`.
pub(super) fn param_incorrect(sentence: &str) -> Refusal {
    let text = "Param Incorrect";
    let body = json!({"error": {"code": "400", "message": text, "param": sentence, "type": ""}});
    Refusal { status: 400, text: format!("{text}: {sentence}"), body }
}
