//! Gateway keys and their rights.

use crate::models::route::{Listed, Models, Route, Unrouted};
use crate::models::tenant::is_ours;
use crate::store::vault::VaultError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::echo::short;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::{Key, Partial};
use thinkthrough_limits::{Budgets, OnExceed, RateLimits};

/// The longest key. Longer ones are refused without a look-up.
const LONGEST: usize = 256;

/// The rights and limits of a gateway key.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The tenant whose records requests read and write.
    pub tenant: Tenant,
    /// Patterns of the models that it may ask; `*` stands for any run of letters.
    pub models: Vec<String>,
    /// Patterns of the providers that it may ask.
    pub providers: Vec<String>,
    /// Whether it may use a provider's own API, `/p/{provider}/...`.
    pub raw: bool,
    /// Whether the viewer shows it the requests of all tenants.
    pub admin: bool,
    /// Reasoning settings for requests with this key.
    pub reasoning: Partial,
    /// Its limits of requests and tokens per minute.
    pub limits: RateLimits,
    /// Its budgets for reasoning and for the total cost.
    pub budgets: Budgets,
}

impl Pass {
    /// Whether it may ask every model.
    pub(crate) fn allows_all_models(&self) -> bool {
        self.models.iter().any(|it| it == "*")
    }

    /// Whether a blocking budget or a token limit counts the tokens of its answers.
    pub(crate) fn books(&self) -> bool {
        self.blocks() || self.limits.counts_tokens()
    }

    /// Whether it has a blocking budget.
    pub(crate) fn blocks(&self) -> bool {
        !self.budgets.is_none() && self.budgets.on_exceed == OnExceed::Block
    }
}

/// The result of a key look-up.
#[derive(Clone, Debug)]
pub enum Access {
    /// No keys are configured, so requests need none.
    Open,
    /// The key is valid.
    Known(Arc<Pass>),
    /// The gateway requires keys, and this key is missing, unknown, or revoked.
    Unknown,
    /// Keys were created, but the store contains none.
    Lost,
}

/// The future result of a key look-up.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Access, VaultError>> + Send + 'a>>;

/// Looks up gateway keys.
pub trait Keys: Send + Sync {
    /// Looks up a key; without one, says whether a key is required. On an error the caller is turned away, because a
    /// key that cannot be looked up admits no request. Waits at most `patience`, and only for a key that is not
    /// cached.
    fn find<'a>(&'a self, key: Option<&'a str>, patience: Duration) -> Looking<'a>;

    /// The names of the keys, for the operator.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The budgets of the keys that have some.
    fn budgets(&self) -> Vec<(Tenant, Budgets)> {
        Vec::new()
    }

    /// Whether keys can be verified. Until then `/readyz` reports that the gateway is not ready.
    fn are_known(&self) -> bool {
        true
    }
}

/// Whether a text has the form of a key.
pub(crate) fn is_plausible(key: &str) -> bool {
    key.len() <= LONGEST && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The models that a key may ask. All others look as if they did not exist.
pub(crate) struct Allowed {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) pass: Arc<Pass>,
}

impl Allowed {
    fn refusal(&self, name: &str) -> Unrouted {
        let names: Vec<String> = self.list().into_iter().map(|listed| listed.name).collect();
        let shown = names.get(..names.len().min(20)).unwrap_or_default().join(", ");
        let known = if shown.is_empty() { "none".to_owned() } else { shown };
        let name = short(name);
        Unrouted(format!("no model `{name}` is there for this key; it may ask for: {known}"))
    }

    fn allows(&self, name: &str, provider: &str) -> bool {
        any(&self.pass.models, name) && any(&self.pass.providers, provider)
    }
}

impl Models for Allowed {
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        if !any(&self.pass.models, name) {
            return Err(self.refusal(name));
        }
        let route = self.models.find(name)?;
        if !any(&self.pass.providers, &route.target.provider) {
            return Err(self.refusal(name));
        }
        if lacks_key(&route) {
            return Err(no_key(&route));
        }
        let mut route = Route::clone(&route);
        // Removes fallbacks that the key may not ask.
        route.fallback.retain(|name| any(&self.pass.models, name));
        overlay(&mut route.reasoning, &self.pass.reasoning);
        Ok(Arc::new(route))
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        // A provider's own API can name any of its models, so only keys that may ask every model reach it.
        if self.pass.models.iter().any(|it| it == "*") && any(&self.pass.providers, name) {
            let route = self.models.provider(name)?;
            return if lacks_key(&route) { Err(no_key(&route)) } else { Ok(route) };
        }
        Err(Unrouted(format!("no provider `{}` is there for this key", short(name))))
    }

    fn list(&self) -> Vec<Listed> {
        let mut list = self.models.list();
        list.retain(|listed| self.allows(&listed.name, &listed.provider));
        list
    }
}

/// The gateway keeps the caller's key to itself, so a provider that requires a key needs a configured one.
fn lacks_key(route: &Route) -> bool {
    route.needs_key && !is_ours(route)
}

fn no_key(route: &Route) -> Unrouted {
    let provider = &route.target.provider;
    Unrouted(format!(
        "this gateway has no key for `{provider}`; its operator sets `[providers.{provider}] api_key`"
    ))
}

impl fmt::Debug for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowed").field("pass", &self.pass).finish_non_exhaustive()
    }
}

/// Copies all values that `above` sets into `below`.
fn overlay(below: &mut Partial, above: &Partial) {
    for key in Key::ALL {
        if let Some(word) = above.get(key) {
            // The value was parsed before, so it parses again.
            let _ = below.set(key.as_str(), &word);
        }
    }
}

fn any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Whether a pattern matches a name; `*` stands for any run of letters, including an empty one.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_letters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a/b", true),
            ("kimi", "kimi", true),
            ("kimi", "kimi-k2", false),
            ("kimi*", "kimi-k2", true),
            ("*k2", "kimi-k2", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn t_3_only_what_can_be_a_key_is_looked_up() {
        assert!(is_plausible("tt-0123456789abcdef"));
        for bad in ["a b", "k\u{e9}y", "a\nb", &"x".repeat(LONGEST + 1)] {
            assert!(!is_plausible(bad), "{bad:?}");
        }
    }
}
