//! Builds the request that the gateway would send, by the same steps, without sending it.

use crate::accept::place::Face;
use crate::attempt::sending::Job;
use crate::identify::keys::Pass;
use crate::models::route::{Models, Route};
use crate::observe::bus::Reporter;
use crate::rejection::Rejection;
use crate::relay::ask::{self, Wanted};
use crate::serve::serve_request::with_pass;
use crate::state::{Configuration, Gateway, Options, RequestState, Stage};
use crate::store::learned::now;
use crate::store::vault::{VaultError, Vaults};
use crate::store::waits::Waits;
use bytes::Bytes;
use http::Request;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use thinkthrough_core::exchange::Restore;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_core::wire::Wire;
use tokio::sync::watch;

/// A caller's request for a preview.
#[derive(Clone, Debug)]
pub struct Unsent {
    /// The wire of the body.
    pub wire: &'static dyn Wire,
    /// Its body.
    pub body: Bytes,
    /// The model. It overrides the one in the body.
    pub model: String,
    /// Settings as `x-thinkthrough-set` names them: `reasoning.effort=high`.
    pub settings: Vec<String>,
    /// The client's name for its session.
    pub session: Option<String>,
    /// The rights of the caller's key; `None` for callers without one.
    pub pass: Option<Arc<Pass>>,
}

/// A request to a provider that was built but not sent.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The request with its body.
    pub outgoing: Outgoing,
    /// The model with the facts that its refusals taught.
    pub target: Target,
    /// The reason if the gateway refuses the request instead of sending it.
    pub refusal: Option<String>,
}

/// Builds the first request that a gateway with these models, records and options sends for this one.
///
/// # Errors
/// If the gateway refuses the request before its body is built. The error is a sentence for the caller.
pub async fn preview(
    models: Arc<dyn Models>,
    vaults: Option<Arc<dyn Vaults>>,
    options: Options,
    unsent: Unsent,
) -> Result<Preview, String> {
    let Unsent { wire, body, model, settings, session, pass } = unsent;
    let models = reaching(models, &model);
    let state = state(models, vaults, options, pass).await.map_err(|VaultError(why)| why)?;
    let mut request = Request::new(());
    let headers = request.headers_mut();
    for (name, value) in
        [("x-thinkthrough-set", Some(settings.join(","))), ("x-thinkthrough-session", session)]
    {
        let Some(value) = value.filter(|it| !it.is_empty()) else { continue };
        let value = value.as_bytes().try_into();
        headers.insert(name, value.map_err(|_| format!("`{name}` cannot have this value"))?);
    }
    let (parts, ()) = request.into_parts();
    let wanted = Wanted { face: Face::of(wire), model: Some(model), stream: None };
    let first = ask::first(state, (parts, body), wanted, wire).await;
    let first = first.map_err(|Rejection { message, .. }| message)?;
    let refusal = first.job.check(&first.prepared).err().map(|rejection| rejection.message);
    let body = String::from_utf8_lossy(&first.job.body).into_owned();
    let outgoing = Outgoing { body, ..first.prepared.exchange.outgoing().clone() };
    let target = taught(&first.job);
    Ok(Preview { outgoing, target, refusal })
}

/// The models for a caller with its own provider key, if the name has no route without one.
fn reaching(models: Arc<dyn Models>, name: &str) -> Arc<dyn Models> {
    match models.find(name) {
        Ok(_) => models,
        Err(_) => models.with_key().unwrap_or(models),
    }
}

/// The state of a gateway for a single request.
async fn state(
    models: Arc<dyn Models>,
    vaults: Option<Arc<dyn Vaults>>,
    options: Options,
    pass: Option<Arc<Pass>>,
) -> Result<Arc<RequestState>, VaultError> {
    let facts = vaults.as_ref().and_then(|vaults| vaults.facts());
    let gateway = Arc::new(Gateway::new(Configuration::new(models, vaults, options)));
    if let Some(facts) = facts {
        let known = facts.read(now()).await?.unwrap_or_default();
        gateway.configuration().learned.stored(known, now());
    }
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let share = gateway.budget.caller(peer);
    let reporter = Reporter::new(&gateway.bus, now(), "nowhere");
    let (_, stage) = watch::channel(Stage::Open);
    let state = gateway.state(reporter, stage, (peer, &share));
    let state = match pass {
        Some(pass) if Tenant::named(pass.tenant.as_str()).is_ok() => with_pass(&state, pass),
        // Callers known by their provider's credential have no gateway key that could limit their models.
        pass => RequestState { pass, ..RequestState::clone(&state) },
    };
    Ok(Arc::new(RequestState { waits: Arc::new(Waits::patient()), ..state }))
}

/// The model with the facts that its refusals taught, if its requests heed those.
fn taught(job: &Job) -> Target {
    let Route { target, handling, .. } = &*job.route;
    let heeds = handling.restore == Restore::Recommended && !handling.dry_run;
    let repair = job.made.learned.filter(|_| heeds);
    repair.and_then(|repair| repair.taught_to(target)).unwrap_or_else(|| target.clone())
}
