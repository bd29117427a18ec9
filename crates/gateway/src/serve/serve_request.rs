//! The path of one request, stage by stage.
//!
//! | stage | folder | what it does, and why at this point |
//! | --- | --- | --- |
//! | observe | `observe/` | opens the request's report first, so that refusals are logged and counted, too |
//! | accept | `accept/` | checks host, path and head, which costs nothing, before any look-up |
//! | identify | `request/identity.rs`, `identify/` | finds the tenant of the key before the body is read: a stranger costs no memory |
//! | request | `request/`, `spending/` | reads the body, finds the model and the limits of the key, looks up stored thoughts, which needs the body and the model |
//! | attempt | `attempt/` | builds the body, reserves its tokens and dollars, sends it; repairs a refused request, or tries another key or model. All of that happens before the first byte of the answer, because no byte can be taken back |
//! | respond | `respond/`, `answer/` | passes the answer on as it arrives, and stores its record before the last event goes out: a tool loop may be back in milliseconds |
//!
//! [`serve_request`] has the first three stages. The others are one call for a request to a model, [`ask::answer`],
//! and one for a provider's own API, [`pass::raw`]; both use the same code below. `admin/` answers requests that ask
//! no model.

use crate::accept::admission::{self, Visit};
use crate::accept::place::{self, Face, Nowhere, Place};
use crate::admin::front;
use crate::admin::kept_responses;
use crate::admin::listening;
use crate::admin::open;
use crate::admin::traced;
use crate::admin::ui;
use crate::credential;
use crate::identify::keys::{Allowed, Pass};
use crate::load::{Holder, Share};
use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use crate::observe::summary::now;
use crate::raw::pass;
use crate::rejection::{Rejection, rejection};
use crate::relay::ask::{self, Wanted};
use crate::relay::count;
use crate::request::edge::HEAD_LINES;
use crate::request::edge::headers::is_forwarded;
use crate::request::edge::inbound::Inbound;
use crate::request::identity;
use crate::respond::flow::Flow;
use crate::respond::patient::Pace;
use crate::respond::reply::{refusal, turned_away};
use crate::respond::watched::{Caught, Entry, Interrupted, Watched};
use crate::state::{Gateway, RequestState, Stage, ended};
use http::request::Parts;
use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use thinkthrough_core::wire::Wire;
use thinkthrough_store::stands_for_nobody;
use tokio::sync::watch;

/// One connection of a caller.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: IpAddr,
    /// The local address of the connection.
    pub(crate) local: SocketAddr,
    /// The connection came through the admin listener.
    pub(crate) is_admin: bool,
    pub(crate) pace: Arc<Pace>,
    pub(crate) share: Share,
    pub(crate) stage: watch::Receiver<Stage>,
}

/// Answers a request. Even after a panic or at shutdown the caller receives an answer in its own wire.
pub(crate) async fn serve_request(
    gateway: &Arc<Gateway>,
    connection: &Connection,
    request: Request<Incoming>,
) -> Response<Watched> {
    let (parts, body) = request.into_parts();
    let body = Inbound::new(&parts.headers, body);
    let place = place::find(&parts.method, parts.uri.path());
    let route = place.as_ref().map_or("nowhere", Place::label);
    let wire = spoken(&place);
    // Observe: from here on all stages report to `reporter`, so that even a refused request leaves a log line.
    let reporter = Reporter::new(&gateway.bus, now(), route);
    let state = gateway.state(
        Arc::clone(&reporter),
        connection.stage.clone(),
        (connection.peer, &connection.share),
    );
    let entry = Entry::new(Arc::clone(&reporter), Arc::clone(&connection.pace));
    let stages = async {
        stages(gateway, connection, &state, (parts, body), place)
            .await
            .unwrap_or_else(|early| *early)
    };
    let answer = tokio::select! {
        done = Caught(Box::pin(stages)) => done.unwrap_or_else(|()| {
            reporter.tell(&Progress::Panicked);
            let rejection = rejection(500, "internal_error", "the request failed within the gateway");
            refusal(wire, &rejection)
        }),
        () = ended(connection.stage.clone()) => {
            let rejection = rejection(503, "shutting_down", "the gateway is being stopped; ask again");
            refusal(wire, &rejection)
        }
    };
    let interrupted: Interrupted = Box::pin(ended(connection.stage.clone()));
    Watched::over(answer, entry, interrupted, wire)
}

