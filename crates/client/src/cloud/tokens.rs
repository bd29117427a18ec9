//! Short-lived tokens that an account's credential is exchanged for.

use std::fmt;
use std::time::{Duration, SystemTime};

use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::gcp::Signer;
use crate::error::ClientError;
use crate::request::{Request, escape};
use crate::secret::Secret;
use crate::transport::Transport;

/// How long before its end a token is no longer used.
const MARGIN: Duration = Duration::from_secs(120);
/// How long a token lives whose life is not said.
const LIFE: Duration = Duration::from_secs(600);
/// The longest answer that can be one.
const ANSWER: usize = 64 * 1024;
/// How much of a refusal is repeated.
const REFUSAL: usize = 300;

/// The tokens of one account: fetched when a request needs one, kept until shortly before they end, and fetched by
/// one request at a time.
pub struct Tokens {
    grant: Grant,
    kept: Mutex<Option<Kept>>,
}

/// How an account asks for a token.
#[derive(Debug)]
pub(super) enum Grant {
    /// With a form that has a secret in it.
    Form { url: String, who: String, fields: Vec<(&'static str, Secret)> },
    /// With an assertion that its key has signed.
    Signed { url: String, email: String, key_id: Option<String>, signer: Signer },
}

struct Kept {
    token: Secret,
    until: Instant,
}

impl Tokens {
    pub(super) fn new(grant: Grant) -> Self {
        Tokens { grant, kept: Mutex::new(None) }
    }

    /// The public name of the tokens' owner.
    #[must_use]
    pub fn who(&self) -> &str {
        match &self.grant {
            Grant::Form { who, .. } => who,
            Grant::Signed { email, .. } => email,
        }
    }

    /// A token that can be used now.
    pub(crate) async fn get(&self, transport: &Transport) -> Result<Secret, ClientError> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| Instant::now() < kept.until) {
            return Ok(kept.token.clone());
        }
        let fetched = self.fetch(transport).await?;
        Ok(kept.insert(fetched).token.clone())
    }

    /// The provider did not take this token: the next request fetches another one.
    pub(crate) async fn forget(&self, token: &Secret) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.token.expose() == token.expose()) {
            *kept = None;
        }
    }

    async fn fetch(&self, transport: &Transport) -> Result<Kept, ClientError> {
        let (Grant::Form { url, .. } | Grant::Signed { url, .. }) = &self.grant;
        let mut request = Request::post(url, self.form(url)?)?;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, form);
        let asked = Instant::now();
        let answer = transport.send_as_it_is(&request).await?;
        let status = answer.status;
        let body = answer.body.collect_up_to(ANSWER).await?;
        let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let token = body.get("access_token").and_then(Value::as_str);
        match token.filter(|token| status == StatusCode::OK && !token.is_empty()) {
            Some(token) => {
                let life = life(&body).unwrap_or(LIFE);
                // A token with a shorter life than the margin serves this request only.
                let until = asked + life.saturating_sub(MARGIN);
                Ok(Kept { token: Secret::new(token), until })
            }
            None => {
                let detail = refusal(status, &body);
                let transient = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                Err(ClientError::Token { target: url.clone(), detail, transient })
            }
        }
    }

    fn form(&self, url: &str) -> Result<String, ClientError> {
        let pair = |name: &str, value: &str| format!("{name}={}", escape(value));
        match &self.grant {
            Grant::Form { fields, .. } => {
                let pairs: Vec<_> =
                    fields.iter().map(|(name, value)| pair(name, value.expose())).collect();
                Ok(pairs.join("&"))
            }
            Grant::Signed { email, key_id, signer, .. } => {
                let now = SystemTime::now();
                let assertion = signer.assertion(email, key_id.as_deref(), url, now);
                let assertion = assertion.ok_or_else(|| ClientError::Token {
                    target: url.to_owned(),
                    detail: "its request could not be signed".to_owned(),
                    transient: false,
                })?;
                let grant = pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                Ok(format!("{grant}&{}", pair("assertion", &assertion)))
            }
        }
    }
}

/// Seconds, as a number or in words of digits.
fn life(body: &Value) -> Option<Duration> {
    let life = body.get("expires_in")?;
    let seconds = life.as_u64().or_else(|| life.as_str()?.parse().ok())?;
    Some(Duration::from_secs(seconds))
}

fn refusal(status: StatusCode, body: &Value) -> String {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = [text("error"), text("error_description")];
    let said: Vec<&str> = said.into_iter().filter(|said| !said.is_empty()).collect();
    let said = said.join(": ");
    let said = said.lines().next().unwrap_or_default();
    let end = said.char_indices().nth(REFUSAL).map_or(said.len(), |(end, _)| end);
    let said = said.get(..end).unwrap_or_default().trim_end_matches('.');
    match said {
        "" => format!("it answered with status {}", status.as_u16()),
        _ => format!("it answered with status {}, {said}", status.as_u16()),
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("grant", &self.grant).finish_non_exhaustive()
    }
}
