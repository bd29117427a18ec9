//! `think serve`: the gateway.

use crate::audit;
use crate::command::asking::env;
use crate::command::serve_introduction::{introduce, tell_addresses};
use crate::config::server::{Load, Server};
use crate::config::{self, Config};
use crate::connections::Connections;
use crate::failure::{Failure, say};
use crate::gate::{Gate, Wanted};
use crate::keeper::Keeper;
use crate::listen::{bind, cannot_listen};
use crate::local;
use crate::masking::{found, of_process};
use crate::memory;
use crate::operator::Operated;
use crate::routes::Routes;
use crate::stored::say_notes;
use crate::telemetry;
use clap::Args;
use std::io::{IsTerminal as _, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thinkthrough_gateway::{
    Audit, Events, Heard, InFlight, Keys, Log, Models, Options, Running, Tls, Traces, Vaults,
    Viewer, serve,
};
use thinkthrough_mask::Tiers;
use thinkthrough_store::{KeyState, Limits, Location};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// How long the gateway still accepts requests after SIGTERM, so that load balancers can react.
const DELAY: Duration = Duration::from_secs(5);
/// Time for answers in progress after that.
const DRAIN: Duration = Duration::from_secs(25);
/// Least and most time for exporting the last spans. Flushing the last traces may also take the longer one.
const FLUSH: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// How long the start waits for learned facts. Requests work without them.
const INFORMED: Duration = Duration::from_secs(1);

/// Run the gateway: any client points its base URL here and picks any reasoning model
///
/// Requests that stay on their model's API pass as they are; the others are translated, thoughts included. The answer
/// explains itself in its `x-thinkthrough` header. SIGHUP reads the configuration again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think serve
  think serve --listen 127.0.0.1:0
  OPENAI_BASE_URL=http://127.0.0.1:4114/v1 some-client --model sim/kimi-k2")]
pub(crate) struct Serve {
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen, in place of `[server] listen`; a port alone is on this machine only, and 0 is any free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

impl Serve {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        thinkthrough_heap::map_large_pieces();
        keep_memory_private();
        // The message of a panic may contain parts of a request, so only its location is printed.
        std::panic::set_hook(Box::new(|broken| {
            let place = broken.location().map(ToString::to_string).unwrap_or_default();
            say(format_args!("a request failed within the gateway, at {place}; please report it"));
        }));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
                Failure::Failed(format!("no thread can be started: {error}; close other programs"))
            })?;
        runtime.block_on(self.serve(out))
    }

    async fn serve(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = self.read()?;
        may_begin(&config)?;
        let address = self.listen.clone().unwrap_or_else(|| config.server.listen.clone());
        let (listener, addr) = bind(&address, "--listen").await?;
        let admin = match &config.server.admin_listen {
            Some(address) => Some(bind(address, "[server] admin_listen").await?),
            None => None,
        };
        let mut signals = Signals::new()?;
        let traces = telemetry::traces(&env, &config)?;
        let limits = watch::Sender::new(vault_limits(&config));
        let (keeper, _keeping) = Keeper::start(&config, &limits).await?;
        let listeners: Vec<SocketAddr> =
            std::iter::once(addr).chain(admin.iter().map(|(_, addr)| *addr)).collect();
        let log = log(&config)?;
        let upstreams = config.connections.clone();
        let heard = Arc::new(Heard::default());
        let covers = found(&config, &keeper, &heard)?;
        let audit = audit::start(&config, &keeper, Arc::clone(&covers));
        let viewer = Viewer::new();
        let connections = connections();
        let masked = (Events::masked_by(covers), heard);
        let base = Base {
            connections,
            upstreams,
            listeners,
            log,
            traces,
            audit,
            masked,
            viewer,
            keeper,
            limits,
        };
        let options = base.options(&config, addr)?;
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let now = config.server.clone();
        let is_closed = options.keys.as_ref().is_some_and(|keys| !keys.are_known());
        let routes = base.routes(config).await;
        let models: Arc<dyn Models> = Arc::<Routes>::clone(&routes);
        let refused = |error| cannot_listen(&address, "--listen", &error);
        let vaults: Arc<dyn Vaults> = Arc::new(base.keeper.clone());
        let mut running = serve(listener, models, Some(vaults), options).map_err(refused)?;
        // The first request shall already know the facts that earlier runs learned.
        running.informed(INFORMED).await;
        let door = admin.as_ref().map_or(addr, |(_, addr)| *addr);
        let operated = Operated { viewer: base.viewer.clone(), scheme, door };
        // `think ui` must work as soon as the address is printed.
        let answering = operated.answer();
        writeln!(out, "listening on {scheme}://{addr}")?;
        out.flush()?;
        let is_elsewhere = self.listen.is_some() || self.config.is_some();
        introduce(&format!("{scheme}://{addr}"), &routes, is_closed, is_elsewhere);
        if let Some((listener, addr)) = admin {
            running.admin(listener);
            say(format_args!("metrics: {scheme}://{addr}/metrics"));
        }
        invite(&operated);
        if let Err(error) = answering {
            say(format_args!("`think ui` gets no link from this gateway: {error}"));
        }
        base.audit.iter().for_each(audit::watch);
        let delay = tokio::select! {
            delay = self.wait(&mut signals, &running, &base, now) => delay,
            () = crate::heap::watch(&running) => Duration::ZERO,
        };
        // A second stop signal ends the drain.
        tokio::select! {
            () = base.drain(running, delay) => {}
            () = signals.again() => {}
        }
        if let Some(audit) = &base.audit {
            audit::say_left(audit, base.keeper.store());
        }
        base.log.close();
        Ok(())
    }

    /// Handles signals until one stops the gateway. Returns the delay before the drain.
    async fn wait(
        &self,
        signals: &mut Signals,
        running: &Running,
        base: &Base,
        mut now: Server,
    ) -> Duration {
        loop {
            match signals.next().await {
                Told::Reload => match self.reload(running, &now, base).await {
                    Ok(server) => {
                        now = server;
                        say(format_args!("the configuration was read again"));
                    }
                    Err(failure) => {
                        say(format_args!("the configuration stays as it was: {failure}"));
                    }
                },
                Told::Stop => return DELAY,
                Told::StopNow => return Duration::ZERO,
            }
        }
    }

    fn read(&self) -> Result<Config, Failure> {
        let config = config::read(self.config.as_deref(), &env).map_err(Failure::Failed)?;
        for warning in &config.warnings {
            say(format_args!("warning: {warning}"));
        }
        Ok(config)
    }

    /// Reads the configuration again and applies it to new requests.
    async fn reload(
        &self,
        running: &Running,
        before: &Server,
        base: &Base,
    ) -> Result<Server, Failure> {
        let config = self.read()?;
        may_begin(&config)?;
        for (key, is_same) in [
            ("listen", self.listen.is_some() || config.server.listen == before.listen),
            ("admin_listen", config.server.admin_listen == before.admin_listen),
            ("log", config.server.log == before.log),
        ] {
            if !is_same {
                return Err(Failure::Failed(format!(
                    "`server.{key}` cannot change while the gateway runs; start it anew"
                )));
            }
        }
        let options = base.options(&config, running.addr())?;
        let server = config.server.clone();
        let limits = vault_limits(&config);
        base.limits.send_if_modified(|now| std::mem::replace(now, limits) != limits);
        let routes = base.routes(config).await;
        tell_addresses(&routes);
        running.reload(routes, options);
        Ok(server)
    }
}

