//! Facts about a request before it is sent: its tenant, its settings, and the stored thoughts for it.

use crate::credential;
use crate::models::route::{Models, Route};
use crate::models::tenant::{account, is_ours};
use crate::names::random_id;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use crate::state::{Options, RequestState};
use crate::store::vault::{Looked, Vault, VaultError, Vaults};
use crate::store::waits::Waited;
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_client::Auth;
use thinkthrough_core::exchange::{Handling, Need, Owner, RequestContext, Stamp, View};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Auth as AuthForm;
use thinkthrough_core::settings::{Layer, Partial, Resolved, Source, resolve};
use thinkthrough_store::stands_for_nobody;

/// The owner of a request, and the vault of its tenant.
pub(crate) struct Claim {
    pub(crate) owner: Owner,
    pub(crate) vault: Arc<dyn Vault>,
}

/// The owner of a request. `None` if there is no vault, or it cannot be reached.
pub(crate) async fn claim(
    state: &RequestState,
    route: &Route,
    callers: &Auth,
    hint: Option<String>,
) -> Option<Claim> {
    let vaults = state.vaults.as_ref()?;
    let tenant = tenant(state, route, callers)?;
    let vault = answered(state, state.waits.known_answer(vaults.of(&tenant)).await)?;
    let (secret, record) = (vault.secret(), record_id());
    let account = account(&route.target, &credential_for(route, callers.clone()));
    let owner = Owner { tenant, secret, hint, account, record, is_kept: true };
    Some(Claim { owner, vault })
}

/// The store's answer. `None` if the store fails or answers too late.
fn answered<T>(state: &RequestState, waited: Waited<T>) -> Option<T> {
    match waited {
        Waited::Answered(Ok(answer)) => return Some(answer),
        Waited::Answered(Err(VaultError(_))) | Waited::Late => {
            state.reporter.tell(&Progress::Blind);
        }
    }
    None
}

/// A unique id for a record. It begins with the time, so that new records are neighbours in a store's index, and a
/// commit of many records writes few pages.
fn record_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = random_id();
    format!("{now:012x}{}", random.get(12..).unwrap_or(&random))
}

/// The id and time for an answer whose upstream says none.
pub(crate) fn stamp() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { id: random_id(), at: now.as_secs() }
}

/// The tenant of a request. `None` if neither a key nor a credential identifies it.
pub(crate) fn tenant(state: &RequestState, route: &Route, callers: &Auth) -> Option<Tenant> {
    match &state.pass {
        Some(pass) => Some(pass.tenant.clone()),
        None => keyless_tenant(&state.options, state.vaults.as_ref(), route, callers),
    }
}

/// The tenant of a request without a gateway key, if it can be identified.
fn keyless_tenant(
    options: &Options,
    vaults: Option<&Arc<dyn Vaults>>,
    route: &Route,
    callers: &Auth,
) -> Option<Tenant> {
    match credential::exposed(callers) {
        // Callers with their own provider keys must not share a tenant.
        _ if is_ours(route) && options.pass_through => None,
        _ if is_ours(route) => Some(Tenant::local()),
        // Clients of a server without keys send no key, or a dummy word.
        credential if credential.is_none_or(stands_for_nobody) && !options.pass_through => {
            Some(Tenant::local())
        }
        Some(secret) => vaults?.pass_through(&route.target.base_url, secret),
        None => None,
    }
}

/// All tenants that a caller without a key may be, one for each upstream.
pub(crate) fn keyless_tenants(
    models: &dyn Models,
    options: &Options,
    vaults: Option<&Arc<dyn Vaults>>,
    callers: &Auth,
) -> Vec<Tenant> {
    let local = (!options.pass_through).then(Tenant::local);
    let routes = models.list().into_iter().filter_map(|it| models.find(&it.name).ok());
    let named = routes.filter_map(|it| keyless_tenant(options, vaults, &it, callers));
    let mut tenants: Vec<Tenant> = Vec::new();
    for tenant in local.into_iter().chain(named) {
        if !tenants.contains(&tenant) {
            tenants.push(tenant);
        }
    }
    tenants
}

