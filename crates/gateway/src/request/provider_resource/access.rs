//! The decision whether the ids of a request may go upstream.

use super::request::{Ids, continued};
use crate::models::route::Models;
use crate::rejection::{Rejection, rejection};
use crate::request::references::patiently;
use crate::state::RequestState;
use crate::store::vault::{KeptResponses, Later, Owner, VaultError};
use crate::store::waits::{Waited, Waits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use thinkthrough_core::wire::resource::{Kind, LONGEST, Resource};
use thinkthrough_json::{Doc, Raw};
use tokio::task::JoinSet;

/// The most resources that one request may name, and that one answer may create.
const MOST: usize = 200;
/// The most ids in one query of the store.
const BATCH: usize = 4_096;
/// The member of a stored row that holds the session in which the resource was created.
const SESSION: &str = "session";

/// Access of one tenant to the resources at one provider.
#[derive(Clone)]
pub(crate) struct Access {
    kept_responses: Option<Arc<dyn KeptResponses>>,
    waits: Arc<Waits>,
    provider: String,
    models: Arc<dyn Models>,
    /// The key may name resources that are created outside the gateway.
    may_name_untracked: bool,
    /// The session that new resources belong to.
    session: Option<String>,
}

/// The owners of ids, as far as the store knows them.
type Owners = BTreeMap<String, Owner>;

impl Access {
    /// Access of the caller's tenant at this provider. `None` for callers without a gateway key, which are not checked.
    pub(crate) fn of(state: &RequestState, provider: &str) -> Option<Self> {
        let pass = state.pass.as_ref()?;
        let kept_responses =
            state.vaults.as_ref().and_then(|vaults| vaults.kept_responses(&pass.tenant));
        Some(Access {
            kept_responses,
            waits: Arc::clone(&state.waits),
            provider: provider.to_owned(),
            models: Arc::clone(&state.models),
            may_name_untracked: pass.raw,
            session: None,
        })
    }

    /// The same access for a request of this session.
    pub(crate) fn in_session(self, session: Option<String>) -> Self {
        Access { session, ..self }
    }

    /// The session of the resource that a request continues, because such a request does not repeat how its conversation
    /// began. `None` if it continues none, or the store does not answer in time.
    pub(crate) async fn session_of(&self, resources: &BTreeSet<Resource>) -> Option<String> {
        let Resource { kind, id } = continued(resources)?;
        if *kind == Kind::Conversation {
            return Some(id.clone());
        }
        let kept_responses = self.kept_responses.as_ref()?;
        let get = kept_responses.resource(self.provider.clone(), id.clone());
        let Waited::Answered(found) = self.waits.answer(get).await else { return None };
        Doc::parse(&found.ok()??).ok()?.root().string(SESSION)
    }

    /// Refuses a request that names a resource of another tenant, or an unknown one at a place where the API resolves ids.
    ///
    /// If the store does not answer in time, a request that names resources is 503. Ids elsewhere then go unchecked,
    /// because no API resolves them there.
    pub(crate) async fn admit(&self, ids: &Ids) -> Result<(), Rejection> {
        if ids.resolved.len() > MOST {
            let message = format!("the request names more than {MOST} resources of its provider");
            return Err(rejection(400, "invalid_request_error", message));
        }
        let checking: Later<'_, Option<Rejection>> = Box::pin(self.refused(ids));
        let refused = match ids.resolved.is_empty() {
            false => patiently(&self.waits, checking).await?,
            true => match self.waits.answer(checking).await {
                Waited::Answered(refused) => refused.ok().flatten(),
                Waited::Late => None,
            },
        };
        refused.map_or(Ok(()), Err)
    }

    /// As [`admit`](Self::admit), for the resource that a path names.
    pub(crate) async fn admit_path(&self, resource: &Resource) -> Result<(), Rejection> {
        let within = resource.in_collection();
        let checking: Later<'_, bool> = Box::pin(async {
            let owners = self.owners(vec![&resource.id, &within.id]).await?;
            let is_own = |it: &&Resource| owners.get(&it.id) == Some(&Owner::Tenant);
            let is_others = owners.values().any(|owner| *owner == Owner::Other);
            Ok([resource, &within].iter().any(is_own)
                || (!is_others && self.is_allowed_unknown(resource).await?))
        });
        match patiently(&self.waits, checking).await? {
            true => Ok(()),
            false => Err(not_found(resource.kind.label(), &resource.id)),
        }
    }

    /// The error for the first resource or value of a request that the tenant may not name.
    async fn refused(&self, ids: &Ids) -> Result<Option<Rejection>, VaultError> {
        let named = ids.resolved.iter().map(|it| &it.id).chain(&ids.values);
        let owners = self.owners(named.collect()).await?;
        for one in &ids.resolved {
            let is_allowed = match owners.get(&one.id) {
                Some(Owner::Tenant) => true,
                Some(Owner::Other) => false,
                None => self.is_allowed_unknown(one).await?,
            };
            if !is_allowed {
                return Ok(Some(missing(one)));
            }
        }
        let others = ids.values.iter().find(|id| owners.get(*id) == Some(&Owner::Other));
        Ok(others.map(|id| not_found("Resource", id)))
    }

    async fn owners(&self, ids: Vec<&String>) -> Result<Owners, VaultError> {
        let mut owners = Owners::new();
        let Some(kept_responses) = &self.kept_responses else { return Ok(owners) };
        for batch in ids.chunks(BATCH) {
            let batch = batch.iter().filter(|id| id.len() <= LONGEST);
            let batch = batch.map(|id| (*id).clone()).collect();
            owners.extend(kept_responses.resource_owners(self.provider.clone(), batch).await?);
        }
        Ok(owners)
    }

    /// Whether the tenant may name a resource that the store has no owner of.
    async fn is_allowed_unknown(&self, one: &Resource) -> Result<bool, VaultError> {
        if one.kind.is_untracked() && self.may_name_untracked {
            return Ok(true);
        }
        let Some(kept_responses) = self.kept_responses.as_ref() else { return Ok(false) };
        if one.kind != Kind::Response || one.id.len() > LONGEST {
            return Ok(false);
        }
        // A response that its provider stores is known by the model that was asked.
        let row = kept_responses.get(one.id.clone()).await?;
        Ok(row.is_some_and(|row| self.is_from_here(&row)))
    }

    fn is_from_here(&self, row: &[u8]) -> bool {
        let Ok(doc) = Doc::parse(row) else { return false };
        let root = doc.root();
        let model = root.string("model").filter(|_| root.get("response").is_none());
        let route = model.and_then(|model| self.models.find(&model).ok());
        route.is_some_and(|route| route.target.provider == self.provider)
    }

    /// Records that the tenant owns these resources. Returns whether the store has all of them now.
    pub(crate) async fn record(self, created: BTreeSet<Resource>) -> bool {
        let Some(kept_responses) = &self.kept_responses else { return false };
        let row = Raw::build(|w| w.object(|w| w.opt_str(SESSION, self.session.as_deref())));
        let mut puts = JoinSet::new();
        for one in created.into_iter().filter(|it| it.id.len() <= LONGEST).take(MOST) {
            let (provider, kept_responses) = (self.provider.clone(), Arc::clone(kept_responses));
            let row = row.as_str().as_bytes().to_vec();
            puts.spawn(
                async move { kept_responses.put_resource(provider, one.id, row).await.is_ok() },
            );
        }
        puts.join_all().await.into_iter().all(|is_stored| is_stored)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// The error for an id that the tenant may not name: the same for another tenant's resource and for an unknown one, so that
/// ids cannot be probed.
fn missing(refused: &Resource) -> Rejection {
    let id = shown(&refused.id);
    match refused.kind {
        Kind::Response => {
            let message = format!("Previous response with id '{id}' not found.");
            rejection(400, "previous_response_not_found", message)
        }
        Kind::Item => rejection(400, "item_not_found", format!("Item with id '{id}' not found.")),
        _ => not_found(refused.kind.label(), &refused.id),
    }
}

fn not_found(label: &str, id: &str) -> Rejection {
    rejection(404, "not_found", format!("{label} with id '{}' not found.", shown(id)))
}

fn shown(id: &str) -> String {
    id.chars().filter(|c| !c.is_control()).take(200).collect()
}
