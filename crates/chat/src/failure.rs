//! Sentences about failed requests: the cause, the status, and advice. All surfaces share them: the terminal client,
//! `think ask` and editors.

use crate::agent::AskError;
use thinkthrough_client::{ClientError, Failure as Cause, Retry};
use thinkthrough_core::pipeline::Failure;

/// The model of a failed request, and the way to send it again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempt<'a> {
    /// The model's name, as the user says it.
    pub model: &'a str,
    /// The source of its key, as a phrase for a sentence: `` `OPENAI_API_KEY` ``, `the file ...`.
    pub key_from: Option<&'a str>,
    /// The command that sends the question again, if there is one.
    pub again: Option<&'a str>,
}

impl Attempt<'_> {
    /// Explains a provider's refusal, or an answer that broke off.
    #[must_use]
    pub fn refused(&self, failure: &Failure) -> String {
        let what = what(failure.status);
        let said = detail(failure);
        let advice = match &failure.remedy {
            Some(remedy) => remedy.clone(),
            None => self.advice(failure.status),
        };
        let advice = if advice.is_empty() { advice } else { format!("; {advice}") };
        match what {
            Some(what) => format!("`{}`: {what} ({said}){advice}", self.model),
            None => format!("`{}`: {said}{advice}", self.model),
        }
    }

    /// Explains why a request did not reach its provider.
    #[must_use]
    pub fn unreached(&self, error: &AskError) -> String {
        let again = match (error, self.again) {
            (AskError::Client(error), Some(again)) if may_pass(error) => format!(", then {again}"),
            _ => String::new(),
        };
        format!("`{}`: {error}{again}", self.model)
    }

    /// Advice for a status.
    fn advice(&self, status: u16) -> String {
        let key = self.key_from.unwrap_or("the key of this provider");
        match status {
            401 => format!("correct {key} and start again"),
            402 => "add credit to the account, or choose another model".to_owned(),
            403 => format!("check what {key} may use, or choose another model"),
            404 => "choose another model, or check `base_url`".to_owned(),
            408 | 429 | 503 | 504 | 529 => self.then("wait a moment"),
            413 => "shorten the conversation".to_owned(),
            400..500 => "change what it names, or choose another model".to_owned(),
            500.. => self.then("the fault is not yours: wait a moment"),
            // An answer that broke off.
            _ => self.again.map_or_else(String::new, |again| format!("{again} asks again")),
        }
    }

    fn then(&self, first: &str) -> String {
        match self.again {
            Some(again) => format!("{first}, then {again}"),
            None => format!("{first} and ask again"),
        }
    }
}

/// Explains why a request is sent again, without the time until then.
#[must_use]
pub fn why_again(retry: &Retry<'_>) -> String {
    match retry.failure {
        Cause::Status(status) => {
            let status = status.as_u16();
            let what = what(status).unwrap_or("the provider wants the request again");
            format!("{what} (status {status})")
        }
        // Only the first part of the sentence. The advice after it is shown when the request fails for good.
        Cause::Error(error) => {
            let text = error.to_string();
            text.split_once("; ").map_or(text.as_str(), |(what, _)| what).to_owned()
        }
    }
}

/// The meaning of a status. `None` for a success status, whose answer broke off.
const fn what(status: u16) -> Option<&'static str> {
    Some(match status {
        401 => "the key is not accepted",
        402 => "the account has no credit left",
        403 => "the key may not do this",
        404 => "the provider knows no such model or address",
        408 | 504 => "the provider did not answer in time",
        413 => "the request is too long for the provider",
        429 | 503 | 529 => "the provider is busy",
        400..500 => "the provider does not accept the request",
        500.. => "the provider failed",
        _ => return None,
    })
}

/// The status and the provider's message, if there is one.
fn detail(failure: &Failure) -> String {
    let Failure { status, message, .. } = failure;
    let message = message.trim();
    if (200..300).contains(status) {
        return message.to_owned();
    }
    // Core supplies this message if the provider sent none.
    if message.is_empty() || message == format!("the provider answered with status {status}") {
        return format!("status {status}");
    }
    format!("status {status}: {message}")
}