/// Runs the stages in order. `Err` is the early answer of a request that stops at a stage.
async fn stages(
    gateway: &Arc<Gateway>,
    connection: &Connection,
    state: &Arc<RequestState>,
    (mut parts, body): (Parts, Inbound),
    place: Result<Place, Nowhere>,
) -> Result<Response<Flow>, Box<Response<Flow>>> {
    let began = Instant::now();
    let wire = spoken(&place);
    let place = accept(connection, state, &parts, &body, place)?;

    // These places need no gateway key: a health probe has none, and the viewer has its own sign-in.
    let may_look = may_look(connection, state, &parts);
    if let Place::Viewer { path } = &place {
        if !may_look {
            return Err(Box::new(elsewhere(state, "the viewer is")));
        }
        let (pace, port) = (&connection.pace, connection.local.port());
        let visit = ui::Visit { gateway, state, pace, parts, body, port };
        return Ok(Box::pin(ui::answer(visit, path)).await);
    }
    if place == Place::Metrics && !may_look {
        return Err(Box::new(elsewhere(state, "metrics are")));
    }
    if place == Place::Root && open::are_keys_known(state) {
        let has_viewer = may_look && !state.options.has_admin;
        return Ok(front::page(state, &parts, connection.local, has_viewer));
    }
    if place.is_open() {
        return Ok(open::answer(gateway, state, &place));
    }

    let admitted = identify(state, &mut parts).await;
    let state =
        admitted.map_err(|rejection| Box::new(turned_away(&state.reporter, wire, &rejection)))?;
    let tenant = state.pass.as_ref().map(|pass| pass.tenant.to_string()).unwrap_or_default();
    state.reporter.tell(&Progress::Admitted { tenant: &tenant, took: began.elapsed() });

    Ok(match place {
        // Request, attempt, respond.
        Place::Answer { face, model, stream } => {
            ask::answer(&state, parts, body, Wanted { face, model, stream }).await
        }
        // Rarer requests are boxed, so that they do not enlarge the future of every request.
        Place::Count { face, model } => {
            Box::pin(count::answer(&state, parts, body, face, model)).await
        }
        Place::Raw { provider, path } => {
            Box::pin(pass::raw(&state, parts, body, &provider, &path)).await
        }
        // Admin.
        Place::Events => Box::pin(listening::answer(&state, &connection.pace, parts)).await,
        Place::Kept { id } => Box::pin(kept_responses::answer(&state, &parts, &id)).await,
        Place::Trace { id } => Box::pin(traced::answer(&state, &parts, &id)).await,
        Place::Models(face) => open::models(&state, face, &parts),
        Place::Model { face, name } => open::model(&state, (face, &parts), wire, &name),
        Place::Live | Place::Metrics | Place::Ready | Place::Root | Place::Viewer { .. } => {
            open::answer(gateway, &state, &place)
        }
    })
}

/// The wire of the requested place.
fn spoken(place: &Result<Place, Nowhere>) -> Option<&'static dyn Wire> {
    place.as_ref().ok().and_then(Place::face).map(Face::spoken)
}

