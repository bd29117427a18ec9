//! The identity of a caller, and repeated checks of it.
//!
//! A request is checked when it arrives. A listener, a session of the viewer and a slow upload last longer, and
//! meanwhile any process may revoke their key in the store, or the key may leave the configuration. So their identity
//! is checked again here. An answer in progress is not checked again. It ends by itself and is booked.

use crate::credential;
use crate::identify::keys::{Access, Pass, is_plausible};
use crate::identify::sign_ins::{Viewer, Who};
use crate::observe::events::Scope;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::keyless_tenants;
use crate::state::{Configuration, Gateway, Options, RequestState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thinkthrough_client::Auth;

/// The interval of repeated checks. The gateway reads its keys once a second, so that a revocation ends a listener
/// within about two seconds.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// The longest wait for the keys in a check.
const PATIENCE: Duration = Duration::from_millis(100);

/// The gateway key of this credential; `None` if callers need none.
pub(crate) async fn identify(
    options: &Options,
    credential: Option<&str>,
    patience: Duration,
) -> Result<Option<Arc<Pass>>, Rejection> {
    let access = match &options.keys {
        // A text that cannot be a key is not looked up.
        Some(keys) => keys.find(credential.filter(|key| is_plausible(key)), patience).await,
        None => Ok(Access::Open),
    };
    match access.map_err(|_| keys_unavailable())? {
        Access::Known(pass) => Ok(Some(pass)),
        Access::Lost => Err(keys_lost()),
        Access::Open if options.pass_through && credential.is_none() => {
            let message = "callers of this gateway bring their own key for the provider; send one";
            Err(rejection(401, "missing_key", message))
        }
        Access::Open => Ok(None),
        Access::Unknown => Err(match credential {
            None => rejection(401, "missing_key", "this gateway needs a key; send one of its own"),
            Some(_) => rejection(401, "invalid_key", "the key is not known to this gateway"),
        }),
    }
}

pub(crate) fn keys_unavailable() -> Rejection {
    let message = "whether the key is one of this gateway's cannot be said now; ask again";
    rejection(503, "keys_unavailable", message)
}

fn keys_lost() -> Rejection {
    let message = "keys were made for this gateway, and its store has none of them; its operator puts back a store that \
                   has them, makes a key with `think keys create`, or sets `[server] keyless = true`";
    rejection(503, "keys_unavailable", message)
}

/// An identity that can be verified again.
pub(crate) struct Identity {
    gateway: Arc<Gateway>,
    proof: Proof,
}

enum Proof {
    Credential(Auth),
    Session { viewer: Viewer, token: String },
}

impl Identity {
    /// The sender of a request.
    pub(crate) fn caller(state: &RequestState) -> Self {
        let proof = Proof::Credential(state.credential.clone());
        Identity { gateway: Arc::clone(&state.gateway), proof }
    }

    /// A browser that signed in to the viewer.
    pub(crate) fn session(gateway: &Arc<Gateway>, viewer: &Viewer, token: &str) -> Self {
        let proof = Proof::Session { viewer: viewer.clone(), token: token.to_owned() };
        Identity { gateway: Arc::clone(gateway), proof }
    }

    /// Grants the requests that this identity may see.
    pub(crate) async fn grant(self) -> Result<Grant, Rejection> {
        let now = self.gateway.configuration();
        let known = self.known(&now.options).await?;
        let (scope, keyless) = match known {
            Some(scope) => (scope, None),
            None => (self.keyless(&now).ok_or_else(nobody)?, Some(now)),
        };
        Ok(Grant { identity: self, scope, keyless })
    }

    /// Reads the scope of the key or the session; `None` if callers need no key.
    async fn known(&self, options: &Options) -> Result<Option<Scope>, Rejection> {
        match &self.proof {
            Proof::Credential(auth) => {
                let pass = identify(options, credential::exposed(auth), PATIENCE).await?;
                Ok(pass.map(|pass| Scope::Tenants(vec![pass.tenant.clone()])))
            }
            Proof::Session { viewer, token } => {
                let who = viewer.signed_in(token, Instant::now()).ok_or_else(signed_out)?;
                view(options, &who).await.map(Some)
            }
        }
    }

    /// The requests of a caller without a key.
    fn keyless(&self, now: &Configuration) -> Option<Scope> {
        let Proof::Credential(auth) = &self.proof else { return None };
        let Configuration { models, options, vaults, .. } = now;
        let mut tenants = keyless_tenants(&**models, options, vaults.as_ref(), auth);
        tenants.sort();
        (!tenants.is_empty()).then_some(Scope::Tenants(tenants))
    }
}

/// The requests that a session of the viewer may see.
pub(crate) async fn view(options: &Options, who: &Who) -> Result<Scope, Rejection> {
    let Who::Key(key) = who else { return Ok(Scope::All) };
    match identify(options, Some(key.expose()), PATIENCE).await? {
        Some(pass) if pass.admin => Ok(Scope::All),
        Some(pass) => Ok(Scope::Tenants(vec![pass.tenant.clone()])),
        None => Err(rejection(
            401,
            "invalid_key",
            "this is no key of the gateway; see `think keys list`",
        )),
    }
}

fn nobody() -> Rejection {
    rejection(403, "forbidden", "nothing says whose requests are to be heard; send a key")
}

pub(crate) fn signed_out() -> Rejection {
    rejection(401, "signed_out", "open the link that `think ui` prints, or sign in with a key")
}

/// A right that outlives the request which obtained it.
pub(crate) struct Grant {
    identity: Identity,
    scope: Scope,
    /// The configuration that determined the tenants of a caller without a key.
    keyless: Option<Arc<Configuration>>,
}

impl Grant {
    /// The requests that the holder may see.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns when the identity is no longer known, or its rights have changed.
    pub(crate) async fn ended(mut self) {
        while self.holds().await {
            tokio::time::sleep(PERIOD).await;
        }
    }

    async fn holds(&mut self) -> bool {
        let now = self.identity.gateway.configuration();
        match (self.identity.known(&now.options).await, &self.keyless) {
            (Ok(Some(scope)), None) => scope == self.scope,
            (Ok(None), Some(before)) if Arc::ptr_eq(before, &now) => true,
            (Ok(None), Some(_)) => {
                let is_same = self.identity.keyless(&now).as_ref() == Some(&self.scope);
                self.keyless = Some(now);
                is_same
            }
            // Keys became required, or are no longer required.
            (Ok(Some(_)), Some(_)) | (Ok(None), None) | (Err(_), _) => false,
        }
    }
}

/// Verifies the key of a request again if its body took longer than [`PERIOD`] to arrive.
pub(crate) async fn still_holds(state: &RequestState) -> Result<(), Rejection> {
    let now = state.gateway.configuration();
    identify(&now.options, credential::exposed(&state.credential), PATIENCE).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::keys::{Keys, Looking};
    use crate::load::{Gauges, Holder, Pools};
    use crate::models::route::{Listed, Models, Route, Unrouted};
    use std::sync::Mutex;
    use thinkthrough_client::Secret;
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_core::settings::Partial;
    use thinkthrough_limits::{Budgets, RateLimits};
    use tokio::time::Instant as Tick;

    /// The only key.
    struct Only(Mutex<Access>);

    impl Keys for Only {
        fn find<'a>(&'a self, key: Option<&'a str>, _: Duration) -> Looking<'a> {
            let access = key.map_or(Access::Unknown, |_| self.0.lock().unwrap().clone());
            Box::pin(async move { Ok(access) })
        }
    }

    struct NoModels;

    impl Models for NoModels {
        fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
            Err(Unrouted(name.to_owned()))
        }

        fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
            self.find(name)
        }

        fn list(&self) -> Vec<Listed> {
            Vec::new()
        }
    }

    fn key_of(name: &str, admin: bool) -> Access {
        let (models, providers) = (Vec::new(), Vec::new());
        let (reasoning, limits, budgets) =
            (Partial::default(), RateLimits::UNLIMITED, Budgets::NONE);
        let (tenant, raw) = (Tenant::named(name).unwrap(), false);
        let pass = Pass { tenant, models, providers, raw, admin, reasoning, limits, budgets };
        Access::Known(Arc::new(pass))
    }

    fn gateway(keys: Option<Arc<Only>>) -> Arc<Gateway> {
        Arc::new(Gateway::new(Configuration::new(Arc::new(NoModels), None, options(keys))))
    }

    fn options(keys: Option<Arc<Only>>) -> Options {
        Options { keys: keys.map(|keys| keys as Arc<dyn Keys>), ..Options::default() }
    }

    fn caller(gateway: &Arc<Gateway>, key: Option<&str>) -> Identity {
        let auth = key.map_or(Auth::None, |key| Auth::Bearer(Secret::new(key)));
        Identity { gateway: Arc::clone(gateway), proof: Proof::Credential(auth) }
    }

    /// Measures how long a grant outlives a change of its identity.
    async fn outlives(identity: Identity, change: impl FnOnce()) -> Option<Duration> {
        let ended = identity.grant().await.unwrap().ended();
        tokio::pin!(ended);
        let long = Duration::from_secs(60);
        assert!(tokio::time::timeout(long, ended.as_mut()).await.is_err(), "nothing changed");
        change();
        let began = Tick::now();
        tokio::time::timeout(long, ended).await.ok().map(|()| began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn t_5_a_grant_ends_with_its_key_and_with_its_rights() {
        for (after, lasts) in [
            (key_of("alice", true), true),
            (key_of("alicia", false), false),
            (Access::Unknown, false),
            (Access::Lost, false),
            (Access::Open, false),
        ] {
            let keys = Arc::new(Only(Mutex::new(key_of("alice", false))));
            let gateway = gateway(Some(Arc::clone(&keys)));
            let change = || *keys.0.lock().unwrap() = after.clone();
            let lasted = outlives(caller(&gateway, Some("k")), change).await;
            assert_eq!(lasted.is_none(), lasts, "{after:?}");
            assert!(lasted.is_none_or(|lasted| lasted <= PERIOD), "{after:?}: {lasted:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn t_5_a_grant_without_a_key_lasts_until_keys_are_needed() {
        let gateway = gateway(None);
        let change = || gateway.change(Arc::new(NoModels), options(None));
        assert_eq!(outlives(caller(&gateway, None), change).await, None, "the same requests");
        let keys = Arc::new(Only(Mutex::new(Access::Unknown)));
        let change = || gateway.change(Arc::new(NoModels), options(Some(keys)));
        assert!(outlives(caller(&gateway, None), change).await.unwrap() <= PERIOD);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_it_is_left_or_sees_less() {
        let keys = Arc::new(Only(Mutex::new(key_of("alice", true))));
        let (gateway, viewer) = (gateway(Some(Arc::clone(&keys))), Viewer::new());
        let pools = Pools::new(&Gauges::default());
        let place = || (&pools.sign_ins, Holder::Operator);
        let admit = |who| viewer.admit(who, place(), Instant::now()).unwrap();
        let (operator, alice) = (admit(Who::Operator), admit(Who::Key(Secret::new("k"))));
        let session = |token: &str| Identity::session(&gateway, &viewer, token);
        assert_eq!(*session(&operator).grant().await.unwrap().scope(), Scope::All);
        let lasted = outlives(session(&operator), || viewer.leave(&operator)).await;
        assert!(lasted.unwrap() <= PERIOD);
        let change = || *keys.0.lock().unwrap() = key_of("alice", false);
        assert!(outlives(session(&alice), change).await.unwrap() <= PERIOD);
        assert!(session("nobody's").grant().await.is_err());
    }
}
