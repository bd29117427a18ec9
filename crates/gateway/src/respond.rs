//! One request, from the door to the head of its answer.

use crate::admission::{self, Visit};
use crate::audit::Audit;
use crate::bus::Seen;
use crate::count;
use crate::door::{self, Turned, turned};
use crate::edge::HEAD_LINES;
use crate::edge::headers::is_forwarded;
use crate::edge::inbound::Inbound;
use crate::flow::Flow;
use crate::front;
use crate::house::{Estate, House, Stage, ended};
use crate::identity::{identify, keys_unavailable};
use crate::kept_responses;
use crate::keys::{Allowed, Pass};
use crate::list;
use crate::listening;
use crate::load::{Holder, Share};
use crate::metrics;
use crate::models::Listed;
use crate::patient::Pace;
use crate::place::{self, Face, Nowhere, Place};
use crate::progress::Progress;
use crate::raw;
use crate::relay::{self, Wanted};
use crate::reply::{json, refusal, typed};
use crate::story::now;
use crate::traced;
use crate::ui;
use crate::watched::{Caught, Entry, Interrupted, Watched};
use http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use thinkthrough_core::wire::Wire;
use thinkthrough_store::stands_for_nobody;
use tokio::sync::watch;

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) peer: IpAddr,
    /// The address of this machine that it came to.
    pub(crate) local: SocketAddr,
    /// It came to the listener for metrics.
    pub(crate) is_admin: bool,
    pub(crate) pace: Arc<Pace>,
    pub(crate) share: Share,
    pub(crate) stage: watch::Receiver<Stage>,
}

/// Answers a request.
pub(crate) async fn respond(
    estate: &Arc<Estate>,
    guest: &Guest,
    request: Request<Incoming>,
) -> Response<Watched> {
    let (parts, body) = request.into_parts();
    let body = Inbound::new(&parts.headers, body);
    let place = place::find(&parts.method, parts.uri.path());
    let route = place.as_ref().map_or("nowhere", Place::label);
    let wire = spoken(&place);
    let seen = Seen::new(&estate.bus, now(), route);
    let house = estate.house(Arc::clone(&seen), guest.stage.clone(), (guest.peer, &guest.share));
    let entry = Entry::new(Arc::clone(&seen), Arc::clone(&guest.pace));
    let work = Caught(Box::pin(admitted(estate, guest, &house, parts, body, place)));
    let answer = tokio::select! {
        done = work => done.unwrap_or_else(|()| {
            seen.tell(&Progress::Panicked);
            let turned = turned(500, "internal_error", "the request failed within the gateway");
            refusal(wire, &turned)
        }),
        () = ended(guest.stage.clone()) => {
            let turned = turned(503, "shutting_down", "the gateway is being stopped; ask again");
            refusal(wire, &turned)
        }
    };
    let interrupted: Interrupted = Box::pin(ended(guest.stage.clone()));
    Watched::over(answer, entry, interrupted, wire)
}

/// The wire of the place that is asked.
fn spoken(place: &Result<Place, Nowhere>) -> Option<&'static dyn Wire> {
    place.as_ref().ok().and_then(Place::face).map(Face::spoken)
}

