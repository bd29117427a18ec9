//! The candidates for a request: its model with one key after the other, then its fallbacks, until one answers.
//!
//! All of it happens before the first byte of an answer. Each try is prepared anew, because the allowed thoughts
//! differ: a thought that was sealed for one account or one model is withheld from the others.

use crate::answer::live::Keep;
use crate::attempt::lessons::Lessons;
use crate::attempt::refused::{Restored, is_no_answer};
use crate::attempt::sending::{Job, Made, Outcome, Sending, failed, reason, refusal};
use crate::load::{READ, Reservation};
use crate::models::pool::Picked;
use crate::models::route::Route;
use crate::models::tenant;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use crate::request::asking::{
    Claim, claim, credential_for, handling, look_up, settings, stamp, tenant as whose,
};
use crate::request::keeping::Keeping;
use crate::request::provider_resource::{Access, Ids, Tap};
use crate::request::take;
use crate::spending::expected;
use crate::state::RequestState;
use crate::store::vault::Vault;
use bytes::Bytes;
use http::HeaderMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use thinkthrough_client::{Advice, Auth, ClientError};
use thinkthrough_core::content::Speaker;
use thinkthrough_core::exchange::{Prepared, RequestContext, Restore, may_be_repaired};
use thinkthrough_core::why;
use thinkthrough_core::wire::Wire;
use thinkthrough_core::wire::resource::Resource;
use thinkthrough_json::Doc;

/// The common input of all tries.
pub(crate) struct Caller {
    pub(crate) state: Arc<RequestState>,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Option<String>,
    /// The caller's own credential, if it may go upstream.
    pub(crate) credential: Auth,
    /// The session that the client names.
    pub(crate) hint: Option<String>,
    pub(crate) stream: bool,
    /// The name of the model that was asked for.
    pub(crate) model: String,
    /// Whether the answer may be stored.
    pub(crate) is_kept: bool,
    /// The request is counted and not sent: it spends no tokens and leaves no trace.
    pub(crate) is_counted: bool,
    /// Stores the answer under its id.
    pub(crate) keeping: Option<Arc<Keeping>>,
    /// The request continues a state that only its own upstream knows.
    pub(crate) is_bound: bool,
    /// Provider resources that the request names. Empty for callers without a gateway key, which are not checked.
    pub(crate) resources: BTreeSet<Resource>,
    /// The memory of the request for as long as it may be sent.
    pub(crate) held: Reservation,
}

/// A model with a key that may answer.
#[derive(Clone)]
pub(crate) struct Candidate {
    route: Arc<Route>,
    picked: Option<Picked>,
    /// The keys of this route that were tried before.
    used: Vec<usize>,
    /// The models that come after it.
    rest: Vec<String>,
    hops: usize,
    lessons: Lessons,
    /// The request as it was sent.
    sent: Option<Restored>,
}

/// The step after a candidate that did not answer.
enum After {
    /// No candidate is left.
    Over(Result<Outcome, Rejection>),
    /// Another candidate, whose attempt was begun.
    Next(Candidate, Sending),
}

impl Caller {
    /// Picks the session's key, if the route has several.
    pub(crate) fn pick(&self, candidate: &mut Candidate) {
        let Some(pool) = &candidate.route.pool else { return };
        let session = self.hint.clone().unwrap_or_else(|| self.first_words());
        candidate.picked = pool.pick(&session, &candidate.used);
    }

    /// The user's first words, which stay the same as the conversation grows.
    fn first_words(&self) -> String {
        let read = || {
            let doc = Doc::parse(&self.body).ok()?;
            let request = self.wire.read_request(doc.root()).ok()?;
            let first = request.contents.iter().find(|it| it.speaker == Speaker::Human)?;
            Some(first.visible_text())
        };
        read().unwrap_or_default()
    }

