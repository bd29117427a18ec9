//! What this tenant's store knows of the things that providers keep.

use super::name::{Kind, Named, chooses_id, in_request};
use crate::door::{Turned, turned};
use crate::house::House;
use crate::models::Models;
use crate::references::patiently;
use crate::vault::{KeptResponses, VaultError};
use crate::waits::{Waited, Waits};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use thinkthrough_core::json::{Doc, Raw, Val};
use tokio::task::JoinSet;

/// More things than this are not looked up for one request.
const MOST: usize = 200;
/// A longer id is none.
const LONGEST: usize = 1_024;
/// The member of a row that says what it is about. Rows of kept answers, whose ids others may choose, never have it.
const ROW: &str = "provider_keeps";

/// The member of the row of an answer that says which session it is of.
const SESSION: &str = "session";

/// What one tenant has at one provider.
#[derive(Clone)]
pub(crate) struct Known {
    kept_responses: Option<Arc<dyn KeptResponses>>,
    waits: Arc<Waits>,
    provider: String,
    models: Arc<dyn Models>,
    /// The key may name what is made where nobody can see it.
    may_name_untracked: bool,
    /// What is made for the request is of this session.
    session: Option<String>,
}

impl Known {
    /// What the caller's tenant has at this provider; `None` for callers without a key of the gateway, who share nothing.
    pub(crate) fn of(house: &House, provider: &str) -> Option<Self> {
        let pass = house.pass.as_ref()?;
        let kept_responses =
            house.vaults.as_ref().and_then(|vaults| vaults.kept_responses(&pass.tenant));
        let (provider, models) = (provider.to_owned(), Arc::clone(&house.models));
        let waits = Arc::clone(&house.waits);
        let may_name_untracked = pass.raw;
        Some(Known { kept_responses, waits, provider, models, may_name_untracked, session: None })
    }

    /// What is made from now on is of this session.
    pub(crate) fn in_session(self, session: Option<String>) -> Self {
        Known { session, ..self }
    }

    /// The session of a request that goes on from what its provider keeps: it does not say itself how its conversation
    /// began. `None` where it names nothing of that kind, or the store does not answer in time.
    pub(crate) async fn session_of(&self, named: &BTreeSet<Named>) -> Option<String> {
        let conversation = named.iter().find(|one| one.kind == Kind::Conversation);
        if let Some(Named { id, .. }) = conversation {
            return Some(id.clone());
        }
        let goes_on = |one: &&Named| matches!(one.kind, Kind::Response | Kind::Interaction);
        let key = key(&self.provider, named.iter().find(goes_on)?);
        let kept_responses = self.kept_responses.as_ref()?;
        let Waited::Answered(found) = self.waits.answer(kept_responses.get(key)).await else {
            return None;
        };
        Doc::parse(&found.ok()??).ok()?.root().string(SESSION)
    }

    /// Lets a request go on that names nothing but things of its own tenant. A store that cannot say so refuses it.
    pub(crate) async fn admit(&self, named: &BTreeSet<Named>) -> Result<(), Turned> {
        if named.is_empty() {
            return Ok(());
        }
        if named.len() > MOST {
            let message = format!("the request names more than {MOST} things that are kept");
            return Err(turned(400, "invalid_request_error", message));
        }
        let asking = Box::pin(async move {
            for one in named {
                if !self.has(one).await? {
                    return Ok(Some(one));
                }
            }
            Ok(None)
        });
        let unknown = patiently(&self.waits, asking).await?;
        unknown.map_or(Ok(()), |unknown| Err(missing(unknown)))
    }

    /// As [`admit`](Self::admit), for the one thing that a path is about.
    pub(crate) async fn admit_thing(&self, thing: &Named) -> Result<(), Turned> {
        let admitted = self.admit(&BTreeSet::from([thing.clone()])).await;
        admitted.map_err(|refused| match refused.status {
            400 | 404 => gone(thing),
            _ => refused,
        })
    }

