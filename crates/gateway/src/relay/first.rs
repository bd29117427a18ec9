//! The first attempt of a request, up to the bytes for the upstream. `think serve` sends it, and `think explain`
//! shows it.

use crate::attempt::sending::{Job, Waiting};
use crate::attempt::tries::{Caller, Candidate};
use crate::models::route::Route;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::{handling, missing};
use crate::respond::leaving::Lasting;
use crate::respond::reply::Account;
use std::sync::Arc;
use thinkthrough_core::exchange::{Prepared, Restore};
use thinkthrough_json::Doc;

/// A prepared first attempt.
pub(crate) struct First {
    caller: Caller,
    candidate: Candidate,
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
    ) -> Result<First, Rejection> {
        let mut rest = route.fallback.clone();
        rest.reverse();
        let mut candidate = Candidate::to(route, rest, 0);
        self.pick(&mut candidate);
        let (job, prepared) = self.prepare(&mut candidate, doc).await?;
        account.made = job.made.clone();
        Ok(First { caller: self, candidate, job, prepared })
    }
}

impl First {
    pub(crate) fn is_stream(&self) -> bool {
        self.caller.stream
    }

    /// Sends it, and returns the answer that the attempts finally give.
    pub(crate) fn send(self) -> Result<Waiting, Rejection> {
        self.job.check(&self.prepared)?;
        let First { mut caller, candidate, job, prepared } = self;
        let drained = caller.drained(&job.route);
        let booked = caller.is_booked(&job.route).then(|| Arc::clone(&caller.state.charges));
        // From here on memory holds only two bodies: the caller's and the upstream's.
        caller.held.shrink_to(caller.body.len().saturating_add(job.body.len()));
        let (waiting, reporter) = (job.send(prepared)?, Arc::clone(&caller.state.reporter));
        let following: Waiting = Box::pin(caller.follow(candidate, waiting));
        Ok(match drained {
            Some(stage) => Box::pin(Lasting::over(following, stage, &reporter, booked)),
            None => following,
        })
    }
}

impl Job {
    /// Refuses a request whose parameters contradict the settings, or that lacks a thought which the configuration
    /// requires.
    pub(crate) fn check(&self, prepared: &Prepared) -> Result<(), Rejection> {
        if let Some(why) = &prepared.conflict {
            return Err(rejection(400, "invalid_request_error", why.clone()));
        }
        let is_required = handling(&self.route, &self.headers)?.restore == Restore::Required;
        match prepared.missing.filter(|_| is_required) {
            Some(message) => Err(missing(&self.route, message)),
            None => Ok(()),
        }
    }
}
