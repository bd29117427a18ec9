//! What a request costs its key's budgets before it is sent: as it came, and again as it goes out, where more of it goes
//! out than came.

use crate::asking::tenant as whose;
use crate::audit::Labels;
use crate::door::Turned;
use crate::house::House;
use crate::models::Route;
use crate::names;
use crate::provider_resource::Tap;
use crate::spending::Asking;
use crate::tries::Caller;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Secret;

/// What the sessions and turns of a request's budgets are called by, where it has budgets, or where its provider keeps
/// what it answers.
pub(crate) struct Payer(Option<Labels>);

impl Payer {
    /// The session of the request, where it is known.
    pub(crate) fn session(&self) -> Option<String> {
        self.0.as_ref().map(|labels| labels.session.clone())
    }
}

impl Caller {
    /// Says whose request it is to whoever watches.
    pub(crate) fn open(
        &self,
        route: &Route,
        owner: Option<(Tenant, Secret)>,
        asked: &RequestContext<'_>,
        followed: Option<&str>,
    ) -> Payer {
        let House { seen, pass, vaults, .. } = &*self.house;
        let hint = self.hint.as_deref().or(followed);
        let keeps = Tap::may_continue(route.target.wire.id());
        let is_named = pass.as_ref().is_some_and(|it| keeps || !it.budgets.is_none());
        let known = owner.as_ref().map(|(tenant, _)| tenant.clone());
        let tenant = known.or_else(|| whose(&self.house, route, &self.credential));
        let spender = owner.clone().filter(|_| is_named);
        let spender = spender.map(|(tenant, secret)| Labels::of(tenant, &secret, hint, asked));
        // Of a store that is late or away the secret is not known; a trace is left all the same.
        let stranger = || Some((tenant.clone().filter(|_| vaults.is_some())?, names::secret()));
        let labels = owner.or_else(stranger).filter(|_| self.is_kept);
        let labels =
            labels.map(|(tenant, secret)| move || Labels::of(tenant, &secret, hint, asked));
        seen.opened(tenant, (hint, self.is_kept), labels);
        Payer(spender)
    }

    /// Asks its budgets, for a request of at least so many tokens.
    pub(crate) async fn pay(
        &self,
        payer: &Payer,
        tokens: u64,
        asked: &mut RequestContext<'_>,
    ) -> Result<(), Turned> {
        let House { tab, pass, vaults, .. } = &*self.house;
        let asking = Asking {
            pass: pass.as_deref(),
            vaults: vaults.as_ref(),
            headers: &self.headers,
            hint: self.hint.as_deref(),
            labels: payer.0.clone(),
            tokens,
            is_as_it_is: false,
        };
        tab.allow(asking, asked).await.map(drop)
    }

    /// Asks its budgets in dollars again, where thoughts came back into it that they were not asked for; says whether it
    /// is to be prepared again, because it may get less.
    pub(crate) async fn pay_more(
        &self,
        payer: &Payer,
        asked: &mut RequestContext<'_>,
        body: Option<&str>,
    ) -> Result<bool, Turned> {
        let more = body.and_then(|body| self.house.tab.underpaid(body));
        let Some(tokens) = more else { return Ok(false) };
        self.pay(payer, tokens, asked).await.map(|()| true)
    }
}
