//! Examines gateways: plays scenarios of lost thoughts with the simulators and reports the results.
//!
//! Each scenario is played three ways. A direct client, which does everything right, asks the
//! simulator and passes. A naive client does the same and fails: the provider refuses it, or the
//! simulator misses a thought. Then the naive client asks through a gateway, which must repair its
//! requests.

mod caller;
mod course;
mod edges;
mod habit;
mod judge;
mod patient;
mod post;
mod scenario;
mod span;
mod stage;
mod switches;
mod texts;

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::net::TcpListener;

use crate::catalog::{Listed, list};
use course::{Run, Trace};
use patient::Way;
use post::Postman;
use scenario::Scenario;
use stage::Stage;

/// A boxed future with a result or an error text.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// The gateway's name for the model that passes on its caller's credential.
const PASSING: &str = "passing";

/// Distance between the scenario numbers of two tries, so that no two tries have the same
/// conversation.
const AGAIN: usize = 1000;

/// Number of further tries for a gateway that failed.
const TRIES: usize = 4;

/// A gateway that is examined.
pub trait Gateway: Send + Sync {
    /// Its address, with `http://` and without a path.
    fn base(&self) -> String;

    /// Whether [`Gateway::kill_and_start`] works.
    fn can_be_killed(&self) -> bool;

    /// Kills the gateway's own process without warning (before the first call there is no process),
    /// starts it again and returns its address. The gateway keeps its memory unless it `forgets`.
    fn kill_and_start(&self, forgets: bool) -> Later<'_, String>;
}

/// The result of one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Everything worked.
    Pass,
    /// A request was refused, or a thought was lost or wrong.
    Fail,
    /// Not played.
    Skip,
}

impl Mark {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// The result of one scenario.
#[derive(Debug, Clone)]
pub struct Row {
    /// The id of the scenario.
    pub scenario: String,
    /// The direct client, which does everything right, at the simulator.
    pub direct: Mark,
    /// The naive client at the simulator.
    pub naive: Mark,
    /// The naive client through the gateway.
    pub gateway: Mark,
    /// The reasons, in one line.
    pub reason: String,
    /// The direct client passes, the naive client fails as expected, and the gateway passes, is
    /// skipped or passes on a refusal that it may pass on.
    pub is_expected: bool,
}

/// A model that a gateway must know for the examination.
#[derive(Debug, Clone)]
pub struct Model {
    /// The name in requests of clients.
    pub name: &'static str,
    /// The simulator of the model.
    pub simulator: Listed,
    /// The address of the simulator, without the paths of its API.
    pub base_url: String,
    /// The credential that the gateway sends. With `None` it passes on the caller's.
    pub key: Option<&'static str>,
}

/// Lists the id and the sentence of every scenario.
pub fn scenarios() -> Vec<(String, String)> {
    let one = |it: Scenario| (it.id.into_owned(), it.says.into_owned());
    all().into_iter().map(one).collect()
}

fn all() -> Vec<Scenario> {
    [texts::all(), edges::all(), switches::cuts(), switches::pairs(), switches::kept()].concat()
}

/// The simulators of an examination, and its clients.
#[derive(Debug)]
pub struct Ward {
    stage: Stage,
    postman: Postman,
    scenarios: Vec<Scenario>,
}

impl Ward {
    /// Starts the simulators on a listener.
    ///
    /// # Errors
    ///
    /// Returns an error if the address of the listener cannot be read or the HTTP client cannot be
    /// made.
    pub fn open(listener: TcpListener) -> io::Result<Self> {
        let postman = Postman::new().map_err(io::Error::other)?;
        Ok(Self { stage: Stage::open(listener)?, postman, scenarios: all() })
    }

    /// The address of the simulators, with `http://`.
    pub fn base(&self) -> String {
        self.stage.base()
    }

    /// The models that a gateway must know.
    pub fn models(&self) -> Vec<Model> {
        let used = |id: &str| {
            self.scenarios.iter().any(|scenario| {
                let acts = match &scenario.play {
                    scenario::Play::Acts(acts) => acts.as_slice(),
                    scenario::Play::Cuts => &[],
                };
                let models = acts.iter().filter_map(|act| match act {
                    scenario::Act::Model(sim) => Some(*sim),
                    _ => None,
                });
                models.chain([scenario.sim]).any(|sim| sim == id)
            })
        };
        let model = |simulator: Listed, name, key| {
            let base_url = format!("{}/{}", self.base(), simulator.id);
            Model { name, simulator, base_url, key }
        };
        let own = list().into_iter().filter(|it| used(it.id));
        let mut models: Vec<Model> = own.map(|it| model(it, it.id, Some("the-gateway"))).collect();
        let passing = list().into_iter().find(|it| it.id == "kimi-k2");
        models.extend(passing.map(|it| model(it, PASSING, None)));
        models
    }

    /// Plays one scenario. Returns `None` for an unknown id.
    pub async fn examine(&self, id: &str, gateway: Option<&dyn Gateway>) -> Option<Row> {
        let found = self.scenarios.iter().enumerate().find(|(_, scenario)| scenario.id == id);
        let (number, scenario) = found?;
        let direct = self.play((number, scenario), Way::Direct, None).await;
        let naive = self.play((number, scenario), Way::Naive, None).await;
        let play = |number| async move {
            match gateway {
                Some(gateway) if scenario.needs_restart() && !gateway.can_be_killed() => {
                    Err("this gateway cannot be killed from here".to_owned())
                }
                Some(_) => Ok(Some(self.play((number, scenario), Way::Gateway, gateway).await)),
                None => Ok(None),
            }
        };
        let row = judge::judge(scenario, &direct, &naive, play(number).await.as_ref());
        if row.gateway != Mark::Fail || row.is_expected {
            return Some(row);
        }
        // On a busy machine the store of a gateway may answer too late now and then.
        for count in 1..=TRIES {
            let played = play(number + count * AGAIN).await;
            let again = judge::judge(scenario, &direct, &naive, played.as_ref());
            if again.gateway == Mark::Pass {
                let first = row.reason.rsplit("gateway: ").next().unwrap_or_default();
                let (said, count) = (&again.reason, count + 1);
                let reason = format!("{said}; only at try {count}, the first: {first}");
                return Some(Row { reason, ..again });
            }
        }
        Some(row)
    }

    async fn play(
        &self,
        (number, scenario): (usize, &Scenario),
        way: Way,
        gateway: Option<&dyn Gateway>,
    ) -> Trace {
        let mut run = Run::new(self, (number, scenario), way, gateway);
        if let Err(why) = run.prepare(scenario).await {
            return Trace { broken: Some(why), ..Trace::default() };
        }
        run.play(&scenario.play).await
    }
}