/// Whether the same request may succeed later, or after the user has repaired something outside.
const fn may_pass(error: &ClientError) -> bool {
    match error {
        ClientError::Closed { .. }
        | ClientError::Connect { .. }
        | ClientError::Dns { .. }
        | ClientError::Held(_)
        | ClientError::Proxy { .. }
        | ClientError::Timeout { .. }
        | ClientError::Tls { .. }
        | ClientError::Token { .. } => true,
        ClientError::Config(_)
        | ClientError::Excess { .. }
        | ClientError::Protocol { .. }
        | ClientError::Redirect { .. }
        | ClientError::Request(_)
        | ClientError::TooLarge { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, why_again};
    use crate::agent::AskError;
    use std::time::Duration;
    use thinkthrough_client::{ClientError, Failure as Cause, Phase, Retry};
    use thinkthrough_core::pipeline::Failure;

    const ASKED: Attempt<'_> =
        Attempt { model: "a/b", key_from: Some("`A_KEY`"), again: Some("`/retry`") };

    fn refused(status: u16, message: &str) -> String {
        ASKED.refused(&Failure { status, message: message.to_owned(), remedy: None })
    }

    #[test]
    fn b_9_only_a_busy_provider_is_called_busy() {
        for status in 400..600 {
            let is_busy = [429, 503, 529].contains(&status);
            assert_eq!(refused(status, "").contains("busy"), is_busy, "{status}");
            assert!(refused(status, "x").contains(&format!("(status {status}: x)")), "{status}");
            let failure = Cause::Status(http::StatusCode::from_u16(status).unwrap());
            let why = why_again(&Retry { attempt: 1, wait: Duration::ZERO, failure });
            assert_eq!(why.contains("busy"), is_busy, "{why}");
            assert!(why.ends_with(&format!("(status {status})")), "{why}");
        }
    }

    #[test]
    fn b_9_each_failure_says_its_cause_its_place_and_what_to_do() {
        for (status, message, want) in [
            (
                401,
                "bad key",
                "`a/b`: the key is not accepted (status 401: bad key); correct `A_KEY` and start again",
            ),
            (
                403,
                "",
                "`a/b`: the key may not do this (status 403); check what `A_KEY` may use, or choose another model",
            ),
            (
                404,
                "no x",
                "`a/b`: the provider knows no such model or address (status 404: no x); choose another model, or check `base_url`",
            ),
            (
                400,
                "bad",
                "`a/b`: the provider does not accept the request (status 400: bad); change what it names, or choose another model",
            ),
            (
                429,
                "slow down",
                "`a/b`: the provider is busy (status 429: slow down); wait a moment, then `/retry`",
            ),
            (
                500,
                "the provider answered with status 500",
                "`a/b`: the provider failed (status 500); the fault is not yours: wait a moment, then `/retry`",
            ),
            (
                200,
                "the answer broke off: cut",
                "`a/b`: the answer broke off: cut; `/retry` asks again",
            ),
        ] {
            assert_eq!(refused(status, message), want);
        }
        let remedy = Some("set that to `none`".to_owned());
        let failure = Failure { status: 400, message: "no thought".to_owned(), remedy };
        assert!(ASKED.refused(&failure).ends_with("(status 400: no thought); set that to `none`"));
        let plain = Attempt { model: "a/b", ..Attempt::default() };
        let failure = Failure { status: 503, message: String::new(), remedy: None };
        let want = "`a/b`: the provider is busy (status 503); wait a moment and ask again";
        assert_eq!(plain.refused(&failure), want);
    }

    #[test]
    fn b_9_what_did_not_reach_the_provider_says_why() {
        let target = || "http://x".to_owned();
        let errors = [
            ClientError::Connect { target: target(), detail: "refused".into() },
            ClientError::Dns { host: "x".into(), detail: "unknown".into() },
            ClientError::Tls { host: "x".into(), detail: "expired".into() },
            ClientError::Timeout {
                target: target(),
                phase: Phase::Connect,
                after: Duration::from_secs(10),
            },
            ClientError::Closed { target: target(), received: None, detail: "reset".into() },
        ];
        let mut said = Vec::new();
        for error in errors {
            let why = why_again(&Retry {
                attempt: 1,
                wait: Duration::ZERO,
                failure: Cause::Error(&error),
            });
            let text = ASKED.unreached(&AskError::Client(error));
            assert!(!text.contains("busy") && text.ends_with(", then `/retry`"), "{text}");
            assert!(text.contains(&why) && !why.contains(';'), "{why}");
            said.push(why);
        }
        said.dedup();
        assert_eq!(said.len(), 5, "each has its own: {said:?}");
    }
}
