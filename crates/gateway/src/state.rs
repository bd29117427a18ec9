//! State that all connections of a gateway share, and the view that one request has of it.

use crate::identify::heard::Heard;
use crate::identify::keys::{Keys, Pass};
use crate::identify::sign_ins::Viewer;
use crate::load::{Budget, Holder, InFlight, Load, Offload, Share, place};
use crate::models::route::{Models, Route};
use crate::observe::audit::Audit;
use crate::observe::bus::{Bus, Reporter};
use crate::observe::events::{Events, FindMasker};
use crate::observe::log::Log;
use crate::observe::metrics::Names;
use crate::observe::progress::{News, Progress};
use crate::observe::spans::Traces;
use crate::rejection::{Rejection, rejection};
use crate::spending::{BudgetLeases, Limits, RequestCharges};
use crate::store::learned::Learned;
use crate::store::vault::Vaults;
use crate::store::waits::{Breakers, Waits};
use crate::tls::Tls;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use thinkthrough_client::{AnswerCaps, Auth};
use thinkthrough_core::echo::short;
use thinkthrough_core::tokens::Tokenizer;
use thinkthrough_limits::runaway::Runaway;
use tokio::sync::watch;

/// How the gateway behaves.
#[derive(Clone)]
pub struct Options {
    /// Names of this host besides its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The greatest size of a request in bytes.
    pub body_limit: usize,
    /// Caps on the part of one answer that the gateway reads from an upstream.
    pub answer: AnswerCaps,
    /// The longest pause of a caller in reading its answer.
    pub write_idle: Duration,
    /// The longest time for a caller to send the whole body of its request.
    pub body_timeout: Duration,
    /// The bytes that requests and unread answers may hold.
    pub in_flight: InFlight,
    /// The number of connections served at a time. Further connections get a reply to come back later.
    pub connections: usize,
    /// The number of connections from one address. `None`: a quarter of `connections`, but no limit for callers on
    /// this machine, because all of them may come through one proxy.
    pub connections_per_address: Option<usize>,
    /// The keys that callers need. Without keys, every caller at an allowed address may come in.
    pub keys: Option<Arc<dyn Keys>>,
    /// Callers bring their own upstream credential, and a caller without one is turned away.
    pub pass_through: bool,
    /// Metrics have a listener of their own.
    pub has_admin: bool,
    /// The certificate of the listeners; without it they speak plain HTTP.
    pub tls: Option<Tls>,
    /// Counts tokens if the upstream does not.
    pub tokenizer: Option<&'static dyn Tokenizer>,
    /// Receives one line per request. Like `traces`, it stays the same for as long as the gateway runs.
    pub log: Log,
    /// Receives one span per request.
    pub traces: Traces,
    /// Stores the trace (the audit copy of thoughts) of each request. Fixed while the gateway runs.
    pub audit: Option<Audit>,
    /// Covers secrets in the caller's text before it goes to a provider. `None`: the text goes out unchanged.
    pub masks_requests: Option<FindMasker>,
    /// Registers the credentials of admitted callers so that they are masked. Fixed while the gateway runs.
    pub heard: Option<Arc<Heard>>,
    /// Announces each request to the listeners of `/v1/events`. Fixed while the gateway runs.
    pub events: Option<Events>,
    /// Sign-ins of the viewer; `None` means that there is no viewer. Fixed while the gateway runs.
    pub viewer: Option<Viewer>,
    /// Whether the viewer shows thoughts. Otherwise it shows only answers and numbers.
    pub shows_thoughts: bool,
    /// The action on a thought that repeats the same text again and again.
    pub runaway: Runaway,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            hosts: Vec::new(),
            body_limit: 32 * 1024 * 1024,
            answer: AnswerCaps::default(),
            write_idle: Duration::from_secs(60),
            body_timeout: Duration::from_secs(5 * 60),
            in_flight: InFlight::of(256 * 1024 * 1024, 32 * 1024 * 1024),
            connections: 10_000,
            connections_per_address: None,
            keys: None,
            pass_through: false,
            has_admin: false,
            tls: None,
            tokenizer: None,
            log: Log::off(),
            traces: Traces::off(),
            audit: None,
            masks_requests: None,
            heard: None,
            events: None,
            viewer: None,
            shows_thoughts: true,
            runaway: Runaway::Off,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("hosts", &self.hosts)
            .field("body_limit", &self.body_limit)
            .field("answer", &self.answer)
            .field("write_idle", &self.write_idle)
            .field("in_flight", &self.in_flight)
            .field("connections", &self.connections)
            .field("has_keys", &self.keys.is_some())
            .field("pass_through", &self.pass_through)
            .field("has_admin", &self.has_admin)
            .field("masks_requests", &self.masks_requests.is_some())
            .field("has_tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

/// The configuration. A change of it makes a new value, which later requests see.
pub(crate) struct Configuration {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) vaults: Option<Arc<dyn Vaults>>,
    pub(crate) options: Arc<Options>,
    names: Arc<Names>,
    pub(crate) learned: Arc<Learned>,
    breakers: Arc<Breakers>,
}

impl Configuration {
    pub(crate) fn new(
        models: Arc<dyn Models>,
        vaults: Option<Arc<dyn Vaults>>,
        options: Options,
    ) -> Self {
        let names = names(&*models);
        let (options, learned, breakers) = (Arc::new(options), Arc::default(), Arc::default());
        Configuration { models, vaults, options, names, learned, breakers }
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration").field("options", &self.options).finish_non_exhaustive()
    }
}

fn names(models: &dyn Models) -> Arc<Names> {
    Arc::new(Names::of(models.list().into_iter().map(|listed| listed.name)))
}

/// The longest name of a model.
const LONGEST: usize = 512;

/// The view of one request on the gateway.
#[derive(Clone)]
pub(crate) struct RequestState {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) vaults: Option<Arc<dyn Vaults>>,
    pub(crate) options: Arc<Options>,
    pub(crate) names: Arc<Names>,
    pub(crate) learned: Arc<Learned>,
    /// The place for work on large bodies, and the memory that the request may hold.
    pub(crate) load: Load,
    /// The time that the request may still wait for the store.
    pub(crate) waits: Arc<Waits>,
    /// The credential that the request came with.
    pub(crate) credential: Auth,
    /// The rights of the credential, if it is a key of the gateway.
    pub(crate) pass: Option<Arc<Pass>>,
    /// The configuration of this moment, which may be newer than the request.
    pub(crate) gateway: Arc<Gateway>,
    /// The limits and budgets that the request counts against.
    pub(crate) charges: Arc<RequestCharges>,
    /// Reports the progress of the request.
    pub(crate) reporter: Arc<Reporter>,
    /// The stage of the shutdown. The gateway waits until all copies are dropped.
    pub(crate) stage: watch::Receiver<Stage>,
}