/// The answer, if the caller may have one.
async fn admitted(
    estate: &Arc<Estate>,
    guest: &Guest,
    house: &Arc<House>,
    mut parts: Parts,
    body: Inbound,
    place: Result<Place, Nowhere>,
) -> Response<Flow> {
    let began = Instant::now();
    let wire = spoken(&place);
    if parts.headers.len() > HEAD_LINES {
        let message = format!("the head has more than {HEAD_LINES} lines; send fewer");
        return refusal(wire, &turned(431, "request_headers_too_large", message));
    }
    let (local, hosts) = (guest.local, house.options.hosts.as_slice());
    let visit = Visit { local, hosts, has_body: !body.is_end_stream() };
    if let Err(turned) = admission::check(&parts, &visit) {
        return refusal(None, &turned);
    }
    let place = match place {
        Ok(place) => place,
        Err(nowhere) => return lost(nowhere, parts.uri.path()),
    };
    let is_for_admins =
        matches!(place, Place::Metrics | Place::Live | Place::Ready | Place::Viewer { .. });
    if guest.is_admin && !is_for_admins {
        return lost(Nowhere::Path, parts.uri.path());
    }
    if place == Place::Metrics && !may_count(guest, house, &parts) {
        let message = match house.options.has_admin {
            true => "metrics are asked for on the listener of `[server] admin_listen`",
            false => "metrics are for callers on this machine; set `[server] admin_listen`",
        };
        return refusal(None, &turned(403, "forbidden", message));
    }
    if let Place::Viewer { path } = &place {
        return view(estate, guest, house, (parts, body), path).await;
    }
    if place == Place::Root && are_known(house) {
        let has_viewer = !house.options.has_admin && may_count(guest, house, &parts);
        return front::page(house, &parts, guest.local, has_viewer);
    }
    if place.is_open() {
        return open(estate, house, &place);
    }
    let house = match admit(house, &mut parts).await {
        Ok(house) => house,
        Err(turned) => return turned_away(house, wire, &turned),
    };
    let tenant = house.pass.as_ref().map(|pass| pass.tenant.to_string()).unwrap_or_default();
    house.seen.tell(&Progress::Admitted { tenant: &tenant, took: began.elapsed() });
    match place {
        Place::Answer { face, model, stream } => {
            relay::answer(&house, parts, body, Wanted { face, model, stream }).await
        }
        // What is asked for less often makes no room in what every request needs.
        Place::Count { face, model } => {
            Box::pin(count::answer(&house, parts, body, face, model)).await
        }
        Place::Events => Box::pin(listening::answer(&house, &guest.pace, parts)).await,
        Place::Kept { id } => Box::pin(kept_responses::answer(&house, &parts, &id)).await,
        Place::Trace { id } => Box::pin(traced::answer(&house, &parts, &id)).await,
        Place::Raw { provider, path } => {
            Box::pin(raw::raw(&house, parts, body, &provider, &path)).await
        }
        Place::Models(face) => {
            let face = spoken_by(face, &parts);
            json(200, list::models(face, &house.models.list()))
        }
        Place::Model { face, name } => model(&house, spoken_by(face, &parts), wire, &name),
        Place::Live | Place::Metrics | Place::Ready | Place::Root | Place::Viewer { .. } => {
            open(estate, &house, &place)
        }
    }
}

