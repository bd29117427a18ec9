//! The first attempt of a request, up to the bytes that go upstream. `think serve` sends it, and `think explain` shows it.

use crate::asking::{handling, missing};
use crate::door::{Turned, turned};
use crate::leaving::Lasting;
use crate::models::Route;
use crate::reply::Account;
use crate::sending::{Job, Waiting};
use crate::tries::{Caller, Way};
use std::sync::Arc;
use thinkthrough_core::exchange::{Prepared, Restore};
use thinkthrough_json::Doc;

/// A request that is ready to be sent.
pub(crate) struct First {
    caller: Caller,
    way: Way,
    pub(crate) job: Job,
    pub(crate) prepared: Prepared,
}

impl Caller {
    /// Prepares the first attempt, and writes its decisions into `account`.
    pub(crate) async fn first(
        self,
        route: Arc<Route>,
        doc: &Doc<'_>,
        account: &mut Account,
    ) -> Result<First, Turned> {
        let mut rest = route.fallback.clone();
        rest.reverse();
        let mut way = Way::to(route, rest, 0);
        self.pick(&mut way);
        let (job, prepared) = self.prepare(&mut way, doc).await?;
        account.made = job.made.clone();
        Ok(First { caller: self, way, job, prepared })
    }
}

impl First {
    pub(crate) fn is_stream(&self) -> bool {
        self.caller.stream
    }

    /// Sends it, and gives the answer that all attempts lead to.
    pub(crate) fn send(self) -> Result<Waiting, Turned> {
        self.job.check(&self.prepared)?;
        let First { mut caller, way, job, prepared } = self;
        let drained = caller.drained(&job.route);
        let booked = caller.is_booked(&job.route).then(|| Arc::clone(&caller.house.tab));
        // From here on only two bodies are in memory: the caller's and the upstream's.
        caller.held.shrink_to(caller.body.len().saturating_add(job.body.len()));
        let (waiting, seen) = (job.send(prepared)?, Arc::clone(&caller.house.seen));
        let following: Waiting = Box::pin(caller.follow(way, waiting));
        Ok(match drained {
            Some(stage) => Box::pin(Lasting::over(following, stage, &seen, booked)),
            None => following,
        })
    }
}

impl Job {
    /// Refuses a request whose parameters contradict the settings, or that lacks a thought which the configuration requires.
    pub(crate) fn check(&self, prepared: &Prepared) -> Result<(), Turned> {
        if let Some(why) = &prepared.conflict {
            return Err(turned(400, "invalid_request_error", why.clone()));
        }
        let is_required = handling(&self.route, &self.headers)?.restore == Restore::Required;
        match prepared.missing.filter(|_| is_required) {
            Some(message) => Err(missing(&self.route, message)),
            None => Ok(()),
        }
    }
}
