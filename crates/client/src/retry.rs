use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use crate::error::ClientError;

/// When a request that failed is worth another try; only ever before a byte of an answer was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many tries may follow the first one.
    pub max_retries: u32,
    /// The first wait if the upstream names no wait; each further one is twice as long.
    pub base: Duration,
    /// The longest wait if the upstream names no wait.
    pub max_backoff: Duration,
    /// The longest wait that an upstream may ask for; beyond it the failure is handed on instead,
    /// because a try before the named time would only fail again.
    pub max_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base: Duration::from_millis(500),
            max_backoff: Duration::from_secs(8),
            max_wait: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Never tries again.
    pub const NEVER: Self = Self {
        max_retries: 0,
        base: Duration::ZERO,
        max_backoff: Duration::ZERO,
        max_wait: Duration::ZERO,
    };

    /// Returns the wait before the next attempt; `None` if there is no further attempt.
    ///
    /// `attempt` counts the retries so far. `jitter` in `0.0..=1.0` spreads the attempts of many clients: it adds up
    /// to `base` to a wait that the upstream named, and takes up to half off any other wait.
    pub fn next_delay(
        &self,
        attempt: u32,
        failure: Failure<'_>,
        advice: Advice,
        jitter: f64,
    ) -> Option<Duration> {
        if attempt >= self.max_retries || !advice.should_retry.unwrap_or(failure.is_transient()) {
            return None;
        }
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
        if let Some(named) = advice.wait {
            return (named <= self.max_wait).then(|| named + self.base.mul_f64(jitter));
        }
        let doubled = self.base.saturating_mul(2u32.saturating_pow(attempt));
        Some(doubled.min(self.max_backoff).mul_f64(1.0 - jitter / 2.0))
    }
}

/// How a try failed.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'a> {
    /// No answer came.
    Error(&'a ClientError),
    /// An answer came with this status.
    Status(StatusCode),
}

impl Failure<'_> {
    /// Whether the failure is likely to pass. Overloaded Anthropic endpoints answer 529.
    fn is_transient(&self) -> bool {
        match self {
            Self::Error(error) => error.is_transient(),
            Self::Status(status) => {
                matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504 | 529)
            }
        }
    }
}

/// The upstream's advice about a further attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// How long to wait.
    pub wait: Option<Duration>,
    /// Whether to try at all (`x-should-retry`, which OpenAI and Anthropic send).
    pub should_retry: Option<bool>,
}

impl Advice {
    /// Reads `retry-after-ms`, `retry-after` (seconds or an HTTP date) and `x-should-retry`;
    /// values that make no sense count as not said.
    pub fn from_headers(headers: &HeaderMap, now: SystemTime) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let wait = text("retry-after-ms")
            .and_then(|value| decimal(value, 1e-3))
            .or_else(|| text(RETRY_AFTER.as_str()).and_then(|value| retry_after(value, now)));
        let should_retry = match text("x-should-retry").map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self { wait, should_retry }
    }
}

/// Reads the value of `retry-after`: seconds, also with a fraction, or an HTTP date.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Some(wait) = decimal(value, 1.0) {
        return Some(wait);
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    // A date that has passed says that the wait is over.
    Some(date.duration_since(now).unwrap_or_default())
}

