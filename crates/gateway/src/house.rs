//! What all connections of a gateway share, and what one request sees of it.

use crate::keys::{Keys, Pass};
use crate::learned::Learned;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::tls::Tls;
use crate::vault::Vaults;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use thinkthrough_client::AnswerCaps;
use thinkthrough_core::tokens::Tokenizer;

/// How the gateway behaves.
#[derive(Clone)]
pub struct Options {
    /// Names of this host besides its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The greatest size of a request in bytes.
    pub body_limit: usize,
    /// How much of one answer is taken from an upstream.
    pub answer: AnswerCaps,
    /// How long a caller may take nothing of what waits for it.
    pub write_idle: Duration,
    /// How many connections are served at a time; those beyond are told to come back.
    pub connections: usize,
    /// Who may come in. Without keys, everybody whom the address lets in.
    pub keys: Option<Arc<dyn Keys>>,
    /// Callers bring their own upstream credential, so one without any is turned away.
    pub pass_through: bool,
    /// Metrics are asked for on a listener of their own.
    pub has_admin: bool,
    /// The certificate of the listeners; without it they speak plain HTTP.
    pub tls: Option<Tls>,
    /// Counts tokens where the upstream does not.
    pub tokenizer: Option<&'static dyn Tokenizer>,
    /// Where each request leaves a line.
    pub log: Log,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            hosts: Vec::new(),
            body_limit: 32 * 1024 * 1024,
            answer: AnswerCaps::default(),
            write_idle: Duration::from_secs(60),
            connections: 10_000,
            keys: None,
            pass_through: false,
            has_admin: false,
            tls: None,
            tokenizer: None,
            log: Log::off(),
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
            .field("connections", &self.connections)
            .field("has_keys", &self.keys.is_some())
            .field("pass_through", &self.pass_through)
            .field("has_admin", &self.has_admin)
            .field("has_tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

/// What one request sees; a change of the configuration makes a new one for the requests that come after it.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) vaults: Option<Arc<dyn Vaults>>,
    pub(crate) options: Arc<Options>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) learned: Arc<Learned>,
    /// The key that the request came with.
    pub(crate) pass: Option<Arc<Pass>>,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What all connections share, for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Estate {
    house: RwLock<Arc<House>>,
    pub(crate) metrics: Arc<Metrics>,
    is_closing: AtomicBool,
}

impl Estate {
    pub(crate) fn new(house: House) -> Self {
        let metrics = Arc::clone(&house.metrics);
        let house = RwLock::new(Arc::new(house));
        Estate { house, metrics, is_closing: AtomicBool::new(false) }
    }

    /// What a request that comes now sees.
    pub(crate) fn house(&self) -> Arc<House> {
        Arc::clone(&self.house.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Requests that come from now on see other models and options.
    pub(crate) fn change(&self, models: Arc<dyn Models>, options: Options) {
        let mut house = self.house.write().unwrap_or_else(PoisonError::into_inner);
        let new = House { models, options: Arc::new(options), ..House::clone(&house) };
        *house = Arc::new(new);
        self.metrics.reloads.fetch_add(1, Ordering::Relaxed);
    }

    /// No further work is to be sent here.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// No further connections and requests; answers go on.
    Draining,
    /// Answers end now.
    Ended,
}
