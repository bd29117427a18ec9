//! Admits requests and tries within their limits, or holds them.

use super::charges::RequestCharges;
use super::limits::{Limited, Whose};
use crate::identify::keys::Pass;
use crate::models::route::Route;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_client::{Gate, Held, Passing};
use thinkthrough_limits::{RateLimits, RateUnit};

/// The error code of a refusal because of a limit.
pub(crate) const LIMITED: &str = "rate_limit_exceeded";

/// The longest time that a try is under way after its connection took it. The provider's time of counting a slower
/// one is unknown.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// The wait before asking again if the limit is unknown.
const AGAIN: Duration = Duration::from_secs(1);

/// A wait in the form of `retry-after`: whole seconds, at least one.
pub(crate) fn seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl RequestCharges {
    /// Counts the request at its key. `tokens` gives the most that it may cost, and is called only if tokens are
    /// limited.
    pub(crate) async fn enter(
        &self,
        pass: Option<&Pass>,
        tokens: impl FnOnce() -> u64,
    ) -> Result<(), Rejection> {
        let Some(pass) = pass.filter(|it| it.limits != RateLimits::UNLIMITED) else {
            return Ok(());
        };
        let tokens = if pass.limits.counts_tokens() { tokens() } else { 0 };
        let whose = Whose::Key(pass.tenant.clone());
        let charged = self.charge_key(whose, &pass.limits, tokens).await;
        let Err(limited) = charged else { return Ok(()) };
        self.reporter.tell(&Progress::Limited { by: "key", unit: limited.unit() });
        let message = limited.message(&Whom::Key);
        Err(Rejection {
            retry_after: Some(seconds(limited.wait())),
            ..rejection(429, LIMITED, message)
        })
    }

    /// The gate for each try of a request at this provider; `None` without limits.
    pub(crate) fn gate(
        self: &Arc<Self>,
        route: &Route,
        tokens: impl FnOnce() -> u64,
    ) -> Option<Arc<dyn Gate>> {
        let limits = route.limits;
        if limits == RateLimits::UNLIMITED {
            return None;
        }
        let tokens = if limits.counts_tokens() { tokens() } else { 0 };
        let provider = route.target.provider.clone();
        Some(Arc::new(ProviderGate { charges: Arc::clone(self), provider, limits, tokens }))
    }
}

/// The owner of a limit.
enum Whom<'a> {
    Key,
    Provider(&'a str),
}

impl Limited {
    /// The wait before asking again.
    fn wait(&self) -> Duration {
        match self {
            Limited::Reached(refusal) | Limited::Elsewhere(refusal) => refusal.retry_after,
            Limited::Unasked => AGAIN,
        }
    }

    /// The unit that has run out.
    fn unit(&self) -> &'static str {
        match self {
            Limited::Reached(refusal) | Limited::Elsewhere(refusal) => refusal.unit.as_str(),
            Limited::Unasked => "unknown",
        }
    }

    /// The message for the caller.
    fn message(&self, whom: &Whom<'_>) -> String {
        let refusal = match self {
            Limited::Reached(refusal) | Limited::Elsewhere(refusal) => refusal,
            Limited::Unasked => {
                let of = match whom {
                    Whom::Key => "this key".to_owned(),
                    Whom::Provider(provider) => format!("the provider `{provider}`"),
                };
                return format!(
                    "the limit of {of} could not be asked for, because the store answers late; ask again in {} s",
                    seconds(AGAIN)
                );
            }
        };
        let limit = refusal.limit;
        let rule = match (whom, refusal.unit) {
            (Whom::Key, RateUnit::Requests) => {
                format!("this key may make {limit} requests in any minute")
            }
            (Whom::Key, RateUnit::Tokens) => {
                format!("the requests of this key may cost {limit} tokens in any minute")
            }
            (Whom::Provider(provider), RateUnit::Requests) => {
                format!("this gateway asks `{provider}` {limit} times in any minute")
            }
            (Whom::Provider(provider), RateUnit::Tokens) => {
                format!("this gateway spends {limit} tokens at `{provider}` in any minute")
            }
        };
        let why = match self {
            Limited::Elsewhere(_) => "what is left of that another gateway holds",
            Limited::Reached(_) | Limited::Unasked => "that is used up",
        };
        format!("{rule}, and {why}; ask again in {} s", seconds(refusal.retry_after))
    }
}

/// Counts each try at its provider.
struct ProviderGate {
    charges: Arc<RequestCharges>,
    provider: String,
    limits: RateLimits,
    tokens: u64,
}

impl ProviderGate {
    async fn try_pass(&self) -> Result<(), Held> {
        let whose = Whose::Provider(self.provider.clone());
        let charged = self.charges.charge_provider(whose, &self.limits, self.tokens).await;
        let Err(limited) = charged else { return Ok(()) };
        self.charges.reporter.tell(&Progress::Limited { by: "provider", unit: limited.unit() });
        let message = limited.message(&Whom::Provider(&self.provider));
        Err(Held { message, retry_after: limited.wait() })
    }
}

impl Gate for ProviderGate {
    fn pass(&self) -> Passing<'_> {
        Box::pin(self.try_pass())
    }

    fn sent(&self) {
        self.charges.arrives(UNDER_WAY);
    }

    fn heard(&self) {
        self.charges.arrives(Duration::ZERO);
    }
}