fn decimal(value: &str, unit: f64) -> Option<Duration> {
    let value = value.trim();
    if !value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds = value.parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const SOON: RetryPolicy = RetryPolicy {
        max_retries: 3,
        base: Duration::from_millis(500),
        max_backoff: Duration::from_secs(1),
        max_wait: Duration::from_secs(60),
    };

    fn now() -> SystemTime {
        httpdate::parse_http_date("Sat, 21 Nov 2026 10:00:00 GMT").unwrap()
    }

    fn advice(pairs: &[(&'static str, &'static str)]) -> Advice {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        Advice::from_headers(&headers, now())
    }

    fn status(code: u16) -> Failure<'static> {
        Failure::Status(StatusCode::from_u16(code).unwrap())
    }

    #[test]
    fn every_spelling_of_retry_after_gives_its_exact_wait() {
        let cases: &[(&str, Option<f64>)] = &[
            ("7", Some(7.0)),
            (" 7 ", Some(7.0)),
            ("0", Some(0.0)),
            ("0.25", Some(0.25)),
            ("31536000", Some(31_536_000.0)),
            ("Sat, 21 Nov 2026 10:00:30 GMT", Some(30.0)),
            ("Saturday, 21-Nov-26 10:00:30 GMT", Some(30.0)),
            ("Sat Nov 21 10:00:30 2026", Some(30.0)),
            ("Sat, 21 Nov 2026 09:59:00 GMT", Some(0.0)),
            ("-5", None),
            ("soon", None),
            ("", None),
            ("1e3", None),
            ("inf", None),
            ("99999999999999999999999999999999", None),
        ];
        for (value, wait) in cases {
            let wait = wait.map(Duration::from_secs_f64);
            assert_eq!(advice(&[("retry-after", value)]).wait, wait, "{value}");
        }
        let both = advice(&[("retry-after", "9"), ("retry-after-ms", "1500")]);
        assert_eq!(both.wait, Some(Duration::from_millis(1500)));
        let broken = advice(&[("retry-after", "9"), ("retry-after-ms", "x")]);
        assert_eq!(broken.wait, Some(Duration::from_secs(9)));
    }

    #[test]
    fn a_named_wait_is_honoured_up_to_the_limit_and_never_shortened() {
        let wait = |value| SOON.next_delay(0, status(429), advice(&[("retry-after", value)]), 0.0);
        assert_eq!(wait("60"), Some(Duration::from_secs(60)));
        assert_eq!(wait("61"), None);
        assert_eq!(wait("31536000"), None);
        let spread = SOON.next_delay(0, status(429), advice(&[("retry-after", "2")]), 1.0);
        assert_eq!(spread, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn an_unnamed_wait_doubles_up_to_its_limit() {
        let wait = |attempt, jitter| {
            let delay = SOON.next_delay(attempt, status(503), Advice::default(), jitter);
            delay.map(|delay| delay.as_millis())
        };
        assert_eq!([wait(0, 0.0), wait(1, 0.0)], [Some(500), Some(1000)]);
        assert_eq!([wait(2, 0.0), wait(3, 0.0)], [Some(1000), None]);
        assert_eq!(wait(0, 1.0), Some(250));
        assert_eq!(wait(0, f64::NAN), Some(500));
        let long = RetryPolicy { max_retries: u32::MAX, ..SOON };
        let delay = long.next_delay(4_000_000, status(503), Advice::default(), 0.0);
        assert_eq!(delay, Some(Duration::from_secs(1)));
    }

    #[test]
    fn only_passing_failures_are_tried_again() {
        let tried = |failure| SOON.next_delay(0, failure, Advice::default(), 0.0).is_some();
        for code in [408, 429, 500, 502, 503, 504, 529] {
            assert!(tried(status(code)), "{code}");
        }
        for code in [200, 400, 401, 403, 404, 409, 413, 422, 501] {
            assert!(!tried(status(code)), "{code}");
        }
        let dns = ClientError::Dns { host: "x".into(), detail: String::new() };
        assert!(tried(Failure::Error(&dns)));
        assert!(!tried(Failure::Error(&ClientError::Config(String::new()))));
        assert!(RetryPolicy::NEVER.next_delay(0, status(503), Advice::default(), 0.0).is_none());
    }

    #[test]
    fn the_upstream_has_the_last_word_on_whether_to_try() {
        let no = advice(&[("x-should-retry", "false")]);
        assert_eq!(SOON.next_delay(0, status(429), no, 0.0), None);
        let yes = advice(&[("x-should-retry", "true")]);
        assert!(SOON.next_delay(0, status(409), yes, 0.0).is_some());
        assert!(SOON.next_delay(3, status(409), yes, 0.0).is_none());
    }
}