/// The answer of somebody who is not let in.
fn turned_away(house: &House, wire: Option<&'static dyn Wire>, turned: &Turned) -> Response<Flow> {
    /// Seconds until a store that was away is looked at again, at most.
    const SOON: HeaderValue = HeaderValue::from_static("5");
    let mut answer = refusal(wire, turned);
    match turned.status {
        401 => {
            house.seen.tell(&Progress::TurnedAway);
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        503 => drop(answer.headers_mut().insert(RETRY_AFTER, SOON)),
        _ => {}
    }
    answer
}

/// Who asks for `/v1/models` with a version of this API wants its lists; the path is the same.
fn spoken_by(face: Face, parts: &Parts) -> Face {
    const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
    if face == Face::Chat && parts.headers.contains_key(VERSION) { Face::Messages } else { face }
}

/// The viewer is where metrics are: on their own listener, else for callers on this machine.
async fn view(
    estate: &Arc<Estate>,
    guest: &Guest,
    house: &Arc<House>,
    (parts, body): (Parts, Inbound),
    path: &str,
) -> Response<Flow> {
    if !may_count(guest, house, &parts) {
        let message = match house.options.has_admin {
            true => "the viewer is on the listener of `[server] admin_listen`",
            false => "the viewer is for callers on this machine; set `[server] admin_listen`",
        };
        return refusal(None, &turned(403, "forbidden", message));
    }
    let (pace, port) = (&guest.pace, guest.local.port());
    let visit = ui::Visit { estate, house, pace, parts, body, port };
    Box::pin(ui::answer(visit, path)).await
}

/// Metrics are for their own listener; without one, for callers on this machine that speak for themselves.
fn may_count(guest: &Guest, house: &House, parts: &Parts) -> bool {
    if house.options.has_admin {
        return guest.is_admin;
    }
    guest.is_admin || guest.peer.to_canonical().is_loopback() && !is_forwarded(&parts.headers)
}

/// Lets the caller in: its key names the tenant and goes no further.
async fn admit(house: &Arc<House>, parts: &mut Parts) -> Result<Arc<House>, Turned> {
    let credential = door::credential(&parts.uri, &parts.headers)?;
    let key = door::exposed(&credential);
    let began = Instant::now();
    let pass = identify(&house.options, key, house.waits.left()).await;
    house.waits.took(began.elapsed());
    let pass = pass?;
    hear(house, key);
    let Some(pass) = pass else {
        let brings_key = key.is_some_and(|key| !stands_for_nobody(key));
        let models = house.models.with_key().filter(|_| brings_key);
        let models = models.unwrap_or_else(|| Arc::clone(&house.models));
        return Ok(Arc::new(House { models, credential, ..House::clone(house) }));
    };
    door::take_off(parts);
    Ok(Arc::new(House { credential, ..with_pass(house, pass) }))
}

/// The gateway as a caller with this key sees it.
pub(crate) fn with_pass(house: &House, pass: Arc<Pass>) -> House {
    let models = Arc::clone(&house.models);
    let models = Arc::new(Allowed { models, pass: Arc::clone(&pass) });
    let share = house.load.share.with_key(pass.tenant.as_str());
    let offload = house.load.offload.of(holder(&pass));
    let load = house.load.of(share, offload);
    House { models, pass: Some(pass), load, ..House::clone(house) }
}

/// The holder of the places that a caller with a key takes.
fn holder(pass: &Pass) -> Holder {
    match pass.admin {
        true => Holder::Operator,
        false => Holder::Tenant(pass.tenant.as_str().to_owned()),
    }
}

/// A credential that let somebody in must not be told to anybody from now on.
fn hear(house: &House, key: Option<&str>) {
    if let (Some(heard), Some(key)) = (&house.options.heard, key) {
        heard.hear(key);
    }
}

/// Whether it can be said who may come in.
fn are_known(house: &House) -> bool {
    house.options.keys.as_ref().is_none_or(|keys| keys.are_known())
}

/// What the gateway itself answers, whoever asks.
fn open(estate: &Estate, house: &House, place: &Place) -> Response<Flow> {
    let are_known = are_known(house);
    let is_up = house.vaults.as_ref().is_none_or(|vaults| vaults.is_up());
    let is_displaced = house.vaults.as_ref().is_some_and(|vaults| vaults.is_displaced());
    let mut backlog = house.vaults.as_ref().map(|vaults| vaults.backlog()).unwrap_or_default();
    backlog.is_refused |= !is_up;
    match place {
        Place::Ready if estate.is_closing() => typed(503, TEXT, "closing\n"),
        Place::Ready if is_displaced => typed(503, TEXT, STORE_DISPLACED),
        Place::Ready if !are_known => typed(503, TEXT, "keys_unavailable\n"),
        // Nobody is sent elsewhere for it: traffic goes on, without the thoughts that are kept.
        Place::Ready if backlog.is_refused => typed(200, TEXT, "degraded\n"),
        Place::Live | Place::Ready => typed(200, TEXT, "ok\n"),
        Place::Metrics => {
            let traces = house.options.audit.as_ref().map_or(0, Audit::waiting_now);
            estate.bus.metrics.see(backlog, traces);
            typed(200, metrics::TEXT, estate.bus.metrics.text(is_up))
        }
        _ => turned_away(house, None, &keys_unavailable()),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
/// The answer of `/readyz` while nothing that is kept would last.
const STORE_DISPLACED: &str = "store_displaced: the store's file was removed or replaced; put it back and start the gateway again\n";

fn model(house: &House, face: Face, wire: Option<&'static dyn Wire>, name: &str) -> Response<Flow> {
    match house.find(name) {
        Ok(route) => {
            let listed = Listed { name: name.to_owned(), provider: route.target.provider.clone() };
            json(200, list::model(face, &listed))
        }
        Err(turned) => refusal(wire, &turned),
    }
}

fn lost(nowhere: Nowhere, path: &str) -> Response<Flow> {
    let path: String = path.chars().filter(char::is_ascii_graphic).take(200).collect();
    let turned = match nowhere {
        Nowhere::Path => turned(404, "not_found", format!("there is nothing at `{path}`")),
        Nowhere::Compaction => {
            let message = "the gateway compacts no conversations; a provider that does is asked at \
                           `/p/{provider}/v1/responses/compact`";
            turned(400, "compaction_unsupported", message)
        }
        Nowhere::Method => {
            turned(405, "method_not_allowed", format!("`{path}` is asked with another method"))
        }
    };
    refusal(None, &turned)
}
