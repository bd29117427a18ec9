//! Gateway keys: who may come in, and what for.

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

/// A longer key is none of ours; it is refused before anybody looks it up.
const LONGEST: usize = 256;

/// What a key says about whoever sent it.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Whose records are read and written.
    pub tenant: Tenant,
    /// The names of models that may be asked for; `*` stands for any run of letters.
    pub models: Vec<String>,
    /// The providers that may be asked, likewise.
    pub providers: Vec<String>,
    /// Whether it may use a provider's own API, `/p/{provider}/...`.
    pub raw: bool,
    /// Whether the viewer shows it everybody's requests.
    pub admin: bool,
    /// What holds for requests with this key.
    pub reasoning: Partial,
    /// How many requests it may make in any minute, and how many tokens these may cost.
    pub limits: RateLimits,
    /// What its requests may spend, on reasoning and in all.
    pub budgets: Budgets,
}

impl Pass {
    /// Whether every name of a model may be asked for.
    pub(crate) fn allows_all_models(&self) -> bool {
        self.models.iter().any(|it| it == "*")
    }

    /// Whether a budget that blocks, or a limit of tokens, counts what an answer takes.
    pub(crate) fn books(&self) -> bool {
        self.blocks() || self.limits.counts_tokens()
    }

    /// Whether it has a budget that blocks.
    pub(crate) fn blocks(&self) -> bool {
        !self.budgets.is_none() && self.budgets.on_exceed == OnExceed::Block
    }
}

/// What came of looking for a key.
#[derive(Clone, Debug)]
pub enum Access {
    /// There are no keys, so nobody needs one.
    Open,
    /// The key is known.
    Known(Arc<Pass>),
    /// Keys are needed, and this is none, or one that was revoked.
    Unknown,
    /// Keys were made, and the store has none of them.
    Lost,
}

/// Comes later.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Access, VaultError>> + Send + 'a>>;

/// The keys that are known.
pub trait Keys: Send + Sync {
    /// Whether this key is known; without one, whether one is needed. An error turns the caller away: what cannot be
    /// looked up lets nobody in. Waits for `patience` at most, and only for a key that is not known so far.
    fn find<'a>(&'a self, key: Option<&'a str>, patience: Duration) -> Looking<'a>;

    /// What the keys are called, for whoever runs the gateway.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The budgets of those that have some.
    fn budgets(&self) -> Vec<(Tenant, Budgets)> {
        Vec::new()
    }

    /// Whether it can be said who may come in. While it cannot, nobody is sent here.
    fn are_known(&self) -> bool {
        true
    }
}

/// Whether a text can be a key at all.
pub(crate) fn is_plausible(key: &str) -> bool {
    key.len() <= LONGEST && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The models as far as a key allows them. What is not allowed looks as if it were not there.
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
        // A fallback that the key may not ask for is none.
        route.fallback.retain(|name| any(&self.pass.models, name));
        overlay(&mut route.reasoning, &self.pass.reasoning);
        Ok(Arc::new(route))
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        // A provider's own API can name any of its models, so it is only for keys that may ask for all.
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

/// The caller's key is the gateway's own and goes no further, so the provider's must be there, if it wants one.
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

/// Lays what is said over what was said before.
fn overlay(below: &mut Partial, above: &Partial) {
    for key in Key::ALL {
        if let Some(word) = above.get(key) {
            // A value that was read once is read again.
            let _ = below.set(key.as_str(), &word);
        }
    }
}

fn any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Whether a pattern covers a name; `*` stands for any run of letters, also none.
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
