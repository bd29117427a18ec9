//! Reserves the budgets of a request's key before the request is sent, by the body that goes out.

use crate::attempt::tries::Caller;
use crate::identify::keys::Pass;
use crate::models::route::{OnDisconnect, Route};
use crate::names;
use crate::observe::audit::{Labels, Question};
use crate::rejection::Rejection;
use crate::request::asking::tenant as whose;
use crate::request::provider_resource::Tap;
use crate::spending::Asking;
use crate::state::{RequestState, Stage};
use thinkthrough_core::content::Speaker;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Secret;
use thinkthrough_store::TraceItems;
use tokio::sync::watch;

/// The labels of the request's session and turn. Present if the key has budgets, or if the provider may store the
/// answer.
pub(crate) struct Payer(Option<Labels>);

impl Payer {
    /// The session of the request, if it is known.
    pub(crate) fn session(&self) -> Option<String> {
        self.0.as_ref().map(|labels| labels.session.clone())
    }
}

impl Caller {
    /// Reports the tenant and session of the request to its observers.
    pub(crate) fn open(
        &self,
        route: &Route,
        owner: Option<(Tenant, Secret)>,
        asked: &RequestContext<'_>,
        followed: Option<&str>,
    ) -> Payer {
        let RequestState { reporter, pass, vaults, .. } = &*self.state;
        let hint = self.hint.as_deref().or(followed);
        let keeps = Tap::may_continue(route.target.wire.id());
        let is_named = pass.as_ref().is_some_and(|it| keeps || !it.budgets.is_none());
        let known = owner.as_ref().map(|(tenant, _)| tenant.clone());
        let tenant = known.or_else(|| whose(&self.state, route, &self.credential));
        let spender = owner.clone().filter(|_| is_named);
        let names = (hint, keeps);
        let spender = spender.map(|(tenant, secret)| Labels::of(tenant, &secret, names, asked));
        if self.is_counted {
            return Payer(spender);
        }
        // If the store is late or away, the tenant's secret is unknown. Its trace is still written, with a secret of
        // this process.
        let stranger = || Some((tenant.clone().filter(|_| vaults.is_some())?, names::secret()));
        let labels = owner.or_else(stranger).filter(|_| self.is_kept);
        let labels =
            labels.map(|(tenant, secret)| move || Labels::of(tenant, &secret, names, asked));
        reporter.opened(tenant, (hint, self.is_kept), labels);
        if reporter.is_audited() {
            reporter.asks(self.question(asked));
        }
        Payer(spender)
    }

    /// The part of the request that its trace shows. If there is no memory for its items, it has none.
    fn question(&self, asked: &RequestContext<'_>) -> Question {
        let RequestState { reporter, load, .. } = &*self.state;
        let effort = asked.reasoning().effort.or(asked.settings().effort.value);
        let items = reporter.keeps_items().then(|| TraceItems::asked(asked.contents()));
        let mut room = load.share.reserve();
        let fitting = items.as_ref().is_none_or(|items| room.grow_copy(items.size()));
        if !fitting {
            reporter.loses_items();
        }
        let items = items.filter(|_| fitting).unwrap_or_default();
        // The provider keeps the earlier part of a conversation that the request names.
        let is_first =
            !self.is_bound && asked.contents().iter().all(|content| content.speaker != Speaker::Ai);
        Question { effort, is_first, items, refusal: None, room: Some(room) }
    }

    /// Reserves the amount that this outgoing body may spend; `None` stands for the caller's own bytes. Returns true
    /// if the request must be prepared again, because it may spend less.
    pub(crate) async fn pay(
        &self,
        payer: &Payer,
        asked: &mut RequestContext<'_>,
        body: Option<&str>,
    ) -> Result<bool, Rejection> {
        let RequestState { charges, pass, vaults, .. } = &*self.state;
        let asking = Asking {
            pass: pass.as_deref(),
            vaults: vaults.as_ref(),
            headers: &self.headers,
            hint: self.hint.as_deref(),
            labels: payer.0.clone(),
            body,
            is_as_it_is: self.is_counted,
        };
        if self.is_counted {
            return charges.check(asking, asked).await.map(|()| false);
        }
        charges.allow(asking, asked).await.map(|allowed| allowed.is_changed)
    }

    /// The stage of the process, if the gateway reads an answer of this route to its end even after its caller went
    /// away.
    pub(crate) fn drained(&self, route: &Route) -> Option<watch::Receiver<Stage>> {
        let is_drained = route.on_disconnect == OnDisconnect::Drain || self.is_booked(route);
        is_drained.then(|| self.state.stage.clone())
    }

    /// Whether a blocking budget or a token limit books this whole answer. The provider makes all of it even if the
    /// caller goes away, so that leaving early must not make it free.
    pub(crate) fn is_booked(&self, route: &Route) -> bool {
        let pass = self.state.pass.as_deref();
        !self.stream && (route.limits.counts_tokens() || pass.is_some_and(Pass::books))
    }
}