fn nothing(_: &str) -> Option<String> {
    None
}

/// Checks, without opening the store, that the configuration decides whether callers need keys.
fn may_begin(config: &Config) -> Result<(), Failure> {
    let server = &config.server;
    let is_shared = config.store.as_ref().is_some_and(|store| match store.location {
        Location::Postgres(_) => true,
        Location::Sqlite(_) => false,
    });
    if is_shared && server.keyless.is_none() && !server.pass_through && config.keys.is_empty() {
        return Err(Failure::Failed(
            "a store on a PostgreSQL server may be away when the gateway needs to know whether there are keys: set \
             `[server] keyless = false` if callers need one, `keyless = true` if none are wanted, or add `[keys]`"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Checks that no stranger can use the gateway's credentials at this address.
fn may_serve(config: &Config, addr: SocketAddr, has_keys: bool) -> Result<(), Failure> {
    if config.server.pass_through {
        if !config.keys.is_empty() {
            return Err(Failure::Failed(
                "`server.pass_through` is for gateways without keys, and `[keys]` are there; take \
                 one of them out"
                    .to_owned(),
            ));
        }
        let with_key = config.providers.iter().find(|entry| entry.key.is_some());
        return with_key.map_or(Ok(()), |entry| {
            Err(Failure::Failed(format!(
                "`providers.{}.api_key` would be spent by every caller, because \
                 `server.pass_through` is on; take one of them out",
                entry.name
            )))
        });
    }
    if addr.ip().is_loopback() || has_keys {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "`{addr}` can be reached by others, and there are no gateway keys; make one with `think \
         keys create`, listen on 127.0.0.1, or set `[server] pass_through = true` if every caller \
         brings a key of the provider's"
    )))
}

fn log(config: &Config) -> Result<Log, Failure> {
    let masker = of_process(config, Tiers::CERTAIN)?;
    Ok(match config.server.log {
        Some(form) => Log::to(Box::new(std::io::stderr()), form, &masker),
        None => Log::off(),
    })
}

/// State that a reload keeps.
struct Base {
    connections: usize,
    /// Connections to upstreams, which stay open when the configuration is reloaded.
    upstreams: Connections,
    listeners: Vec<SocketAddr>,
    log: Log,
    traces: Traces,
    audit: Option<Audit>,
    /// The event publisher, and the registered credentials that it masks.
    masked: (Events, Arc<Heard>),
    viewer: Viewer,
    keeper: Keeper,
    /// The configured retention limits of the vault.
    limits: watch::Sender<Limits>,
}

fn vault_limits(config: &Config) -> Limits {
    let limits = config.store.as_ref().map(|store| store.limits).unwrap_or_default();
    Limits { traces: config.traces.keep, tenant_traces: config.traces.most, ..limits }
}

impl Base {
    async fn routes(&self, config: Config) -> Arc<Routes> {
        let (connections, listeners) = (self.upstreams.clone(), self.listeners.clone());
        let config = Config { connections, listeners, ..config };
        // With pass-through, callers bring their own keys, and the keys in this environment must not be used.
        let lookup = if config.server.pass_through { nothing } else { env };
        let served = local::served(&config).await;
        Arc::new(Routes::new(config, lookup, served))
    }

    /// Finishes the requests in progress, then flushes traces, the store and spans.
    async fn drain(&self, running: Running, delay: Duration) {
        let told = Instant::now();
        running.drain(delay, DRAIN).await;
        if let Some(audit) = &self.audit {
            // Traces that neither the store nor a journal accepts in this time are lost. The caller reports their
            // number.
            drop(tokio::time::timeout(FLUSH[1], audit.flush()).await);
        }
        if let Some(store) = self.keeper.store() {
            store.close().await;
            say_notes(store);
        }
        let [least, most] = FLUSH;
        let left = (delay + DRAIN).saturating_sub(told.elapsed());
        self.traces.close(left.clamp(least, most)).await;
    }

    /// Converts the configuration into gateway options. Fails if it must not be served at this address.
    fn options(&self, config: &Config, addr: SocketAddr) -> Result<Options, Failure> {
        let server = &config.server;
        let state = self.keeper.state();
        let has_keys = match server.keyless {
            Some(is_keyless) => !is_keyless,
            // Until the store has reported whether there are keys, callers need one.
            None => !config.keys.is_empty() || state != Some(KeyState::Never),
        };
        may_serve(config, addr, has_keys)?;
        if server.keyless == Some(true) && state.is_some_and(|state| state != KeyState::Never) {
            say(format_args!(
                "keys were made for this gateway, and nobody is asked for one, because `[server] \
                 keyless = true`"
            ));
        }
        // At an address that other machines reach, callers always need a key, even if the store later reports no
        // keys.
        let is_always = server.keyless == Some(false) || !addr.ip().is_loopback();
        let wanted = match (server.pass_through, is_always) {
            (true, _) => Wanted::Never,
            (false, true) => Wanted::Always,
            (false, false) => Wanted::OnceMade,
        };
        let has_gate = server.keyless != Some(true);
        let gate = || Gate::new(config.keys.clone(), self.keeper.clone(), wanted);
        let tls = server.tls.as_ref().map(|it| Tls::read(&it.cert, &it.key)).transpose();
        let tls = tls.map_err(|error| Failure::Failed(format!("`server.tls`: {error}")))?;
        let usual = Options::default();
        let load = server.load;
        Ok(Options {
            in_flight: in_flight(load, usual.body_limit),
            body_timeout: load.body_timeout.unwrap_or(usual.body_timeout),
            connections_per_address: load.connections_per_address,
            hosts: server.hosts.clone(),
            answer: config.client.answer,
            connections: self.connections,
            keys: has_gate.then(|| Arc::new(gate()) as Arc<dyn Keys>),
            pass_through: server.pass_through,
            has_admin: server.admin_listen.is_some(),
            tls,
            tokenizer: Some(thinkthrough_tokenizer::o200k()),
            log: self.log.clone(),
            traces: self.traces.clone(),
            audit: self.audit.clone(),
            masks_requests: config
                .masking
                .requests
                .then(|| found(config, &self.keeper, &self.masked.1))
                .transpose()?,
            heard: Some(Arc::clone(&self.masked.1)),
            events: Some(self.masked.0.clone()),
            viewer: Some(self.viewer.clone()),
            shows_thoughts: config.reasoning.include_in_response != Some(false),
            runaway: server.runaway,
            ..usual
        })
    }
}

/// Prints the address of the viewer. Only a terminal gets a link that signs a browser in, because logs must not contain
/// one.
fn invite(operated: &Operated) {
    let is_terminal = std::io::stderr().is_terminal();
    match is_terminal.then(|| operated.link()).flatten() {
        Some(link) => say(format_args!("viewer: {link}")),
        None => say(format_args!("viewer: {} (`think ui` prints a link)", operated.page())),
    }
}

/// The most bytes of requests in flight: the configured number, or else half of the system's memory limit and at most
/// 256 MiB.
fn in_flight(load: Load, body_limit: usize) -> InFlight {
    const USUAL: usize = 256 * 1024 * 1024;
    let granted = memory::granted().map_or(usize::MAX, |granted| granted / 2);
    let usual = InFlight::of(load.in_flight.unwrap_or(USUAL.min(granted)), body_limit);
    InFlight {
        per_key: load.in_flight_per_key.unwrap_or(usual.per_key),
        per_address: load.in_flight_per_address,
        ..usual
    }
}

/// The number of callers that the file descriptors of this process allow. Each caller needs two.
fn connections() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Descriptors for the store, the log and the runtime.
    const OTHERS: u64 = 64;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If the limit cannot be raised, the current one applies.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let granted = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let usual = Options::default().connections;
    usize::try_from(granted.saturating_sub(OTHERS) / 2).unwrap_or(usual).clamp(8, usual)
}

/// Protects keys and thoughts in memory: disables core dumps, and access by other processes of the same user.
fn keep_memory_private() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // Without permission for this, the gateway serves all the same.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

enum Told {
    Reload,
    /// SIGTERM: a service manager stops the gateway.
    Stop,
    /// Ctrl-C at a terminal: stops without a delay for load balancers.
    StopNow,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let refuse =
            |error| Failure::Failed(format!("signals cannot be heard: {error}; try again"));
        let hear = |kind| signal(kind).map_err(refuse);
        Ok(Signals {
            hangup: hear(SignalKind::hangup())?,
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.hangup.recv() => Told::Reload,
            _ = self.interrupt.recv() => Told::StopNow,
            _ = self.terminate.recv() => Told::Stop,
        }
    }

    /// Waits for another stop signal.
    async fn again(&mut self) {
        while matches!(self.next().await, Told::Reload) {}
    }
}
