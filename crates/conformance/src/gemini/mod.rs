//! Gemini's generateContent, on the Gemini API and on Vertex AI.

pub(crate) mod contract;
mod read;
mod render;

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::mind::{self, Plan};
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, Digest, HEX, Look, Seal};

/// The dialect of one host of Gemini models.
#[derive(Debug)]
pub(crate) struct GeminiDialect {
    pub(crate) house: House,
}

/// The host, for its paths and error texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum House {
    /// The Gemini API with a key.
    Studio,
    /// Vertex AI.
    Vertex,
}

pub(crate) const STUDIO: GeminiDialect = GeminiDialect { house: House::Studio };
pub(crate) const VERTEX: GeminiDialect = GeminiDialect { house: House::Vertex };

/// The method at the end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Generate,
    Stream,
    Count,
}

pub(crate) fn answer(visit: &mut Visit<'_>, dialect: &GeminiDialect) -> Result<Answer, Refusal> {
    let route = visit.route;
    let (_, name) = route.split_once("/models").ok_or_else(|| unknown(dialect))?;
    let name = name.trim_start_matches('/').to_owned();
    match (visit.request.method.as_str(), name.rsplit_once(':')) {
        ("POST", Some((model, "generateContent"))) => {
            generate(visit, dialect, model, Method::Generate)
        }
        ("POST", Some((model, "streamGenerateContent"))) => {
            generate(visit, dialect, model, Method::Stream)
        }
        ("POST", Some((model, "countTokens"))) => generate(visit, dialect, model, Method::Count),
        ("GET", None) if name.is_empty() => {
            Ok(Answer::whole(&json!({"models": [model_entry(visit.model)]})))
        }
        ("GET", None) if name == visit.model => Ok(Answer::whole(&model_entry(&name))),
        _ => Err(unknown(dialect)),
    }
}

fn unknown(dialect: &GeminiDialect) -> Refusal {
    refusal(dialect, 404, "Requested entity was not found.")
}

fn model_entry(id: &str) -> Value {
    json!({
        "name": format!("models/{id}"), "displayName": id, "thinking": true,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

/// A refusal with Google's error body.
pub(crate) fn refusal(_: &GeminiDialect, status: u16, text: &str) -> Refusal {
    let word = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    let body = json!({"error": {"code": status, "message": text, "status": word}});
    Refusal { status, text: text.to_owned(), body }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised(dialect: &GeminiDialect) -> Refusal {
    let text = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or \
                other valid authentication credential. See \
                https://developers.google.com/identity/sign-in/web/devconsole-project.";
    refusal(dialect, 401, text)
}

fn generate(
    visit: &mut Visit<'_>,
    dialect: &GeminiDialect,
    model: &str,
    method: Method,
) -> Result<Answer, Refusal> {
    visit.log.model = Some(model.to_owned());
    visit.log.stream = method == Method::Stream;
    let request = read::request(visit, dialect, model, method == Method::Count)?;
    contract::enforce(visit, dialect, &request)?;
    let prompt = prompt_tokens(&request.body);
    if method == Method::Count {
        return Ok(Answer::whole(&json!({"totalTokens": prompt})));
    }
    let plan = mind::think(&request.scene);
    let signature = signature(visit, model, &plan);
    let reply = Reply {
        shows_thoughts: request.shows_thoughts,
        ids: ids(visit, dialect, &plan),
        response_id: visit.seed().text("id").word(ALNUM, 22),
        model: model.to_owned(),
        signature,
        prompt,
        plan,
    };
    Ok(match method {
        Method::Stream => render::stream(&reply, visit.request.query("alt") == Some("sse")),
        Method::Generate | Method::Count => render::whole(&reply),
    })
}

/// The data of an answer, for both renderers.
struct Reply {
    plan: Plan,
    shows_thoughts: bool,
    /// The signature of the answer. `None` if the token cap ended the answer inside its thought.
    signature: Option<String>,
    ids: Vec<Option<String>>,
    response_id: String,
    model: String,
    prompt: u64,
}

impl Reply {
    fn usage(&self) -> Value {
        let (thought, visible) = (self.plan.thought_tokens(), self.plan.visible_tokens());
        let mut usage = json!({"promptTokenCount": self.prompt});
        if visible > 0 {
            usage.set("candidatesTokenCount", json!(visible));
        }
        usage.set("totalTokenCount", json!(self.prompt + thought + visible));
        usage.set("thoughtsTokenCount", json!(thought));
        usage
    }

    fn finish_reason(&self) -> &'static str {
        if self.plan.truncated { "MAX_TOKENS" } else { "STOP" }
    }
}

fn prompt_tokens(body: &Value) -> u64 {
    ["contents", "tools", "systemInstruction"]
        .iter()
        .map(|key| mind::tokens(&body.at(key).to_string()))
        .sum()
}

/// Makes the signature for the first call, or for the text of an answer without calls.
pub(crate) fn signature(visit: &Visit<'_>, model: &str, plan: &Plan) -> Option<String> {
    let bearer = match plan.calls.first() {
        Some(call) => call_digest(&call.name),
        None if plan.truncated && plan.text.is_empty() => return None,
        None => text_digest(&plan.text),
    };
    let seal = Seal {
        text: bearer,
        model: Visit::model_digest(model),
        body: plan.thought.clone(),
        ..Seal::default()
    };
    Some(seal.encode(visit.id, Look::Gemini))
}

pub(crate) fn call_digest(name: &str) -> u64 {
    Digest::new("functionCall").text(name).finish()
}

pub(crate) fn text_digest(text: &str) -> u64 {
    Digest::new("text").text(text.trim()).finish()
}

/// Call ids. Only the Gemini API has them, Vertex AI has none.
fn ids(visit: &Visit<'_>, dialect: &GeminiDialect, plan: &Plan) -> Vec<Option<String>> {
    let id = |place: usize| match dialect.house {
        House::Studio => Some(visit.seed().text("call").number(place as u64).word(HEX, 8)),
        House::Vertex => None,
    };
    (0..plan.calls.len()).map(id).collect()
}