    pub(crate) async fn prepare(
        &self,
        candidate: &mut Candidate,
        doc: &Doc<'_>,
    ) -> Result<(Job, Prepared), Rejection> {
        let bad = |message: String| rejection(400, "invalid_request_error", message);
        let began = Instant::now();
        let route = Arc::clone(&candidate.route);
        let settings = settings(&route, &self.headers)?;
        let handling = handling(&route, &self.headers)?;
        let claim = claim(&self.state, &route, &self.credential, self.hint.clone()).await;
        let (mut owner, vault) = claim.map(|Claim { owner, vault }| (owner, vault)).unzip();
        if let Some(owner) = &mut owner {
            owner.is_kept = self.is_kept;
            if let Some(picked) = &candidate.picked {
                owner.account = tenant::account(&route.target, &picked.auth);
            }
        }
        let tenant = owner.as_ref().map(|owner| owner.tenant.clone());
        let audited = owner.as_ref().map(|owner| (owner.tenant.clone(), owner.secret.clone()));
        let session = owner.as_ref().and_then(|it| Some(it.secret.pseudonym(it.hint.as_deref()?)));
        let asked = RequestContext::read(self.wire, doc, &route.target, &settings, handling, owner);
        let mut asked = asked.map_err(|error| bad(error.to_string()))?;
        asked.set_stream(self.stream);
        asked.set_alias(&self.model);
        asked.set_stamp(stamp());
        let followed = self.followed(&route).await;
        let payer = self.open(&route, audited, &asked, followed.as_deref());
        if let Some(tenant) = tenant {
            candidate.lessons.learn(tenant, &route.target, &self.state.learned);
        }
        if !handling.dry_run && handling.restore == Restore::Recommended {
            candidate.lessons.apply(&mut asked, &self.state.learned);
        }
        self.keeping.iter().for_each(|keeping| asked.set_name(keeping.name()));
        asked.compare(self.state.reporter.is_audited());
        let looked = look_up(&mut asked, vault.as_ref(), &self.state).await;
        let mut prepared = asked.prepare(&looked.found, &*looked.open);
        if self.pay(&payer, &mut asked, prepared.body.as_deref()).await? {
            prepared = asked.prepare(&looked.found, &*looked.open);
        }
        self.explain(candidate, &asked, &mut prepared);
        let body = prepared.body.take().map_or_else(|| self.body.clone(), Bytes::from);
        let tap = self.admit(&route, &body, payer.session()).await?;
        candidate.sent = Some(Restored {
            put_back: std::mem::take(&mut prepared.put_back),
            body: body.clone(),
            vault: vault.clone(),
        });
        let auth = match &candidate.picked {
            Some(picked) => picked.auth.clone(),
            None => credential_for(&route, self.credential.clone()),
        };
        let outgoing = prepared.exchange.outgoing();
        let target = asked.target();
        let asks = (target.wire, &target.rule);
        let gate = self.state.charges.gate(&route, || expected(&body, Some(asks)));
        let has_answers = outgoing.decisions.iter().any(|decision| decision.block.is_none());
        let job = Job {
            body,
            keep: self.keep(&route, vault, tap),
            headers: self.headers.clone(),
            query: self.query.clone(),
            auth,
            route,
            caps: self.state.options.answer,
            is_last: !candidate.has_next(),
            may_repair: candidate.may_repair() && has_answers,
            made: Made {
                counts: prepared.counts,
                without: prepared.without,
                learned: candidate.lessons.lessons.learned(),
                repaired: candidate.lessons.lessons.repaired(),
                hops: candidate.hops,
                untranslated: outgoing.untranslated.clone(),
                adapted: outgoing.adapted.clone(),
            },
            session,
            took: began.elapsed(),
            gate,
        };
        Ok((job, prepared))
    }

    /// Records the prepared request and its reasons, if traces are stored.
    fn explain(&self, candidate: &Candidate, asked: &RequestContext<'_>, prepared: &mut Prepared) {
        let lessons = &candidate.lessons.lessons;
        if self.state.reporter.is_audited() && !self.is_counted {
            let told = why::Prepared::of(asked, prepared);
            let repairs = [lessons.learned(), lessons.repaired()];
            let candidate = why::Way::of(&candidate.route.target, repairs, prepared.without);
            self.state.reporter.goes(candidate, told);
        }
    }

    /// The destinations and limits of the answer.
    fn keep(&self, route: &Arc<Route>, vault: Option<Arc<dyn Vault>>, tap: Option<Tap>) -> Keep {
        let is_known = || whose(&self.state, route, &self.credential).is_some();
        let has_store = self.is_kept && self.state.vaults.as_ref().is_some_and(|it| it.has_store());
        Keep {
            is_blind: has_store && vault.is_none() && is_known(),
            vault: vault.filter(|_| self.is_kept),
            keeping: self.keeping.clone(),
            tap,
            drained: self.drained(route),
            is_booked: self.is_booked(route),
            store: self.state.waits.breakers(),
            reporter: Arc::clone(&self.state.reporter),
            charges: Arc::clone(&self.state.charges),
            runaway: self.state.options.runaway,
            load: self.state.load.clone(),
        }
    }