/// The reasoning settings: those of the model, of the configuration, and of the request's header.
pub(crate) fn settings(route: &Route, headers: &HeaderMap) -> Result<Resolved, Rejection> {
    let rule = Layer { source: Source::ModelRule, values: route.target.rule.settings() };
    let config = Layer { source: Source::UserConfig, values: route.reasoning.clone() };
    let mut said = Partial::default();
    for line in headers.get_all("x-thinkthrough-set") {
        let line = line.to_str().unwrap_or_default();
        for pair in line.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            said.set(name.trim(), value.trim()).map_err(|error| {
                let message = format!("the header `x-thinkthrough-set` cannot be used: {error}");
                rejection(400, "invalid_request_error", message)
            })?;
        }
    }
    Ok(resolve(&[rule, config, Layer { source: Source::Request, values: said }]))
}

/// The handling of a request. A caller may choose the form in which it sees thoughts.
pub(crate) fn handling(route: &Route, headers: &HeaderMap) -> Result<Handling, Rejection> {
    let mut handling = route.handling;
    if let Some(said) = headers.get("x-thinkthrough-view") {
        let view = said.to_str().ok().and_then(View::parse);
        handling.view = Some(view.ok_or_else(|| {
            let all: Vec<&str> = View::ALL.iter().map(|(name, _)| *name).collect();
            let message =
                format!("the header `x-thinkthrough-view` must be one of {}", all.join(", "));
            rejection(400, "invalid_request_error", message)
        })?);
    }
    Ok(handling)
}

/// The error for a request that lacks a required thought.
pub(crate) fn missing(route: &Route, message: usize) -> Rejection {
    let text = format!(
        "the thought of message {message} is not known here, and `{}` demands it; send it back as it came, begin a new \
         conversation, or set `restore = \"recommended\"` for the model",
        route.target.model
    );
    rejection(400, "reasoning_missing", text)
}

/// Looks up the records for a request. If the vault fails or answers too late, the result is empty, and the request
/// context records the failure.
pub(crate) async fn look_up(
    asked: &mut RequestContext<'_>,
    vault: Option<&Arc<dyn Vault>>,
    state: &RequestState,
) -> Looked {
    let (Some(vault), Need::Lookup(keys)) = (vault, asked.need()) else {
        return Looked::nothing();
    };
    let waited = state.waits.answer(vault.lookup(keys)).await;
    let Some(mut looked) = answered(state, waited) else {
        asked.look_up_failed();
        return Looked::nothing();
    };
    // Follows the records that other records name. Each round looks up the records that the previous ones name.
    for _ in 0..ROUNDS {
        let more = asked.more(&looked.found);
        if more.is_empty() {
            break;
        }
        let waited = state.waits.answer(vault.records(more)).await;
        let Some(more) = answered(state, waited) else {
            asked.look_up_failed();
            break;
        };
        if more.found.is_empty() {
            break;
        }
        looked = looked.and(more);
    }
    looked
}

/// The most rounds. Each one finds up to sixteen answers, one behind the other.
const ROUNDS: usize = 4;

/// The gateway's own credential; else the caller's, in the form that the upstream reads.
pub(crate) fn credential_for(route: &Route, callers: Auth) -> Auth {
    if !matches!(route.auth, Auth::None) {
        return route.auth.clone();
    }
    let secret = match callers {
        Auth::Bearer(secret) | Auth::Header { secret, .. } | Auth::Query { secret, .. } => secret,
        other => return other,
    };
    match route.target.auth {
        AuthForm::None => Auth::None,
        AuthForm::Bearer => Auth::Bearer(secret),
        AuthForm::Header(name) => match HeaderName::try_from(name) {
            Ok(name) => Auth::Header { name, secret },
            Err(_) => Auth::None,
        },
        AuthForm::Query(name) => Auth::Query { name: name.to_owned(), secret },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_records_differ_and_begin_with_the_time() {
        let time = |id: &str| u64::from_str_radix(id.get(..12).unwrap(), 16).unwrap();
        let all: Vec<String> = (0..1_000).map(|_| record_id()).collect();
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())));
        assert!(time(&all[0]) > 1_700_000_000_000 && time(&all[0]) < 1 << 42);
    }
}