impl RequestState {
    /// Finds the route of a model's name. The log shows a name that has no route.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Route>, Rejection> {
        let found = match name.len() > LONGEST {
            true => {
                let shown = short(name);
                Err(format!("no model has a name as long as `{shown}`; name one of the list"))
            }
            false => self.models.find(name).map_err(|unrouted| unrouted.0),
        };
        found.map_err(|message| {
            self.reporter.tell(&Progress::Unrouted { model: name });
            rejection(404, "model_not_found", message)
        })
    }

    /// Reports that the requested name leads to a model of this provider.
    pub(crate) fn routed(&self, model: &str, provider: &str) {
        self.reporter.tell(&Progress::Routed { model, provider, label: self.names.label(model) });
    }
}

impl fmt::Debug for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestState").field("options", &self.options).finish_non_exhaustive()
    }
}

/// State that all connections share, for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Gateway {
    configuration: RwLock<Arc<Configuration>>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) budget: Arc<Budget>,
    limits: Arc<Limits>,
    budget_leases: Arc<BudgetLeases>,
    is_closing: AtomicBool,
}

impl Gateway {
    pub(crate) fn new(configuration: Configuration) -> Self {
        let Options { log, traces, audit, events, .. } = &*configuration.options;
        let bus = Arc::new(Bus::new(log.clone(), traces.clone(), audit.clone(), events.clone()));
        let configuration = RwLock::new(Arc::new(configuration));
        let budget = Arc::new(Budget::new(bus.metrics.load.clone()));
        let (limits, budget_leases) = (Arc::default(), Arc::new(BudgetLeases::new(&bus)));
        Gateway {
            configuration,
            bus,
            budget,
            limits,
            budget_leases,
            is_closing: AtomicBool::new(false),
        }
    }

    /// The current configuration.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state for a request that arrives now from this address.
    pub(crate) fn state(
        self: &Arc<Self>,
        reporter: Arc<Reporter>,
        stage: watch::Receiver<Stage>,
        (peer, share): (IpAddr, &Share),
    ) -> Arc<RequestState> {
        let pools = Arc::clone(&self.bus.pools);
        // Until its key is known, a caller takes turns with others at its address.
        let holder = Holder::Tenant(place(peer).to_string());
        let Configuration { models, vaults, options, names, learned, breakers } =
            &*self.configuration();
        Arc::new(RequestState {
            models: Arc::clone(models),
            vaults: vaults.clone(),
            options: Arc::clone(options),
            names: Arc::clone(names),
            learned: Arc::clone(learned),
            load: Load::new(
                Offload::new(pools.bodies.clone(), holder),
                share.within(options.in_flight),
                pools,
            ),
            waits: Arc::new(Waits::new(breakers)),
            credential: Auth::None,
            pass: None,
            gateway: Arc::clone(self),
            charges: RequestCharges::open(
                &self.limits,
                &self.budget_leases,
                &reporter,
                vaults.as_ref(),
            ),
            reporter,
            stage,
        })
    }

    /// Changes models and options for all later requests.
    pub(crate) fn change(&self, models: Arc<dyn Models>, options: Options) {
        let mut configuration = self.configuration.write().unwrap_or_else(PoisonError::into_inner);
        let (vaults, learned) = (configuration.vaults.clone(), Arc::clone(&configuration.learned));
        let breakers = Arc::clone(&configuration.breakers);
        let new = Configuration::new(models, vaults, options);
        *configuration = Arc::new(Configuration { learned, breakers, ..new });
        self.bus.news(News::Reloaded);
    }

    /// Gives back all leases of limits and budgets, and reports the spent amounts.
    pub(crate) async fn settle(&self) {
        let configuration = self.configuration();
        self.limits.close(configuration.vaults.as_ref()).await;
        self.budget_leases.close().await;
    }

    /// Reports from now on that no further work should be sent here.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }
}

/// The stage of the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// No further connections and requests; answers go on.
    Draining,
    /// Answers end now.
    Ended,
}

/// Completes when the gateway takes no further requests.
pub(crate) async fn closing(stage: &mut watch::Receiver<Stage>) {
    // Without a sender the process ends anyway.
    drop(stage.wait_for(|stage| *stage > Stage::Open).await);
}

/// Completes when answers under way have to end.
pub(crate) async fn ended(mut stage: watch::Receiver<Stage>) {
    if stage.wait_for(|stage| *stage == Stage::Ended).await.is_err() {
        // The sender is gone, so that no end can be reported any more.
        std::future::pending::<()>().await;
    }
}