    /// The session of the resource that the request continues, if the client names no session.
    async fn followed(&self, route: &Route) -> Option<String> {
        if self.hint.is_some() || self.resources.is_empty() {
            return None;
        }
        Access::of(&self.state, &route.target.provider)?.session_of(&self.resources).await
    }

    /// Refuses ids in headers, address and sent body that the tenant may not use, and watches for resources that the answer creates.
    async fn admit(
        &self,
        route: &Route,
        sent: &[u8],
        session: Option<String>,
    ) -> Result<Option<Tap>, Rejection> {
        let Some(access) = Access::of(&self.state, &route.target.provider) else { return Ok(None) };
        let mut ids = Ids::of_headers(&self.headers);
        ids.add(Ids::of_parameters(self.query.as_deref()));
        if let Ok(doc) = Doc::parse(sent) {
            ids.add(Ids::of_model(route.target.wire, doc.root()));
        }
        access.admit(&ids).await?;
        let access = access.in_session(session);
        Ok(Tap::new(access, route.target.wire.id(), sent, self.stream).filter(|_| self.is_kept))
    }

    /// Waits for one candidate after the other.
    pub(crate) async fn follow(
        self,
        mut candidate: Candidate,
        mut waiting: Sending,
    ) -> Result<Outcome, Rejection> {
        let caller = Arc::new(self);
        loop {
            let outcome = waiting.await;
            if outcome.as_ref().is_err_and(ClientError::may_be_billed) {
                caller.state.charges.lose();
            }
            if matches!(outcome, Ok(Outcome::Answer { .. })) {
                // An earlier candidate may have refused the request.
                caller.state.reporter.refused(None);
                caller.state.reporter.tell(&Progress::Led);
                candidate.lessons.note(
                    &outcome,
                    candidate.sent.as_ref(),
                    &caller.state,
                    caller.is_kept,
                );
                return outcome.map_err(|error| failed(&error, &candidate.route.target.provider));
            }
            // The step after a failure reads the whole request again.
            let after = Box::pin(Arc::clone(&caller).after(candidate, outcome));
            match caller.state.load.offload.go_on(caller.body.len(), after).await {
                After::Over(outcome) => {
                    caller.state.reporter.tell(&Progress::Led);
                    return outcome;
                }
                After::Next(next, after) => (candidate, waiting) = (next, after),
            }
        }
    }

    /// The step after a candidate that did not answer.
    async fn after(
        self: Arc<Self>,
        mut candidate: Candidate,
        outcome: Result<Outcome, ClientError>,
    ) -> After {
        self.tell(&outcome);
        candidate.lessons.note(&outcome, candidate.sent.as_ref(), &self.state, self.is_kept);
        let next =
            self.mended(&candidate, &outcome).or_else(|| self.next(&mut candidate, &outcome));
        let provider = candidate.route.target.provider.clone();
        let over = |outcome: Result<Outcome, ClientError>| {
            After::Over(outcome.map_err(|error| failed(&error, &provider)))
        };
        let Some(mut next) = next else { return over(outcome) };
        loop {
            let repaired = next.lessons.clone();
            match self.again(&mut next).await {
                Ok(waiting) => return After::Next(next, waiting),
                // A candidate that cannot be asked is less informative than the failure before it. If a repair
                // changes nothing, the next repair may.
                Err(_) => {
                    match self
                        .mended(&Candidate { lessons: repaired, ..candidate.clone() }, &outcome)
                    {
                        Some(other) if next.hops == candidate.hops => next = other,
                        _ => return over(outcome),
                    }
                }
            }
        }
    }

    fn tell(&self, outcome: &Result<Outcome, ClientError>) {
        let (reason, cause) = match outcome {
            Ok(Outcome::Answer { .. }) => return,
            Ok(Outcome::Refused(refused)) => {
                self.state.reporter.refused(Some(&refused.body));
                (refusal(refused.status), None)
            }
            // No upstream failed.
            Err(ClientError::Held(_)) => return,
            Err(error) => {
                self.state.reporter.refused(None);
                (reason(error), Some(error.to_string()))
            }
        };
        self.state.reporter.tell(&Progress::Failed { reason, cause });
    }

