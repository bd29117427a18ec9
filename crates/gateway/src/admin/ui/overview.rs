//! Data that needs no store: the current session, the models, learned facts, and the health of the gateway.

use super::api::Scope;
use crate::observe::audit::Audit;
use crate::state::{Gateway, RequestState};
use crate::store::learned::now;
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_limits::{BudgetRules, Scope as Of, Unit};

/// The most models that are listed.
const MODELS: usize = 500;
/// The most facts that are listed.
const FACTS: usize = 500;
/// The most budgets that are listed.
const BUDGETS: usize = 200;
/// The longest wait for the store's spent amount of one budget.
const PATIENCE: Duration = Duration::from_millis(500);

/// The current session.
pub(super) fn me(scope: &Scope, shows_thoughts: bool) -> String {
    object(|w| {
        w.str_or_null("tenant", scope.tenant().map(ToString::to_string).as_deref());
        w.field_bool("admin", *scope == Scope::All);
        w.field_str("version", env!("CARGO_PKG_VERSION"));
        w.field_bool("thoughts", shows_thoughts);
        w.field_u64("now", now());
    })
}

/// The models with their contracts, the facts that refusals taught, the keys with their budgets, and the health.
pub(super) async fn overview(gateway: &Gateway, state: &RequestState, scope: &Scope) -> String {
    let budgets = budgets(state, scope).await;
    let is_up = state.vaults.as_ref().is_none_or(|vaults| vaults.is_up());
    let keys = state.options.keys.as_ref();
    object(|w| {
        w.key("health").object(|w| {
            w.field_bool("store", is_up);
            w.field_bool("keys", keys.is_none_or(|keys| keys.are_known()));
            w.field_bool("closing", gateway.is_closing());
            let audit = state.options.audit.as_ref();
            w.field_bool("traces", audit.is_some_and(|audit| audit.traces().is_some()));
            w.u64_or_null("tracesWaiting", audit.map(Audit::waiting_now));
            w.u64_or_null("tracesLost", audit.map(|audit| audit.lost().get()));
        });
        w.key("models").array(|w| models(w, state));
        w.key("facts").array(|w| facts(w, state, scope));
        w.key("keys").array(|w| {
            if *scope == Scope::All {
                keys.iter().flat_map(|keys| keys.names()).for_each(|name| w.str(&name));
            }
        });
        w.key("budgets").array(|w| budgets.iter().for_each(|it| it.write(w)));
    })
}

/// A budget of reasoning tokens or of micro-dollars.
struct Budget {
    tenant: Tenant,
    unit: Unit,
    of: Of,
    rules: BudgetRules,
    spent: Option<u64>,
}

impl Budget {
    fn write(&self, w: &mut Writer) {
        w.object(|w| {
            w.field_str("tenant", self.tenant.as_str());
            w.field_str("unit", self.unit.as_str());
            w.field_str("of", self.of.as_str());
            w.u64_or_null("max", self.rules.max.get());
            w.u64_or_null("spent", self.spent);
            w.field_str("then", self.rules.on_exceed.as_str());
        });
    }
}

/// The budgets that the scope may see, with the spent amount if a budget covers all requests of its key.
async fn budgets(state: &RequestState, scope: &Scope) -> Vec<Budget> {
    let all = state.options.keys.iter().flat_map(|keys| keys.budgets());
    let own = all.filter(|(tenant, _)| scope.tenant().is_none_or(|own| own == tenant));
    let mut budgets = Vec::new();
    for (tenant, each) in own {
        for (unit, of, rules) in each.rules() {
            if budgets.len() >= BUDGETS {
                return budgets;
            }
            let spent =
                state.charges.spent(state.vaults.as_ref(), &tenant, (unit, of), PATIENCE).await;
            budgets.push(Budget { tenant: tenant.clone(), unit, of, rules, spent });
        }
    }
    budgets
}

fn models(w: &mut Writer, state: &RequestState) {
    for listed in state.models.list().into_iter().take(MODELS) {
        let Ok(route) = state.models.find(&listed.name) else { continue };
        let target = &route.target;
        w.object(|w| {
            w.field_str("name", &listed.name);
            w.field_str("provider", &target.provider);
            w.field_str("model", &target.model);
            w.field_str("wire", target.wire.id());
            w.field_str("contract", &target.rule.contract.summary());
            w.field_str("source", &target.rule_source);
        });
    }
}

fn facts(w: &mut Writer, state: &RequestState, scope: &Scope) {
    let is_theirs = |tenant: &_| scope.tenant().is_none_or(|own| own == tenant);
    let all = state.learned.all(now()).into_iter();
    for (about, repair, since) in all.filter(|(about, _, _)| is_theirs(&about.tenant)).take(FACTS) {
        w.object(|w| {
            w.field_str("tenant", about.tenant.as_str());
            w.field_str("endpoint", &about.endpoint);
            w.field_str("model", &about.model);
            w.field_str("fact", repair.as_str());
            w.field_u64("since", since);
        });
    }
}

/// A JSON object as text.
pub(super) fn object(members: impl FnOnce(&mut Writer)) -> String {
    Raw::build(|w| w.object(members)).as_str().to_owned()
}
