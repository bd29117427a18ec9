//! The lessons that the refusals of a request teach. They are remembered once the repaired request succeeds.

use crate::attempt::refused::{Restored, mark};
use crate::attempt::sending::Outcome;
use crate::state::RequestState;
use crate::store::learned::{Learned, about, now};
use std::sync::Arc;
use thinkthrough_client::ClientError;
use thinkthrough_core::exchange::{Mending, RequestContext, Sent};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_store::About;

/// The repairs for one candidate, and what they are about.
#[derive(Clone, Default)]
pub(crate) struct Lessons {
    /// The subject. Known once the attempt is prepared.
    about: Option<About>,
    pub(crate) lessons: Mending,
}

impl Lessons {
    /// Loads the facts about the model.
    pub(crate) fn learn(&mut self, tenant: Tenant, target: &Target, learned: &Learned) {
        let about = about(tenant, target);
        self.lessons.learn(learned.of(&about, now()));
        self.about = Some(about);
    }

    /// Applies the facts, the remembered refusals and the current repair to a request.
    pub(crate) fn apply(&mut self, asked: &mut RequestContext<'_>, learned: &Learned) {
        let about = self.about.as_ref();
        let known = about.map(|about| learned.refused(about, now())).unwrap_or_default();
        self.lessons.apply(asked, known);
    }

    /// The state for the next try after a refusal. `None` if no repair fits.
    pub(crate) fn after(&self, said: &str, sent: &Restored, target: &Target) -> Option<Self> {
        // Without a tenant the vault has no thoughts that could go back.
        let has_more = self.about.is_some();
        let sent = Sent { body: &sent.body, put_back: &sent.put_back, target, has_more };
        let lessons = self.lessons.after(said, sent)?;
        Some(Lessons { lessons, about: self.about.clone() })
    }

    /// Stores the lesson of a repair after a success. Drops a known fact that led to a refusal.
    pub(crate) fn note(
        &self,
        outcome: &Result<Outcome, ClientError>,
        sent: Option<&Restored>,
        state: &Arc<RequestState>,
        is_kept: bool,
    ) {
        let RequestState { learned, reporter, .. } = &**state;
        let Some(about) = &self.about else { return };
        match outcome {
            Ok(Outcome::Answer { .. }) => {
                let vault = sent.and_then(|sent| sent.vault.clone());
                if let Some((vault, (cause, records))) = vault.zip(self.lessons.fault()) {
                    mark(vault, cause, records.to_vec(), reporter);
                }
                if !self.lessons.marks().is_empty() {
                    learned.refuse(about.clone(), self.lessons.marks(), now());
                }
                if let Some(repair) = self.lessons.fact() {
                    learned.add(about.clone(), repair, now(), is_kept);
                }
            }
            Ok(Outcome::Refused(refused)) => {
                if self.lessons.is_wrong(&String::from_utf8_lossy(&refused.body)) {
                    learned.forget(about, now());
                }
            }
            Err(_) => {}
        }
    }
}