    /// The same candidate with a repair, if the refusal asks for one.
    fn mended(
        &self,
        candidate: &Candidate,
        outcome: &Result<Outcome, ClientError>,
    ) -> Option<Candidate> {
        let (Ok(Outcome::Refused(refused)), Some(sent)) = (outcome, &candidate.sent) else {
            return None;
        };
        let said = String::from_utf8_lossy(&refused.body);
        if !candidate.may_repair() || !may_be_repaired(refused.status.as_u16(), &said) {
            return None;
        }
        let lessons = candidate.lessons.after(&said, sent, &candidate.route.target)?;
        Some(Candidate { lessons, ..candidate.clone() })
    }

    async fn again(&self, candidate: &mut Candidate) -> Result<Sending, Rejection> {
        let before = candidate.sent.take().map(|sent| sent.body);
        let mut held = self.state.load.share.reserve();
        held.grow_to(self.body.len().saturating_mul(READ))?;
        let doc = take::json(&self.body)?;
        let (job, prepared) = self.prepare(candidate, &doc).await?;
        job.check(&prepared)?;
        // The same bytes would be refused for the same reason.
        let is_repair = before.is_some();
        if before.is_some_and(|before| before == job.body) {
            return Err(rejection(
                400,
                "invalid_request_error",
                "the repair changes nothing".to_owned(),
            ));
        }
        if is_repair {
            self.state.reporter.tell(&Progress::Repaired);
        }
        job.send(prepared)
    }

    /// The next candidate, if there is a reason to ask it.
    fn next(
        &self,
        candidate: &mut Candidate,
        outcome: &Result<Outcome, ClientError>,
    ) -> Option<Candidate> {
        if let (Ok(Outcome::Refused(refused)), Some(pool), Some(picked)) =
            (outcome, &candidate.route.pool, &candidate.picked)
        {
            let after = Advice::from_headers(&refused.headers, SystemTime::now()).wait;
            if pool.refused(picked.at, refused.status.as_u16(), after) {
                candidate.used.push(picked.at);
                if pool.has_other(&candidate.used) {
                    let (route, used) = (Arc::clone(&candidate.route), candidate.used.clone());
                    let mut next = Candidate {
                        used,
                        ..Candidate::to(route, candidate.rest.clone(), candidate.hops)
                    };
                    self.pick(&mut next);
                    return Some(next);
                }
            }
        }
        let has_own_key = candidate.picked.is_some() || !matches!(candidate.route.auth, Auth::None);
        if !is_no_answer(has_own_key, outcome) {
            return None;
        }
        while let Some(name) = candidate.rest.pop() {
            let Ok(route) = self.state.models.find(&name) else { continue };
            // Another upstream would answer without the earlier conversation.
            if self.is_bound && !candidate.is_at(&route) {
                continue;
            }
            self.state.reporter.tell(&Progress::FellBack);
            let mut next = Candidate::to(route, candidate.rest.clone(), candidate.hops + 1);
            self.pick(&mut next);
            return Some(next);
        }
        None
    }
}

impl Candidate {
    pub(crate) fn to(route: Arc<Route>, rest: Vec<String>, hops: usize) -> Self {
        let lessons = Lessons::default();
        Candidate { route, picked: None, used: Vec::new(), rest, hops, lessons, sent: None }
    }

    /// Whether a refusal may lead to another try.
    fn may_repair(&self) -> bool {
        let handling = self.route.handling;
        let is_wanted = handling.restore == Restore::Recommended && !handling.dry_run;
        is_wanted && self.lessons.lessons.may_go_on()
    }

    /// Whether a model is asked at the same place.
    fn is_at(&self, other: &Route) -> bool {
        let (own, other) = (&self.route.target, &other.target);
        own.base_url == other.base_url && own.wire.id() == other.wire.id()
    }

    fn has_next(&self) -> bool {
        let has_key = self.route.pool.as_ref().is_some_and(|pool| {
            let picked = self.picked.as_ref().map(|picked| picked.at);
            let used: Vec<usize> = self.used.iter().copied().chain(picked).collect();
            pool.has_other(&used)
        });
        has_key || !self.rest.is_empty()
    }
}