/// Accept: checks the head alone, before any look-up or read. A page of another site that reaches this listener
/// through a browser learns nothing, not even which paths exist.
fn accept(
    connection: &Connection,
    state: &RequestState,
    parts: &Parts,
    body: &Inbound,
    place: Result<Place, Nowhere>,
) -> Result<Place, Box<Response<Flow>>> {
    if parts.headers.len() > HEAD_LINES {
        let message = format!("the head has more than {HEAD_LINES} lines; send fewer");
        let rejection = rejection(431, "request_headers_too_large", message);
        return Err(Box::new(refusal(spoken(&place), &rejection)));
    }
    let (local, hosts) = (connection.local, state.options.hosts.as_slice());
    let visit = Visit { local, hosts, has_body: !body.is_end_stream() };
    admission::check(parts, &visit).map_err(|rejection| Box::new(refusal(None, &rejection)))?;
    let place = place.map_err(|nowhere| Box::new(open::nowhere(nowhere, parts.uri.path())))?;
    let is_for_admins =
        matches!(place, Place::Metrics | Place::Live | Place::Ready | Place::Viewer { .. });
    match connection.is_admin && !is_for_admins {
        true => Err(Box::new(open::nowhere(Nowhere::Path, parts.uri.path()))),
        false => Ok(place),
    }
}

/// Metrics and the viewer have their own listener; without one, only direct callers on this machine may see them.
fn may_look(connection: &Connection, state: &RequestState, parts: &Parts) -> bool {
    let is_local = connection.peer.to_canonical().is_loopback() && !is_forwarded(&parts.headers);
    connection.is_admin || is_local && !state.options.has_admin
}

/// Refuses a caller of metrics or the viewer. `what` includes its verb: "metrics are".
fn elsewhere(state: &RequestState, what: &str) -> Response<Flow> {
    let message = match state.options.has_admin {
        true => format!("{what} on the listener of `[server] admin_listen`"),
        false => format!("{what} for callers on this machine; set `[server] admin_listen`"),
    };
    refusal(None, &rejection(403, "forbidden", message))
}

/// Identify: reads the tenant from the key, and removes the key from the request. This happens before the body is
/// read, so that a stranger costs no memory, and before the model is looked up, because a key sees only its own
/// models.
async fn identify(
    state: &Arc<RequestState>,
    parts: &mut Parts,
) -> Result<Arc<RequestState>, Rejection> {
    let credential = credential::of(&parts.uri, &parts.headers)?;
    let key = credential::exposed(&credential);
    let began = Instant::now();
    let pass = identity::identify(&state.options, key, state.waits.left()).await;
    state.waits.took(began.elapsed());
    let pass = pass?;
    hear(state, key);
    let Some(pass) = pass else {
        let brings_key = key.is_some_and(|key| !stands_for_nobody(key));
        let models = state.models.with_key().filter(|_| brings_key);
        let models = models.unwrap_or_else(|| Arc::clone(&state.models));
        return Ok(Arc::new(RequestState { models, credential, ..RequestState::clone(state) }));
    };
    credential::take_off(parts);
    Ok(Arc::new(RequestState { credential, ..with_pass(state, pass) }))
}

/// The state of the gateway for a caller with this key.
pub(crate) fn with_pass(state: &RequestState, pass: Arc<Pass>) -> RequestState {
    let models = Arc::clone(&state.models);
    let models = Arc::new(Allowed { models, pass: Arc::clone(&pass) });
    let share = state.load.share.with_key(pass.tenant.as_str());
    let offload = state.load.offload.of(holder(&pass));
    let load = state.load.of(share, offload);
    RequestState { models, pass: Some(pass), load, ..RequestState::clone(state) }
}

/// The holder of the places that a caller with this key takes.
fn holder(pass: &Pass) -> Holder {
    match pass.admin {
        true => Holder::Operator,
        false => Holder::Tenant(pass.tenant.as_str().to_owned()),
    }
}

/// Registers an accepted credential, so that logs and traces mask it from now on.
fn hear(state: &RequestState, key: Option<&str>) {
    if let (Some(heard), Some(key)) = (&state.options.heard, key) {
        heard.hear(key);
    }
}
