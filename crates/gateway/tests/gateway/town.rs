//! Simulated upstreams, a gateway before them, and what both say.

use crate::memory::Memory;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use thinkthrough_client::{Auth, Client, ClientConfig, Request, Secret, Transport};
use thinkthrough_conformance::{LogEntry, SimOptions, list};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::provider::{self, Target};
use thinkthrough_core::settings::Partial;
use thinkthrough_core::wire::{self, WireId};
use thinkthrough_gateway::{
    Listed, Models, OnDisconnect, Options, Route, Running, Unrouted, serve,
};
use thinkthrough_limits::RateLimits;
use tokio::net::TcpListener;

/// All simulators and a gateway in front of them.
pub(crate) struct Town {
    pub(crate) gateway: String,
    pub(crate) sims: String,
    pub(crate) memory: Memory,
    /// What goes wrong upstream from now on.
    pub(crate) fault: Arc<Mutex<Option<String>>>,
    log: Arc<Mutex<Vec<LogEntry>>>,
    client: Client,
    running: Option<Running>,
    _sims: thinkthrough_conformance::Running,
}

/// An answer as a caller gets it.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// The connection broke.
    pub(crate) broken: bool,
}

impl Said {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// One number of the header that explains.
    pub(crate) fn count(&self, name: &str) -> usize {
        let header = &self.headers["x-thinkthrough"];
        let items = header.split("; ").filter_map(|item| item.split_once('='));
        let found = items.into_iter().find(|(key, _)| *key == name);
        found.unwrap_or_else(|| panic!("no `{name}` in {header}")).1.parse().unwrap()
    }

    /// Restored, missed, ambiguous, dropped.
    pub(crate) fn counts(&self) -> [usize; 4] {
        ["restored", "missed", "ambiguous", "dropped"].map(|name| self.count(name))
    }
}

impl Town {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A town whose routes are changed by `how` before they are used.
    pub(crate) async fn with(how: impl Fn(&mut Route) + Send + Sync + 'static) -> Self {
        Self::with_options(how, Options::default()).await
    }

    /// As [`Town::with`], and the gateway behaves otherwise.
    pub(crate) async fn with_options(
        how: impl Fn(&mut Route) + Send + Sync + 'static,
        options: Options,
    ) -> Self {
        let gateway_options = options;
        let log: Arc<Mutex<Vec<LogEntry>>> = Arc::default();
        let watcher = Arc::clone(&log);
        let watch = move |entry: &LogEntry| watcher.lock().unwrap().push(entry.clone());
        let options = SimOptions { log: Some(Arc::new(watch)), ..SimOptions::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sims = thinkthrough_conformance::serve(listener, options).unwrap();
        let memory = Memory::default();
        let base = format!("http://{}", sims.addr());
        let fault: Arc<Mutex<Option<String>>> = Arc::default();
        let models =
            Arc::new(Sims { base: base.clone(), how: Box::new(how), fault: Arc::clone(&fault) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let vaults = Some(Arc::new(memory.clone()) as _);
        let running = serve(listener, models, vaults, gateway_options).unwrap();
        let gateway = format!("http://{}", running.addr());
        let client = Client::new(ClientConfig::default()).unwrap();
        let running = Some(running);
        Town { gateway, sims: base, memory, fault, log, client, running, _sims: sims }
    }

    /// Another gateway before the same simulators and the same records.
    pub(crate) async fn second(&self) -> (Running, String) {
        let models = Arc::new(Sims {
            base: self.sims.clone(),
            how: Box::new(|_| {}),
            fault: Arc::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let vaults = Some(Arc::new(self.memory.clone()) as _);
        let running = serve(listener, models, vaults, Options::default()).unwrap();
        let addr = format!("http://{}", running.addr());
        (running, addr)
    }

    /// What the simulators saw since the last call.
    pub(crate) fn seen(&self) -> Vec<LogEntry> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    pub(crate) async fn post(
        &self,
        base: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Said {
        let mut request = Request::post(&format!("{base}{path}"), body.to_owned()).unwrap();
        for (name, value) in headers {
            let name = http::HeaderName::try_from(*name).unwrap();
            request.headers.append(name, value.parse().unwrap());
        }
        request.headers.append("content-type", "application/json".parse().unwrap());
        if !request.headers.contains_key("authorization") {
            request.auth = Auth::Bearer(Secret::new("caller"));
        }
        let mut answer = self.client.send(&request).await.unwrap();
        let (mut bytes, mut broken) = (Vec::new(), false);
        while let Some(chunk) = answer.body.next().await {
            match chunk {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                Err(_) => broken = true,
            }
        }
        let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
        let headers = answer.headers.iter().map(|(name, it)| (name.to_string(), text(it)));
        let status = answer.status.as_u16();
        Said { status, headers: headers.collect(), body: bytes, broken }
    }

    pub(crate) async fn metrics(&self) -> String {
        let request =
            Request::new(http::Method::GET, &format!("{}/metrics", self.gateway)).unwrap();
        let answer = self.client.send(&request).await.unwrap();
        let bytes = answer.body.collect_up_to(1_000_000).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Ends the gateway.
    pub(crate) fn close(&mut self) {
        self.running = None;
    }
}

/// Every simulator as a model of its id.
struct Sims {
    base: String,
    how: Box<dyn Fn(&mut Route) + Send + Sync>,
    fault: Arc<Mutex<Option<String>>>,
}

impl Models for Sims {
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        let row = list().into_iter().find(|row| row.id == name);
        let row = row.ok_or_else(|| Unrouted(format!("no `{name}`")))?;
        let mut target = match provider::find(row.provider) {
            Some(provider) => Target::of(
                provider,
                provider.endpoint(WireId::parse(row.wire).ok()).unwrap(),
                row.model,
            ),
            None => {
                let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
                Target::built_in("openai-compatible", None, row.model)
                    .unwrap()
                    .with_contract(contract, "simulator")
            }
        };
        assert!(wire::find(row.wire).is_some());
        target.provider = "sim".to_owned();
        target.base_url = format!("{}/{}", self.base, row.id);
        if let Some(fault) = self.fault.lock().unwrap().clone() {
            target.headers.push(("x-sim-fault".to_owned(), fault));
        }
        let mut route = Route {
            target,
            transport: Transport::Http(Client::new(ClientConfig::default()).unwrap()),
            auth: Auth::Bearer(Secret::new("gateway")),
            reasoning: Partial::default(),
            handling: Handling::default(),
            fallback: Vec::new(),
            on_disconnect: OnDisconnect::Cancel,
            pool: None,
            forward_headers: Vec::new(),
            limits: RateLimits::UNLIMITED,
            needs_key: true,
        };
        (self.how)(&mut route);
        Ok(Arc::new(route))
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        self.find(name)
    }

    fn list(&self) -> Vec<Listed> {
        Vec::new()
    }
}