    /// As [`admit`](Self::admit), for what of these things is still named in the body that is sent.
    pub(crate) async fn admit_sent(
        &self,
        named: &BTreeSet<Named>,
        sent: &[u8],
    ) -> Result<(), Turned> {
        if named.is_empty() || named.len() > MOST {
            return self.admit(named).await;
        }
        let going = Doc::parse(sent).map(|doc| in_request(doc.root())).unwrap_or_default();
        // Another API may have another member for it, which nobody has to know here.
        let text = String::from_utf8_lossy(sent);
        let is_sent = |one: &&Named| going.contains(*one) || text.contains(one.id.as_str());
        self.admit(&named.iter().filter(is_sent).cloned().collect()).await
    }

    /// Keeps that these are the tenant's. Whether all of it can be seen now.
    pub(crate) async fn record(self, made: Vec<Named>) -> bool {
        let Some(kept_responses) = &self.kept_responses else { return false };
        let made: BTreeSet<Named> = made.into_iter().filter(|it| it.id.len() <= LONGEST).collect();
        let mut puts = JoinSet::new();
        for one in made.iter().take(MOST) {
            let (key, row, kept_responses) =
                (key(&self.provider, one), self.row(one), Arc::clone(kept_responses));
            puts.spawn(async move { kept_responses.put(key, row, None).await.is_ok() });
        }
        puts.join_all().await.into_iter().all(|is_kept| is_kept)
    }

    async fn has(&self, one: &Named) -> Result<bool, VaultError> {
        if one.kind.is_untracked() && self.may_name_untracked {
            return Ok(true);
        }
        let Some(kept_responses) = self.kept_responses.as_ref().filter(|_| one.id.len() <= LONGEST)
        else {
            return Ok(false);
        };
        if let Some(found) = kept_responses.get(key(&self.provider, one)).await? {
            let key = key(&self.provider, one);
            return Ok(Doc::parse(&found).is_ok_and(|row| row.root().string(ROW) == Some(key)));
        }
        // Of a response that was kept by a version before this one, only the model is known.
        let before = match one.kind {
            Kind::Response => kept_responses.get(one.id.clone()).await?,
            _ => None,
        };
        Ok(before.is_some_and(|row| self.is_from_here(&row)))
    }

    fn row(&self, one: &Named) -> Vec<u8> {
        let raw = Raw::build(|w| {
            w.object(|w| {
                w.field_str(ROW, &key(&self.provider, one));
                w.opt_str(SESSION, self.session.as_deref());
            });
        });
        raw.as_str().as_bytes().to_vec()
    }

    fn is_from_here(&self, row: &[u8]) -> bool {
        let Ok(doc) = Doc::parse(row) else { return false };
        let root = doc.root();
        let model = root.string("model").filter(|_| root.get("response").is_none());
        let route = model.and_then(|model| self.models.find(&model).ok());
        route.is_some_and(|route| route.target.provider == self.provider)
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// What a request of a caller with a key names that its provider keeps; of all others, nothing that has to be known.
pub(crate) fn named_by(house: &House, root: Val<'_>) -> Result<BTreeSet<Named>, Turned> {
    if house.pass.is_none() {
        return Ok(BTreeSet::new());
    }
    if root.get("input").is_some() && chooses_id(root) {
        let message =
            "`request_id` would choose the id under which the answer is kept; leave it out";
        return Err(turned(400, "invalid_request_error", message));
    }
    Ok(in_request(root))
}

/// The same words for what another tenant has and for what nobody has.
fn missing(unknown: &Named) -> Turned {
    let id = shown(&unknown.id);
    match unknown.kind {
        Kind::Response => {
            let message = format!("Previous response with id '{id}' not found.");
            turned(400, "previous_response_not_found", message)
        }
        Kind::Item => turned(400, "item_not_found", format!("Item with id '{id}' not found.")),
        _ => gone(unknown),
    }
}

fn gone(unknown: &Named) -> Turned {
    let (label, id) = (unknown.kind.label(), shown(&unknown.id));
    turned(404, "not_found", format!("{label} with id '{id}' not found."))
}

fn shown(id: &str) -> String {
    id.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// What a thing is kept under. No id of an answer is allowed to look like it, and if one did, its row would not.
fn key(provider: &str, one: &Named) -> String {
    format!("\t{provider}\t{}\t{}", one.kind.label(), one.id)
}
